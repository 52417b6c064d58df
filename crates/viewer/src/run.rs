//! Does what commands say.

use std::{path::Path, sync::Arc};

use eframe::egui;
use foretrace_gantt::view::TimeView;
use foretrace_schedule::SimTime;

use crate::{
    app::Viewer,
    command::Command,
    export,
    jobs::Job,
    loaded::Loaded,
    navigate::{self, Direction, Selected, Selection},
    source::{EventClass, EventInfo, Within},
    state::{Open, Phase},
};

impl Viewer {
    /// Does what a command says; nothing where it makes no sense now.
    pub fn run(&mut self, ctx: &egui::Context, command: Command) {
        match command {
            Command::OpenDialog => self.ask_for_file(ctx),
            Command::Open(path) => self.open(ctx, path),
            Command::Close => self.close(),
            Command::Help => self.show_help = !self.show_help,
            Command::Find => self.find.open(),
            Command::SwitchTheme => self.settings.dark = !self.settings.dark,
            Command::SwitchArrows => self.settings.show_arrows = !self.settings.show_arrows,
            Command::SwitchPath => self.settings.show_path = !self.settings.show_path,
            Command::Escape => self.escape(),
            Command::Export(picture) => self.export(ctx, picture),
            _ => {
                let (now, visible) = (ctx.input(|input| input.time), self.rows_height);
                let lane_height = self.settings.lane_height;
                let Some(open) = self.open_front() else {
                    return;
                };
                match command {
                    Command::Scroll(rows) => open.scroll += rows * lane_height,
                    Command::SwitchCpus => open.arrangement.cpus = !open.arrangement.cpus,
                    Command::Pin => open.pin(),
                    // Ranks are as many as the program has.
                    Command::MoreCpus(_) if open.source.about().passes_messages() => {}
                    Command::MoreCpus(change) => {
                        let mut what = open.what.clone();
                        what.cpus = what.cpus.saturating_add_signed(change).clamp(1, MOST_CPUS);
                        open.set(what);
                    }
                    Command::NextOnPath => open.step_path(Direction::Next, now, visible),
                    Command::PreviousOnPath => open.step_path(Direction::Previous, now, visible),
                    _ => {
                        open.look_by(&command, now);
                        open.go(&command, now, visible);
                    }
                }
            }
        }
    }

    fn ask_for_file(&mut self, ctx: &egui::Context) {
        if self.dialog.is_none() {
            let ctx = ctx.clone();
            // Where the file in front is, there are others.
            let front = self.documents.get(self.front);
            let front = front.and_then(|document| std::path::absolute(&document.path).ok());
            let directory = front.and_then(|path| path.parent().map(Path::to_path_buf));
            self.dialog = Some(Job::start(
                move |_| export::ask_what_to_open(directory),
                move || ctx.request_repaint(),
            ));
        }
    }

    fn close(&mut self) {
        if self.front < self.documents.len() {
            self.documents.remove(self.front);
            self.front = self.front.min(self.documents.len().saturating_sub(1));
        }
    }

    fn escape(&mut self) {
        if self.find.close() || std::mem::take(&mut self.show_help) || self.note.take().is_some() {
            return;
        }
        match self
            .documents
            .get_mut(self.front)
            .map(|document| &mut document.phase)
        {
            Some(Phase::Opening(job)) => job.progress().cancel(),
            Some(Phase::Open(open)) => {
                if open.predicting.is_some() {
                    open.cancel();
                } else if open.range.take().is_none() && open.measured.take().is_none() {
                    open.selection = None;
                    open.path_step = None;
                }
            }
            Some(Phase::Failed(_)) | None => {}
        }
    }

    fn export(&mut self, ctx: &egui::Context, picture: crate::command::Picture) {
        let dark = self.settings.dark;
        let Some(open) = self.open_front() else {
            return;
        };
        let Some(seen) = export::Seen::of(open, dark) else {
            return;
        };
        let ctx = ctx.clone();
        self.saving = Some(Job::start(
            move |_| seen.save(picture),
            move || ctx.request_repaint(),
        ));
    }
}

/// As many CPUs as the window asks for.
pub const MOST_CPUS: u32 = 1024;

impl Open {
    /// Keeps what is shown to compare others with it, or lets it go.
    pub fn pin(&mut self) {
        self.baseline = match self.baseline {
            None => self.shown.clone(),
            Some(_) => None,
        };
        // What only the other one had is not there any more.
        let whole = TimeView::whole(self.limit());
        if self.view.span() > whole.span() {
            self.view = whole;
        } else if self.view.end > whole.end {
            self.view = self.view.panned(0.0, self.limit());
        }
    }

