//! Threads that are answered when they ask: one thread takes what several others put into one queue, and gives each an answer of its own.
//!
//! A master that hands out tasks waits for whoever is ready, or keeps a list of those that are, and puts the next task where that worker alone looks. In
//! a replay another may be ready first; so what all of them wait for is one queue, and whoever asked first gets the next answer.
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
            || !(answers_who_asked(threads, requirements, operations, (server, &own), &ends)
                || answers_who_waits(threads, operations, (server, &own), &ends))
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

    /// Returns who takes from a queue, if it is one of these.
    fn looker(&self, queue: ObjectId, own: &BTreeMap<u32, Vec<ObjectId>>) -> Option<u32> {
        let Who::One(thread) = self.takers[queue.index()] else {
            return None;
        };
        own.get(&thread)?.contains(&queue).then_some(thread)
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

/// Returns whether what a thread puts into each of these queues, but for the first and what comes at its end, is for one that had told that it waits, in any
/// order but by turns: it has a list of those that wait, and takes what tells of each before it answers one of them.
fn answers_who_waits(
    threads: &[Thread],
    operations: &Operations,
    (server, own): (u32, &BTreeMap<u32, Vec<ObjectId>>),
    ends: &Ends,
) -> bool {
    let asks = |queue: ObjectId| {
        let index = queue.index();
        ends.givers[index] == Who::Several && ends.takers[index] == Who::One(server)
    };
    // When each told that it waits, and how often it was answered.
    let mut told: BTreeMap<u32, (Vec<u32>, usize)> = BTreeMap::new();
    for &thread in own.keys() {
        let (told, _) = told.entry(thread).or_default();
        for position in threads[thread as usize].operations.clone() {
            if matches!(operations.action(position), Action::GiveToken(queue) if asks(queue)) {
                told.push(operations.event(position));
            }
        }
    }
    let mut open = 0_usize;
    let mut answered: Vec<u32> = Vec::new();
    let mut unasked = false;
    for position in threads[server as usize].operations.clone() {
        match operations.action(position) {
            Action::TakeToken(queue) if asks(queue) => {
                if unasked {
                    return false;
                }
                open += 1;
            }
            Action::GiveToken(queue) => {
                let Some(thread) = ends.looker(queue, own) else {
                    continue;
                };
                let Some((told, answers)) = told.get_mut(&thread) else {
                    continue;
                };
                let event = operations.event(position);
                let waits = told.partition_point(|&told| told < event) > *answers;
                if waits && open > 0 {
                    open -= 1;
                    *answers += 1;
                    answered.push(thread);
                } else {
                    // The first need not be asked for.
                    unasked |= *answers > 0 || told.first().is_some_and(|&told| told < event);
                }
            }
            _ => {}
        }
    }
    let turns = answered.iter().skip(own.len());
    let by_turns = turns.zip(&answered).all(|(next, last)| next == last);
    answered.len() >= 2 * own.len() && !by_turns
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
    let looker = |queue: ObjectId| ends.looker(queue, own);
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
