//! CPUs: who runs where, and who waits for one.

use std::{cmp::Reverse, collections::BinaryHeap};

use foretrace_program::Program;

use crate::{
    Machine,
    chance::Chance,
    core::NOBODY,
    cpu_set::CpuSet,
    lags::Lags,
    machine::SchedulerKind,
    placement::Placement,
    run_queues::RunQueues,
    tournament::{NONE, Tournament},
};

/// The machine's CPUs and the threads that want one.
pub(crate) struct Processors {
    /// The thread on each CPU.
    running: Vec<u32>,
    idle: CpuSet,
    /// The running threads, the one of lowest rank first, where one may lose its CPU to another.
    lowest: Option<Tournament>,
    /// Ready threads that may run anywhere: those with the smallest key first, then the longest waiting.
    anywhere: Queue,
    /// The same where each CPU has a queue of its own.
    run_queues: Option<RunQueues>,
    /// Whether idle CPUs take threads from others' queues only when the clock ticks.
    balances_at_ticks: bool,
    /// Ready threads that are bound, per CPU.
    bound: Vec<Queue>,
    /// The CPUs for which bound threads wait.
    wanted: CpuSet,
    /// Of these, the ones whose thread ranks below one that waits, where it may lose its CPU to that.
    contested: CpuSet,
    /// The CPU that each thread is bound to.
    binding: Vec<Option<u32>>,
    /// The place of each thread in the order of priority, highest first.
    rank: Vec<u32>,
    /// Which of the idle CPUs is best, where that makes a difference.
    placement: Option<Placement>,
    /// The place in line of the last that came; by chance, behind which place those of this instant stand.
    queued: u64,
    /// What decides on the places of those that come at one instant, where there is a seed.
    chance: Option<Chance>,
    /// The place in line of the last that was preempted: before all that came.
    returned: u64,
}

/// Between the places of those that lost their CPUs and of those that came.
const FIRST_IN_LINE: u64 = 1 << 62;

/// As many bits of a place are left to chance.
const INSTANT_BITS: u32 = 16;

/// A thread that wants a CPU: its key, its place in line, and who it is.
pub(crate) type Entry = Reverse<(u64, u64, u32)>;

pub(crate) type Queue = BinaryHeap<Entry>;

/// A change of who runs where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A thread gets a CPU.
    Start(u32, u32),
    /// A thread loses its CPU to another.
    Preempt {
        /// The one that loses it.
        loser: u32,
        /// The one that gets it.
        winner: u32,
        /// The CPU.
        cpu: u32,
    },
}

impl Processors {
    pub fn new(program: &Program, machine: &Machine) -> Self {
        let threads = 0..program.threads.len();
        let binding = threads.map(|thread| machine.cpu_of(program, thread));
        let binding: Vec<Option<u32>> = binding.collect();
        let any_bound = binding.iter().any(Option::is_some);
        Self {
            running: vec![NOBODY; machine.cpus as usize],
            idle: CpuSet::all(machine.cpus),
            lowest: (machine.scheduler != SchedulerKind::Fair)
                .then(|| Tournament::new(machine.cpus as usize)),
            wanted: CpuSet::none(machine.cpus),
            contested: CpuSet::none(machine.cpus),
            anywhere: Queue::new(),
            run_queues: (machine.run_queues
                && machine.scheduler == SchedulerKind::Fair
                && machine.cpus > 1
                && machine.processors.is_empty()
                && !any_bound)
                .then(|| RunQueues::new(machine, program.threads.len())),
            balances_at_ticks: machine.idle_balance.0 > 0,
            bound: if any_bound {
                vec![Queue::new(); machine.cpus as usize]
            } else {
                Vec::new()
            },
            binding,
            rank: ranks(program, machine),
            placement: Placement::new(machine),
            queued: FIRST_IN_LINE,
            chance: machine.seed.map(|seed| Chance::new(!seed)),
            returned: FIRST_IN_LINE,
        }
    }

    /// Returns a thread's place in the order of priority: smaller is higher.
    pub fn rank(&self, thread: u32) -> u32 {
        self.rank[thread as usize]
    }

