//! A trace: what happened while a program ran on one CPU.
//!
//! [`Trace`] holds the threads, the synchronization objects, the call sites and the events of a run, in the order in
//! which they happened. It comes from three kinds of file, and [`read`] takes any of them:
//!
//! - a **sealed trace** ([`sealed`]): what `foretrace record` leaves behind, 12 bytes an event, checksummed;
//! - a **journal** ([`journal`]): what the recorder writes while the program runs, whole even after `kill -9`;
//! - a **text trace** ([`text`]): one event a line, for hand-written cases and for looking at.
//!
//! ```
//! let text = "foretrace-text 1\nprocess A\nprocess B\n0 A create B\n3 A join B\n7 B terminate\n7 A terminate\n";
//! let trace = foretrace_trace::text::parse(text, "example")?;
//! assert_eq!(trace.events.len(), 4);
//! # Ok::<(), foretrace_trace::Error>(())
//! ```
//!
//! Deliberately absent: simulation, and any notion of another machine than the recorded one; printing; the
//! environment.
#![cfg_attr(not(feature = "std"), no_std)]

pub mod io;
pub mod journal;

#[cfg(feature = "std")]
pub mod encoding;
#[cfg(feature = "std")]
mod error;
#[cfg(feature = "std")]
mod event;
#[cfg(feature = "std")]
mod ids;
#[cfg(feature = "std")]
mod message;
#[cfg(feature = "std")]
mod object;
#[cfg(feature = "std")]
mod oddities;
#[cfg(feature = "std")]
mod open;
#[cfg(feature = "std")]
mod operands;
#[cfg(feature = "std")]
mod pauses;
#[cfg(feature = "std")]
mod recording;
#[cfg(feature = "std")]
pub mod sealed;
#[cfg(feature = "std")]
pub mod spins;
#[cfg(feature = "std")]
pub mod text;
#[cfg(feature = "std")]
mod time;
#[cfg(feature = "std")]
mod trace;
#[cfg(feature = "std")]
mod unfinished;
#[cfg(feature = "std")]
mod validate;
#[cfg(feature = "std")]
mod whole;

pub use io::{FileKind, IoKind};

#[cfg(feature = "std")]
pub use {
    error::Error,
    event::{Call, Event, Operation, Outcome},
    ids::{CallId, MessageId, ModuleId, ObjectId, ProcessId, SiteId, ThreadId},
    message::{
        Action, Collective, CollectiveKind, Communicator, End, Message, Peer, Point, SendMode,
        ThreadLevel,
    },
    object::{Object, ObjectKind},
    oddities::warnings,
    open::{read, read_bytes, read_recording},
    pauses::TIMER_SLACK,
    recording::{ExitStatus, Recording, ThreadClock},
    time::Nanos,
    trace::{CallSite, Module, Process, Returns, Thread, Trace},
    unfinished::{Unfinished, unfinished},
    validate::validate,
    whole::write_whole,
};
