//! Programs that pass messages, and their replays: tables for people, JSON for programs.

use std::{collections::BTreeMap, fmt::Write as _};

use foretrace_interchange::Messages;
use foretrace_messages::{Attempt, Kind, LeftOver, Operation, Outcome, Run, Stuck, TaskKind};
use foretrace_schedule::SimTime;
use serde_json::{Value, json};

use super::nanos;
use crate::{
    messages::{Replay, answered, cpus_per_rank, on_one_cpu, ranks, warnings, work},
    table::{Align, render, unknown},
};

/// As many ranks or messages as a report lists; the JSON form has them all.
const MOST_LISTED: usize = 12;

/// What a program holds, counted.
struct Counts {
    operations: usize,
    messages: u64,
    bytes: u64,
    wildcards: usize,
    collectives: BTreeMap<&'static str, u64>,
    work: Vec<SimTime>,
    paused: SimTime,
}

fn counted(messages: &Messages) -> Counts {
    let mut counts = Counts {
        operations: 0,
        messages: 0,
        bytes: 0,
        wildcards: 0,
        collectives: BTreeMap::new(),
        work: vec![SimTime::ZERO; ranks(messages) as usize],
        paused: SimTime::ZERO,
    };
    match messages {
        Messages::Program(program) => {
            counts.operations = program.steps.len();
            counts.messages = program.messages();
            counts.bytes = program.bytes();
            counts.wildcards = program.operations().filter(Operation::is_wild).count();
            for rank in 0..program.ranks() {
                for op in program.of_rank(rank) {
                    match op.kind {
                        Kind::Work => counts.work[rank as usize].0 += op.value,
                        Kind::Pause => counts.paused.0 += op.value,
                        Kind::Collective => {
                            let kind = program.collectives[op.value as usize].kind;
                            *counts.collectives.entry(kind.name()).or_default() += 1;
                        }
                        _ => {}
                    }
                }
            }
        }
        Messages::Graph(graph) => {
            counts.operations = graph.tasks.len();
            counts.messages = graph.messages();
            counts.bytes = graph.bytes();
            for (number, task) in graph.tasks.iter().enumerate() {
                let is_open =
                    task.peer == foretrace_messages::ANY || task.tag == foretrace_messages::ANY;
                match task.kind {
                    TaskKind::Work => {
                        counts.work[graph.rank_of(number as u32) as usize].0 += task.value;
                    }
                    TaskKind::Receive if is_open => counts.wildcards += 1,
                    _ => {}
                }
            }
        }
    }
    counts
}

fn source(messages: &Messages) -> &str {
    match messages {
        Messages::Program(program) => &program.source,
        Messages::Graph(graph) => &graph.source,
    }
}

/// Returns what a program holds, as text.
pub fn info(messages: &Messages) -> String {
    let counts = counted(messages);
    let mut text = format!(
        "{}: a program of {} ranks that pass messages\n\n",
        source(messages),
        ranks(messages)
    );
    // A prediction counts those, too, of which collectives are made.
    let sent = if counts.collectives.is_empty() {
        "messages"
    } else {
        "messages beside collectives"
    };
    let mut rows = vec![
        ["operations".to_owned(), counts.operations.to_string()],
        [sent.to_owned(), counts.messages.to_string()],
        ["bytes in messages".to_owned(), counts.bytes.to_string()],
        [
            "receives from anybody".to_owned(),
            counts.wildcards.to_string(),
        ],
    ];
    let members = u64::from(ranks(messages));
    for (name, calls) in &counts.collectives {
        rows.push([format!("{name}, calls of all ranks"), calls.to_string()]);
    }
    let all: u64 = counts.work.iter().map(|work| work.0).sum();
    rows.push(["work of all ranks".to_owned(), SimTime(all).to_string()]);
    let least = counts.work.iter().min().copied().unwrap_or_default();
    let most = counts.work.iter().max().copied().unwrap_or_default();
    let mean = SimTime(all / members.max(1));
    rows.push(["work of a rank: least".to_owned(), least.to_string()]);
    rows.push(["work of a rank: mean".to_owned(), mean.to_string()]);
    rows.push(["work of a rank: most".to_owned(), most.to_string()]);
    if counts.paused > SimTime::ZERO {
        let paused = counts.paused.to_string();
        rows.push(["pauses of all ranks".to_owned(), paused]);
    }
    let table = render([("", Align::Left), ("", Align::Right)], rows);
    text += table.trim_start_matches('\n');
    for warning in warnings(messages) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\nwarning: {warning}");
    }
    text
}

