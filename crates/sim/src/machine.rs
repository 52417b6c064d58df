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
    /// Who gets a lock or a token that is given up while others wait for it.
    pub handover: Handover,
    /// What it costs to let a thread go on that waits, where the machine has more than one CPU.
    pub costs: Costs,
}

/// Who gets a lock or a token that is given up while others wait for it. Only the Direct model leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// The one that waits longest has it at once.
    FirstCome,
    /// Whoever comes first: the one that waits longest is woken, but until it runs, another may take it. So do glibc's
    /// mutexes and semaphores.
    Barging,
}

/// What it costs to let a thread go on that waits. All zero on the machine of the papers.
///
/// On one CPU these costs are within the recorded CPU times, so that they count only between CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// From a thread's being let go on to its running, on a CPU that was idle.
    pub wake_latency: SimTime,
    /// The CPU time that this takes the one that lets it go on.
    pub wake_cost: SimTime,
    /// The CPU time that it takes a thread to wait, and to go on again, where it did not have to in the recording.
    pub block_cost: SimTime,
}

impl Costs {
    /// What Linux needs, as measured on a virtual machine with two cores: between CPUs a semaphore goes to and fro in 17 to
    /// 20 us a time, on one CPU in 2 to 3.
    pub const LINUX: Self = Self {
        wake_latency: SimTime::from_nanos(15_000),
        wake_cost: SimTime::from_nanos(2_000),
        block_cost: SimTime::from_nanos(2_000),
    };
}

impl Machine {
    /// Returns the machine of `cpus` CPUs (at least one) that is natural for a program: for one that was recorded, what
    /// Linux does and costs; for a listing by hand, the papers', where nothing but work takes time. The scheduler is
    /// `priority` where every thread carries one, else `fair`.
    pub fn new(cpus: u32, program: &Program) -> Self {
        let scheduler = if program.has_priorities() {
            SchedulerKind::Priority
        } else {
            SchedulerKind::Fair
        };
        let (handover, costs) = if program.recorded {
            (Handover::Barging, Costs::LINUX)
        } else {
            (Handover::FirstCome, Costs::default())
        };
        Self {
            cpus: cpus.max(1),
            scheduler,
            bind: Bind::None,
            slice: SimTime::from_nanos(3_000_000),
            handover,
            costs,
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