    fn look_by(&mut self, command: &Command, now: f64) {
        let limit = self.limit();
        let view = match command {
            Command::Fit => TimeView::whole(limit),
            Command::Focus => self.focus(),
            Command::Zoom(factor) => {
                let share = self.pointer.map_or(0.5, |at| {
                    at.since(self.view.start).0 as f64 / self.view.span().0 as f64
                });
                self.view.zoomed(share, *factor, limit)
            }
            Command::Pan(spans) => self.view.panned(*spans, limit),
            Command::ZoomToRange => match self.range {
                Some((start, end)) => TimeView::new(start, end),
                None => return,
            },
            Command::Undo => {
                if let Some(view) = self.history.undo(self.view) {
                    self.view = view;
                }
                return;
            }
            Command::Redo => {
                if let Some(view) = self.history.redo(self.view) {
                    self.view = view;
                }
                return;
            }
            Command::Mark => {
                if let Some(at) = self.pointer {
                    self.marked.push(at);
                }
                return;
            }
            _ => return,
        };
        if view != self.view {
            self.history.note(self.view);
            self.view = view;
            self.moved_at = now;
        }
    }

    /// What is selected with air around it; where that is seen already, the whole run.
    fn focus(&self) -> TimeView {
        let whole = TimeView::whole(self.limit());
        let (Some(selection), Some(shown)) = (self.selection, &self.shown) else {
            return whole;
        };
        let (start, end) = selection.span(shown);
        let length = end.since(start).0.max(self.limit().0 / 2_000);
        let air = length / 2;
        let view = TimeView::new(
            SimTime(start.0.saturating_sub(air)),
            SimTime(start.0 + length + air),
        );
        if view == self.view { whole } else { view }
    }

    fn go(&mut self, command: &Command, now: f64, visible: f32) {
        let Some(shown) = self.shown.clone() else {
            return;
        };
        let from = self.selection.unwrap_or(Selection {
            lane: self.rows.lanes().next().unwrap_or(0),
            what: Selected::Lane,
        });
        if from.lane >= shown.picture.schedule.lanes.len() {
            return;
        }
        let (next, previous) = (Direction::Next, Direction::Previous);
        let found = match command {
            Command::NextOnThread => navigate::on_thread(&shown, &from, next),
            Command::PreviousOnThread => navigate::on_thread(&shown, &from, previous),
            Command::NextOnObject => self.same(&shown, &from, next, about_the_same),
            Command::PreviousOnObject => self.same(&shown, &from, previous, about_the_same),
            Command::NextOfKind => {
                self.same(&shown, &from, next, |a, b| a.operation == b.operation)
            }
            Command::PreviousOfKind => {
                self.same(&shown, &from, previous, |a, b| a.operation == b.operation)
            }
            Command::Cause => navigate::cause(&shown, &*self.source, &from).map(|(_, cause)| cause),
            _ => return,
        };
        if let Some(found) = found {
            self.path_step = None;
            self.select(found, now, visible);
        }
    }

    fn same(
        &self,
        shown: &Loaded,
        from: &Selection,
        direction: Direction,
        alike: impl Fn(&EventInfo, &EventInfo) -> bool,
    ) -> Option<Selection> {
        let event = self.source.event(from.told(shown)?)?;
        navigate::across(shown, &*self.source, from, direction, &|other| {
            alike(&event, other)
        })
    }

    fn step_path(&mut self, direction: Direction, now: f64, visible: f32) {
        let Some(shown) = self.shown.clone() else {
            return;
        };
        let at = self
            .selection
            .map_or(self.view.start, |selection| selection.span(&shown).0);
        if let Some(step) = navigate::path_step(&shown, self.path_step, at, direction) {
            self.go_to_path(&shown, step, now, visible);
        }
    }

    /// Selects what a lane does at a time, and marks that as a range.
    pub fn look_at(&mut self, shown: &Arc<Loaded>, at: Within, now: f64, visible: f32) {
        let middle = SimTime(u64::midpoint(at.start.0, at.end.0));
        if let Some(segment) = shown.picture.segment_at(at.lane, middle) {
            let selection = Selection {
                lane: at.lane,
                what: Selected::Segment(segment),
            };
            self.select(selection, now, visible);
            self.path_step = None;
            self.range = Some((at.start, at.end));
        }
    }

    /// Selects a step of the critical path.
    pub fn go_to_path(&mut self, shown: &Arc<Loaded>, step: usize, now: f64, visible: f32) {
        let of = shown.path[step];
        let selection = Selection {
            lane: of.lane,
            what: Selected::Segment(of.segment),
        };
        self.select(selection, now, visible);
        self.path_step = Some(step);
    }
}

/// Returns whether two events are of the same object; of messages, between the same two.
fn about_the_same(a: &EventInfo, b: &EventInfo) -> bool {
    match (a.object, b.object) {
        (Some(object), other) => other == Some(object),
        (None, None) => {
            let ends = |event: &EventInfo| {
                let other = event.other.filter(|_| event.class == EventClass::Message)?;
                Some((event.lane.min(other), event.lane.max(other)))
            };
            ends(a).is_some() && ends(a) == ends(b)
        }
        (None, Some(_)) => false,
    }
}
