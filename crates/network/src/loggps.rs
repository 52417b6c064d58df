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

/// What messages of more than so many bytes cost, up to the size from which the next line on holds.
///
/// A network behaves like a straight line only over some sizes: implementations change their protocol, and caches and
/// buffers fill. The first line of a network begins at no bytes and is LogGPS as it is; those that follow count from their
/// smallest message on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Messages have more bytes than this; 0 for the first line, which also holds for messages without bytes.
    pub above: u64,
    /// L; for later lines, the transit of the smallest message.
    pub latency: SimTime,
    /// G: what every byte after the first adds.
    pub gap_per_byte: PerByte,
    /// o of the sender; its bytes count from `above` on.
    pub send: Overhead,
    /// o of the receiver, as that of the sender.
    pub receive: Overhead,
}

impl Line {
    /// Returns the CPU time that a message takes its sender.
    #[inline]
    pub fn send_overhead(&self, bytes: u64) -> SimTime {
        self.send.of(bytes.saturating_sub(self.above))
    }

    /// Returns the CPU time that it takes its receiver.
    #[inline]
    pub fn receive_overhead(&self, bytes: u64) -> SimTime {
        self.receive.of(bytes.saturating_sub(self.above))
    }

    /// Returns for how long it is under way.
    #[inline]
    pub fn transit(&self, bytes: u64) -> SimTime {
        let further = bytes.saturating_sub(self.above).saturating_sub(1);
        self.latency + self.gap_per_byte.times(further)
    }
}

/// The parameters between two ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// What messages cost, from no bytes on.
    pub base: Line,
    /// What larger ones cost, by increasing size; nothing where one line holds for all.
    pub larger: Vec<Line>,
    /// S: messages of more bytes are synchronous; `None` where none are.
    pub rendezvous_above: Option<u64>,
}

impl Protocol {
    /// Returns the line that holds for messages of so many bytes.
    #[inline]
    pub fn line(&self, bytes: u64) -> &Line {
        let lines = self.larger.partition_point(|line| line.above < bytes);
        match lines.checked_sub(1) {
            Some(last) => &self.larger[last],
            None => &self.base,
        }
    }

    /// Returns what a message that waits for its receiver exchanges before its data: messages of one byte.
    pub fn handshake(&self) -> Handshake {
        let [send, receive] = [self.base.send_overhead(1), self.base.receive_overhead(1)];
        let latency = self.base.latency;
        Handshake {
            busy: send,
            request: send + latency,
            answer: receive + send + latency + receive,
            until_arrival: false,
        }
    }
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogGps {
    /// What messages cost.
    pub protocols: Pair<Protocol>,
    /// Whether synchronous messages that were begun by calls which do not block go on while their ranks work.
    pub asynchronous_progress: bool,
}

impl NetworkModel for LogGps {
    fn name(&self) -> &'static str {
        "loggps"
    }

    fn send_overhead(&self, link: Link, bytes: u64) -> SimTime {
        self.protocols.of(link).line(bytes).send_overhead(bytes)
    }

    fn receive_overhead(&self, link: Link, bytes: u64) -> SimTime {
        self.protocols.of(link).line(bytes).receive_overhead(bytes)
    }

    fn transit(&self, link: Link, bytes: u64) -> SimTime {
        self.protocols.of(link).line(bytes).transit(bytes)
    }

    fn needs_calls(&self) -> bool {
        !self.asynchronous_progress
    }

    fn handshake(&self, link: Link, bytes: u64) -> Option<Handshake> {
        let above = self.protocols.of(link).rendezvous_above?;
        (bytes > above).then(|| self.forced_handshake(link))
    }

    fn forced_handshake(&self, link: Link) -> Handshake {
        self.protocols.of(link).handshake()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(above: u64, latency: u64, gap: u64) -> Line {
        let overhead = Overhead {
            constant: SimTime(100),
            per_byte: PerByte::new(2, 1).expect("one is more than none"),
        };
        Line {
            above,
            latency: SimTime(latency),
            gap_per_byte: PerByte::new(gap, 1).expect("one is more than none"),
            send: overhead,
            receive: overhead,
        }
    }

    #[test]
    fn a_message_costs_what_the_line_for_its_size_says() {
        let between = Protocol {
            base: line(0, 1_000, 3),
            larger: vec![line(64, 5_000, 1), line(4_096, 9_000, 7)],
            rendezvous_above: Some(4_096),
        };
        let pair = Pair {
            within: between.clone(),
            between,
        };
        let network = LogGps {
            protocols: pair,
            asynchronous_progress: false,
        };
        let link = Link { from: 0, to: 1 };
        let transit = |bytes| network.transit(link, bytes).0;
        assert_eq!([0, 1, 2, 64].map(transit), [1_000, 1_000, 1_003, 1_189]);
        assert_eq!([65, 66, 4_096].map(transit), [5_000, 5_001, 9_031]);
        assert_eq!([4_097, 4_099].map(transit), [9_000, 9_014]);
        let send = |bytes| network.send_overhead(link, bytes).0;
        assert_eq!([0, 64, 65, 4_097].map(send), [100, 228, 102, 102]);
        assert!(network.handshake(link, 4_096).is_none());
        // Requests are as small messages are, whatever they are for.
        let handshake = network.handshake(link, 1 << 20).expect("it is large");
        assert_eq!(handshake.request, SimTime(1_102));
        assert_eq!(handshake.answer, SimTime(1_000 + 3 * 102));
    }
}
