//! One master: at 0 a task to each slave in turn, then to whoever's result came first.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

use foretrace_network::Network;
use foretrace_schedule::SimTime;

use crate::{Farm, MasterTime, Outcome, Share, leg::Slave};

/// Runs the part of a farm that one master has with its slaves.
pub(crate) fn run(
    farm: &Farm,
    network: &Network,
    master: u32,
    slaves: Range<u32>,
    share: Share,
) -> Outcome {
    let bytes = (farm.task_bytes, farm.result_bytes);
    let mut slaves: Vec<Slave> = slaves
        .map(|rank| Slave::new(network, master, rank, bytes))
        .collect();
    let mut time = MasterTime::default();
    let mut clock = 0;
    let mut next = share.first;
    let end = share.first + share.count;
    // Ties go to the slave with the lower number, by the order of pairs.
    let mut results = BinaryHeap::with_capacity(slaves.len());
    for (index, slave) in slaves.iter_mut().enumerate() {
        if next == end {
            break;
        }
        let (sent, result) = slave.give(clock, farm.work.of(next));
        next += 1;
        time.send.0 += sent - clock;
        clock = sent;
        results.push(Reverse((result, index as u32)));
    }
    while let Some(mut first) = results.peek_mut() {
        let Reverse((seen, index)) = *first;
        let slave = &mut slaves[index as usize];
        let taken = slave.take(clock, seen);
        let wait = seen.saturating_sub(clock);
        time.wait.0 += wait;
        time.receive.0 += taken - clock - wait;
        clock = taken + farm.master_work.0;
        if next < end {
            let (sent, result) = slave.give(clock, farm.work.of(next));
            next += 1;
            time.send.0 += sent - clock;
            clock = sent;
            *first = Reverse((result, index));
        } else {
            std::collections::binary_heap::PeekMut::pop(first);
        }
    }
    Outcome {
        makespan: SimTime(clock),
        master: time,
        masters: 1,
    }
}
