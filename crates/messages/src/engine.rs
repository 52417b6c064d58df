//! The engine: lets every rank run ahead as far as nothing but messages that have been sent can stop it.
//!
//! What a rank does depends on others only through the messages it receives, and those of one sender, receiver,
//! communicator and tag meet their receives in order. So ranks need not be kept in step: each runs until it waits for a
//! message that has not been sent, in any order of ranks, with the same result. What does depend on the order of time is put
//! into a queue and decided, the earliest first, when nobody can run ahead any further: nothing can come before it then.
//! Those are receives from anybody, and messages on networks that they share.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use foretrace_network::{Flows, Link, Network, NetworkModel};
use rustc_hash::FxHashMap;

use crate::{
    ANY, BLOCKING, Kind, Operation, Program,
    attention::{self, Attention},
    causes::Cause,
    channel::{CONTEXT, Channels, NIL, Nodes},
    costs::Costs,
    gather::Gatherings,
    observer::{Observer, Why},
    report::Failure,
    script::{Packed, requests_of},
    transfer::Transfers,
    wild::Wild,
};

/// A rank, or what goes on in its background (a collective that does not block).
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub clock: u64,
    /// The next operation, and where the last one ends.
    pub position: usize,
    pub end: usize,
    pub rank: u32,
    pub state: LaneState,
    /// Of a lane that waits: a request that it waits for, and how many are missing.
    pub awaited: u32,
    pub missing: u32,
    /// The script of a collective that it is in, else [`NIL`]; how far it is; its communicator and tag.
    pub script: u32,
    pub script_at: u32,
    pub script_communicator: u16,
    /// The collective that it called last, and its script.
    pub last_script: (u16, u32, u32),
    pub script_tag: u32,
    /// Of a lane in the background: the lane and the request that it is for.
    pub owner: (u32, u32),
    pub requests: Vec<Request>,
    /// The number of its first request of scripts.
    pub script_requests: u32,
}

/// What a lane does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneState {
    Running,
    Blocked(Why),
    Ended,
}

/// A request: 16 bytes, as each rank has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    at: u64,
    overhead: u64,
}

/// What has become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestState {
    /// Not in use.
    Free,
    /// Not done.
    Pending,
    /// Done, at this time.
    Done(u64),
    /// A message that arrives at this time, and then takes the receiver so long.
    Arrived(u64, u64),
}

/// No time is that late.
const NO_TIME: u64 = u64::MAX;

impl Request {
    pub const FREE: Self = Self {
        at: NO_TIME,
        overhead: 0,
    };
    /// Pending, and its lane waits for it.
    pub const AWAITED: Self = Self {
        at: NO_TIME,
        overhead: 2,
    };
    pub const PENDING: Self = Self {
        at: NO_TIME,
        overhead: 1,
    };

    pub fn done(at: u64) -> Self {
        Self {
            at,
            overhead: NO_TIME,
        }
    }

    pub fn arrived(at: u64, overhead: u64) -> Self {
        Self { at, overhead }
    }

    /// Returns whether it was done at a time, and nothing is to be seen to.
    #[inline]
    fn is_done_by(self, clock: u64) -> bool {
        self.overhead == NO_TIME && self.at <= clock
    }

    #[inline]
    pub fn state(self) -> RequestState {
        match (self.at, self.overhead) {
            (NO_TIME, 0) => RequestState::Free,
            (NO_TIME, _) => RequestState::Pending,
            (at, NO_TIME) => RequestState::Done(at),
            (at, overhead) => RequestState::Arrived(at, overhead),
        }
    }
}

/// What is to be decided in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A message leaves the buses and links.
    End(u32),
    /// A rank's message, a node, wants to go.
    Start(u32, u32),
    /// A rank's receive from anybody may be decided.
    Decide(u32),
    /// A lane could answer the request of a message, a node.
    Answer(u32, u32),
    /// A lane could hand a message over that was asked for, a node.
    HandOver(u32, u32),
}

