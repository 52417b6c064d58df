//! Robust mutexes that their owners' ends gave up: who gets one next is told so, which says when it was.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, Operation as Op, Outcome, ThreadId, Trace};

use crate::{
    events::{EventSet, Following},
    lower::{Lowering, NONE},
};

/// The robust mutexes that threads still had at their ends, by their last events.
pub(crate) type LeftLocked = BTreeMap<u32, Vec<ObjectId>>;

/// Goes through a recording.
pub(crate) fn left_locked(trace: &Trace, next: &Following, is_answered: &EventSet) -> LeftLocked {
    let mut left = LeftLocked::new();
    let is_death = |call: &foretrace_trace::Call| call.outcome == Outcome::OwnerDied;
    if trace.recording.is_none() || !trace.calls.iter().any(is_death) {
        return left;
    }
    let lasts = trace.events.iter().zip(0..);
    let lasts = lasts.filter(|&(_, index)| next.after(index as usize) == NONE);
    let lasts: BTreeMap<ThreadId, u32> = lasts
        .map(|(event, index)| (trace.call(event).thread, index))
        .collect();
    let mut owners: BTreeMap<ObjectId, ThreadId> = BTreeMap::new();
    let mut robust: BTreeSet<ObjectId> = BTreeSet::new();
    let mut wanted = vec![None; trace.threads.len()];
    for (index, event) in trace.events.iter().enumerate() {
        let call = trace.call(event);
        let wanted = &mut wanted[call.thread.index()];
        match call.operation {
            Op::Lock(mutex) | Op::TryLock(mutex) | Op::TimedLock(mutex) => *wanted = Some(mutex),
            Op::CondWait { mutex, .. } | Op::CondTimedWait { mutex, .. } => {
                owners.remove(&mutex);
                *wanted = Some(mutex);
            }
            Op::Unlock(mutex) => {
                owners.remove(&mutex);
            }
            _ => {}
        }
        if is_answered.contains(index) {
            continue;
        }
        let Some(mutex) = wanted.take() else {
            continue;
        };
        let owner = match call.outcome {
            Outcome::OwnerDied => {
                robust.insert(mutex);
                owners.insert(mutex, call.thread)
            }
            Outcome::Success => {
                owners.insert(mutex, call.thread);
                None
            }
            _ => None,
        };
        if let Some(&last) = owner.and_then(|owner| lasts.get(&owner)) {
            left.entry(last).or_default().push(mutex);
        }
    }
    // Nobody came after these to be told, but somebody may in a prediction, where the order is another.
    for (mutex, owner) in owners {
        if let Some(&last) = lasts.get(&owner)
            && robust.contains(&mutex)
        {
            left.entry(last).or_default().push(mutex);
        }
    }
    left
}

impl Lowering<'_> {
    /// Gives up what a thread has locked that comes to its end, or beyond which nothing was seen of it.
    pub fn give_up_by_end(&mut self, index: usize, thread: u32) {
        if self.left_locked.is_empty() {
            return;
        }
        let mutexes = self.left_locked.remove(&(index as u32));
        for mutex in mutexes.into_iter().flatten() {
            self.unlock(index, thread, mutex);
        }
    }
}
