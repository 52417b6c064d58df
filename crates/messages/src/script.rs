//! Collectives as messages: what each member sends and receives.
//!
//! # Source
//!
//! R. Thakur, R. Rabenseifner, W. Gropp, *Optimization of Collective Communication Operations in MPICH*, 2005 (binomial
//! trees, recursive doubling and halving, ring, Rabenseifner's algorithm, pairwise exchange); D. Hensgen, R. Finkel, U.
//! Manber, *Two Algorithms for Barrier Synchronization*, 1988 (dissemination).

use foretrace_network::{Algorithm, CollectiveKind};

use crate::{BLOCKING, Collective, Kind, Mode, Operation};

/// What a member of a communicator knows of a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    pub call: Collective,
    pub algorithm: Algorithm,
    /// The world's rank of each member.
    pub members: &'a [u32],
    /// The member's own place among them.
    pub me: u32,
}

/// The operations that it does; requests are numbered from 0.
struct Script<'a> {
    member: Member<'a>,
    operations: Vec<Operation>,
    requests: u32,
}

/// Returns what a member of a collective does.
pub(crate) fn script(member: Member<'_>) -> Vec<Operation> {
    let mut script = Script {
        operations: Vec::new(),
        requests: 0,
        member,
    };
    let Collective { sent, received, .. } = member.call;
    match (member.call.kind, member.algorithm) {
        (CollectiveKind::Barrier, Algorithm::Linear) => {
            script.gather_linear(0);
            script.bcast_linear(0);
        }
        (CollectiveKind::Barrier, Algorithm::Binomial) => {
            script.reduce_binomial(0, 0);
            script.bcast_binomial(0);
        }
        (CollectiveKind::Barrier, Algorithm::RecursiveDoubling) => script.doubling(|_| 0, 0),
        (CollectiveKind::Barrier, _) => script.dissemination(),
        (CollectiveKind::Bcast, Algorithm::Linear) => script.bcast_linear(sent.max(received)),
        (CollectiveKind::Bcast, Algorithm::Ring) => {
            let part = sent.max(received).div_ceil(u64::from(script.size()));
            script.scatter_binomial(part);
            script.ring(part, script.size() - 1, 0);
        }
        (CollectiveKind::Bcast, _) => script.bcast_binomial(sent.max(received)),
        (CollectiveKind::Gather | CollectiveKind::Reduce, Algorithm::Linear) => {
            script.gather_linear(sent);
        }
        (CollectiveKind::Gather, _) => script.gather_binomial(sent),
        (CollectiveKind::Scatter, Algorithm::Linear) => script.bcast_linear(received),
        (CollectiveKind::Scatter, _) => script.scatter_binomial(received),
        (CollectiveKind::Allgather, Algorithm::Linear) => script.everybody(sent),
        (CollectiveKind::Allgather, Algorithm::Ring) => script.ring(sent, script.size() - 1, 0),
        (CollectiveKind::Allgather, _) => script.doubling(|step| sent << step.min(63), 0),
        (CollectiveKind::Alltoall, Algorithm::Pairwise) => script.pairwise(sent, 0),
        (CollectiveKind::Alltoall, _) => script.everybody(sent),
        (CollectiveKind::Reduce, _) => script.reduce_binomial(sent, member.call.work),
        (CollectiveKind::Allreduce, algorithm) => script.allreduce(algorithm, sent),
        (CollectiveKind::ReduceScatter, algorithm) => script.reduce_scatter(algorithm, sent),
        (CollectiveKind::Scan, Algorithm::Linear) => script.chain(sent),
        (CollectiveKind::Scan, _) => script.scan_doubling(sent),
    }
    script.operations
}

