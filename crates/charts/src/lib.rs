//! Charts of curves as SVG: panels side by side, each with axes, ticks and a legend.
//!
//! ```
//! use foretrace_charts::{Panel, Series, render};
//!
//! let series = Series { name: "fine".into(), points: vec![(1.0, 0.5), (2.0, 0.25)] };
//! let panel = Panel { title: "(a)".into(), x: "slaves".into(), y: "probability".into(), series: vec![series] };
//! assert!(render("Figure", &[panel]).starts_with("<svg"));
//! ```
//!
//! Deliberately absent: Gantt pictures, which are in `gantt`, and files.

mod ticks;

use std::fmt::Write as _;

use foretrace_gantt::{
    Theme,
    palette::{Palette, Rgb},
    svg::document::{Anchor, Document, Style},
    text::{self, Px},
};

use ticks::Axis;

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What stands above it.
    pub title: String,
    /// What the horizontal axis shows.
    pub x: String,
    /// What the vertical axis shows.
    pub y: String,
    /// The curves.
    pub series: Vec<Series>,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, by increasing first coordinate. What is not finite is left out.
    pub points: Vec<(f64, f64)>,
}

/// Colours that differ for colour-blind eyes, too.
///
/// # Source
///
/// Okabe and Ito, "Color universal design", 2008; its yellow is left out, for it is hard to see on white.
const COLOURS: [Rgb; 7] = [
    Rgb(0, 114, 178),
    Rgb(213, 94, 0),
    Rgb(0, 158, 115),
    Rgb(204, 121, 167),
    Rgb(230, 159, 0),
    Rgb(86, 180, 233),
    Rgb(60, 60, 60),
];

const MARGIN: f64 = 20.0;
const HEAD: f64 = 34.0;
const PANEL_WIDTH: f64 = 440.0;
const PLOT_HEIGHT: f64 = 260.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 18.0;
const TITLE: f64 = 46.0;
const FOOT: f64 = 44.0;
const LEGEND_LINE: f64 = 17.0;
const SMALL: f64 = 11.0;

/// As many panels as stand side by side.
const COLUMNS: usize = 2;

/// Draws panels under a title.
pub fn render(title: &str, panels: &[Panel]) -> String {
    let palette = Palette::of(Theme::Light);
    let columns = panels.len().clamp(1, COLUMNS);
    let legend = |panel: &Panel| panel.series.len().div_ceil(legend_columns(panel)) as f64;
    let tallest = panels.iter().map(legend).fold(0.0, f64::max);
    let height = TITLE + PLOT_HEIGHT + FOOT + tallest * LEGEND_LINE;
    let rows = panels.len().div_ceil(columns) as f64;
    let size = (
        2.0 * MARGIN + columns as f64 * PANEL_WIDTH,
        2.0 * MARGIN + HEAD + rows * height,
    );
    let mut document = Document::default();
    document.open(title, size, palette);
    document.text(
        MARGIN,
        MARGIN + 16.0,
        Style::new(18.0, palette.text).bold(),
        title,
    );
    for (index, panel) in panels.iter().enumerate() {
        let left = MARGIN + (index % columns) as f64 * PANEL_WIDTH;
        let top = MARGIN + HEAD + (index / columns) as f64 * height;
        draw(&mut document, panel, (left, top), palette);
    }
    document.close()
}

/// Returns how many names of a legend stand side by side.
fn legend_columns(panel: &Panel) -> usize {
    let widest = panel
        .series
        .iter()
        .map(|s| text::width(&s.name, SMALL))
        .fold(0.0, f64::max);
    let room = (PANEL_WIDTH - LEFT - RIGHT) / (widest + 34.0);
    #[expect(clippy::cast_sign_loss, reason = "both widths are positive")]
    let columns = room as usize;
    columns.max(1)
}

