//! `foretrace predict` of a series: each trace on the number of CPUs that it was recorded for, as one curve.

use std::path::Path;

use anyhow::Context as _;
use foretrace_trace::Trace;

use super::predict::predict_watched;
use crate::{
    args::{CpuList, PredictArgs},
    core::{Prediction, Study},
    failure::{Finish, Usage},
    output,
    report::{json::SeriesDocument, prediction},
    series::{Run, Series},
};

/// Runs the command on a series.
pub fn run(args: &PredictArgs, file: &Path, series: &Series) -> anyhow::Result<Finish> {
    if args.seed.is_some() {
        let message =
            "--seed is for traces, not for series of them; name one of the series' traces";
        return Err(Usage(message.to_owned()).into());
    }
    let asked = asked(args.cpus.as_ref(), series)?;
    let base = series.runs.first().context("a series has runs")?;
    if base.cpus > 1 {
        output::note(format_args!(
            "foretrace: the series has no recording for 1 CPU: speed-ups refer to that for {}, predicted on one",
            base.cpus
        ));
    }
    let (base_trace, one_cpu) = {
        let mut trace = base.read(file)?;
        let study = Study::new(&mut trace, &args.how, args.all_models)?;
        let one_cpu = study.one_cpu()?;
        (trace, one_cpu)
    };
    let mut traces: Vec<(u32, Trace)> = Vec::new();
    let mut predictions: Vec<Prediction> = Vec::new();
    for run in &asked {
        let mut trace = run.read(file)?;
        let study = Study::new(&mut trace, &args.how, args.all_models)?;
        let warnings = trace.warnings.iter();
        let warnings: Vec<String> = warnings
            .map(|warning| format!("for {} CPUs: {warning}", run.cpus))
            .collect();
        output::warn(&warnings);
        let predicted = predict_watched(&study, &[run.cpus])?;
        let is_last = predictions.len() + 1 == asked.len();
        if let (Some(path), Some(last), true) = (&args.output, predicted.last(), is_last) {
            study.save(last, &trace, path)?;
        }
        predictions.extend(predicted.into_iter().map(|prediction| Prediction {
            one_cpu,
            ..prediction
        }));
        traces.push((run.cpus, trace));
    }
    if args.json {
        let source = file.display().to_string();
        let document = SeriesDocument::new(&source, &base_trace, &traces, &predictions);
        output::print_json(&document)?;
    } else if args.all_models {
        output::print(prediction::all_models(&predictions))?;
    } else {
        output::print(prediction::text(&predictions))?;
    }
    Ok(Finish::Fine)
}

/// Returns the recordings to predict from.
fn asked<'s>(cpus: Option<&CpuList>, series: &'s Series) -> anyhow::Result<Vec<&'s Run>> {
    let Some(list) = cpus else {
        return Ok(series.runs.iter().collect());
    };
    let find = |&cpus: &u32| {
        let run = series.runs.iter().find(|run| run.cpus == cpus);
        run.ok_or_else(|| {
            let known = series.runs.iter().map(|run| run.cpus.to_string());
            Usage(format!(
                "--cpus {cpus}: the series was recorded for {} CPUs; name some of these, or one of its traces, which can \
                 be predicted for any number",
                known.collect::<Vec<_>>().join(",")
            ))
            .into()
        })
    };
    list.0.iter().map(find).collect()
}
