//! The speed-up curve of each model, with the number of CPUs that is shown.

use std::sync::Arc;

use eframe::egui::{self, Align2, Color32, FontId, RichText, Sense, Stroke, pos2, vec2};
use foretrace_gantt::palette::Palette;
use foretrace_schedule::{Activity, WaitKind};

use crate::{
    jobs::Job,
    panels::status::entry,
    source::{Curve, WhatIf},
    state::Open,
    theme::{Colours, colour},
};

/// Shows it; a click chooses the number of CPUs.
pub fn show(open: &mut Open, ui: &mut egui::Ui, colours: &Colours) {
    if !open.source.about().can_predict {
        ui.label("A saved schedule has one number of CPUs. Open its trace for the curve.");
        return;
    }
    want(open, ui);
    if let Some(job) = &open.curving {
        let (_, share) = job.progress().now();
        let text = if open.source.about().passes_messages() {
            "predicting all networks"
        } else {
            "predicting all numbers of CPUs"
        };
        ui.add(egui::ProgressBar::new(share.unwrap_or(0.0)).text(text));
    }
    if let Some(error) = &open.curve_error {
        ui.colored_label(colours.alarm(), error);
    }
    if open.curves.is_empty() {
        return;
    }
    if open.source.about().passes_messages() {
        networks(open, ui);
        return;
    }
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| {
            draw(open, ui, colours);
            legend(open, ui, colours);
            table(open, ui);
        });
}

/// Asks for the curve where the conditions have changed in what it depends on.
fn want(open: &mut Open, ui: &egui::Ui) {
    let mut of = WhatIf {
        cpus: 0,
        model: String::new(),
        ..open.what.clone()
    };
    // Those that come with foretrace are predicted for all at once.
    of.network = of
        .network
        .filter(|network| !open.source.about().networks.contains(network));
    if open.curves_of.as_ref() == Some(&of) {
        return;
    }
    open.curve_error = None;
    let (source, what, ctx) = (
        Arc::clone(&open.source),
        open.what.clone(),
        ui.ctx().clone(),
    );
    let most = (open.source.about().threads as u32).clamp(4, 64);
    let cpus = counts(most);
    open.curving = Some(Job::start(
        move |progress| source.curve(&what, &cpus, progress),
        move || ctx.request_repaint(),
    ));
    open.curves_of = Some(of);
}

/// Numbers of CPUs up to a most: all while they are few, then ever fewer.
fn counts(most: u32) -> Vec<u32> {
    let mut counts = Vec::new();
    let mut cpus = 1;
    while cpus < most {
        counts.push(cpus);
        cpus += (cpus / 8).max(1);
    }
    counts.push(most);
    counts
}

fn model_colour(position: usize, colours: &Colours) -> Color32 {
    let palette: &Palette = colours.palette;
    let activities = [
        Activity::Running,
        Activity::Blocked(WaitKind::Lock),
        Activity::Blocked(WaitKind::Condition),
        Activity::Blocked(WaitKind::Semaphore),
    ];
    colour(palette.fill(activities[position % activities.len()]))
}

/// Where numbers of CPUs and speed-ups lie.
struct Axes {
    plot: egui::Rect,
    most_cpus: u32,
    top: f64,
}

impl Axes {
    fn new(rect: egui::Rect, open: &Open) -> Self {
        let points = || open.curves.iter().flat_map(|curve| &curve.points);
        let most = points().map(|point| point.0).max().unwrap_or(1);
        let best = points().map(|point| point.2).fold(1.0, f64::max);
        Self {
            plot: egui::Rect::from_min_max(rect.min + vec2(30.0, 8.0), rect.max - vec2(10.0, 26.0)),
            most_cpus: most.max(open.what.cpus).max(2),
            top: (best * 1.15).max(2.0),
        }
    }

