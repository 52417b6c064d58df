//! `foretrace predict`: the speed-up on given numbers of CPUs.

use foretrace_trace::Trace;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    args::PredictArgs,
    core::{self, Prediction, Request},
    failure::Finish,
    output,
    report::{json::PredictDocument, prediction},
};

/// Runs the command.
pub fn run(args: &PredictArgs) -> anyhow::Result<Finish> {
    let trace = core::read_trace(&args.file)?;
    output::warn(&trace.warnings);
    let request = Request::new(&trace, args.how, args.all_models);
    let predictions = predict_watched(&trace, &request, &args.cpus.0)?;
    if let Some(path) = &args.output {
        save_last(&predictions, path)?;
    }
    if args.json {
        output::print_json(&PredictDocument::new(&trace, &request, &predictions))?;
    } else if args.all_models {
        output::print(prediction::all_models(&predictions))?;
    } else {
        output::print(prediction::text(&predictions))?;
    }
    Ok(Finish::Fine)
}

/// Predicts, with a progress bar where somebody watches.
pub fn predict_watched(
    trace: &Trace,
    request: &Request,
    cpus: &[u32],
) -> anyhow::Result<Vec<Prediction>> {
    let bar = if output::is_watched() {
        let style = ProgressStyle::with_template("predicting {wide_bar} {pos}/{len}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(cpus.len() as u64).with_style(style)
    } else {
        ProgressBar::hidden()
    };
    let predictions = core::predict(trace, request, cpus, || bar.inc(1));
    bar.finish_and_clear();
    predictions
}

fn save_last(predictions: &[Prediction], path: &std::path::Path) -> anyhow::Result<()> {
    let Some(last) = predictions.last() else {
        return Ok(());
    };
    // A deadlock is worth looking at, too.
    let schedule = last.answer().or(last.attempts.last());
    schedule.map_or(Ok(()), |schedule| core::write_schedule(schedule, path))
}
