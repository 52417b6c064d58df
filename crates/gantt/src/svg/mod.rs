//! The picture of a schedule as SVG: valid, self-contained, and the same bytes for the same schedule.
//!
//! From top to bottom: title, what the picture is of, legend, the strip of parallelism, a row for each thread, the
//! axis of time. Every part is a file of its own; this one lays them out.

mod arrows;
mod axis;
pub mod document;
mod head;
mod rows;
mod strip;

use foretrace_schedule::{Outcome, Schedule, SimTime};

use crate::{
    lanes::Rows,
    palette::{Palette, Theme},
    pixels::{Columns, Shares},
    scale::{Ticks, TimeScale},
    text,
};
use document::Document;

/// The margin around the picture.
const MARGIN: f64 = 20.0;

/// Between names and segments.
const LABEL_GAP: f64 = 10.0;

/// How a picture is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct SvgOptions {
    /// The width in pixels; at least 400.
    pub width: f64,
    /// Light or dark.
    pub theme: Theme,
    /// So many arrows are drawn at most; where there are more, those that cannot be told apart are one, and those of the
    /// shortest waits are left out, which the legend says.
    pub arrows: usize,
    /// The part to draw; the whole where there is none.
    pub range: Option<(SimTime, SimTime)>,
    /// The title; the schedule's source where there is none.
    pub title: Option<String>,
}

impl Default for SvgOptions {
    fn default() -> Self {
        Self {
            width: 1200.0,
            theme: Theme::Light,
            arrows: 250,
            range: None,
            title: None,
        }
    }
}

/// Draws a schedule.
///
/// The length of the text is bounded by the width and the number of lanes, however many segments there are and however
/// long their names. Takes time linear in the segments.
pub fn render(schedule: &Schedule, options: &SvgOptions) -> String {
    let width = if options.width.is_finite() {
        options.width.clamp(400.0, 20_000.0).round()
    } else {
        SvgOptions::default().width
    };
    let palette = Palette::of(options.theme);
    let mut head = Document::default();
    let head_bottom = head::draw(&mut head, schedule, options, palette, width);

    let (start, end) = options
        .range
        .unwrap_or((SimTime::ZERO, drawn_end(schedule)));
    // Names decide where the plot begins, their size by the number of rows alone.
    let label_width = Rows::new(0.0, schedule.lanes.len()).label_width(schedule);
    let left = (MARGIN + label_width + LABEL_GAP).ceil();
    let right = width - MARGIN - strip::cpus_width(schedule).ceil();
    let scale = TimeScale::new(start, end, left, right - left);
    let columns = Columns::new(scale.start(), scale.end(), scale.pixels());
    let shares = Shares::of(&schedule.lanes, columns);
    let strip = strip::Strip::new(schedule, &shares, &scale, head_bottom + 20.0);
    let rows = Rows::new(strip.bottom() + 24.0, schedule.lanes.len());
    let plot = Plot {
        schedule,
        palette,
        scale,
        columns,
        ticks: scale.ticks(36.0, |label| text::width(label, axis::SIZE)),
        rows,
    };

    let mut body = Document::default();
    axis::draw_grid(&mut body, &plot, &strip);
    strip.draw(&mut body, &plot);
    let captions = rows::draw(&mut body, &plot, label_width);
    let arrows = arrows::draw(&mut body, &plot, options.arrows);
    rows::draw_captions(&mut body, &captions, arrows.any());
    axis::draw_deadlock(&mut body, &plot, &strip);
    let bottom = axis::draw_axis(&mut body, &plot);
    let legend = head::Legend {
        totals: shares.whole(),
        arrows,
    };
    let legend_bottom = legend.draw(&mut body, palette, MARGIN, bottom + 14.0, width - MARGIN);

    let mut document = Document::default();
    document.open(
        head::title(schedule, options),
        (width, legend_bottom + MARGIN),
        palette,
    );
    document.append(&head);
    document.append(&body);
    document.close()
}

/// Where the picture of a whole schedule ends: a deadlock is shown with some of the time after it.
fn drawn_end(schedule: &Schedule) -> SimTime {
    match schedule.outcome {
        Outcome::Completed => schedule.end,
        Outcome::Deadlock(_) => schedule.end + SimTime((schedule.end.0 / 12).max(1)),
    }
}

/// What all parts of a picture share.
struct Plot<'a> {
    schedule: &'a Schedule,
    palette: &'static Palette,
    scale: TimeScale,
    columns: Columns,
    ticks: Ticks,
    rows: Rows,
}

impl Plot<'_> {
    /// Tells whether a time is in the picture.
    fn shows(&self, time: SimTime) -> bool {
        (self.scale.start()..=self.scale.end()).contains(&time)
    }

    /// Returns when threads stopped for ever, where they did and the picture shows it.
    fn deadlock(&self) -> Option<SimTime> {
        let is_deadlock = matches!(self.schedule.outcome, Outcome::Deadlock(_));
        (is_deadlock && self.shows(self.schedule.end)).then_some(self.schedule.end)
    }
}

#[cfg(test)]
mod tests;
