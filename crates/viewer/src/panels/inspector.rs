//! What is selected: what it is, when, what it waited for and who released it, where it was called, and the source.

use std::sync::Arc;

use eframe::egui::{self, RichText};
use foretrace_gantt::scale::TimeScale;
use foretrace_schedule::{SimTime, State};

use crate::{
    app::Viewer,
    command::Command,
    lists::Waits,
    loaded::Loaded,
    navigate::{self, Selected, Selection},
    panels::{advice, source_view, words},
    source::{EventClass, ScheduleSource, SiteInfo, Within},
    theme::Colours,
};

pub use source_view::SourceFiles;

/// What the inspector does when it is clicked at.
enum Act {
    Command(Command),
    Select(Selection),
    Path(usize),
    Look(Within),
}

/// So many of the longest waits are listed to begin with.
const WORST: usize = 8;

/// Shows it.
pub fn show(viewer: &mut Viewer, ui: &mut egui::Ui, commands: &mut Vec<Command>) {
    let colours = viewer.colours.clone();
    let visible = viewer.rows_height;
    let mut files = std::mem::take(&mut viewer.source_files);
    let mut act = None;
    if let Some(open) = viewer.open_front()
        && let Some(loaded) = open.shown.clone()
    {
        let source = Arc::clone(&open.source);
        let inspector = Inspector {
            loaded: &loaded,
            source: &source,
            colours: &colours,
            scale: TimeScale::new(open.view.start, open.view.end, 0.0, 1_000.0),
        };
        if let Some(selection) = open.selection {
            inspector.selected(ui, &selection, open.path_step, &mut files, &mut act);
        } else {
            // What is higher than the window would reach into what is below it.
            egui::ScrollArea::vertical()
                .id_salt("where the time goes")
                .auto_shrink(false)
                .show(ui, |ui| {
                    inspector.nothing(ui, &mut act);
                    let found = advice::show(open, ui, &colours);
                    act = found.map(Act::Look).or(act.take());
                });
        }
        let now = ui.input(|input| input.time);
        match act.take() {
            Some(Act::Command(command)) => commands.push(command),
            Some(Act::Select(selection)) => open.select(selection, now, visible),
            Some(Act::Path(step)) => open.go_to_path(&loaded, step, now, visible),
            Some(Act::Look(at)) => open.look_at(&loaded, at, now, visible),
            None => {}
        }
    }
    viewer.source_files = files;
}

struct Inspector<'a> {
    loaded: &'a Arc<Loaded>,
    source: &'a Arc<dyn ScheduleSource>,
    colours: &'a Colours,
    /// About that of the picture: times are written so that they can be told apart as far as they can there.
    scale: TimeScale,
}

