//! A queue of ready threads for each CPU, as Linux has them.
//!
//! A thread that wakes takes an idle CPU, its last one before others. Where none is idle it waits in the queue of its last CPU, or of the CPU
//! of who woke it if fewer are there. A CPU that has nothing to do takes a thread from the longest queue. So three threads on two
//! CPUs do not get two thirds of a CPU each: two share one, and the third has the other for itself, until the queues are
//! evened out.
//!
//! # Source
//!
//! Linux, `kernel/sched/fair.c`: `select_task_rq_fair`, `sched_balance_newidle`, `sched_balance_rq`.

use std::cmp::Reverse;

use crate::{cpu_set::CpuSet, processors::Queue};

/// For how long a CPU that is busy lets another have more threads, in picoseconds: where these are two more at least, and where it is one, which
/// Linux moves only when it has looked in vain several times. Three threads that worked for as long on two CPUs were evened out
/// not before 140 ms, and before 280.
const UNEVEN_BY_TWO: u64 = 32_000_000_000;
const UNEVEN_BY_ONE: u64 = 160_000_000_000;

/// The queues of all CPUs.
pub(crate) struct RunQueues {
    queues: Vec<Queue>,
    /// The CPUs whose queues are not empty.
    waiting: CpuSet,
    /// In which CPU's queue each thread waits, or waited last.
    of: Vec<u32>,
    /// Since when others have more threads than each CPU, as far as it looked, in picoseconds.
    uneven_since: Vec<u64>,
}

impl RunQueues {
    pub fn new(cpus: u32, threads: usize) -> Self {
        Self {
            queues: vec![Queue::new(); cpus as usize],
            waiting: CpuSet::none(cpus),
            of: vec![0; threads],
            uneven_since: vec![0; cpus as usize],
        }
    }

    /// Returns in which CPU's queue a thread waits, or waited last.
    pub fn of(&self, thread: u32) -> u32 {
        self.of[thread as usize]
    }

    /// A thread is of another CPU's queue.
    pub fn set(&mut self, thread: u32, cpu: u32) {
        self.of[thread as usize] = cpu;
    }

    /// Returns whether any thread waits.
    pub fn anyone_waits(&self) -> bool {
        self.waiting.first().is_some()
    }

    /// Returns the queue of a CPU.
    pub fn queue(&self, cpu: u32) -> &Queue {
        &self.queues[cpu as usize]
    }

    /// A thread waits in the queue that it is of.
    pub fn push(&mut self, thread: u32, entry: Reverse<(u64, u64, u32)>) {
        let cpu = self.of(thread);
        self.queues[cpu as usize].push(entry);
        self.waiting.insert(cpu);
    }

    /// Returns where a thread that wakes is to wait, which ran on a CPU before, or never, and which one on another let go on.
    pub fn choose(&self, idle: &CpuSet, last: Option<u32>, waker: Option<u32>) -> u32 {
        let is_free = |cpu: &u32| idle.contains(*cpu) && !self.waiting.contains(*cpu);
        if let Some(free) = last.filter(is_free).or_else(|| idle.iter().find(is_free)) {
            return free;
        }
        let load = |cpu: u32| self.queue(cpu).len() + usize::from(!idle.contains(cpu));
        match (last, waker) {
            (Some(last), Some(waker)) if load(waker) < load(last) => waker,
            (Some(last), _) => last,
            (None, _) => {
                let cpus = 0..self.queues.len() as u32;
                cpus.min_by_key(|&cpu| load(cpu)).unwrap_or(0)
            }
        }
    }

    /// Takes the thread that is next on an idle CPU, with that CPU: of its own queue, else of the longest.
    pub fn next(&mut self, idle: &CpuSet) -> Option<(u32, u32)> {
        if let Some(cpu) = idle.first_common(&self.waiting) {
            return Some((self.pop(cpu)?, cpu));
        }
        let cpu = idle.first()?;
        let longest = self.longest()?;
        Some((self.pop(longest)?, cpu))
    }

    /// Takes a thread from the longest queue for a busy CPU that had fewer for long.
    pub fn even_out(&mut self, cpu: u32, now: u64) -> Option<u32> {
        let own = self.queue(cpu).len();
        let longest = self
            .longest()
            .filter(|&longest| self.queue(longest).len() > own);
        let since = &mut self.uneven_since[cpu as usize];
        let Some(longest) = longest else {
            *since = now;
            return None;
        };
        let patience = if self.queues[longest as usize].len() > own + 1 {
            UNEVEN_BY_TWO
        } else {
            UNEVEN_BY_ONE
        };
        if now - *since < patience {
            return None;
        }
        *since = now;
        self.pop(longest)
    }

    /// Returns the CPU with the longest queue, the first of several.
    fn longest(&self) -> Option<u32> {
        let longest = |&cpu: &u32| (self.queue(cpu).len(), Reverse(cpu));
        self.waiting.iter().max_by_key(longest)
    }

    fn pop(&mut self, cpu: u32) -> Option<u32> {
        let queue = &mut self.queues[cpu as usize];
        let Reverse((_, _, thread)) = queue.pop()?;
        if queue.is_empty() {
            self.waiting.remove(cpu);
        }
        Some(thread)
    }
}
