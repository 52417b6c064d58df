//! Which threads of a process may run, where only so many may at once.
//!
//! # Source
//!
//! The lightweight processes of VPPB: a thread has one from when it may run until it waits.

use std::{cmp::Reverse, collections::BinaryHeap};

use foretrace_program::Program;

/// The threads of each process that run or want to, and those that must not yet.
pub(crate) struct Admission {
    limit: u32,
    process_of: Vec<u32>,
    /// How many threads of each process run or want to.
    admitted: Vec<u32>,
    /// Those that must not yet, per process: by priority, then the longest waiting.
    waiting: Vec<BinaryHeap<Reverse<(u64, u64, u32)>>>,
    queued: u64,
}

impl Admission {
    pub fn new(limit: u32, program: &Program) -> Self {
        let process_of = program.threads.iter().map(|thread| thread.process.0);
        let process_of: Vec<u32> = process_of.collect();
        let processes = process_of.iter().map(|process| *process as usize + 1).max();
        Self {
            limit: limit.max(1),
            process_of,
            admitted: vec![0; processes.unwrap_or(0)],
            waiting: vec![BinaryHeap::new(); processes.unwrap_or(0)],
            queued: 0,
        }
    }

    /// A thread wants to run. Returns whether it may; those with the smallest key may first.
    pub fn admit(&mut self, thread: u32, key: u64) -> bool {
        let process = self.process_of[thread as usize] as usize;
        if self.admitted[process] < self.limit {
            self.admitted[process] += 1;
            return true;
        }
        self.queued += 1;
        self.waiting[process].push(Reverse((key, self.queued, thread)));
        false
    }

    /// A thread waits or is over. Returns the one of its process that may run now.
    pub fn leave(&mut self, thread: u32) -> Option<u32> {
        let process = self.process_of[thread as usize] as usize;
        let next = self.waiting[process].pop();
        if next.is_none() {
            self.admitted[process] -= 1;
        }
        next.map(|Reverse((_, _, thread))| thread)
    }
}
