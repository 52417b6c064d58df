//! Collectives: who has called which, whether they fit together, and how they go on.

use std::collections::{BTreeMap, VecDeque};

use foretrace_network::{Growth, Link, Style};
use foretrace_schedule::SimTime;

use crate::{
    BLOCKING, Collective, Operation, Program,
    channel::NIL,
    engine::{Engine, Request},
    observer::{Observer, Why},
    report::Failure,
    script::{Member, Packed, script},
};

/// The calls of collectives that not all members have come to.
#[derive(Debug)]
pub(crate) struct Gatherings {
    /// Of each communicator: the place of each member; none for the world's, where it is the rank.
    places: Vec<Option<BTreeMap<u32, u32>>>,
    /// How many collectives each member of each communicator has called.
    calls: Vec<Vec<u64>>,
    /// Of each communicator: the open calls, and the number of the first of them.
    open: Vec<(u64, VecDeque<Gathering>)>,
}

/// One call of a collective, by all members.
#[derive(Clone, Debug)]
pub(crate) struct Gathering {
    call: Collective,
    first: u32,
    came: u32,
    latest: u64,
    /// Where it is done by a formula: those that wait, each with its request and since when.
    waiting: Vec<(u32, u32, u64)>,
    /// The bytes of the root, or of the first that came where there is none.
    bytes: (u64, u64),
}

impl Gatherings {
    pub fn new(program: &Program) -> Self {
        let ranks = program.ranks();
        let places = program.communicators.iter().map(|communicator| {
            let is_world = communicator.members.len() == ranks as usize
                && communicator
                    .members
                    .iter()
                    .enumerate()
                    .all(|(place, rank)| place as u32 == *rank);
            (!is_world).then(|| {
                let members = communicator.members.iter().enumerate();
                members.map(|(place, rank)| (*rank, place as u32)).collect()
            })
        });
        let counts = program
            .communicators
            .iter()
            .map(|all| vec![0; all.members.len()]);
        Self {
            places: places.collect(),
            calls: counts.collect(),
            open: vec![(0, VecDeque::new()); program.communicators.len()],
        }
    }

    fn place(&self, communicator: u16, rank: u32) -> Option<u32> {
        match &self.places[communicator as usize] {
            None => Some(rank),
            Some(places) => places.get(&rank).copied(),
        }
    }
}

