//! Semaphores of one token that programs use as locks.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use foretrace_trace::{ObjectId, Operation as Op, Outcome, Trace};

use crate::{
    events::{Following, Sweep},
    lower::NONE,
};

/// Which semaphores are locks, and which event follows which.
pub(super) struct TokenLocks {
    pub next: Rc<Following>,
    semaphores: BTreeSet<ObjectId>,
    are_used: bool,
}

impl TokenLocks {
    /// Looks at the semaphores of a trace.
    pub fn of(trace: &Trace, sweep: &Sweep) -> Self {
        let calls = |is: fn(Op) -> bool| trace.calls.iter().any(|call| is(call.operation));
        let are_used = calls(|call| matches!(call, Op::SemWait(_)))
            && calls(|call| matches!(call, Op::SemPost(_)));
        let next = Rc::clone(&sweep.next);
        let semaphores = if are_used {
            semaphores_that_are_locks(trace, &next)
        } else {
            BTreeSet::new()
        };
        Self {
            next,
            semaphores,
            are_used,
        }
    }

    /// Returns whether threads wait for semaphores, and let others go on by them.
    pub fn are_used(&self) -> bool {
        self.are_used
    }

    /// Returns whether the call at an event did not return at once.
    pub fn blocks(&self, trace: &Trace, event: u32) -> bool {
        answer(trace, self.next.after(event as usize)).0 != NONE
    }

    /// Returns whether a semaphore is a lock.
    pub fn contains(&self, semaphore: ObjectId) -> bool {
        self.semaphores.contains(&semaphore)
    }
}

/// Returns an event, if it is a return, and what it returns.
pub(super) fn answer(trace: &Trace, next: u32) -> (u32, Option<Outcome>) {
    if next == NONE {
        return (NONE, None);
    }
    let call = trace.call(&trace.events[next as usize]);
    match call.operation {
        Op::Return => (next, Some(call.outcome)),
        _ => (NONE, None),
    }
}

/// Returns the semaphores of one token that whoever took it gives back.
fn semaphores_that_are_locks(trace: &Trace, next: &Following) -> BTreeSet<ObjectId> {
    // By which thread each is held, of those that are like locks so far.
    let mut holders: BTreeMap<ObjectId, Option<u32>> = BTreeMap::new();
    for call in &trace.calls {
        if let Op::SemWait(semaphore) = call.operation
            && trace.objects[semaphore.index()].initial == Some(1)
        {
            holders.insert(semaphore, None);
        }
    }
    let mut waits: Vec<Option<ObjectId>> = vec![None; trace.threads.len()];
    for (index, event) in trace.events.iter().enumerate() {
        let call = trace.call(event);
        let thread = call.thread.0;
        let taken = match call.operation {
            Op::SemWait(semaphore) => {
                let blocks = answer(trace, next.after(index)).0 != NONE;
                let waits = &mut waits[call.thread.index()];
                *waits = Some(semaphore).filter(|_| blocks);
                Some(semaphore).filter(|_| !blocks)
            }
            Op::Return => waits[call.thread.index()].take(),
            Op::SemPost(semaphore) => {
                if holders
                    .get(&semaphore)
                    .is_some_and(|&holder| holder != Some(thread))
                {
                    holders.remove(&semaphore);
                } else if let Some(holder) = holders.get_mut(&semaphore) {
                    *holder = None;
                }
                None
            }
            _ => None,
        };
        if let Some(semaphore) = taken
            && let Some(holder) = holders.get_mut(&semaphore)
        {
            *holder = Some(thread);
        }
    }
    holders.into_keys().collect()
}
