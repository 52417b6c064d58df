//! Whether the tasks of a pool can be run by any worker.

use std::{collections::BTreeSet, ops::Range};

use foretrace_trace::{ObjectId, ObjectKind, ThreadId};

use super::{
    LaidOut, Task, Worker,
    cuts::{TakePoint, Takes, depth_after},
};
use crate::{Action, Opener};

/// Says why the tasks cannot be run by any worker, or whether the order of the tasks is known.
pub(super) fn check(program: &LaidOut<'_>, takes: &Takes) -> Result<bool, String> {
    same_barriers(program, takes)?;
    let mutexes: &[ObjectId] = match &takes.point {
        TakePoint::Lock(_, mutexes) | TakePoint::OwnLock(_, mutexes) => mutexes,
        TakePoint::Token(_) | TakePoint::LockToken(_) => &[],
    };
    let mut is_queue = vec![false; program.objects.len()];
    for mutex in mutexes {
        is_queue[mutex.index()] = true;
    }
    let earlier = Earlier::new(program, takes);
    let mut waits = false;
    let mut counts = takes.tasks(program).map(|task| {
        let uses = task_uses(program, takes, (task, &earlier), &is_queue);
        waits |= uses.as_ref().is_ok_and(|uses| uses.waits);
        uses.map(|uses| uses.locks)
    });
    let first = counts.next().transpose()?;
    for count in counts {
        let differs = Some(count?) != first;
        // Of those with a queue each it is known that they only look into the others.
        if differs && matches!(takes.point, TakePoint::Lock(..)) {
            return Err(
                "some tasks lock the queue's mutex more often than others, perhaps to put new ones there".to_owned(),
            );
        }
    }
    match takes.point {
        TakePoint::Lock(..) | TakePoint::OwnLock(..) => {
            no_puts_by_others(program, takes, mutexes)?;
            Ok(true)
        }
        TakePoint::LockToken(_) => Ok(true),
        // Those that wait for others do so for some that were taken before them: they are taken as they were put there.
        TakePoint::Token(semaphore) => Ok(puts_cover_takes(program, takes, semaphore)? || waits),
    }
}

/// What a task does that matters to whether any worker can run it.
struct Uses {
    /// How often it locks the queue's mutexes beyond its take.
    locks: u32,
    /// Whether it waits for what others do.
    waits: bool,
}

/// Tells which of a pool's tasks an operation belongs to.
struct Earlier<'a> {
    workers: Vec<&'a Range<u32>>,
    /// The takes by position, each with its place in the order in which they were done.
    places: Vec<(u32, u32)>,
    /// The takes after which a worker only does what it does at the end.
    tails: BTreeSet<u32>,
}

impl<'a> Earlier<'a> {
    fn new(program: &LaidOut<'a>, takes: &Takes) -> Self {
        let operations = |worker: &Worker| &program.threads[worker.thread.index()].operations;
        let mut workers: Vec<&Range<u32>> = takes.workers.iter().map(operations).collect();
        workers.sort_unstable_by_key(|range| range.start);
        let mut places: Vec<(u32, u32)> = takes.in_order.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let tails = takes.workers.iter().flat_map(|worker| &worker.tails);
        Self {
            workers,
            places,
            tails: tails.flatten().copied().collect(),
        }
    }

    /// Returns whether an operation is done whatever becomes of the tasks behind one: by others than the workers, before a worker's
    /// first take, or in a task that was taken no later.
    fn has(&self, operation: u32, task: &Task) -> bool {
        let after = self
            .workers
            .partition_point(|range| range.start <= operation);
        let worker = after.checked_sub(1).map(|index| self.workers[index]);
        let Some(worker) = worker.filter(|range| range.contains(&operation)) else {
            return true;
        };
        let after = self.places.partition_point(|&(take, _)| take <= operation);
        let take = after.checked_sub(1).map(|index| self.places[index]);
        take.is_none_or(|(take, place)| {
            !worker.contains(&take) || place <= task.rank && !self.tails.contains(&take)
        })
    }
}

/// Checks that all workers wait at the same barriers in the same order.
fn same_barriers(program: &LaidOut<'_>, takes: &Takes) -> Result<(), String> {
    let barriers = |thread: ThreadId| -> Vec<ObjectId> {
        let operations = program.operations_of(thread);
        operations
            .filter_map(|(_, operation)| match operation.action {
                Action::Barrier(barrier) => Some(barrier),
                _ => None,
            })
            .collect()
    };
    let mut workers = takes.workers.iter();
    let Some(first) = workers.next() else {
        return Ok(());
    };
    let all = barriers(first.thread);
    let helps = |worker: &Worker| !worker.leaves.is_empty();
    if !all.is_empty() && takes.workers.iter().any(helps) {
        return Err("one helps them that waits at barriers with them".to_owned());
    }
    for worker in workers {
        let other = barriers(worker.thread);
        if other != all {
            let differs = all.iter().zip(&other).find(|(one, other)| one != other);
            let longer = if all.len() > other.len() {
                &all
            } else {
                &other
            };
            let barrier = differs.map_or(longer[all.len().min(other.len())], |(one, _)| *one);
            return Err(format!(
                "not all of them wait at barrier {} as often as {} does",
                program.objects[barrier.index()].name,
                program.threads[first.thread.index()].name
            ));
        }
    }
    Ok(())
}

