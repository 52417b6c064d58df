//! `foretrace export`: a prediction as a picture, a trace as text.

use anyhow::Context as _;
use foretrace_interchange::{Needs, Source};
use foretrace_schedule::Schedule;
use foretrace_trace::Trace;

use super::{predict::predict_watched, predict_messages};
use crate::{
    args::ExportArgs,
    core::{self, Study},
    failure::Finish,
    messages, output,
};

/// Runs the command.
pub fn run(args: &ExportArgs) -> anyhow::Result<Finish> {
    let exporter = foretrace_interchange::exporter(&args.format);
    let shows_trace = exporter.is_some_and(|format| format.needs() == Needs::Trace);
    let messages = if shows_trace {
        messages::imported(&args.file)?
    } else {
        messages::load_on_cpus(&args.file, args.ranks.cpus_per_rank, &args.how)?
    };
    if let Some(messages) = messages {
        let contents = predict_messages::export(args, messages)?;
        output::write_to(args.output.as_deref(), &contents)?;
        return Ok(Finish::Fine);
    }
    messages::refuse_network(&args.network, Some(&args.file))?;
    let format = foretrace_interchange::exporter(&args.format).with_context(|| {
        format!(
            "{}: holds no messages that could be written as {}",
            args.file.display(),
            args.format
        )
    })?;
    let mut contents = Vec::new();
    if let Some((schedule, _)) = core::read_schedule(&args.file)? {
        format.export(Source::Schedule(&schedule), &mut contents)?;
    } else {
        let mut trace = core::read_trace(&args.file)?;
        match format.needs() {
            Needs::Trace => format.export(Source::Trace(&trace), &mut contents)?,
            Needs::Schedule => {
                let schedule = predicted(args, &mut trace)?;
                format.export(Source::Schedule(&schedule), &mut contents)?;
            }
        }
    }
    output::write_to(args.output.as_deref(), &contents)?;
    Ok(Finish::Fine)
}

fn predicted(args: &ExportArgs, trace: &mut Trace) -> anyhow::Result<Schedule> {
    let study = Study::new(trace, &args.how, false)?;
    let cpus = args
        .cpus
        .or(study.described_cpus())
        .unwrap_or_else(|| default_cpus(trace));
    output::warn(&trace.warnings);
    let predictions = predict_watched(&study, &[cpus])?;
    let prediction = predictions
        .first()
        .context("one number of CPUs gives one prediction")?;
    if prediction.answered().is_none() {
        output::note("foretrace: warning: the picture shows a deadlock; `predict` explains it");
    }
    study.schedule(prediction)
}

/// Returns the number of CPUs to show a program on: those that it was made to believe in, else one for each thread.
pub fn default_cpus(trace: &Trace) -> u32 {
    match &trace.recording {
        Some(recording) if recording.pretended_cpus > 0 => recording.pretended_cpus,
        _ => u32::try_from(trace.threads.len()).unwrap_or(1).max(1),
    }
}
