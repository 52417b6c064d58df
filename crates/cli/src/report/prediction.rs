//! Predictions as a table, with the deadlocks explained below it.

use std::fmt::Write as _;

use foretrace_schedule::{BlockedThread, Outcome, Schedule};

use crate::{
    core::Prediction,
    table::{Align, render},
};

/// As many blocked threads of a deadlock as are listed; the JSON form has them all.
const MOST_BLOCKED: usize = 12;

/// Returns the table of the answers, and the deadlocks on the way to them.
pub fn text(predictions: &[Prediction]) -> String {
    let columns = [
        ("CPUs", Align::Right),
        ("model", Align::Left),
        ("makespan", Align::Right),
        ("speed-up", Align::Right),
        ("efficiency", Align::Right),
    ];
    let mut text = render(columns, predictions.iter().map(row));
    text += &deadlocks(predictions);
    text
}

fn row(prediction: &Prediction) -> [String; 5] {
    let cpus = prediction.cpus.to_string();
    let Some(schedule) = prediction.answer() else {
        let dash = || "-".to_owned();
        return [cpus, "deadlock".to_owned(), dash(), dash(), dash()];
    };
    let speedup = prediction.speedup(schedule);
    let efficiency = 100.0 * speedup / f64::from(prediction.cpus);
    [
        cpus,
        schedule.model.clone(),
        schedule.end.to_string(),
        format!("{speedup:.2}"),
        format!("{efficiency:.0} %"),
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
        let answer = prediction.answer().map(|schedule| &schedule.model);
        prediction.attempts.iter().map(move |schedule| {
            let cpus = prediction.cpus.to_string();
            let model = schedule.model.clone();
            match schedule.outcome {
                Outcome::Completed => {
                    let answers = answer == Some(&schedule.model);
                    let note = if answers { "answers" } else { "" };
                    let speedup = format!("{:.2}", prediction.speedup(schedule));
                    [
                        cpus,
                        model,
                        schedule.end.to_string(),
                        speedup,
                        note.to_owned(),
                    ]
                }
                Outcome::Deadlock(_) => {
                    let note = format!("deadlock at {}", schedule.end);
                    [cpus, model, "-".to_owned(), "-".to_owned(), note]
                }
            }
        })
    });
    let mut text = render(columns, rows);
    text += &deadlocks(predictions);
    text
}

fn deadlocks(predictions: &[Prediction]) -> String {
    let mut text = String::new();
    for prediction in predictions {
        for schedule in &prediction.attempts {
            if let Outcome::Deadlock(blocked) = &schedule.outcome {
                explain(prediction.cpus, schedule, blocked, &mut text);
            }
        }
    }
    text
}

fn explain(cpus: u32, schedule: &Schedule, blocked: &[BlockedThread], text: &mut String) {
    let plural = if cpus == 1 { "" } else { "s" };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\nOn {cpus} CPU{plural} the {} model ends in a deadlock at {}:",
        schedule.model, schedule.end
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

#[cfg(test)]
mod tests {
    use foretrace_schedule::SimTime;

    use super::*;

    fn schedule(model: &str, nanos: u64, outcome: Outcome) -> Schedule {
        Schedule {
            source: "sample".to_owned(),
            model: model.to_owned(),
            cpus: 3,
            end: SimTime::from_nanos(nanos),
            outcome,
            processes: vec![],
            lanes: vec![],
            objects: vec![],
            wakes: vec![],
        }
    }

    fn sample() -> Vec<Prediction> {
        let blocked = BlockedThread {
            thread: "P1".to_owned(),
            operation: "send".to_owned(),
            object: Some("X".to_owned()),
            waits_for: Some("P2".to_owned()),
            since: SimTime::from_nanos(5),
        };
        vec![Prediction {
            cpus: 3,
            attempts: vec![
                schedule("direct", 7, Outcome::Deadlock(vec![blocked])),
                schedule("client-server", 10, Outcome::Completed),
                schedule("strict", 13, Outcome::Completed),
            ],
            one_cpu: SimTime::from_nanos(21),
        }]
    }

    #[test]
    fn the_first_model_without_a_deadlock_answers() {
        assert_eq!(
            text(&sample()),
            "CPUs  model          makespan  speed-up  efficiency\n   \
             3  client-server     10 ns      2.10        70 %\n\n\
             On 3 CPUs the direct model ends in a deadlock at 7 ns:\n  \
             P1 waits in send X for P2 since 5 ns\n"
        );
    }

    #[test]
    fn all_models_stand_side_by_side() {
        let text = all_models(&sample());
        assert!(
            text.contains("direct                -         -  deadlock at 7 ns"),
            "{text}"
        );
        assert!(
            text.contains("client-server     10 ns      2.10  answers"),
            "{text}"
        );
        assert!(
            text.contains("strict            13 ns      1.62\n"),
            "{text}"
        );
    }
}
