//! `foretrace san fit`: an automata network from a recording, and what the models make of it.

use super::grid_fit::{Recording, check, finish, network};
use crate::{args::SanFitArgs, failure::Finish};

/// Runs the command.
pub fn run(args: &SanFitArgs) -> anyhow::Result<Finish> {
    check(args.output.as_deref(), args.force)?;
    let recording = Recording::read(&args.file)?;
    let text = network(&recording, &args.file)?;
    finish(&recording, args.output.as_deref(), &text, args.json)
}
