//! Mutexes: handed over first come, first served, or offered to whoever comes first.

use std::{collections::VecDeque, hint::select_unpredictable};

use crate::core::{Locking, NOBODY};

/// A mutex or spin lock.
#[derive(Clone, Debug)]
pub(crate) struct Mutex {
    holder: u32,
    /// The CPU on which it was locked or unlocked last.
    cpu: u32,
    /// Whether whoever unlocks it asks the kernel to wake one that waits: one began to, or got it after it had.
    calls: bool,
    /// Whether threads wait for it awake.
    is_spun: bool,
    /// Whether these never give up their CPUs.
    keeps_cpus: bool,
    queue: VecDeque<u32>,
}

impl Mutex {
    /// Returns one that is free, for which threads sleep or spin; whether they then never give up their CPUs.
    pub fn new(is_spun: bool, keeps_cpus: bool) -> Self {
        Self {
            holder: NOBODY,
            cpu: NOBODY,
            calls: false,
            is_spun,
            keeps_cpus,
            queue: VecDeque::new(),
        }
    }

    /// Returns whether it is a spin lock.
    pub fn is_spun(&self) -> bool {
        self.is_spun
    }

    /// Returns whether threads keep their CPUs while they wait for it.
    pub fn keeps_cpus(&self) -> bool {
        self.keeps_cpus
    }

    /// Takes it for a thread that locks it, if nobody holds it and the thread is not asking the kernel, or releases it for one that unlocks it, if
    /// nobody queues. Returns whether that was so; else nothing happened.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "a lazy operator is a branch")]
    pub fn pass(&mut self, thread: u32, locks: bool, locking: Locking) -> bool {
        // Whether the next operation locks or unlocks no processor can predict.
        let passes = (locks & (locking != Locking::Asking) & (self.holder == NOBODY))
            | (!locks & self.queue.is_empty());
        if passes {
            self.holder = select_unpredictable(locks, thread, NOBODY);
            self.calls = locks & (self.calls | (locking == Locking::Again));
        }
        passes
    }

    /// Returns what it costs to ask the kernel to wake one that waits, if a thread that locks or unlocks it does that, and this is the cost.
    #[inline]
    pub fn call_cost(&self, locks: bool, cost: u64) -> u64 {
        select_unpredictable(!locks & self.calls, cost, 0)
    }

    /// A thread on a CPU has locked or unlocked it. Returns what that costs, if it costs so much to get it from another CPU.
    #[inline]
    pub fn come_to(&mut self, cpu: u32, transfer: u64) -> u64 {
        // No processor can predict where it was; nobody had it before it was locked first.
        let last = std::mem::replace(&mut self.cpu, cpu);
        let last = select_unpredictable(last == NOBODY, cpu, last);
        select_unpredictable(last == cpu, 0, transfer)
    }

    /// Takes it for a thread, which waited for it before or not, if it is free.
    pub fn take(&mut self, thread: u32, waited: bool) -> bool {
        let free = self.holder == NOBODY;
        if free {
            self.holder = thread;
            self.calls |= waited;
        }
        free
    }

    /// Takes it for a thread, if it is free; the thread queues otherwise.
    pub fn acquire(&mut self, thread: u32) -> bool {
        let free = self.take(thread, false);
        if !free {
            self.queue(thread);
        }
        free
    }

    /// A thread waits until it is offered to it, or handed over.
    pub fn queue(&mut self, thread: u32) {
        self.calls = !self.is_spun;
        self.queue.push_back(thread);
    }

    /// A thread looks at memory until it is offered to it.
    pub fn queue_awake(&mut self, thread: u32) {
        self.queue.push_back(thread);
    }

    /// Returns those threads that wait for which this holds, in order; they queue no longer.
    pub fn take_if(&mut self, holds: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut taken = Vec::new();
        self.queue.retain(|&thread| {
            let is_taken = holds(thread);
            if is_taken {
                taken.push(thread);
            }
            !is_taken
        });
        taken
    }

    /// A thread is about to wait.
    pub fn ask(&mut self) {
        self.calls = true;
    }

    /// Returns whether one that is about to wait still has to: whoever holds it knows that one does.
    pub fn lets_wait(&self) -> bool {
        self.calls && self.holder != NOBODY
    }

    /// Releases it and returns the thread that it is handed to.
    pub fn release(&mut self) -> Option<u32> {
        let next = self.queue.pop_front();
        self.holder = next.unwrap_or(NOBODY);
        self.calls = !self.queue.is_empty();
        next
    }

    /// Releases it for whoever comes first. Returns whether the kernel is asked to wake one that waits.
    pub fn offer(&mut self) -> bool {
        self.holder = NOBODY;
        std::mem::take(&mut self.calls)
    }

    /// Returns the thread that waits longest; it queues no longer.
    pub fn take_first(&mut self) -> Option<u32> {
        self.queue.pop_front()
    }

    /// Returns the thread that holds it.
    pub fn holder(&self) -> Option<u32> {
        (self.holder != NOBODY).then_some(self.holder)
    }
}
