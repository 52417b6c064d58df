//! Writes SVG elements.

use std::fmt::{Display, Write};

use crate::{
    palette::{Palette, Rgb},
    text::{Hundredths, Px, escape, fit, hundredths},
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
    /// The size of the font, in pixels.
    pub size: f64,
    /// The colour of its letters.
    pub colour: Rgb,
    /// What of it lies at its position.
    pub anchor: Anchor,
    /// Whether its letters are bold.
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
    #[must_use]
    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// The same in bold.
    #[must_use]
    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }
}

/// What of a text lies at its position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its begin.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

impl Document {
    /// Opens the document; the title is for those who have the picture read to them.
    pub fn open(&mut self, title: &str, (width, height): (f64, f64), palette: &Palette) {
        let title = fit(title, 1.0, 100.0).unwrap_or_default();
        let title = escape(&title);
        let (width, height) = (Px(width.ceil()), Px(height.ceil()));
        self.line(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" role=\"img\" aria-label=\"{title}\">"
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
    pub fn append(&mut self, part: &Self) {
        self.text.push_str(&part.text);
    }

    /// Writes a text; `y` is its baseline.
    pub fn text(&mut self, x: f64, y: f64, style: Style, text: &str) {
        self.text_and_note((x, y), style, text, None);
    }

    /// Writes a text and, right after it wherever that ends, a note in another colour; `y` is the baseline.
    pub fn text_and_note(
        &mut self,
        (x, y): (f64, f64),
        style: Style,
        text: &str,
        note: Option<(&str, Rgb)>,
    ) {
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
        let note = note.map_or_else(String::new, |(note, colour)| {
            format!("<tspan dx=\"5\" fill=\"{colour}\">{}</tspan>", escape(note))
        });
        self.line(format_args!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{anchor}{weight}>{}{note}</text>",
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
/// Steps of equal height become one, and positions are written relative to the one before, so an area's data is no
/// longer than it has to be. They are counted in hundredths of a pixel, so that rounding does not add up.
#[derive(Default)]
pub struct Area {
    data: String,
    base: i64,
    /// Where the latest step begins and ends, and its height.
    open: Option<[i64; 3]>,
    /// Where the path has come to.
    pen: (i64, i64),
}

impl Area {
    /// Makes an area that stands on `y = base`.
    pub fn on(base: f64) -> Self {
        Self {
            base: hundredths(base),
            ..Self::default()
        }
    }

    /// Adds a step from `x0` to `x1` of a height; a step that does not follow the one before it begins a new part.
    pub fn step(&mut self, x0: f64, x1: f64, height: f64) {
        let [x0, x1, height] = [x0, x1, height].map(hundredths);
        match self.open {
            Some([_, end, old]) if end == x0 => {
                if old != height {
                    self.go_to_x(end);
                    self.go_to_y(self.base - height);
                }
            }
            _ => {
                self.finish_part();
                let (x, y) = (Hundredths(x0), Hundredths(self.base));
                self.write(format_args!("M{x} {y}"));
                self.pen = (x0, self.base);
                self.go_to_y(self.base - height);
            }
        }
        self.open = Some([x0, x1, height]);
    }

    /// Returns the path's data; none where there was no step.
    pub fn finish(mut self) -> Option<String> {
        self.finish_part();
        (!self.data.is_empty()).then_some(self.data)
    }

    fn finish_part(&mut self) {
        if let Some([_, end, _]) = self.open.take() {
            self.go_to_x(end);
            self.go_to_y(self.base);
            self.write("z");
        }
    }

    fn go_to_x(&mut self, x: i64) {
        self.write(format_args!("h{}", Hundredths(x - self.pen.0)));
        self.pen.0 = x;
    }

    fn go_to_y(&mut self, y: i64) {
        self.write(format_args!("v{}", Hundredths(y - self.pen.1)));
        self.pen.1 = y;
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
        assert_eq!(area.finish().unwrap(), "M0 10v-4h2v-2h1v6zM5 10v-1h1v1z");
        assert_eq!(Area::on(3.0).finish(), None);
    }
}
