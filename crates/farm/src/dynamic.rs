//! Masters that come and go, by how long their slaves wait.
//!
//! The paper says that masters split and merge by the statistics of the slaves' waiting times, from the request of a task
//! until its assignment, and that half of the tasks and half of the slaves go to a slave that is master until those tasks
//! are done. How long is too long it leaves open; here a master splits when, over a round (as many results as it has
//! slaves), its slaves waited more than a tenth of their time, and has at least four of them and two tasks for each.
//!
//! # Source
//!
//! MSE, section 3.2 (DY).

use std::{cmp::Reverse, collections::BinaryHeap};

use foretrace_network::Network;
use foretrace_schedule::SimTime;

use crate::{
    Farm, MasterTime, Outcome, Share,
    leg::{Leg, Slave},
};

/// Of a slave's time, the part of waiting from which on its master splits: one in so many.
const TOO_LONG: u64 = 10;

/// The fewest slaves that can be divided so that either half has a master and slaves.
const FEWEST_SLAVES: usize = 4;

/// The size of the messages that divide and that merge.
const CONTROL_BYTES: u64 = 8;

/// Runs a farm.
pub(crate) fn run(farm: &Farm, network: &Network) -> Outcome {
    let ranks = network.node_of_rank.len() as u32;
    let slaves: Vec<u32> = (1..ranks).collect();
    let share = Share {
        first: 0,
        count: farm.tasks,
    };
    let mut group = Group::new(farm, network, 0, &slaves, share, 0);
    group.run();
    Outcome {
        makespan: SimTime(group.clock),
        master: group.time,
        masters: group.masters,
    }
}

/// A master and its slaves.
struct Group<'a> {
    farm: &'a Farm,
    network: &'a Network,
    master: u32,
    slaves: Vec<Slave>,
    clock: u64,
    next: u64,
    end: u64,
    time: MasterTime,
    /// What the master will see: when, and of which slave.
    results: BinaryHeap<Reverse<(u64, u32)>>,
    /// Slaves that come back from other masters, or have no task: when, and which.
    returning: BinaryHeap<Reverse<(u64, u32)>>,
    /// In this round: results, waiting times, and the time that it took.
    round: (usize, u64, u64),
    working: usize,
    masters: u32,
}

impl<'a> Group<'a> {
    fn new(
        farm: &'a Farm,
        network: &'a Network,
        master: u32,
        slaves: &[u32],
        share: Share,
        at: u64,
    ) -> Self {
        let bytes = (farm.task_bytes, farm.result_bytes);
        let slaves: Vec<Slave> = slaves
            .iter()
            .map(|rank| Slave::new(network, master, *rank, bytes))
            .collect();
        let returning = (0..slaves.len()).map(|index| Reverse((at, index as u32)));
        Self {
            returning: returning.collect(),
            working: slaves.len(),
            slaves,
            farm,
            network,
            master,
            clock: at,
            next: share.first,
            end: share.first + share.count,
            time: MasterTime::default(),
            results: BinaryHeap::new(),
            round: (0, 0, at),
            masters: 1,
        }
    }

    fn run(&mut self) {
        loop {
            let result = self.results.peek().map(|Reverse(first)| *first);
            let back = self.returning.peek().map(|Reverse(first)| *first);
            match (result, back) {
                // A slave that came back is dealt a task before later results are taken.
                (result, Some((at, index))) if result.is_none_or(|(seen, _)| at <= seen) => {
                    self.returning.pop();
                    if self.next < self.end {
                        self.clock = self.clock.max(at);
                        self.give(index);
                    }
                }
                (Some((seen, index)), _) => {
                    self.results.pop();
                    self.take(index, seen);
                }
                // `None` with `Some` is a slave that came back, above.
                (None, _) => return,
            }
        }
    }

    fn give(&mut self, index: u32) {
        let work = self.farm.work.of(self.next);
        self.next += 1;
        let (sent, result) = self.slaves[index as usize].give(self.clock, work);
        self.time.send.0 += sent - self.clock;
        self.clock = sent;
        self.results.push(Reverse((result, index)));
    }

    fn take(&mut self, index: u32, seen: u64) {
        let taken = self.slaves[index as usize].take(self.clock, seen);
        let wait = seen.saturating_sub(self.clock);
        self.time.wait.0 += wait;
        self.time.receive.0 += taken - self.clock - wait;
        self.round.0 += 1;
        self.round.1 += self.clock.saturating_sub(seen);
        self.clock = taken + self.farm.master_work.0;
        if self.next < self.end {
            self.give(index);
        }
        if self.round.0 >= self.working {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        let (results, waited, since) = self.round;
        let passed = self.clock - since;
        // Each slave's time in this round is the time that passed.
        if waited / results as u64 > passed / TOO_LONG {
            self.split();
        }
        self.round = (0, 0, self.clock);
    }

    /// Gives half of the slaves and of the tasks to the first of those slaves. They are through with what they have by the
    /// time at which their master would see it.
    fn split(&mut self) {
        let left = self.end - self.next;
        let half = self.results.len() / 2;
        if self.results.len() < FEWEST_SLAVES || left < 4 * self.results.len() as u64 {
            return;
        }
        // Those whose results come first go: they would have waited first.
        let mut leaving = Vec::new();
        while leaving.len() < half {
            let Some(Reverse((seen, index))) = self.results.pop() else {
                break;
            };
            let taken = self.slaves[index as usize].take(self.clock, seen);
            self.time.receive.0 += taken - self.clock.max(seen).min(taken);
            self.clock = taken;
            leaving.push(index);
        }
        let ranks: Vec<u32> = leaving
            .iter()
            .map(|index| self.slaves[*index as usize].rank)
            .collect();
        let (Some(&master), true) = (ranks.first(), ranks.len() > 1) else {
            return;
        };
        let share = Share {
            first: self.end - left / 2,
            count: left / 2,
        };
        self.end = share.first;
        let order = Leg::new(self.network, self.master, master, CONTROL_BYTES);
        let (seen, _) = order.send(self.clock);
        self.clock += order.send_time().0;
        self.time.send.0 += order.send_time().0;
        let (begin, _) = order.receive(0, seen);
        let mut other = Group::new(self.farm, self.network, master, &ranks[1..], share, begin);
        other.run();
        self.working -= leaving.len();
        self.masters += other.masters;
        // The others' slaves and their master merge back when those tasks are done.
        let report = Leg::new(self.network, master, self.master, CONTROL_BYTES);
        let (back, _) = report.send(other.clock);
        for index in leaving {
            self.slaves[index as usize].free = other.clock;
            self.returning.push(Reverse((back, index)));
        }
        // A master is done only when all of its tasks are.
        if self.next >= self.end {
            self.clock = self.clock.max(back);
        }
    }
}
