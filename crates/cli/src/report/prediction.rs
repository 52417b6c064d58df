//! Predictions as a table, with the deadlocks explained below it.

use std::fmt::Write as _;

use foretrace_schedule::{BlockedThread, Outcome};
use foretrace_sim::{Attempt, Overruled};

use crate::{
    core::Prediction,
    several::{Answer, Recorded, Way},
    table::{Align, render, unknown},
};

/// As many deadlocks as are explained; the JSON form has them all.
const MOST_DEADLOCKS: usize = 3;

/// As many blocked threads of a deadlock as are listed; the JSON form has them all.
const MOST_BLOCKED: usize = 12;

/// The share of the makespan from which on it is told that the order of tasks matters; the JSON form always does.
const LEAST_SPREAD: f64 = 0.01;

/// Returns the table of the answers, and the deadlocks on the way to them.
pub fn text(predictions: &[Prediction]) -> String {
    let columns = [
        ("CPUs", Align::Right),
        ("model", Align::Left),
        ("makespan", Align::Right),
        ("speed-up", Align::Right),
        ("efficiency", Align::Right),
        ("others", Align::Left),
    ];
    let mut text = render(columns, predictions.iter().map(row));
    text += &below(predictions);
    text
}

/// Returns what is told below every table.
fn below<'a>(predictions: impl IntoIterator<Item = &'a Prediction> + Clone) -> String {
    let mut text = machine(predictions.clone());
    text += &spreads(predictions.clone());
    text += &deadlocks(predictions.clone());
    text += &overruled(predictions);
    text
}

/// Returns the table of the answers in the middle of several ways, with the lowest and the highest.
pub fn several(recordings: &[Recorded], answers: &[Answer]) -> String {
    let columns = [
        ("CPUs", Align::Right),
        ("model", Align::Left),
        ("makespan", Align::Right),
        ("speed-up", Align::Right),
        ("lowest", Align::Right),
        ("highest", Align::Right),
        ("efficiency", Align::Right),
        ("others", Align::Left),
    ];
    let rows = answers.iter().map(|answer| {
        let [cpus, model, makespan, speedup, efficiency, others] = row(answer.prediction);
        let bounds = answer.speedups();
        let bound = |bound: Option<f64>| bound.map_or(unknown(), |bound| format!("{bound:.2}"));
        let lowest = bound(bounds.map(|(lowest, _)| lowest));
        let highest = bound(bounds.map(|(_, highest)| highest));
        [
            cpus, model, makespan, speedup, lowest, highest, efficiency, others,
        ]
    });
    let below = below(answers.iter().map(|answer| answer.prediction));
    render(columns, rows) + &fallen_back(recordings, answers) + &below
}

/// Tells which ways were not answered by the first model that was tried, since it ended in a deadlock.
fn fallen_back(recordings: &[Recorded], answers: &[Answer]) -> String {
    let mut text = String::new();
    for answer in answers {
        let ways = answer.ways.iter();
        let first =
            ways.filter_map(|(way, prediction)| Some((way, prediction.result.attempts.first()?)));
        let fallen: Vec<_> = first
            .filter(|(_, attempt)| !attempt.run.is_complete())
            .collect();
        if fallen.is_empty() {
            continue;
        }
        let name = |(way, _): &(&&Way, &Attempt)| {
            let source = &recordings[way.recording].trace.source;
            let seed = way.seed.map(|seed| format!(" with seed {seed}"));
            source.clone() + &seed.unwrap_or_default()
        };
        let mut names: Vec<String> = fallen.iter().take(MOST_DEADLOCKS).map(name).collect();
        if fallen.len() > MOST_DEADLOCKS {
            names.push("...".to_owned());
        }
        let cpus = answer.prediction.cpus();
        let plural = if cpus == 1 { "" } else { "s" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {cpus} CPU{plural}: {} of {} ({})",
            fallen.len(),
            answer.ways.len(),
            names.join(", ")
        );
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "\nThe first model ends in a deadlock, so that another one answers, or none does:\n{text}"
    )
}

/// Returns the speed-ups that the models give that come after the one that answered.
fn others(prediction: &Prediction) -> String {
    let name = |attempt: &Attempt| {
        let model = attempt.model.name();
        if attempt.run.is_complete() {
            format!("{model} {:.2}", prediction.speedup(&attempt.run))
        } else {
            format!("{model} deadlock")
        }
    };
    let others: Vec<String> = prediction.others.iter().map(name).collect();
    others.join(", ")
}

fn row(prediction: &Prediction) -> [String; 6] {
    let cpus = prediction.cpus().to_string();
    let Some(Attempt { model, run, .. }) = prediction.answered() else {
        let deadlock = "deadlock".to_owned();
        return [
            cpus,
            deadlock,
            unknown(),
            unknown(),
            unknown(),
            String::new(),
        ];
    };
    let speedup = prediction.speedup(run);
    let efficiency = 100.0 * speedup / f64::from(prediction.cpus());
    [
        cpus,
        model.name().to_owned(),
        run.end.to_string(),
        format!("{speedup:.2}"),
        format!("{efficiency:.0} %"),
        others(prediction),
    ]
}