/// A replay under way.
pub(crate) struct Engine<'a, O> {
    pub program: &'a Program,
    pub model: &'a dyn NetworkModel,
    pub network: &'a Network,
    pub observer: O,
    pub lanes: Vec<Lane>,
    pub runnable: VecDeque<u32>,
    pub channels: Channels,
    pub nodes: Nodes,
    pub wild: Vec<Option<Box<Wild>>>,
    pub events: BinaryHeap<Reverse<(u64, Event)>>,
    pub transfers: Option<Transfers>,
    pub flows: Option<Flows>,
    pub in_flow: FxHashMap<foretrace_network::FlowId, u32>,
    pub gatherings: Gatherings,
    pub scripts: Vec<Packed>,
    pub script_of: FxHashMap<(u16, u32, u32), u32>,
    pub idle_lanes: Vec<u32>,
    pub failure: Option<Failure>,
    pub sent: u64,
    /// The lane that runs now.
    current: u32,
    strict: bool,
    /// Of each rank, by how much its work takes longer, where it does.
    slowness: Vec<f64>,
    /// Memory that waits use again: requests, and of those that are messages when they arrived and what they take.
    pub awaited: Vec<u32>,
    pub arrived: Vec<(u64, u64)>,
    /// When each rank sees to messages; nothing where that makes no difference.
    pub attention: Vec<Attention>,
    /// Of each lane in the background what it last waited for, where somebody watches.
    pub causes: Vec<Cause>,
    pub costs: Costs<'a>,
}

/// Up to so many requests of a rank, each is given as many as any uses.
const FEW_REQUESTS: u32 = 64;

/// After so many operations a lane lets others go on, so that few messages wait for their receivers.
const TURN: usize = 4096;

impl<'a, O: Observer> Engine<'a, O> {
    /// Begins a replay; a strict one takes what was recorded for receives from anybody.
    pub fn new(program: &'a Program, network: &'a Network, strict: bool, observer: O) -> Self {
        let ranks = program.ranks();
        // Where no rank uses many requests, it need not be found out how many each does.
        let most = requests_of(program.distinct.iter().copied());
        let is_small = most <= FEW_REQUESTS;
        let lanes = (0..ranks).map(|rank| {
            let range = program.range(rank);
            let requests = if is_small {
                most
            } else {
                requests_of(program.of_rank(rank))
            };
            Lane {
                requests: vec![Request::FREE; requests as usize],
                script_requests: requests,
                ..Lane::new(rank, range.start, range.end)
            }
        });
        let speeds = network.speed_of_rank.iter();
        let slowness: Vec<f64> = speeds.map(|speed| 1.0 / speed).collect();
        let all_alike = slowness
            .iter()
            .all(|slowness| (slowness - 1.0).abs() < f64::EPSILON);
        let mut engine = Self {
            program,
            model: &*network.model,
            network,
            observer,
            lanes: lanes.collect(),
            runnable: (0..ranks).collect(),
            channels: Channels::new(),
            nodes: Nodes::default(),
            wild: Vec::new(),
            events: BinaryHeap::new(),
            transfers: network.model.limits().map(Transfers::new),
            flows: network.topology.as_ref().map(Flows::new),
            in_flow: FxHashMap::default(),
            gatherings: Gatherings::new(program),
            scripts: Vec::new(),
            script_of: FxHashMap::default(),
            idle_lanes: Vec::new(),
            failure: None,
            sent: 0,
            current: NIL,
            strict,
            slowness: if all_alike { Vec::new() } else { slowness },
            awaited: Vec::new(),
            arrived: Vec::new(),
            attention: attention::of(program, &*network.model),
            causes: Vec::new(),
            costs: Costs::new(&*network.model),
        };
        let may_be_wild = |op: &Operation| op.is_wild() || op.kind == Kind::Probe;
        engine.wild = if program.distinct.iter().any(may_be_wild) {
            (0..ranks).map(|rank| engine.wildness(rank)).collect()
        } else {
            (0..ranks).map(|_| None).collect()
        };
        engine
    }

    /// Returns what a rank needs that receives from anybody, or asks what has come.
    fn wildness(&self, rank: u32) -> Option<Box<Wild>> {
        let operations = || self.program.of_rank(rank).map(|op| self.settled(op));
        if !operations().any(|op| op.is_wild() || op.kind == Kind::Probe) {
            return None;
        }
        let mut wild = Wild::new(self.program.ranks());
        for op in operations() {
            if matches!(op.kind, Kind::Receive | Kind::Probe) {
                wild.prepare(&op);
            }
        }
        Some(Box::new(wild))
    }

    /// Returns an operation as it is replayed: in a strict replay, a receive from anybody is one from whom it was.
    fn settled(&self, op: Operation) -> Operation {
        if self.strict && op.peer == ANY && op.kind == Kind::Receive && op.value != u64::from(ANY) {
            return Operation {
                peer: op.value as u32,
                ..op
            };
        }
        op
    }