impl Script<'_> {
    fn size(&self) -> u32 {
        self.member.members.len() as u32
    }

    fn me(&self) -> u32 {
        self.member.me
    }

    /// Returns the root's place among the members.
    fn root(&self) -> u32 {
        let root = self.member.call.root;
        let place = self
            .member
            .members
            .iter()
            .position(|member| *member == root);
        place.unwrap_or(0) as u32
    }

    /// Returns this member's distance from the root, and the member at a distance.
    fn relative(&self) -> u32 {
        (self.me() + self.size() - self.root()) % self.size()
    }

    fn absolute(&self, relative: u32) -> u32 {
        (relative + self.root()) % self.size()
    }

    fn world(&self, place: u32) -> u32 {
        self.member.members[place as usize]
    }

    fn send(&mut self, to: u32, bytes: u64) {
        let to = self.world(to);
        self.operations.push(Operation::send(to, 0, bytes));
    }

    fn receive(&mut self, from: u32, bytes: u64) {
        let from = self.world(from);
        self.operations.push(Operation::receive(from, 0, bytes));
    }

    fn work(&mut self, picos: u64) {
        if picos > 0 {
            self.operations.push(Operation::work(picos));
        }
    }

    /// Sends to one while it receives from another.
    fn exchange(&mut self, to: u32, from: u32, bytes: u64) {
        let to = self.world(to);
        self.operations
            .push(Operation::send(to, 0, bytes).with_request(0));
        self.receive(from, bytes);
        self.operations.push(Operation::wait(0));
    }

    fn bcast_linear(&mut self, bytes: u64) {
        let root = self.root();
        if self.me() == root {
            for place in (0..self.size()).filter(|place| *place != root) {
                self.send(place, bytes);
            }
        } else {
            self.receive(root, bytes);
        }
    }

    fn gather_linear(&mut self, bytes: u64) {
        let (root, work) = (self.root(), self.member.call.work);
        if self.me() == root {
            for place in (0..self.size()).filter(|place| *place != root) {
                self.receive(place, bytes);
                self.work(work);
            }
        } else {
            self.send(root, bytes);
        }
    }

    fn bcast_binomial(&mut self, bytes: u64) {
        self.tree_down(|_, _| bytes);
    }

    /// The root gives each subtree what its members get.
    fn scatter_binomial(&mut self, bytes: u64) {
        self.tree_down(|subtree, _| bytes.saturating_mul(u64::from(subtree)));
    }

    /// Receives from the parent, then sends to the children, the largest subtree first.
    fn tree_down(&mut self, bytes: impl Fn(u32, u32) -> u64) {
        let (me, size) = (self.relative(), self.size());
        let mut mask = 1;
        while mask < size && me & mask == 0 {
            mask <<= 1;
        }
        let subtree = |root: u32, mask: u32| mask.min(size - root);
        if me > 0 {
            let parent = self.absolute(me - mask);
            self.receive(parent, bytes(subtree(me, mask), me));
        }
        mask >>= 1;
        while mask > 0 {
            if me + mask < size {
                let child = self.absolute(me + mask);
                self.send(child, bytes(subtree(me + mask, mask), me + mask));
            }
            mask >>= 1;
        }
    }

    fn gather_binomial(&mut self, bytes: u64) {
        self.tree_up(|subtree| bytes.saturating_mul(u64::from(subtree)), 0);
    }

    fn reduce_binomial(&mut self, bytes: u64, work: u64) {
        self.tree_up(|_| bytes, work);
    }

    fn tree_up(&mut self, bytes: impl Fn(u32) -> u64, work: u64) {
        let (me, size) = (self.relative(), self.size());
        let mut mask = 1;
        while mask < size {
            if me & mask != 0 {
                let parent = self.absolute(me - mask);
                self.send(parent, bytes(mask.min(size - me)));
                return;
            }
            if me + mask < size {
                let child = self.absolute(me + mask);
                self.receive(child, bytes(mask.min(size - me - mask)));
                self.work(work);
            }
            mask <<= 1;
        }
    }

    fn dissemination(&mut self) {
        let size = self.size();
        let mut distance = 1;
        while distance < size {
            let (to, from) = (
                (self.me() + distance) % size,
                (self.me() + size - distance) % size,
            );
            self.exchange(to, from, 0);
            distance *= 2;
        }
    }

    /// Partners at distances 1, 2, 4 ... exchange; where the size is no power of two, those that are too many first hand
    /// what they have to a neighbour, and get the result from it.
    fn doubling(&mut self, bytes: impl Fn(u32) -> u64, work: u64) {
        let (me, size) = (self.me(), self.size());
        let power = 1 << size.ilog2();
        let rest = size - power;
        if me < 2 * rest && me.is_multiple_of(2) {
            self.send(me + 1, bytes(0));
            self.receive(me + 1, bytes(power.ilog2()));
            return;
        }
        if me < 2 * rest {
            self.receive(me - 1, bytes(0));
            self.work(work);
        }
        let mine = if me < 2 * rest { me / 2 } else { me - rest };
        for step in 0..power.ilog2() {
            let partner = Self::folded(mine ^ (1 << step), rest);
            self.exchange(partner, partner, bytes(step));
            self.work(work);
        }
        if me < 2 * rest {
            self.send(me - 1, bytes(power.ilog2()));
        }
    }

    /// Returns the place of the member that has this number among the power of two.
    fn folded(number: u32, rest: u32) -> u32 {
        if number < rest {
            2 * number + 1
        } else {
            number + rest
        }
    }

    fn ring(&mut self, bytes: u64, steps: u32, work: u64) {
        let size = self.size();
        let (next, previous) = ((self.me() + 1) % size, (self.me() + size - 1) % size);
        for _ in 0..steps {
            self.exchange(next, previous, bytes);
            self.work(work);
        }
    }

    fn pairwise(&mut self, bytes: u64, work: u64) {
        let (me, size) = (self.me(), self.size());
        for step in 1..size {
            self.exchange((me + step) % size, (me + size - step) % size, bytes);
            self.work(work);
        }
    }

    /// Everybody sends to everybody, and only then waits.
    fn everybody(&mut self, bytes: u64) {
        let (me, size) = (self.me(), self.size());
        for step in 1..size {
            let from = self.world((me + size - step) % size);
            let receive = Operation::receive(from, 0, bytes).with_request(self.requests);
            self.operations.push(receive);
            self.requests += 1;
        }
        for step in 1..size {
            let to = self.world((me + step) % size);
            let send = Operation::send(to, 0, bytes).with_request(self.requests);
            self.operations.push(send);
            self.requests += 1;
        }
        for request in 0..self.requests {
            let mode = if request + 1 == self.requests {
                Mode::Standard
            } else {
                Mode::More
            };
            self.operations.push(Operation::wait(request).in_mode(mode));
        }
    }

    fn allreduce(&mut self, algorithm: Algorithm, bytes: u64) {
        let (size, work) = (self.size(), self.member.call.work);
        match algorithm {
            Algorithm::Linear => {
                self.gather_linear(bytes);
                self.bcast_linear(bytes);
            }
            Algorithm::Binomial => {
                self.reduce_binomial(bytes, work);
                self.bcast_binomial(bytes);
            }
            Algorithm::Ring => {
                let part = bytes.div_ceil(u64::from(size));
                self.ring(part, size - 1, work / u64::from(size));
                self.ring(part, size - 1, 0);
            }
            Algorithm::Rabenseifner => self.rabenseifner(bytes, work),
            _ => self.doubling(|_| bytes, work),
        }
    }

    fn rabenseifner(&mut self, bytes: u64, work: u64) {
        let (me, size) = (self.me(), self.size());
        let power = 1 << size.ilog2();
        let rest = size - power;
        if me < 2 * rest && me.is_multiple_of(2) {
            self.send(me + 1, bytes);
            self.receive(me + 1, bytes);
            return;
        }
        if me < 2 * rest {
            self.receive(me - 1, bytes);
            self.work(work);
        }
        let mine = if me < 2 * rest { me / 2 } else { me - rest };
        let steps = power.ilog2();
        let part = |step: u32| bytes.div_ceil(1 << (step + 1).min(63));
        for step in 0..steps {
            let partner = Self::folded(mine ^ (power >> (step + 1)), rest);
            self.exchange(partner, partner, part(step));
            self.work(work >> (step + 1).min(63));
        }
        for step in (0..steps).rev() {
            let partner = Self::folded(mine ^ (power >> (step + 1)), rest);
            self.exchange(partner, partner, part(step));
        }
        if me < 2 * rest {
            self.send(me - 1, bytes);
        }
    }

    fn reduce_scatter(&mut self, algorithm: Algorithm, bytes: u64) {
        let size = u64::from(self.size());
        let work = self.member.call.work;
        match algorithm {
            Algorithm::Pairwise => self.pairwise(bytes.div_ceil(size), work / size),
            Algorithm::Ring => self.ring(bytes.div_ceil(size), self.size() - 1, work / size),
            _ => self.doubling(|_| bytes, work),
        }
    }

    /// Each waits for the one before, and lets the next go on.
    fn chain(&mut self, bytes: u64) {
        let (me, work) = (self.me(), self.member.call.work);
        if me > 0 {
            self.receive(me - 1, bytes);
            self.work(work);
        }
        if me + 1 < self.size() {
            self.send(me + 1, bytes);
        }
    }

    fn scan_doubling(&mut self, bytes: u64) {
        let (me, size, work) = (self.me(), self.size(), self.member.call.work);
        let mut distance = 1;
        while distance < size {
            if me + distance < size {
                let to = self.world(me + distance);
                self.operations
                    .push(Operation::send(to, 0, bytes).with_request(0));
            }
            if me >= distance {
                self.receive(me - distance, bytes);
                self.work(work);
            }
            if me + distance < size {
                self.operations.push(Operation::wait(0));
            }
            distance *= 2;
        }
    }
}

