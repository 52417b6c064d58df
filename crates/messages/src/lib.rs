//! Programs that pass messages, and their replay on a network.
//!
//! A [`Program`] holds what every rank does: work, sends, receives, waits and collectives. [`replay`] says when each rank
//! would be done on a [`Network`](foretrace_network::Network).
//!
//! ```
//! use foretrace_messages::{Builder, Model, Operation, replay};
//! use foretrace_network::Description;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut builder = Builder::new(2);
//! builder.push(0, Operation::work(1_000_000));
//! builder.push(0, Operation::send(1, 7, 100));
//! builder.push(1, Operation::receive(0, 7, 100));
//! let program = builder.finish("example");
//! let network = Description::preset("loggps-fast-ethernet").expect("it is there")?.resolve(2)?;
//! let run = replay(&program, &network, Model::Direct);
//! assert!(run.is_complete());
//! assert_eq!(run.finish[0].map(|time| time.as_nanos()), Some(21_060));
//! # Ok(())
//! # }
//! ```
//!
//! A task graph ([`TaskGraph`]) says of each operation which others it needs, in place of an order; it is replayed as
//! LogGOPSim does it.
//!
//! Deliberately absent: files, printing, how threads within ranks are replayed.

mod attention;
mod causes;
mod channel;
mod check;
mod costs;
mod course;
mod engine;
mod gather;
mod generate;
mod graph;
mod master_slave;
mod observer;
mod operation;
mod own_time;
mod pauses;
mod point;
mod program;
mod recorded;
mod replay;
mod report;
mod requests;
mod schedule;
mod script;
mod strands;
mod teams;
mod transfer;
mod wild;
mod windows;

pub use {
    check::ProgramError,
    course::{Course, Noted, course, course_graph},
    generate::{Pattern, generate},
    graph::{GraphBuilder, Task, TaskGraph, TaskKind},
    master_slave::{Dealt, NoFarm, dealt},
    operation::{ANY, BLOCKING, Collective, Kind, Mode, Operation},
    program::{Builder, Communicator, Program, Threads},
    recorded::{NoRanks, has_ranks, recorded, recorded_on, recorded_with_calls},
    replay::{Attempt, Model, predict, replay, replay_graph},
    report::{Failure, LeftOver, Outcome, Run, Stuck},
    schedule::{schedule, schedule_graph},
    teams::{Reached, Team, teams},
};
