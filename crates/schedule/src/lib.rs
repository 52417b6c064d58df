//! A schedule: which thread ran on which CPU when, and what it waited for meanwhile.
//!
//! The simulator makes a [`Schedule`]; analyses, pictures and the viewer read it. It can be saved and read again.
//!
//! Deliberately absent: how the schedule came to be, and how it is drawn.

pub mod file;

mod check;
mod details;
#[cfg(test)]
mod example;
mod lane;
mod marks;
mod schedule;
mod time;
mod totals;

pub use {
    check::Contradiction,
    details::{Details, Event, EventClass, Site},
    lane::{Lane, Segment, State, WaitKind, Wake},
    marks::{LaneMarks, Marks},
    schedule::{BlockedThread, NetworkLabel, ObjectLabel, Outcome, Schedule},
    time::SimTime,
    totals::{Activity, Step, Totals},
};