/// Returns how many requests operations use.
pub(crate) fn requests_of(operations: impl Iterator<Item = Operation>) -> u32 {
    let used = operations.filter(|op| op.request != BLOCKING);
    used.map(|op| op.request + 1).max().unwrap_or(0)
}

/// A script as it is kept: 16 bytes a step, as there is one for each rank, and it should stay in the caches.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    steps: Box<[Step]>,
    /// How many requests it uses.
    pub requests: u32,
}

/// A step: an operation, or an exchange, which stands for a send that does not block, a receive and a wait.
#[derive(Clone, Copy, Debug)]
struct Step {
    value: u64,
    peer: u32,
    /// What it is in the lowest three bits, and above them a request, or whom an exchange receives from.
    code: u32,
}

const WORK: u32 = 0;
const SEND: u32 = 1;
const RECEIVE: u32 = 2;
const BEGIN_SEND: u32 = 3;
const BEGIN_RECEIVE: u32 = 4;
const WAIT: u32 = 5;
const WAIT_MORE: u32 = 6;
const EXCHANGE: u32 = 7;

/// Places in a script count by fours, so that the parts of an exchange have their own.
const PARTS: u32 = 4;

impl Packed {
    pub fn new(operations: &[Operation]) -> Self {
        let mut steps = Vec::new();
        let mut rest = operations;
        while let Some(first) = rest.first() {
            let (step, used) = match rest {
                [send, receive, wait, ..] if is_exchange(send, receive, wait) => {
                    let code = EXCHANGE | receive.peer << 3;
                    (
                        Step {
                            value: send.value,
                            peer: send.peer,
                            code,
                        },
                        3,
                    )
                }
                _ => (
                    Step {
                        value: first.value,
                        peer: first.peer,
                        code: code_of(first),
                    },
                    1,
                ),
            };
            steps.push(step);
            rest = &rest[used..];
        }
        Self {
            steps: steps.into_boxed_slice(),
            requests: requests_of(operations.iter().copied()),
        }
    }