impl<O: Observer> Engine<'_, O> {
    /// Calls a collective. Returns whether the lane goes on.
    pub fn collective(&mut self, index: u32, op: Operation) -> bool {
        let number = op.value as u32;
        let call = self.program.collectives[number as usize];
        let rank = self.lanes[index as usize].rank;
        let Some(sequence) = self.join(index, op, call) else {
            return false;
        };
        if let Style::Analytic(growth) = self.network.collectives.style {
            return self.by_formula(index, op, sequence, growth);
        }
        let lane = &self.lanes[index as usize];
        let (communicator, last, script) = lane.last_script;
        let script = if (communicator, last) == (op.communicator, number) && script != NIL {
            script
        } else {
            self.script_of(op.communicator, number, rank)
        };
        self.lanes[index as usize].last_script = (op.communicator, number, script);
        if op.request != BLOCKING {
            // So that several under way do not take each other's messages.
            let tag = (sequence as u32).wrapping_add(1);
            self.lanes[index as usize].requests[op.request as usize] = Request::PENDING;
            self.background(index, op.request, script, op.communicator, tag);
            self.step(index);
            return true;
        }
        let lane = &mut self.lanes[index as usize];
        lane.script = script;
        lane.script_at = 0;
        lane.script_communicator = op.communicator;
        lane.script_tag = 0;
        let requests = self.scripts[script as usize].requests + lane.script_requests;
        if lane.requests.len() < requests as usize {
            lane.requests.resize(requests as usize, Request::FREE);
        }
        true
    }

    /// Notes that a member has come to its next collective, and checks that it is the one that the others call.
    fn join(&mut self, index: u32, op: Operation, call: Collective) -> Option<u64> {
        let lane = &self.lanes[index as usize];
        let (rank, clock) = (lane.rank, lane.clock);
        let all = &mut self.gatherings;
        let Some(place) = all.place(op.communicator, rank) else {
            self.failure = Some(Failure::NoMember {
                rank,
                call: call.kind.name(),
                communicator: self.program.communicators[op.communicator as usize]
                    .name
                    .clone(),
            });
            return None;
        };
        let count = &mut all.calls[op.communicator as usize][place as usize];
        let sequence = *count;
        *count += 1;
        let (first, open) = &mut all.open[op.communicator as usize];
        let place = (sequence - *first) as usize;
        let fresh = Gathering {
            call,
            first: rank,
            came: 0,
            latest: 0,
            waiting: Vec::new(),
            bytes: (call.sent, call.received),
        };
        while open.len() <= place {
            open.push_back(fresh.clone());
        }
        let gathering = &mut open[place];
        if (gathering.call.kind, gathering.call.root) != (call.kind, call.root) {
            let mut calls = [(gathering.first, gathering.call), (rank, call)];
            calls.sort_by_key(|(rank, _)| *rank);
            let [one, other] = calls;
            let communicator = &self.program.communicators[op.communicator as usize];
            self.failure = Some(Failure::Mismatch {
                communicator: communicator.name.clone(),
                number: sequence + 1,
                one,
                other,
            });
            return None;
        }
        gathering.came += 1;
        gathering.latest = gathering.latest.max(clock);
        if rank == call.root {
            gathering.bytes = (call.sent, call.received);
        }
        let is_formula = matches!(self.network.collectives.style, Style::Analytic(_));
        let members = self.program.communicators[op.communicator as usize]
            .members
            .len();
        if !is_formula && place == 0 && gathering.came as usize == members {
            open.pop_front();
            *first += 1;
        }
        Some(sequence)
    }

    fn script_of(&mut self, communicator: u16, number: u32, rank: u32) -> u32 {
        if let Some(script) = self.script_of.get(&(communicator, number, rank)) {
            return *script;
        }
        let mut call = self.program.collectives[number as usize];
        let members = &self.program.communicators[communicator as usize].members;
        let bytes = call.sent.max(call.received);
        if call.work == 0 {
            call.work = self.network.collectives.combining(call.kind, call.sent).0;
        }
        let member = Member {
            call,
            algorithm: self
                .network
                .collectives
                .algorithm(call.kind, bytes, members.len() as u32),
            members,
            me: self
                .gatherings
                .place(communicator, rank)
                .unwrap_or_default(),
        };
        self.scripts.push(Packed::new(&script(member)));
        let made = self.scripts.len() as u32 - 1;
        self.script_of.insert((communicator, number, rank), made);
        made
    }

    /// All leave together, a time after the last has come. Returns whether the lane goes on.
    fn by_formula(&mut self, index: u32, op: Operation, sequence: u64, growth: Growth) -> bool {
        let clock = self.lanes[index as usize].clock;
        if op.request == BLOCKING {
            self.block(index, Why::Others, NIL);
        } else {
            self.lanes[index as usize].requests[op.request as usize] = Request::PENDING;
            self.step(index);
        }
        let members = self.program.communicators[op.communicator as usize]
            .members
            .len();
        let (first, open) = &mut self.gatherings.open[op.communicator as usize];
        let place = (sequence - *first) as usize;
        open[place].waiting.push((index, op.request, clock));
        if open[place].came as usize == members {
            // Not the first, where members call collectives that do not block at different times.
            let done = open[place].clone();
            open[place].waiting.clear();
            while open
                .front()
                .is_some_and(|call| call.came as usize == members && call.waiting.is_empty())
            {
                open.pop_front();
                *first += 1;
            }
            let end = done.latest + self.formula(op.communicator, growth, done.bytes).0;
            let of_last = done.waiting.iter().rev().max_by_key(|waiting| waiting.2);
            let last = of_last.map_or(index, |waiting| waiting.0);
            let last = self.lanes[last as usize].rank;
            for (index, request, since) in done.waiting {
                let rank = self.lanes[index as usize].rank;
                if rank != last {
                    self.observer.release(last, done.latest, rank, end);
                }
                if request == BLOCKING {
                    self.waited(index, since, end, Why::Others);
                    self.resume(index, end);
                } else {
                    self.complete(index, request, Request::done(end));
                }
            }
        }
        self.is_running(index)
    }

    /// Returns the time of a collective by the model's own formula, or by that of messages one after the other.
    fn formula(&self, communicator: u16, growth: Growth, bytes: (u64, u64)) -> SimTime {
        let members = &self.program.communicators[communicator as usize].members;
        let mut on_node: BTreeMap<u32, u32> = BTreeMap::new();
        for rank in members {
            *on_node
                .entry(self.network.node_of_rank[*rank as usize])
                .or_default() += 1;
        }
        let (nodes, most) = (
            on_node.len() as u32,
            on_node.values().max().copied().unwrap_or(0),
        );
        if let Some(time) = self.model.collective(growth, nodes, most, bytes) {
            return time;
        }
        let steps = |ends: u32| match growth {
            Growth::Constant => 1,
            Growth::Linear => u64::from(ends.saturating_sub(1)),
            Growth::Logarithmic => u64::from(ends.max(1).next_power_of_two().ilog2()),
        };
        let message = |link: Link, bytes: u64| {
            let model = self.model;
            model.send_overhead(link, bytes)
                + model.transit(link, bytes)
                + model.receive_overhead(link, bytes)
        };
        let between = Link {
            from: 0,
            to: u32::MAX,
        };
        let within = Link { from: 0, to: 0 };
        let both = |link: Link| message(link, bytes.0).0 + message(link, bytes.1).0;
        let between = if nodes > 1 {
            both(between).saturating_mul(steps(nodes))
        } else {
            0
        };
        let within = if most > 1 {
            both(within).saturating_mul(steps(most))
        } else {
            0
        };
        SimTime(between.saturating_add(within))
    }
}
