//! Semaphores: a counter, its waiters served first come, first served.

use std::collections::VecDeque;

/// A semaphore.
#[derive(Clone, Debug, Default)]
pub(crate) struct Semaphore {
    tokens: u32,
    /// How many were taken that are still to be given.
    owed: u32,
    queue: VecDeque<u32>,
}

impl Semaphore {
    pub fn with_tokens(tokens: u32) -> Self {
        Self {
            tokens,
            owed: 0,
            queue: VecDeque::new(),
        }
    }

    /// Takes a token, if there is one; the thread queues otherwise.
    pub fn take(&mut self, thread: u32) -> bool {
        if self.tokens > 0 {
            self.tokens -= 1;
            return true;
        }
        self.queue.push_back(thread);
        false
    }

    /// Takes a token for a thread that does not wait: where there is none, one that will be given.
    pub fn take_now(&mut self) {
        if self.tokens > 0 {
            self.tokens -= 1;
        } else {
            self.owed += 1;
        }
    }

    /// Lets a thread wait for a token of its own.
    pub fn wait(&mut self, thread: u32) {
        self.queue.push_back(thread);
    }

    /// Takes out those that queue and have what they wait for.
    pub fn take_out(&mut self, has: impl Fn(u32) -> bool) -> Vec<u32> {
        if self.queue.is_empty() {
            return Vec::new();
        }
        let (out, left): (VecDeque<u32>, VecDeque<u32>) =
            self.queue.iter().partition(|&&thread| has(thread));
        self.queue = left;
        out.into()
    }

    /// Lets a thread that queues go on, with a token that will be given. Returns whether it queues.
    pub fn lend(&mut self, thread: u32) -> bool {
        let place = self.queue.iter().position(|&other| other == thread);
        let queues = place.and_then(|place| self.queue.remove(place)).is_some();
        self.owed += u32::from(queues);
        queues
    }

    /// Gives a token and returns the thread that may try to take it; it queues no longer.
    pub fn offer(&mut self) -> Option<u32> {
        if self.owed > 0 {
            self.owed -= 1;
            return None;
        }
        self.tokens += 1;
        self.queue.pop_front()
    }

    /// Gives a token and returns the thread that gets it at once.
    pub fn give(&mut self) -> Option<u32> {
        if self.owed > 0 {
            self.owed -= 1;
            return None;
        }
        let next = self.queue.pop_front();
        if next.is_none() {
            self.tokens += 1;
        }
        next
    }
}
