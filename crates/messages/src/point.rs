//! Messages from one rank to another: sends, receives, and how they meet.

use foretrace_network::{Handshake, ReceiveRule};

use crate::{
    BLOCKING, Mode, Operation,
    channel::{CONTEXT, Key, Message, NIL, Node, NodeState, Receive, UNKNOWN},
    engine::{Engine, Event, Request, RequestState},
    observer::{Observer, Why},
    script::Packed,
};

impl<O: Observer> Engine<'_, O> {
    /// Sends a message. Returns whether the lane goes on.
    pub fn send(&mut self, index: u32, op: Operation) -> bool {
        let lane = &self.lanes[index as usize];
        let (rank, start) = (lane.rank, lane.clock);
        let link = self.link(rank, op.peer);
        let key = Key {
            communicator: op.communicator,
            from: rank,
            to: op.peer,
            tag: op.tag,
        };
        self.sent += 1;
        let cost = self.costs.of(link, op.value);
        let handshake = match op.mode {
            Mode::Buffered => None,
            Mode::Synchronous => Some(self.model.forced_handshake(link)),
            _ => cost.handshake,
        };
        let mut message = Message {
            time: UNKNOWN,
            sent: start,
            bytes: op.value,
            lane: index,
            from: rank,
            to: op.peer,
            request: op.request,
            shakes_hands: handshake.is_some(),
        };
        if let Some(handshake) = handshake {
            message.time = start + handshake.request.0;
            if op.request == BLOCKING {
                self.block(index, Why::Receiver, NIL);
            } else {
                let end = start + handshake.busy.0;
                self.busy(index, start, end);
                let lane = &mut self.lanes[index as usize];
                lane.clock = end;
                lane.requests[op.request as usize] = Request::PENDING;
                self.step(index);
            }
            self.deliver(key, message);
            return self.is_running(index);
        }
        let end = start + cost.send;
        self.busy(index, start, end);
        let lane = &mut self.lanes[index as usize];
        lane.clock = end;
        if op.request != BLOCKING {
            lane.requests[op.request as usize] = Request::done(end);
        }
        if self.is_shared(rank, op.peer) {
            let node = self.deliver(key, message);
            self.events
                .push(std::cmp::Reverse((end, Event::Start(rank, node))));
        } else {
            message.time = end + cost.transit;
            self.deliver(key, message);
        }
        self.step(index);
        true
    }

    /// Moves data to or from another rank's memory, without that rank. Other messages are not in its way. Returns whether the lane goes on: it does.
    #[cold]
    pub fn alone(&mut self, index: u32, op: Operation) -> bool {
        let lane = &self.lanes[index as usize];
        let (rank, start) = (lane.rank, lane.clock);
        let (there, back) = match op.mode {
            Mode::Back => (0, op.value),
            Mode::Both => (op.value, op.value),
            _ => (op.value, 0),
        };
        let request = self.costs.of(self.link(rank, op.peer), there);
        let answer = self.costs.of(self.link(op.peer, rank), back);
        let sent = start + request.send;
        let arrived = sent + request.transit;
        let over = arrived + answer.transit;
        self.sent += 1;
        self.busy(index, start, sent);
        if O::WATCHES {
            let (from, to) = ((rank, start), (op.peer, arrived));
            self.observer
                .message(from.0, from.1, to.0, to.1, op.value, false);
        }
        let lane = &mut self.lanes[index as usize];
        lane.clock = sent;
        let all = &mut lane.requests[op.request as usize];
        let before = match all.state() {
            RequestState::Done(at) => at,
            _ => 0,
        };
        *all = Request::done(before.max(over));
        self.step(index);
        true
    }

    /// Returns whether messages between two ranks get in each other's way.
    #[inline]
    pub fn is_shared(&self, from: u32, to: u32) -> bool {
        (self.transfers.is_some() || self.flows.is_some()) && !self.link(from, to).is_within()
    }

    /// Brings a message to its receiver, where it meets a receive or waits for one. Returns its node, where it has one.
    #[expect(clippy::inline_always, reason = "a message is copied otherwise")]
    #[inline(always)]
    fn deliver(&mut self, key: Key, message: Message) -> u32 {
        if key.communicator & CONTEXT == 0 && self.wild[key.to as usize].is_some() {
            return self.deliver_wild(key, message);
        }
        let queue = self.channels.find(key);
        let first = self.channels.first(queue, &self.nodes);
        if first == NIL || self.nodes.get(first).state != NodeState::Receive {
            let node = self.nodes.add(message.into());
            self.channels.put(queue, &mut self.nodes, node);
            return node;
        }
        self.channels.take(queue, &mut self.nodes);
        if message.time == UNKNOWN {
            let node = self.nodes.add(message.into());
            self.match_in_flight(node, first);
            return node;
        }
        let receive = self.nodes.remove_receive(first);
        self.meet(message, receive);
        NIL
    }

    /// Notes the receive of a message that is still under way.
    pub fn match_in_flight(&mut self, message: u32, receive: u32) {
        let node = self.nodes.get_mut(message);
        node.state = NodeState::Matched;
        node.next = receive;
    }

    /// Receives a message. Returns whether the lane goes on.
    pub fn receive(&mut self, index: u32, op: Operation) -> bool {
        let lane = &mut self.lanes[index as usize];
        let receive = Receive {
            time: lane.clock,
            lane: index,
            request: op.request,
        };
        let rank = lane.rank;
        if op.request == BLOCKING {
            self.block(index, Why::Message, NIL);
        } else {
            lane.requests[op.request as usize] = Request::PENDING;
            self.step(index);
        }
        if op.communicator & CONTEXT == 0 && self.wild[rank as usize].is_some() {
            self.post_wild(rank, op, receive);
        } else {
            let queue = self.channels.find(Key {
                communicator: op.communicator,
                from: op.peer,
                to: rank,
                tag: op.tag,
            });
            let first = self.channels.first(queue, &self.nodes);
            if first == NIL || self.nodes.get(first).state == NodeState::Receive {
                let node = self.nodes.add(receive.into());
                self.channels.put(queue, &mut self.nodes, node);
            } else {
                self.channels.take(queue, &mut self.nodes);
                self.take_message(first, receive);
            }
        }
        self.is_running(index)
    }

    /// Lets a receive have a message that has a node.
    #[expect(clippy::inline_always, reason = "a message is copied otherwise")]
    #[inline(always)]
    pub fn take_message(&mut self, message: u32, receive: Receive) {
        if self.nodes.get(message).time == UNKNOWN {
            let receive = self.nodes.add(receive.into());
            self.match_in_flight(message, receive);
        } else {
            let message = self.nodes.remove_message(message);
            self.meet(message, receive);
        }
    }

    /// A message and its receive have met.
    #[expect(clippy::inline_always, reason = "a message is copied otherwise")]
    #[inline(always)]
    pub fn meet(&mut self, message: Message, receive: Receive) {
        if message.shakes_hands {
            self.shake_hands(message, receive);
        } else {
            self.arrive(&message, receive, message.time);
        }
    }

    /// The receiver lets the sender send its data.
    fn shake_hands(&mut self, message: Message, receive: Receive) {
        let is_late = self.is_heeded_later(message.lane, message.request)
            || self.is_heeded_later(receive.lane, receive.request);
        if is_late {
            let receive = self.nodes.add(receive.into());
            let message = self.nodes.add(message.into());
            self.match_in_flight(message, receive);
            return self.meet_later(message);
        }
        let (handshake, overhead) = self.handshake_of(&message);
        let leaves = match self.model.receive_rule() {
            ReceiveRule::AfterArrival => {
                message.time.max(receive.time) + handshake.answer.0 + overhead
            }
            ReceiveRule::WhenCalled => {
                let link = self.link(message.from, message.to);
                // One that does not block pays for its start only when it is waited for.
                let start = match receive.request {
                    BLOCKING => self.model.receive_overhead(link, message.bytes).0,
                    _ => 0,
                };
                let ready = receive.time + start;
                ready.max(message.time + overhead)
            }
        };
        self.transfer(message, receive, leaves);
    }

    /// Returns what is exchanged before a message's data, and the CPU time of handing these over.
    pub fn handshake_of(&self, message: &Message) -> (Handshake, u64) {
        let link = self.link(message.from, message.to);
        let handshake = self
            .model
            .handshake(link, message.bytes)
            .unwrap_or_else(|| self.model.forced_handshake(link));
        (handshake, self.model.send_overhead(link, message.bytes).0)
    }

    /// The data of a message leave its sender, for a receive.
    pub fn transfer(&mut self, message: Message, receive: Receive, leaves: u64) {
        let (sender, receiver) = (message.from, message.to);
        let link = self.link(sender, receiver);
        let (handshake, _) = self.handshake_of(&message);
        if self.is_shared(sender, receiver) {
            if !handshake.until_arrival {
                self.release(&message, receive.time, leaves);
            }
            let receive = self.nodes.add(receive.into());
            let node = self.nodes.add(Node {
                time: UNKNOWN,
                ..message.into()
            });
            self.match_in_flight(node, receive);
            self.nodes.get_mut(node).state = if handshake.until_arrival {
                NodeState::MatchedSender
            } else {
                NodeState::Matched
            };
            self.events
                .push(std::cmp::Reverse((leaves, Event::Start(sender, node))));
            return;
        }
        let arrival = leaves + self.model.transit(link, message.bytes).0;
        let released = release_time(handshake, leaves, arrival);
        self.release(&message, receive.time, released);
        self.arrive(&message, receive, arrival);
    }

    /// Lets the sender of a message that it waits for go on, whose receive was called at a time.
    pub fn release(&mut self, message: &Message, called: u64, at: u64) {
        if called > message.time {
            self.observer.release(message.to, called, message.from, at);
        }
        if message.request == BLOCKING {
            self.waited(message.lane, message.sent, at, Why::Receiver);
            self.resume(message.lane, at);
        } else {
            self.complete(message.lane, message.request, Request::done(at));
        }
    }

    /// A message arrives for its receive.
    #[expect(clippy::inline_always, reason = "a message is copied otherwise")]
    #[inline(always)]
    pub fn arrive(&mut self, message: &Message, receive: Receive, arrival: u64) {
        let (from, to) = (message.from, message.to);
        let link = self.link(from, to);
        let overhead = self.costs.of(link, message.bytes).receive;
        self.observer.message(
            from,
            message.sent,
            to,
            arrival.max(receive.time),
            message.bytes,
            message.shakes_hands && receive.time > message.time,
        );
        self.note_cause(message, &receive, arrival);
        if receive.request != BLOCKING {
            self.complete(
                receive.lane,
                receive.request,
                Request::arrived(arrival, overhead),
            );
            return;
        }
        let end = self.received(receive.lane, receive.time, (arrival, overhead));
        self.resume(receive.lane, end);
    }

    /// Lets a receiver that called at a time wait for a message and be busy with it. Returns when it has the message.
    #[inline]
    fn received(&mut self, index: u32, called: u64, (arrival, overhead): (u64, u64)) -> u64 {
        match self.costs.rule {
            ReceiveRule::AfterArrival => {
                let begin = called.max(arrival);
                self.waited(index, called, begin, Why::Message);
                self.busy(index, begin, begin + overhead);
                begin + overhead
            }
            ReceiveRule::WhenCalled => {
                let begun = called + overhead;
                let end = begun.max(arrival);
                self.busy(index, called, begun);
                self.waited(index, begun, end, Why::Message);
                end
            }
        }
    }

    /// Waits for a request, or for several at once. Returns whether the lane goes on.
    pub fn wait(&mut self, index: u32, first: Operation) -> bool {
        if first.mode == Mode::More {
            return self.wait_for_all(index, first);
        }
        let lane = &mut self.lanes[index as usize];
        let clock = lane.clock;
        let request = &mut lane.requests[first.request as usize];
        match request.state() {
            RequestState::Pending => {
                *request = Request::AWAITED;
                lane.missing = 1;
                return self.block(index, Why::Message, first.request);
            }
            RequestState::Done(at) => {
                *request = Request::FREE;
                self.wait_until(index, clock, (at, first.request));
            }
            RequestState::Arrived(at, overhead) => {
                *request = Request::FREE;
                self.see_to(index, clock, at, overhead);
            }
            RequestState::Free => {}
        }
        self.end_hand_over(index);
        self.step(index);
        true
    }

    fn wait_for_all(&mut self, index: u32, first: Operation) -> bool {
        let mut awaited = std::mem::take(&mut self.awaited);
        self.list_awaited(index, first, &mut awaited);
        let goes_on = self.wait_for_these(index, &awaited);
        self.awaited = awaited;
        goes_on
    }

    fn wait_for_these(&mut self, index: u32, awaited: &[u32]) -> bool {
        let lane = &mut self.lanes[index as usize];
        let mut missing = 0;
        for request in awaited {
            let state = &mut lane.requests[*request as usize];
            if state.state() == RequestState::Pending {
                *state = Request::AWAITED;
                lane.awaited = *request;
                missing += 1;
            }
        }
        lane.missing = missing;
        if missing > 0 {
            let last = lane.awaited;
            return self.block(index, Why::Message, last);
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        arrived.clear();
        let mut latest = (0, NIL);
        for request in awaited {
            let state = std::mem::replace(&mut lane.requests[*request as usize], Request::FREE);
            match state.state() {
                RequestState::Done(at) => latest = latest.max((at, *request)),
                RequestState::Arrived(at, overhead) => arrived.push((at, overhead)),
                RequestState::Free | RequestState::Pending => {}
            }
        }
        let mut clock = lane.clock;
        // The messages are seen to as they come.
        arrived.sort_unstable();
        for (arrival, overhead) in &arrived {
            clock = self.see_to(index, clock, *arrival, *overhead);
        }
        self.arrived = arrived;
        self.wait_until(index, clock, latest);
        self.end_hand_over(index);
        for _ in awaited {
            self.step(index);
        }
        true
    }

    /// Takes a message that a request is for, as soon as it is there. Returns when the lane has it.
    #[inline]
    fn see_to(&mut self, index: u32, called: u64, arrival: u64, overhead: u64) -> u64 {
        let end = self.received(index, called, (arrival, overhead));
        self.lanes[index as usize].clock = end;
        end
    }

    /// Waits until a message of the lane's own has gone, or what else it began with a request is over.
    #[inline]
    fn wait_until(&mut self, index: u32, clock: u64, (at, request): (u64, u32)) {
        if at > clock {
            let why = self.why(index, request);
            self.waited(index, clock, at, why);
            self.lanes[index as usize].clock = at;
        }
    }

    /// Lists the requests that a lane waits for at once, of each operation of the wait.
    fn list_awaited(&self, index: u32, first: Operation, awaited: &mut Vec<u32>) {
        let lane = &self.lanes[index as usize];
        awaited.clear();
        awaited.push(first.request);
        let mut op = first;
        if lane.script == NIL {
            let mut position = lane.position + 1;
            while op.mode == Mode::More && position < lane.end {
                op = self.program.at(position);
                awaited.push(op.request);
                position += 1;
            }
            return;
        }
        let script = &self.scripts[lane.script as usize];
        let mut steps = 1;
        while op.mode == Mode::More
            && let Some(next) = script.get(Packed::ahead(lane.script_at, steps))
        {
            op = next;
            awaited.push(op.request + lane.script_requests);
            steps += 1;
        }
    }

    /// Waits until a message can be received. Returns whether the lane goes on.
    pub fn probe(&mut self, index: u32, op: Operation) -> bool {
        let lane = &self.lanes[index as usize];
        let (rank, time) = (lane.rank, lane.clock);
        self.block(index, Why::Message, NIL);
        let probe = Receive {
            time,
            lane: index,
            request: BLOCKING,
        };
        self.post_wild(rank, op, probe);
        self.is_running(index)
    }
}

/// Returns when the sender of a message goes on.
fn release_time(handshake: Handshake, leaves: u64, arrival: u64) -> u64 {
    if handshake.until_arrival {
        arrival
    } else {
        leaves
    }
}
