//! `foretrace explain`: what limits a predicted run, and what would help.

use anyhow::Context as _;

use foretrace_interchange::Messages;
use foretrace_trace::Trace;

use super::{default_cpus, predict::progress, predict_messages::refuse_options_of_threads};
use crate::{
    args::ExplainArgs,
    core::{self, Study},
    explaining::{explain, explain_ranks},
    failure::{Finish, Usage},
    messages::{self, Recording, Replay, replay_model},
    output,
    report::explanation::Explanation,
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
    if let Some((messages, recording)) = messages::load_with_recording(&args.file)? {
        return of_ranks(args, messages, recording.as_ref());
    }
    messages::refuse_network(&args.network, Some(&args.file))?;
    let mut trace = core::read_trace(&args.file)?;
    let study = Study::new(&mut trace, &args.how, false)?;
    let cpus = args
        .cpus
        .or(study.described_cpus())
        .unwrap_or_else(|| default_cpus(&trace));
    output::warn(&trace.warnings);
    let one_cpu = study.one_cpu()?;
    tell(args, |go_on| {
        explain(&study, &trace, (cpus, one_cpu), go_on)
    })
}

/// Explains what limits ranks that pass messages.
fn of_ranks(
    args: &ExplainArgs,
    messages: Messages,
    recording: Option<&Recording>,
) -> anyhow::Result<Finish> {
    let own = [(args.cpus.is_some(), "--cpus")];
    refuse_options_of_threads(&args.how, None, &own)?;
    output::warn(messages::warnings(&messages));
    let replay = Replay::new(messages, &args.network, args.how.memory_bound)?;
    let model = replay_model(args.how.model)?;
    let empty = Trace::default();
    let recorded = recording.map_or((&empty, None), |recording| {
        (&recording.trace, Some(recording.calls.as_slice()))
    });
    tell(args, |go_on| explain_ranks(&replay, recorded, model, go_on))
}

/// Is told how many of the predictions are made.
type GoOn<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

/// Prints an explanation when it is found.
fn tell<'t>(
    args: &ExplainArgs,
    find: impl FnOnce(GoOn<'_>) -> anyhow::Result<Option<Explanation<'t>>>,
) -> anyhow::Result<Finish> {
    let bar = progress(1);
    let explanation = find(&|done, of| {
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