fn draw(document: &mut Document, panel: &Panel, (left, top): (f64, f64), palette: &Palette) {
    let plot = (
        left + LEFT,
        top + TITLE,
        PANEL_WIDTH - LEFT - RIGHT,
        PLOT_HEIGHT,
    );
    let points = || {
        let all = panel.series.iter().flat_map(|series| &series.points);
        all.filter(|(x, y)| x.is_finite() && y.is_finite())
    };
    let x = Axis::over(points().map(|point| point.0), false);
    let y = Axis::over(points().map(|point| point.1), true);
    let at = |(px, py): (f64, f64)| {
        (
            plot.0 + x.share(px) * plot.2,
            plot.1 + (1.0 - y.share(py)) * plot.3,
        )
    };
    document.text(
        left + LEFT,
        top + 18.0,
        Style::new(13.0, palette.text).bold(),
        &panel.title,
    );
    let label = Style::new(SMALL, palette.muted);
    document.text(left + 8.0, top + 34.0, label, &panel.y);
    for (value, text) in y.ticks() {
        let (_, line) = at((x.low(), value));
        rule(
            document,
            (plot.0, line),
            (plot.0 + plot.2, line),
            palette.grid,
        );
        document.text_around(plot.0 - 7.0, line, label.anchored(Anchor::End), &text);
    }
    for (value, text) in x.ticks() {
        let (column, _) = at((value, y.low()));
        let bottom = plot.1 + plot.3;
        rule(
            document,
            (column, bottom),
            (column, bottom + 4.0),
            palette.axis,
        );
        document.text(column, bottom + 16.0, label.anchored(Anchor::Middle), &text);
    }
    let bottom = plot.1 + plot.3;
    rule(
        document,
        (plot.0, bottom),
        (plot.0 + plot.2, bottom),
        palette.axis,
    );
    document.text(
        plot.0 + plot.2 / 2.0,
        bottom + 33.0,
        label.anchored(Anchor::Middle),
        &panel.x,
    );
    for (index, series) in panel.series.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        // Beyond the colours, curves of one colour differ by their dashes.
        let dashed = index >= COLOURS.len();
        let line: Vec<(f64, f64)> = series
            .points
            .iter()
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .map(|point| at(*point))
            .collect();
        curve(document, &line, colour, dashed);
        if line.len() <= 24 {
            for (x, y) in &line {
                dot(document, (*x, *y), colour);
            }
        }
        let columns = legend_columns(panel);
        let cell = plot.2 / columns as f64;
        let begin = plot.0 + (index % columns) as f64 * cell;
        let middle = bottom + FOOT + (index / columns) as f64 * LEGEND_LINE;
        curve(
            document,
            &[(begin, middle), (begin + 20.0, middle)],
            colour,
            dashed,
        );
        let name = text::fit(&series.name, SMALL, cell - 28.0).unwrap_or_default();
        document.text_around(begin + 26.0, middle, Style::new(SMALL, palette.text), &name);
    }
}

fn rule(document: &mut Document, from: (f64, f64), to: (f64, f64), colour: Rgb) {
    let data = format!("M{} {}L{} {}", Px(from.0), Px(from.1), Px(to.0), Px(to.1));
    document.path(
        data,
        format_args!("stroke=\"{colour}\" stroke-width=\"1\" fill=\"none\""),
    );
}

fn curve(document: &mut Document, line: &[(f64, f64)], colour: Rgb, dashed: bool) {
    let mut data = String::new();
    for (index, (x, y)) in line.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(data, "{command}{} {}", Px(*x), Px(*y));
    }
    if data.is_empty() {
        return;
    }
    let pattern = if dashed {
        " stroke-dasharray=\"6 4\""
    } else {
        ""
    };
    document.path(
        data,
        format_args!(
            "stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\" fill=\"none\"{pattern}"
        ),
    );
}

fn dot(document: &mut Document, (x, y): (f64, f64), colour: Rgb) {
    let data = format!(
        "M{} {}m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0 -5.2 0",
        Px(x),
        Px(y)
    );
    document.path(data, format_args!("fill=\"{colour}\""));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_of_nothing_is_still_a_picture() {
        let panel = Panel {
            title: "<a & b>".into(),
            x: "x".into(),
            y: "y".into(),
            series: vec![Series {
                name: "nothing".into(),
                points: vec![(1.0, f64::NAN)],
            }],
        };
        let picture = render("Title", &[panel]);
        assert!(picture.contains("&lt;a &amp; b&gt;") && picture.ends_with("</svg>\n"));
        assert!(!picture.contains("NaN"));
    }
}
