//! The machine that a program is replayed on.

use foretrace_program::Program;
use foretrace_schedule::SimTime;

use crate::{Memory, Processor, Rate};

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The number of CPUs; at least one.
    pub cpus: u32,
    /// What the CPUs are, where they are not all of speed one and alone in their cores: nothing, or one for each.
    pub processors: Vec<Processor>,
    /// Who runs when there are more ready threads than CPUs.
    pub scheduler: SchedulerKind,
    /// Whether, under the fair scheduler, a thread that wakes takes the CPU that it ran on last, or that of the one that woke it,
    /// from a thread that ran for longer, as Linux lets it; else it waits for a free CPU or the end of a slice.
    pub wakeup_preemption: bool,
    /// Whether, under the fair scheduler, each CPU has its own queue of ready threads, as Linux has them; else there is one for all, as it is
    /// where CPUs are not all alike or threads are bound to some.
    pub run_queues: bool,
    /// Whether, where each CPU has its own queue, a thread that wakes takes any CPU that is idle; else the one that it ran on last alone.
    pub idle_search: bool,
    /// For which share of the time lately its own has to have been busy for that, from zero (always) to one; else it stays. So it is with threads that
    /// are new and the CPU of the one that created them, and idle CPUs take none from others that have no more than they can do. So does a Linux 6.18 of
    /// virtual machines (docs/validation.md, "When a thread looks for an idle CPU").
    pub idle_search_from: Rate,
    /// How often, where each CPU has its own queue, one that is idle takes a thread from another's; zero for at once.
    pub idle_balance: SimTime,
    /// Where that is not at once, in what share of the times one takes a thread as it becomes idle which it could take. Linux 6.18 looks as often as it
    /// lately found one (`kernel/sched/fair.c`: `newidle_ratio`).
    pub idle_takes: Rate,
    /// Which CPUs a thread may run on.
    pub bind: Bind,
    /// How long the fair scheduler and the one that goes round let a thread run while others wait. By default 3 ms, about
    /// what Linux has on eight CPUs and more.
    pub slice: SimTime,
    /// Who gets a lock or a token that is given up while others wait for it.
    pub handover: Handover,
    /// What it costs to let a thread go on that waits, where the machine has more than one CPU.
    pub costs: Costs,
    /// What all CPUs share, and may have to wait for.
    pub memory: Memory,
    /// The most threads of a process that may run or want to at once, where there is a limit (VPPB's lightweight
    /// processes); at least one.
    pub runnable_limit: Option<u32>,
    /// Who goes first of those that nothing else orders, as of two threads that get ready at one instant: where there is a
    /// seed, chance, always the same for a seed; else the one that was made ready first.
    pub seed: Option<u64>,
    /// What is said of single threads, in the program's order; may be empty, or end early.
    pub threads: Vec<ThreadSetting>,
}

/// What is said of a thread, in place of what its trace says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSetting {
    /// Its priority: larger runs first.
    pub priority: Option<i32>,
    /// The CPU that it is bound to; one that the machine has not got stands for one that it has.
    pub cpu: Option<u32>,
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

