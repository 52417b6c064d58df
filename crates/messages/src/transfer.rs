//! Networks that messages share: buses and links, of which each message takes one, and links on which all go at once.

use std::{cmp::Reverse, collections::VecDeque};

use foretrace_network::Limits;
use foretrace_schedule::SimTime;

use crate::{
    channel::{Node, NodeState, UNKNOWN},
    engine::{Engine, Event},
    observer::Observer,
};

/// What is free of buses and links, and who waits for it.
#[derive(Debug)]
pub(crate) struct Transfers {
    limits: Limits,
    buses: u32,
    out: Vec<u32>,
    into: Vec<u32>,
    /// Messages that want to go, in the order in which they came: node, and the ends of the link.
    waiting: VecDeque<(u32, u32, u32)>,
}

impl Transfers {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            buses: 0,
            out: Vec::new(),
            into: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Counts a message that takes what it needs, where that is free.
    fn takes(&mut self, from: u32, to: u32) -> bool {
        let most = 1 + from.max(to) as usize;
        if self.out.len() < most {
            self.out.resize(most, 0);
            self.into.resize(most, 0);
        }
        let free = |used: u32, limit: u32| limit == 0 || used < limit;
        let (out, into) = (self.out[from as usize], self.into[to as usize]);
        let all_free = free(self.buses, self.limits.buses)
            && free(out, self.limits.output_links)
            && free(into, self.limits.input_links);
        if all_free {
            self.buses += 1;
            self.out[from as usize] += 1;
            self.into[to as usize] += 1;
        }
        all_free
    }

    fn gives_back(&mut self, from: u32, to: u32) {
        self.buses -= 1;
        self.out[from as usize] -= 1;
        self.into[to as usize] -= 1;
    }
}

impl<O: Observer> Engine<'_, O> {
    /// A message wants to go.
    pub fn start_transfer(&mut self, at: u64, node: u32) {
        let link = self.link_of(node);
        if let Some(flows) = &mut self.flows {
            let flow = flows.start(SimTime(at), link.from, link.to, self.nodes.get(node).bytes);
            self.in_flow.insert(flow, node);
            return;
        }
        if let Some(transfers) = &mut self.transfers {
            transfers.waiting.push_back((node, link.from, link.to));
        }
        self.start_waiting(at);
    }

    /// Lets those go that can, the one first that waits longest.
    fn start_waiting(&mut self, at: u64) {
        let Some(mut transfers) = self.transfers.take() else {
            return;
        };
        let mut waiting = std::mem::take(&mut transfers.waiting);
        waiting.retain(|&(node, from, to)| {
            if !transfers.takes(from, to) {
                return true;
            }
            let bytes = self.nodes.get(node).bytes;
            let end = at + self.model.transit(self.link_of(node), bytes).0;
            self.events.push(Reverse((end, Event::End(node))));
            false
        });
        transfers.waiting = waiting;
        self.transfers = Some(transfers);
    }

    /// A message has come through buses and links.
    pub fn end_transfer(&mut self, at: u64, node: u32) {
        let link = self.link_of(node);
        if let Some(transfers) = &mut self.transfers {
            transfers.gives_back(link.from, link.to);
        }
        self.arrive_late(node, at);
        self.start_waiting(at);
    }

    /// The next message that shares links with others has come through.
    pub fn end_flow(&mut self) {
        let ended = self
            .flows
            .as_mut()
            .and_then(foretrace_network::Flows::end_next);
        let Some((at, flow)) = ended else { return };
        if let Some(node) = self.in_flow.remove(&flow) {
            let latency = self.model.transit(self.link_of(node), 1).0;
            self.arrive_late(node, at.0 + latency);
        }
    }

    fn link_of(&self, node: u32) -> foretrace_network::Link {
        let node = self.nodes.get(node);
        self.link(node.from, node.to)
    }

    /// The arrival of a message on a shared network is known.
    fn arrive_late(&mut self, index: u32, at: u64) {
        let Node { state, next, .. } = *self.nodes.get(index);
        match state {
            NodeState::Matched | NodeState::MatchedSender => {
                let message = self.nodes.remove_message(index);
                let receive = self.nodes.remove_receive(next);
                if state == NodeState::MatchedSender {
                    self.release(&message, receive.time, at);
                }
                self.arrive(&message, receive, at);
            }
            _ => {
                let node = self.nodes.get_mut(index);
                debug_assert_eq!(node.time, UNKNOWN);
                node.time = at;
                self.see_wild(index);
            }
        }
    }
}
