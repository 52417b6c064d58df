//! Images as textures.

use eframe::egui::{self, Color32, ColorImage, Rect, TextureHandle, TextureOptions, pos2, vec2};

/// Returns how many whole pixels there are in so many points, one at least.
#[expect(clippy::cast_sign_loss, reason = "the maximum is positive")]
pub fn pixels(points: f32, scale: f32) -> usize {
    let count = (points * scale).round().clamp(1.0, 16_384.0) as usize;
    // What is no number became none.
    count.max(1)
}

/// An image in as many textures as the graphics need.
#[derive(Default)]
pub struct Tiles {
    size: [usize; 2],
    parts: Vec<([usize; 4], TextureHandle)>,
}

impl Tiles {
    /// Takes an image's pixels, line by line.
    pub fn set(&mut self, ctx: &egui::Context, name: &str, size: [usize; 2], image: &[u32]) {
        let most = ctx.input(|input| input.max_texture_side).max(64);
        let [width, height] = size;
        let columns = (0..width).step_by(most).map(|x| (x, (x + most).min(width)));
        let places: Vec<[usize; 4]> = columns
            .flat_map(|(x0, x1)| {
                let rows = (0..height)
                    .step_by(most)
                    .map(move |y| (y, (y + most).min(height)));
                rows.map(move |(y0, y1)| [x0, y0, x1, y1])
            })
            .collect();
        if self.size != size {
            self.parts.clear();
            self.size = size;
        }
        for (position, place) in places.into_iter().enumerate() {
            let [x0, y0, x1, y1] = place;
            let pixel = |pixel: &u32| {
                let [r, g, b, a] = pixel.to_le_bytes();
                Color32::from_rgba_premultiplied(r, g, b, a)
            };
            let lines = (y0..y1).flat_map(|y| &image[y * width + x0..y * width + x1]);
            let part = ColorImage::new([x1 - x0, y1 - y0], lines.map(pixel).collect());
            if let Some((_, texture)) = self.parts.get_mut(position) {
                texture.set(part, TextureOptions::NEAREST);
            } else {
                let texture = ctx.load_texture(name, part, TextureOptions::NEAREST);
                self.parts.push((place, texture));
            }
        }
    }

    /// Draws it, as large as the rectangle.
    pub fn draw(&self, painter: &egui::Painter, rect: Rect) {
        let [width, height] = self.size.map(|side| side.max(1) as f32);
        for ([x0, y0, x1, y1], texture) in &self.parts {
            let corner = |x: usize, y: usize| {
                rect.min
                    + vec2(
                        x as f32 / width * rect.width(),
                        y as f32 / height * rect.height(),
                    )
            };
            let place = Rect::from_min_max(corner(*x0, *y0), corner(*x1, *y1));
            let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
            painter.image(texture.id(), place, whole, Color32::WHITE);
        }
    }
}
