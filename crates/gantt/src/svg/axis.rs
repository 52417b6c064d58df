//! The axis of time, its grid, and the mark of a deadlock.

use super::{
    Plot,
    arrows::arrow_head,
    document::{Anchor, Document, Style},
    strip::Strip,
};
use crate::{picture::Deadlock, text, text::Px};

/// The size of the axis's font.
pub const SIZE: f64 = 11.0;

/// Rows together higher than this have the axis above them too.
const TALL: f64 = 500.0;

/// Draws the grid and the stripes behind everything.
pub fn draw_grid(document: &mut Document, plot: &Plot, strip: &Strip) {
    let (left, right) = (plot.scale.left(), plot.scale.right());
    if plot.rows.pitch() >= 8.0 {
        for index in (0..plot.rows.count()).step_by(2) {
            let row = plot.rows.row(index);
            document.rect(
                (left, row.top, right - left, row.height),
                plot.palette.stripe,
                None,
            );
        }
    }
    let bottom = plot.rows.bottom() + 4.0;
    let times = plot.ticks.times(&plot.scale).into_iter();
    let line = |time| {
        let x = Px(plot.scale.x(time));
        // Labels between strip and rows are not crossed out.
        let gap = if is_tall(plot) {
            format!("V{}M{x} {}", Px(strip.bottom()), Px(plot.rows.top()))
        } else {
            String::new()
        };
        format!("M{x} {}{gap}V{}", Px(strip.top()), Px(bottom))
    };
    let lines: String = times.map(line).collect();
    document.path(lines, format_args!("stroke=\"{}\"", plot.palette.grid));
}

/// Draws the axis below the rows, and above them where they are many; returns where it ends.
pub fn draw_axis(document: &mut Document, plot: &Plot) -> f64 {
    let (left, right, bottom) = (plot.scale.left(), plot.scale.right(), plot.rows.bottom());
    let line = format!("M{} {}H{}", Px(left), Px(bottom), Px(right));
    document.path(line, format_args!("stroke=\"{}\"", plot.palette.axis));
    draw_labels(document, plot, bottom + 12.0);
    if is_tall(plot) {
        draw_labels(document, plot, plot.rows.top() - 11.0);
    }
    bottom + 20.0
}

/// Tells whether there are labels of ticks above the rows too.
fn is_tall(plot: &Plot) -> bool {
    plot.rows.bottom() - plot.rows.top() > TALL
}

/// Draws the labels of the ticks around a height.
fn draw_labels(document: &mut Document, plot: &Plot, y: f64) {
    let style = Style::new(SIZE, plot.palette.muted).anchored(Anchor::Middle);
    for time in plot.ticks.times(&plot.scale) {
        document.text_around(plot.scale.x(time), y, style, &plot.ticks.label(time));
    }
}

/// Marks the time from which on nothing could run.
pub fn draw_deadlock(document: &mut Document, plot: &Plot, strip: &Strip) {
    let Some(at) = plot.deadlock() else {
        return;
    };
    let x = plot.scale.x(at);
    let colour = plot.palette.alarm;
    let line = format!(
        "M{} {}V{}",
        Px(x),
        Px(strip.top() - 4.0),
        Px(plot.rows.bottom())
    );
    document.path(line, format_args!("stroke=\"{colour}\" stroke-width=\"2\""));
    let style = Style::new(SIZE, colour).bold();
    let text = "deadlock";
    let width = text::width(text, SIZE * 1.1);
    let y = strip.top() - 10.0;
    // Near the right edge the text goes to the left of the line.
    if x + width > plot.scale.right() + 30.0 {
        document.text_around(x + 1.0, y, style.anchored(Anchor::End), text);
    } else {
        document.text_around(x - 1.0, y, style, text);
    }
    draw_circle(document, plot, x);
}

/// Between the arrows of a circle.
const BESIDE: f64 = 12.0;

/// Draws who waits for whom, to the right of where they stopped.
fn draw_circle(document: &mut Document, plot: &Plot, x: f64) {
    let deadlock = Deadlock::of(plot.schedule);
    let room = ((plot.scale.right() - x - BESIDE) / BESIDE)
        .floor()
        .max(1.0);
    let middle = |lane: usize| {
        let row = plot.rows.row(lane);
        row.bar_top + row.bar_height / 2.0
    };
    for (number, &(from, to)) in deadlock.edges.iter().enumerate() {
        let colour = if deadlock.is_in_circle((from, to)) {
            plot.palette.alarm
        } else {
            plot.palette.muted
        };
        let x = x + BESIDE * (1.0 + number as f64 % room);
        let (y0, y1) = (middle(from), middle(to));
        let down = if y1 > y0 { 1.0 } else { -1.0 };
        let line = format!("M{} {}V{}", Px(x), Px(y0), Px(y1 - 3.0 * down));
        document.path(
            line,
            format_args!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\""),
        );
        let head = arrow_head((x, y1), (0.0, down));
        document.path(head, format_args!("fill=\"{colour}\""));
    }
}