    /// A thread wants a CPU; the one with the smallest key comes first.
    #[inline(always)]
    pub fn enqueue(&mut self, thread: u32, key: u64) {
        let place = if let Some(chance) = &mut self.chance {
            self.queued + chance.bits(INSTANT_BITS)
        } else {
            self.queued += 1;
            self.queued
        };
        self.push(thread, Reverse((key, place, thread)));
    }

    /// Time moved on: who comes now stands behind all that came before.
    pub fn begin_instant(&mut self) {
        if self.chance.is_some() {
            self.queued += 1 << INSTANT_BITS;
        }
    }

    #[inline(always)]
    fn push(&mut self, thread: u32, entry: Entry) {
        match self.binding[thread as usize] {
            Some(cpu) => {
                self.bound[cpu as usize].push(entry);
                self.note_bound(cpu);
            }
            None => match &mut self.run_queues {
                Some(queues) => queues.push(thread, entry),
                None => self.anywhere.push(entry),
            },
        }
    }

    /// A CPU is given back.
    #[inline(always)]
    pub fn vacate(&mut self, cpu: u32) {
        self.set_running(cpu, NOBODY);
        self.idle.insert(cpu);
    }

    /// Lets a thread, or nobody, run on a CPU.
    #[inline(always)]
    fn set_running(&mut self, cpu: u32, thread: u32) {
        self.running[cpu as usize] = thread;
        if let Some(lowest) = &mut self.lowest {
            let key = if thread == NOBODY {
                NONE
            } else {
                // Of equal ranks, which those that take turns have, the CPU with the highest number.
                let rank = u64::from(u32::MAX - self.rank[thread as usize]);
                rank << 32 | u64::from(u32::MAX - cpu)
            };
            lowest.set(cpu, key);
        }
        if !self.bound.is_empty() {
            self.note_bound(cpu);
        }
    }

    /// Notes whether a bound thread waits for a CPU, and whether it may take it from the one that runs there.
    fn note_bound(&mut self, cpu: u32) {
        let first = self.bound[cpu as usize].peek();
        let first = first.map(|&Reverse((_, _, thread))| self.rank(thread));
        let running = self.running[cpu as usize];
        let contested = self.lowest.is_some()
            && running != NOBODY
            && first.is_some_and(|first| first < self.rank(running));
        for (set, is_in) in [
            (&mut self.wanted, first.is_some()),
            (&mut self.contested, contested),
        ] {
            if is_in {
                set.insert(cpu);
            } else {
                set.remove(cpu);
            }
        }
    }

    /// Returns whether a CPU is idle on which a thread may run.
    pub fn has_room(&self, thread: u32) -> bool {
        match self.queue_of(thread).or(self.binding[thread as usize]) {
            Some(cpu) => self.idle.contains(cpu),
            None => self.idle.first().is_some(),
        }
    }

    /// Returns how many queues there are for threads that may run anywhere.
    pub fn queues(&self) -> usize {
        self.run_queues.as_ref().map_or(1, |_| self.running.len())
    }

    /// Returns in which CPU's queue a thread waits, or waited last, where each has its own.
    #[inline(always)]
    pub fn queue_of(&self, thread: u32) -> Option<u32> {
        self.run_queues.as_ref().map(|queues| queues.of(thread))
    }

    /// A thread is of another CPU's queue.
    #[inline(always)]
    pub fn set_queue(&mut self, thread: u32, cpu: u32, now: u64) {
        if let Some(queues) = &mut self.run_queues {
            queues.set(thread, cpu, now);
        }
    }

    /// A thread runs or wants to from now on, or waits for something else or has ended.
    #[inline(always)]
    pub fn set_runnable(&mut self, thread: u32, runnable: bool, now: u64) {
        if let Some(queues) = &mut self.run_queues {
            queues.set_runnable(thread, runnable, now);
        }
    }

    /// Returns whether a CPU is idle that is to take a thread from another's queue when the clock ticks.
    #[inline]
    pub fn waits_for_tick(&self) -> bool {
        self.balances_at_ticks
            && self
                .run_queues
                .as_ref()
                .is_some_and(|queues| self.idle.first().is_some() && queues.anyone_waits())
    }

    /// Returns who sleeps in a CPU's queue, where that is so.
    #[inline]
    pub fn lags(&mut self) -> Option<&mut Lags> {
        self.run_queues.as_mut()?.lags()
    }