/// What it costs to let a thread go on that waits, to create it, and to let it run elsewhere. All zero on the machine of
/// the papers. CPU times are those of a CPU of speed one.
///
/// On one CPU these costs are within the recorded CPU times, so that they count only between CPUs; but a cost of
/// switching, which counts wherever it is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// From a thread's being let go on to its running, on a CPU that was idle for long.
    pub wake_latency: SimTime,
    /// The same on a CPU that was idle for less than `shallow_idle`, if it is less: systems choose states from which it wakes sooner, and hosts of
    /// virtual machines look for a while whether it is wanted again, before they let it sleep.
    pub shallow_latency: SimTime,
    /// For how long a CPU that is idle wakes in `shallow_latency`.
    pub shallow_idle: SimTime,
    /// The CPU time that it takes the one that lets a thread go on on another CPU.
    pub wake_cost: SimTime,
    /// The CPU time that it takes a CPU to be interrupted for a thread that another CPU woke, which that thread pays.
    pub preempt_cost: SimTime,
    /// The CPU time that it takes a thread to wait, and to go on again, where it did not have to in the recording.
    pub block_cost: SimTime,
    /// The CPU time that it takes when a CPU goes on with another thread than it ran last, which that one pays.
    pub switch_cost: SimTime,
    /// The CPU time that it takes a thread to lock a mutex which one on another CPU had last: its memory comes from there. Of the
    /// Direct and the Pool model.
    pub lock_transfer: SimTime,
    /// The CPU time that it takes a thread to ask the kernel to let it wait for a lock, and to learn that this has been given up
    /// meanwhile. Where it is zero, threads wait for locks as for all else.
    pub call_cost: SimTime,
    /// The CPU time that it takes the one that gives up a lock to have one woken that waits for it, where the recording had no such wait;
    /// on another CPU it takes `wake_cost` as well.
    pub offer_cost: SimTime,
    /// The time that it takes a thread to give memory back, or to change what may be done with it, beyond the recorded, where another one of its
    /// process has a CPU, which has to be interrupted; and the time after which the next may do so.
    pub remap_cost: SimTime,
    /// The CPU time that creating a thread takes its creator.
    pub create_cost: SimTime,
    /// For how long a thread that waits for its OpenMP team stays on its CPU, on a machine with a CPU for each of the team's
    /// threads: what comes within that time finds it awake. Teams that were told to sleep sleep all the same.
    pub team_spin: SimTime,
    /// The CPU time that it takes a thread that waited so to go on.
    pub team_latency: SimTime,
    /// The CPU time that a thread pays when it goes on on another CPU of the socket that it ran on last.
    pub migration: SimTime,
    /// The CPU time that a thread pays when it goes on on another socket.
    pub socket_migration: SimTime,
}

impl Costs {
    /// Those of a machine where nothing but work takes time.
    pub const NONE: Self = Self {
        wake_latency: SimTime::ZERO,
        shallow_latency: SimTime::ZERO,
        shallow_idle: SimTime::ZERO,
        wake_cost: SimTime::ZERO,
        preempt_cost: SimTime::ZERO,
        block_cost: SimTime::ZERO,
        switch_cost: SimTime::ZERO,
        lock_transfer: SimTime::ZERO,
        call_cost: SimTime::ZERO,
        offer_cost: SimTime::ZERO,
        remap_cost: SimTime::ZERO,
        create_cost: SimTime::ZERO,
        team_spin: SimTime::ZERO,
        team_latency: SimTime::ZERO,
        migration: SimTime::ZERO,
        socket_migration: SimTime::ZERO,
    };

    /// What Linux needs, as measured on virtual machines with two cores: a thread that works lets one on another CPU go on within
    /// 20 us, or 7 where that CPU was not idle for long, and one on its own within 2 (`docs/machine.md`). For how long teams spin is what
    /// GCC's library (libgomp, `env.c`) says that it means to; LLVM's spins for 200 ms, which is the same where nearly all waits are shorter.
    pub const LINUX: Self = Self {
        wake_latency: SimTime::from_nanos(18_000),
        shallow_latency: SimTime::from_nanos(5_000),
        shallow_idle: SimTime::from_nanos(120_000),
        wake_cost: SimTime::from_nanos(1_000),
        preempt_cost: SimTime::from_nanos(9_000),
        block_cost: SimTime::from_nanos(2_500),
        lock_transfer: SimTime::from_nanos(30),
        call_cost: SimTime::from_nanos(700),
        offer_cost: SimTime::from_nanos(2_500),
        remap_cost: SimTime::from_nanos(28_000),
        team_spin: SimTime::from_nanos(3_000_000),
        team_latency: SimTime::from_nanos(300),
        ..Self::NONE
    };

    /// Returns how long a CPU needs to run a thread that was idle for so long.
    #[inline]
    pub(crate) fn latency_after(&self, idle: SimTime) -> SimTime {
        if idle < self.shallow_idle {
            self.shallow_latency.min(self.wake_latency)
        } else {
            self.wake_latency
        }
    }

