//! Memory that a process gives back while others of its threads have CPUs: these have to be interrupted, to forget about it.
//!
//! A recording tells how often a process did so, but neither when nor by which thread: what it takes is spread over all that its threads work. On one
//! CPU nobody is interrupted. Beside others each call takes its thread longer by [`Costs::remap_cost`](crate::Costs::remap_cost), and
//! since only one thread of a process at a time may change what is mapped, all of its threads together can make no more calls than one after the other:
//! where they would make f calls in a second of work, the call takes c, and n of them have a CPU, a second of work takes the longer one of 1 + f c and n f c.

use foretrace_program::Program;

use crate::{Machine, Rate};

/// Less of the time than one part in so many is left out.
const MATTERS: u64 = 100;

/// Stands for no process.
const NONE: u32 = u32::MAX;

/// What giving memory back takes, and which processes have CPUs.
pub(crate) struct Remaps {
    /// Of each process: how long the calls of a second of its work take beside others, in billionths; zero where that does not matter.
    burdens: Vec<u64>,
    /// The process of each thread.
    processes: Vec<u32>,
    /// The process that each CPU runs.
    on: Vec<u32>,
    /// How many CPUs run each process.
    busy: Vec<u32>,
}

impl Remaps {
    /// Returns `None` where no process gives memory back often enough to be slowed down by it.
    pub fn new(program: &Program, machine: &Machine) -> Option<Self> {
        if machine.cpus == 1 {
            return None;
        }
        let burdens = burdens(program, machine);
        let matters = burdens.iter().any(|&burden| burden > 0);
        matters.then(|| Self {
            busy: vec![0; burdens.len()],
            burdens,
            processes: program.threads.iter().map(|one| one.process.0).collect(),
            on: vec![NONE; machine.cpus as usize],
        })
    }

    /// Notes that a CPU runs another thread, or none. Returns whether that changes how fast any works.
    pub fn note(&mut self, cpu: u32, thread: Option<u32>) -> bool {
        let process = thread.map_or(NONE, |thread| self.processes[thread as usize]);
        let before = std::mem::replace(&mut self.on[cpu as usize], process);
        if before == process {
            return false;
        }
        if let Some(busy) = self.busy.get_mut(before as usize) {
            *busy -= 1;
        }
        if let Some(busy) = self.busy.get_mut(process as usize) {
            *busy += 1;
        }
        self.burden(before) > 0 || self.burden(process) > 0
    }

    /// Returns the rate at which a CPU works that would work at this one if nobody gave memory back; both in billionths.
    pub fn rate(&self, cpu: u32, rate: u64) -> u64 {
        let process = self.on[cpu as usize];
        let burden = u128::from(self.burden(process));
        let busy = self.busy.get(process as usize).copied().unwrap_or(0);
        if burden == 0 || busy < 2 {
            return rate;
        }
        let one = u128::from(Rate::ONE.0);
        let takes = (one + burden).max(u128::from(busy) * burden);
        // Less than the rate that it is a part of.
        (u128::from(rate) * one / takes).max(1) as u64
    }

    fn burden(&self, process: u32) -> u64 {
        self.burdens.get(process as usize).copied().unwrap_or(0)
    }
}

/// Returns how long the calls of a second of each process's work take beside others, in billionths.
fn burdens(program: &Program, machine: &Machine) -> Vec<u64> {
    let cost = machine.costs.remap_cost.as_nanos();
    let mut burdens = vec![0; program.processes.len()];
    if cost == 0 || program.processes.iter().all(|one| one.remaps == 0) {
        return burdens;
    }
    let mut work = vec![0_u64; burdens.len()];
    for thread in &program.threads {
        let own = thread.operations.clone();
        let own = own.map(|operation| program.operations.work_nanos(operation));
        let total = &mut work[thread.process.index()];
        *total = own.fold(*total, u64::saturating_add);
    }
    for ((burden, process), work) in burdens.iter_mut().zip(&program.processes).zip(work) {
        let takes = u128::from(process.remaps) * u128::from(cost);
        let share = takes * u128::from(Rate::ONE.0) / u128::from(work.max(1));
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        if share >= Rate::ONE.0 / MATTERS {
            *burden = share;
        }
    }
    burdens
}