/// Returns what a program holds, for `info --json` and `predict --json`.
pub fn trace_json(messages: &Messages) -> Value {
    let counts = counted(messages);
    json!({
        "source": source(messages),
        "ranks": ranks(messages),
        "operations": counts.operations,
        "messages": counts.messages,
        "bytes": counts.bytes,
        "wildcard_receives": counts.wildcards,
        "collective_calls": counts.collectives,
        "work_ns": SimTime(work(messages)).as_nanos(),
        "pause_ns": counts.paused.as_nanos(),
        "rank_work_ns": counts.work.iter().map(|work| work.as_nanos()).collect::<Vec<_>>(),
        "warnings": warnings(messages),
    })
}

/// Returns how much sooner a run ends than what all ranks do on one CPU.
pub fn speedup(replay: &Replay, makespan: SimTime) -> f64 {
    if makespan == SimTime::ZERO {
        1.0
    } else {
        on_one_cpu(&replay.messages) as f64 / makespan.0 as f64
    }
}

/// Returns the prediction as a table.
pub fn text(replay: &Replay, attempts: &[Attempt]) -> String {
    let columns = [
        ("ranks", Align::Right),
        ("model", Align::Left),
        ("makespan", Align::Right),
        ("speed-up", Align::Right),
        ("efficiency", Align::Right),
        ("messages", Align::Right),
        ("", Align::Left),
    ];
    let count = ranks(&replay.messages);
    let rows = attempts.iter().map(|attempt| {
        let run = &attempt.run;
        let speedup = speedup(replay, run.end);
        let [end, speedup, efficiency] = if run.is_complete() {
            let cpus = f64::from(count.max(1)) * f64::from(cpus_per_rank(&replay.messages));
            let efficiency = 100.0 * speedup / cpus;
            [
                run.end.to_string(),
                format!("{speedup:.2}"),
                format!("{efficiency:.0} %"),
            ]
        } else {
            std::array::from_fn(|_| unknown())
        };
        let note = if run.is_complete() {
            String::new()
        } else {
            format!("{} at {}", outcome_name(&run.outcome), run.end)
        };
        [
            count.to_string(),
            attempt.model.name().to_owned(),
            end,
            speedup,
            efficiency,
            run.messages.to_string(),
            note,
        ]
    });
    let on = match cpus_per_rank(&replay.messages) {
        1 => String::new(),
        cpus => format!("{cpus} CPUs for the threads of each rank. "),
    };
    format!("{}\n{on}{}\n", render(columns, rows), network(replay))
}

/// Names the network.
pub fn network(replay: &Replay) -> String {
    let (name, model) = (&replay.description.name, replay.description.model_name());
    format!("Network: {name} ({model}).")
}

/// Names the network for programs.
pub fn network_json(replay: &Replay) -> Value {
    json!({"name": replay.description.name, "model": replay.description.model_name()})
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Deadlock(_) => "deadlock",
        Outcome::LeftOver => "left-over",
        Outcome::Failed(_) => "failed",
    }
}

/// Says why no model came to an end.
pub fn explain(attempts: &[Attempt]) -> String {
    let mut text = String::new();
    for Attempt { model, run } in attempts {
        let model = model.name();
        // Writing to a string cannot fail.
        let _ = match &run.outcome {
            Outcome::Completed => Ok(()),
            Outcome::Failed(failure) => writeln!(text, "the {model} model: {failure}"),
            Outcome::Deadlock(stuck) => {
                let lines: Vec<String> = stuck.iter().map(ToString::to_string).collect();
                let sent: Vec<String> = messages_of(run).map(ToString::to_string).collect();
                let also = if sent.is_empty() {
                    String::new()
                } else {
                    format!("\nmeanwhile there is:{}", listed(&sent))
                };
                writeln!(
                    text,
                    "the {model} model ends in a deadlock at {}:{}{also}",
                    run.end,
                    listed(&lines)
                )
            }
            Outcome::LeftOver => {
                let lines: Vec<String> = run.left_over.iter().map(ToString::to_string).collect();
                writeln!(
                    text,
                    "the {model} model: when all ranks have ended, something is left over:{}",
                    listed(&lines)
                )
            }
        };
    }
    text.trim_end().to_owned()
}

