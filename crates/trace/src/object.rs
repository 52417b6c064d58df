//! Synchronization objects.

use serde::{Deserialize, Serialize};

use crate::ProcessId;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectKind {
    /// An event of the abstract processes that `send` and `wait` (Activate and `Wait_for` in the paper).
    Event,
    /// A mutual-exclusion lock.
    Mutex,
    /// A condition variable.
    Cond,
    /// A counting semaphore.
    Semaphore,
    /// A readers-writer lock.
    Rwlock,
    /// A barrier.
    Barrier,
    /// A spin lock.
    Spin,
    /// The control of a one-time initialization.
    Once,
    /// A message queue.
    Queue,
}

impl ObjectKind {
    /// All kinds, in the order of their bytes in files.
    pub const ALL: [Self; 9] = [
        Self::Event,
        Self::Mutex,
        Self::Cond,
        Self::Semaphore,
        Self::Rwlock,
        Self::Barrier,
        Self::Spin,
        Self::Once,
        Self::Queue,
    ];

    /// Returns the name used in text traces and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Mutex => "mutex",
            Self::Cond => "cond",
            Self::Semaphore => "semaphore",
            Self::Rwlock => "rwlock",
            Self::Barrier => "barrier",
            Self::Spin => "spin",
            Self::Once => "once",
            Self::Queue => "queue",
        }
    }
}

/// A synchronization object. An address that was freed and used again is another object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its name, unique among the objects of its kind; recorded objects are named by kind and number.
    pub name: String,
    /// The process that it lives in.
    pub process: ProcessId,
    /// Where it lay in memory, where that is known.
    pub address: Option<u64>,
    /// The tokens a semaphore began with, or the number of threads that a barrier waits for, where that is known.
    pub initial: Option<u32>,
}
