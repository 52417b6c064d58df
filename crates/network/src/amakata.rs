//! Amakata's delays.
//!
//! # Source
//!
//! Y. Amakata, Y. Shinano, M. Nakamori, *A Simulator for Message-Passing Based Parallel and Distributed Programs to Evaluate
//! the Influence of Message Transfer Latency*, section 2.1 and Table 1.

use foretrace_schedule::SimTime;

use crate::{Handshake, Link, NetworkModel, PerByte};

/// The parameters of one computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Computer {
    /// `t_i` = alpha D / C: the delay of the signal.
    pub signal_delay: SimTime,
    /// 1 / W.
    pub per_byte: PerByte,
    /// `t_c`: the preparation of a transfer.
    pub preparation: SimTime,
    /// `t_g`: the creation of a process.
    pub process_creation: SimTime,
}

/// A message takes `t_m` = `t_i` + S / W + `t_c`, by the parameters of its sender's computer; sending and receiving cost the
/// caller nothing, and messages do not get in each other's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amakata {
    /// What holds for computers that are not listed.
    pub usual: Computer,
    /// The computers with parameters of their own.
    pub computers: Vec<(u32, Computer)>,
}

impl Amakata {
    fn computer(&self, node: u32) -> &Computer {
        let own = self
            .computers
            .iter()
            .rev()
            .find(|(number, _)| *number == node);
        own.map_or(&self.usual, |(_, computer)| computer)
    }
}

impl NetworkModel for Amakata {
    fn name(&self) -> &'static str {
        "amakata"
    }

    fn send_overhead(&self, _link: Link, _bytes: u64) -> SimTime {
        SimTime::ZERO
    }

    fn receive_overhead(&self, _link: Link, _bytes: u64) -> SimTime {
        SimTime::ZERO
    }

    fn transit(&self, link: Link, bytes: u64) -> SimTime {
        let computer = self.computer(link.from);
        computer.signal_delay + computer.per_byte.times(bytes) + computer.preparation
    }

    fn handshake(&self, _link: Link, _bytes: u64) -> Option<Handshake> {
        // "Sends do not block" in this model.
        None
    }

    fn forced_handshake(&self, link: Link) -> Handshake {
        Handshake {
            busy: SimTime::ZERO,
            request: self.transit(link, 0),
            answer: self.transit(link, 0),
            until_arrival: false,
        }
    }

    fn is_uniform(&self) -> bool {
        self.computers.is_empty()
    }

    fn process_creation(&self) -> SimTime {
        self.usual.process_creation
    }
}
