//! Threads that are answered when they ask: one thread takes what several others put into one queue, and gives each an answer of its own.
//!
//! A master that hands out tasks waits for whoever is ready, or keeps a list of those that are, and puts the next task where that worker alone looks. In
//! a replay another may be ready first; so what all of them wait for is one queue, and whoever asked first gets the next answer.
//!
//! # Source
//!
//! `docs/models.md`, "Answers".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Object, ObjectId, ObjectKind, ThreadId, Trace};

use crate::{Action, Operations, Thread, links::Links, served};

/// Who tells that it waits so soon after a section, in nanoseconds, may have noted it there, in a list of those that wait. In recordings it often lost its CPU in
/// between.
const AT_ONCE: u64 = 100_000;

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

/// A thread that is answered.
#[derive(Default)]
struct Waiting {
    /// The events by which it told that it waits.
    told: Vec<u32>,
    /// How often it was answered since it had told so.
    answers: usize,
    /// Whether it was given anything.
    begun: bool,
}

impl Waiting {
    /// Returns whether it has told by an event that it waits, and was not answered since.
    fn waits(&self, by: u32) -> bool {
        self.told.partition_point(|&told| told < by) > self.answers
    }
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
            || !answers_who_waits(threads, requirements, operations, (server, &own), &ends)
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

/// Returns whether what a thread puts into each of these queues, but for the first and what comes at its end, answers one that had told that it waits: always
/// the one of which it took that just before, or of a list of those that wait any, but not by turns.
fn answers_who_waits(
    threads: &[Thread],
    requirements: &Links,
    operations: &Operations,
    (server, own): (u32, &BTreeMap<u32, Vec<ObjectId>>),
    ends: &Ends,
) -> bool {
    // Who tells by a queue of its own is not one of several that may be first.
    let is_taken = |position: u32| match operations.action(position) {
        Action::TakeToken(queue) => {
            Some(queue).filter(|queue| ends.givers[queue.index()] == Who::Several)
        }
        _ => None,
    };
    let of_server = threads[server as usize].operations.clone();
    let telling: BTreeSet<ObjectId> = of_server.clone().filter_map(is_taken).collect();
    let mut waiting: BTreeMap<u32, Waiting> = BTreeMap::new();
    for &thread in own.keys() {
        let operations_of = threads[thread as usize].operations.clone();
        let told = operations_of.filter(|&position| {
            let action = operations.action(position);
            matches!(action, Action::GiveToken(queue) if telling.contains(&queue))
        });
        let told = told.map(|position| {
            let list =
                operations.section_before(position, threads[thread as usize].operations.start);
            let at_once = |_: &u32| operations.work_nanos(position) <= AT_ONCE;
            operations.event(list.filter(at_once).unwrap_or(position))
        });
        waiting.insert(
            thread,
            Waiting {
                told: told.collect(),
                ..Waiting::default()
            },
        );
    }
    let teller = |position: u32| {
        let &[given] = requirements.of(position) else {
            return None;
        };
        let mut own = own.keys().copied();
        own.find(|&thread| threads[thread as usize].operations.contains(&given))
    };
    // Of whom it was taken last that they wait, of those not answered since, and how many there are.
    let (mut asking, mut open) = (None, 0_usize);
    // How many tokens that were there at first it took for such as wait from the beginning.
    let mut initial = 0_usize;
    let (mut always_the_last, mut unasked) = (true, false);
    let mut answered: Vec<u32> = Vec::new();
    for position in of_server {
        match operations.action(position) {
            Action::TakeToken(queue) if telling.contains(&queue) => {
                let Some(thread) = teller(position) else {
                    initial += usize::from(requirements.of(position).is_empty());
                    continue;
                };
                if unasked {
                    return false;
                }
                asking = Some(thread);
                open += 1;
            }
            Action::GiveToken(queue) => {
                let Some(thread) = ends.looker(queue, own) else {
                    continue;
                };
                let Some(known) = waiting.get_mut(&thread) else {
                    continue;
                };
                let is_first = !std::mem::replace(&mut known.begun, true);
                if open + initial > 0 && known.waits(operations.event(position)) {
                    known.answers += 1;
                    always_the_last &= asking.take() == Some(thread);
                    // Which of the tokens it took is for whom is not known.
                    match open.checked_sub(1) {
                        Some(left) => open = left,
                        None => initial -= 1,
                    }
                    answered.push(thread);
                } else {
                    // The first need not be asked for.
                    unasked |= !is_first;
                    initial = initial.saturating_sub(1);
                }
            }
            _ => {}
        }
    }
    let turns = answered.iter().skip(own.len());
    let by_turns = turns.zip(&answered).all(|(next, last)| next == last);
    if always_the_last {
        answered.len() >= own.len()
    } else {
        answered.len() >= 2 * own.len() && !by_turns
    }
}
