//! A prediction, ready to be looked at.

use std::sync::atomic::{AtomicU64, Ordering};

use foretrace_analysis::{PathPart, PathStep};
use foretrace_gantt::{
    arrange::LaneFacts,
    picture::{Deadlock, Picture},
};
use foretrace_schedule::{Outcome, SimTime};

use crate::{
    lists::Lists,
    source::{Prediction, Progress, ScheduleSource, WhatIf},
};

/// A prediction with all that is drawn and listed of it. Made off the window's thread.
#[derive(Debug)]
pub struct Loaded {
    /// A number of its own among all that were ever made.
    pub id: u64,
    /// The conditions.
    pub what: WhatIf,
    /// The schedule and its index.
    pub picture: Picture,
    /// What lanes are arranged by.
    pub facts: Vec<LaneFacts>,
    /// The lists beside the picture.
    pub lists: Lists,
    /// The critical path.
    pub path: Vec<PathStep>,
    /// How long that is spent on what, the most first.
    pub path_parts: Vec<(PathPart, SimTime)>,
    /// Who waits for whom, where nothing could go on.
    pub deadlock: Deadlock,
    /// The models that ended in a deadlock before.
    pub failed: Vec<String>,
    /// The makespan on one CPU under the same conditions.
    pub one_cpu: Option<SimTime>,
    /// The machine, in a line.
    pub machine: String,
    /// What must be known about how it ended.
    pub warnings: Vec<String>,
}

/// Counts predictions.
static COUNT: AtomicU64 = AtomicU64::new(1);

/// So many call sites are looked up before they are asked for.
const WARMED_SITES: usize = 64;

impl Loaded {
    /// Predicts and indexes.
    ///
    /// # Errors
    ///
    /// Those of the source.
    pub fn predict(
        source: &dyn ScheduleSource,
        what: &WhatIf,
        progress: &Progress,
    ) -> Result<Self, String> {
        progress.begin("predicting");
        let prediction = source.predict(what, progress)?;
        Ok(Self::new(source, what, prediction, progress))
    }

    /// Indexes a prediction.
    pub fn new(
        source: &dyn ScheduleSource,
        what: &WhatIf,
        prediction: Prediction,
        progress: &Progress,
    ) -> Self {
        progress.begin("indexing");
        let Prediction {
            schedule,
            marks,
            failed,
            one_cpu,
            machine,
            warnings,
        } = prediction;
        let picture = Picture::new(schedule, marks, &|done, of| {
            progress.tell(done, of);
        });
        progress.begin("reading symbols");
        let facts = picture.facts(&|lane| source.routine(lane));
        progress.begin("listing");
        let lists = Lists::new(&picture, source);
        // Read now, off the window's thread, what the first clicks will ask for.
        for site in lists.sites.iter().take(WARMED_SITES) {
            source.site(site.site);
        }
        let path = foretrace_analysis::critical_path(&picture.schedule);
        Self {
            id: COUNT.fetch_add(1, Ordering::Relaxed),
            what: what.clone(),
            path_parts: foretrace_analysis::path_parts(&picture.schedule, &path),
            path,
            deadlock: picture.deadlock(),
            lists,
            facts,
            picture,
            failed,
            one_cpu,
            machine,
            warnings,
        }
    }

    /// Returns when it ends: the makespan, or the instant of the deadlock.
    pub fn end(&self) -> SimTime {
        self.picture.schedule.end
    }

    /// Returns whether it ended in a deadlock.
    pub fn is_deadlock(&self) -> bool {
        matches!(self.picture.schedule.outcome, Outcome::Deadlock(_))
    }

    /// Returns whether its lanes are those of ranks, not of threads.
    pub fn is_of_ranks(&self) -> bool {
        self.picture.schedule.network.is_some()
    }

    /// Returns what a lane is of.
    pub fn kind_of_lane(&self) -> &'static str {
        if self.is_of_ranks() { "rank" } else { "thread" }
    }

    /// Returns the makespan on one CPU over this one, where there is one.
    pub fn speedup(&self) -> Option<f64> {
        let one = self.one_cpu?.0 as f64;
        (!self.is_deadlock() && self.end() > SimTime::ZERO).then(|| one / self.end().0 as f64)
    }

    /// Returns the name of an object.
    pub fn object(&self, object: u32) -> &str {
        let label = self.picture.schedule.objects.get(object as usize);
        label.map_or("?", |label| &label.name)
    }

    /// Returns the name of a lane.
    pub fn lane(&self, lane: usize) -> &str {
        self.picture
            .schedule
            .lanes
            .get(lane)
            .map_or("?", |lane| &lane.name)
    }
}