/// Returns what a task does that matters; says what in it ties it to its thread.
fn task_uses(
    program: &LaidOut<'_>,
    takes: &Takes,
    (task, earlier): (Task, &Earlier<'_>),
    is_queue: &[bool],
) -> Result<Uses, String> {
    let name = |object: ObjectId| &program.objects[object.index()].name;
    let mut depth = depth_after(program.operations.action(task.take), 0);
    let (mut locks, mut waits) = (0, false);
    for (position, action) in takes.after(program, task.take) {
        match action {
            Action::Await(gate) => match gate.opener(program.threads.len()) {
                Opener::Once(_) => {}
                Opener::Progress(_) => {
                    return Err("a task waits for other threads by sleeping".to_owned());
                }
                Opener::End(other) | Opener::Cancellation(other) => {
                    let other = &program.threads[other.index()].name;
                    return Err(format!("a task waits for the end of {other}"));
                }
            },
            Action::CondWait { cond, .. } => {
                return Err(format!(
                    "a task waits on condition variable {}, of which it is not known what it stands for",
                    name(cond)
                ));
            }
            Action::AwaitWake(object)
                if program.objects[object.index()].kind == ObjectKind::Mutex =>
            {
                let needed = program.requirements.of(position);
                if !needed.iter().all(|&release| earlier.has(release, &task)) {
                    return Err(format!(
                        "a task waits for what one that was taken later does under {}",
                        name(object)
                    ));
                }
                waits = true;
            }
            Action::AwaitWake(futex) => {
                return Err(format!("a task waits for futex {}", name(futex)));
            }
            Action::Poll(mutex) => {
                return Err(format!(
                    "a task waits, by polling, for a section of mutex {}",
                    name(mutex)
                ));
            }
            Action::Unlock(lock) | Action::RwUnlock(lock) if depth == 0 => {
                return Err(format!(
                    "a task gives {} up, which it did not lock",
                    name(lock)
                ));
            }
            Action::Lock(mutex) if is_queue[mutex.index()] => locks += 1,
            Action::Send { .. } | Action::Wait(_) => {
                return Err("abstract processes wait for each other by name".to_owned());
            }
            _ => {}
        }
        depth = depth_after(action, depth);
    }
    if depth > 0 {
        return Err("a lock is held from one task to the next".to_owned());
    }
    Ok(Uses { locks, waits })
}

/// Checks that nobody else may have put tasks into a queue that a mutex alone guards, while tasks were taken.
fn no_puts_by_others(
    program: &LaidOut<'_>,
    takes: &Takes,
    mutexes: &[ObjectId],
) -> Result<(), String> {
    let event = |position: u32| program.operations.event(position);
    let (Some(&first), Some(&last)) = (takes.in_order.first(), takes.in_order.last()) else {
        return Ok(());
    };
    let (first, last) = (event(first), event(last));
    for thread in (0..program.threads.len()).map(ThreadId::from_index) {
        if takes.workers.iter().any(|worker| worker.thread == thread) {
            continue;
        }
        let mut before = None;
        for (position, operation) in program.operations_of(thread) {
            // Who waits in the section, or did just before it, looks at something.
            if matches!(operation.action, Action::Lock(mutex) if mutexes.contains(&mutex))
                && (first..=last).contains(&operation.event)
                && before != Some(operation.event)
                && !waits_inside(program, position)
            {
                return Err(format!(
                    "{} locks the queue's mutex meanwhile, perhaps to put tasks there",
                    program.threads[thread.index()].name
                ));
            }
            before = matches!(
                operation.action,
                Action::TakeToken(_) | Action::Await(_) | Action::AwaitWake(_)
            )
            .then_some(operation.event);
        }
    }
    Ok(())
}

/// Returns whether a section waits on a condition variable: it looks at something, and puts nothing.
fn waits_inside(program: &LaidOut<'_>, lock: u32) -> bool {
    program
        .operations
        .range(lock + 1..program.operations.len() as u32)
        .take_while(|operation| !matches!(operation.action, Action::Unlock(_) | Action::Terminate))
        .any(|operation| matches!(operation.action, Action::CondWait { .. }))
}

/// Checks that at every moment of the recording as many tokens were there as were taken. Returns whether all were there
/// before the first was taken.
fn puts_cover_takes(
    program: &LaidOut<'_>,
    takes: &Takes,
    semaphore: ObjectId,
) -> Result<bool, String> {
    let object = &program.objects[semaphore.index()];
    if program.short.contains(&semaphore) {
        return Err(format!(
            "more tokens of {} were taken than are known to have been put there",
            object.name
        ));
    }
    let mut gives: Vec<u32> = Vec::new();
    let mut all = 0;
    for operation in program.operations.iter() {
        match operation.action {
            Action::GiveToken(id) if id == semaphore => gives.push(operation.event),
            Action::TakeToken(id) if id == semaphore => all += 1,
            _ => {}
        }
    }
    let is_take =
        |position: &&u32| program.operations.action(**position) == Action::TakeToken(semaphore);
    if takes.in_order.iter().filter(is_take).count() < all {
        return Err(format!("other threads take tokens of {}, too", object.name));
    }
    gives.sort_unstable();
    let initial = object.initial.unwrap_or(0) as usize;
    // A section that puts something there, and takes something then, does so by one event.
    let given_before = |event: u32| initial + gives.partition_point(|&give| give <= event);
    let mut count = 0;
    let mut first = None;
    for &position in &takes.in_order {
        if program.operations.action(position) != Action::TakeToken(semaphore) {
            continue;
        }
        let done = program.done_at(position);
        first.get_or_insert(done);
        count += 1;
        if given_before(done) < count {
            return Err(format!(
                "token {count} of {} was taken before it was put there",
                object.name
            ));
        }
    }
    Ok(first.is_none_or(|first| given_before(first) >= takes.sums.tasks))
}
