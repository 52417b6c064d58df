//! The machine that a program is replayed on.

use foretrace_program::Program;
use foretrace_schedule::SimTime;

/// A machine with equal CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The number of CPUs; at least one.
    pub cpus: u32,
    /// Who runs when there are more ready threads than CPUs.
    pub scheduler: SchedulerKind,
    /// Which CPUs a thread may run on.
    pub bind: Bind,
    /// How long the fair scheduler lets a thread run while others wait. By default 3 ms, about what Linux has on eight
    /// CPUs and more.
    pub slice: SimTime,
}

impl Machine {
    /// Returns a machine of `cpus` CPUs (at least one) with the scheduler that is natural for a program: `priority`
    /// where every thread carries one, else `fair`.
    pub fn new(cpus: u32, program: &Program) -> Self {
        let scheduler = if program.has_priorities() {
            SchedulerKind::Priority
        } else {
            SchedulerKind::Fair
        };
        Self {
            cpus: cpus.max(1),
            scheduler,
            bind: Bind::None,
            slice: SimTime::from_nanos(3_000_000),
        }
    }
}

/// Who runs when there are more ready threads than CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerKind {
    /// The threads of highest priority, preemptively, without time slices. Threads without a priority rank in the
    /// order of the trace.
    Priority,
    /// Those that have run least, a slice at a time; a thread that wakes waits for a free CPU or the end of a slice.
    Fair,
}

impl SchedulerKind {
    /// Returns its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Priority => "priority",
            Self::Fair => "fair",
        }
    }
}

/// Which CPUs a thread may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Any, unless the trace binds the thread to one.
    None,
    /// Any, also for threads that the trace binds.
    Free,
    /// Thread i of m on CPU floor(i n / m) of n when n < m, else on a CPU of its own (VPPB's block binding).
    Block,
}

impl Bind {
    /// Returns its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Free => "free",
            Self::Block => "block",
        }
    }

    /// Returns the CPU that thread `index` of `threads` is bound to, on a machine with `cpus`.
    pub(crate) fn cpu_of(
        self,
        index: usize,
        threads: usize,
        own: Option<u32>,
        cpus: u32,
    ) -> Option<u32> {
        match self {
            // A trace may bind to a CPU that the machine has not got; it then shares those that are there.
            Self::None => own.map(|cpu| cpu % cpus),
            Self::Free => None,
            Self::Block if (cpus as usize) < threads => {
                Some((index * cpus as usize / threads) as u32)
            }
            Self::Block => Some(index as u32),
        }
    }
}
