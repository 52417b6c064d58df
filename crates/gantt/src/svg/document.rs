//! Writes SVG elements.

use std::fmt::{Display, Write};

use crate::{
    palette::{Palette, Rgb},
    text::{Px, escape},
};

/// Faces that look alike and are there on all usual systems; the first that exists is taken.
const FONTS: &str = "Inter, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

/// The text of an SVG document, or of a part of one.
#[derive(Default)]
pub struct Document {
    text: String,
}

/// How a text is set.
#[derive(Clone, Copy)]
pub struct Style {
    pub size: f64,
    pub colour: Rgb,
    pub anchor: Anchor,
    pub bold: bool,
}

impl Style {
    /// A plain text that begins at its position.
    pub fn new(size: f64, colour: Rgb) -> Self {
        Self {
            size,
            colour,
            anchor: Anchor::Start,
            bold: false,
        }
    }

    /// The same at another anchor.
    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// The same in bold.
    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }
}

/// What of a text lies at its position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Document {
    /// Opens the document.
    pub fn open(&mut self, width: f64, height: f64, palette: &Palette) {
        let (width, height) = (Px(width.ceil()), Px(height.ceil()));
        self.line(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\">"
        ));
        self.line(format_args!(
            "<rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>",
            palette.background
        ));
    }

    /// Closes the document and returns its text.
    pub fn close(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    /// Appends another part.
    pub fn append(&mut self, part: Self) {
        self.text.push_str(&part.text);
    }

    /// Opens a group with attributes.
    pub fn open_group(&mut self, attributes: impl Display) {
        self.line(format_args!("<g {attributes}>"));
    }

    /// Closes the latest open group.
    pub fn close_group(&mut self) {
        self.line("</g>");
    }

    /// Writes a text; `y` is its baseline.
    pub fn text(&mut self, x: f64, y: f64, style: Style, text: &str) {
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if style.bold {
            " font-weight=\"600\""
        } else {
            ""
        };
        self.line(format_args!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{anchor}{weight}>{}</text>",
            Px(x),
            Px(y),
            Px(style.size),
            style.colour,
            escape(text)
        ));
    }

    /// Writes a text whose capitals and digits have their middle at `y`.
    pub fn text_around(&mut self, x: f64, y: f64, style: Style, text: &str) {
        // Capitals of the usual faces are 0.72 of the size high.
        self.text(x, y + 0.36 * style.size, style, text);
    }

    /// Fills a rectangle, with a tooltip where there is something to tell.
    pub fn rect(
        &mut self,
        (x, y, width, height): (f64, f64, f64, f64),
        fill: Rgb,
        tooltip: Option<&str>,
    ) {
        let (x, y, width, height) = (Px(x), Px(y), Px(width), Px(height));
        let shape = format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\""
        )
        .to_string();
        match tooltip {
            None => self.line(format_args!("{shape}/>")),
            Some(tooltip) => {
                self.line(format_args!(
                    "{shape}><title>{}</title></rect>",
                    escape(tooltip)
                ));
            }
        }
    }

    /// Draws a path given by its data.
    pub fn path(&mut self, data: impl Display, attributes: impl Display) {
        self.line(format_args!("<path d=\"{data}\" {attributes}/>"));
    }

    /// Writes a line of markup.
    fn line(&mut self, markup: impl Display) {
        writeln!(self.text, "{markup}").expect("writing to a string does not fail");
    }
}

/// An area under steps: a path that follows the steps' upper edges and returns along a straight lower edge.
///
/// Steps of equal height become one, so an area's data is no longer than it has to be.
#[derive(Default)]
pub struct Area {
    data: String,
    base: f64,
    /// The end and the height of the latest step.
    open: Option<(f64, f64)>,
}

impl Area {
    /// Makes an area that stands on `y = base`.
    pub fn on(base: f64) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    /// Adds a step from `x0` to `x1` of a height; a step that does not follow the one before it begins a new part.
    pub fn step(&mut self, x0: f64, x1: f64, height: f64) {
        let near = |a: f64, b: f64| (a - b).abs() < 0.005;
        match self.open {
            Some((end, old)) if near(end, x0) && near(old, height) => {}
            Some((end, _)) if near(end, x0) => {
                self.write(format_args!("H{}V{}", Px(end), Px(self.base - height)));
            }
            _ => {
                self.finish_part();
                let (x, y) = (Px(x0), Px(self.base - height));
                self.write(format_args!("M{x} {}V{y}", Px(self.base)));
            }
        }
        self.open = Some((x1, height));
    }

    /// Returns the path's data; none where there was no step.
    pub fn finish(mut self) -> Option<String> {
        self.finish_part();
        (!self.data.is_empty()).then_some(self.data)
    }

    fn finish_part(&mut self) {
        if let Some((end, _)) = self.open.take() {
            self.write(format_args!("H{}V{}Z", Px(end), Px(self.base)));
        }
    }

    fn write(&mut self, data: impl Display) {
        write!(self.data, "{data}").expect("writing to a string does not fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_joins_equal_steps_and_splits_at_gaps() {
        let mut area = Area::on(10.0);
        area.step(0.0, 1.0, 4.0);
        area.step(1.0, 2.0, 4.0);
        area.step(2.0, 3.0, 6.0);
        area.step(5.0, 6.0, 1.0);
        assert_eq!(area.finish().unwrap(), "M0 10V6H2V4H3V10ZM5 10V9H6V10Z");
        assert_eq!(Area::on(3.0).finish(), None);
    }
}
