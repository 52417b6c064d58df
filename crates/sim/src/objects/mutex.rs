//! Mutexes: handed over first come, first served, or offered to whoever comes first.

use std::{collections::VecDeque, hint::select_unpredictable};

use crate::core::NOBODY;

/// A mutex or spin lock.
#[derive(Clone, Debug)]
pub(crate) struct Mutex {
    holder: u32,
    /// The CPU on which it was locked or unlocked last.
    cpu: u32,
    queue: VecDeque<u32>,
}

impl Default for Mutex {
    fn default() -> Self {
        Self {
            holder: NOBODY,
            cpu: NOBODY,
            queue: VecDeque::new(),
        }
    }
}

impl Mutex {
    /// Takes it for a thread that locks it, or releases it for one that unlocks it, if nobody holds it or waits for it.
    /// Returns whether that was so; else nothing happened.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "a lazy operator is a branch")]
    pub fn pass(&mut self, thread: u32, locks: bool) -> bool {
        // Whether the next operation locks or unlocks no processor can predict.
        let passes = (locks & (self.holder == NOBODY)) | (!locks & self.queue.is_empty());
        if passes {
            self.holder = select_unpredictable(locks, thread, NOBODY);
        }
        passes
    }

    /// A thread on a CPU has locked or unlocked it. Returns what that costs, if it costs so much to get it from another CPU.
    #[inline]
    pub fn come_to(&mut self, cpu: u32, transfer: u64) -> u64 {
        // No processor can predict where it was; nobody had it before it was locked first.
        let last = std::mem::replace(&mut self.cpu, cpu);
        let last = select_unpredictable(last == NOBODY, cpu, last);
        select_unpredictable(last == cpu, 0, transfer)
    }

    /// Takes it for a thread, if it is free; the thread queues otherwise.
    pub fn acquire(&mut self, thread: u32) -> bool {
        let free = self.holder == NOBODY;
        if free {
            self.holder = thread;
        } else {
            self.queue.push_back(thread);
        }
        free
    }

    /// Releases it and returns the thread that it is handed to.
    pub fn release(&mut self) -> Option<u32> {
        let next = self.queue.pop_front();
        self.holder = next.unwrap_or(NOBODY);
        next
    }

    /// Releases it and returns the thread that may try to get it next; it queues no longer.
    pub fn offer(&mut self) -> Option<u32> {
        self.holder = NOBODY;
        self.queue.pop_front()
    }

    /// Returns the thread that holds it.
    pub fn holder(&self) -> Option<u32> {
        (self.holder != NOBODY).then_some(self.holder)
    }
}
