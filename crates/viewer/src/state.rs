//! What is open, and how it is looked at.

use std::sync::Arc;

use foretrace_gantt::{
    arrange::{Arranged, Arrangement, Heights, arrange},
    arrows::Arrows,
    view::{History, TimeView},
};
use foretrace_schedule::SimTime;

use crate::{
    canvas::cache::FrameCache,
    jobs::Job,
    loaded::Loaded,
    navigate::Selection,
    source::{Advice, CANCELLED, Curve, ScheduleSource, WhatIf},
};

/// A file, on its way or open.
pub struct Document {
    /// The file.
    pub path: String,
    /// How far it is.
    pub phase: Phase,
}

/// How far a file is.
pub enum Phase {
    /// It is being read.
    Opening(Job<Arc<dyn ScheduleSource>>),
    /// It could not be.
    Failed(String),
    /// It is open.
    Open(Box<Open>),
}

/// How two predictions are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compare {
    /// In each row, one above the other.
    #[default]
    Overlay,
    /// Each by itself, one below the other.
    Apart,
}

/// An open file.
pub struct Open {
    /// Who predicts.
    pub source: Arc<dyn ScheduleSource>,
    /// The conditions asked for.
    pub what: WhatIf,
    /// What is shown.
    pub shown: Option<Arc<Loaded>>,
    /// What is on its way.
    pub predicting: Option<(WhatIf, Job<Loaded>)>,
    /// Why there is no prediction of what was asked for.
    pub error: Option<String>,
    /// Speed-ups, and the conditions they were asked for with.
    pub curves: Vec<Curve>,
    /// Speed-ups on their way.
    pub curving: Option<Job<Vec<Curve>>>,
    /// The conditions of the speed-ups.
    pub curves_of: Option<WhatIf>,
    /// Why there are no speed-ups.
    pub curve_error: Option<String>,
    /// What would help, and the conditions it was asked for with.
    pub advice: Vec<Advice>,
    /// The same on its way.
    pub advising: Option<Job<Vec<Advice>>>,
    /// The conditions of that.
    pub advice_of: Option<WhatIf>,
    /// Why it is not known.
    pub advice_error: Option<String>,
    /// Whether what is shown is to be predicted anew, though the conditions are the same: a file that they name has changed.
    pub stale: bool,
    /// The desktop's dialog for a machine's or a network's file, while it is open.
    pub choosing: Option<Job<Option<std::path::PathBuf>>>,
    /// What it is compared with.
    pub baseline: Option<Arc<Loaded>>,
    /// How.
    pub compare: Compare,
    /// The part of time that is seen.
    pub view: TimeView,
    /// How far down the rows are scrolled.
    pub scroll: f32,
    /// Views before.
    pub history: History<TimeView>,
    /// How lanes are arranged.
    pub arrangement: Arrangement,
    /// Where that puts them.
    pub rows: Arranged,
    /// What `rows` was made for.
    rows_for: Option<(u64, Arrangement, Heights)>,
    /// Counts changes of `rows`.
    pub rows_version: u64,
    /// What is selected.
    pub selection: Option<Selection>,
    /// The step of the critical path that is selected.
    pub path_step: Option<usize>,
    /// The range of time that is selected.
    pub range: Option<(SimTime, SimTime)>,
    /// What is measured.
    pub measured: Option<(SimTime, SimTime)>,
    /// Times that were marked.
    pub marked: Vec<SimTime>,
    /// The time under the pointer.
    pub pointer: Option<SimTime>,
    /// When the view was last moved, in the window's seconds.
    pub moved_at: f64,
    /// The last frame's pixels.
    pub cache: FrameCache,
    /// The arrows in view, and what they were found for.
    pub arrows: (u64, Arrows),
    /// Those of the other prediction, where it stands apart.
    pub other_cache: FrameCache,
}

