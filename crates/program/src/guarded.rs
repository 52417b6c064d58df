//! Takes that a lock guards: threads that take from one queue in turn, each of which waits for what comes there with the lock in its hands, as servers do
//! that accept one after the other.
//!
//! Who waits for the lock waits for the queue. Tokens being all alike, it is the same to take one first and to lock then; and the threads are seen to take
//! from a queue as others do.
//!
//! # Source
//!
//! `docs/models.md`, "Guarded takes".

use std::collections::BTreeMap;

use foretrace_trace::{Object, ObjectId, ObjectKind};

use crate::{Action, Operation, Operations, Thread};

/// What a lock guards.
#[derive(Default)]
struct Guarded {
    /// Where it is locked and where is taken then.
    sections: Vec<(u32, u32)>,
    queue: Option<ObjectId>,
    /// Whether several threads lock it.
    thread: Option<usize>,
    several: bool,
    /// Whether something else is done under it, too.
    has_other_uses: bool,
}

/// Lets threads take first, and lock then, where a lock guards all takes from a queue and nothing else.
pub(crate) fn take_first(threads: &[Thread], objects: &[Object], operations: &mut Operations) {
    let is_queue = |id: ObjectId| {
        let kind = objects[id.index()].kind;
        matches!(
            kind,
            ObjectKind::Semaphore | ObjectKind::Queue | ObjectKind::Pipe
        )
    };
    if !(0..objects.len()).any(|index| is_queue(ObjectId::from_index(index))) {
        return;
    }
    let mut locks: BTreeMap<ObjectId, Guarded> = BTreeMap::new();
    let mut takes = vec![0_usize; objects.len()];
    for (number, thread) in threads.iter().enumerate() {
        follow(number, thread, operations, &mut locks, &mut takes);
    }
    for guarded in locks.values() {
        let is_all = |queue: ObjectId| takes[queue.index()] == guarded.sections.len();
        let holds = guarded.several
            && !guarded.has_other_uses
            && guarded
                .queue
                .is_some_and(|queue| is_queue(queue) && is_all(queue));
        if !holds {
            continue;
        }
        for &(lock, take) in &guarded.sections {
            let (first, second) = (operations.get(lock), operations.get(take));
            // Both come by the call that takes: nothing was there before.
            let instead = |operation: Operation, other: Operation| Operation {
                action: other.action,
                waited: other.waited,
                work_nanos: operation.work_nanos,
                event: second.event,
            };
            operations.set(lock, instead(first, second));
            operations.set(take, instead(second, first));
        }
    }
}

/// Follows what a thread does under which lock.
fn follow(
    number: usize,
    thread: &Thread,
    operations: &Operations,
    locks: &mut BTreeMap<ObjectId, Guarded>,
    counts: &mut [usize],
) {
    // The lock that is held, where it was locked, and where something was taken since.
    let mut held: Option<(ObjectId, u32)> = None;
    let mut taken: Option<u32> = None;
    for position in thread.operations.clone() {
        match operations.action(position) {
            Action::Lock(mutex) => {
                // One within another is another use of both.
                if let Some((outer, _)) = held {
                    locks.entry(outer).or_default().has_other_uses = true;
                    locks.entry(mutex).or_default().has_other_uses = true;
                }
                held = Some((mutex, position));
                taken = None;
            }
            Action::TakeToken(queue) => {
                counts[queue.index()] += 1;
                let Some((mutex, _)) = held else {
                    continue;
                };
                let guarded = locks.entry(mutex).or_default();
                let is_another = *guarded.queue.get_or_insert(queue) != queue;
                guarded.has_other_uses |= is_another || taken.is_some();
                taken = Some(position);
            }
            Action::Unlock(mutex) => {
                let guarded = locks.entry(mutex).or_default();
                match (held.take(), taken.take()) {
                    (Some((own, lock)), Some(take)) if own == mutex => {
                        guarded.sections.push((lock, take));
                        let first = *guarded.thread.get_or_insert(number);
                        guarded.several |= first != number;
                    }
                    _ => guarded.has_other_uses = true,
                }
            }
            Action::Pass | Action::Rouse(_) | Action::Linger => {}
            _ => {
                if let Some((mutex, _)) = held {
                    locks.entry(mutex).or_default().has_other_uses = true;
                }
            }
        }
    }
    // Who still holds it did not come to the end of what it does.
    if let Some((mutex, _)) = held {
        locks.entry(mutex).or_default().has_other_uses = true;
    }
}
