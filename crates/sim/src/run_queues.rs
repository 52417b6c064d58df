//! A queue of ready threads for each CPU, as Linux has them.
//!
//! A thread that wakes takes an idle CPU, its last one before others. Where none is idle it waits in the queue of its last CPU, or of the CPU
//! of who woke it if that had less to do lately. A CPU that has nothing to do takes a thread from the longest queue: at once, or when the clock
//! ticks and that thread did not run just now. So three threads on two CPUs do not get two thirds of a CPU each: two share one, and the
//! third has the other for itself, until the queues are evened out.
//!
//! Some kernels let a thread leave its CPU for an idle one only if that was busy for long (`usage.rs`), and if it is not in that CPU's queue still
//! while it sleeps (`lags.rs`).
//!
//! # Source
//!
//! Linux, `kernel/sched/fair.c`: `select_task_rq_fair`, `wake_affine_weight`, `sched_balance_newidle`, `nohz_balancer_kick`, `sched_balance_rq`,
//! `task_hot`.

use std::cmp::Reverse;

use crate::{
    Machine, Rate,
    cpu_set::CpuSet,
    lags::Lags,
    loads::Loads,
    processors::{Entry, Queue},
    usage::Usage,
};

/// For how long a CPU that is busy lets another have more threads, in picoseconds: where these are two more at least, and where it is one, which
/// Linux moves only when it has looked in vain several times. Three threads that worked for as long on two CPUs were evened out
/// not before 140 ms, and before 280.
const UNEVEN_BY_TWO: u64 = 32_000_000_000;
const UNEVEN_BY_ONE: u64 = 160_000_000_000;

/// What ran so lately stays with its CPU, whose caches it filled, in picoseconds (`sysctl_sched_migration_cost`); after so many ticks
/// in vain it is taken all the same (`cache_nice_tries`).
const HOT: u64 = 500_000_000;
const PATIENT_TICKS: u32 = 2;

/// Stands for a time that does not come.
const NEVER: u64 = u64::MAX;

/// The queues of all CPUs.
pub(crate) struct RunQueues {
    queues: Vec<Queue>,
    /// The CPUs whose queues are not empty.
    waiting: CpuSet,
    /// How many queues are of each length, and the greatest of these.
    of_length: Vec<u32>,
    greatest: usize,
    /// In which CPU's queue each thread waits, or waited last.
    of: Vec<u32>,
    /// Since when others have more threads than each CPU, as far as it looked, in picoseconds.
    uneven_since: Vec<u64>,
    loads: Loads,
    /// Whether loads ever count: threads that look for idle CPUs find one where there are as many.
    weighs: bool,
    /// Whether threads that wake look for idle CPUs beyond their last one.
    searches: bool,
    /// How busy CPUs were, where threads leave only those that were busy for long.
    usage: Option<Usage>,
    /// Who sleeps in a queue, where that is so.
    lags: Option<Lags>,
    /// In what share of the times a CPU takes a thread as it becomes idle, in billionths, and what is left over of those so far.
    takes: u64,
    left_over: u64,
    /// When each CPU looked last as it became idle, in picoseconds.
    looked: Vec<u64>,
    /// How often, one after the other, all that idle CPUs could have taken at a tick had run just before.
    in_vain: u32,
}

impl RunQueues {
    pub fn new(machine: &Machine, threads: usize) -> Self {
        let cpus = machine.cpus;
        let stays = machine.idle_search && machine.idle_search_from.0 > 0;
        Self {
            queues: vec![Queue::new(); cpus as usize],
            waiting: CpuSet::none(cpus),
            of_length: std::iter::once(cpus)
                .chain(std::iter::repeat_n(0, threads))
                .collect(),
            greatest: 0,
            of: vec![0; threads],
            uneven_since: vec![0; cpus as usize],
            loads: Loads::new(cpus, threads),
            searches: machine.idle_search,
            usage: stays.then(|| {
                let from = machine.idle_search_from.0 as f64 / Rate::ONE.0 as f64;
                Usage::new(cpus, threads, from)
            }),
            lags: stays.then(|| Lags::new(cpus, threads)),
            takes: machine.idle_takes.0,
            left_over: 0,
            looked: vec![NEVER; cpus as usize],
            weighs: !machine.idle_search || stays || threads > cpus as usize,
            in_vain: 0,
        }
    }

    /// Returns in which CPU's queue a thread waits, or waited last.
    #[inline(always)]
    pub fn of(&self, thread: u32) -> u32 {
        self.of[thread as usize]
    }

