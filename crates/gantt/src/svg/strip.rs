//! The strip of parallelism: how many threads ran, were ready and were blocked over time.

use foretrace_schedule::{Activity, Schedule};

use super::{
    LABEL_GAP, Plot,
    document::{Anchor, Area, Document, Style},
};
use crate::{palette::Rgb, pixels::Shares, scale::TimeScale, text::Px};

/// The height of the strip.
const HEIGHT: f64 = 72.0;

/// The strip's place and scale.
pub struct Strip {
    top: f64,
    /// The number of threads that the strip's height stands for.
    most: f64,
    left: f64,
    right: f64,
}

impl Strip {
    /// Places the strip at `top`, and scales it to the most threads that there are at once, or CPUs.
    pub fn new(schedule: &Schedule, shares: &Shares, scale: &TimeScale, top: f64) -> Self {
        let threads = (0..shares.columns().count())
            .map(|column| shares.threads(column, |_| true))
            .fold(1.0, f64::max);
        // Many idle CPUs would press the threads flat.
        let cpus = f64::from(schedule.cpus).min(2.0 * threads);
        Self {
            top,
            most: threads.max(cpus).ceil(),
            left: scale.left(),
            right: scale.right(),
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
    pub fn draw(&self, document: &mut Document, plot: &Plot, shares: &Shares) {
        let palette = plot.palette;
        let ready = palette.fill(Activity::Ready);
        let running = palette.fill(Activity::Running);
        // Each area covers the lower part of the one before it, so no background shines through where they meet.
        self.draw_area(document, plot, shares, palette.blocked, |_| true);
        self.draw_area(document, plot, shares, ready, |a| {
            matches!(a, Activity::Running | Activity::Ready)
        });
        self.draw_area(document, plot, shares, running, |a| a == Activity::Running);
        self.draw_scale(document, plot);
    }

    /// Draws the average number of threads in certain activities as an area.
    fn draw_area(
        &self,
        document: &mut Document,
        plot: &Plot,
        shares: &Shares,
        fill: Rgb,
        of: impl Fn(Activity) -> bool + Copy,
    ) {
        let columns = shares.columns();
        let mut area = Area::on(self.bottom());
        for column in 0..columns.count() {
            let threads = shares.threads(column, of);
            if threads > 0.0 {
                let x0 = plot.scale.x(columns.bound(column));
                let x1 = plot.scale.x(columns.bound(column + 1));
                area.step(x0, x1, threads / self.most * HEIGHT);
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
        let label = Style::new(10.0, palette.muted).anchored(Anchor::End);
        document.text_around(left - LABEL_GAP, self.top, label, &format!("{}", self.most));
        document.text_around(left - LABEL_GAP, bottom, label, "0");
        let name = label.anchored(Anchor::Start);
        document.text_around(super::MARGIN, self.top + HEIGHT / 2.0, name, "threads");
        let cpus = f64::from(plot.schedule.cpus);
        if cpus <= self.most {
            let y = bottom - cpus / self.most * HEIGHT;
            let line = format!("M{} {}H{}", Px(left), Px(y), Px(right));
            let stroke = palette.text;
            document.path(
                line,
                format_args!("stroke=\"{stroke}\" stroke-dasharray=\"5 3\""),
            );
            document.text_around(right + 5.0, y, name, &format!("{cpus} CPU"));
        }
    }
}