    /// Returns how long a thread that waits is not asleep yet: what it waits for and comes meanwhile costs nothing.
    #[inline]
    pub(crate) fn falls_asleep(&self) -> SimTime {
        if self.call_cost == SimTime::ZERO {
            self.block_cost
        } else {
            self.looks_again().min(self.block_cost)
        }
    }

    /// Returns for how long a thread that waits for a lock can be spared sleeping: until the kernel has looked at the lock itself.
    pub(crate) fn looks_again(&self) -> SimTime {
        SimTime(self.call_cost.0 / 5 * 3)
    }

    /// Returns the CPU time of asking the kernel to wake one that waits for a lock, where none does.
    pub(crate) fn wakes_nobody(&self) -> SimTime {
        SimTime(self.call_cost.0 / 2)
    }
}

impl Handover {
    /// Returns its name in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstCome => "first-come",
            Self::Barging => "barging",
        }
    }
}

/// The slice of Linux on up to eight CPUs, in nanoseconds.
const LINUX_SLICE: u64 = 3_000_000;

/// Between two ticks of Linux's clock, as most distributions build it: [`Machine::idle_balance`] where threads that wake do not look for an
/// idle CPU, and the slice of threads that look at memory while they wait.
pub const LINUX_TICK: SimTime = SimTime::from_nanos(4_000_000);

/// In what share of the times CPUs took threads that could, of x264 and of threads that meet at barriers, in billionths.
const IDLE_TAKES: Rate = Rate(80_000_000);

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
            (Handover::FirstCome, Costs::NONE)
        };
        // Whoever never gives its CPU up has it until the clock ticks.
        let slice = if program.recorded && program.looks() {
            LINUX_TICK
        } else {
            SimTime::from_nanos(LINUX_SLICE)
        };
        Self {
            cpus: cpus.max(1),
            processors: Vec::new(),
            scheduler,
            bind: Bind::None,
            wakeup_preemption: program.recorded,
            run_queues: program.recorded,
            idle_search: true,
            idle_search_from: Rate(0),
            idle_balance: SimTime::ZERO,
            idle_takes: IDLE_TAKES,
            slice: program.slice.map_or(slice, SimTime::from_nanos),
            handover,
            costs,
            memory: Memory::AMPLE,
            runnable_limit: None,
            seed: None,
            threads: Vec::new(),
        }
    }

    /// Returns whether every thread carries a priority.
    pub fn has_priorities(&self, program: &Program) -> bool {
        let count = program.threads.len();
        count > 0 && (0..count).all(|thread| self.priority_of(program, thread).is_some())
    }

    /// Returns a thread's priority: the one that is said of it here, else its own.
    pub(crate) fn priority_of(&self, program: &Program, thread: usize) -> Option<i32> {
        let said = self.threads.get(thread).and_then(|said| said.priority);
        said.or(program.threads[thread].priority)
    }

    /// Returns the CPU that a thread is bound to: what is said of it here, else by [`Self::bind`].
    pub(crate) fn cpu_of(&self, program: &Program, thread: usize) -> Option<u32> {
        match self.threads.get(thread).and_then(|said| said.cpu) {
            Some(cpu) => Some(cpu % self.cpus),
            None => self.bind.cpu_of(
                thread,
                program.threads.len(),
                program.threads[thread].cpu,
                self.cpus,
            ),
        }
    }
}

/// Who runs when there are more ready threads than CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerKind {
    /// The threads of highest priority, preemptively, without time slices. Threads without a priority rank in the
    /// order of the trace.
    Priority,
    /// Those that have run least, a slice at a time; whether one that wakes waits for the end of a slice says
    /// [`Machine::wakeup_preemption`].
    Fair,
    /// The threads of highest priority, preemptively; those of equal priority, and all where there are none, take turns
    /// of a slice each.
    RoundRobin,
}

impl SchedulerKind {
    /// Returns its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Priority => "priority",
            Self::Fair => "fair",
            Self::RoundRobin => "round-robin",
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
    fn cpu_of(self, index: usize, threads: usize, own: Option<u32>, cpus: u32) -> Option<u32> {
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