    /// Runs until nothing can happen any more.
    pub fn run(&mut self) {
        loop {
            while let Some(lane) = self.runnable.pop_back() {
                self.current = lane;
                self.run_lane(lane);
                self.current = NIL;
                if self.failure.is_some() || self.observer.is_cancelled() {
                    return;
                }
            }
            let flow = self.flows.as_ref().and_then(Flows::next_end);
            let event = self.events.peek().map(|Reverse((at, _))| *at);
            match (flow, event) {
                (None, None) => return,
                (Some(end), event) if event.is_none_or(|at| end.0 <= at) => self.end_flow(),
                _ => self.next_event(),
            }
        }
    }

    fn next_event(&mut self) {
        let Some(Reverse((at, event))) = self.events.pop() else {
            return;
        };
        match event {
            Event::End(node) => self.end_transfer(at, node),
            Event::Start(_, node) => self.start_transfer(at, node),
            Event::Decide(rank) => self.decide(at, rank),
            Event::Answer(lane, node) => self.notice(at, lane, node),
            Event::HandOver(lane, node) => self.hand_over(at, lane, node),
        }
    }

    /// Runs a lane until it waits, ends, or has had its turn.
    fn run_lane(&mut self, index: u32) {
        for _ in 0..TURN {
            let Some(op) = self.fetch(index) else {
                self.end_lane(index);
                return;
            };
            self.begun(index, op);
            self.heed(index, &op);
            let goes_on = match op.kind {
                Kind::Work => self.work(index, op.value),
                Kind::Pause => self.pause(index, op.value),
                Kind::Alone => self.alone(index, op),
                Kind::Send => self.send(index, op),
                Kind::Receive => self.receive(index, op),
                Kind::Wait => self.wait(index, op),
                Kind::Probe => self.probe(index, op),
                Kind::Collective => self.collective(index, op),
            };
            if !goes_on {
                return;
            }
        }
        self.runnable.push_front(index);
    }

    /// Returns the operation that a lane is at.
    #[inline]
    fn fetch(&mut self, index: u32) -> Option<Operation> {
        let lane = &mut self.lanes[index as usize];
        if lane.script != NIL {
            let script = &self.scripts[lane.script as usize];
            if let Some(mut op) = script.get(lane.script_at) {
                op.communicator = lane.script_communicator | CONTEXT;
                op.tag = lane.script_tag;
                if op.request != BLOCKING {
                    op.request += lane.script_requests;
                }
                return Some(op);
            }
            lane.script = NIL;
            lane.position += 1;
        }
        if lane.position >= lane.end {
            return None;
        }
        let op = self.program.at(lane.position);
        Some(if self.strict { self.settled(op) } else { op })
    }

    /// Moves a lane on to its next operation.
    #[expect(clippy::inline_always, reason = "it is done after every operation")]
    #[inline(always)]
    pub fn step(&mut self, index: u32) {
        let lane = &mut self.lanes[index as usize];
        if lane.script == NIL {
            lane.position += 1;
            return;
        }
        let script = &self.scripts[lane.script as usize];
        lane.script_at = script.next(lane.script_at);
        if Packed::ends_exchange(lane.script_at) {
            // Mostly its own message has gone before the other's has come.
            let sent = &mut lane.requests[lane.script_requests as usize];
            if sent.is_done_by(lane.clock) {
                *sent = Request::FREE;
                lane.script_at = script.next(lane.script_at);
            }
        }
    }

    fn work(&mut self, index: u32, picos: u64) -> bool {
        let lane = &mut self.lanes[index as usize];
        let picos = match self.slowness.get(lane.rank as usize) {
            None => picos,
            #[expect(clippy::cast_sign_loss, reason = "speeds are above zero")]
            Some(slowness) => (picos as f64 * slowness).round() as u64,
        };
        let start = lane.clock;
        lane.clock = start.saturating_add(picos);
        let end = lane.clock;
        self.busy(index, start, end);
        self.step(index);
        true
    }

    #[cold]
    fn pause(&mut self, index: u32, picos: u64) -> bool {
        let lane = &mut self.lanes[index as usize];
        let start = lane.clock;
        lane.clock = start.saturating_add(picos);
        let end = lane.clock;
        self.waited(index, start, end, Why::Time);
        self.step(index);
        true
    }

