//! What the window asks of those who simulate: predictions, and what stands behind their events.

use std::{
    borrow::Cow,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

pub use foretrace_analysis::Within;
pub use foretrace_schedule::{EventClass, Site as SiteInfo};
use foretrace_schedule::{Marks, Schedule, SimTime};

/// Opens files. Implemented by the command line; called off the window's thread.
pub trait Opener: Send + Sync {
    /// Opens a trace or a saved schedule.
    ///
    /// # Errors
    ///
    /// With a message for users that names the file, what is wrong, and the remedy.
    fn open(&self, path: &Path, progress: &Progress) -> Result<Arc<dyn ScheduleSource>, String>;
}

/// A file that was opened: whatever it predicts, and what it knows about events.
pub trait ScheduleSource: Send + Sync {
    /// Returns what the file is.
    fn about(&self) -> &About;

    /// Predicts a run.
    ///
    /// # Errors
    ///
    /// With a message for users; [`CANCELLED`] where the progress said so.
    fn predict(&self, what: &WhatIf, progress: &Progress) -> Result<Prediction, String>;

    /// Predicts speed-ups for numbers of CPUs, for each model that answers. Of a program that passes messages, makespans on
    /// each network of [`About::networks`] and on the one asked for, named by it.
    ///
    /// # Errors
    ///
    /// As [`Self::predict`].
    fn curve(&self, what: &WhatIf, cpus: &[u32], progress: &Progress)
    -> Result<Vec<Curve>, String>;

    /// Predicts what changes of the program would be worth, and returns those that help, the most first; nothing where that cannot be told of the
    /// file.
    ///
    /// # Errors
    ///
    /// As [`Self::predict`].
    fn advice(&self, _: &WhatIf, _: &Progress) -> Result<Vec<Advice>, String> {
        Ok(Vec::new())
    }

    /// Returns what a trace's event is; none where the trace is not there.
    fn event(&self, event: u32) -> Option<EventInfo>;

    /// Returns where in the source a call was made. May read files.
    fn site(&self, site: u32) -> SiteInfo;

    /// Returns the name of a thread's start routine. May read files.
    fn routine(&self, lane: usize) -> Option<String>;

    /// Checks a machine's file; of a program that passes messages, a network's.
    ///
    /// # Errors
    ///
    /// With a message for users where it cannot be used.
    fn check_file(&self, file: &Path) -> Result<(), String>;
}

/// The message of what was cancelled.
pub const CANCELLED: &str = "cancelled";

/// What the name of an event begins with that ends a wait, before the name of the call that waited.
pub const RETURN: &str = "return from ";

/// What an opened file is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// The file, as given.
    pub path: String,
    /// What it holds, in a line.
    pub summary: String,
    /// What to show first.
    pub first: WhatIf,
    /// The models that can be chosen, by their names on the command line.
    pub models: Vec<String>,
    /// The schedulers that can be chosen.
    pub schedulers: Vec<String>,
    /// Whether anything can be predicted: not of a saved schedule whose trace is gone.
    pub can_predict: bool,
    /// What limits the predictions.
    pub warnings: Vec<String>,
    /// The number of threads.
    pub threads: usize,
    /// When the recording began, in seconds since 1970, where it is one.
    pub recorded_unix_seconds: Option<u64>,
    /// The networks that come with foretrace, of a program that passes messages; none of others.
    pub networks: Vec<String>,
}

impl About {
    /// Returns whether it is a program of ranks that pass messages: predicted on a network, in place of CPUs and a machine.
    pub fn passes_messages(&self) -> bool {
        !self.networks.is_empty()
    }
}

/// Conditions of a prediction.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WhatIf {
    /// The number of CPUs.
    pub cpus: u32,
    /// The model.
    pub model: String,
    /// The scheduler; none for the machine's own.
    pub scheduler: Option<String>,
    /// The machine's file.
    pub machine: Option<String>,
    /// The network of a program that passes messages: a file, or one of [`About::networks`].
    pub network: Option<String>,
    /// So many neighbouring ranks share a node; none for what the network says.
    pub ranks_per_node: Option<u32>,
    /// How fast CPUs work, in percent of what the network says; none for just that.
    pub cpu_percent: Option<u32>,
}

impl WhatIf {
    /// Names the conditions in a few words; `model` is the one that answered.
    pub fn brief(&self, model: &str) -> String {
        let Some(network) = &self.network else {
            let cpus = if self.cpus == 1 { "CPU" } else { "CPUs" };
            return format!("{} {cpus}, {model}", self.cpus);
        };
        let mut text = crate::panels::welcome::file_name(network).to_owned();
        if let Some(ranks) = self.ranks_per_node {
            text = format!("{text}, {ranks} a node");
        }
        if let Some(percent) = self.cpu_percent {
            text = format!("{text}, CPUs at {percent} %");
        }
        format!("{text}, {model}")
    }
}

/// A predicted run.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Its course.
    pub schedule: Schedule,
    /// Its operations; empty where they are not known.
    pub marks: Marks,
    /// The models that ended in a deadlock before.
    pub failed: Vec<String>,
    /// The makespan on one CPU under the same conditions.
    pub one_cpu: Option<SimTime>,
    /// The machine, in a line.
    pub machine: String,
    /// What must be known about how it ended.
    pub warnings: Vec<String>,
}

/// Speed-ups by numbers of CPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The model.
    pub model: String,
    /// The number of CPUs, the makespan, and the speed-up; gaps where the model ends in a deadlock.
    pub points: Vec<(u32, SimTime, f64)>,
}

/// A change of the program, and what it would be worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The change, as a condition: what follows "if".
    pub change: String,
    /// The speed-up with it.
    pub speedup: f64,
    /// Which part of the makespan it takes off.
    pub gain: f64,
    /// Where in the prediction what would be changed takes longest, where it is in one place.
    pub at: Option<Within>,
}

/// What an event is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventInfo {
    /// The operation, as in text traces.
    pub operation: Cow<'static, str>,
    /// What sort of thing it is.
    pub class: EventClass,
    /// The thread.
    pub lane: u32,
    /// The object, a position in the schedule's objects.
    pub object: Option<u32>,
    /// The other thread that it is about.
    pub other: Option<u32>,
    /// What else is known about it: of a message, to whom and how long it is.
    pub about: Option<String>,
    /// When it was recorded, in nanoseconds; none of what was not.
    pub recorded_nanos: Option<u64>,
    /// Where it was called.
    pub site: Option<u32>,
}

/// How far work has come, and whether it is still wanted. Shared between who works and who waits.
#[derive(Debug, Default)]
pub struct Progress {
    stage: Mutex<&'static str>,
    done: AtomicUsize,
    of: AtomicUsize,
    cancelled: AtomicBool,
}

impl Progress {
    /// Begins a stage of the work.
    pub fn begin(&self, stage: &'static str) {
        if let Ok(mut current) = self.stage.lock() {
            *current = stage;
        }
        self.tell(0, 0);
    }

    /// Tells how much of the stage is done; returns whether the rest is still wanted.
    pub fn tell(&self, done: usize, of: usize) -> bool {
        self.done.store(done, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
        !self.is_cancelled()
    }

    /// Says that the work is not wanted any more.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether it is not.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns the stage, and the share of it that is done, where that is known.
    pub fn now(&self) -> (&'static str, Option<f32>) {
        let stage = self.stage.lock().map_or("", |stage| *stage);
        let (done, of) = (
            self.done.load(Ordering::Relaxed),
            self.of.load(Ordering::Relaxed),
        );
        let share = (of > 0).then(|| (done as f32 / of as f32).min(1.0));
        (stage, share)
    }
}
