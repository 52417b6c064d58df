//! Networks: what it takes to send a message, under the models of several papers and tools.
//!
//! A [`Description`] is what a file (`--network FILE.toml`) or a preset says; [`Description::resolve`] makes the [`Network`]
//! for a number of ranks of it, whose [`NetworkModel`] answers how long a message of so many bytes keeps its sender and its
//! receiver busy, and how long it is under way.
//!
//! ```
//! use foretrace_network::{Description, Link};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let network = Description::preset("mse-fast-ethernet").expect("it is there")?.resolve(16)?;
//! let between = Link { from: 0, to: 1 };
//! let one_way = network.model.send_overhead(between, 1)
//!     + network.model.transit(between, 1)
//!     + network.model.receive_overhead(between, 1);
//! // Half the round trip of the paper's Table 1, as the model has it: 160.334 us.
//! assert_eq!(2 * one_way.0, 160_334_000);
//! # Ok(())
//! # }
//! ```
//!
//! Deliberately absent: calls of MPI, programs, and the matching of messages.

mod amakata;
mod collectives;
mod description;
mod dimemas;
mod eased;
mod error;
mod file;
mod flows;
mod lines;
mod loggopsim;
mod loggps;
mod model;
mod mse;
mod nodes;
mod presets;
mod topology;
mod values;

pub use {
    amakata::{Amakata, Computer},
    collectives::{Algorithm, Collectives, Style},
    description::{Description, Network},
    dimemas::{Dimemas, Growth, Limits, Wire},
    eased::Ease,
    error::NetworkError,
    flows::{FlowId, Flows},
    foretrace_trace::CollectiveKind,
    loggopsim::LogGopSim,
    loggps::{Line, LogGps, Overhead, Pair, Protocol},
    model::{Handshake, Link, NetworkModel, ReceiveRule},
    mse::Mse,
    nodes::Nodes,
    presets::PRESETS,
    topology::Topology,
    values::{PerByte, Speed},
};
