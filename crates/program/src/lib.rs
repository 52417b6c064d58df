//! What a program *is*: from the events of one run to lists of operations that can be replayed.
//!
//! [`Program::from_trace`] lowers every event of a trace to an [`Operation`] with the CPU time that precedes it, and
//! finds out who released what to whom in the recording: the edges that the Client-Server and Strict Sequence models
//! enforce, and the facts about signals and broadcasts that the Direct model needs.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "foretrace-text 1\nprocess A\nprocess B\n0 A create B\n3 B terminate\n3 A join B\n7 A terminate\n";
//! let trace = foretrace_trace::text::parse(text, "example")?;
//! let program = foretrace_program::Program::from_trace(&trace);
//! assert_eq!(program.threads.len(), trace.threads.len());
//! # Ok(())
//! # }
//! ```
//!
//! Deliberately absent: machines and simulated time; a program is the same for every number of CPUs.

mod ahead;
mod answers;
mod asides;
mod asked;
mod calls;
mod changed;
mod conditions;
mod deadlines;
mod deaths;
mod ends;
mod events;
mod found;
mod futex_locks;
mod futexes;
mod guarded;
mod held;
mod idle;
mod layout;
mod links;
mod lower;
mod matching;
mod operation;
mod operations;
mod periods;
mod pipes;
mod plain;
mod polls;
mod pool;
mod position_set;
mod program;
mod refill;
mod retries;
mod roles;
mod sections;
mod self_scheduled;
mod served;
mod shares;
mod sleeps;
mod spins;
mod structure;
mod teams;
mod tries;
mod unfinished;
mod work;

pub use {
    operation::{Action, Delay, Due, GateId, Opener, Operation},
    operations::{MutexUse, Operations},
    pool::{Join, NoPool, Origin, Queue, Task, WorkPool, Worker},
    position_set::PositionSet,
    program::{Program, Progress, Thread, Waiting},
    refill::take_out_refills,
    structure::{Pattern, Structure},
};
