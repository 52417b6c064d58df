//! Predictions and traces as JSON. Other programs rely on these names: new ones may come, none may change.

use std::collections::BTreeMap;

use foretrace_schedule::{BlockedThread, Outcome};
use foretrace_sim::{Attempt, Overruled, Run};
use foretrace_trace::{ExitStatus, Recording, ThreadClock, Trace};
use serde::Serialize;

use super::machine::MachineJson;
use crate::core::{Extent, Prediction};
use crate::several::{Answer, Recorded, Way};

/// The document of `predict --json`.
#[derive(Debug, Serialize)]
pub struct PredictDocument<'a> {
    trace: TraceJson<'a>,
    predictions: Vec<PredictionJson<'a>>,
}

impl<'a> PredictDocument<'a> {
    /// Makes the document; the trace may be without its events.
    pub fn new(trace: &'a Trace, extent: Extent, predictions: &'a [Prediction]) -> Self {
        Self {
            trace: TraceJson::with_extent(trace, extent),
            predictions: predictions
                .iter()
                .map(|prediction| PredictionJson::new(trace, prediction))
                .collect(),
        }
    }
}

/// The document of `predict --json` for several recordings or seeds. Its `trace` is the first recording.
#[derive(Debug, Serialize)]
pub struct SeveralDocument<'a> {
    trace: TraceJson<'a>,
    recordings: Vec<TraceJson<'a>>,
    predictions: Vec<AnswerJson<'a>>,
}

/// A prediction made several ways.
#[derive(Debug, Serialize)]
struct AnswerJson<'a> {
    /// The one whose speed-up is in the middle.
    #[serde(flatten)]
    middle: PredictionJson<'a>,
    /// The lowest and the highest; `null` where every way ended in deadlocks, as is the next.
    speedup_range: Option<[f64; 2]>,
    makespan_range_ns: Option<[u64; 2]>,
    /// What each way says, the lowest speed-up first.
    ways: Vec<WayJson>,
}

#[derive(Debug, Serialize)]
struct WayJson {
    /// The place in `recordings`.
    recording: usize,
    seed: Option<u64>,
    model: Option<&'static str>,
    makespan_ns: Option<u64>,
    speedup: Option<f64>,
}

impl<'a> SeveralDocument<'a> {
    /// Makes the document; there is one recording at least.
    pub fn new(recordings: &'a [Recorded], answers: &'a [Answer<'a>]) -> Self {
        let trace =
            |recorded: &'a Recorded| TraceJson::with_extent(&recorded.trace, recorded.extent);
        let answer = |answer: &'a Answer<'a>| AnswerJson {
            middle: PredictionJson::new(
                &recordings[answer.middle.recording].trace,
                answer.prediction,
            ),
            speedup_range: answer.speedups().map(|(lowest, highest)| [lowest, highest]),
            makespan_range_ns: answer.makespans().map(|(least, most)| [least, most]),
            ways: answer.ways.iter().map(WayJson::new).collect(),
        };
        Self {
            trace: trace(&recordings[0]),
            recordings: recordings.iter().map(trace).collect(),
            predictions: answers.iter().map(answer).collect(),
        }
    }
}

impl WayJson {
    fn new((way, prediction): &(&Way, &Prediction)) -> Self {
        let answered = prediction.answered();
        Self {
            recording: way.recording,
            seed: way.seed,
            model: answered.map(|attempt| attempt.model.name()),
            makespan_ns: answered.map(|attempt| attempt.run.end.as_nanos()),
            speedup: answered.map(|attempt| prediction.speedup(&attempt.run)),
        }
    }
}

/// The document of `predict --json` for a series. Its `trace` is the one that speed-ups refer to.
#[derive(Debug, Serialize)]
pub struct SeriesDocument<'a> {
    trace: TraceJson<'a>,
    series: SeriesJson<'a>,
    predictions: Vec<PredictionJson<'a>>,
}

/// A series, as `predict` and `info` tell of it.
#[derive(Debug, Serialize)]
pub struct SeriesJson<'a> {
    source: &'a str,
    runs: Vec<SeriesRunJson<'a>>,
}

#[derive(Debug, Serialize)]
struct SeriesRunJson<'a> {
    cpus: u32,
    trace: TraceJson<'a>,
}

impl<'a> SeriesJson<'a> {
    /// Makes it of the traces, each with its number of CPUs.
    pub fn new(source: &'a str, traces: &'a [(u32, Trace)]) -> Self {
        let run = |(cpus, trace): &'a (u32, Trace)| SeriesRunJson {
            cpus: *cpus,
            trace: TraceJson::new(trace),
        };
        Self {
            source,
            runs: traces.iter().map(run).collect(),
        }
    }
}

