//! What messages cost, remembered: programs send messages of few sizes, and a model takes longer to ask than a table.

use foretrace_network::{Handshake, Link, NetworkModel, ReceiveRule};

/// What a message of a size costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    bytes: u64,
    pub send: u64,
    pub transit: u64,
    pub receive: u64,
    pub handshake: Option<Handshake>,
}

/// The costs of the sizes that were asked for last.
pub(crate) struct Costs<'a> {
    model: &'a dyn NetworkModel,
    pub rule: ReceiveRule,
    /// Whether all nodes are alike, so that only the size matters and whether the message stays on its node.
    is_uniform: bool,
    /// Those between nodes, then those within one; a size has one place.
    table: [Option<Cost>; 2 * PLACES],
}

const PLACES: usize = 32;

impl<'a> Costs<'a> {
    pub fn new(model: &'a dyn NetworkModel) -> Self {
        Self {
            model,
            rule: model.receive_rule(),
            is_uniform: model.is_uniform(),
            table: [None; 2 * PLACES],
        }
    }

    /// Returns what a message of so many bytes costs on a link.
    #[inline]
    pub fn of(&mut self, link: Link, bytes: u64) -> Cost {
        let place = (bytes ^ bytes >> 5 ^ bytes >> 10) as usize % PLACES;
        let place = place + PLACES * usize::from(link.is_within());
        match &self.table[place] {
            Some(cost) if cost.bytes == bytes && self.is_uniform => *cost,
            _ => self.ask(link, bytes, place),
        }
    }

    fn ask(&mut self, link: Link, bytes: u64, place: usize) -> Cost {
        let cost = Cost {
            bytes,
            send: self.model.send_overhead(link, bytes).0,
            transit: self.model.transit(link, bytes).0,
            receive: self.model.receive_overhead(link, bytes).0,
            handshake: self.model.handshake(link, bytes),
        };
        self.table[place] = Some(cost);
        cost
    }
}
