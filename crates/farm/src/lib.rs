//! Task farms: a master that deals tasks to slaves, simulated without a trace.
//!
//! [`run`] says how long a [`Farm`] takes with a number of ranks on a network, and what its master did meanwhile.
//!
//! ```
//! use foretrace_farm::{Farm, Scheme, Work, run};
//! use foretrace_network::Description;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let network = Description::preset("mse-fast-ethernet").expect("it is there")?.resolve(16)?;
//! let farm = Farm {
//!     tasks: 1_048_576,
//!     work: Work::Constant("292us".parse::<foretrace_settings::Time>()?.0),
//!     task_bytes: 1,
//!     result_bytes: 1,
//!     master_work: foretrace_schedule::SimTime::ZERO,
//!     scheme: Scheme::Single,
//! };
//! // The saturation point of the paper: 31.6 s with 16 ranks.
//! assert_eq!(run(&farm, &network).makespan.as_nanos() / 1_000_000, 31_632);
//! # Ok(())
//! # }
//! ```
//!
//! # Source
//!
//! Y. Mizutani, F. Ino, K. Hagihara, *An Emulation System for Predicting Master/Slave Program Performance*, 2003;
//! Y. Amakata, Y. Shinano, M. Nakamori, *A Simulator for Message-Passing Based Parallel and Distributed Programs to Evaluate
//! the Influence of Message Transfer Latency*.
//!
//! Deliberately absent: messages of other patterns, which `foretrace-messages` replays; limits on buses and links.

mod dynamic;
mod leg;
mod matmul;
mod multi;
mod single;
mod work;

use foretrace_network::Network;
use foretrace_schedule::SimTime;

pub use {matmul::matmul, work::Work};

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Farm {
    /// The number of tasks.
    pub tasks: u64,
    /// How long they take.
    pub work: Work,
    /// The size of a task's message.
    pub task_bytes: u64,
    /// The size of a result's message.
    pub result_bytes: u64,
    /// The master's own work for each result.
    pub master_work: SimTime,
    /// Who deals the tasks.
    pub scheme: Scheme,
}

/// Who deals the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Rank 0.
    Single,
    /// So many masters, each with an equal part of the ranks and of the tasks.
    Multi(u32),
    /// Rank 0 to begin with; masters whose slaves have to wait give half of them, and of the tasks, to a new master.
    Dynamic,
}

/// How a farm went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When the (last) master had received the last result.
    pub makespan: SimTime,
    /// What the (first) master did.
    pub master: MasterTime,
    /// The most masters there were at once.
    pub masters: u32,
}

/// What a master did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MasterTime {
    /// Sent.
    pub send: SimTime,
    /// Received.
    pub receive: SimTime,
    /// Waited for results.
    pub wait: SimTime,
}

/// The tasks of one master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// Runs a farm on a network, with all of its ranks; there must be two at least.
pub fn run(farm: &Farm, network: &Network) -> Outcome {
    let all = Share {
        first: 0,
        count: farm.tasks,
    };
    let ranks = network.node_of_rank.len() as u32;
    match farm.scheme {
        Scheme::Single => single::run(farm, network, 0, 1..ranks, all),
        Scheme::Multi(masters) => multi::run(farm, network, masters),
        Scheme::Dynamic => dynamic::run(farm, network),
    }
}
