//! One-sided communication: what ranks put into each other's windows, and when it is there.
//!
//! What is put between two fences of a window is there after the second one: it is replayed as a message that is received when its
//! target comes to that. What is put without a fence to follow, and all that is fetched, is not replayed.

use std::collections::BTreeMap;

use foretrace_trace::{Action, Message, Operation as Event, Peer, Point, Trace};

/// Functions that put data into a window.
const PUTS: [&str; 4] = ["put", "rput", "accumulate", "raccumulate"];

/// The function after which it is there.
const FENCE: &str = "win_fence";

/// A window, by the number of its communicator, and a rank.
type Side = (u32, u32);

/// A message that stands for what was put: who put it, and how many bytes.
pub(crate) type Put = (u32, u64);

/// The windows of a trace.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// What is put into a rank's window before each of its fences.
    incoming: BTreeMap<Side, Vec<Vec<Put>>>,
    /// How often each rank called a fence of each window until now.
    fences: BTreeMap<Side, usize>,
}

/// Returns what a call puts into a window.
fn put(message: &Message) -> Option<&Point> {
    let name = message.name.as_str();
    let is_put = PUTS.contains(&name.strip_suffix("_c").unwrap_or(name));
    match &message.action {
        Action::Point(point) if is_put => Some(point),
        _ => None,
    }
}

impl Windows {
    /// Finds out what is put before which fence. `rank_of` tells of which rank a thread is.
    pub fn of(trace: &Trace, rank_of: impl Fn(usize) -> Option<u32>) -> Self {
        let mut windows = Self::default();
        let puts = || trace.messages.iter().filter_map(put);
        if puts().next().is_none() {
            return windows;
        }
        for point in puts() {
            for &member in &trace.communicators[point.communicator as usize].members {
                let side = (point.communicator, member);
                windows.fences.insert(side, 0);
                windows.incoming.insert(side, Vec::new());
            }
        }
        let mut waiting: Vec<(Side, usize, Put)> = Vec::new();
        for event in &trace.events {
            let call = trace.call(event);
            let (Event::Message(id), Some(rank)) = (call.operation, rank_of(call.thread.index()))
            else {
                continue;
            };
            let message = &trace.messages[id.index()];
            if let Some(point) = put(message) {
                if let (Peer::Rank(to), Some(&fences)) =
                    (point.peer, windows.fences.get(&(point.communicator, rank)))
                {
                    waiting.push(((point.communicator, to), fences, (rank, point.bytes)));
                }
            } else {
                windows.fence(rank, message);
            }
        }
        for (&side, &fences) in &windows.fences {
            windows.incoming.insert(side, vec![Vec::new(); fences]);
        }
        for (side, fence, put) in waiting {
            let fences = windows.incoming.get_mut(&side);
            if let Some(before) = fences.and_then(|fences| fences.get_mut(fence)) {
                before.push(put);
            }
        }
        for fences in windows.fences.values_mut() {
            *fences = 0;
        }
        windows
    }

    /// A rank calls something: returns what is put into its window by then, where that is a fence, and the number of the window's
    /// communicator.
    pub fn fence(&mut self, rank: u32, message: &Message) -> Option<(u32, Vec<Put>)> {
        let Action::Collective(call) = &message.action else {
            return None;
        };
        let side = (call.communicator, rank);
        let fences = self.fences.get_mut(&side)?;
        if message.name != FENCE {
            return None;
        }
        *fences += 1;
        let before = self.incoming.get_mut(&side)?.get_mut(*fences - 1)?;
        Some((call.communicator, std::mem::take(before)))
    }

    /// Returns whether a message that a rank sends is put into a window where it will not be received.
    pub fn is_lost(&self, rank: u32, point: &Point) -> bool {
        let (Peer::Rank(to), Some(&fences)) =
            (point.peer, self.fences.get(&(point.communicator, rank)))
        else {
            return false;
        };
        let side = (point.communicator, to);
        self.incoming
            .get(&side)
            .is_none_or(|all| all.len() <= fences)
    }
}