impl Inspector<'_> {
    /// What to do while nothing is selected: where the time goes, the worst first.
    fn nothing(&self, ui: &mut egui::Ui, act: &mut Option<Act>) {
        ui.add_space(4.0);
        ui.heading("Where the time goes");
        ui.label("Click a segment or an event in the picture, or begin here:");
        ui.add_space(6.0);
        let loaded = self.loaded;
        if !loaded.path.is_empty() {
            ui.label(words::path(loaded));
        }
        if !loaded.path.is_empty() && ui.button("Follow it from the begin (N)").clicked() {
            *act = Some(Act::Path(0));
        }
        if !loaded.path.is_empty() && ui.button("From the end (Shift+N)").clicked() {
            *act = Some(Act::Path(loaded.path.len() - 1));
        }
        ui.add_space(8.0);
        let worst = self.worst();
        if !worst.is_empty() {
            ui.strong("Longest waits");
        }
        for (name, waits) in worst {
            let text = format!("{name}: {} (longest {})", waits.total, waits.longest);
            if ui.link(text).clicked() {
                *act = Some(Act::Select(Selection {
                    lane: waits.at.0,
                    what: Selected::Segment(waits.at.1),
                }));
            }
        }
    }

    /// What threads waited for longest: objects, or, where they wait for messages, the calls that they waited in, by their
    /// places where those are known.
    fn worst(&self) -> Vec<(String, Waits)> {
        let lists = &self.loaded.lists;
        let objects = lists.objects.iter().take(WORST);
        let objects =
            objects.map(|(object, waits)| (self.loaded.object(*object).to_owned(), *waits));
        let sites = lists.sites.iter().take(WORST);
        let sites = sites.map(|site| {
            let function = self.source.site(site.site).function;
            (format!("{} in {function}", site.operation), site.waits)
        });
        let operations = lists.operations.iter().take(WORST);
        let operations = operations.map(|(name, waits)| (name.to_string(), *waits));
        match (lists.objects.is_empty(), lists.sites.is_empty()) {
            (false, _) => objects.collect(),
            (true, false) => sites.collect(),
            (true, true) => operations.collect(),
        }
    }

    fn selected(
        &self,
        ui: &mut egui::Ui,
        selection: &Selection,
        path_step: Option<usize>,
        files: &mut SourceFiles,
        act: &mut Option<Act>,
    ) {
        let site = self.place(selection).map(|site| self.source.site(site));
        let line = site.as_ref().and_then(|site| site.line.clone());
        // The source has a part of the height of its own.
        let share = if line.is_some() { 0.6 } else { 1.0 };
        egui::ScrollArea::vertical()
            .id_salt("what is selected")
            .max_height(ui.available_height() * share)
            .auto_shrink([false, true])
            .show(ui, |ui| {
                self.facts(ui, selection, path_step, act);
                ui.separator();
                self.call_site(ui, selection, site.as_ref());
            });
        if let Some((file, line)) = line {
            self.code(ui, file, line, files);
        }
    }

    /// What is known of what is selected, and where one can go from there.
    fn facts(
        &self,
        ui: &mut egui::Ui,
        selection: &Selection,
        path_step: Option<usize>,
        act: &mut Option<Act>,
    ) {
        let loaded = self.loaded;
        ui.add_space(4.0);
        ui.heading(words::describe(loaded, &**self.source, selection));
        let (start, end) = selection.span(loaded);
        egui::Grid::new("facts").num_columns(2).show(ui, |ui| {
            let mut fact = |name: &str, value: String| {
                ui.label(RichText::new(name).color(self.colours.muted()));
                ui.label(value);
                ui.end_row();
            };
            fact(
                loaded.kind_of_lane(),
                loaded.lane(selection.lane).to_owned(),
            );
            if let Some(routine) = &loaded.facts[selection.lane].routine {
                fact("runs", routine.clone());
            }
            if end > start {
                fact("begin", self.scale.exactly(start));
                fact("end", self.scale.exactly(end));
                fact("length", end.since(start).to_string());
            } else {
                fact("time", self.scale.exactly(start));
            }
            self.event_facts(selection, &mut fact);
        });
        self.cause(ui, selection, act);
        self.let_go(ui, selection, act);
        navigation(ui, act);
        if let Some(step) = path_step {
            let text = format!(
                "step {} of {} of the critical path",
                step + 1,
                loaded.path.len()
            );
            ui.label(RichText::new(text).color(self.colours.alarm()));
        }
    }

    fn event_facts(&self, selection: &Selection, fact: &mut impl FnMut(&str, String)) {
        self.doing(selection, fact);
        let Some(event) = selection.told(self.loaded) else {
            return;
        };
        let Some(info) = self.source.event(event) else {
            fact(
                "event",
                format!("number {event} of the trace, which is not open"),
            );
            return;
        };
        if let Some(object) = info.object {
            fact("object", self.loaded.object(object).to_owned());
        }
        if let Some(about) = info.about {
            fact("call", about);
        }
        if let Some(other) = info.other {
            let name = if info.class == EventClass::Message {
                "other end".to_owned()
            } else {
                format!("other {}", self.loaded.kind_of_lane())
            };
            fact(&name, self.loaded.lane(other as usize).to_owned());
        }
        if let Some(nanos) = info.recorded_nanos {
            let at = SimTime::from_nanos(nanos);
            let at = self.scale.exactly(at);
            fact("recorded at", format!("{at} (event {event})"));
        }
    }

    /// Between which calls a thread runs, or in which one it waits.
    fn doing(&self, selection: &Selection, fact: &mut impl FnMut(&str, String)) {
        let Selected::Segment(position) = selection.what else {
            return;
        };
        let (loaded, lane) = (self.loaded, selection.lane);
        let Some(segment) = loaded.picture.segment(lane, position) else {
            return;
        };
        let call = |event: u32| words::call(loaded, &**self.source, event);
        if let State::Blocked(_) = segment.state {
            if let Some(call) = segment.event.and_then(call) {
                fact("waits in", call);
            }
            return;
        }
        let around = navigate::around(loaded, lane, position);
        if let Some(call) = around.after.and_then(call) {
            fact("after", call);
        }
        if let Some(call) = around.until.and_then(call) {
            let name = if around.reached {
                "until"
            } else {
                "on the way to"
            };
            fact(name, call);
        }
    }

    /// Returns the call whose place is shown: of code that ends where no call is, as at a thread's end, the one before it.
    fn place(&self, selection: &Selection) -> Option<u32> {
        let site = |event: u32| self.source.event(event)?.site;
        let told = selection.told(self.loaded).and_then(site);
        let Selected::Segment(segment) = selection.what else {
            return told;
        };
        let after = || navigate::around(self.loaded, selection.lane, segment).after;
        told.or_else(|| after().and_then(site))
    }

    /// Who let it go on.
    fn cause(&self, ui: &mut egui::Ui, selection: &Selection, act: &mut Option<Act>) {
        let Some((wake, cause)) = navigate::cause(self.loaded, &**self.source, selection) else {
            if let Some(blocked) = self.never_released(selection) {
                ui.label(RichText::new(blocked).color(self.colours.alarm()));
            }
            return;
        };
        let wake = &self.loaded.picture.schedule.wakes[wake];
        let name = self.loaded.lane(cause.lane);
        let at = self.scale.label(wake.at);
        ui.horizontal_wrapped(|ui| {
            ui.label(if wake.is_message() {
                format!(
                    "by a message of {name}, sent at {}, received at {at}: {} on its way",
                    self.scale.label(wake.sent()),
                    wake.delay
                )
            } else {
                format!("let go on by {name} at {at}")
            });
            if ui
                .button("Jump there")
                .on_hover_text("C or Shift+]")
                .clicked()
            {
                *act = Some(Act::Select(cause));
            }
        });
    }

    /// Says for whom a thread in a deadlock waits.
    fn never_released(&self, selection: &Selection) -> Option<String> {
        let name = self.loaded.lane(selection.lane);
        let blocked = self
            .loaded
            .picture
            .deadlocked()
            .iter()
            .find(|blocked| blocked.thread == name)?;
        let (_, end) = selection.span(self.loaded);
        (end == self.loaded.end()).then(|| match &blocked.waits_for {
            Some(other) => format!("waits for ever, for {other}"),
            None => "waits for ever".to_owned(),
        })
    }

    /// Whom an operation let go on.
    fn let_go(&self, ui: &mut egui::Ui, selection: &Selection, act: &mut Option<Act>) {
        if !matches!(selection.what, Selected::Mark(_)) {
            return;
        }
        let (at, _) = selection.span(self.loaded);
        let picture = &self.loaded.picture;
        let wakes = &picture.schedule.wakes;
        for wake in picture
            .wakes
            .made(wakes, selection.lane, at, at)
            .iter()
            .take(5)
        {
            let wake = &wakes[*wake as usize];
            let lane = wake.to as usize;
            ui.horizontal_wrapped(|ui| {
                let name = self.loaded.lane(lane);
                ui.label(if wake.is_message() {
                    format!(
                        "a message to {name}, received at {}",
                        self.scale.label(wake.at)
                    )
                } else {
                    format!("lets {name} go on")
                });
                if ui.button("Jump there").clicked() {
                    let what = picture
                        .segment_at(lane, wake.at)
                        .map_or(Selected::Lane, Selected::Segment);
                    *act = Some(Act::Select(Selection { lane, what }));
                }
            });
        }
    }

    /// Where it was called.
    fn call_site(&self, ui: &mut egui::Ui, selection: &Selection, site: Option<&SiteInfo>) {
        let muted = |text: &str| RichText::new(text).color(self.colours.muted());
        let Some(site) = site else {
            if selection.what != Selected::Lane {
                ui.label(muted("Where this was called is not in the trace."));
            }
            return;
        };
        ui.strong(&site.function);
        for (caller, line) in &site.callers {
            let place = line.as_ref().map_or_else(String::new, |(file, line)| {
                source_view::short_line(file, *line)
            });
            ui.label(format!("  called from {caller}  {place}"));
        }
        if let Some(note) = &site.note {
            ui.label(muted(note));
        }
        if let Some((file, line)) = &site.line {
            ui.label(RichText::new(format!("{file}:{line}")).monospace());
        }
    }

    /// The source around a line.
    fn code(&self, ui: &mut egui::Ui, file: String, line: u32, files: &mut SourceFiles) {
        let source = match files.file(&file) {
            Ok(source) => source,
            Err(error) => {
                ui.label(RichText::new(error).color(self.colours.muted()));
                return;
            }
        };
        let recorded = self.source.about().recorded_unix_seconds;
        if source.is_changed_since(recorded) {
            let text = "changed after the recording: its lines may be others than they were";
            ui.label(RichText::new(text).color(self.colours.alarm()));
        }
        let id = ui.scope_id().with("shown");
        let shown = (file, line);
        let anew = ui.data(|data| data.get_temp::<(String, u32)>(id)) != Some(shown.clone());
        ui.data_mut(|data| data.insert_temp(id, shown));
        source_view::show(ui, &source.lines, line, anew, self.colours);
    }
}

fn navigation(ui: &mut egui::Ui, act: &mut Option<Act>) {
    let rows = [
        (
            "thread",
            Command::PreviousOnThread,
            Command::NextOnThread,
            ", .",
        ),
        (
            "object",
            Command::PreviousOnObject,
            Command::NextOnObject,
            "[ ]",
        ),
        (
            "kind",
            Command::PreviousOfKind,
            Command::NextOfKind,
            "Shift+K K",
        ),
        (
            "path",
            Command::PreviousOnPath,
            Command::NextOnPath,
            "Shift+N N",
        ),
    ];
    ui.horizontal_wrapped(|ui| {
        for (name, previous, next, keys) in rows {
            ui.label(name);
            let back = ui
                .small_button("<")
                .on_hover_text(format!("previous ({keys})"));
            let on = ui.small_button(">").on_hover_text(format!("next ({keys})"));
            if back.clicked() {
                *act = Some(Act::Command(previous));
            }
            if on.clicked() {
                *act = Some(Act::Command(next));
            }
        }
    });
}
