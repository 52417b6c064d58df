//! Search by name: threads, start routines, objects, functions.

use eframe::egui::{self, Key};
use foretrace_gantt::arrange::matches;

use crate::{
    app::Viewer,
    command::Command,
    loaded::Loaded,
    navigate::{Selected, Selection},
    source::ScheduleSource,
};

/// What is searched for.
#[derive(Default)]
pub struct Find {
    is_open: bool,
    is_new: bool,
    text: String,
    chosen: usize,
}

/// Something that was found.
struct Found {
    text: String,
    selection: Selection,
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
}

/// Shows it where it was asked for.
pub fn show(viewer: &mut Viewer, ctx: &egui::Context, _: &mut Vec<Command>) {
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
            let edit = egui::TextEdit::singleline(&mut find.text)
                .hint_text("a thread, an object, a function")
                .desired_width(420.0);
            let response = ui.add(edit);
            response.widget_info(|| {
                egui::WidgetInfo::labeled(egui::accesskit::Role::TextInput, true, "find")
            });
            if std::mem::take(&mut find.is_new) {
                response.request_focus();
            }
            if response.changed() {
                find.chosen = 0;
            }
            let Some(open) = viewer.open_front() else {
                ui.label("nothing is open");
                return;
            };
            let Some(loaded) = open.shown.clone() else {
                return;
            };
            let found = search(&loaded, &*open.source, &find.text);
            let (up, down, enter) = ui.input(|input| {
                let pressed = |key| input.key_pressed(key);
                (
                    pressed(Key::ArrowUp),
                    pressed(Key::ArrowDown),
                    pressed(Key::Enter),
                )
            });
            find.chosen = match (up, down) {
                (true, _) => find.chosen.saturating_sub(1),
                (_, true) => (find.chosen + 1).min(found.len().saturating_sub(1)),
                _ => find.chosen.min(found.len().saturating_sub(1)),
            };
            egui::ScrollArea::vertical()
                .max_height(360.0)
                .show(ui, |ui| {
                    for (position, one) in found.iter().enumerate() {
                        let row = ui.selectable_label(position == find.chosen, &one.text);
                        if row.clicked() || (enter && position == find.chosen) {
                            open.select(one.selection, now, visible);
                            find.is_open = false;
                        }
                    }
                });
            if found.is_empty() && !find.text.is_empty() {
                ui.label("nothing of this name");
            }
        });
    find.is_open &= is_open;
    viewer.find = find;
}

/// Finds threads by name, start routine and process; objects and call sites that threads waited at by theirs.
fn search(loaded: &Loaded, source: &dyn ScheduleSource, text: &str) -> Vec<Found> {
    if text.is_empty() {
        return Vec::new();
    }
    let wanted = text.to_lowercase();
    let has = |name: &str| name.to_lowercase().contains(&wanted);
    let lanes = loaded
        .facts
        .iter()
        .enumerate()
        .filter(|(_, facts)| matches(facts, text));
    let threads = lanes.map(|(lane, facts)| {
        let runs = facts
            .routine
            .as_ref()
            .map_or_else(String::new, |routine| format!(", runs {routine}"));
        Found {
            text: format!("thread {}{runs}", facts.name),
            selection: Selection {
                lane,
                what: Selected::Lane,
            },
        }
    });
    let at = |(lane, segment): (usize, usize)| Selection {
        lane,
        what: Selected::Segment(segment),
    };
    let objects = loaded
        .lists
        .objects
        .iter()
        .filter(|(object, _)| has(loaded.object(*object)));
    let objects = objects.map(|(object, waits)| Found {
        text: format!("{}: longest wait {}", loaded.object(*object), waits.longest),
        selection: at(waits.at),
    });
    let sites = loaded.lists.sites.iter().take(500).filter_map(|site| {
        let place = source.site(site.site);
        has(&place.function).then(|| Found {
            text: format!(
                "{} in {}: longest wait {}",
                site.operation, place.function, site.waits.longest
            ),
            selection: at(site.waits.at),
        })
    });
    threads.chain(objects).chain(sites).take(SHOWN).collect()
}
