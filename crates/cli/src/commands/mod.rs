//! The commands, one file each.

mod calibrate;
mod demo;
mod explain;
mod export;
mod farm;
mod grid;
mod grid_fit;
mod import;
mod info;
mod machine;
mod predict;
mod predict_messages;
mod predict_series;
mod record;
mod record_series;
mod recover;
mod san;
mod san_fit;
mod san_paper;
mod san_sweep;
mod validate;
mod view;

pub use export::default_cpus;

use crate::{args::Command, failure::Finish};

/// Runs a command.
pub fn run(command: &Command) -> anyhow::Result<Finish> {
    match command {
        Command::Record(args) => record::run(args),
        Command::Recover(args) => recover::run(args),
        Command::Info(args) => info::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Export(args) => export::run(args),
        Command::Import(args) => import::run(args),
        Command::Validate(args) => validate::run(args),
        Command::Machine(args) => machine::run(args),
        Command::Grid(args) => grid::run(args),
        Command::San(args) => san::run(args),
        Command::Farm(args) => farm::run(args),
        Command::Calibrate(args) => calibrate::run(args),
        Command::MpiRank(args) => calibrate::run_rank(args),
        Command::View(args) => view::run(args),
        Command::Demo => demo::run(),
    }
}