    /// A thread is of another CPU's queue.
    pub fn set(&mut self, thread: u32, cpu: u32, now: u64) {
        let from = std::mem::replace(&mut self.of[thread as usize], cpu);
        if self.weighs {
            self.loads.move_to(thread, from, cpu, now);
        }
        if let Some(usage) = &mut self.usage
            && from != cpu
        {
            usage.move_to(thread, from, cpu, now);
            self.count_lags(from, now);
            self.count_lags(cpu, now);
        }
    }

    /// A thread runs or wants to from now on, or waits for something else or has ended.
    #[inline(always)]
    pub fn set_runnable(&mut self, thread: u32, runnable: bool, now: u64) {
        let cpu = self.of(thread);
        if self.weighs {
            self.loads.set_runnable(thread, cpu, runnable, now);
        }
        if let Some(usage) = &mut self.usage {
            usage.set_runnable(thread, cpu, runnable, now);
            self.count_lags(cpu, now);
        }
    }

    /// Notes how many threads of a CPU run or want to.
    fn count_lags(&mut self, cpu: u32, now: u64) {
        if let (Some(lags), Some(usage)) = (&mut self.lags, &self.usage) {
            lags.set_count(cpu, usage.count_of(cpu), now);
        }
    }

    /// Returns who sleeps in a queue, where that is so.
    #[inline]
    pub fn lags(&mut self) -> Option<&mut Lags> {
        self.lags.as_mut()
    }

    /// Returns whether any thread waits.
    pub fn anyone_waits(&self) -> bool {
        self.greatest > 0
    }

    /// Returns the queue of a CPU.
    pub fn queue(&self, cpu: u32) -> &Queue {
        &self.queues[cpu as usize]
    }

    /// A thread waits in the queue that it is of.
    #[inline(always)]
    pub fn push(&mut self, thread: u32, entry: Entry) {
        let cpu = self.of(thread);
        self.queues[cpu as usize].push(entry);
        self.waiting.insert(cpu);
        let length = self.queue(cpu).len();
        self.of_length[length - 1] -= 1;
        self.of_length[length] += 1;
        self.greatest = self.greatest.max(length);
    }

    /// Notes that a thread was taken out of a CPU's queue.
    #[inline(always)]
    fn note_shorter(&mut self, cpu: u32) {
        let length = self.queue(cpu).len();
        if length == 0 {
            self.waiting.remove(cpu);
        }
        self.of_length[length] += 1;
        self.of_length[length + 1] -= 1;
        if self.of_length[self.greatest] == 0 {
            self.greatest = length;
        }
    }

    /// Returns where a thread that wakes is to wait, which ran on a CPU before, or never, and which one on another let go on.
    pub fn choose(
        &mut self,
        idle: &CpuSet,
        thread: u32,
        (last, waker): (Option<u32>, Option<u32>),
        now: u64,
    ) -> u32 {
        let is_free = |cpu: &u32| idle.contains(*cpu) && !self.waiting.contains(*cpu);
        if let Some(own) = last.filter(is_free) {
            return own;
        }
        // Nobody has filled caches for one that is new.
        let looks = self.searches || last.is_none();
        let leaves = match (last.or(waker), &mut self.usage) {
            (Some(own), Some(usage)) => usage.lets_go(own, now),
            _ => true,
        };
        if looks
            && leaves
            && let Some(free) = idle.first_outside(&self.waiting)
        {
            return free;
        }
        if let (None, Some(creator)) = (last, waker)
            && self.usage.is_some()
        {
            return self.beside(creator, now);
        }
        match (last, waker) {
            (Some(last), Some(waker)) if self.loads.is_less(thread, waker, last, now) => waker,
            (Some(last), _) => last,
            (None, _) => self.least(idle),
        }
    }

    /// Returns where a thread begins that gets no idle CPU: on that of the one that created it, unless that is full and another is not.
    fn beside(&mut self, creator: u32, now: u64) -> u32 {
        let Some(usage) = &mut self.usage else {
            return creator;
        };
        let mut cpus = std::iter::once(creator).chain(0..self.queues.len() as u32);
        cpus.find(|&cpu| !usage.is_full(cpu, now))
            .unwrap_or(creator)
    }

    /// Returns how many threads run on a CPU or wait for it.
    fn count(&self, idle: &CpuSet, cpu: u32) -> usize {
        self.queue(cpu).len() + usize::from(!idle.contains(cpu))
    }

