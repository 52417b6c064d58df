//! One-sided communication: what ranks put into each other's windows and get from there, and when that is done.
//!
//! What is put between two fences of a window is there after the second one: it is replayed as a message that is received when its
//! target comes to that. What is got is there then, too: it is a message from the target, which sends it when it comes to that
//! fence. What is put or got without a fence to follow is not replayed.

use std::collections::BTreeMap;

use foretrace_trace::{Action, End, Message, Operation as Event, Peer, Point, Trace};

use crate::{Mode, Operation, recorded::name_of};

/// Functions that put data into a window or get them from there.
const MOVES: [&str; 6] = ["put", "rput", "accumulate", "raccumulate", "get", "rget"];

/// The function after which these are there.
const FENCE: &str = "win_fence";

/// The tags of what is put and of what is got.
const PUT: u32 = 0;
const GOT: u32 = 1;

/// A window, by the number of its communicator, and a rank.
type Side = (u32, u32);

/// What a rank does when it comes to a fence, before it waits for the others.
#[derive(Clone, Debug, Default)]
struct Fence {
    sends: Vec<Operation>,
    receives: Vec<Operation>,
}

/// The windows of a trace.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// What each rank does at each of its fences of a window.
    fences: BTreeMap<Side, Vec<Fence>>,
    /// How many of them it has called until now.
    called: BTreeMap<Side, usize>,
}

/// Returns what a call puts into a window or gets from there.
fn moved(message: &Message) -> Option<&Point> {
    let moves = MOVES.contains(&name_of(message));
    match &message.action {
        Action::Point(point) if moves => Some(point),
        _ => None,
    }
}

impl Windows {
    /// Finds out what is moved before which fence. `rank_of` tells of which rank a thread is.
    pub fn of(trace: &Trace, rank_of: impl Fn(usize) -> Option<u32>) -> Self {
        let mut windows = Self::default();
        for point in trace.messages.iter().filter_map(moved) {
            for &member in &trace.communicators[point.communicator as usize].members {
                windows.called.insert((point.communicator, member), 0);
            }
        }
        if windows.called.is_empty() {
            return windows;
        }
        let mut all: Vec<(usize, u32, Point)> = Vec::new();
        for event in &trace.events {
            let call = trace.call(event);
            let (Event::Message(id), Some(rank)) = (call.operation, rank_of(call.thread.index()))
            else {
                continue;
            };
            let message = &trace.messages[id.index()];
            match moved(message) {
                Some(point) => {
                    let called = windows.called.get(&(point.communicator, rank));
                    all.extend(called.map(|&called| (called, rank, *point)));
                }
                None => {
                    windows.fence(rank, message);
                }
            }
        }
        for (side, called) in &mut windows.called {
            let fences = vec![Fence::default(); std::mem::take(called)];
            windows.fences.insert(*side, fences);
        }
        for (fence, rank, point) in all {
            windows.add(fence, rank, &point);
        }
        windows
    }

    /// Adds what a rank moves before its fence of this number to what is done then.
    fn add(&mut self, fence: usize, rank: u32, point: &Point) {
        let Peer::Rank(other) = point.peer else {
            return;
        };
        let (from, to, tag) = match point.end {
            End::Receive => (other, rank, GOT),
            _ => (rank, other, PUT),
        };
        if self.at(point, from, fence).is_none() {
            return;
        }
        let Some(receiver) = self.at(point, to, fence) else {
            return;
        };
        let receive = Operation::receive(from, tag, point.bytes);
        receiver.receives.push(receive);
        if tag == GOT
            && let Some(sender) = self.at(point, from, fence)
        {
            let send = Operation::send(to, tag, point.bytes).in_mode(Mode::Buffered);
            sender.sends.push(send);
        }
    }

    /// Returns a rank's fence of this number of a message's window.
    fn at(&mut self, point: &Point, rank: u32, fence: usize) -> Option<&mut Fence> {
        let fences = self.fences.get_mut(&(point.communicator, rank))?;
        fences.get_mut(fence)
    }

    /// A rank calls something: returns what it does first, where that is a fence, and the number of the window's communicator.
    pub fn fence(&mut self, rank: u32, message: &Message) -> Option<(u32, Vec<Operation>)> {
        let Action::Collective(call) = &message.action else {
            return None;
        };
        let side = (call.communicator, rank);
        let called = self.called.get_mut(&side)?;
        if message.name != FENCE {
            return None;
        }
        *called += 1;
        let fence = self.fences.get_mut(&side)?.get_mut(*called - 1)?;
        let Fence { sends, receives } = std::mem::take(fence);
        Some((call.communicator, [sends, receives].concat()))
    }

    /// Returns what becomes of a message that a rank sends or receives.
    pub fn fate(&self, rank: u32, point: &Point) -> Fate {
        let side = |rank| (point.communicator, rank);
        let (Peer::Rank(other), Some(&called)) = (point.peer, self.called.get(&side(rank))) else {
            return Fate::Usual;
        };
        let has_fence = |rank| {
            let fences = self.fences.get(&side(rank));
            fences.is_some_and(|fences| fences.len() > called)
        };
        if !has_fence(other) || !has_fence(rank) {
            Fate::Lost
        } else if point.end == End::Receive {
            Fate::AtFence
        } else {
            Fate::Usual
        }
    }
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// What its call says.
    Usual,
    /// It is sent and received at the next fence of its window.
    AtFence,
    /// There is no such fence: it is not replayed.
    Lost,
}