    /// Returns the operation at a place; `None` at the end.
    #[inline]
    pub fn get(&self, place: u32) -> Option<Operation> {
        let step = self.steps.get((place / PARTS) as usize)?;
        let above = step.code >> 3;
        Some(match step.code & 7 {
            WORK => Operation::work(step.value),
            SEND => Operation::send(step.peer, 0, step.value),
            RECEIVE => Operation::receive(step.peer, 0, step.value),
            BEGIN_SEND => Operation::send(step.peer, 0, step.value).with_request(above),
            BEGIN_RECEIVE => Operation::receive(step.peer, 0, step.value).with_request(above),
            WAIT => Operation::wait(above),
            WAIT_MORE => Operation::wait(above).in_mode(Mode::More),
            _ => match place % PARTS {
                0 => Operation::send(step.peer, 0, step.value).with_request(0),
                1 => Operation::receive(above, 0, step.value),
                _ => Operation::wait(0),
            },
        })
    }

    /// Returns the place so many steps behind another, none of which is an exchange.
    #[inline]
    pub fn ahead(place: u32, steps: usize) -> u32 {
        (place / PARTS + steps as u32) * PARTS
    }

    /// Returns whether a place is the wait of an exchange, for the first request of the script.
    #[inline]
    pub fn ends_exchange(place: u32) -> bool {
        place % PARTS == 2
    }

