//! How busy each CPU was lately, which some kernels ask before they let a thread leave one for a CPU that is idle.
//!
//! # Source
//!
//! Linux, `kernel/sched/pelt.c` (`util_avg`, `runnable_avg`) and `kernel/sched/fair.c` (`post_init_entity_util_avg`,
//! `group_is_overloaded`). From how busy a CPU on threads leave it, and that idle CPUs take none from others before, was measured
//! (docs/validation.md, "When a thread looks for an idle CPU").

use crate::loads::{Load, Loads};

/// A CPU that was busy for so much of the time has no room for more: Linux lets a group of CPUs fill to 1 / 1.17 (`imbalance_pct`).
const FULL: f64 = 1.0 / 1.17;

/// A CPU on which so many threads ran or wanted to has too much to do.
const TOO_MANY: f64 = 1.17;

/// How busy CPUs were.
pub(crate) struct Usage {
    /// For which share of the time each ran any thread.
    busy: Vec<Load>,
    /// How many threads ran on each or wanted to.
    runnable: Loads,
    /// From which share on threads leave one for a CPU that is idle.
    from: f64,
}

impl Usage {
    pub fn new(cpus: u32, threads: usize, from: f64) -> Self {
        Self {
            busy: vec![Load::default(); cpus as usize],
            runnable: Loads::new(cpus, threads),
            from,
        }
    }

    /// A thread of a CPU runs or wants to from now on, or no longer. One that is new counts for half of the time that the CPU was idle.
    pub fn set_runnable(&mut self, thread: u32, cpu: u32, runnable: bool, now: u64) {
        let busy = self.busy[cpu as usize].at(now);
        let first = (1.0 - busy) / 2.0;
        if self
            .runnable
            .set_runnable_first(thread, cpu, runnable, first, now)
        {
            self.busy[cpu as usize].add(first);
        }
        self.count(cpu);
    }

    /// A thread of a CPU belongs to another from now on: what it did counts there.
    pub fn move_to(&mut self, thread: u32, from: u32, to: u32, now: u64) {
        let part = self.runnable.part(thread, from, now);
        self.runnable.move_to(thread, from, to, now);
        let [busy, other] = [from, to].map(|cpu| self.busy[cpu as usize].at(now));
        let moved = (busy * part).min(1.0 - other);
        self.busy[from as usize].add(-moved);
        self.busy[to as usize].add(moved);
        self.count(from);
        self.count(to);
    }

    /// Notes whether any thread of a CPU runs or wants to.
    fn count(&mut self, cpu: u32) {
        let any = self.runnable.count(cpu).min(1);
        self.busy[cpu as usize].set_runnable(any);
    }

    /// Returns how many threads of a CPU run or want to.
    pub fn count_of(&self, cpu: u32) -> u32 {
        self.runnable.count(cpu)
    }

    /// Returns for which share of the time a CPU was busy lately.
    fn busy(&mut self, cpu: u32, now: u64) -> f64 {
        self.busy[cpu as usize].at(now)
    }

    /// Returns whether a CPU was busy for long enough for threads to leave it.
    pub fn lets_go(&mut self, cpu: u32, now: u64) -> bool {
        self.busy(cpu, now) >= self.from
    }

    /// Returns whether a CPU has no room for more.
    pub fn is_full(&mut self, cpu: u32, now: u64) -> bool {
        self.busy(cpu, now) >= FULL
    }

    /// Returns whether a CPU has more threads than it can let run.
    pub fn has_too_much(&mut self, cpu: u32, now: u64) -> bool {
        self.runnable.count(cpu) > 1
            && (self.is_full(cpu, now) || self.runnable.of_cpu(cpu, now) >= TOO_MANY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    fn one_thread() -> Usage {
        let mut usage = Usage::new(2, 3, 0.67);
        usage.set_runnable(0, 0, true, 0);
        usage
    }

    #[test]
    fn a_cpu_fills_as_it_works_and_empties_as_it_is_idle() {
        let mut usage = one_thread();
        assert!((usage.busy(0, 0) - 0.5).abs() < 1e-9);
        assert!(!usage.lets_go(0, 18 * MS) && usage.lets_go(0, 20 * MS));
        assert!((usage.busy(0, 32 * MS) - 0.75).abs() < 1e-4);
        assert!(!usage.is_full(0, 50 * MS) && usage.is_full(0, 80 * MS));
        usage.set_runnable(0, 0, false, 80 * MS);
        assert!((usage.busy(0, 112 * MS) - 0.4558).abs() < 1e-3);
        assert!(usage.busy(1, 112 * MS) < 1e-9);
    }

    #[test]
    fn two_threads_that_work_have_too_much_after_a_while() {
        let mut usage = one_thread();
        assert!(!usage.has_too_much(0, 200 * MS), "it has one");
        let mut usage = one_thread();
        usage.set_runnable(1, 0, true, MS);
        assert!(!usage.has_too_much(0, 18 * MS));
        assert!(usage.has_too_much(0, 22 * MS));
    }

    #[test]
    fn who_leaves_takes_along_what_it_did() {
        let mut usage = one_thread();
        usage.set_runnable(1, 0, true, 32 * MS);
        usage.set_runnable(2, 1, true, 32 * MS);
        usage.set_runnable(0, 0, false, 64 * MS);
        let before = usage.busy(0, 64 * MS);
        usage.move_to(0, 0, 1, 64 * MS);
        let after = [0, 1].map(|cpu| usage.busy(cpu, 64 * MS));
        assert!(after[0] < before && after[1] <= 1.0);
        usage.move_to(1, 0, 1, 64 * MS);
        assert!(!usage.has_too_much(0, 64 * MS) && usage.has_too_much(1, 64 * MS));
    }
}
