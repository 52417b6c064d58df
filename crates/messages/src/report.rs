//! What a replay came to, and why it could not go on.

use std::fmt;

use foretrace_schedule::SimTime;

use crate::{
    ANY, BLOCKING, Collective, Kind, Operation, Program,
    channel::{CONTEXT, Key, NIL, NodeState},
    engine::{Engine, LaneState},
    observer::Observer,
};

/// What a replay came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// When the last rank ended, or when nothing could happen any more.
    pub end: SimTime,
    /// When each rank ended; `None` where it never did.
    pub finish: Vec<Option<SimTime>>,
    /// How it ended.
    pub outcome: Outcome,
    /// The messages that were sent, those of collectives among them.
    pub messages: u64,
    /// Messages and receives that found no partner.
    pub left_over: Vec<LeftOver>,
}

/// How a replay ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All ranks ended, and every message was received that is at all ([`Program::unreceived`]).
    Completed,
    /// Ranks wait for ever.
    Deadlock(Vec<Stuck>),
    /// All ranks ended, but messages or receives are left over that should not be: [`Run::left_over`].
    LeftOver,
    /// Calls contradict each other.
    Failed(Failure),
}

/// A rank that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The rank.
    pub rank: u32,
    /// Its call.
    pub call: String,
    /// Whom it waits for; `None` where it may be anybody.
    pub peer: Option<u32>,
    /// The message's tag; `None` where it may be any, or there is none.
    pub tag: Option<u32>,
    /// The communicator's name.
    pub communicator: String,
    /// Since when.
    pub since: SimTime,
}

/// A message or receive without a partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOver {
    /// Whether it is a message, and not a receive.
    pub is_message: bool,
    /// The sender; `None` for a receive from anybody.
    pub from: Option<u32>,
    /// The receiver.
    pub to: u32,
    /// The tag; `None` for a receive of any.
    pub tag: Option<u32>,
}

/// Why a replay cannot go on, though ranks could.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Members call different collectives.
    #[error(
        "collective {number} on communicator {communicator} does not fit together: rank {} calls {}{}, rank {} calls {}{}; all \
         members must call the same collectives in the same order",
        one.0, one.1.kind.name(), rooted(&one.1), other.0, other.1.kind.name(), rooted(&other.1)
    )]
    Mismatch {
        /// The communicator's name.
        communicator: String,
        /// Which of its collectives, from 1.
        number: u64,
        /// A rank and its call.
        one: (u32, Collective),
        /// Another whose call does not fit.
        other: (u32, Collective),
    },
    /// A rank calls a collective of a communicator that it is not of.
    #[error("rank {rank} calls {call} on communicator {communicator}, of which it is no member")]
    NoMember {
        /// The rank.
        rank: u32,
        /// The collective.
        call: &'static str,
        /// The communicator's name.
        communicator: String,
    },
}

fn rooted(call: &Collective) -> String {
    format!(" with root {}", call.root)
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} waits in {}", self.rank, self.call)?;
        match (self.peer, self.call.contains("send")) {
            (Some(peer), true) => write!(f, " to rank {peer}")?,
            (Some(peer), false) => write!(f, " from rank {peer}")?,
            (None, _) if self.tag.is_some() || self.call.contains("recv") => {
                write!(f, " from anybody")?;
            }
            _ => {}
        }
        if let Some(tag) = self.tag {
            write!(f, ", tag {tag}")?;
        }
        write!(
            f,
            ", communicator {}, since {}",
            self.communicator, self.since
        )
    }
}

impl fmt::Display for LeftOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_any = |number: Option<u32>| {
            number.map_or_else(|| "any".to_owned(), |number| number.to_string())
        };
        let (from, tag) = (or_any(self.from), or_any(self.tag));
        if self.is_message {
            write!(
                f,
                "a message of rank {from} to rank {}, tag {tag}, that nobody receives",
                self.to
            )
        } else {
            write!(
                f,
                "a receive of rank {} from rank {from}, tag {tag}, that nothing is sent for",
                self.to
            )
        }
    }
}

fn known(number: u32) -> Option<u32> {
    (number != ANY).then_some(number)
}

