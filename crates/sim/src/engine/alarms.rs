//! When something happens next: one alarm for each CPU, and the ends of delays.
//!
//! A thread's work ends on its CPU, so there is one alarm a CPU at most, and a thread that loses its CPU leaves none behind.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::tournament::{NONE, Tournament};

/// What rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// That of the thread on this CPU: its work is done, its slice ends, or it has come there.
    Cpu(u32),
    /// The end of this thread's delay.
    Delay(u32),
    /// The clock ticks.
    Tick,
}

/// All alarms that are set; those of one instant ring in the order in which they were set.
pub(super) struct Alarms {
    /// When that of each CPU rings.
    cpus: Tournament,
    /// The order in which these were set.
    order: Vec<u64>,
    /// Those of the present instant, where there are several: their order and CPUs, the first one last.
    together: Vec<(u64, u32)>,
    delays: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// When the first delay ends; the end of time where there is none.
    first_delay: u64,
    /// When the clock ticks next; the end of time where it does not.
    tick: u64,
    /// The earlier of the two.
    first_other: u64,
}

impl Alarms {
    pub fn new(cpus: u32) -> Self {
        Self {
            cpus: Tournament::new(cpus as usize),
            order: vec![0; cpus as usize],
            together: Vec::new(),
            delays: BinaryHeap::new(),
            first_delay: u64::MAX,
            tick: u64::MAX,
            first_other: u64::MAX,
        }
    }

    /// Sets the alarm of a CPU's thread, in place of the one before. `count` grows with each that is set.
    #[inline]
    pub fn set(&mut self, cpu: u32, at: u64, count: u64) {
        self.order[cpu as usize] = count;
        self.cpus.set(cpu, at);
    }

    /// Sets the end of a thread's delay.
    pub fn set_delay(&mut self, thread: u32, at: u64, count: u64) {
        self.delays.push(Reverse((at, count, thread)));
        self.set_first_delay(self.first_delay.min(at));
    }

    fn set_first_delay(&mut self, at: u64) {
        self.first_delay = at;
        self.first_other = at.min(self.tick);
    }

    /// Sets when the clock ticks next, if it does.
    #[inline]
    pub fn set_tick(&mut self, at: Option<u64>) {
        let at = at.unwrap_or(u64::MAX);
        if at != self.tick {
            self.tick = at;
            self.first_other = self.first_delay.min(at);
        }
    }

    /// The CPU's thread has to stop: its alarm does not ring.
    pub fn cancel(&mut self, cpu: u32) {
        self.cpus.set(cpu, NONE);
    }

    /// Returns when the alarm of a CPU rings, the end of time where it does not, and the order in which it was set.
    pub fn of(&self, cpu: u32) -> (u64, u64) {
        (self.cpus.key(cpu), self.order[cpu as usize])
    }

    /// Returns when the first alarm rings that is none of a CPU.
    pub fn first_other(&self) -> u64 {
        self.first_other
    }

    /// Returns when the next alarm rings; the end of time where none does.
    #[inline]
    pub fn next_at(&self) -> u64 {
        self.cpus.smallest().key.min(self.first_other)
    }

    /// Returns whether no alarm is set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.next_at() == NONE
    }

    /// Returns whether any delay is under way.
    pub fn has_delays(&self) -> bool {
        !self.delays.is_empty()
    }

    /// Returns when the next alarm rings and of which CPU it is, where no other rings at that instant. It stays set.
    #[inline]
    pub fn next_alone(&self) -> Option<(u64, u32)> {
        let first = self.cpus.smallest();
        (first.key < self.first_other && self.cpus.is_alone()).then(|| (first.key, first.place()))
    }

    /// Takes out the next alarm, if it rings at this time; the clock's tick after the others.
    pub fn pop_at(&mut self, at: u64) -> Option<Alarm> {
        let cpu = self.first_cpu_at(at);
        if let Some(&Reverse((delay_at, count, thread))) = self.delays.peek()
            && delay_at == at
            && cpu.is_none_or(|cpu| count < self.order[cpu as usize])
        {
            self.delays.pop();
            let next = self.delays.peek();
            let next = next.map_or(u64::MAX, |Reverse((at, ..))| *at);
            self.set_first_delay(next);
            return Some(Alarm::Delay(thread));
        }
        let Some(cpu) = cpu else {
            let ticks = self.tick == at && at != u64::MAX;
            return ticks.then(|| {
                self.set_tick(None);
                Alarm::Tick
            });
        };
        self.cpus.set(cpu, NONE);
        Some(Alarm::Cpu(cpu))
    }

    /// Returns the first CPU whose alarm rings at this time, before which none does.
    fn first_cpu_at(&mut self, at: u64) -> Option<u32> {
        let first = self.cpus.smallest();
        if first.key != at {
            self.together.clear();
            return None;
        }
        // Those that are set at this instant come behind those that were.
        while let Some(&(order, cpu)) = self.together.last() {
            if self.cpus.key(cpu) == at && self.order[cpu as usize] == order {
                return Some(cpu);
            }
            self.together.pop();
        }
        if self.cpus.is_alone() {
            return Some(first.place());
        }
        let (order, together) = (&self.order, &mut self.together);
        self.cpus
            .for_each_smallest(|cpu| together.push((order[cpu as usize], cpu)));
        self.together.sort_unstable_by(|one, other| other.cmp(one));
        self.together.last().map(|&(_, cpu)| cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_of_one_instant_ring_in_the_order_in_which_they_were_set() {
        let mut alarms = Alarms::new(3);
        alarms.set(2, 7, 1);
        alarms.set_delay(9, 7, 2);
        alarms.set(0, 7, 3);
        alarms.set(1, 5, 4);
        assert_eq!(alarms.next_at(), 5);
        assert_eq!(alarms.next_alone(), Some((5, 1)));
        assert_eq!(alarms.pop_at(5), Some(Alarm::Cpu(1)));
        assert_eq!(alarms.next_alone(), None);
        assert_eq!((alarms.pop_at(5), alarms.next_at()), (None, 7));
        alarms.set(1, 7, 5);
        let rest = [2, 9, 0, 1].map(|_| alarms.pop_at(7));
        let expected = [Alarm::Cpu(2), Alarm::Delay(9), Alarm::Cpu(0), Alarm::Cpu(1)];
        assert_eq!(rest, expected.map(Some));
        assert!(alarms.is_empty());
    }

    #[test]
    fn a_cancelled_alarm_does_not_ring() {
        let mut alarms = Alarms::new(2);
        alarms.set(0, 3, 1);
        alarms.set(1, 4, 2);
        assert_eq!(alarms.pop_at(3), Some(Alarm::Cpu(0)));
        alarms.cancel(1);
        assert!(alarms.is_empty());
        alarms.set(0, 9, 3);
        alarms.set(0, 6, 4);
        assert_eq!(
            (alarms.next_at(), alarms.pop_at(6)),
            (6, Some(Alarm::Cpu(0)))
        );
        assert!(alarms.is_empty());
    }
}
