//! LogGPS.
//!
//! # Source
//!
//! F. Ino, N. Fujimoto, K. Hagihara, *LogGPS: A Parallel Computational Model for Synchronization Analysis*, 2001;
//! parameters of Y. Mizutani, F. Ino, K. Hagihara, *An Emulation System for Predicting Master/Slave Program Performance*,
//! 2003, Table 2.

use foretrace_schedule::SimTime;

use crate::{Handshake, Link, NetworkModel, PerByte};

/// What a message costs a CPU: a constant and a part per byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// Of every message (o').
    pub constant: SimTime,
    /// Of every byte (O).
    pub per_byte: PerByte,
}

impl Overhead {
    /// Returns what a message of so many bytes costs.
    #[inline]
    pub fn of(self, bytes: u64) -> SimTime {
        self.constant + self.per_byte.times(bytes)
    }
}

/// The parameters between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// L.
    pub latency: SimTime,
    /// G.
    pub gap_per_byte: PerByte,
    /// o of the sender.
    pub send: Overhead,
    /// o of the receiver.
    pub receive: Overhead,
    /// S: messages of more bytes are synchronous; `None` where none are.
    pub rendezvous_above: Option<u64>,
}

/// Something that may be different within a node and between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<T> {
    /// Between nodes.
    pub between: T,
    /// On one node.
    pub within: T,
}

impl<T> Pair<T> {
    /// Returns the one that holds for a link.
    #[inline]
    pub fn of(&self, link: Link) -> &T {
        if link.is_within() {
            &self.within
        } else {
            &self.between
        }
    }
}

/// A message of k bytes: the sender is busy `o_s(k)`, it can be received (k-1) G + L after that, and the receiver is busy
/// `o_r(k)`. One of more than S bytes is preceded by a request and its answer, messages of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGps(pub Pair<Protocol>);

impl NetworkModel for LogGps {
    fn name(&self) -> &'static str {
        "loggps"
    }

    #[inline]
    fn send_overhead(&self, link: Link, bytes: u64) -> SimTime {
        self.0.of(link).send.of(bytes)
    }

    #[inline]
    fn receive_overhead(&self, link: Link, bytes: u64) -> SimTime {
        self.0.of(link).receive.of(bytes)
    }

    #[inline]
    fn transit(&self, link: Link, bytes: u64) -> SimTime {
        let protocol = self.0.of(link);
        protocol.latency + protocol.gap_per_byte.times(bytes.saturating_sub(1))
    }

    #[inline]
    fn handshake(&self, link: Link, bytes: u64) -> Option<Handshake> {
        let above = self.0.of(link).rendezvous_above?;
        (bytes > above).then(|| self.forced_handshake(link))
    }

    fn forced_handshake(&self, link: Link) -> Handshake {
        let protocol = self.0.of(link);
        Handshake {
            busy: protocol.send.of(1),
            request: protocol.send.of(1) + protocol.latency,
            answer: protocol.receive.of(1)
                + protocol.send.of(1)
                + protocol.latency
                + protocol.receive.of(1),
            until_arrival: false,
        }
    }
}
