//! LogGP as LogGOPSim charges it.
//!
//! # Source
//!
//! The behaviour of LogGOPSim (<https://github.com/spcl/LogGOPSim>; T. Hoefler, T. Schneider, A. Lumsdaine, *LogGOPSim:
//! Simulating Large-Scale Applications in the LogGOPS Model*, 2010): the first byte arrives o + L after the send began;
//! then the receiver's CPU is busy for o + (k-1) max(G, O), whether or not a receive waits; g and (k-1) G separate messages
//! at both interfaces.

use foretrace_schedule::SimTime;

use crate::{Handshake, Link, NetworkModel, PerByte};

/// The parameters, by their names in the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGopSim {
    /// L.
    pub latency: SimTime,
    /// o.
    pub overhead: SimTime,
    /// g.
    pub gap: SimTime,
    /// G.
    pub gap_per_byte: PerByte,
    /// O.
    pub overhead_per_byte: PerByte,
    /// S.
    pub rendezvous_above: Option<u64>,
}

impl LogGopSim {
    /// Returns the larger of G and O for all bytes but the first.
    pub fn receive_bytes(&self, bytes: u64) -> SimTime {
        let rest = bytes.saturating_sub(1);
        self.gap_per_byte
            .times(rest)
            .max(self.overhead_per_byte.times(rest))
    }

    /// Returns for how long a message of so many bytes keeps an interface from the next.
    pub fn interface_gap(&self, bytes: u64) -> SimTime {
        self.gap + self.gap_per_byte.times(bytes.saturating_sub(1))
    }
}

impl NetworkModel for LogGopSim {
    fn name(&self) -> &'static str {
        "loggopsim"
    }

    fn send_overhead(&self, _link: Link, bytes: u64) -> SimTime {
        self.overhead + self.overhead_per_byte.times(bytes.saturating_sub(1))
    }

    fn receive_overhead(&self, _link: Link, bytes: u64) -> SimTime {
        self.overhead + self.receive_bytes(bytes)
    }

    fn transit(&self, _link: Link, _bytes: u64) -> SimTime {
        self.latency
    }

    fn handshake(&self, link: Link, bytes: u64) -> Option<Handshake> {
        let above = self.rendezvous_above?;
        (bytes > above).then(|| self.forced_handshake(link))
    }

    fn forced_handshake(&self, _link: Link) -> Handshake {
        // The tool counts nothing for the answer.
        Handshake {
            busy: self.overhead,
            request: self.overhead + self.latency,
            answer: SimTime::ZERO,
            until_arrival: false,
        }
    }

    fn loggopsim(&self) -> Option<&LogGopSim> {
        Some(self)
    }
}
