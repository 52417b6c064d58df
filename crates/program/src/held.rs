//! What a thread that only looks takes between two looks, and gives back before the next.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Call, ObjectId, Operation as Op, Outcome, Trace};

use crate::structure::{Gift, Need, Role};

/// Locks and tokens that a thread has taken since it looked last.
#[derive(Default)]
pub(crate) struct Held {
    locks: Vec<ObjectId>,
    tokens: BTreeMap<ObjectId, u32>,
}

impl Held {
    /// Notes a call, with what it is part of and whether it had to wait; returns whether one that only looks may make it. It may look at several things,
    /// each under its own lock, and interpreters take a token before they go on.
    pub fn passes(
        &mut self,
        call: &Call,
        waited: bool,
        role: Option<&Role>,
        awaited: &Awaited,
    ) -> bool {
        let plays = match role {
            None => true,
            Some(Role::TakeFirst(needs)) => needs.iter().all(|need| match *need {
                Need::Tokens(semaphore, count) => self.take(semaphore, count),
                _ => false,
            }),
            Some(Role::After { gifts, needs }) => {
                needs.is_empty() && gifts.iter().all(|&gift| self.give(gift))
            }
            Some(Role::Give(gift)) => return self.give(*gift),
            Some(Role::Nothing) => return tells(call.operation).is_some(),
            Some(_) => false,
        };
        plays
            && match call.operation {
                Op::Return | Op::Linger(_) | Op::SleepPast(_) => true,
                Op::TryLock(_) | Op::SemTryWait(_) if call.outcome == Outcome::Busy => true,
                _ if waited || call.outcome != Outcome::Success => false,
                Op::Lock(lock)
                | Op::TryLock(lock)
                | Op::ReadLock(lock)
                | Op::TryReadLock(lock)
                | Op::WriteLock(lock)
                | Op::TryWriteLock(lock) => {
                    self.locks.push(lock);
                    true
                }
                Op::Unlock(lock) | Op::RwUnlock(lock) => {
                    let place = self.locks.iter().position(|&other| other == lock);
                    place.map(|place| self.locks.remove(place)).is_some()
                }
                Op::SemWait(semaphore) | Op::SemTryWait(semaphore) => self.take(semaphore, 1),
                Op::SemPost(semaphore) => self.give(Gift::Tokens(semaphore, 1)),
                operation => tells(operation).is_some_and(|cond| !awaited.0.contains(&cond)),
            }
    }

    /// Returns whether all has been given back.
    pub fn is_nothing(&self) -> bool {
        self.locks.is_empty() && self.tokens.values().all(|&count| count == 0)
    }

    fn take(&mut self, semaphore: ObjectId, count: u32) -> bool {
        *self.tokens.entry(semaphore).or_default() += count;
        true
    }

    fn give(&mut self, gift: Gift) -> bool {
        let Gift::Tokens(semaphore, count) = gift else {
            return false;
        };
        let held = self.tokens.entry(semaphore).or_default();
        let left = held.checked_sub(count);
        *held = left.unwrap_or(*held);
        left.is_some()
    }
}

/// The condition variables that somebody waits for.
#[derive(Default)]
pub(crate) struct Awaited(BTreeSet<ObjectId>);

impl Awaited {
    /// Goes through what was called in a recording.
    pub fn of(trace: &Trace) -> Self {
        let awaited = trace.calls.iter().filter_map(|call| match call.operation {
            Op::CondWait { cond, .. } | Op::CondTimedWait { cond, .. } => Some(cond),
            _ => None,
        });
        Self(awaited.collect())
    }
}

/// Returns the condition variable that a call tells something of.
fn tells(operation: Op) -> Option<ObjectId> {
    match operation {
        Op::CondSignal(cond) | Op::CondBroadcast(cond) => Some(cond),
        _ => None,
    }
}
