//! Who released what to whom in the recording.
//!
//! Each log follows the objects of one kind through the events, in order, and tells which release an acquisition
//! waited for. An acquisition is logged when it *completed*, which is later than its call where it blocked: where the
//! recording holds an explicit return, there, else at its thread's next row (only the holder of a lock can go on, so
//! the order of next rows is the order of acquisitions).
//!
//! # Source
//!
//! The thread primitives' mapping in the table of `docs/models.md`; for abstract processes "the k-th send matches
//! the k-th wait" (VPPB, section 2).

mod condition;
mod doacross;
mod edges;
mod futex;
mod mutex;
mod rendezvous;
mod rwlock;
mod semaphore;

pub(crate) use {
    condition::{ConditionLog, Waiter, WokenBy},
    doacross::DoacrossLog,
    edges::Edges,
    futex::FutexLog,
    mutex::{Acquired, MutexLog},
    rendezvous::RendezvousLog,
    rwlock::RwlockLog,
    semaphore::SemaphoreLog,
};

/// An operation of a program under construction: its thread and its position in that thread's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OpRef {
    /// The thread.
    pub thread: u32,
    /// The position in the thread's list.
    pub index: u32,
}

/// An acquisition waited for a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    /// The acquisition.
    pub acquire: OpRef,
    /// The release.
    pub release: OpRef,
}