    /// Lets an idle CPU take a thread from another's queue, as the clock ticks. `left_at`: when each thread lost its CPU last.
    pub fn change_at_tick(&mut self, left_at: &[u64], now: u64) -> Option<Change> {
        let queues = self
            .run_queues
            .as_mut()
            .filter(|_| self.balances_at_ticks)?;
        let (thread, cpu) = queues.next_at_tick(&self.idle, left_at, now)?;
        Some(self.start(thread, cpu))
    }

    /// Lets a CPU that becomes idle take a thread from another's queue, in some of the times in which it could, where idle CPUs else do so only
    /// when the clock ticks. `vacated`: when each CPU was given back last.
    pub fn change_by_lot(&mut self, vacated: &[u64], left_at: &[u64], now: u64) -> Option<Change> {
        let queues = self
            .run_queues
            .as_mut()
            .filter(|_| self.balances_at_ticks)?;
        let (thread, cpu) = queues.next_by_lot(&self.idle, vacated, left_at, now)?;
        Some(self.start(thread, cpu))
    }

    /// Returns in which CPU's queue a thread that wakes is to wait, where each has its own.
    /// `cpus`: the one that it ran on last, if any, and that of the one that woke it.
    #[inline(always)]
    pub fn choose_queue(
        &mut self,
        thread: u32,
        cpus: (Option<u32>, Option<u32>),
        now: u64,
    ) -> Option<u32> {
        let queues = self.run_queues.as_mut()?;
        Some(queues.choose(&self.idle, thread, cpus, now))
    }

    /// Takes a thread from another CPU's queue for one that has fewer, where it is time for that.
    pub fn even_out(&mut self, cpu: u32, now: u64) -> Option<u32> {
        self.run_queues.as_mut()?.even_out(cpu, now)
    }

    /// Returns whether a thread may run on a CPU.
    pub fn may_run(&self, thread: u32, cpu: u32) -> bool {
        self.binding[thread as usize].is_none_or(|bound| bound == cpu)
    }

    /// Returns the thread that a CPU was given to.
    pub fn occupant(&self, cpu: u32) -> Option<u32> {
        let thread = self.running[cpu as usize];
        (thread != NOBODY).then_some(thread)
    }

    /// Returns whether a thread would work faster on a CPU that is idle.
    pub fn is_better_elsewhere(&self, thread: u32, cpu: u32) -> bool {
        self.binding[thread as usize].is_none()
            && self
                .placement
                .as_ref()
                .is_some_and(|placement| placement.is_better(&self.idle, &self.running, cpu))
    }

