//! The strip of parallelism: how many threads ran, were ready and were blocked over time.

use foretrace_schedule::{Activity, Schedule, Step};

use super::{
    LABEL_GAP, Plot,
    document::{Anchor, Area, Document, Style},
};
use crate::{palette::Rgb, pixels::Shares, scale::TimeScale, text, text::Px};

/// The height of the strip.
const HEIGHT: f64 = 72.0;

/// The size of its numbers.
const SIZE: f64 = 10.0;

/// The strip's place, scale and content.
pub struct Strip {
    top: f64,
    /// The number of threads that the strip's height stands for.
    most: f64,
    left: f64,
    right: f64,
    stretches: Vec<Stretch>,
}

/// How many threads did what over a stretch of pixels, on average.
struct Stretch {
    x0: f64,
    x1: f64,
    running: f64,
    ready: f64,
    blocked: f64,
}

impl Strip {
    /// Places the strip at `top`, and scales it to the most threads that there are at once, or CPUs.
    pub fn new(schedule: &Schedule, shares: &Shares, scale: &TimeScale, top: f64) -> Self {
        let (start, end) = (scale.start(), scale.end());
        let segments = schedule
            .lanes
            .iter()
            .map(|lane| lane.segments_in(start, end).len());
        // Where there are few segments every step can be seen, and averages over pixels would blur it.
        let stretches = if segments.sum::<usize>() <= scale.pixels() as usize / 4 {
            steps(schedule, scale)
        } else {
            averages(shares, scale)
        };
        let threads = stretches
            .iter()
            .map(|s| s.running + s.ready + s.blocked)
            .fold(1.0, f64::max);
        // Many idle CPUs would press the threads flat.
        let cpus = f64::from(schedule.cpus).min(2.0 * threads);
        Self {
            top,
            // An average of 8 threads is now and then a little more by rounding.
            most: (threads.max(cpus) - 1e-6).ceil(),
            left: scale.left(),
            right: scale.right(),
            stretches,
        }
    }

    /// The strip's upper edge.
    pub fn top(&self) -> f64 {
        self.top
    }

    /// The strip's lower edge.
    pub fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }

    /// Draws the strip.
    pub fn draw(&self, document: &mut Document, plot: &Plot) {
        let palette = plot.palette;
        let ready = palette.fill(Activity::Ready);
        let running = palette.fill(Activity::Running);
        // Each area covers the lower part of the one before it, so no background shines through where they meet.
        self.draw_area(document, palette.blocked, |s| {
            s.running + s.ready + s.blocked
        });
        self.draw_area(document, ready, |s| s.running + s.ready);
        self.draw_area(document, running, |s| s.running);
        self.draw_scale(document, plot);
    }

    /// Draws a number of threads as an area.
    fn draw_area(&self, document: &mut Document, fill: Rgb, threads: impl Fn(&Stretch) -> f64) {
        let mut area = Area::on(self.bottom());
        for stretch in &self.stretches {
            let height = threads(stretch) / self.most * HEIGHT;
            if height > 0.0 {
                area.step(stretch.x0, stretch.x1, height);
            }
        }
        if let Some(data) = area.finish() {
            document.path(data, format_args!("fill=\"{fill}\""));
        }
    }

    /// Draws the base line, the numbers at the left and the line of the CPUs.
    fn draw_scale(&self, document: &mut Document, plot: &Plot) {
        let palette = plot.palette;
        let (left, right, bottom) = (self.left, self.right, self.bottom());
        let base = format!("M{} {}H{}", Px(left), Px(bottom), Px(right));
        document.path(base, format_args!("stroke=\"{}\"", palette.axis));
        let label = Style::new(SIZE, palette.muted).anchored(Anchor::End);
        let x = left - LABEL_GAP;
        document.text_around(x, self.top, label, &format!("{}", self.most));
        document.text_around(
            x,
            self.top + HEIGHT / 2.0,
            label,
            plot.schedule.kind_of_lanes(),
        );
        document.text_around(x, bottom, label, "0");
        let cpus = f64::from(plot.schedule.cpus);
        if cpus <= self.most
            && let Some(cpus_label) = plot.schedule.cpus_label()
        {
            let y = bottom - cpus / self.most * HEIGHT;
            let line = format!("M{} {}H{}", Px(left), Px(y), Px(right));
            let stroke = palette.text;
            document.path(
                line,
                format_args!("stroke=\"{stroke}\" stroke-dasharray=\"5 3\""),
            );
            let style = label.anchored(Anchor::Start);
            document.text_around(right + 5.0, y, style, &cpus_label);
        }
    }
}

/// Returns the width that the label of the line of CPUs takes, with some air.
pub fn cpus_width(schedule: &Schedule) -> f64 {
    let label = schedule.cpus_label();
    label.map_or(0.0, |label| 5.0 + text::width(&label, SIZE))
}

/// Returns the exact numbers of threads, a stretch for each change.
fn steps(schedule: &Schedule, scale: &TimeScale) -> Vec<Stretch> {
    let steps = schedule.parallelism_in(scale.start(), scale.end());
    steps
        .windows(2)
        .map(|pair| {
            let Step {
                at,
                running,
                ready,
                blocked,
            } = pair[0];
            Stretch {
                x0: scale.x(at),
                x1: scale.x(pair[1].at),
                running: running.into(),
                ready: ready.into(),
                blocked: blocked.into(),
            }
        })
        .collect()
}

/// Returns the average numbers of threads, a stretch for each column.
fn averages(shares: &Shares, scale: &TimeScale) -> Vec<Stretch> {
    let columns = shares.columns();
    (0..columns.count())
        .map(|column| Stretch {
            x0: scale.x(columns.bound(column)),
            x1: scale.x(columns.bound(column + 1)),
            running: shares.threads(column, |a| a == Activity::Running),
            ready: shares.threads(column, |a| a == Activity::Ready),
            blocked: shares.threads(column, |a| matches!(a, Activity::Blocked(_))),
        })
        .collect()
}
