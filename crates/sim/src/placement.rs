//! Which idle CPU a thread takes, where CPUs are not all alike.

use std::cmp::Reverse;

use crate::{Machine, Processor, core::NOBODY, cpu_set::CpuSet};

/// The CPUs, and who shares a core with whom.
pub(crate) struct Placement {
    processors: Vec<Processor>,
    /// The CPUs of each core.
    cores: Vec<Vec<u32>>,
}

impl Placement {
    /// Returns it where it makes a difference which CPU a thread takes.
    pub fn new(machine: &Machine) -> Option<Self> {
        let processors = machine.processors.clone();
        let count = processors.iter().map(|cpu| cpu.core as usize + 1).max()?;
        let mut cores = vec![Vec::new(); count];
        for (index, cpu) in processors.iter().enumerate() {
            cores[cpu.core as usize].push(index as u32);
        }
        Some(Self { processors, cores })
    }

    /// Returns the idle CPU that a thread takes which ran on `last`: one on which it works fastest; of those its last, then
    /// one of the same socket, then the first.
    pub fn best(&self, idle: &CpuSet, running: &[u32], last: u32) -> Option<u32> {
        let socket = self.processors[last as usize].socket;
        idle.iter().max_by_key(|&cpu| {
            (
                self.rate(running, cpu),
                cpu == last,
                self.processors[cpu as usize].socket == socket,
                Reverse(cpu),
            )
        })
    }

    /// Returns whether a thread on `cpu` would work faster on one that is idle.
    pub fn is_better(&self, idle: &CpuSet, running: &[u32], cpu: u32) -> bool {
        let now = self.rate(running, cpu);
        let core = self.processors[cpu as usize].core;
        // A CPU of its own core is idle because of nothing that the thread could leave behind.
        idle.iter().any(|other| {
            self.processors[other as usize].core != core && self.rate(running, other) > now
        })
    }

    /// Returns the rate at which a thread works on a CPU, or would.
    fn rate(&self, running: &[u32], cpu: u32) -> u64 {
        let processor = &self.processors[cpu as usize];
        let others = self.cores[processor.core as usize]
            .iter()
            .filter(|&&other| other != cpu && running[other as usize] != NOBODY);
        processor.rate(1 + others.count() as u32).0
    }
}
