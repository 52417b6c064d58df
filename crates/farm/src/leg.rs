//! One way of a message between a master and a slave, with all that is the same for each of its messages.

use foretrace_network::{Handshake, Link, Network, ReceiveRule};
use foretrace_schedule::SimTime;

/// One way of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leg {
    send: u64,
    transit: u64,
    receive: u64,
    handshake: Option<Handshake>,
    rule: ReceiveRule,
}

impl Leg {
    pub fn new(network: &Network, from: u32, to: u32, bytes: u64) -> Self {
        let link = Link {
            from: network.node_of_rank[from as usize],
            to: network.node_of_rank[to as usize],
        };
        let model = &network.model;
        Self {
            send: model.send_overhead(link, bytes).0,
            transit: model.transit(link, bytes).0,
            receive: model.receive_overhead(link, bytes).0,
            handshake: model.handshake(link, bytes),
            rule: model.receive_rule(),
        }
    }

    /// Returns when the receiver can see the message, and when the sender goes on, where it goes on by itself.
    #[inline]
    pub fn send(&self, at: u64) -> (u64, u64) {
        match self.handshake {
            None => (at + self.send + self.transit, at + self.send),
            Some(handshake) => (at + handshake.request.0, u64::MAX),
        }
    }

    /// Returns when a receiver that called at `call` has the message that it sees at `seen`, and when a sender that waited
    /// for it goes on.
    #[inline]
    pub fn receive(&self, call: u64, seen: u64) -> (u64, Option<u64>) {
        let Some(handshake) = self.handshake else {
            return (self.end(call, seen), None);
        };
        // Dimemas starts the transfer when both ends have had their start-up.
        let ready = match self.rule {
            ReceiveRule::AfterArrival => call.max(seen) + handshake.answer.0 + self.send,
            ReceiveRule::WhenCalled => (call + self.receive).max(seen + self.send),
        };
        let arrival = ready + self.transit;
        let released = if handshake.until_arrival {
            arrival
        } else {
            ready
        };
        (self.end(call, arrival), Some(released))
    }

    #[inline]
    fn end(&self, call: u64, arrival: u64) -> u64 {
        match self.rule {
            ReceiveRule::AfterArrival => call.max(arrival) + self.receive,
            ReceiveRule::WhenCalled => (call + self.receive).max(arrival),
        }
    }

    /// Returns the time that sending takes the CPU.
    pub fn send_time(&self) -> SimTime {
        SimTime(self.send)
    }
}

/// A slave, and its ways from and to its master.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slave {
    pub rank: u32,
    pub speed: f64,
    pub to: Leg,
    pub back: Leg,
    /// Since when it waits for a task.
    pub free: u64,
}

impl Slave {
    pub fn new(network: &Network, master: u32, rank: u32, bytes: (u64, u64)) -> Self {
        Self {
            rank,
            speed: network.speed_of_rank[rank as usize],
            to: Leg::new(network, master, rank, bytes.0),
            back: Leg::new(network, rank, master, bytes.1),
            free: network.model.process_creation().0,
        }
    }

    /// Gives it a task that takes `work` at speed one, sent at `at`: returns when the master's send is over, and when the
    /// master can see the result.
    #[inline]
    pub fn give(&mut self, at: u64, work: SimTime) -> (u64, u64) {
        let (seen, sent) = self.to.send(at);
        let (begin, released) = self.to.receive(self.free, seen);
        let done = begin + self.time_of(work);
        let (result, free) = self.back.send(done);
        self.free = free;
        (released.unwrap_or(sent), result)
    }

    /// Takes its result, which the master sees at `seen`, having called at `call`: returns when the master has it.
    #[inline]
    pub fn take(&mut self, call: u64, seen: u64) -> u64 {
        let (end, released) = self.back.receive(call, seen);
        if let Some(released) = released {
            self.free = released;
        }
        end
    }

    #[inline]
    fn time_of(&self, work: SimTime) -> u64 {
        if (self.speed - 1.0).abs() < f64::EPSILON {
            return work.0;
        }
        #[expect(clippy::cast_sign_loss, reason = "speeds are above zero")]
        let scaled = (work.0 as f64 / self.speed).round() as u64;
        scaled
    }
}