    fn at(&self, cpus: f64, speedup: f64) -> egui::Pos2 {
        let x = ((cpus - 1.0) / f64::from(self.most_cpus - 1)) as f32;
        let y = (speedup / self.top) as f32;
        pos2(
            self.plot.left() + x * self.plot.width(),
            self.plot.bottom() - y * self.plot.height(),
        )
    }

    /// Returns the number of CPUs at a point.
    fn cpus(&self, x: f32) -> u32 {
        let share = f64::from((x - self.plot.left()) / self.plot.width()).clamp(0.0, 1.0);
        #[expect(clippy::cast_sign_loss, reason = "the share is not negative")]
        let cpus = (1.0 + share * f64::from(self.most_cpus - 1)).round() as u32;
        cpus
    }

    /// Draws lines and numbers.
    fn draw(&self, painter: &egui::Painter, shown: u32, colours: &Colours) {
        let plot = self.plot;
        painter.rect_filled(plot, 0.0, colours.background());
        let small = FontId::proportional(10.0);
        let step = step(self.top);
        let lines = (0..).map(|n| f64::from(n) * step);
        for line in lines.take_while(|value| *value <= self.top) {
            let at = self.at(1.0, line);
            painter.hline(plot.x_range(), at.y, (1.0, colours.grid()));
            let at = at - vec2(4.0, 0.0);
            let text = format!("{line}");
            painter.text(
                at,
                Align2::RIGHT_CENTER,
                text,
                small.clone(),
                colours.muted(),
            );
        }
        let most = self.top.min(f64::from(self.most_cpus));
        let ideal = [self.at(1.0, 1.0), self.at(most, most)];
        let stroke = Stroke::new(1.0, colours.muted());
        painter.extend(egui::Shape::dashed_line(&ideal, stroke, 4.0, 4.0));
        let mut ticks = vec![1, self.most_cpus, shown];
        let powers = [2, 4, 8, 16, 32].into_iter();
        ticks.extend(powers.filter(|tick| *tick < self.most_cpus));
        ticks.sort_unstable();
        ticks.dedup();
        let mut free = f32::NEG_INFINITY;
        for tick in ticks {
            let at = self.at(f64::from(tick), 0.0) + vec2(0.0, 4.0);
            if at.x < free && tick != shown {
                continue;
            }
            free = at.x + 14.0;
            let is_shown = tick == shown;
            let colour = if is_shown {
                colours.accent
            } else {
                colours.muted()
            };
            painter.text(
                at,
                Align2::CENTER_TOP,
                tick.to_string(),
                small.clone(),
                colour,
            );
        }
        let below = plot.center_bottom() + vec2(0.0, 26.0);
        painter.text(below, Align2::CENTER_BOTTOM, "CPUs", small, colours.muted());
    }
}

fn draw(open: &mut Open, ui: &mut egui::Ui, colours: &Colours) {
    let width = ui.available_width();
    let (rect, response) = ui.allocate_exact_size(vec2(width, width.min(320.0)), Sense::click());
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::accesskit::Role::Canvas, true, "speed-up curve")
    });
    let axes = Axes::new(rect, open);
    let painter = ui.painter().with_clip_rect(rect);
    axes.draw(&painter, open.what.cpus, colours);
    let shown = axes.at(f64::from(open.what.cpus), 0.0);
    let stroke = Stroke::new(2.0, colours.accent);
    painter.vline(shown.x, axes.plot.y_range(), stroke);
    for (position, curve) in open.curves.iter().enumerate() {
        let colour = model_colour(position, colours);
        let at = |(cpus, _, speedup): &(u32, _, f64)| axes.at(f64::from(*cpus), *speedup);
        let line: Vec<egui::Pos2> = curve.points.iter().map(at).collect();
        for point in &line {
            painter.circle_filled(*point, 2.2, colour);
        }
        painter.line(line, Stroke::new(2.0, colour));
    }
    let clicked = response
        .interact_pointer_pos()
        .filter(|_| response.clicked());
    if let Some(at) = clicked {
        let what = WhatIf {
            cpus: axes.cpus(at.x),
            ..open.what.clone()
        };
        open.set(what);
    }
}

