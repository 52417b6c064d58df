//! Who puts tasks into a queue and goes on when all of them are done.
//!
//! A thread that waits for each of its tasks in turn finds most of them done where there is one CPU, and a recording holds nothing of what it would have
//! waited for with several: who asks for a result that is there makes no call that others see. But where such a thread, each time that it has waited for
//! workers and puts tasks there again, or lets them end, had none left that was not done, it waits for all of them.
//!
//! # Source
//!
//! `docs/models.md`, "Pool".

use foretrace_trace::{ObjectId, ThreadId};

use super::{
    LaidOut,
    cuts::{TakePoint, Takes, depth_after},
};
use crate::{Action, Opener};

/// So many times at least has all to be done that was put there, several tasks each time; or once where these were as many as two for each worker.
const LEAST: usize = 3;

/// Where the thread that puts tasks into a queue goes on when these are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// The operation after which it waits, as a position in [`Program::operations`](crate::Program::operations).
    pub after: u32,
    /// How many tasks have to be done by then, from the beginning on.
    pub tasks: u32,
}

/// Returns where who puts the tasks waits for all of them, in order.
pub(super) fn find(program: &LaidOut<'_>, takes: &Takes) -> Vec<Join> {
    let none = Vec::new();
    let TakePoint::Token(semaphore) = takes.point else {
        return none;
    };
    // In a listing by hand nobody waits for what it does not say.
    let is_listing = program.trace.recording.is_none();
    if is_listing || program.objects[semaphore.index()].initial.unwrap_or(0) > 0 {
        return none;
    }
    let Some(putter) = only_putter(program, takes, semaphore) else {
        return none;
    };
    let mut done: Vec<u32> = takes
        .tasks(program)
        .map(|task| end_of(program, takes, task.take))
        .collect();
    done.sort_unstable();
    let all_done = |puts: usize, event: u32| done.partition_point(|&end| end < event) >= puts;
    let workers = ranges(program, takes);
    let waits_for_workers = |position: u32| {
        // That somebody has a lock says nothing about tasks.
        if let Action::Lock(_) | Action::ReadLock(_) | Action::WriteLock(_) =
            program.operations.action(position)
        {
            return false;
        }
        let mut needed = program.requirements.of(position).iter();
        program.operations.waited(position)
            && needed.any(|release| workers.iter().any(|range| range.contains(release)))
    };
    let (mut joins, mut evidence) = (Vec::new(), 0);
    let (mut puts, mut put_since) = (0, 0);
    let mut waited = None;
    for (position, operation) in program.operations_of(putter) {
        let puts_more = operation.action == Action::GiveToken(semaphore);
        if puts_more || ends(program, semaphore, operation.action) {
            if let Some(wait) = waited.take() {
                if !all_done(puts, operation.event) {
                    return none;
                }
                evidence += match put_since {
                    0 | 1 => 0,
                    // Some of so many would hardly have been done by chance.
                    several if several >= 2 * workers.len() => LEAST,
                    _ => 1,
                };
                joins.push(Join {
                    after: where_it_waits(program, wait, position),
                    tasks: puts as u32,
                });
                put_since = 0;
            }
            // What comes after the last task lets the workers end.
            if puts_more && puts < done.len() {
                puts += 1;
                put_since += 1;
            }
        } else if puts > 0 && waits_for_workers(position) {
            waited = Some(position);
        }
    }
    if evidence < LEAST { none } else { joins }
}

/// Returns whether an action tells workers that nothing comes any more.
fn ends(program: &LaidOut<'_>, semaphore: ObjectId, action: Action) -> bool {
    let Action::Open(gate) = action else {
        return false;
    };
    gate.opener(program.threads.len()) == Opener::Once(semaphore)
}

/// Returns the one thread that puts tasks there, if it takes none.
fn only_putter(program: &LaidOut<'_>, takes: &Takes, semaphore: ObjectId) -> Option<ThreadId> {
    let threads = (0..program.threads.len()).map(ThreadId::from_index);
    let mut putters = threads.filter(|&thread| {
        let mut operations = program.operations_of(thread);
        operations.any(|(_, operation)| operation.action == Action::GiveToken(semaphore))
    });
    let putter = putters.next().filter(|_| putters.next().is_none())?;
    let takes_some = takes.workers.iter().any(|worker| worker.thread == putter);
    (!takes_some).then_some(putter)
}

fn ranges(program: &LaidOut<'_>, takes: &Takes) -> Vec<std::ops::Range<u32>> {
    let workers = takes.workers.iter();
    let ranges = workers.map(|worker| program.threads[worker.thread.index()].operations.clone());
    ranges.collect()
}

/// Returns the event by which a task was done: the last thing that it does, where no work follows on that.
fn end_of(program: &LaidOut<'_>, takes: &Takes, take: u32) -> u32 {
    let next = takes.taken_at.first_from(take + 1).unwrap_or(take);
    let last = next.saturating_sub(1);
    let work = |position: u32| program.operations.work_nanos(position);
    // To go on after others had its CPU costs a thread some time.
    let all: u64 = (take + 1..=next).map(work).sum();
    let ends_it = last > take && work(next) <= all / 8;
    program.operations.event(if ends_it { last } else { next })
}

/// Returns the operation after which a thread waits that has waited for some of its tasks, and then puts others there: the one before most of what it
/// works in between; or, where it works on each result, the last one before it puts.
fn where_it_waits(program: &LaidOut<'_>, wait: u32, put: u32) -> u32 {
    let work = |position: u32| program.operations.work_nanos(position);
    let all: u64 = (wait + 1..=put).map(work).sum();
    let longest = (wait + 1..=put).max_by_key(|&position| work(position));
    let longest = longest.filter(|&position| 2 * work(position) > all);
    let last = longest.unwrap_or(put) - 1;
    // No lock is held while it waits.
    let mut depth = 0;
    let mut after = wait;
    for position in wait..=last {
        depth = depth_after(program.operations.action(position), depth);
        if depth == 0 {
            after = position;
        }
    }
    after
}