impl Open {
    /// Begins with a source.
    pub fn new(source: Arc<dyn ScheduleSource>) -> Self {
        Self {
            what: source.about().first.clone(),
            source,
            shown: None,
            predicting: None,
            error: None,
            curves: Vec::new(),
            curving: None,
            curves_of: None,
            curve_error: None,
            advice: Vec::new(),
            advising: None,
            advice_of: None,
            advice_error: None,
            stale: false,
            choosing: None,
            baseline: None,
            compare: Compare::default(),
            view: TimeView::whole(SimTime::ZERO),
            scroll: 0.0,
            history: History::default(),
            arrangement: Arrangement::default(),
            rows: Arranged::default(),
            rows_for: None,
            rows_version: 0,
            selection: None,
            path_step: None,
            range: None,
            measured: None,
            marked: Vec::new(),
            pointer: None,
            moved_at: 0.0,
            cache: FrameCache::default(),
            arrows: (0, Arrows::default()),
            other_cache: FrameCache::default(),
        }
    }

    /// Returns how late times can be seen: the end of whichever prediction is longer.
    pub fn limit(&self) -> SimTime {
        let end = |loaded: &Option<Arc<Loaded>>| loaded.as_ref().map_or(SimTime::ZERO, |l| l.end());
        let limit = end(&self.shown).max(end(&self.baseline));
        // A deadlock is shown with some of the time after it.
        let deadlock = self.shown.as_ref().is_some_and(|shown| shown.is_deadlock());
        if deadlock {
            limit + SimTime(limit.0 / 12)
        } else {
            limit
        }
    }

    /// Returns whether two predictions are shown, one below the other.
    pub fn is_apart(&self) -> bool {
        self.baseline.is_some() && self.compare == Compare::Apart
    }

    /// Asks for what is wanted, where that is neither shown nor on its way.
    pub fn want(&mut self, wake: impl FnOnce() + Send + 'static) {
        let is_shown = self
            .shown
            .as_ref()
            .is_some_and(|shown| shown.what == self.what && !self.stale);
        let on_its_way = self
            .predicting
            .as_ref()
            .is_some_and(|(what, _)| *what == self.what);
        if is_shown {
            self.predicting = None;
        }
        if is_shown || on_its_way || self.error.is_some() {
            return;
        }
        let (source, what) = (Arc::clone(&self.source), self.what.clone());
        let job = Job::start(
            move |progress| Loaded::predict(&*source, &what, progress),
            wake,
        );
        self.predicting = Some((self.what.clone(), job));
    }

    /// Predicts anew under the same conditions: the files that they name are read again.
    pub fn again(&mut self) {
        self.stale = true;
        // What is on its way may have read them already.
        self.predicting = None;
        self.error = None;
        self.curves_of = None;
        self.advice_of = None;
    }

    /// Changes the conditions.
    pub fn set(&mut self, what: WhatIf) {
        if self.what != what {
            self.what = what;
            self.error = None;
        }
    }

    /// Stops what is on its way and goes back to what is shown.
    pub fn cancel(&mut self) {
        self.predicting = None;
        self.stale = false;
        if let Some(shown) = &self.shown {
            self.what = shown.what.clone();
        } else {
            self.error = Some(
                "the prediction was cancelled; choose a number of CPUs to begin anew".to_owned(),
            );
        }
    }

    /// Takes over what has come.
    pub fn poll(&mut self) {
        if let Some((_, job)) = &self.predicting
            && let Some(result) = job.poll()
        {
            self.predicting = None;
            match result {
                Ok(loaded) => self.show(&Arc::new(loaded)),
                Err(error) if error == CANCELLED => self.cancel(),
                Err(error) => self.error = Some(error),
            }
        }
        if let Some(result) = self.choosing.as_ref().and_then(Job::poll) {
            self.choosing = None;
            match result {
                Ok(Some(path)) => self.use_file(&path.display().to_string()),
                Ok(None) => {}
                Err(error) => self.error = Some(error),
            }
        }
        if let Some(job) = &self.curving
            && let Some(result) = job.poll()
        {
            self.curving = None;
            match result {
                Ok(curves) => self.curves = curves,
                Err(error) => self.curve_error = Some(error),
            }
        }
        if let Some(job) = &self.advising
            && let Some(result) = job.poll()
        {
            self.advising = None;
            match result {
                Ok(advice) => self.advice = advice,
                Err(error) => self.advice_error = Some(error),
            }
        }
    }

