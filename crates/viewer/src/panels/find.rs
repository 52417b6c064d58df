//! Search by name: threads, start routines, objects, functions, files.

use std::sync::Arc;

use eframe::egui::{self, Key, text::CCursor};

use crate::{
    app::Viewer, index::Index, jobs::Job, navigate::Selection, source::Progress, state::Open,
};

/// What is searched for.
#[derive(Default)]
pub struct Find {
    is_open: bool,
    is_new: bool,
    text: String,
    chosen: usize,
    /// What can be found, and in which prediction.
    index: Option<(u64, Known)>,
}

/// What is known of what can be found.
enum Known {
    /// It is on its way.
    Coming(Job<Index>),
    /// It is here.
    Here(Index),
}

/// So many findings are shown.
const SHOWN: usize = 60;

impl Find {
    /// Opens it.
    pub fn open(&mut self) {
        self.is_open = true;
        self.is_new = true;
    }

    /// Closes it; returns whether it was open.
    pub fn close(&mut self) -> bool {
        std::mem::take(&mut self.is_open)
    }

    /// Returns whether it is still found out what there is.
    pub fn is_busy(&self) -> bool {
        self.is_open && matches!(self.index, Some((_, Known::Coming(_))))
    }

    /// Takes what is searched for; returns whether Enter was pressed.
    fn entry(&mut self, ui: &mut egui::Ui) -> bool {
        let edit = egui::TextEdit::singleline(&mut self.text)
            .hint_text("a thread, an object, a function, a file")
            .desired_width(420.0);
        let mut output = edit.show(ui);
        let response = output.response.response.clone();
        response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::accesskit::Role::TextInput, true, "find")
        });
        if std::mem::take(&mut self.is_new) {
            response.request_focus();
            // What was searched for before is there to be searched for again, or to be typed over.
            let end = CCursor::new(self.text.chars().count());
            let all = egui::text::CCursorRange::two(CCursor::new(0), end);
            output.state.cursor.set_char_range(Some(all));
            output.state.store(ui.ctx(), response.id);
        }
        if response.changed() {
            self.chosen = 0;
        }
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if entered {
            // While it is open, what is typed next belongs here; it would be commands elsewhere.
            response.request_focus();
        }
        entered
    }

    /// Returns what can be found, once that is known.
    fn index(&mut self, open: &Open, ctx: &egui::Context) -> Option<&Index> {
        let loaded = open.shown.as_ref()?;
        if self.index.as_ref().is_none_or(|(id, _)| *id != loaded.id) {
            let (loaded, source) = (Arc::clone(loaded), Arc::clone(&open.source));
            let (id, ctx) = (loaded.id, ctx.clone());
            let work = move |progress: &Progress| Index::new(&loaded, &*source, progress);
            let job = Job::start(work, move || ctx.request_repaint());
            self.index = Some((id, Known::Coming(job)));
        }
        let (_, known) = self.index.as_mut()?;
        if let Known::Coming(job) = known
            && let Some(result) = job.poll()
        {
            *known = Known::Here(result.unwrap_or_default());
        }
        match known {
            Known::Coming(_) => None,
            Known::Here(index) => Some(index),
        }
    }

    /// Shows what is found; returns what of it was chosen.
    fn results(&mut self, open: &Open, ui: &mut egui::Ui, entered: bool) -> Option<Selection> {
        let (text, mut position) = (self.text.clone(), self.chosen);
        let Some(index) = self.index(open, &ui.ctx().clone()) else {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.label("looking through all calls");
            });
            return None;
        };
        let mut all = index.search(&text);
        let found: Vec<_> = all.by_ref().take(SHOWN).collect();
        let more = all.count();
        let (up, down) = ui.input(|input| {
            (
                input.key_pressed(Key::ArrowUp),
                input.key_pressed(Key::ArrowDown),
            )
        });
        position = match (up, down) {
            (true, _) => position.saturating_sub(1),
            (_, true) => position + 1,
            _ => position,
        };
        position = position.min(found.len().saturating_sub(1));
        let mut chosen = None;
        egui::ScrollArea::vertical()
            .max_height(360.0)
            .show(ui, |ui| {
                for (row, entry) in found.iter().enumerate() {
                    let label = ui.selectable_label(row == position, &entry.text);
                    if label.clicked() || (entered && row == position) {
                        chosen = Some(entry.selection);
                    }
                }
            });
        if found.is_empty() && !text.is_empty() {
            ui.label("nothing of this name");
        }
        if more > 0 {
            ui.label(format!("and {more} more"));
        }
        self.chosen = position;
        chosen
    }
}

/// Shows it where it was asked for.
pub fn show(viewer: &mut Viewer, ctx: &egui::Context) {
    if !viewer.find.is_open {
        return;
    }
    let mut find = std::mem::take(&mut viewer.find);
    let visible = viewer.rows_height;
    let now = ctx.input(|input| input.time);
    let mut is_open = true;
    egui::Window::new("Find")
        .open(&mut is_open)
        .collapsible(false)
        .resizable(false)
        .default_width(440.0)
        .anchor(egui::Align2::CENTER_TOP, [0.0, 120.0])
        .show(ctx, |ui| {
            let entered = find.entry(ui);
            let Some(open) = viewer.open_front() else {
                ui.label("nothing is open");
                return;
            };
            if let Some(chosen) = find.results(open, ui, entered) {
                open.select(chosen, now, visible);
                find.is_open = false;
            }
        });
    find.is_open &= is_open;
    viewer.find = find;
}
