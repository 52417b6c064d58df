//! PNG: the same picture as SVG, drawn with a font that is built in, so that it is the same on every machine.

use std::{io, sync::Arc};

use foretrace_gantt::{SvgOptions, render};
use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{self, Tree, fontdb::Database},
};

use crate::{ExportError, Exporter, Needs, Source};

/// The Gantt picture in pixels.
pub(crate) struct Png;

/// Pixels of the file for each of the picture: sharp on dense screens and in print.
const SCALE: f32 = 2.0;

/// No side of a picture is longer: more than that few programs show.
const MOST_SIDE: f32 = 16_000.0;

impl Exporter for Png {
    fn name(&self) -> &'static str {
        "png"
    }

    fn about(&self) -> &'static str {
        "The same picture in pixels"
    }

    fn needs(&self) -> Needs {
        Needs::Schedule
    }

    fn export(&self, source: Source<'_>, out: &mut dyn io::Write) -> Result<(), ExportError> {
        let Source::Schedule(schedule) = source else {
            return Err(source.refused_by(self));
        };
        let svg = render(schedule, &SvgOptions::default());
        Ok(out.write_all(&from_svg(&svg, SCALE)?)?)
    }
}

/// Draws one of our SVG pictures, with so many pixels for each of its own; with fewer where it would be too large.
///
/// # Errors
///
/// When it is not one of ours, or memory is short.
pub fn from_svg(svg: &str, scale: f32) -> Result<Vec<u8>, ExportError> {
    let mut fonts = Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let options = usvg::Options {
        fontdb: Arc::new(fonts),
        font_family: FACE.to_owned(),
        font_resolver: usvg::FontResolver {
            // Whatever face is asked for, this is the one there is.
            select_font: Box::new(|_, fonts| fonts.faces().next().map(|face| face.id)),
            select_fallback: usvg::FontResolver::default_fallback_selector(),
        },
        ..usvg::Options::default()
    };
    let failed = |error: &dyn std::fmt::Display| ExportError::Picture(error.to_string());
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
    let size = tree.size();
    let scale = scale.min(MOST_SIDE / size.width().max(size.height()));
    #[expect(clippy::cast_sign_loss, reason = "sizes are positive")]
    let pixels_of = |points: f32| (points * scale).ceil().max(1.0) as u32;
    let mut pixels = Pixmap::new(pixels_of(size.width()), pixels_of(size.height()))
        .ok_or_else(|| failed(&"there is not enough memory"))?;
    resvg::render(
        &tree,
        Transform::from_scale(scale, scale),
        &mut pixels.as_mut(),
    );
    pixels.encode_png().map_err(|error| failed(&error))
}

/// The built-in face.
const FACE: &str = "Ubuntu";

#[cfg(test)]
mod tests {
    use foretrace_program::Program;
    use foretrace_sim::{Machine, ModelKind};

    use super::*;

    fn picture() -> String {
        let trace = foretrace_testkit::trace(foretrace_testkit::Q);
        let program = Program::from_trace(&trace);
        let machine = Machine::new(2, &program);
        render(
            &foretrace_sim::schedule(&program, &machine, ModelKind::Strict),
            &SvgOptions::default(),
        )
    }

    /// How many pixels have each of some colours.
    fn count(png: &[u8], colours: &[[u8; 3]]) -> Vec<usize> {
        let pixels = Pixmap::decode_png(png).unwrap();
        colours
            .iter()
            .map(|colour| {
                let is_it = |pixel: &&resvg::tiny_skia::PremultipliedColorU8| {
                    [pixel.red(), pixel.green(), pixel.blue()] == *colour
                };
                pixels.pixels().iter().filter(is_it).count()
            })
            .collect()
    }

    #[test]
    fn what_runs_and_waits_is_there_in_its_colours() {
        let svg = picture();
        let png = from_svg(&svg, 1.0).unwrap();
        // Running, and the ground.
        let counts = count(&png, &[[0x19, 0x9c, 0x84], [0xff, 0xff, 0xff]]);
        assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
        assert_eq!(
            from_svg(&svg, 1.0).unwrap(),
            png,
            "the same picture, the same bytes"
        );
    }

    #[test]
    fn text_is_drawn() {
        let text = |text: &str| {
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\" viewBox=\"0 0 200 40\">\
                 <text x=\"5\" y=\"30\" font-size=\"24\" font-family=\"Inter, sans-serif\" fill=\"#102030\">{text}</text></svg>"
            )
        };
        let ink = |svg: &str| count(&from_svg(svg, 1.0).unwrap(), &[[0x10, 0x20, 0x30]])[0];
        assert_eq!(ink(&text("")), 0);
        assert!(ink(&text("threads")) > 50);
    }

    #[test]
    fn a_picture_that_is_none_is_an_error() {
        assert!(from_svg("no picture", 1.0).is_err());
        let huge = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"90000\" height=\"10\"/>";
        let png = from_svg(huge, 2.0).unwrap();
        assert!(Pixmap::decode_png(&png).unwrap().width() <= 16_000);
    }
}
