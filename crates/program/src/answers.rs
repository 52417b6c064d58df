//! Threads that are answered when they ask: one thread takes what several others put into one queue, and gives each an answer of its own.
//!
//! A master that hands out tasks waits for whoever is ready, and puts the next task where that worker alone looks. In a replay another may be
//! ready first; so what all of them wait for is one queue, and whoever asked first gets the next answer.
//!
//! # Source
//!
//! `docs/models.md`, "Answers".

use std::collections::BTreeMap;

use foretrace_trace::{Object, ObjectId, ObjectKind, ThreadId, Trace};

use crate::{Action, Operations, Thread, links::Links, served};

/// The threads that do something with an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Who {
    #[default]
    Nobody,
    One(u32),
    Several,
}

impl Who {
    fn add(&mut self, thread: u32) {
        *self = match *self {
            Self::Nobody => Self::One(thread),
            Self::One(other) if other == thread => *self,
            _ => Self::Several,
        };
    }
}

/// Who takes from each queue, and who puts something there.
struct Ends {
    takers: Vec<Who>,
    givers: Vec<Who>,
}

/// Makes one queue of those from which single threads take the answers to what they asked.
pub(crate) fn join(
    trace: &Trace,
    threads: &[Thread],
    requirements: &Links,
    operations: &mut Operations,
    objects: &mut [Object],
) {
    let is_queue = |object: &&Object| {
        matches!(
            object.kind,
            ObjectKind::Semaphore | ObjectKind::Queue | ObjectKind::Pipe
        )
    };
    // One that all put something into, and one back to each.
    if objects.iter().filter(is_queue).count() < 3 {
        return;
    }
    let ends = Ends::of(threads, operations, objects.len());
    let origins = served::origins(trace);
    for (server, own) in ends.own_queues() {
        let asking = own.keys().map(|&thread| ThreadId(thread));
        let are_alike = served::are_alike(&origins, asking);
        if own.len() < 2
            || !are_alike
            || own.values().any(|queues| queues.len() != 1)
            || !answers_who_asked(threads, requirements, operations, (server, &own), &ends)
        {
            continue;
        }
        let queues: Vec<ObjectId> = own.values().flatten().copied().collect();
        let all = queues[0];
        let initial = queues
            .iter()
            .filter_map(|queue| objects[queue.index()].initial);
        objects[all.index()].initial = Some(initial.sum());
        let users = own.keys().copied().chain([server]);
        for thread in users {
            for position in threads[thread as usize].operations.clone() {
                match operations.action(position) {
                    Action::TakeToken(queue) if queues.contains(&queue) => {
                        operations.set_action(position, Action::TakeToken(all));
                    }
                    Action::GiveToken(queue) if queues.contains(&queue) => {
                        operations.set_action(position, Action::GiveToken(all));
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Ends {
    fn of(threads: &[Thread], operations: &Operations, objects: usize) -> Self {
        let mut ends = Self {
            takers: vec![Who::Nobody; objects],
            givers: vec![Who::Nobody; objects],
        };
        for (number, thread) in (0..).zip(threads) {
            for position in thread.operations.clone() {
                match operations.action(position) {
                    Action::TakeToken(queue) => ends.takers[queue.index()].add(number),
                    Action::GiveToken(queue) => ends.givers[queue.index()].add(number),
                    _ => {}
                }
            }
        }
        ends
    }

    /// Returns, by who fills them, the queues from which one other thread takes, by that.
    fn own_queues(&self) -> BTreeMap<u32, BTreeMap<u32, Vec<ObjectId>>> {
        let mut queues: BTreeMap<u32, BTreeMap<u32, Vec<ObjectId>>> = BTreeMap::new();
        for (index, (taker, giver)) in self.takers.iter().zip(&self.givers).enumerate() {
            if let (Who::One(taker), Who::One(giver)) = (*taker, *giver)
                && taker != giver
            {
                let own = queues.entry(giver).or_default().entry(taker).or_default();
                own.push(ObjectId::from_index(index));
            }
        }
        queues
    }
}

/// Returns whether what a thread puts into each of these queues, but for the first and what comes at its end, answers what it took from the thread
/// that looks there, just before.
fn answers_who_asked(
    threads: &[Thread],
    requirements: &Links,
    operations: &Operations,
    (server, own): (u32, &BTreeMap<u32, Vec<ObjectId>>),
    ends: &Ends,
) -> bool {
    let thread_of = |position: u32| {
        threads
            .iter()
            .position(|thread| thread.operations.contains(&position))
    };
    let asker = |position: u32| {
        let &[given] = requirements.of(position) else {
            return None;
        };
        thread_of(given)
            .map(|thread| thread as u32)
            .filter(|thread| own.contains_key(thread))
    };
    let looker = |queue: ObjectId| match ends.takers[queue.index()] {
        Who::One(thread)
            if own
                .get(&thread)
                .is_some_and(|queues| queues.contains(&queue)) =>
        {
            Some(thread)
        }
        _ => None,
    };
    let mut begun = vec![false; threads.len()];
    let mut asking = None;
    let mut answers = 0;
    // What was given without having been asked for, since the last question.
    let mut unasked = false;
    for position in threads[server as usize].operations.clone() {
        match operations.action(position) {
            // Who asks by a queue of its own is not one of several that may be first.
            Action::TakeToken(queue) if ends.givers[queue.index()] == Who::Several => {
                let Some(thread) = asker(position) else {
                    continue;
                };
                if unasked {
                    return false;
                }
                asking = Some(thread);
            }
            Action::GiveToken(queue) => {
                let Some(thread) = looker(queue) else {
                    continue;
                };
                let is_first = !std::mem::replace(&mut begun[thread as usize], true);
                if asking.take_if(|asking| *asking == thread).is_some() {
                    answers += 1;
                } else if !is_first {
                    unasked = true;
                }
            }
            _ => {}
        }
    }
    answers >= own.len()
}
