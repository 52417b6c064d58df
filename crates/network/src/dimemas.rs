//! Latency and bandwidth with buses and links, as Dimemas has them.
//!
//! # Source
//!
//! The behaviour of Dimemas 5.5.0 (<https://github.com/bsc-performance-tools/dimemas>), checked against the times that it
//! prints; its megabytes are 2^20 bytes.

use foretrace_schedule::SimTime;

use crate::{Handshake, Link, NetworkModel, Pair, PerByte, ReceiveRule};

/// What holds within a node, or between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// What a message costs its sender before the transfer, and its receiver when it calls.
    pub startup: SimTime,
    /// The transfer of a byte.
    pub per_byte: PerByte,
    /// How much may be under way at once.
    pub limits: Limits,
}

/// How many messages may be under way at once; 0 where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// On the network altogether.
    pub buses: u32,
    /// Into each node.
    pub input_links: u32,
    /// Out of each node.
    pub output_links: u32,
}

impl Limits {
    /// Returns whether nothing is limited.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// How the analytic time of a collective's phase grows with the number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It does not: one message's time.
    Constant,
    /// By a message for every other node.
    Linear,
    /// By a message for every doubling.
    Logarithmic,
}

/// A message occupies a bus, an output link and an input link from the end of its sender's startup on, until it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimemas {
    /// The parameters.
    pub wires: Pair<Wire>,
    /// Messages of more bytes wait for their receiver; `None` where none do.
    pub rendezvous_above: Option<u64>,
}

impl NetworkModel for Dimemas {
    fn name(&self) -> &'static str {
        "dimemas"
    }

    fn send_overhead(&self, link: Link, _bytes: u64) -> SimTime {
        self.wires.of(link).startup
    }

    fn receive_overhead(&self, link: Link, _bytes: u64) -> SimTime {
        self.wires.of(link).startup
    }

    fn transit(&self, link: Link, bytes: u64) -> SimTime {
        self.wires.of(link).per_byte.times(bytes)
    }

    fn receive_rule(&self) -> ReceiveRule {
        ReceiveRule::WhenCalled
    }

    fn handshake(&self, link: Link, bytes: u64) -> Option<Handshake> {
        let above = self.rendezvous_above?;
        (bytes > above).then(|| self.forced_handshake(link))
    }

    fn forced_handshake(&self, link: Link) -> Handshake {
        Handshake {
            busy: self.wires.of(link).startup,
            request: SimTime::ZERO,
            answer: SimTime::ZERO,
            // The transfer itself goes on in the background.
            until_arrival: false,
        }
    }

    fn limits(&self) -> Option<Limits> {
        let limits = self.wires.between.limits;
        (!limits.is_none()).then_some(limits)
    }

    fn collective(
        &self,
        growth: Growth,
        nodes: u32,
        members_per_node: u32,
        (sent, received): (u64, u64),
    ) -> Option<SimTime> {
        // A phase in which all is gathered, then one in which all is given out, each first on the nodes, then between them.
        let phases = |wire: &Wire, ends: u32, buses: u32| {
            let steps = match growth {
                Growth::Constant => 1,
                Growth::Linear => u64::from(ends.saturating_sub(1)),
                Growth::Logarithmic => stages(ends, buses),
            };
            let phase = |bytes| {
                let one = wire.startup + wire.per_byte.times(bytes);
                SimTime(one.0.saturating_mul(steps))
            };
            phase(sent) + phase(received)
        };
        let between = if nodes > 1 {
            phases(&self.wires.between, nodes, self.wires.between.limits.buses)
        } else {
            SimTime::ZERO
        };
        Some(between + phases(&self.wires.within, members_per_node, 0))
    }
}

/// Returns how many messages one after the other a tree over so many nodes takes, when so many go at once.
fn stages(nodes: u32, buses: u32) -> u64 {
    let mut left = u64::from(nodes);
    let mut steps = 0;
    while left > 1 {
        let pairs = left / 2;
        steps += if buses == 0 {
            1
        } else {
            pairs.div_ceil(u64::from(buses))
        };
        left = left.div_ceil(2);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::stages;

    #[test]
    fn a_tree_has_a_stage_for_every_doubling_and_more_where_buses_are_few() {
        assert_eq!(
            (stages(1, 0), stages(2, 0), stages(8, 0), stages(9, 0)),
            (0, 1, 3, 4)
        );
        assert_eq!((stages(8, 1), stages(8, 2), stages(8, 4)), (7, 4, 3));
    }
}
