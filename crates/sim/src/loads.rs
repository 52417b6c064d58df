//! How much each CPU had to do lately, as Linux counts it: what waited and ran there, what is long ago counting less.
//!
//! # Source
//!
//! Linux, `kernel/sched/pelt.c`: per-entity load tracking.

/// After 32 ms what a thread did counts half: by so much less does it count with each picosecond, at first.
const DECAY: f64 = std::f64::consts::LN_2 / 32e9;

/// A sum of loads: between 0 and 1 for each thread of it, the share of the last time in which it ran or wanted to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    /// As it was.
    value: f64,
    /// When that was, in picoseconds.
    at: u64,
    /// How many threads have run or wanted to since.
    runnable: u32,
    /// Of a thread: whether it is counted yet.
    known: bool,
}

impl Load {
    /// Brings it up to date, and returns it.
    #[inline]
    pub fn at(&mut self, now: u64) -> f64 {
        if now == self.at {
            return self.value;
        }
        // A signed number becomes a real one in one instruction.
        let x = (now - self.at).cast_signed() as f64 * DECAY;
        // What is left of it; the series is right to a millionth.
        let left = if x < 0.04 {
            1.0 - x * (1.0 - x * (0.5 - x * (1.0 / 6.0)))
        } else {
            (-x).exp()
        };
        let runnable = f64::from(self.runnable);
        self.value = runnable + (self.value - runnable) * left;
        self.at = now;
        self.value
    }

    /// Adds to it as it was when it was brought up to date.
    pub fn add(&mut self, more: f64) {
        // What was rounded must not be less than nothing.
        self.value = (self.value + more).max(0.0);
    }

    /// So many threads run or want to from now on; it was brought up to date.
    pub fn set_runnable(&mut self, runnable: u32) {
        self.runnable = runnable;
    }
}

/// The loads of CPUs and threads.
pub(crate) struct Loads {
    cpus: Vec<Load>,
    threads: Vec<Load>,
}

/// By so much of a CPU's load another's has to be less for a thread to go there: half of what Linux lets be between CPUs that share a
/// cache.
const BIAS: f64 = 1.085;

impl Loads {
    pub fn new(cpus: u32, threads: usize) -> Self {
        Self {
            cpus: vec![Load::default(); cpus as usize],
            threads: vec![Load::default(); threads],
        }
    }

    /// A thread of a CPU runs or wants to from now on, or no longer. One that is new counts as one that always did; one that is there from
    /// the beginning, for what it does from then on.
    pub fn set_runnable(&mut self, thread: u32, cpu: u32, runnable: bool, now: u64) {
        let first = if now > 0 { 1.0 } else { 0.0 };
        self.set_runnable_first(thread, cpu, runnable, first, now);
    }

    /// The same, with the load of a thread that is new; returns whether this one was.
    pub fn set_runnable_first(
        &mut self,
        thread: u32,
        cpu: u32,
        runnable: bool,
        first: f64,
        now: u64,
    ) -> bool {
        let own = &mut self.threads[thread as usize];
        let all = &mut self.cpus[cpu as usize];
        all.at(now);
        let is_new = !std::mem::replace(&mut own.known, true);
        if is_new {
            own.value = first;
            all.value += first;
            own.at = now;
        }
        own.at(now);
        let before = std::mem::replace(&mut own.runnable, u32::from(runnable));
        all.runnable = all.runnable - before + own.runnable;
        is_new
    }

    /// Returns how many threads of a CPU run or want to.
    pub fn count(&self, cpu: u32) -> u32 {
        self.cpus[cpu as usize].runnable
    }

    /// Returns the load of a CPU.
    pub fn of_cpu(&mut self, cpu: u32, now: u64) -> f64 {
        self.cpus[cpu as usize].at(now)
    }

    /// Returns which part of a CPU's load is that of a thread of it.
    pub fn part(&mut self, thread: u32, cpu: u32, now: u64) -> f64 {
        let own = self.threads[thread as usize].at(now);
        let all = self.of_cpu(cpu, now);
        if all > own { own / all } else { 1.0 }
    }

    /// A thread of a CPU belongs to another from now on.
    pub fn move_to(&mut self, thread: u32, from: u32, to: u32, now: u64) {
        let own = &mut self.threads[thread as usize];
        if from == to || !own.known {
            return;
        }
        let value = own.at(now);
        let left = &mut self.cpus[from as usize];
        left.at(now);
        left.add(-value);
        left.runnable -= own.runnable;
        let taken = &mut self.cpus[to as usize];
        taken.value = taken.at(now) + value;
        taken.runnable += own.runnable;
    }

    /// Returns whether a CPU, with a thread that is to wait there, has less to do than the one that this thread belongs to without it.
    pub fn is_less(&mut self, thread: u32, cpu: u32, own: u32, now: u64) -> bool {
        let load = self.threads[thread as usize].at(now);
        let there = self.cpus[cpu as usize].at(now) + load;
        let here = self.cpus[own as usize].at(now) - load;
        there < here * BIAS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    #[test]
    fn what_is_long_ago_counts_less() {
        let mut loads = Loads::new(2, 1);
        loads.set_runnable(0, 1, true, MS);
        loads.set_runnable(0, 1, false, 100 * MS);
        for (at, load) in [(100, 1.0), (104, 0.917), (132, 0.5), (164, 0.25)] {
            assert!((loads.cpus[1].at(at * MS) - load).abs() < 1e-3, "{at}");
        }
        assert!(loads.cpus[0].at(200 * MS) < 1e-9);
    }

    #[test]
    fn who_is_there_from_the_beginning_begins_with_nothing() {
        let mut loads = Loads::new(1, 1);
        loads.set_runnable(0, 0, true, 0);
        assert!((loads.cpus[0].at(32 * MS) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_thread_takes_its_load_along() {
        let mut loads = Loads::new(2, 2);
        loads.set_runnable(0, 0, true, MS);
        loads.set_runnable(1, 0, true, MS);
        loads.move_to(1, 0, 1, 10 * MS);
        loads.set_runnable(1, 1, false, 10 * MS);
        let at = |loads: &mut Loads, cpu: usize| loads.cpus[cpu].at(42 * MS);
        assert!((at(&mut loads, 0) - 1.0).abs() < 1e-9);
        assert!((at(&mut loads, 1) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_thread_goes_to_a_cpu_that_has_less_to_do_with_it_than_its_own_without_it() {
        let mut loads = Loads::new(2, 4);
        for (thread, cpu) in [(0, 0), (1, 1), (2, 1)] {
            loads.set_runnable(thread, cpu, true, MS);
        }
        loads.set_runnable(3, 1, true, MS);
        loads.set_runnable(3, 1, false, MS);
        // Its own has two others, the other has one, and would have two.
        assert!(loads.is_less(3, 0, 1, MS));
        loads.move_to(2, 1, 0, MS);
        assert!(!loads.is_less(3, 0, 1, MS));
    }
}
