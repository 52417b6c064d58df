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
