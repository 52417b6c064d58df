//! The whole course of a replay, as a schedule.

use foretrace_network::Network;
use foretrace_schedule::{
    BlockedThread, Lane, NetworkLabel, Outcome as End, Schedule, Segment, SimTime, State, WaitKind,
    Wake,
};

use crate::{
    Model, Outcome, Program, Run, TaskGraph, graph,
    observer::{Observer, Why},
    replay::observed,
};

/// Replays a program and keeps the whole course of it: a lane for each rank, and who sent to whom.
pub fn schedule(program: &Program, network: &Network, model: Model) -> Schedule {
    let lanes = Lanes::new(program.ranks());
    let (run, lanes) = observed(program, network, model, lanes);
    lanes.of_program(program, network, model, &run)
}

/// Replays a task graph and keeps the whole course of it: a lane for each CPU of each rank.
pub fn schedule_graph(graph: &TaskGraph, network: &Network) -> Schedule {
    let lanes = Lanes::new(graph.ranks() * graph.cpus);
    let (run, lanes) = graph::run(graph, network, lanes);
    lanes.of_graph(graph, network, &run)
}

/// What all lanes have done so far.
pub(crate) struct Lanes {
    segments: Vec<Vec<Segment>>,
    wakes: Vec<Wake>,
}

impl Lanes {
    pub fn new(count: u32) -> Self {
        Self {
            segments: vec![Vec::new(); count as usize],
            wakes: Vec::new(),
        }
    }

    fn push(&mut self, lane: u32, start: u64, end: u64, state: State, event: usize) {
        let event = u32::try_from(event).ok();
        let segments = &mut self.segments[lane as usize];
        let until = segments.last().map_or(0, |last| last.end.0);
        // What nobody told of was waiting.
        if start > until {
            let state = State::Blocked(WaitKind::Wait);
            add(segments, until, start, state, event);
        }
        add(segments, start.max(until), end, state, event);
    }

    /// Returns the schedule of a program's replay.
    pub fn of_program(
        self,
        program: &Program,
        network: &Network,
        model: Model,
        run: &Run,
    ) -> Schedule {
        let names = (0..program.ranks()).map(|rank| format!("rank {rank}"));
        self.finish((&program.source, network, model), run, names.collect())
    }

    /// Returns the schedule of a task graph's replay.
    pub fn of_graph(mut self, graph: &TaskGraph, network: &Network, run: &Run) -> Schedule {
        let cpus = graph.cpus;
        on_first_cpus(&mut self.wakes, cpus);
        let name = |lane: u32| match cpus {
            1 => format!("rank {lane}"),
            _ => format!("rank {} CPU {}", lane / cpus, lane % cpus),
        };
        let names = (0..graph.ranks() * cpus).map(name).collect();
        self.finish((&graph.source, network, Model::Direct), run, names)
    }

    fn finish(
        mut self,
        (source, network, model): (&str, &Network, Model),
        run: &Run,
        names: Vec<String>,
    ) -> Schedule {
        in_order(&mut self.wakes);
        let per_rank = (self.segments.len() / run.finish.len().max(1)).max(1);
        let stuck = match &run.outcome {
            Outcome::Deadlock(stuck) => stuck.as_slice(),
            _ => &[],
        };
        let mut lanes = Vec::new();
        for (number, (mut segments, name)) in self.segments.into_iter().zip(names).enumerate() {
            let end = run.finish[number / per_rank];
            let until = end.unwrap_or(run.end);
            let last = segments.last().map_or(0, |last| last.end.0);
            add(
                &mut segments,
                last,
                until.0,
                State::Blocked(WaitKind::Wait),
                None,
            );
            lanes.push(Lane {
                name,
                process: (number / per_rank) as u32,
                segments,
                end,
            });
        }
        let blocked = |stuck: &crate::Stuck| BlockedThread {
            thread: format!("rank {}", stuck.rank),
            operation: stuck.call.clone(),
            object: stuck.tag.map(|tag| format!("tag {tag}")),
            waits_for: stuck.peer.map(|peer| format!("rank {peer}")),
            since: stuck.since,
        };
        Schedule {
            source: source.to_owned(),
            model: model.name().to_owned(),
            cpus: lanes.len() as u32,
            network: Some(NetworkLabel {
                name: network.name.clone(),
                path: network.path.clone(),
            }),
            end: run.end,
            outcome: if stuck.is_empty() {
                End::Completed
            } else {
                End::Deadlock(stuck.iter().map(blocked).collect())
            },
            processes: (0..run.finish.len())
                .map(|rank| format!("rank {rank}"))
                .collect(),
            lanes,
            objects: Vec::new(),
            wakes: self.wakes,
        }
    }
}

/// Lets wakes of ranks be of the first of the lanes that each rank has.
pub(crate) fn on_first_cpus(wakes: &mut [Wake], cpus: u32) {
    for wake in wakes {
        (wake.from, wake.to) = (wake.from * cpus, wake.to * cpus);
    }
}

/// Sorts wakes as schedules have them.
pub(crate) fn in_order(wakes: &mut [Wake]) {
    wakes.sort_by_key(|wake| (wake.at, wake.from, wake.to));
}

/// Adds a segment, or makes the last one longer.
fn add(segments: &mut Vec<Segment>, start: u64, end: u64, state: State, event: Option<u32>) {
    if end <= start {
        return;
    }
    match segments.last_mut() {
        Some(last) if last.state == state && last.end.0 == start => {
            last.end = SimTime(end);
            // Running leads to what comes last; a wait is for what it began with.
            if matches!(state, State::Running(_)) {
                last.event = event;
            }
        }
        _ => segments.push(Segment {
            start: SimTime(start),
            end: SimTime(end),
            state,
            object: None,
            event,
        }),
    }
}

impl Observer for Lanes {
    fn busy(&mut self, rank: u32, start: u64, end: u64, operation: usize) {
        self.push(rank, start, end, State::Running(rank), operation);
    }

    fn wait(&mut self, rank: u32, start: u64, end: u64, why: Why, operation: usize) {
        let kind = match why {
            Why::Message => WaitKind::Wait,
            Why::Receiver => WaitKind::Send,
            Why::Others => WaitKind::Barrier,
            Why::Time => WaitKind::Timeout,
        };
        self.push(rank, start, end, State::Blocked(kind), operation);
    }

    fn message(&mut self, from: u32, sent: u64, to: u32, received: u64, _: u64, _: bool) {
        self.wakes
            .push(Wake::message(from, SimTime(sent), to, SimTime(received)));
    }
}
