//! `foretrace explain`: what limits a predicted run, and what would help.

use anyhow::Context as _;

use super::{default_cpus, predict::progress};
use crate::{
    args::ExplainArgs,
    core::{self, Study},
    explaining::explain,
    failure::{Finish, Usage},
    messages, output,
    series::Series,
};

/// Runs the command.
pub fn run(args: &ExplainArgs) -> anyhow::Result<Finish> {
    let refuse = |what: &str| {
        let message = format!("{}: {what}", args.file.display());
        Err(Usage(message).into())
    };
    if Series::load(&args.file)?.is_some() {
        return refuse("is a series; name one of its traces, which lie beside it");
    }
    if messages::imported(&args.file)?.is_some() {
        return refuse(
            "passes messages; `foretrace view FILE --network NETWORK` shows what its run waits for",
        );
    }
    let mut trace = core::read_trace(&args.file)?;
    let study = Study::new(&mut trace, &args.how, false)?;
    let cpus = args
        .cpus
        .or(study.described_cpus())
        .unwrap_or_else(|| default_cpus(&trace));
    output::warn(&trace.warnings);
    let bar = progress(1);
    let explanation = explain(&study, &trace, (cpus, study.one_cpu()?), &|done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
        true
    });
    bar.finish_and_clear();
    let explanation = explanation?.context("nobody cancels it")?;
    if args.json {
        output::print_json(&explanation.json())?;
    } else {
        output::print(explanation.text())?;
    }
    Ok(Finish::Fine)
}
