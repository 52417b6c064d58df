//! Colours and type of the window, from the palette of the pictures.

use eframe::egui::{self, Color32, CornerRadius, FontFamily, FontId, Stroke, TextStyle, Visuals};
use foretrace_gantt::{
    Theme,
    palette::{Palette, Rgb},
    track::{FILLS, Fill},
};

/// The colours that the window draws with.
#[derive(Clone, Debug)]
pub struct Colours {
    /// Whether the ground is dark.
    pub dark: bool,
    /// Those of the pictures.
    pub palette: &'static Palette,
    /// The pixels of each fill in textures, red first in memory.
    pub fills: [u32; FILLS],
    /// The same with all blocked threads alike.
    pub classes: [u32; FILLS],
    /// What is selected, and what follows the pointer.
    pub accent: Color32,
}

impl Colours {
    /// Returns the colours of a theme.
    pub fn of(dark: bool) -> Self {
        let palette = Palette::of(if dark { Theme::Dark } else { Theme::Light });
        let pixel = |rgb: Rgb| u32::from_le_bytes([rgb.0, rgb.1, rgb.2, 255]);
        let mut fills = [pixel(palette.grid); FILLS];
        let mut classes = fills;
        for fill in Fill::all() {
            if let Some(activity) = fill.activity() {
                fills[fill.index()] = pixel(palette.fill(activity));
                classes[fill.index()] = if fill.severity() > 2 {
                    pixel(palette.blocked)
                } else {
                    fills[fill.index()]
                };
            }
        }
        Self {
            dark,
            palette,
            fills,
            classes,
            accent: if dark {
                Color32::from_rgb(0x5e, 0xb1, 0xff)
            } else {
                Color32::from_rgb(0x0b, 0x62, 0xc4)
            },
        }
    }

    /// Returns the colour of a fill.
    pub fn fill(&self, fill: Fill) -> Color32 {
        let [r, g, b, _] = self.fills[fill.index()].to_le_bytes();
        Color32::from_rgb(r, g, b)
    }

    /// The ground.
    pub fn background(&self) -> Color32 {
        colour(self.palette.background)
    }

    /// The ground of every other row.
    pub fn stripe(&self) -> Color32 {
        colour(self.palette.stripe)
    }

    /// Text.
    pub fn text(&self) -> Color32 {
        colour(self.palette.text)
    }

    /// Text that matters less.
    pub fn muted(&self) -> Color32 {
        colour(self.palette.muted)
    }

    /// Lines behind everything.
    pub fn grid(&self) -> Color32 {
        colour(self.palette.grid)
    }

    /// Arrows.
    pub fn arrow(&self) -> Color32 {
        colour(self.palette.arrow)
    }

    /// What went wrong.
    pub fn alarm(&self) -> Color32 {
        colour(self.palette.alarm)
    }

    /// Text on a fill.
    pub fn ink(&self, fill: Fill) -> Color32 {
        let [r, g, b, _] = self.fills[fill.index()].to_le_bytes();
        colour(Rgb(r, g, b).ink())
    }
}

/// Converts a colour of the pictures.
pub fn colour(rgb: Rgb) -> Color32 {
    Color32::from_rgb(rgb.0, rgb.1, rgb.2)
}

/// Sets up type and widgets.
pub fn apply(ctx: &egui::Context, colours: &Colours) {
    let palette = colours.palette;
    let mut visuals = if colours.dark {
        Visuals::dark()
    } else {
        Visuals::light()
    };
    visuals.panel_fill = colour(palette.stripe);
    visuals.window_fill = colour(palette.background);
    visuals.extreme_bg_color = colour(palette.background);
    visuals.faint_bg_color = colour(palette.stripe);
    visuals.override_text_color = Some(colour(palette.text));
    visuals.hyperlink_color = colours.accent;
    visuals.selection.bg_fill = colours.accent.gamma_multiply(0.35);
    visuals.selection.stroke = Stroke::new(1.0, colour(palette.text));
    visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, colour(palette.grid));
    let corner = CornerRadius::same(3);
    visuals.widgets.inactive.corner_radius = corner;
    visuals.widgets.hovered.corner_radius = corner;
    visuals.widgets.active.corner_radius = corner;
    ctx.set_theme(if colours.dark {
        egui::Theme::Dark
    } else {
        egui::Theme::Light
    });
    ctx.set_visuals(visuals);
    ctx.all_styles_mut(|style| {
        let sizes = [
            (TextStyle::Small, 11.0, FontFamily::Proportional),
            (TextStyle::Body, 13.0, FontFamily::Proportional),
            (TextStyle::Button, 13.0, FontFamily::Proportional),
            (TextStyle::Heading, 17.0, FontFamily::Proportional),
            (TextStyle::Monospace, 12.0, FontFamily::Monospace),
        ];
        for (text, size, family) in sizes {
            style.text_styles.insert(text, FontId::new(size, family));
        }
        style.spacing.item_spacing = egui::vec2(7.0, 4.0);
        style.spacing.button_padding = egui::vec2(6.0, 2.0);
        style.interaction.tooltip_delay = 0.25;
    });
}
