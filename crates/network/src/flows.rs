//! Messages that share links: every one is as fast as the fair share on its narrowest link lets it.
//!
//! # Source
//!
//! Max-min fairness: D. Bertsekas, R. Gallager, *Data Networks*, section 6.5.2 (progressive filling).

use std::collections::BTreeMap;

use foretrace_schedule::SimTime;

use crate::Topology;

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u64);

/// What is under way on a topology's links.
#[derive(Clone, Debug)]
pub struct Flows {
    topology: Topology,
    /// Bytes a picosecond on a link.
    capacity: f64,
    active: BTreeMap<FlowId, Flow>,
    now: SimTime,
    next: u64,
    /// When the next message will be over, as long as nothing changes.
    first: Option<(SimTime, FlowId)>,
}

#[derive(Clone, Debug)]
struct Flow {
    links: Vec<u32>,
    left: f64,
    rate: f64,
}

/// What is less than this many bytes is nothing.
const NOTHING: f64 = 1e-6;

impl Flows {
    /// Makes an idle network.
    pub fn new(topology: &Topology) -> Self {
        Self {
            capacity: topology.per_byte().bytes_per_second() / 1e12,
            topology: topology.clone(),
            active: BTreeMap::new(),
            now: SimTime::ZERO,
            next: 0,
            first: None,
        }
    }

    /// Begins a message; times must not go back.
    pub fn start(&mut self, at: SimTime, from: u32, to: u32, bytes: u64) -> FlowId {
        self.advance(at);
        let id = FlowId(self.next);
        self.next += 1;
        let mut links = Vec::new();
        self.topology.route(from, to, &mut links);
        let flow = Flow {
            links,
            left: bytes as f64,
            rate: 0.0,
        };
        self.active.insert(id, flow);
        self.share();
        id
    }

    /// Returns when the next message will be over, as long as none begins.
    pub fn next_end(&self) -> Option<SimTime> {
        self.first.map(|(at, _)| at)
    }

    /// Ends the next message.
    pub fn end_next(&mut self) -> Option<(SimTime, FlowId)> {
        let (at, id) = self.first?;
        self.advance(at);
        self.active.remove(&id);
        self.share();
        Some((at, id))
    }

    fn advance(&mut self, to: SimTime) {
        let passed = to.since(self.now).0 as f64;
        for flow in self.active.values_mut() {
            flow.left = (flow.left - flow.rate * passed).max(0.0);
        }
        self.now = self.now.max(to);
    }

    /// Gives every message its share: again and again, the links on which least is left for each fix theirs.
    fn share(&mut self) {
        let mut links: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
        for flow in self.active.values_mut() {
            flow.rate = f64::INFINITY;
            for link in &flow.links {
                links.entry(*link).or_insert((self.capacity, 0)).1 += 1;
            }
        }
        while let Some((narrowest, share)) = links
            .iter()
            .filter(|(_, (_, count))| *count > 0)
            .map(|(link, (left, count))| (*link, left / f64::from(*count)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
        {
            for flow in self.active.values_mut() {
                if flow.rate.is_finite() || !flow.links.contains(&narrowest) {
                    continue;
                }
                flow.rate = share;
                for link in &flow.links {
                    if let Some((left, count)) = links.get_mut(link) {
                        *left = (*left - share).max(0.0);
                        *count -= 1;
                    }
                }
            }
        }
        self.first = self
            .active
            .iter()
            .map(|(id, flow)| (self.end_of(flow), *id))
            .min();
    }

    fn end_of(&self, flow: &Flow) -> SimTime {
        if flow.left <= NOTHING || flow.rate.is_infinite() {
            return self.now;
        }
        #[expect(
            clippy::cast_sign_loss,
            reason = "what is left and rates are not negative"
        )]
        let picos = (flow.left / flow.rate).ceil() as u64;
        self.now + SimTime(picos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PerByte;

    fn star() -> Flows {
        // A byte takes a nanosecond.
        let per_byte = PerByte::new(1_000, 1).expect("it is a number of bytes");
        Flows::new(&Topology::Star { per_byte })
    }

    #[test]
    fn a_message_alone_has_the_whole_link() {
        let mut flows = star();
        flows.start(SimTime(0), 0, 1, 1_000);
        assert_eq!(flows.end_next(), Some((SimTime(1_000_000), FlowId(0))));
        assert_eq!(flows.end_next(), None);
    }

    #[test]
    fn two_messages_to_one_node_have_half_each_until_one_is_over() {
        let mut flows = star();
        flows.start(SimTime(0), 0, 2, 1_000);
        flows.start(SimTime(0), 1, 2, 500);
        assert_eq!(flows.end_next(), Some((SimTime(1_000_000), FlowId(1))));
        assert_eq!(flows.end_next(), Some((SimTime(1_500_000), FlowId(0))));
    }

    #[test]
    fn what_one_link_leaves_others_get() {
        // 0 sends to 2 and to 3, 1 to 3: 0's link is shared by two, 3's by two; 4 to 5 has its own.
        let mut flows = star();
        for (from, to) in [(0, 2), (0, 3), (1, 3), (4, 5)] {
            flows.start(SimTime(0), from, to, 1_000);
        }
        assert_eq!(flows.end_next(), Some((SimTime(1_000_000), FlowId(3))));
        assert_eq!(flows.end_next(), Some((SimTime(2_000_000), FlowId(0))));
    }
}
