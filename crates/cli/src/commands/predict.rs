//! `foretrace predict`: the speed-up on given numbers of CPUs.

use indicatif::{ProgressBar, ProgressStyle};

use super::{predict_messages, predict_series};
use crate::{
    args::PredictArgs,
    core::{self, Prediction, Study},
    failure::Finish,
    messages, output,
    report::{json::PredictDocument, prediction},
    series::Series,
};

/// The numbers of CPUs to predict for where none are named.
const DEFAULT_CPUS: [u32; 5] = [1, 2, 4, 8, 16];

/// Runs the command.
pub fn run(args: &PredictArgs) -> anyhow::Result<Finish> {
    if let Some(series) = Series::load(&args.file)? {
        return predict_series::run(args, &series);
    }
    if let Some(messages) = messages::load(&args.file)? {
        return predict_messages::run(args, messages);
    }
    messages::refuse_network(&args.network)?;
    let mut trace = core::read_trace(&args.file)?;
    let study = Study::new(&mut trace, &args.how, args.all_models)?;
    output::warn(&trace.warnings);
    let cpus = args.cpus.as_ref().map(|list| list.0.clone());
    let cpus = cpus.unwrap_or_else(|| default_cpus(study.described_cpus()));
    let predictions = predict_watched(&study, &cpus)?;
    if let (Some(path), Some(last)) = (&args.output, predictions.last()) {
        core::write_schedule(&study.schedule(last)?, path)?;
    }
    if args.json {
        output::print_json(&PredictDocument::new(&trace, &predictions))?;
    } else if args.all_models {
        output::print(prediction::all_models(&predictions))?;
    } else {
        output::print(prediction::text(&predictions))?;
    }
    Ok(Finish::Fine)
}

/// Returns the numbers of CPUs to predict for, on a machine that has so many: no more, and all of them.
fn default_cpus(described: Option<u32>) -> Vec<u32> {
    let Some(all) = described else {
        return DEFAULT_CPUS.to_vec();
    };
    let fewer = (0..).map(|power| 1 << power).take_while(|&cpus| cpus < all);
    fewer.chain([all]).collect()
}

/// Predicts, with a progress bar where somebody watches.
pub fn predict_watched(study: &Study, cpus: &[u32]) -> anyhow::Result<Vec<Prediction>> {
    let bar = if output::is_watched() {
        let style = ProgressStyle::with_template("predicting {wide_bar} {pos}/{len}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(cpus.len() as u64).with_style(style)
    } else {
        ProgressBar::hidden()
    };
    let predictions = study.predict(cpus, || bar.inc(1));
    bar.finish_and_clear();
    predictions
}
