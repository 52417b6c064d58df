//! Receives from anybody, or of any tag, and probes: whoever comes first in simulated time is taken.
//!
//! A rank that has such receives keeps, for each pattern that it asks for, the messages that fit it in the order in which
//! they can be seen. A receive with an open source is decided when nobody can run ahead any further, the earliest of all
//! first: then no message can come any more that would have been seen before. Receives of one rank that fit the same
//! message take it in the order of their calls.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, BinaryHeap},
};

use crate::{
    ANY, Kind, Operation,
    channel::{Key, Message, Node, NodeState, Receive, UNKNOWN},
    engine::{Engine, Event},
    observer::{Observer, Why},
};

/// What a rank keeps that has receives from anybody.
#[derive(Debug)]
pub(crate) struct Wild {
    patterns: Vec<Pattern>,
    /// Where to find patterns, once there are many.
    index: BTreeMap<(u16, u32, u32), u32>,
    /// Receives that have no message, in the order of their calls.
    posted: Vec<Posted>,
    /// Until when the messages of each sender have been seen: later ones do not overtake them.
    seen: BTreeMap<u32, u64>,
    seen_dense: Vec<u64>,
    /// The time for which a decision is in the engine's queue.
    scheduled: u64,
}

/// What receives ask for.
#[derive(Debug)]
struct Pattern {
    communicator: u16,
    from: u32,
    tag: u32,
    /// Messages that fit, the first at the top. Those that have been received by way of another pattern are dropped when
    /// they come up.
    fitting: BinaryHeap<Reverse<Fitting>>,
}

/// A message that fits a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fitting {
    /// When it can be seen.
    time: u64,
    /// Its sender in the highest 24 bits, and below them the node's number: the order of messages that are seen at one time.
    order: u64,
    node: u32,
}

/// A receive that has no message.
#[derive(Clone, Copy, Debug)]
struct Posted {
    pattern: u32,
    /// It only waits until it could receive a message.
    is_probe: bool,
    receive: Receive,
}

/// From so many patterns on they are looked up rather than gone through.
const MANY: usize = 6;

/// Up to so many ranks, a table has a place for each sender.
const FEW_RANKS: u32 = 4096;

/// Bits for the number of a node: there are fewer in any replay.
const NUMBER_BITS: u32 = 40;

impl Fitting {
    fn new(time: u64, from: u32, number: u64, node: u32) -> Self {
        let order = u64::from(from) << NUMBER_BITS | number;
        Self { time, order, node }
    }

    fn number(self) -> u64 {
        self.order & ((1 << NUMBER_BITS) - 1)
    }

    /// One number is compared without a branch, which would go either way.
    fn key(self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }
}

impl Ord for Fitting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Fitting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Pattern {
    fn is_open(&self) -> bool {
        self.from == ANY || self.tag == ANY
    }

    /// Returns whether it asks for a message.
    fn fits(&self, message: &Node) -> bool {
        let alike = |asked: u32, is: u32| asked == ANY || asked == is;
        self.communicator == message.communicator
            && alike(self.from, message.from)
            && alike(self.tag, message.tag)
    }
}

impl Wild {
    pub fn new(ranks: u32) -> Self {
        let dense = if ranks <= FEW_RANKS { ranks } else { 0 };
        Self {
            patterns: Vec::new(),
            index: BTreeMap::new(),
            posted: Vec::new(),
            seen: BTreeMap::new(),
            seen_dense: vec![0; dense as usize],
            scheduled: UNKNOWN,
        }
    }

    /// Returns the source and the tag of each receive that has no message.
    pub fn waiting(&self) -> impl Iterator<Item = (u32, u32)> {
        let asked = |posted: &Posted| {
            let pattern = &self.patterns[posted.pattern as usize];
            (pattern.from, pattern.tag)
        };
        self.posted.iter().map(asked)
    }

    /// Returns when a message that arrives at a time is seen, behind earlier ones of its sender.
    fn seen_at(&mut self, from: u32, arrival: u64) -> u64 {
        let last = match self.seen_dense.get_mut(from as usize) {
            Some(last) => last,
            None => self.seen.entry(from).or_default(),
        };
        *last = arrival.max(*last);
        *last
    }

    fn find(&self, communicator: u16, from: u32, tag: u32) -> Option<u32> {
        if self.patterns.len() >= MANY {
            return self.index.get(&(communicator, from, tag)).copied();
        }
        let fits = |p: &Pattern| p.communicator == communicator && p.from == from && p.tag == tag;
        self.patterns.iter().position(fits).map(|at| at as u32)
    }

    /// Makes the pattern of a receive, where there is none yet: before any message comes.
    pub fn prepare(&mut self, op: &Operation) {
        if self.find(op.communicator, op.peer, op.tag).is_some() {
            return;
        }
        self.patterns.push(Pattern {
            communicator: op.communicator,
            from: op.peer,
            tag: op.tag,
            fitting: BinaryHeap::new(),
        });
        let at = self.patterns.len() as u32 - 1;
        self.index.insert((op.communicator, op.peer, op.tag), at);
    }

