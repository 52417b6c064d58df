//! `foretrace export`: a prediction as a picture, a trace as text.

use anyhow::Context as _;
use foretrace_trace::Trace;

use super::predict::predict_watched;
use crate::{
    args::{ExportArgs, ExportFormat},
    core::{self, Study},
    failure::Finish,
    output,
};

/// Runs the command.
pub fn run(args: &ExportArgs) -> anyhow::Result<Finish> {
    let mut trace = core::read_trace(&args.file)?;
    let contents = match args.format {
        ExportFormat::Svg => svg(args, &mut trace)?,
        ExportFormat::Text => core::text_of(&trace)?,
    };
    output::write_to(args.output.as_deref(), &contents)?;
    Ok(Finish::Fine)
}

fn svg(args: &ExportArgs, trace: &mut Trace) -> anyhow::Result<String> {
    let cpus = args.cpus.unwrap_or_else(|| default_cpus(trace));
    let study = Study::new(trace, args.how, false)?;
    output::warn(&trace.warnings);
    let predictions = predict_watched(&study, &[cpus]);
    let prediction = predictions
        .first()
        .context("one number of CPUs gives one prediction")?;
    if prediction.answered().is_none() {
        output::note("foretrace: warning: the picture shows a deadlock; `predict` explains it");
    }
    Ok(core::render_svg(&study.schedule(prediction)?))
}

fn default_cpus(trace: &Trace) -> u32 {
    match &trace.recording {
        Some(recording) if recording.pretended_cpus > 0 => recording.pretended_cpus,
        _ => u32::try_from(trace.threads.len()).unwrap_or(1).max(1),
    }
}
