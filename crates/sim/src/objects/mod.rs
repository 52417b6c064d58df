//! Synchronization objects: one file each, each with its own state and no notion of time.
//!
//! Their methods return or report which threads may go on; who they are and when they run is the engine's business.

mod barrier;
mod condition;
mod gate;
mod lightswitch;
mod mutex;
mod rendezvous;
mod rwlock;
mod semaphore;

pub(crate) use {
    barrier::Barriers,
    condition::{Broadcaster, Condition},
    gate::Gates,
    lightswitch::Lightswitch,
    mutex::Mutex,
    rendezvous::Mailbox,
    rwlock::{First, Rwlock},
    semaphore::Semaphore,
};
