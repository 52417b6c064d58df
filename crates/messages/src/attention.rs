//! When ranks see to large messages: while they are in a call of MPI.
//!
//! A message that waits for its receiver (rendezvous) is moved by the CPUs of its ranks, and most implementations have nobody who does
//! that while the program works. So the receiver answers its request when it is in a call, and the sender hands the data over when
//! it is in one, one message after the other. A rank that works between the begin of an exchange and its end has not gained
//! by that, though the calls do not block.
//!
//! Ranks run ahead of each other, so that one may be further when it is found out that it was needed. What it did lately is kept for that.
//!
//! # Source
//!
//! Measured: two ranks that exchange 2 MB by `MPI_Isend` and `MPI_Irecv` and work for 0.94 ms before `MPI_Waitall` took 1.17 ms with
//! Open MPI 4.1.4 between two CPUs; `docs/mpi.md`, "Large messages".

use std::{cmp::Reverse, collections::VecDeque};

use foretrace_network::Link;

use crate::{
    BLOCKING, Kind, Mode, Operation, Program,
    engine::{Engine, Event, LaneState},
    observer::{Observer, Why},
};

/// So many times in calls are remembered; one that was needed before is late.
const REMEMBERED: usize = 1024;

/// When a rank could see to messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attention {
    /// Since when it has been in calls, if it is.
    since: Option<u64>,
    /// From when until when it was in calls before.
    past: VecDeque<(u64, u64)>,
    /// Until when it is busy with handing messages over.
    busy_until: u64,
}

impl Attention {
    /// The rank comes to an operation, in which it sees to messages or not.
    #[inline]
    fn comes_to(&mut self, now: u64, attentive: bool) {
        if attentive {
            self.since.get_or_insert(now);
        } else if let Some(since) = self.since.take() {
            if self.past.len() == REMEMBERED {
                self.past.pop_front();
            }
            self.past.push_back((since, now));
        }
    }

    /// Returns from when on it sees to a message that is there at a time.
    fn after(&self, time: u64) -> u64 {
        let next = self.past.partition_point(|&(_, end)| end < time);
        let begin = self.past.get(next).map(|&(begin, _)| begin);
        begin.or(self.since).map_or(time, |begin| time.max(begin))
    }
}

/// Returns what the ranks of a program need for that: nothing where it makes no difference.
pub(crate) fn of(program: &Program, model: &dyn foretrace_network::NetworkModel) -> Vec<Attention> {
    let links = [0, 1].map(|to| Link { from: 0, to });
    let waits = |op: &Operation| {
        let is_large = || {
            links
                .iter()
                .any(|&link| model.handshake(link, op.value).is_some())
        };
        op.kind == Kind::Send
            && op.mode != Mode::Buffered
            && (op.mode == Mode::Synchronous || is_large())
    };
    let goes_on =
        |op: &Operation| matches!(op.kind, Kind::Send | Kind::Receive) && op.request != BLOCKING;
    let operations = || program.distinct.iter();
    let matters = model.needs_calls() && operations().any(waits) && operations().any(goes_on);
    let ranks = if matters { program.ranks() } else { 0 };
    vec![Attention::default(); ranks as usize]
}

impl<O: Observer> Engine<'_, O> {
    /// A lane comes to an operation.
    #[inline]
    pub fn heed(&mut self, index: u32, op: &Operation) {
        let clock = self.lanes[index as usize].clock;
        if let Some(attention) = self.attention.get_mut(index as usize) {
            let is_call = !matches!(op.kind, Kind::Work | Kind::Pause);
            attention.comes_to(clock, is_call || op.mode == Mode::Looking);
        }
    }

    /// Returns whether a lane has to be in a call for a message to go on that a request of it is for: one that the program waits for later.
    pub fn is_heeded_later(&self, index: u32, request: u32) -> bool {
        (index as usize) < self.attention.len()
            && request < self.lanes[index as usize].script_requests
    }

    /// The request of a message and its receive have met, and one of the two ranks at least does not wait for that.
    pub fn meet_later(&mut self, message: u32) {
        let node = self.nodes.get(message);
        let (seen, receive) = (node.time, self.nodes.get(node.next).receive());
        if seen > receive.time && self.is_heeded_later(receive.lane, receive.request) {
            self.events
                .push(Reverse((seen, Event::Answer(receive.lane, message))));
        } else {
            self.answer(message, seen.max(receive.time));
        }
    }

    /// A rank could see the request of a message from now on.
    pub fn notice(&mut self, now: u64, receiver: u32, message: u32) {
        let noticed = self.attention[receiver as usize].after(now);
        self.answer(message, noticed);
    }

    /// The receiver of a message lets its sender hand the data over.
    fn answer(&mut self, message: u32, at: u64) {
        let node = self.nodes.get(message).message();
        let (handshake, overhead) = self.handshake_of(&node);
        let answered = at + handshake.answer.0;
        if self.is_heeded_later(node.lane, node.request) {
            self.events
                .push(Reverse((answered, Event::HandOver(node.lane, message))));
        } else {
            self.leave_matched(message, answered + overhead);
        }
    }

    /// A rank could hand a message over from now on.
    pub fn hand_over(&mut self, now: u64, sender: u32, message: u32) {
        let node = self.nodes.get(message).message();
        let (_, overhead) = self.handshake_of(&node);
        let attention = &mut self.attention[sender as usize];
        let begin = attention.after(now).max(attention.busy_until);
        let leaves = begin + overhead;
        attention.busy_until = leaves;
        let lane = &mut self.lanes[sender as usize];
        // It came to the call in which it is now later by that.
        if lane.clock > begin && matches!(lane.state, LaneState::Blocked(_)) {
            lane.clock += overhead;
        }
        self.leave_matched(message, leaves);
    }

    /// A message that has met its receive leaves its sender.
    fn leave_matched(&mut self, message: u32, leaves: u64) {
        let receive = self.nodes.get(message).next;
        let receive = self.nodes.remove_receive(receive);
        let message = self.nodes.remove_message(message);
        self.transfer(message, receive, leaves);
    }

    /// Lets a lane go on from its call only when it has handed over what it had begun to.
    #[inline]
    pub fn end_hand_over(&mut self, index: u32) {
        let Some(attention) = self.attention.get(index as usize) else {
            return;
        };
        let (busy_until, clock) = (attention.busy_until, self.lanes[index as usize].clock);
        if busy_until > clock {
            self.waited(index, clock, busy_until, Why::Receiver);
            self.lanes[index as usize].clock = busy_until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_seen_to_in_calls() {
        let mut attention = Attention::default();
        for (now, attentive) in [(10, true), (12, true), (15, false), (30, true)] {
            attention.comes_to(now, attentive);
        }
        let after = [5, 11, 15, 16, 40].map(|time| attention.after(time));
        assert_eq!(after, [10, 11, 15, 30, 40]);
        attention.comes_to(50, false);
        assert_eq!(attention.after(60), 60, "nothing is known to come");
    }

    #[test]
    fn what_is_long_ago_is_forgotten() {
        let mut attention = Attention::default();
        for call in 0..2 * REMEMBERED as u64 {
            attention.comes_to(10 * call, true);
            attention.comes_to(10 * call + 1, false);
        }
        assert_eq!(attention.past.len(), REMEMBERED);
        assert_eq!(attention.after(0), 10 * REMEMBERED as u64);
    }
}
