//! Waits whose time ran out, and that their threads began again later, until what they waited for came.
//!
//! How often that happens depends on how long the others take, so that a replay must not repeat it: what a thread does each time that its
//! time ran out is its work, but how long it waited says nothing, unless nobody could have run meanwhile. A thread whose last such
//! wait ran out as well paces itself by the clock, or gave up: that time counts.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said".

use std::collections::BTreeMap;

use foretrace_trace::{Call, IoKind, ObjectId, Operation as Op, Outcome, ThreadId, Trace};

use crate::events::{EventSet, Following};

/// What a thread waits for with an eye on the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Awaited {
    /// A token, a message, a lock or a futex.
    Object(ObjectId),
    /// What others write to a pipe; which is not known of a look at several files.
    Pipe,
    /// A message, or what a semaphore of System V holds; of which, a recording does not tell where the time ran out.
    Queue,
}

/// Until which event each thread gets what it waits for, where its time ran out before.
#[derive(Default)]
pub(crate) struct Retries {
    last: BTreeMap<(ThreadId, Awaited), u32>,
}

impl Retries {
    /// Goes through a recording.
    pub fn of(trace: &Trace, next: &Following, is_answered: &EventSet) -> Self {
        let mut retries = Self::default();
        if !has_time_outs(trace) {
            return retries;
        }
        let is_wait =
            |call: &Call| awaited(call.operation).is_some() || got(call.operation) != [None, None];
        let is_wait: Vec<bool> = trace.calls.iter().map(is_wait).collect();
        for (index, event) in trace.events.iter().enumerate() {
            let call = trace.call(event);
            if !is_wait[event.call.index()] {
                continue;
            }
            let back = is_answered.contains(index).then(|| next.after(index));
            let back = back.and_then(|back| trace.events.get(back as usize));
            let outcome = match back.map(|back| trace.call(back).outcome) {
                None | Some(Outcome::Success) => call.outcome,
                Some(other) => other,
            };
            match outcome {
                Outcome::TimedOut => {
                    if let Some(awaited) = awaited(call.operation) {
                        retries.last.entry((call.thread, awaited)).or_insert(0);
                    }
                }
                Outcome::Failed(_) => {}
                _ => {
                    for awaited in got(call.operation).into_iter().flatten() {
                        if let Some(last) = retries.last.get_mut(&(call.thread, awaited)) {
                            *last = index as u32;
                        }
                    }
                }
            }
        }
        retries
    }

    /// Returns whether a wait whose time ran out is one of those that its thread began again until it got what it waited for.
    pub fn goes_on(&self, index: usize, thread: u32, operation: Op) -> bool {
        let key = awaited(operation).map(|awaited| (ThreadId(thread), awaited));
        let last = key.and_then(|key| self.last.get(&key));
        last.is_some_and(|&last| index < last as usize)
    }
}

/// Returns whether the time of some wait ran out.
pub(crate) fn has_time_outs(trace: &Trace) -> bool {
    let mut calls = trace.calls.iter();
    calls.any(|call| call.outcome == Outcome::TimedOut)
}

/// Returns what a call waits for.
fn awaited(operation: Op) -> Option<Awaited> {
    match operation {
        Op::SemWait(object)
        | Op::SemTryWait(object)
        | Op::SemTimedWait(object)
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
        | Op::CondTimedWait { cond: object, .. } => Some(Awaited::Object(object)),
        Op::Io {
            kind: IoKind::Poll, ..
        } => Some(Awaited::Pipe),
        Op::Io {
            kind: IoKind::Queue,
            ..
        } => Some(Awaited::Queue),
        _ => None,
    }
}

/// Returns what a call that succeeded had waited for. That files are ready does not say which; what is read from them does.
fn got(operation: Op) -> [Option<Awaited>; 2] {
    match operation {
        Op::PipeRead { .. } => [Some(Awaited::Pipe), None],
        Op::Io { .. } => [None, None],
        Op::SemWait(_) | Op::SemTimedWait(_) | Op::QueueReceive(_) => {
            [awaited(operation), Some(Awaited::Queue)]
        }
        _ => [awaited(operation), None],
    }
}
