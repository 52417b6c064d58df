//! Predictions and traces as JSON. Other programs rely on these names: new ones may come, none may change.

use std::collections::BTreeMap;

use foretrace_schedule::{BlockedThread, Outcome, Schedule};
use foretrace_trace::{ExitStatus, Recording, ThreadClock, Trace};
use serde::Serialize;

use crate::core::{Prediction, Request};

/// The document of `predict --json`.
#[derive(Debug, Serialize)]
pub struct PredictDocument<'a> {
    trace: TraceJson<'a>,
    predictions: Vec<PredictionJson<'a>>,
}

impl<'a> PredictDocument<'a> {
    /// Makes the document.
    pub fn new(trace: &'a Trace, request: &Request, predictions: &'a [Prediction]) -> Self {
        Self {
            trace: TraceJson::new(trace),
            predictions: predictions
                .iter()
                .map(|prediction| PredictionJson::new(request, prediction))
                .collect(),
        }
    }
}

/// A trace's circumstances.
#[derive(Debug, Serialize)]
pub struct TraceJson<'a> {
    source: &'a str,
    threads: usize,
    objects: usize,
    events: usize,
    cpu_time_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<RecordingJson<'a>>,
    warnings: &'a [String],
}

impl<'a> TraceJson<'a> {
    /// Takes them from the trace.
    pub fn new(trace: &'a Trace) -> Self {
        Self {
            source: &trace.source,
            threads: trace.threads.len(),
            objects: trace.objects.len(),
            events: trace.events.len(),
            cpu_time_ns: trace.total_cpu().0,
            recording: trace.recording.as_ref().map(RecordingJson::new),
            warnings: &trace.warnings,
        }
    }
}

#[derive(Debug, Serialize)]
struct RecordingJson<'a> {
    command: &'a [String],
    recorder_version: &'a str,
    started_unix_seconds: u64,
    cpu: u32,
    pretended_cpus: u32,
    slice_ns: Option<u64>,
    clock: &'static str,
    wall_ns: u64,
    process_cpu_time_ns: Option<u64>,
    exit_code: Option<i32>,
    signal: Option<i32>,
    lost_events: u64,
}

impl<'a> RecordingJson<'a> {
    fn new(recording: &'a Recording) -> Self {
        let (exit_code, signal) = match recording.exit {
            Some(ExitStatus::Code(code)) => (Some(code), None),
            Some(ExitStatus::Signal(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        Self {
            command: &recording.command,
            recorder_version: &recording.recorder_version,
            started_unix_seconds: recording.started_unix_seconds,
            cpu: recording.cpu,
            pretended_cpus: recording.pretended_cpus,
            slice_ns: recording.slice.map(|slice| slice.0),
            clock: clock_name(recording.clock),
            wall_ns: recording.wall.0,
            process_cpu_time_ns: recording.cpu_time.map(|time| time.0),
            exit_code,
            signal,
            lost_events: recording.lost_events,
        }
    }
}

/// Returns the name of a clock.
pub fn clock_name(clock: ThreadClock) -> &'static str {
    match clock {
        ThreadClock::Rseq => "rseq",
        ThreadClock::Counter => "counter",
        ThreadClock::SystemCall => "system-call",
    }
}

#[derive(Debug, Serialize)]
struct PredictionJson<'a> {
    cpus: u32,
    scheduler: &'static str,
    bind: &'static str,
    /// `null` where every model that was tried ended in a deadlock, as are the next two.
    model: Option<&'a str>,
    makespan_ns: Option<u64>,
    speedup: Option<f64>,
    finish_ns: BTreeMap<&'a str, u64>,
    attempts: Vec<AttemptJson<'a>>,
}

impl<'a> PredictionJson<'a> {
    fn new(request: &Request, prediction: &'a Prediction) -> Self {
        let answer = prediction.answer();
        Self {
            cpus: prediction.cpus,
            scheduler: request.scheduler.name(),
            bind: request.bind.name(),
            model: answer.map(|schedule| schedule.model.as_str()),
            makespan_ns: answer.map(|schedule| schedule.end.as_nanos()),
            speedup: answer.map(|schedule| prediction.speedup(schedule)),
            finish_ns: answer.map(finish_times).unwrap_or_default(),
            attempts: prediction.attempts.iter().map(AttemptJson::new).collect(),
        }
    }
}

fn finish_times(schedule: &Schedule) -> BTreeMap<&str, u64> {
    schedule
        .lanes
        .iter()
        .filter_map(|lane| Some((lane.name.as_str(), lane.end?.as_nanos())))
        .collect()
}

#[derive(Debug, Serialize)]
struct AttemptJson<'a> {
    model: &'a str,
    #[serde(flatten)]
    outcome: OutcomeJson<'a>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum OutcomeJson<'a> {
    Completed {
        makespan_ns: u64,
    },
    Deadlock {
        at_ns: u64,
        blocked: Vec<BlockedJson<'a>>,
    },
}

impl<'a> AttemptJson<'a> {
    fn new(schedule: &'a Schedule) -> Self {
        let end = schedule.end.as_nanos();
        Self {
            model: &schedule.model,
            outcome: match &schedule.outcome {
                Outcome::Completed => OutcomeJson::Completed { makespan_ns: end },
                Outcome::Deadlock(blocked) => OutcomeJson::Deadlock {
                    at_ns: end,
                    blocked: blocked.iter().map(BlockedJson::new).collect(),
                },
            },
        }
    }
}

#[derive(Debug, Serialize)]
struct BlockedJson<'a> {
    thread: &'a str,
    operation: &'a str,
    object: Option<&'a str>,
    waits_for: Option<&'a str>,
    since_ns: u64,
}

