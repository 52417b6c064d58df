//! What limits a predicted run, and what would help, as JSON.

use std::collections::BTreeSet;

use foretrace_analysis::{Change, OnPath, PathShare, PredictedWait, Spot, Stretch};
use foretrace_network::Ease;
use foretrace_schedule::SimTime;
use serde::Serialize;

use super::{Explanation, Subject, Tried, messages_report};
use crate::{
    messages,
    report::{json::TraceJson, machine, sites::FrameJson},
};

impl Explanation<'_> {
    /// Returns the document of `explain --json`.
    pub fn json(&self) -> impl Serialize + use<'_> {
        let model = self.model();
        let end = model.map(|_| self.schedule.end);
        let (trace, cpus, ranks, most, machine, network) = match &self.subject {
            Subject::Threads { prediction, most } => {
                let most = most.as_ref().and_then(|most| {
                    let run = &most.answered()?.run;
                    Some(MostJson {
                        cpus: most.cpus(),
                        makespan_ns: run.end.as_nanos(),
                        speedup: most.speedup(run),
                    })
                });
                (
                    SubjectJson::Threads(TraceJson::new(self.trace)),
                    Some(prediction.cpus()),
                    None,
                    Some(most),
                    Some(machine::brief_text(&prediction.result.machine)),
                    None,
                )
            }
            Subject::Ranks { replay, .. } => (
                SubjectJson::Ranks(messages_report::trace_json(&replay.messages)),
                None,
                Some(messages::ranks(&replay.messages)),
                None,
                None,
                Some(messages_report::network_json(replay)),
            ),
        };
        ExplainJson {
            trace,
            cpus,
            ranks,
            model,
            makespan_ns: end.map(SimTime::as_nanos),
            speedup: end.map(|end| self.speedup(end)),
            cpus_in_use: self.busy(),
            one_cpu_a_thread: most,
            critical_path: self
                .path
                .iter()
                .map(|share| self.path_json(share))
                .collect(),
            waits: self.waits.iter().map(|wait| self.wait_json(wait)).collect(),
            changes: self
                .tried
                .iter()
                .map(|tried| self.change_json(tried))
                .collect(),
            machine,
            network,
            notes: self.sources.notes(),
        }
    }

    fn path_json(&self, share: &PathShare) -> PathJson<'_> {
        let (kind, from, to) = match share.what {
            OnPath::Code(Stretch { from, to }) => ("code", Some(from), Some(to)),
            OnPath::Call(spot) => ("call", Some(spot), Some(spot)),
            OnPath::NoCpu => ("ready", None, None),
            OnPath::Wait(activity, spot) => (activity.name(), None, spot),
            OnPath::Message(from, to) => ("message", from, to),
        };
        let (threads, ranks) = if self.is_of_ranks() {
            (None, Some(self.ranks(&share.lanes)))
        } else {
            let lanes = share.lanes.iter().map(|&lane| self.lane(lane));
            (Some(lanes.collect()), None)
        };
        PathJson {
            kind,
            from: from.map(|spot| self.spot_json(spot)),
            to: to.map(|spot| self.spot_json(spot)),
            time_ns: share.time.as_nanos(),
            times: share.times,
            threads,
            ranks,
        }
    }

    /// Returns the ranks of lanes, of which each rank has as many as CPUs.
    fn ranks(&self, lanes: &BTreeSet<usize>) -> BTreeSet<u32> {
        let lanes = lanes.iter().map(|&lane| &self.schedule.lanes[lane]);
        lanes.map(|lane| lane.process).collect()
    }

    fn wait_json(&self, wait: &PredictedWait) -> WaitJson<'_> {
        let objects = wait.objects.iter();
        WaitJson {
            kind: wait.kind.name(),
            at: wait.spot.map(|spot| self.spot_json(spot)),
            objects: objects.map(|&object| self.object(object)).collect(),
            times: wait.times,
            total_ns: wait.total.as_nanos(),
            longest_ns: wait.longest.length().as_nanos(),
            ended_by: wait.ended_by.map(|spot| self.spot_json(spot)),
            ranks: self.is_of_ranks().then(|| self.ranks(&wait.lanes)),
        }
    }

    fn change_json(&self, tried: &Tried) -> ChangeJson<'_> {
        let (kind, stretch, locks) = match &tried.change {
            Change::TwiceAsFast(stretch) => ("twice-as-fast", Some(*stretch), &[][..]),
            Change::FinerLocks(locks) => ("finer-locks", None, locks.as_slice()),
            Change::FewerHandovers => ("fewer-handovers", None, &[][..]),
            Change::KeptMemory => ("kept-memory", None, &[][..]),
            Change::NoIo => ("no-io", None, &[][..]),
            Change::EvenWork => ("even-work", None, &[][..]),
            Change::Network(ease) => {
                let kind = match ease {
                    Ease::NoLatency => "no-latency",
                    Ease::AnyBandwidth => "any-bandwidth",
                    Ease::NoWaiting => "no-waiting-for-receivers",
                    Ease::Free => "free-messages",
                };
                (kind, None, &[][..])
            }
        };
        ChangeJson {
            kind,
            from: stretch.map(|stretch| self.spot_json(stretch.from)),
            to: stretch.map(|stretch| self.spot_json(stretch.to)),
            objects: locks.iter().map(|lock| self.object(lock.0)).collect(),
            makespan_ns: tried.end.as_nanos(),
            speedup: self.speedup(tried.end),
            gain: self.gain(tried),
        }
    }

    fn spot_json(&self, spot: Spot) -> SpotJson<'_> {
        let (operation, object, site) = match spot {
            Spot::Begin => ("begin", None, None),
            Spot::Call(name, object) => (name, object, None),
            Spot::Site(site) => ("call", None, Some(site)),
        };
        let call = site.and_then(|site| self.calls.get(&site).copied());
        let place = site.and_then(|site| self.place(site).frame());
        SpotJson {
            operation: call.map_or(operation, |call| match self.trace.message(call) {
                Some(message) => &message.name,
                None => call.operation.name(),
            }),
            construct: call.and_then(|call| self.constructs.construct(self.trace, call)),
            object: object.map(|object| self.object(object.0)),
            place: FrameJson::new(place),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum SubjectJson<'a> {
    Threads(TraceJson<'a>),
    Ranks(serde_json::Value),
}

#[derive(Debug, Serialize)]
struct ExplainJson<'a> {
    trace: SubjectJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<u32>,
    /// `null`, as are the next two, where it ends in a deadlock.
    model: Option<&'static str>,
    makespan_ns: Option<u64>,
    speedup: Option<f64>,
    /// Which part of the CPUs' time is used.
    cpus_in_use: f64,
    /// What is predicted with a CPU for each thread; `null` where those are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[expect(clippy::option_option, reason = "of ranks there is no such key")]
    one_cpu_a_thread: Option<Option<MostJson>>,
    critical_path: Vec<PathJson<'a>>,
    waits: Vec<WaitJson<'a>>,
    changes: Vec<ChangeJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<serde_json::Value>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct MostJson {
    cpus: u32,
    makespan_ns: u64,
    speedup: f64,
}

#[derive(Debug, Serialize)]
struct PathJson<'a> {
    /// `code`, `call` (what a call takes by itself), `ready` (no CPU yet), `message` (on its way), or what is waited for.
    kind: &'static str,
    from: Option<SpotJson<'a>>,
    to: Option<SpotJson<'a>>,
    time_ns: u64,
    times: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<BTreeSet<u32>>,
}

#[derive(Debug, Serialize)]
struct WaitJson<'a> {
    kind: &'static str,
    at: Option<SpotJson<'a>>,
    objects: Vec<String>,
    times: u64,
    total_ns: u64,
    longest_ns: u64,
    ended_by: Option<SpotJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<BTreeSet<u32>>,
}

#[derive(Debug, Serialize)]
struct ChangeJson<'a> {
    kind: &'static str,
    from: Option<SpotJson<'a>>,
    to: Option<SpotJson<'a>>,
    /// The locks that nobody waits for.
    objects: Vec<String>,
    makespan_ns: u64,
    /// The present program's time on one CPU over that of the changed one on so many.
    speedup: f64,
    /// Which part of the makespan it takes off.
    gain: f64,
}

#[derive(Debug, Serialize)]
struct SpotJson<'a> {
    operation: &'a str,
    /// The OpenMP construct that this stands for; `null` if it is what it says.
    construct: Option<&'static str>,
    object: Option<String>,
    #[serde(flatten)]
    place: FrameJson<'a>,
}
