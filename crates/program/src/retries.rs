//! Waits whose time ran out, and that their threads began again later, until what they waited for came.
//!
//! How often that happens depends on how long the others take, so that a replay must not repeat it: what a thread does each time that its
//! time ran out is its work, but how long it waited says nothing, unless nobody could have run meanwhile. A thread whose last such
//! wait ran out as well paces itself by the clock, or gave up: that time counts.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Call, IoKind, ObjectId, Operation as Op, Outcome, SiteId, ThreadId, Trace};

use crate::events::{EventSet, Following};

/// What a thread waits for with an eye on the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Awaited {
    /// A token, a message, a lock, a condition or a futex.
    Object(ObjectId),
    /// What it waits for at a place in the program: python makes a new semaphore for each wait.
    Site(SiteId),
    /// What others write to a pipe; which is not known of a look at several files.
    Pipe,
    /// A message, or what a semaphore of System V holds; of which, a recording does not tell where the time ran out.
    Queue,
}

/// Until which event each thread gets what it waits for, where its time ran out before.
#[derive(Default)]
pub(crate) struct Retries {
    last: BTreeMap<(ThreadId, Awaited), u32>,
    /// The conditions and futexes that somebody signals or wakes.
    told: BTreeSet<ObjectId>,
}

impl Retries {
    /// Goes through a recording.
    pub fn of(trace: &Trace, next: &Following, is_answered: &EventSet) -> Self {
        let mut retries = Self::default();
        if !has_time_outs(trace) {
            return retries;
        }
        retries.told = trace.calls.iter().filter_map(told).collect();
        let waits = |call: &Call| awaited(call) != NOTHING || got(call) != NOTHING;
        let waits: Vec<bool> = trace.calls.iter().map(waits).collect();
        for (index, event) in trace.events.iter().enumerate() {
            if !waits[event.call.index()] {
                continue;
            }
            let call = trace.call(event);
            let back = is_answered.contains(index).then(|| next.after(index));
            let back = back.and_then(|back| trace.events.get(back as usize));
            match call
                .outcome
                .with_return(back.map(|back| trace.call(back).outcome))
            {
                Outcome::TimedOut => {
                    for awaited in awaited(call).into_iter().flatten() {
                        retries.last.entry((call.thread, awaited)).or_insert(0);
                    }
                }
                Outcome::Failed(_) | Outcome::Busy => {}
                _ => {
                    for awaited in got(call).into_iter().flatten() {
                        if let Some(last) = retries.last.get_mut(&(call.thread, awaited)) {
                            *last = index as u32;
                        }
                    }
                }
            }
        }
        retries
    }

    /// Returns whether anybody signals a condition, or wakes who waits at a futex, in a recording in which the time of some wait ran out.
    pub fn is_told(&self, object: ObjectId) -> bool {
        self.told.contains(&object)
    }

    /// Returns whether a wait whose time ran out is one of those that its thread began again until it got what it waited for.
    #[inline]
    pub fn goes_on(&self, index: usize, call: &Call) -> bool {
        !self.last.is_empty() && self.is_before_last(index, call)
    }

    fn is_before_last(&self, index: usize, call: &Call) -> bool {
        let mut awaited = awaited(call).into_iter().flatten();
        awaited.any(|awaited| {
            let last = self.last.get(&(call.thread, awaited));
            last.is_some_and(|&last| index < last as usize)
        })
    }
}

/// Returns whether the time of some wait ran out.
pub(crate) fn has_time_outs(trace: &Trace) -> bool {
    let mut calls = trace.calls.iter();
    calls.any(|call| call.outcome == Outcome::TimedOut)
}

/// Returns the condition that a call signals, or the futex at which it wakes somebody.
fn told(call: &Call) -> Option<ObjectId> {
    match call.operation {
        Op::CondSignal(object)
        | Op::CondBroadcast(object)
        | Op::FutexWake { futex: object, .. } => Some(object),
        _ => None,
    }
}

const NOTHING: [Option<Awaited>; 3] = [None; 3];

/// Returns what a call waits for: any of these.
fn awaited(call: &Call) -> [Option<Awaited>; 3] {
    let object = match call.operation {
        Op::SemTimedWait(semaphore) => {
            let site = call.site.map(Awaited::Site);
            return [Some(Awaited::Object(semaphore)), site, None];
        }
        Op::SemWait(object)
        | Op::SemTryWait(object)
        | Op::QueueReceive(object)
        | Op::Lock(object)
        | Op::TryLock(object)
        | Op::TimedLock(object)
        | Op::ReadLock(object)
        | Op::TryReadLock(object)
        | Op::TimedReadLock(object)
        | Op::WriteLock(object)
        | Op::TryWriteLock(object)
        | Op::TimedWriteLock(object)
        | Op::FutexWait(object)
        | Op::FutexTimedWait(object)
        | Op::CondWait { cond: object, .. }
        | Op::CondTimedWait { cond: object, .. } => Awaited::Object(object),
        Op::Io {
            kind: IoKind::Poll, ..
        } => Awaited::Pipe,
        Op::Io {
            kind: IoKind::Queue,
            ..
        } => Awaited::Queue,
        _ => return NOTHING,
    };
    [Some(object), None, None]
}

/// Returns what a call that succeeded may have waited for. That files are ready does not say which; what is read from them does.
fn got(call: &Call) -> [Option<Awaited>; 3] {
    let [object, site, _] = awaited(call);
    match call.operation {
        Op::PipeRead { .. } => [Some(Awaited::Pipe), None, None],
        Op::Io { .. } => NOTHING,
        Op::SemWait(_) | Op::SemTimedWait(_) | Op::QueueReceive(_) => {
            [object, site, Some(Awaited::Queue)]
        }
        _ => [object, None, None],
    }
}