    /// Returns the place behind another.
    #[inline]
    pub fn next(&self, place: u32) -> u32 {
        let is_exchange = self.steps[(place / PARTS) as usize].code & 7 == EXCHANGE;
        if is_exchange && place % PARTS < 2 {
            place + 1
        } else {
            (place / PARTS + 1) * PARTS
        }
    }
}

fn is_exchange(send: &Operation, receive: &Operation, wait: &Operation) -> bool {
    let (is_send, is_receive) = (send.kind == Kind::Send, receive.kind == Kind::Receive);
    is_send
        && is_receive
        && wait.kind == Kind::Wait
        && (send.request, receive.request, wait.request) == (0, BLOCKING, 0)
        && send.value == receive.value
}

fn code_of(op: &Operation) -> u32 {
    match (op.kind, op.request) {
        (Kind::Send, BLOCKING) => SEND,
        (Kind::Send, request) => BEGIN_SEND | request << 3,
        (Kind::Receive, BLOCKING) => RECEIVE,
        (Kind::Receive, request) => BEGIN_RECEIVE | request << 3,
        (Kind::Wait, request) if op.mode == Mode::More => WAIT_MORE | request << 3,
        (Kind::Wait, request) => WAIT | request << 3,
        _ => WORK,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn in_every_algorithm_all_that_is_sent_is_received() {
        for kind in CollectiveKind::ALL {
            for algorithm in Algorithm::of(kind) {
                for size in [1, 2, 3, 4, 5, 7, 8, 13, 16] {
                    balanced(kind, *algorithm, size);
                }
            }
        }
    }

    #[test]
    fn a_packed_script_is_the_same() {
        let members: Vec<u32> = (0..7).collect();
        for kind in CollectiveKind::ALL {
            for algorithm in Algorithm::of(kind) {
                let member = Member {
                    call: Collective {
                        kind,
                        root: 3,
                        sent: 100,
                        received: 100,
                        work: 5,
                    },
                    algorithm: *algorithm,
                    members: &members,
                    me: 2,
                };
                let operations = script(member);
                let packed = Packed::new(&operations);
                let (mut unpacked, mut place) = (Vec::new(), 0);
                while let Some(op) = packed.get(place) {
                    unpacked.push(op);
                    place = packed.next(place);
                }
                assert_eq!(unpacked, operations, "{kind:?} {algorithm:?}");
            }
        }
    }

    fn balanced(kind: CollectiveKind, algorithm: Algorithm, size: u32) {
        let members: Vec<u32> = (10..10 + size).collect();
        let mut messages: BTreeMap<(u32, u32, u64), i64> = BTreeMap::new();
        for me in 0..size {
            let call = Collective {
                kind,
                root: members[(size / 2) as usize],
                sent: 1_000,
                received: 1_000,
                work: 0,
            };
            let member = Member {
                call,
                algorithm,
                members: &members,
                me,
            };
            let rank = members[me as usize];
            for op in script(member) {
                match op.kind {
                    Kind::Send => *messages.entry((rank, op.peer, op.value)).or_default() += 1,
                    Kind::Receive => *messages.entry((op.peer, rank, op.value)).or_default() -= 1,
                    _ => {}
                }
                assert_ne!(op.peer, rank, "{kind:?} {algorithm:?} {size}: to itself");
            }
        }
        let odd: Vec<_> = messages.iter().filter(|(_, count)| **count != 0).collect();
        assert!(odd.is_empty(), "{kind:?} {algorithm:?} {size}: {odd:?}");
    }
}
