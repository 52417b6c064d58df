//! The journal: what the recorder writes while the program runs.
//!
//! One file a process, in one directory a recording. [`layout`] says what the bytes mean; [`read_dir`] merges the
//! files of a directory into one [`Trace`](crate::Trace).
//!
//! Deliberately absent: writing. Journals are written by the preloaded library alone, while the program runs.

pub mod layout;
pub mod mpi;

#[cfg(feature = "std")]
mod bindings;
#[cfg(feature = "std")]
mod build;
#[cfg(feature = "std")]
mod clock;
#[cfg(feature = "std")]
mod decode;
#[cfg(feature = "std")]
mod error;
#[cfg(feature = "std")]
mod file;
#[cfg(feature = "std")]
mod file_locks;
#[cfg(feature = "std")]
mod hash;
#[cfg(feature = "std")]
mod limits;
#[cfg(feature = "std")]
mod lineage;
#[cfg(feature = "std")]
mod messages;
#[cfg(feature = "std")]
mod modules;
#[cfg(feature = "std")]
mod names;
#[cfg(feature = "std")]
mod objects;
#[cfg(feature = "std")]
mod operations;
#[cfg(feature = "std")]
mod ranks;
#[cfg(feature = "std")]
mod read;
#[cfg(feature = "std")]
mod recent;
#[cfg(feature = "std")]
mod records;
#[cfg(feature = "std")]
mod shared;
#[cfg(feature = "std")]
mod shares;
#[cfg(feature = "std")]
mod streaks;
#[cfg(feature = "std")]
mod tail_calls;
#[cfg(feature = "std")]
mod undone;
#[cfg(feature = "std")]
mod usage;
#[cfg(feature = "std")]
mod warnings;
#[cfg(feature = "std")]
mod windows;

#[cfg(test)]
mod tests;

#[cfg(feature = "std")]
pub use {
    error::JournalError,
    read::{RecordingCosts, read_costs, read_dir, read_dir_and_start},
    usage::ProcessUsage,
};