impl<'a> BlockedJson<'a> {
    fn new(blocked: &'a BlockedThread) -> Self {
        Self {
            thread: &blocked.thread,
            operation: &blocked.operation,
            object: blocked.object.as_deref(),
            waits_for: blocked.waits_for.as_deref(),
            since_ns: blocked.since.as_nanos(),
        }
    }
}

#[cfg(test)]
mod tests {
    use foretrace_schedule::{Lane, SimTime};

    use super::*;
    use crate::args::{Bind, Model, Scheduler};

    fn schedule(model: &str, nanos: u64, outcome: Outcome) -> Schedule {
        Schedule {
            source: "sample".to_owned(),
            model: model.to_owned(),
            cpus: 3,
            end: SimTime::from_nanos(nanos),
            outcome,
            processes: vec![],
            lanes: vec![Lane {
                name: "P1".to_owned(),
                process: 0,
                segments: vec![],
                end: Some(SimTime::from_nanos(nanos)),
            }],
            objects: vec![],
            wakes: vec![],
        }
    }

    #[test]
    fn predictions_have_the_documented_form() {
        let blocked = BlockedThread {
            thread: "P1".to_owned(),
            operation: "send".to_owned(),
            object: Some("X".to_owned()),
            waits_for: Some("P2".to_owned()),
            since: SimTime::from_nanos(5),
        };
        let prediction = Prediction {
            cpus: 3,
            attempts: vec![
                schedule("direct", 7, Outcome::Deadlock(vec![blocked])),
                schedule("client-server", 10, Outcome::Completed),
            ],
            one_cpu: SimTime::from_nanos(21),
        };
        let request = Request {
            model: Model::Auto,
            all_models: false,
            scheduler: Scheduler::Priority,
            bind: Bind::Block,
        };
        let json = serde_json::to_value(PredictionJson::new(&request, &prediction));
        assert_eq!(
            json.expect("it is plain data"),
            serde_json::json!({
                "cpus": 3, "scheduler": "priority", "bind": "block", "model": "client-server",
                "makespan_ns": 10, "speedup": 2.1, "finish_ns": {"P1": 10},
                "attempts": [
                    {"model": "direct", "outcome": "deadlock", "at_ns": 7, "blocked": [
                        {"thread": "P1", "operation": "send", "object": "X", "waits_for": "P2", "since_ns": 5}
                    ]},
                    {"model": "client-server", "outcome": "completed", "makespan_ns": 10}
                ]
            })
        );
    }
}