/// Returns the messages that nobody received.
fn messages_of(run: &Run) -> impl Iterator<Item = &LeftOver> {
    run.left_over.iter().filter(|left| left.is_message)
}

fn listed(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines.iter().take(MOST_LISTED) {
        text += "\n  ";
        text += line;
    }
    if lines.len() > MOST_LISTED {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n  and {} more (all of them with --json)",
            lines.len() - MOST_LISTED
        );
    }
    text
}

/// Returns the document of `predict --json`.
pub fn json(replay: &Replay, attempts: &[Attempt]) -> Value {
    let run = answered(attempts);
    let finish = run.map(|run| {
        let ends = run.finish.iter().enumerate();
        ends.map(|(rank, end)| (rank.to_string(), json!(end.map(nanos))))
            .collect::<serde_json::Map<_, _>>()
    });
    let answer = attempts.iter().find(|attempt| attempt.run.is_complete());
    json!({
        "trace": trace_json(&replay.messages),
        "predictions": [{
            "ranks": ranks(&replay.messages),
            "nodes": nodes(replay),
            "cpus": ranks(&replay.messages) * cpus_per_rank(&replay.messages),
            // Nothing is shared out among the ranks: each has CPUs of its own.
            "scheduler": null,
            "bind": null,
            "cpus_per_rank": cpus_per_rank(&replay.messages),
            "network": network_json(replay),
            "model": answer.map(|attempt| attempt.model.name()),
            "makespan_ns": run.map(|run| nanos(run.end)),
            "speedup": run.map(|run| speedup(replay, run.end)),
            "messages": run.map(|run| run.messages),
            "finish_ns": finish,
            "attempts": attempts.iter().map(attempt_json).collect::<Vec<_>>(),
        }],
    })
}

/// Returns the number of nodes that the ranks are on.
fn nodes(replay: &Replay) -> usize {
    let mut nodes = replay.description.nodes.of_ranks(ranks(&replay.messages));
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len()
}

/// Names what a rank waits for, as of threads the object is named.
fn object(stuck: &Stuck) -> String {
    match stuck.peer {
        Some(peer) => format!("rank {peer}"),
        None => stuck.communicator.clone(),
    }
}

fn attempt_json(attempt: &Attempt) -> Value {
    let run = &attempt.run;
    let mut document =
        json!({"model": attempt.model.name(), "outcome": outcome_name(&run.outcome)});
    match &run.outcome {
        Outcome::Completed => document["makespan_ns"] = nanos(run.end),
        Outcome::Failed(failure) => document["problem"] = json!(failure.to_string()),
        Outcome::Deadlock(stuck) => {
            document["at_ns"] = nanos(run.end);
            let blocked = stuck.iter().map(|stuck| {
                json!({
                    "thread": format!("rank {}", stuck.rank), "rank": stuck.rank, "operation": stuck.call, "object": object(stuck),
                    "peer": stuck.peer,
                    "tag": stuck.tag, "communicator": stuck.communicator, "since_ns": nanos(stuck.since),
                })
            });
            document["blocked"] = blocked.collect();
        }
        Outcome::LeftOver => document["at_ns"] = nanos(run.end),
    }
    if !run.left_over.is_empty() {
        let left = run.left_over.iter().map(|left| {
            let what = if left.is_message {
                "message"
            } else {
                "receive"
            };
            json!({"what": what, "from": left.from, "to": left.to, "tag": left.tag})
        });
        document["left_over"] = left.collect();
    }
    document
}