    /// Returns the smallest key of those that wait for this CPU.
    pub fn next_key(&self, cpu: u32) -> Option<u64> {
        let key = |queue: &Queue| queue.peek().map(|Reverse((key, _, _))| *key);
        let bound = self.bound.get(cpu as usize).and_then(key);
        let own = self.run_queues.as_ref();
        let own = own.and_then(|queues| key(queues.queue(cpu)));
        [bound, own, key(&self.anywhere)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Returns whether any thread may get a CPU that it waits for.
    #[inline]
    pub fn may_change(&self) -> bool {
        match &self.run_queues {
            // Here nobody takes one from another.
            Some(queues) => queues.anyone_waits() && self.idle.first().is_some(),
            None => self.anyone_waits(),
        }
    }

    /// Returns whether any thread may wait for a CPU.
    #[inline]
    fn anyone_waits(&self) -> bool {
        !self.anywhere.is_empty()
            || !self.bound.is_empty()
            || self
                .run_queues
                .as_ref()
                .is_some_and(RunQueues::anyone_waits)
    }

    /// Returns whether the end of a slice is nothing to any thread: nobody waits for a CPU, and all are equally good.
    pub fn leaves_all_alone(&self) -> bool {
        !self.anyone_waits() && self.placement.is_none()
    }

    /// Returns whether a thread that wakes and ran on this CPU last gets it again if it is the only one: nobody else wants a CPU, this one is
    /// idle, and no other is better.
    #[inline]
    pub fn is_free_for_one(&self, cpu: u32) -> bool {
        self.idle.contains(cpu) && !self.anyone_waits() && self.placement.is_none()
    }

    /// Returns the next change that is due now, and makes it. `last_cpu` tells where a thread ran before: it returns
    /// there if that CPU is idle.
    pub fn next_change(&mut self, last_cpu: impl Fn(u32) -> u32) -> Option<Change> {
        if let Some(queues) = &mut self.run_queues {
            let (thread, cpu) = queues.next(&self.idle, !self.balances_at_ticks)?;
            return Some(self.start(thread, cpu));
        }
        self.fill_bound()
            .or_else(|| self.fill_anywhere(last_cpu))
            .or_else(|| self.preempt_anywhere())
            .or_else(|| self.preempt_bound())
    }

    #[inline(always)]
    fn start(&mut self, thread: u32, cpu: u32) -> Change {
        self.give(cpu, thread);
        Change::Start(thread, cpu)
    }

    /// Lets a thread have an idle CPU.
    #[inline]
    pub fn give(&mut self, cpu: u32, thread: u32) {
        self.idle.remove(cpu);
        self.set_running(cpu, thread);
    }

    fn fill_bound(&mut self) -> Option<Change> {
        if self.bound.is_empty() {
            return None;
        }
        let cpu = self.idle.first_common(&self.wanted)?;
        let queue = &mut self.bound[cpu as usize];
        let queue = match (queue.peek(), self.anywhere.peek()) {
            // Reversed, the greater entry is the one that comes first.
            (Some(bound), Some(anywhere)) if anywhere > bound => &mut self.anywhere,
            _ => queue,
        };
        let Reverse((_, _, thread)) = queue.pop()?;
        Some(self.start(thread, cpu))
    }

    fn fill_anywhere(&mut self, last_cpu: impl Fn(u32) -> u32) -> Option<Change> {
        let first_idle = self.idle.first()?;
        let Reverse((_, _, thread)) = self.anywhere.pop()?;
        let last = last_cpu(thread);
        let cpu = if let Some(placement) = &self.placement {
            placement
                .best(&self.idle, &self.running, last)
                .unwrap_or(first_idle)
        } else if self.idle.contains(last) {
            last
        } else {
            first_idle
        };
        Some(self.start(thread, cpu))
    }

    fn preempt_anywhere(&mut self) -> Option<Change> {
        let &Reverse((_, _, winner)) = self.anywhere.peek()?;
        let lowest = self.lowest.as_ref()?.smallest();
        if lowest.key == NONE {
            return None;
        }
        let cpu = lowest.place();
        if self.rank(winner) >= self.rank(self.running[cpu as usize]) {
            return None;
        }
        self.anywhere.pop();
        Some(self.replace(cpu, winner))
    }

    fn preempt_bound(&mut self) -> Option<Change> {
        if self.bound.is_empty() {
            return None;
        }
        let cpu = self.contested.first()?;
        let Reverse((_, _, winner)) = self.bound[cpu as usize].pop()?;
        Some(self.replace(cpu, winner))
    }

    fn replace(&mut self, cpu: u32, winner: u32) -> Change {
        let loser = self.running[cpu as usize];
        self.set_running(cpu, winner);
        // It goes on before others of its priority.
        self.returned -= 1;
        let key = u64::from(self.rank(loser));
        self.push(loser, Reverse((key, self.returned, loser)));
        Change::Preempt { loser, winner, cpu }
    }
}

/// Returns the place of each thread in the order of priority. Equal priorities rank in the order of the trace, but share a
/// place where they take turns.
fn ranks(program: &Program, machine: &Machine) -> Vec<u32> {
    let priority = |index: usize| machine.priority_of(program, index).unwrap_or(i32::MIN);
    let mut order: Vec<usize> = (0..program.threads.len()).collect();
    order.sort_by_key(|&index| Reverse(priority(index)));
    let mut rank = vec![0; order.len()];
    let mut place = 0;
    for (position, &index) in order.iter().enumerate() {
        let equals_last = position > 0 && priority(order[position - 1]) == priority(index);
        if !(equals_last && machine.scheduler == SchedulerKind::RoundRobin) {
            place = position as u32;
        }
        rank[index] = place;
    }
    rank
}
