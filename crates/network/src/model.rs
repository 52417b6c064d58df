//! What every model of a network answers.

use std::fmt::Debug;

use foretrace_schedule::SimTime;

use crate::Limits;

/// Between which nodes a message goes; on one node where they are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// The sender's node.
    pub from: u32,
    /// The receiver's node.
    pub to: u32,
}

impl Link {
    /// Returns whether the message stays on one node.
    pub fn is_within(self) -> bool {
        self.from == self.to
    }
}

/// When a receive's overhead keeps the receiver busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveRule {
    /// After the message is there: end = max(call, arrival) + overhead.
    AfterArrival,
    /// When the receive is called, also while the message is under way: end = max(call + overhead, arrival).
    WhenCalled,
}

/// What a synchronous (rendezvous) message exchanges before its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// For how long the request keeps its sender busy, of that; a send that does not block goes on then.
    pub busy: SimTime,
    /// From the send's call until the request can be seen by the receiver.
    pub request: SimTime,
    /// From the instant at which request and receive have met until the sender knows.
    pub answer: SimTime,
    /// Whether the sender goes on only when the message has arrived, and not when it has been handed to the network.
    pub until_arrival: bool,
}

/// What it takes to send a message.
///
/// A message is handed to the network after [`send_overhead`](Self::send_overhead), can be received
/// [`transit`](Self::transit) later, and keeps the receiver busy for [`receive_overhead`](Self::receive_overhead).
pub trait NetworkModel: Debug + Send + Sync {
    /// Returns its name, as files have it.
    fn name(&self) -> &'static str;

    /// Returns the CPU time that a message of so many bytes takes its sender.
    fn send_overhead(&self, link: Link, bytes: u64) -> SimTime;

    /// Returns the CPU time that it takes its receiver.
    fn receive_overhead(&self, link: Link, bytes: u64) -> SimTime;

    /// Returns the time from its being handed to the network until it can be received, when nothing is in its way.
    fn transit(&self, link: Link, bytes: u64) -> SimTime;

    /// Returns when the receiver's overhead counts.
    fn receive_rule(&self) -> ReceiveRule {
        ReceiveRule::AfterArrival
    }

    /// Returns what a message of so many bytes exchanges before its data; `None` for one that is sent at once (eager).
    fn handshake(&self, link: Link, bytes: u64) -> Option<Handshake>;

    /// Returns the handshake of a message that its sender wants to be synchronous, however small it is.
    fn forced_handshake(&self, link: Link) -> Handshake;

    /// Returns whether synchronous messages that were begun by calls which do not block go on only while their ranks are in calls: a request
    /// is seen, and its data are handed over, by somebody who looks for it. Else all that goes on in the background.
    fn needs_calls(&self) -> bool {
        false
    }

    /// Returns whether what a message takes depends on nothing but its size and whether it stays on one node.
    fn is_uniform(&self) -> bool {
        true
    }

    /// Returns the time from the start of another process until it runs.
    fn process_creation(&self) -> SimTime {
        SimTime::ZERO
    }

    /// Returns how many messages may be under way at once, where that is limited.
    fn limits(&self) -> Option<Limits> {
        None
    }

    /// Returns the tool's own parameters, where the model is that of LogGOPSim.
    fn loggopsim(&self) -> Option<&crate::LogGopSim> {
        None
    }

    /// Returns the analytic time of a collective whose root gives and gets so many bytes, where the model has its own rule
    /// for that: over so many nodes with at most so many members each.
    fn collective(
        &self,
        _growth: crate::Growth,
        _nodes: u32,
        _members_per_node: u32,
        _bytes: (u64, u64),
    ) -> Option<SimTime> {
        None
    }
}