    /// Returns the CPU that has the fewest threads, the first of several.
    fn least(&self, idle: &CpuSet) -> u32 {
        let cpus = 0..self.queues.len() as u32;
        cpus.min_by_key(|&cpu| self.count(idle, cpu)).unwrap_or(0)
    }

    /// Takes the thread that is next on an idle CPU, with that CPU: of its own queue; else, if idle CPUs take others' threads `at_once`, of
    /// the longest.
    #[inline(always)]
    pub fn next(&mut self, idle: &CpuSet, at_once: bool) -> Option<(u32, u32)> {
        if let Some(cpu) = idle.first_common(&self.waiting) {
            return Some((self.pop(cpu)?, cpu));
        }
        if !at_once {
            return None;
        }
        let (cpu, longest) = (idle.first()?, self.longest()?);
        Some((self.pop(longest)?, cpu))
    }

    /// Takes a thread from the longest queue for an idle CPU, with that CPU, as the clock ticks: one that did not run just now, or, if that was
    /// asked in vain too often, any. `left_at`: when each thread lost its CPU last.
    pub fn next_at_tick(&mut self, idle: &CpuSet, left_at: &[u64], now: u64) -> Option<(u32, u32)> {
        let cpu = idle.first()?;
        let longest = self.longest()?;
        if let Some(usage) = &mut self.usage
            && !usage.has_too_much(longest, now)
        {
            return None;
        }
        let cooled = if self.in_vain < PATIENT_TICKS { HOT } else { 0 };
        let Some((entry, longest)) = self.first_that_cooled(cooled, left_at, now) else {
            self.in_vain += 1;
            return None;
        };
        self.in_vain = 0;
        Some((self.take(entry, longest), cpu))
    }

    /// Takes a thread from the longest queue for a CPU that becomes idle now, with that CPU, in some of the times in which there is one that did not
    /// run just now. `vacated`: when each CPU was given back last.
    pub fn next_by_lot(
        &mut self,
        idle: &CpuSet,
        vacated: &[u64],
        left_at: &[u64],
        now: u64,
    ) -> Option<(u32, u32)> {
        let looks = |&cpu: &u32| vacated[cpu as usize] == now && self.looked[cpu as usize] != now;
        let cpu = idle.iter().find(looks)?;
        self.looked[cpu as usize] = now;
        let (entry, longest) = self.first_that_cooled(HOT, left_at, now)?;
        self.left_over += self.takes;
        self.left_over = self.left_over.checked_sub(Rate::ONE.0)?;
        Some((self.take(entry, longest), cpu))
    }

    /// Returns who is first in the longest queue of those that lost their CPUs so long ago, and which queue that is.
    fn first_that_cooled(&self, cooled: u64, left_at: &[u64], now: u64) -> Option<(Entry, u32)> {
        let longest = self.longest()?;
        let may_go = |&&Reverse((_, _, thread)): &&Entry| now - left_at[thread as usize] >= cooled;
        // Reversed, the greatest entry is the one that comes first.
        let first = self.queue(longest).iter().filter(may_go).max()?;
        Some((*first, longest))
    }

    /// Takes a thread out of a queue in the middle of which it may be.
    fn take(&mut self, entry: Entry, cpu: u32) -> u32 {
        let queue = &mut self.queues[cpu as usize];
        queue.retain(|&other| other != entry);
        self.note_shorter(cpu);
        let Reverse((_, _, thread)) = entry;
        thread
    }

    /// Takes a thread from the longest queue for a busy CPU that had fewer for long.
    pub fn even_out(&mut self, cpu: u32, now: u64) -> Option<u32> {
        let own = self.queue(cpu).len();
        let since = &mut self.uneven_since[cpu as usize];
        if self.greatest <= own {
            *since = now;
            return None;
        }
        let patience = if self.greatest > own + 1 {
            UNEVEN_BY_TWO
        } else {
            UNEVEN_BY_ONE
        };
        if now - *since < patience {
            return None;
        }
        *since = now;
        let longest = self.longest()?;
        self.pop(longest)
    }

    /// Returns the CPU with the longest queue, the first of several.
    fn longest(&self) -> Option<u32> {
        self.waiting
            .iter()
            .find(|&cpu| self.queue(cpu).len() == self.greatest)
    }

    #[inline(always)]
    fn pop(&mut self, cpu: u32) -> Option<u32> {
        let Reverse((_, _, thread)) = self.queues[cpu as usize].pop()?;
        self.note_shorter(cpu);
        Some(thread)
    }
}
