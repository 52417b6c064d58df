//! What would help: changes of the program, and what each is worth.

use std::sync::Arc;

use eframe::egui::{self, RichText};

use crate::{jobs::Job, source::Within, state::Open, theme::Colours};

/// Shows it; returns what is to be shown of a change that was clicked at.
pub fn show(open: &mut Open, ui: &mut egui::Ui, colours: &Colours) -> Option<Within> {
    // Of a run that comes to no end nobody can say how much sooner it would.
    let is_deadlock = open.shown.as_ref().is_some_and(|shown| shown.is_deadlock());
    if !open.source.about().can_predict || is_deadlock {
        return None;
    }
    want(open, ui);
    ui.add_space(8.0);
    ui.strong("What would help");
    if let Some(job) = &open.advising {
        let (_, share) = job.progress().now();
        ui.add(egui::ProgressBar::new(share.unwrap_or(0.0)).text("predicting changes"));
        return None;
    }
    if let Some(error) = &open.advice_error {
        ui.colored_label(colours.alarm(), error);
        return None;
    }
    if open.advice.is_empty() {
        ui.label("No single change that was tried takes off 1 % of the time.");
        return None;
    }
    let heading = "speed-up and change of the time, if one thing were otherwise:";
    ui.label(RichText::new(heading).color(colours.muted()));
    let mut clicked = None;
    for advice in &open.advice {
        ui.horizontal_wrapped(|ui| {
            ui.strong(format!("{:.2}", advice.speedup));
            let gain = format!("-{:.1} %", 100.0 * advice.gain);
            ui.label(RichText::new(gain).color(colours.muted()));
            match advice.at {
                Some(at) if ui.link(&advice.change).clicked() => clicked = Some(at),
                Some(_) => {}
                None => {
                    ui.label(&advice.change);
                }
            }
        });
    }
    clicked
}

/// Asks for it where the conditions have changed, once what is shown has come.
fn want(open: &mut Open, ui: &egui::Ui) {
    if open.predicting.is_some() || open.advice_of.as_ref() == Some(&open.what) {
        return;
    }
    open.advice_error = None;
    open.advice.clear();
    let (source, what, ctx) = (
        Arc::clone(&open.source),
        open.what.clone(),
        ui.ctx().clone(),
    );
    open.advice_of = Some(what.clone());
    open.advising = Some(Job::start(
        move |progress| source.advice(&what, progress),
        move || ctx.request_repaint(),
    ));
}