    /// Adds a message to the patterns that it fits.
    #[inline]
    fn add(&mut self, message: &Node, entry: Fitting) {
        if self.patterns.len() < MANY {
            for pattern in &mut self.patterns {
                if pattern.fits(message) {
                    pattern.fitting.push(Reverse(entry));
                }
            }
            return;
        }
        let Node { from, tag, .. } = *message;
        for (from, tag) in [(from, tag), (ANY, tag), (from, ANY), (ANY, ANY)] {
            if let Some(pattern) = self.find(message.communicator, from, tag) {
                self.patterns[pattern as usize].fitting.push(Reverse(entry));
            }
        }
    }

    /// Returns the first message that fits a pattern: when it is seen, and its node.
    #[inline]
    fn first(&mut self, pattern: u32, nodes: &crate::channel::Nodes) -> Option<(u64, u32)> {
        let fitting = &mut self.patterns[pattern as usize].fitting;
        while let Some(&Reverse(first)) = fitting.peek() {
            let found = nodes.get(first.node);
            let is_there = matches!(found.state, NodeState::Eager | NodeState::Handshake);
            if is_there && found.number == first.number() {
                return Some((first.time, first.node));
            }
            fitting.pop();
        }
        None
    }
}

impl<O: Observer> Engine<'_, O> {
    /// Brings a message to a rank that has receives from anybody.
    pub fn deliver_wild(&mut self, key: Key, message: Message) -> u32 {
        let node = self.nodes.add(Node {
            tag: key.tag,
            communicator: key.communicator,
            ..message.into()
        });
        if message.time != UNKNOWN {
            self.see_wild(node);
        }
        node
    }

    /// A message can be seen by its receiver from its time on.
    pub fn see_wild(&mut self, index: u32) {
        let node = self.nodes.get_mut(index);
        let to = node.to;
        let Some(wild) = &mut self.wild[to as usize] else {
            return;
        };
        node.time = wild.seen_at(node.from, node.time);
        wild.add(node, Fitting::new(node.time, node.from, node.number, index));
        // What is decided before this message can be seen is not changed by it.
        if node.time < wild.scheduled {
            self.settle_wild(to);
        }
    }

    /// Adds a receive or a probe.
    pub fn post_wild(&mut self, rank: u32, operation: Operation, receive: Receive) {
        let Some(wild) = &mut self.wild[rank as usize] else {
            return;
        };
        let pattern = wild.find(operation.communicator, operation.peer, operation.tag);
        let pattern = pattern.expect("the patterns of all receives were made before");
        wild.posted.push(Posted {
            pattern,
            is_probe: operation.kind == Kind::Probe,
            receive,
        });
        self.settle_wild(rank);
    }

    /// Lets receives of a known source have their messages, as long as none from anybody was called before, and puts the
    /// next decision into the queue.
    fn settle_wild(&mut self, rank: u32) {
        let wild = self.wild[rank as usize].as_ref();
        if wild.is_none_or(|wild| wild.posted.is_empty()) {
            return;
        }
        while let Some((place, node)) = self.certain(rank) {
            self.give(rank, place, node);
        }
        let Some((at, ..)) = self.best(rank) else {
            return;
        };
        if let Some(wild) = &mut self.wild[rank as usize]
            && at < wild.scheduled
        {
            wild.scheduled = at;
            self.events.push(Reverse((at, Event::Decide(rank))));
        }
    }

    /// Returns a receive that can have its message whatever else comes: its place, and the message.
    fn certain(&mut self, rank: u32) -> Option<(usize, u32)> {
        let wild = self.wild[rank as usize].as_mut()?;
        for place in 0..wild.posted.len() {
            let pattern = wild.posted[place].pattern;
            if wild.patterns[pattern as usize].is_open() {
                return None;
            }
            if let Some((_, node)) = wild.first(pattern, &self.nodes) {
                return Some((place, node));
            }
        }
        None
    }

    /// Returns the earliest meeting of a receive and a message: when, the receive's place, and the message.
    fn best(&mut self, rank: u32) -> Option<(u64, usize, u32)> {
        let wild = self.wild[rank as usize].as_mut()?;
        let mut best: Option<(u64, usize, u32)> = None;
        for place in 0..wild.posted.len() {
            let posted = wild.posted[place];
            if let Some((seen, node)) = wild.first(posted.pattern, &self.nodes) {
                let at = seen.max(posted.receive.time);
                if best.is_none_or(|(earliest, ..)| at < earliest) {
                    best = Some((at, place, node));
                }
            }
        }
        best
    }

    /// Decides what a rank's receives take by now.
    pub fn decide(&mut self, at: u64, rank: u32) {
        if let Some(wild) = &mut self.wild[rank as usize] {
            if wild.scheduled != at {
                return;
            }
            wild.scheduled = UNKNOWN;
        }
        if let Some((earliest, place, node)) = self.best(rank)
            && earliest <= at
        {
            self.give(rank, place, node);
        }
        self.settle_wild(rank);
    }

    /// Gives a message to a receive, or shows it to a probe.
    fn give(&mut self, rank: u32, place: usize, node: u32) {
        let Some(wild) = &mut self.wild[rank as usize] else {
            return;
        };
        let posted = wild.posted.remove(place);
        if posted.is_probe {
            let shown = self.nodes.get(node);
            let end = shown.time.max(posted.receive.time);
            let message = shown.message();
            self.observer
                .release(message.from, message.sent, message.to, end);
            self.waited(posted.receive.lane, posted.receive.time, end, Why::Message);
            self.resume(posted.receive.lane, end);
            return;
        }
        wild.patterns[posted.pattern as usize].fitting.pop();
        self.take_message(node, posted.receive);
    }
}