    /// Predicts for the machine that a file describes, where it can be used; of a program that passes messages, for the
    /// network.
    pub fn use_file(&mut self, file: &str) {
        if let Err(error) = self.source.check_file(std::path::Path::new(file)) {
            self.error = Some(error);
            return;
        }
        let mut what = self.what.clone();
        let about = self.source.about();
        let place = if about.passes_messages() {
            &mut what.network
        } else {
            &mut what.machine
        };
        *place = Some(file.to_owned());
        if what == self.what {
            self.again();
        }
        self.set(what);
    }

    /// Shows a prediction in place of the one before, keeping zoom and selection.
    pub fn show(&mut self, loaded: &Arc<Loaded>) {
        self.stale = false;
        match self.shown.replace(Arc::clone(loaded)) {
            None => {
                self.view = TimeView::whole(self.limit());
                let many = loaded.facts.len() > 200;
                self.arrangement.hide_quiet = many;
            }
            Some(before) => {
                let whole = TimeView::whole(before.end());
                let saw_all = self.view.start == SimTime::ZERO && self.view.end >= whole.end;
                self.selection = self.selection.and_then(|s| s.in_other(&before, loaded));
                self.path_step = None;
                if saw_all && loaded.end() > before.end() {
                    self.view = TimeView::whole(self.limit());
                }
            }
        }
        self.rows_for = None;
    }

    /// Arranges the rows where something about them changed.
    pub fn arrange(&mut self, heights: Heights) {
        let Some(shown) = &self.shown else {
            return;
        };
        let key = (shown.id, self.arrangement.clone(), heights);
        if self.rows_for.as_ref() == Some(&key) {
            return;
        }
        let cpus = shown.picture.cpus.len();
        self.rows = arrange(&shown.facts, cpus, &self.arrangement, heights);
        self.rows_version += 1;
        self.rows_for = Some(key);
    }

    /// Moves to a view, which can be undone.
    pub fn look(&mut self, view: TimeView, now: f64) {
        if view != self.view {
            // A movement of many small steps is undone as one.
            if now - self.moved_at > 0.6 {
                self.history.note(self.view);
            }
            self.view = view;
            self.moved_at = now;
        }
    }

    /// Selects something and brings it into view.
    pub fn select(&mut self, selection: Selection, now: f64, visible: f32) {
        let Some(shown) = self.shown.clone() else {
            return;
        };
        self.selection = Some(selection);
        let (start, end) = selection.span(&shown);
        let middle = SimTime(start.0 + end.since(start).0 / 2);
        let inside = start >= self.view.start && end <= self.view.end;
        let near = if inside || end.since(start) > self.view.span() {
            start
        } else {
            middle
        };
        if !inside {
            self.look(self.view.showing(near, self.limit()), now);
        }
        self.reveal(selection.lane, visible);
    }

    /// Scrolls until a lane is in view, unfolding its group and dropping a filter that hides it.
    pub fn reveal(&mut self, lane: usize, visible: f32) {
        if self.rows.of_lane(lane).is_none() {
            self.arrangement.filter.clear();
            self.arrangement.hidden.remove(&lane);
            self.arrangement.hide_quiet = false;
            self.arrangement.threads = true;
            if let Some((_, _, heights)) = self.rows_for {
                self.arrange(heights);
            }
        }
        let Some(row) = self
            .rows
            .of_lane(lane)
            .map(|row| self.rows.rows()[row].clone())
        else {
            return;
        };
        if row.top < self.scroll {
            self.scroll = row.top;
        } else if row.top + row.height > self.scroll + visible {
            self.scroll = row.top + row.height - visible;
        }
    }
}