impl<'a> SeriesDocument<'a> {
    /// Makes the document; there is a prediction for each trace.
    pub fn new(
        source: &'a str,
        base: &'a Trace,
        traces: &'a [(u32, Trace)],
        predictions: &'a [Prediction],
    ) -> Self {
        let predictions = traces.iter().zip(predictions);
        Self {
            trace: TraceJson::new(base),
            series: SeriesJson::new(source, traces),
            predictions: predictions
                .map(|((_, trace), prediction)| PredictionJson::new(trace, prediction))
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
        Self::with_extent(trace, Extent::of(trace))
    }

    fn with_extent(trace: &'a Trace, extent: Extent) -> Self {
        Self {
            source: &trace.source,
            threads: trace.threads.len(),
            objects: trace.objects.len(),
            events: extent.events,
            cpu_time_ns: extent.cpu_time.0,
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
    recorder_cpu_ns: u64,
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
            recorder_cpu_ns: recording.recorder_cpu.0,
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
    machine: MachineJson,
    /// The number of workers of each pool, where it is not the recorded one.
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<u32>,
    /// `null` where every model that was tried ended in a deadlock, as are the next two.
    model: Option<&'static str>,
    makespan_ns: Option<u64>,
    speedup: Option<f64>,
    /// Of the threads that ended, also in a deadlock of the last model tried.
    finish_ns: BTreeMap<&'a str, u64>,
    attempts: Vec<AttemptJson<'a>>,
    /// What the models give that come after the one that answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<AttemptJson<'a>>,
    /// The lowest and the highest speed-up of all models that came to an end.
    models_speedup_range: Option<[f64; 2]>,
}

impl<'a> PredictionJson<'a> {
    fn new(trace: &'a Trace, prediction: &'a Prediction) -> Self {
        let machine = &prediction.result.machine;
        let answer = prediction.answered();
        let run = answer.map(|attempt| &attempt.run);
        let last = run.or(prediction
            .result
            .attempts
            .last()
            .map(|attempt| &attempt.run));
        Self {
            cpus: machine.cpus,
            scheduler: machine.scheduler.name(),
            bind: machine.bind.name(),
            machine: MachineJson::new(machine),
            workers: prediction.workers,
            model: answer.map(|attempt| attempt.model.name()),
            makespan_ns: run.map(|run| run.end.as_nanos()),
            speedup: run.map(|run| prediction.speedup(run)),
            finish_ns: last.map_or_else(BTreeMap::new, |run| finish_times(trace, run)),
            attempts: prediction
                .result
                .attempts
                .iter()
                .map(AttemptJson::new)
                .collect(),
            others: prediction.others.iter().map(AttemptJson::new).collect(),
            models_speedup_range: models_range(prediction),
        }
    }
}

fn models_range(prediction: &Prediction) -> Option<[f64; 2]> {
    let speedups = || {
        let complete = prediction.all_attempts().filter(|a| a.run.is_complete());
        complete.map(|attempt| prediction.speedup(&attempt.run))
    };
    let lowest = speedups().min_by(f64::total_cmp)?;
    let highest = speedups().max_by(f64::total_cmp)?;
    Some([lowest, highest])
}

/// Returns when each thread ended; both tables are in the trace's order.
fn finish_times<'a>(trace: &'a Trace, run: &Run) -> BTreeMap<&'a str, u64> {
    trace
        .threads
        .iter()
        .zip(&run.finish)
        .filter_map(|(thread, finish)| Some((thread.name.as_str(), finish.as_ref()?.as_nanos())))
        .collect()
}

#[derive(Debug, Serialize)]
struct AttemptJson<'a> {
    model: &'static str,
    #[serde(flatten)]
    outcome: OutcomeJson<'a>,
    /// The shortest and the longest makespan, where the order of a pool's tasks is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    makespan_range_ns: Option<[u64; 2]>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum OutcomeJson<'a> {
    Completed {
        makespan_ns: u64,
        /// Waits that the trace says were over, though nothing in it ends them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        overruled: Vec<OverruledJson<'a>>,
    },
    Deadlock {
        at_ns: u64,
        blocked: Vec<BlockedJson<'a>>,
    },
}

impl<'a> AttemptJson<'a> {
    fn new(attempt: &'a Attempt) -> Self {
        let end = attempt.run.end.as_nanos();
        Self {
            model: attempt.model.name(),
            outcome: match &attempt.run.outcome {
                Outcome::Completed => OutcomeJson::Completed {
                    makespan_ns: end,
                    overruled: attempt
                        .run
                        .overruled
                        .iter()
                        .map(OverruledJson::new)
                        .collect(),
                },
                Outcome::Deadlock(blocked) => OutcomeJson::Deadlock {
                    at_ns: end,
                    blocked: blocked.iter().map(BlockedJson::new).collect(),
                },
            },
            makespan_range_ns: attempt
                .spread
                .map(|(least, most)| [least.as_nanos(), most.as_nanos()]),
        }
    }
}

#[derive(Debug, Serialize)]
struct OverruledJson<'a> {
    /// The event's number, from 1.
    event: u32,
    #[serde(flatten)]
    wait: BlockedJson<'a>,
}

impl<'a> OverruledJson<'a> {
    fn new(overruled: &'a Overruled) -> Self {
        Self {
            event: overruled.event + 1,
            wait: BlockedJson::new(&overruled.wait),
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
