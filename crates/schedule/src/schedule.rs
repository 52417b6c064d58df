//! The whole of a schedule.

use foretrace_trace::ObjectKind;
use serde::{Deserialize, Serialize};

use crate::{Lane, SimTime, Wake};

/// Which thread ran on which CPU when, and what it waited for meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The trace that it was predicted from.
    pub source: String,
    /// The model that made it: `direct`, `client-server`, `strict`.
    pub model: String,
    /// The number of CPUs.
    pub cpus: u32,
    /// The network that ranks pass messages on; none where lanes are threads.
    pub network: Option<NetworkLabel>,
    /// When the last event took place: the makespan, or the instant of the deadlock.
    pub end: SimTime,
    /// How it ended.
    pub outcome: Outcome,
    /// The names of the processes.
    pub processes: Vec<String>,
    /// A lane per thread, in the trace's order.
    pub lanes: Vec<Lane>,
    /// The objects that segments name.
    pub objects: Vec<ObjectLabel>,
    /// Who let whom go on, in order of time.
    pub wakes: Vec<Wake>,
}

impl Schedule {
    /// Returns what its lanes belong to: threads, or ranks that pass messages.
    pub fn kind_of_lanes(&self) -> &'static str {
        match self.network {
            Some(_) => "ranks",
            None => "threads",
        }
    }

    /// Returns how many CPUs there are, as it is written; nothing where each rank simply has one.
    pub fn cpus_label(&self) -> Option<String> {
        match (&self.network, self.cpus) {
            (Some(_), cpus) if cpus as usize == self.processes.len() => None,
            (_, 1) => Some("1 CPU".to_owned()),
            (_, cpus) => Some(format!("{cpus} CPUs")),
        }
    }
}

/// A network, as a schedule names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkLabel {
    /// Its name for users.
    pub name: String,
    /// Its file, or the preset that it is.
    pub path: String,
}

/// How a simulated run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Every thread ended.
    Completed,
    /// Nothing could run, and these threads had not ended.
    Deadlock(Vec<BlockedThread>),
}

/// A thread that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedThread {
    /// Its name.
    pub thread: String,
    /// What it does: an operation's name as in text traces, or `unborn` for one that was never created.
    pub operation: String,
    /// The object or thread that it waits for, where there is one.
    pub object: Option<String>,
    /// Who could let it go on: the holder of a lock, the thread joined, the process activated; where that is known.
    pub waits_for: Option<String>,
    /// Since when.
    pub since: SimTime,
}

/// An object's kind and name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectLabel {
    /// What it is.
    pub kind: ObjectKind,
    /// Its name.
    pub name: String,
}