    /// Ends a lane; one in the background completes its owner's request.
    fn end_lane(&mut self, index: u32) {
        let lane = &mut self.lanes[index as usize];
        lane.state = LaneState::Ended;
        let (owner, request) = lane.owner;
        let at = lane.clock;
        if owner != NIL {
            self.idle_lanes.push(index);
            self.tell_cause(index);
            self.complete(owner, request, Request::done(at));
        }
    }

    /// Makes a lane that runs a script in the background.
    pub fn background(
        &mut self,
        owner: u32,
        request: u32,
        script: u32,
        communicator: u16,
        tag: u32,
    ) {
        let Lane { clock, rank, .. } = self.lanes[owner as usize];
        let requests = self.scripts[script as usize].requests;
        let lane = Lane {
            clock,
            script,
            script_communicator: communicator,
            script_tag: tag,
            owner: (owner, request),
            requests: vec![Request::FREE; requests as usize],
            ..Lane::new(rank, 0, 0)
        };
        let index = if let Some(index) = self.idle_lanes.pop() {
            self.lanes[index as usize] = lane;
            index
        } else {
            self.lanes.push(lane);
            self.lanes.len() as u32 - 1
        };
        self.begin_cause(index);
        self.runnable.push_back(index);
    }

    /// Sets a request, and lets its lane go on where it waits for it.
    pub fn complete(&mut self, index: u32, request: u32, done: Request) {
        let lane = &mut self.lanes[index as usize];
        let was = std::mem::replace(&mut lane.requests[request as usize], done);
        if was == Request::AWAITED {
            lane.missing -= 1;
            if lane.missing == 0 {
                lane.awaited = NIL;
                lane.state = LaneState::Running;
                self.runnable.push_back(index);
            }
        }
    }

    /// Lets a lane go on at a time, from an operation that is over then.
    pub fn resume(&mut self, index: u32, at: u64) {
        let lane = &mut self.lanes[index as usize];
        lane.clock = at;
        lane.state = LaneState::Running;
        self.end_hand_over(index);
        self.step(index);
        if index != self.current {
            self.runnable.push_back(index);
        }
    }

    /// Returns whether a lane can do its next operation.
    #[inline]
    pub fn is_running(&self, index: u32) -> bool {
        self.lanes[index as usize].state == LaneState::Running
    }

    /// Lets a lane wait for a request (or, without one, for what will call [`Self::resume`]).
    pub fn block(&mut self, index: u32, why: Why, request: u32) -> bool {
        let lane = &mut self.lanes[index as usize];
        lane.state = LaneState::Blocked(why);
        lane.awaited = request;
        false
    }

    #[inline]
    pub fn link(&self, from: u32, to: u32) -> Link {
        let node = |rank: u32| self.network.node_of_rank[rank as usize];
        Link {
            from: node(from),
            to: node(to),
        }
    }

    /// Tells the observer of an operation that a lane comes to; what is within collectives or in the background is not shown.
    #[inline]
    fn begun(&mut self, index: u32, op: Operation) {
        if !O::WATCHES {
            return;
        }
        let lane = &self.lanes[index as usize];
        if lane.script == NIL && lane.owner.0 == NIL {
            let is_call = !matches!(op.kind, Kind::Work | Kind::Pause);
            self.observer
                .operation(lane.rank, lane.clock, lane.position, is_call);
        }
    }

    /// Tells the observer of a lane's work; what goes on in the background is not shown.
    #[inline]
    pub fn busy(&mut self, index: u32, start: u64, end: u64) {
        if !O::WATCHES {
            return;
        }
        let lane = &self.lanes[index as usize];
        if lane.owner.0 == NIL {
            self.observer.busy(lane.rank, start, end, lane.position);
        }
    }

    /// Tells the observer of a lane's waiting; within a collective it is for the others.
    #[inline]
    pub fn waited(&mut self, index: u32, start: u64, end: u64, why: Why) {
        if !O::WATCHES {
            return;
        }
        let lane = &self.lanes[index as usize];
        if lane.owner.0 == NIL {
            let why = if lane.script == NIL { why } else { Why::Others };
            self.observer
                .wait(lane.rank, start, end, why, lane.position);
        }
    }
}

impl Lane {
    fn new(rank: u32, position: usize, end: usize) -> Self {
        Self {
            clock: 0,
            position,
            end,
            rank,
            state: LaneState::Running,
            awaited: NIL,
            missing: 0,
            script: NIL,
            script_at: 0,
            script_communicator: 0,
            last_script: (0, 0, NIL),
            script_tag: 0,
            owner: (NIL, NIL),
            requests: Vec::new(),
            script_requests: 0,
        }
    }
}