/// Returns a table with the result of every model side by side, and the deadlocks.
pub fn all_models(predictions: &[Prediction]) -> String {
    let columns = [
        ("CPUs", Align::Right),
        ("model", Align::Left),
        ("makespan", Align::Right),
        ("speed-up", Align::Right),
        ("", Align::Left),
    ];
    let rows = predictions.iter().flat_map(|prediction| {
        let answer = prediction.answered().map(|attempt| attempt.model);
        let attempts = prediction.result.attempts.iter();
        attempts.map(move |attempt| {
            let note = match attempt.run.outcome {
                Outcome::Deadlock(_) => format!("deadlock at {}", attempt.run.end),
                Outcome::Completed if answer == Some(attempt.model) => "answers".to_owned(),
                Outcome::Completed => String::new(),
            };
            attempt_row(prediction, attempt, note)
        })
    });
    render(columns, rows) + &below(predictions)
}

fn attempt_row(prediction: &Prediction, attempt: &Attempt, note: String) -> [String; 5] {
    let (makespan, speedup) = if attempt.run.is_complete() {
        let speedup = prediction.speedup(&attempt.run);
        (attempt.run.end.to_string(), format!("{speedup:.2}"))
    } else {
        (unknown(), unknown())
    };
    let cpus = prediction.cpus().to_string();
    [
        cpus,
        attempt.model.name().to_owned(),
        makespan,
        speedup,
        note,
    ]
}

/// Returns a paragraph that names the machine: the one with the most CPUs, which shows most of it.
fn machine<'a>(predictions: impl IntoIterator<Item = &'a Prediction>) -> String {
    let largest = predictions
        .into_iter()
        .max_by_key(|prediction| prediction.cpus());
    largest.map_or_else(String::new, |prediction| {
        format!("\n{}\n", super::machine::text(&prediction.result.machine))
    })
}

/// Tells between what makespans lie that depend on the order in which a pool's tasks are taken.
fn spreads<'a>(predictions: impl IntoIterator<Item = &'a Prediction>) -> String {
    let mut lines = String::new();
    for prediction in predictions {
        let mut spreads = prediction
            .result
            .attempts
            .iter()
            .filter_map(|attempt| attempt.spread);
        if let Some((least, most)) = spreads.next().filter(|(least, most)| {
            // What other things make as uncertain is not worth a line.
            (most.0 - least.0) as f64 >= LEAST_SPREAD * most.0 as f64
        }) {
            let cpus = prediction.cpus();
            let plural = if cpus == 1 { "" } else { "s" };
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "  {cpus} CPU{plural}: {least} to {most}");
        }
    }
    if lines.is_empty() {
        return lines;
    }
    format!(
        "\nThe makespan depends on the order in which the pool's tasks are taken, which is not known:\n{lines}"
    )
}

fn deadlocks<'a>(predictions: impl IntoIterator<Item = &'a Prediction>) -> String {
    let mut deadlocks = predictions.into_iter().flat_map(|prediction| {
        let attempts = prediction.result.attempts.iter();
        attempts
            .filter(|attempt| !attempt.run.is_complete())
            .map(move |attempt| (prediction.cpus(), attempt))
    });
    let mut text = String::new();
    for (cpus, attempt) in deadlocks.by_ref().take(MOST_DEADLOCKS) {
        explain(cpus, attempt, &mut text);
    }
    let more = deadlocks.count();
    if more > 0 {
        let plural = if more == 1 { "" } else { "s" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\n{more} more deadlock{plural} on the way to these answers (all of them with --json)"
        );
    }
    text
}

/// Tells which waits were over as the trace says so, though nothing in it ends them: of the answers, as far as there are such.
fn overruled<'a>(predictions: impl IntoIterator<Item = &'a Prediction>) -> String {
    let of = |prediction: &'a Prediction| Some(&prediction.result.answer()?.overruled);
    let most = predictions
        .into_iter()
        .filter_map(of)
        .max_by_key(|waits| waits.len());
    let Some(waits) = most.filter(|waits| !waits.is_empty()) else {
        return String::new();
    };
    let mut text = "\nThese threads went on in the trace, and nothing ends their waits here. They are taken to be over when nothing else can \
                    happen:\n"
        .to_owned();
    for Overruled { event, wait } in waits.iter().take(MOST_BLOCKED) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  event {}: {}", event + 1, blocked_text(wait));
    }
    if waits.len() > MOST_BLOCKED {
        let more = waits.len() - MOST_BLOCKED;
        let _ = writeln!(text, "  and {more} more (all of them with --json)");
    }
    text
}

fn explain(cpus: u32, attempt: &Attempt, text: &mut String) {
    let blocked = attempt.run.blocked();
    let plural = if cpus == 1 { "" } else { "s" };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\nOn {cpus} CPU{plural} the {} model ends in a deadlock at {}:",
        attempt.model.name(),
        attempt.run.end
    );
    for thread in blocked.iter().take(MOST_BLOCKED) {
        let _ = writeln!(text, "  {}", blocked_text(thread));
    }
    if blocked.len() > MOST_BLOCKED {
        let more = blocked.len() - MOST_BLOCKED;
        let _ = writeln!(text, "  and {more} more (all of them with --json)");
    }
}

fn blocked_text(blocked: &BlockedThread) -> String {
    if blocked.operation == "unborn" {
        return format!("{} was never created", blocked.thread);
    }
    let mut text = format!("{} waits in {}", blocked.thread, blocked.operation);
    if let Some(object) = &blocked.object {
        let _ = write!(text, " {object}");
    }
    if let Some(other) = &blocked.waits_for {
        let _ = write!(text, " for {other}");
    }
    let _ = write!(text, " since {}", blocked.since);
    text
}
