//! Condition variables, as the Direct model has them: signals are tokens that stay, broadcasts meet their waiters.

use std::collections::VecDeque;

use foretrace_trace::ObjectId;

/// A condition variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Condition {
    tokens: u32,
    waiting: VecDeque<(u32, ObjectId)>,
    broadcasters: VecDeque<Broadcaster>,
}

/// A broadcast that waits until as many threads wait as it woke in the recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Broadcaster {
    pub thread: u32,
    pub woken: u32,
    /// The mutex that it gave up meanwhile.
    pub mutex: Option<ObjectId>,
}

impl Condition {
    /// A thread begins to wait, having released its mutex. Returns whether a signal was there already.
    pub fn wait(&mut self, thread: u32, mutex: ObjectId) -> bool {
        if self.tokens > 0 {
            self.tokens -= 1;
            return true;
        }
        self.waiting.push_back((thread, mutex));
        false
    }

    /// Returns the thread that a signal wakes, and its mutex; keeps the signal where nobody waits.
    pub fn signal(&mut self) -> Option<(u32, ObjectId)> {
        let first = self.waiting.pop_front();
        if first.is_none() {
            self.tokens += 1;
        }
        first
    }

    /// Returns those that a broadcast wakes, oldest first; `None` where not enough wait yet, or another broadcast
    /// is first in line.
    pub fn broadcast(&mut self, woken: u32) -> Option<Vec<(u32, ObjectId)>> {
        (self.broadcasters.is_empty() && self.waiting.len() >= woken as usize)
            .then(|| self.waiting.drain(..woken as usize).collect())
    }

    /// Puts a broadcast in line.
    pub fn queue_broadcast(&mut self, broadcaster: Broadcaster) {
        self.broadcasters.push_back(broadcaster);
    }

    /// Returns the broadcast that has enough waiters now, and those it wakes.
    pub fn met_broadcast(&mut self) -> Option<(Broadcaster, Vec<(u32, ObjectId)>)> {
        let first = *self.broadcasters.front()?;
        if self.waiting.len() < first.woken as usize {
            return None;
        }
        self.broadcasters.pop_front();
        Some((first, self.waiting.drain(..first.woken as usize).collect()))
    }
}
