//! `foretrace predict`: the speed-up on given numbers of CPUs.

use std::path::{Path, PathBuf};

use foretrace_trace::Trace;
use indicatif::{ProgressBar, ProgressStyle};

use super::{predict_messages, predict_series};
use crate::{
    args::PredictArgs,
    core::{self, Extent, Prediction, Study},
    failure::{Finish, Usage},
    messages, output,
    report::{
        json::{PredictDocument, SeveralDocument},
        prediction,
    },
    series::Series,
    several::{Answer, Recorded, Way},
};

/// The numbers of CPUs to predict for where none are named.
const DEFAULT_CPUS: [u32; 5] = [1, 2, 4, 8, 16];

/// Runs the command.
pub fn run(args: &PredictArgs) -> anyhow::Result<Finish> {
    let seeds = args.seed.as_ref().map_or(&[][..], |seeds| &seeds.0);
    for file in &args.files {
        if let Some(messages) = messages::load_on_cpus(file, args.ranks.cpus_per_rank, &args.how)? {
            if args.files.len() > 1 {
                let message = format!(
                    "{}: a program that passes messages is predicted from its one trace; name it alone",
                    file.display()
                );
                return Err(Usage(message).into());
            }
            return predict_messages::run(args, messages);
        }
    }
    messages::refuse_network(&args.network, args.files.first().map(PathBuf::as_path))?;
    if let [file] = args.files.as_slice() {
        if let Some(series) = Series::load(file)? {
            return predict_series::run(args, file, &series);
        }
        if seeds.len() < 2 {
            return predict_one(args, file, seeds.first().copied());
        }
    }
    predict_several(args, &args.files, seeds)
}

fn predict_one(args: &PredictArgs, file: &Path, seed: Option<u64>) -> anyhow::Result<Finish> {
    let mut trace = core::read_trace(file)?;
    let study = Study::new(&mut trace, &args.how, args.all_models)?;
    let extent = Extent::of_read(&mut trace, args.output.is_some());
    output::warn(&trace.warnings);
    let cpus = cpus(args, &study);
    let predictions = predict_with_seed(&study, &cpus, seed)?;
    if let (Some(path), Some(last)) = (&args.output, predictions.last()) {
        study.save(last, &trace, path)?;
    }
    if args.json {
        output::print_json(&PredictDocument::new(&trace, extent, &predictions))?;
    } else if args.all_models {
        output::print(prediction::all_models(&predictions))?;
    } else {
        output::print(prediction::text(&predictions))?;
    }
    Ok(Finish::Fine)
}

/// Predicts from several recordings of one program, with each of several seeds where there are such.
fn predict_several(args: &PredictArgs, files: &[PathBuf], seeds: &[u64]) -> anyhow::Result<Finish> {
    if args.all_models {
        let message = "--all-models is for one recording and one seed; leave it out, or name one";
        return Err(Usage(message.to_owned()).into());
    }
    let read = |file: &PathBuf| {
        let mut trace = core::read_trace(file)?;
        let study = Study::new(&mut trace, &args.how, false)?;
        let extent = Extent::of_read(&mut trace, args.output.is_some());
        let warnings = trace.warnings.iter();
        let warnings: Vec<String> = warnings
            .map(|warning| format!("{}: {warning}", file.display()))
            .collect();
        output::warn(&warnings);
        Ok(Recorded {
            trace,
            extent,
            study,
        })
    };
    let recordings: Vec<Recorded> = files.iter().map(read).collect::<anyhow::Result<_>>()?;
    output::warn(&other_programs(&recordings));
    let cpus = cpus(args, &recordings[0].study);
    let seeds: Vec<Option<u64>> = match seeds {
        [] => vec![None],
        seeds => seeds.iter().copied().map(Some).collect(),
    };
    let bar = progress(recordings.len() * seeds.len() * cpus.len());
    let mut ways = Vec::new();
    for (recording, recorded) in recordings.iter().enumerate() {
        for &seed in &seeds {
            ways.push(Way {
                recording,
                seed,
                predictions: recorded.study.predict(&cpus, seed, || bar.inc(1))?,
            });
        }
    }
    bar.finish_and_clear();
    let answers = (0..cpus.len()).filter_map(|index| Answer::new(&ways, index));
    let answers: Vec<Answer> = answers.collect();
    if let (Some(path), Some(last)) = (&args.output, answers.last()) {
        let recorded = &recordings[last.middle.recording];
        recorded
            .study
            .save(last.prediction, &recorded.trace, path)?;
    }
    if args.json {
        output::print_json(&SeveralDocument::new(&recordings, &answers))?;
    } else {
        output::print(prediction::several(&recordings, &answers))?;
    }
    Ok(Finish::Fine)
}

/// Warns of recordings that are of another program than the first, or of another run of it than that.
fn other_programs(recordings: &[Recorded]) -> Vec<String> {
    let command = |trace: &Trace| {
        let recording = trace.recording.as_ref();
        recording.map(|recording| recording.command.clone())
    };
    let first = command(&recordings[0].trace);
    let others = recordings.iter().skip(1);
    let others = others.filter(|other| command(&other.trace) != first);
    let said = |other: &Recorded| {
        format!(
            "{}: is of another command than {}, and is taken for the same program",
            other.trace.source, recordings[0].trace.source
        )
    };
    others.map(said).collect()
}

/// Returns the numbers of CPUs to predict for.
fn cpus(args: &PredictArgs, study: &Study) -> Vec<u32> {
    let asked = args.cpus.as_ref().map(|list| list.0.clone());
    asked.unwrap_or_else(|| default_cpus(study.described_cpus()))
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
    predict_with_seed(study, cpus, None)
}

fn predict_with_seed(
    study: &Study,
    cpus: &[u32],
    seed: Option<u64>,
) -> anyhow::Result<Vec<Prediction>> {
    let bar = progress(cpus.len());
    let predictions = study.predict(cpus, seed, || bar.inc(1));
    bar.finish_and_clear();
    predictions
}

/// Returns a bar for so many predictions, which is seen where somebody watches.
pub fn progress(predictions: usize) -> ProgressBar {
    if !output::is_watched() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("predicting {wide_bar} {pos}/{len}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(predictions as u64).with_style(style)
}
