//! Ends of processes that were found by looking, without waiting for them.
//!
//! Who has several things to wait for looks in passing which processes have ended (`waitpid` with `WNOHANG`), when something else has woken it: a signal's
//! handler, a pipe, or the time. In a recording such a look succeeded. Where the process ended while its thread waited for something else, it is that wait that
//! is over only then in a replay: what the thread does before it looks, such as to take locks, it does after that. The look itself waits as well, for want of
//! better knowledge; but where nobody else can go on, it is passed over, as the thread would have found another process, or nothing, and gone on.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Operation as Op, ThreadId, Trace};

use crate::{
    Action, Opener, Operations, Thread,
    events::{EventSet, Following},
    lower::NONE,
};

/// The last wait of a thread, by the events at which it began and was over.
type Wait = (u32, u32);

/// Returns the ends of processes that waits for something else last until, by the events at which these are over.
pub(crate) fn ends_waited_for(
    trace: &Trace,
    next: &Following,
    is_answered: &EventSet,
) -> BTreeMap<u32, Vec<u32>> {
    let mut ends = BTreeMap::new();
    let finds = |operation| matches!(operation, Op::Join(_));
    if trace.recording.is_none() || !trace.calls.iter().any(|call| finds(call.operation)) {
        return ends;
    }
    let mut last: Vec<Option<Wait>> = vec![None; trace.threads.len()];
    let mut ended: Vec<Option<u32>> = vec![None; trace.threads.len()];
    for (index, event) in (0..).zip(&trace.events) {
        let call = trace.call(event);
        let is_answered = is_answered.contains(index as usize);
        match call.operation {
            Op::Terminate => ended[call.thread.index()] = Some(index),
            Op::Join(other) if !is_answered && is_of_another(trace, call.thread, other) => {
                if let (Some((began, back)), Some(end)) =
                    (last[call.thread.index()], ended[other.index()])
                    && (began..back).contains(&end)
                {
                    ends.entry(back).or_insert_with(Vec::new).push(end);
                }
            }
            operation if is_answered && waits_for_several(operation) => {
                let back = next.after(index as usize);
                last[call.thread.index()] = (back != NONE).then_some((index, back));
            }
            _ => {}
        }
    }
    ends
}

/// Returns whether a call is a wait that a signal's handler may end, or that may be for several things.
fn waits_for_several(operation: Op) -> bool {
    matches!(
        operation,
        Op::Io { .. }
            | Op::Sleep
            | Op::SleepFor(_)
            | Op::SemWait(_)
            | Op::SemTimedWait(_)
            | Op::FutexWait(_)
            | Op::FutexTimedWait(_)
            | Op::CondWait { .. }
            | Op::CondTimedWait { .. }
            | Op::QueueReceive(_)
            | Op::BarrierWait(_)
            | Op::Join(_)
    )
}

/// Returns the operations in which threads wait for an end that they found, or that ended a wait for something else.
pub(crate) fn operations(
    trace: &Trace,
    is_answered: &EventSet,
    threads: &[Thread],
    operations: &Operations,
) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    if trace.recording.is_none() {
        return found;
    }
    for (thread, own) in (0..).map(ThreadId).zip(threads) {
        for position in own.operations.clone() {
            if let Action::Await(gate) = operations.action(position)
                && let Opener::End(other) = gate.opener(threads.len())
                && is_of_another(trace, thread, other)
                && let event = operations.event(position) as usize
                && !is_answered.contains(event)
            {
                found.insert(position);
            }
        }
    }
    found
}

/// Returns whether another thread is one of another process.
fn is_of_another(trace: &Trace, thread: ThreadId, other: ThreadId) -> bool {
    let process = |thread: ThreadId| trace.threads[thread.index()].process;
    process(thread) != process(other)
}
