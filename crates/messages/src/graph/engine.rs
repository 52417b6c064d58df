//! The replay of task graphs, as LogGOPSim does it: an operation that is free tries to get its CPU (a send also its
//! interface), and where that is taken tries again when it will be free; a message keeps its receiver's CPU busy when it
//! comes, whether or not a receive waits.
//!
//! # Source
//!
//! The behaviour of LogGOPSim, checked against the times that it prints.

use std::{cmp::Reverse, collections::BinaryHeap};

use foretrace_network::{Link, Network};
use foretrace_schedule::SimTime;

use super::{
    TaskGraph, TaskKind,
    matching::{Queue, Waiting},
    order::sort_by_key,
};
use crate::{ANY, LeftOver, Outcome, Run, Stuck, observer::Observer};

/// Something to be tried at a time; of several the one first that was made first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Try {
    at: u64,
    number: u64,
    task: u32,
    /// Whether it is the task's message, on its way to its receiver.
    is_message: bool,
}

struct Engine<'a, O> {
    graph: &'a TaskGraph,
    network: &'a Network,
    observer: O,
    tries: BinaryHeap<Reverse<Try>>,
    count: u64,
    needs: Vec<u32>,
    done: Vec<bool>,
    /// When each send began.
    sent: Vec<u64>,
    /// When each CPU is free, and each interface to send and to receive.
    cpu_free: Vec<u64>,
    send_free: Vec<u64>,
    receive_free: Vec<u64>,
    wanted: Queue,
    unexpected: Queue,
    /// Ranks of which operations have become free, and those.
    free: Vec<(u32, u32)>,
}

/// Replays a graph.
pub(crate) fn run<O: Observer>(graph: &TaskGraph, network: &Network, observer: O) -> (Run, O) {
    let ranks = graph.ranks() as usize;
    let open = |task: &super::Task| {
        task.kind == TaskKind::Receive && (task.peer == ANY || task.tag == ANY)
    };
    let is_open = graph.tasks.iter().any(open);
    let mut engine = Engine {
        graph,
        network,
        observer,
        tries: BinaryHeap::new(),
        count: 0,
        needs: graph.needs.clone(),
        done: vec![false; graph.tasks.len()],
        sent: vec![0; graph.tasks.len()],
        cpu_free: vec![0; ranks * graph.cpus as usize],
        send_free: vec![0; ranks * graph.nics as usize],
        receive_free: vec![0; ranks * graph.nics as usize],
        wanted: Queue::new(is_open),
        unexpected: Queue::new(is_open),
        free: Vec::new(),
    };
    for rank in 0..graph.ranks() {
        for task in graph.starts[rank as usize]..graph.starts[rank as usize + 1] {
            if graph.needs[task] == 0 {
                engine.free.push((rank, task as u32));
            }
        }
    }
    engine.queue_free(true);
    while let Some(Reverse(next)) = engine.tries.pop() {
        engine.attempt(next);
        engine.queue_free(false);
        if engine.observer.is_cancelled() {
            break;
        }
    }
    engine.finish()
}

