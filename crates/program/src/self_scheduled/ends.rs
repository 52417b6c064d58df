//! Threads that another creates together, and waits for.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Call, Operation, ThreadId, Trace};

use super::{Meeting, Part, tally::LEAST_ROUNDS};
use crate::{Action, Opener, Operations, Thread};

/// Threads that are created together, each with how much its creator had worked by then, in nanoseconds.
type Batch = Vec<(ThreadId, u64)>;

/// Collects what threads do that another creates, of which it waits for the ends before it creates more, where it does so again and again.
pub(super) fn collect(
    trace: &Trace,
    threads: &[Thread],
    operations: &Operations,
) -> BTreeMap<Meeting, Vec<Vec<Part>>> {
    let mut rounds = BTreeMap::new();
    for (meeting, batches) in batches(trace, threads, operations) {
        if batches.len() < LEAST_ROUNDS {
            continue;
        }
        let parts_of = |batch: &Batch| {
            let begin = batch.first()?.1;
            let parts = batch.iter().map(|&(thread, worked)| {
                let part = whole_of(trace, threads, operations, thread)?;
                Some(Part {
                    later: worked - begin,
                    ..part
                })
            });
            parts.collect()
        };
        rounds.insert(meeting, batches.iter().filter_map(parts_of).collect());
    }
    rounds
}

/// Returns who is created together to do the same.
fn batches(
    trace: &Trace,
    threads: &[Thread],
    operations: &Operations,
) -> BTreeMap<Meeting, Vec<Batch>> {
    let creates = |call: &Call| match call.operation {
        Operation::Create(_) => Some(call.thread),
        _ => None,
    };
    let creators: BTreeSet<ThreadId> = trace.calls.iter().filter_map(creates).collect();
    let routine = |thread: ThreadId| trace.threads[thread.index()].start_routine;
    let mut batches: BTreeMap<Meeting, Vec<Batch>> = BTreeMap::new();
    for creator in creators {
        let mut batch = Batch::new();
        let (mut waits, mut worked) = (false, 0);
        let mut close = |batch: &mut Batch| {
            let whole = std::mem::take(batch);
            let first = whole.first().and_then(|&(thread, _)| routine(thread));
            let is_one = whole.iter().all(|&(thread, _)| routine(thread) == first);
            if is_one && whole.len() >= 2 {
                let meeting = Meeting::Ends(creator, first);
                batches.entry(meeting).or_default().push(whole);
            }
        };
        for position in threads[creator.index()].operations.clone() {
            worked += operations.work_nanos(position);
            match operations.action(position) {
                Action::Create(child) => {
                    if std::mem::take(&mut waits) {
                        close(&mut batch);
                    }
                    batch.push((child, worked));
                }
                Action::Await(gate) => {
                    if let Opener::End(child) = gate.opener(threads.len()) {
                        waits |= batch.iter().any(|&(thread, _)| thread == child);
                    }
                }
                _ => {}
            }
        }
        if waits {
            close(&mut batch);
        }
    }
    batches
}

/// Returns what a thread does from its creation to its end, if it ends by itself.
fn whole_of(
    trace: &Trace,
    threads: &[Thread],
    operations: &Operations,
    thread: ThreadId,
) -> Option<Part> {
    let range = threads[thread.index()].operations.clone();
    let last = range.clone().last()?;
    let work = |position: &u32| operations.work_nanos(*position);
    let operation = range.clone().max_by_key(work)?;
    let event = trace.events.get(operations.event(last) as usize)?;
    Some(Part {
        thread: thread.index(),
        first: operation,
        operation,
        work: work(&operation),
        all: range.map(|position| work(&position)).sum(),
        came: event.time.0,
        waits: false,
        later: 0,
    })
}
