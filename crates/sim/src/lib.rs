//! The simulator: replays a program on a machine under a model and says what happens when.
//!
//! [`predict`] answers how long a [`Program`](foretrace_program::Program) takes on a [`Machine`], under one of the
//! replay models or with the fallback scheme; [`schedule`] gives the whole course of it.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use foretrace_sim::{Choice, Machine, predict};
//!
//! let text = "foretrace-text 1\nprocess A\nprocess B\n0 A create B\n5 B terminate\n12 A terminate\n";
//! let trace = foretrace_trace::text::parse(text, "example")?;
//! let program = foretrace_program::Program::from_trace(&trace);
//! let prediction = predict(&program, &Machine::new(2, &program), Choice::Auto);
//! assert_eq!(prediction.answer().map(|run| run.end.as_nanos()), Some(7));
//! # Ok(())
//! # }
//! ```
//!
//! One engine ([`engine`](self)) advances time and shares out CPUs; a model decides what an operation needs before it
//! may complete; synchronization objects keep their own state. Time is in integer picoseconds and ties are broken by
//! order, so that equal input gives equal results on every machine.
//!
//! Deliberately absent: files, printing, the clock of the wall, and iteration over hash maps.

#![expect(
    clippy::inline_always,
    reason = "on the way of an operation that makes its thread wait or lets others go on, calls are a sixth of the time"
)]

mod admission;
mod chance;
mod core;
mod course;
mod cpu_set;
mod engine;
mod lags;
mod loads;
mod machine;
mod memory;
mod models;
mod objects;
mod observer;
mod placement;
mod processors;
mod remaps;
mod report;
mod run_queues;
mod scheme;
mod speed;
mod teams;
mod tournament;
mod usage;

pub use {
    course::{Course, course, run_while},
    machine::{Bind, Costs, Handover, LINUX_TICK, Machine, SchedulerKind, ThreadSetting},
    memory::Memory,
    models::ModelKind,
    scheme::{Attempt, Choice, Overruled, Prediction, Run, predict, predict_all, run, schedule},
    speed::{Processor, Rate},
};