/// Returns a step of 1, 2 or 5 times a power of ten with which a height has few lines.
fn step(top: f64) -> f64 {
    let power = 10_f64.powf((top / 6.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|step| top / step <= 6.0)
        .unwrap_or(power)
}

fn legend(open: &Open, ui: &mut egui::Ui, colours: &Colours) {
    ui.horizontal_wrapped(|ui| {
        for (position, curve) in open.curves.iter().enumerate() {
            let ink = model_colour(position, colours);
            entry(ui, RichText::new(&curve.model), |painter, rect| {
                painter.hline(rect.x_range(), rect.center().y, Stroke::new(2.5, ink));
            });
        }
        ui.colored_label(colours.muted(), "dashed: as many times as CPUs");
    });
}

fn table(open: &mut Open, ui: &mut egui::Ui) {
    let mut chosen = None;
    egui::Grid::new("speedups")
        .striped(true)
        .num_columns(1 + open.curves.len())
        .show(ui, |ui| {
            ui.strong("CPUs");
            for curve in &open.curves {
                ui.strong(&curve.model);
            }
            ui.end_row();
            let mut cpus: Vec<u32> = open
                .curves
                .iter()
                .flat_map(|curve| curve.points.iter().map(|p| p.0))
                .collect();
            cpus.sort_unstable();
            cpus.dedup();
            for count in cpus {
                if ui
                    .selectable_label(open.what.cpus == count, count.to_string())
                    .clicked()
                {
                    chosen = Some(count);
                }
                for curve in &open.curves {
                    ui.label(speedup_text(curve, count));
                }
                ui.end_row();
            }
        });
    if let Some(cpus) = chosen {
        let what = WhatIf {
            cpus,
            ..open.what.clone()
        };
        open.set(what);
    }
}

/// The makespan of a program that passes messages, on each network; a click chooses it.
fn networks(open: &mut Open, ui: &mut egui::Ui) {
    ui.label("The same program on the networks that come with foretrace:");
    let mut chosen = None;
    egui::Grid::new("networks").striped(true).show(ui, |ui| {
        for title in ["network", "makespan", "speed-up"] {
            ui.strong(title);
        }
        ui.end_row();
        for curve in &open.curves {
            let is_chosen = open.what.network.as_ref() == Some(&curve.model);
            let name = crate::panels::welcome::file_name(&curve.model);
            if ui.selectable_label(is_chosen, name).clicked() {
                chosen = Some(curve.model.clone());
            }
            match curve.points.first() {
                Some((_, end, speedup)) => {
                    ui.label(end.to_string());
                    ui.label(format!("{speedup:.2}"));
                }
                None => {
                    ui.label("does not end");
                }
            }
            ui.end_row();
        }
    });
    if let Some(network) = chosen {
        let what = WhatIf {
            network: Some(network),
            ..open.what.clone()
        };
        open.set(what);
    }
}

fn speedup_text(curve: &Curve, cpus: u32) -> String {
    let point = curve.points.iter().find(|point| point.0 == cpus);
    point.map_or_else(
        || "deadlock".to_owned(),
        |(_, _, speedup)| format!("{speedup:.2}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_cpus_grow_and_end_at_the_most() {
        assert_eq!(counts(4), [1, 2, 3, 4]);
        let counts = counts(64);
        assert!(counts.is_sorted() && counts.len() < 30);
        assert_eq!(counts.last(), Some(&64));
    }

    #[test]
    fn axes_have_few_lines() {
        for top in [2.0, 3.7, 9.0, 16.0, 61.0, 700.0] {
            let lines = top / step(top);
            assert!((1.0..=6.0).contains(&lines), "{top}: {lines}");
        }
    }
}