impl<O: Observer> Engine<'_, O> {
    /// Puts operations that have become free into the queue: rank by rank, in each sends before receives before work.
    fn queue_free(&mut self, is_first: bool) {
        let mut free = std::mem::take(&mut self.free);
        free.sort_by_key(|(rank, _)| *rank);
        let mut rest = free.as_mut_slice();
        while let Some(&(rank, _)) = rest.first() {
            let count = rest.iter().take_while(|(other, _)| *other == rank).count();
            let (own, others) = rest.split_at_mut(count);
            sort_by_key(own, |(_, task)| self.graph.tasks[*task as usize].kind as u8);
            for &mut (rank, task) in own {
                let at = if is_first {
                    0
                } else {
                    self.earliest(rank, task)
                };
                self.push(at, task, false);
            }
            rest = others;
        }
        free.clear();
        self.free = free;
    }

    fn push(&mut self, at: u64, task: u32, is_message: bool) {
        let number = self.count;
        self.count += 1;
        self.tries.push(Reverse(Try {
            at,
            number,
            task,
            is_message,
        }));
    }

    fn cpu(&self, rank: u32, task: u32) -> usize {
        (rank * self.graph.cpus + u32::from(self.graph.tasks[task as usize].cpu)) as usize
    }

    fn nic(&self, rank: u32, task: u32) -> usize {
        (rank * self.graph.nics + u32::from(self.graph.tasks[task as usize].nic)) as usize
    }

    /// Returns when an operation could begin at the earliest.
    fn earliest(&self, rank: u32, task: u32) -> u64 {
        let cpu = self.cpu_free[self.cpu(rank, task)];
        match self.graph.tasks[task as usize].kind {
            TaskKind::Send => cpu.max(self.send_free[self.nic(rank, task)]),
            _ => cpu,
        }
    }

    fn attempt(&mut self, next: Try) {
        let rank = self.graph.rank_of(next.task);
        if next.is_message {
            return self.message(next, rank);
        }
        let kind = self.graph.tasks[next.task as usize].kind;
        let earliest = self.earliest(rank, next.task);
        if kind != TaskKind::Receive && earliest > next.at {
            // As first made, so that those that wait for the same CPU keep their order.
            self.tries.push(Reverse(Try {
                at: earliest,
                ..next
            }));
            return;
        }
        match kind {
            TaskKind::Work => self.work(next, rank),
            TaskKind::Send => self.send(next, rank),
            TaskKind::Receive => self.receive(next, rank),
        }
    }

    fn occupy(&mut self, rank: u32, task: u32, start: u64, end: u64) {
        let cpu = self.cpu(rank, task);
        self.cpu_free[cpu] = end;
        let is_call = self.graph.tasks[task as usize].kind != TaskKind::Work;
        self.observer
            .operation(cpu as u32, start, task as usize, is_call);
        self.observer.busy(cpu as u32, start, end, task as usize);
    }

    fn work(&mut self, next: Try, rank: u32) {
        let picos = self.graph.tasks[next.task as usize].value;
        let speed = self.network.speed_of_rank[rank as usize];
        #[expect(clippy::cast_sign_loss, reason = "speeds are above zero")]
        let picos = if (speed - 1.0).abs() < f64::EPSILON {
            picos
        } else {
            (picos as f64 / speed).round() as u64
        };
        self.occupy(rank, next.task, next.at, next.at.saturating_add(picos));
        self.begun(next.task);
        self.over(next.task);
    }

    fn link(&self, from: u32, to: u32) -> Link {
        let node = |rank: u32| self.network.node_of_rank[rank as usize];
        Link {
            from: node(from),
            to: node(to),
        }
    }

    fn send(&mut self, next: Try, rank: u32) {
        let task = self.graph.tasks[next.task as usize];
        let link = self.link(rank, task.peer);
        let model = &self.network.model;
        let busy_until = next.at + model.send_overhead(link, task.value).0;
        let (gap, arrival) = match model.loggopsim() {
            // The first byte; the others are charged where they are received.
            Some(own) => (
                own.interface_gap(task.value).0,
                next.at + own.overhead.0 + own.latency.0,
            ),
            None => (0, busy_until + model.transit(link, task.value).0),
        };
        let is_eager = model.handshake(link, task.value).is_none();
        self.begun(next.task);
        self.occupy(rank, next.task, next.at, busy_until);
        let nic = self.nic(rank, next.task);
        self.send_free[nic] = next.at + gap;
        self.sent[next.task as usize] = next.at;
        self.push(arrival, next.task, true);
        if is_eager {
            self.over(next.task);
        }
    }

    fn receive(&mut self, next: Try, rank: u32) {
        let task = self.graph.tasks[next.task as usize];
        self.begun(next.task);
        if let Some(message) = self.unexpected.take(rank, task.peer, task.tag) {
            if !self.done[message.task as usize] {
                let sender = self.graph.rank_of(message.task);
                self.observer.release(rank, next.at, sender, next.at);
            }
            self.release(message.task, next.at);
            self.over(next.task);
        } else {
            let waiting = Waiting {
                from: task.peer,
                tag: task.tag,
                task: next.task,
            };
            self.wanted.put(rank, waiting);
        }
    }

    fn message(&mut self, next: Try, sender: u32) {
        let task = self.graph.tasks[next.task as usize];
        let rank = task.peer;
        let (cpu, nic) = (self.cpu(rank, next.task), self.nic(rank, next.task));
        let earliest = self.cpu_free[cpu].max(self.receive_free[nic]);
        if earliest > next.at {
            self.tries.push(Reverse(Try {
                at: earliest,
                ..next
            }));
            return;
        }
        let link = self.link(sender, rank);
        let model = &self.network.model;
        let end = next.at + model.receive_overhead(link, task.value).0;
        let gap = model
            .loggopsim()
            .map_or(0, |own| own.interface_gap(task.value).0);
        self.occupy(rank, next.task, next.at, end);
        self.receive_free[nic] = next.at + gap;
        let sent = self.sent[next.task as usize];
        self.observer
            .message(sender, sent, rank, next.at, task.value, false);
        if let Some(receive) = self.wanted.take(rank, sender, task.tag) {
            self.release(next.task, next.at);
            self.over(receive.task);
        } else {
            let waiting = Waiting {
                from: sender,
                tag: task.tag,
                task: next.task,
            };
            self.unexpected.put(rank, waiting);
        }
    }

    /// Lets the sender of a message that waited for its receive go on, from that instant.
    fn release(&mut self, send: u32, at: u64) {
        if self.done[send as usize] {
            return;
        }
        let rank = self.graph.rank_of(send);
        let (cpu, nic) = (self.cpu(rank, send), self.nic(rank, send));
        self.cpu_free[cpu] = self.cpu_free[cpu].max(at);
        self.send_free[nic] = self.send_free[nic].max(at);
        self.over(send);
    }

    fn begun(&mut self, task: u32) {
        self.satisfy(task, true);
    }

    fn over(&mut self, task: u32) {
        self.done[task as usize] = true;
        self.satisfy(task, false);
    }

    fn satisfy(&mut self, task: u32, by_begin: bool) {
        for &(dependent, begin_is_enough) in self.graph.dependents_of(task) {
            if begin_is_enough != by_begin {
                continue;
            }
            self.needs[dependent as usize] -= 1;
            if self.needs[dependent as usize] == 0 {
                self.free.push((self.graph.rank_of(dependent), dependent));
            }
        }
    }

    fn finish(self) -> (Run, O) {
        let cpus = self.graph.cpus as usize;
        let ends: Vec<SimTime> = self
            .cpu_free
            .chunks(cpus)
            .map(|cpus| SimTime(cpus.iter().copied().max().unwrap_or_default()))
            .collect();
        let stuck = self.stuck(&ends);
        let known = |number: u32| (number != ANY).then_some(number);
        let left: Vec<LeftOver> = self
            .unexpected
            .left()
            .into_iter()
            .map(|(to, waiting)| LeftOver {
                is_message: true,
                from: known(waiting.from),
                to,
                tag: known(waiting.tag),
            })
            .collect();
        let outcome = if !stuck.is_empty() {
            Outcome::Deadlock(stuck)
        } else if left.is_empty() {
            Outcome::Completed
        } else {
            Outcome::LeftOver
        };
        let is_done = |rank: usize| {
            let tasks = self.graph.starts[rank]..self.graph.starts[rank + 1];
            self.done[tasks].iter().all(|done| *done)
        };
        let run = Run {
            end: ends.iter().max().copied().unwrap_or_default(),
            finish: ends
                .iter()
                .enumerate()
                .map(|(rank, end)| is_done(rank).then_some(*end))
                .collect(),
            outcome,
            messages: self.graph.messages(),
            left_over: left,
        };
        (run, self.observer)
    }

    /// Returns the operations that wait for a message or a receive; of ranks that have none, the first that others hold up.
    fn stuck(&self, ends: &[SimTime]) -> Vec<Stuck> {
        let mut stuck = Vec::new();
        for rank in 0..self.graph.ranks() {
            let tasks = self.graph.starts[rank as usize]..self.graph.starts[rank as usize + 1];
            let mut open = tasks.filter(|task| !self.done[*task]);
            let Some(first) = open.next() else { continue };
            let waits = |task: &usize| self.needs[*task] == 0;
            let task = std::iter::once(first)
                .chain(open)
                .find(waits)
                .unwrap_or(first);
            let task = self.graph.tasks[task];
            let call = match task.kind {
                TaskKind::Send => "send",
                TaskKind::Receive => "recv",
                TaskKind::Work => "calc",
            };
            let is_message = task.kind != TaskKind::Work;
            stuck.push(Stuck {
                rank,
                call: call.to_owned(),
                peer: (is_message && task.peer != ANY).then_some(task.peer),
                tag: (is_message && task.tag != ANY).then_some(task.tag),
                communicator: "world".to_owned(),
                since: ends[rank as usize],
            });
        }
        stuck
    }
}