impl<O: Observer> Engine<'_, O> {
    /// Says what the replay came to, and returns its observer.
    pub fn finish(self) -> (Run, O) {
        let ranks = self.program.ranks() as usize;
        let finish: Vec<Option<SimTime>> = self.lanes[..ranks]
            .iter()
            .map(|lane| (lane.state == LaneState::Ended).then_some(SimTime(lane.clock)))
            .collect();
        let end = self
            .lanes
            .iter()
            .map(|lane| lane.clock)
            .max()
            .unwrap_or_default();
        let stuck = self.stuck();
        let left_over = self.left_over();
        let outcome = if let Some(failure) = self.failure.clone() {
            Outcome::Failed(failure)
        } else if !stuck.is_empty() {
            Outcome::Deadlock(stuck)
        } else if left_over.iter().all(|left| left.is_message)
            && left_over.len() as u64 <= self.program.unreceived
        {
            Outcome::Completed
        } else {
            Outcome::LeftOver
        };
        let run = Run {
            end: SimTime(end),
            finish,
            outcome,
            messages: self.sent,
            left_over,
        };
        (run, self.observer)
    }

    fn stuck(&self) -> Vec<Stuck> {
        let ranks = self.program.ranks() as usize;
        let waiting = self.lanes[..ranks].iter();
        waiting
            .filter(|lane| matches!(lane.state, LaneState::Blocked(_)))
            .map(|lane| {
                let op = self.program.at(lane.position);
                let mut call = self.call_name(&op);
                let mut about = op;
                if op.kind == Kind::Wait && lane.awaited != NIL {
                    if let Some(started) =
                        starter(self.program, lane.rank, lane.position, lane.awaited)
                    {
                        about = started;
                        call = format!("wait for {}", self.call_name(&started));
                    }
                } else if op.kind == Kind::Collective && lane.script != NIL {
                    let inner = self.scripts[lane.script as usize].get(lane.script_at);
                    about.peer = inner.map_or(ANY, |inner| inner.peer);
                }
                let is_message = matches!(about.kind, Kind::Send | Kind::Receive | Kind::Probe);
                Stuck {
                    rank: lane.rank,
                    call,
                    peer: known(about.peer).filter(|_| is_message),
                    tag: known(about.tag).filter(|_| is_message),
                    communicator: self.program.communicators[about.communicator as usize]
                        .name
                        .clone(),
                    since: SimTime(lane.clock),
                }
            })
            .collect()
    }

    fn call_name(&self, op: &Operation) -> String {
        if op.kind == Kind::Collective {
            let name = self.program.collectives[op.value as usize].kind.name();
            return if op.request == BLOCKING {
                name.to_owned()
            } else {
                format!("i{name}")
            };
        }
        op.name().to_owned()
    }

    fn left_over(&self) -> Vec<LeftOver> {
        let of = |key: Key, node: u32| LeftOver {
            is_message: self.nodes.get(node).state != NodeState::Receive,
            from: known(key.from),
            to: key.to,
            tag: known(key.tag),
        };
        let queued = self
            .channels
            .waiting(&self.nodes)
            .filter(|(key, _)| key.communicator & CONTEXT == 0);
        let mut left: Vec<LeftOver> = queued.map(|(key, node)| of(key, node)).collect();
        let to_wild = self.nodes.unreceived().filter(|node| {
            node.communicator & CONTEXT == 0 && self.wild[node.to as usize].is_some()
        });
        left.extend(to_wild.map(|node| LeftOver {
            is_message: true,
            from: known(node.from),
            to: node.to,
            tag: known(node.tag),
        }));
        for rank in 0..self.program.ranks() {
            if let Some(wild) = &self.wild[rank as usize] {
                left.extend(wild.waiting().map(|(from, tag)| LeftOver {
                    is_message: false,
                    from: known(from),
                    to: rank,
                    tag: known(tag),
                }));
            }
        }
        left.sort_unstable();
        left
    }
}

/// Returns the operation that made a request which is waited for at a position.
fn starter(program: &Program, rank: u32, position: usize, request: u32) -> Option<Operation> {
    let before = program.range(rank).start..position;
    before
        .rev()
        .map(|position| program.at(position))
        .find(|op| op.request == request && op.kind != Kind::Wait)
}
