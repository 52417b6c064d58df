//! What collectives in the background wait for, for those who watch a replay: their lanes are not shown.

use crate::{
    Kind,
    channel::{Message, NIL, Receive},
    engine::Engine,
    observer::{Observer, Why},
};

/// A rank, and when it did what a lane last waited for.
pub(crate) type Cause = (u32, u64);

impl<O: Observer> Engine<'_, O> {
    /// A lane in the background begins: by its own rank's call.
    pub fn begin_cause(&mut self, index: u32) {
        if !O::WATCHES {
            return;
        }
        let lane = &self.lanes[index as usize];
        let cause = (lane.rank, lane.clock);
        let place = index as usize;
        if self.causes.len() <= place {
            self.causes.resize(place + 1, cause);
        }
        self.causes[place] = cause;
    }

    /// A lane in the background has what it waited for: a message, or what let its sender, in the background, go on to send that.
    pub fn note_cause(&mut self, message: &Message, receive: &Receive, arrival: u64) {
        if !O::WATCHES || self.lanes[receive.lane as usize].owner.0 == NIL {
            return;
        }
        let waits_for_data = message.shakes_hands && receive.time > message.time;
        if arrival <= receive.time || waits_for_data {
            return;
        }
        let sender = &self.lanes[message.lane as usize];
        let before = self.causes.get(message.lane as usize).copied();
        // The lane may be another's by now, or have come further.
        let is_its = sender.owner.0 != NIL && sender.rank == message.from;
        let before = before.filter(|before| is_its && before.1 <= message.sent);
        self.causes[receive.lane as usize] = before.unwrap_or((message.from, message.sent));
    }

    /// A lane in the background ends: its rank could go on, because of another.
    pub fn tell_cause(&mut self, index: u32) {
        if !O::WATCHES {
            return;
        }
        let lane = &self.lanes[index as usize];
        let (rank, at) = (lane.rank, lane.clock);
        let (by, did) = self.causes[index as usize];
        if by != rank {
            self.observer.release(by, did, rank, at);
        }
    }

    /// Returns what a lane waits for that waits for what it began with a request, and that is no receive.
    pub fn why(&self, index: u32, request: u32) -> Why {
        let lane = &self.lanes[index as usize];
        if !O::WATCHES || lane.script != NIL || lane.owner.0 != NIL {
            return Why::Receiver;
        }
        let start = self.program.starts[lane.rank as usize];
        let before = (start..lane.position).rev();
        let begun = before
            .map(|position| self.program.at(position))
            .find(|op| op.request == request && op.kind != Kind::Wait);
        match begun.map(|op| op.kind) {
            Some(Kind::Collective) => Why::Others,
            _ => Why::Receiver,
        }
    }
}
