//! What threads do in rounds, each up to where they meet.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Object, ObjectId, ObjectKind, Operation as Call, SiteId, ThreadId, Trace};

use crate::{Action, Opener, Operations, Pattern, Structure, Thread};

/// What a thread did before it met others.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub thread: usize,
    /// The operation whose work it is.
    pub operation: u32,
    pub work: u64,
    /// All that it did since it met others before.
    pub all: u64,
    /// When it came, in nanoseconds.
    pub came: u64,
    /// Whether it waits for the others, which do not wait for it.
    pub waits: bool,
    /// For how long its creator worked after it had created the first of them, in nanoseconds.
    pub later: u64,
}

/// Where threads meet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meeting {
    /// At a barrier or a latch, by calls of these places.
    At(ObjectId, BTreeSet<Option<SiteId>>),
    /// At their ends, those that this thread creates together to do the same.
    Ends(ThreadId, Option<SiteId>),
}

/// What is done in rounds, before threads meet.
pub(super) type Rounds = BTreeMap<Meeting, Vec<Vec<Part>>>;

/// Collects what threads do before they meet, wherever they do so again and again.
pub(super) fn collect(
    trace: &Trace,
    (threads, objects): (&[Thread], &[Object]),
    structures: &[Structure],
    operations: &Operations,
) -> Rounds {
    let mut rounds = at_meetings(trace, (threads, objects), structures, operations);
    at_ends(trace, threads, operations, &mut rounds);
    for rounds in rounds.values_mut() {
        leave_out_idle(rounds);
    }
    rounds
}

/// Barriers and latches, and how threads come to them.
struct Arrivals<'a> {
    trace: &'a Trace,
    operations: &'a Operations,
    /// How many threads meet at each.
    sizes: BTreeMap<ObjectId, usize>,
    /// Those that come, each with its event.
    come: BTreeMap<ObjectId, Vec<(u32, Part)>>,
    /// Those that wait until all have come to a latch.
    wait: BTreeMap<ObjectId, Vec<Part>>,
}

/// Collects what is done before threads meet at barriers and latches.
fn at_meetings(
    trace: &Trace,
    (threads, objects): (&[Thread], &[Object]),
    structures: &[Structure],
    operations: &Operations,
) -> Rounds {
    let sizes = sizes(objects, structures);
    if sizes.is_empty() {
        return Rounds::new();
    }
    let mut arrivals = Arrivals {
        trace,
        operations,
        sizes,
        come: BTreeMap::new(),
        wait: BTreeMap::new(),
    };
    for (number, thread) in threads.iter().enumerate() {
        arrivals.of(number, thread);
    }
    arrivals.into_rounds()
}

/// Returns how many threads meet at each barrier and latch, but for those of OpenMP's teams: what they share out is recorded.
fn sizes(objects: &[Object], structures: &[Structure]) -> BTreeMap<ObjectId, usize> {
    let latches = structures
        .iter()
        .filter_map(|structure| match structure.pattern {
            Some(Pattern::Latch { count }) => Some((structure.object, count)),
            _ => None,
        });
    let barriers = (0..).zip(objects).filter_map(|(index, object)| {
        let is_one = object.kind == ObjectKind::Barrier && !object.is_of_team();
        let size = object.initial.filter(|_| is_one)?;
        Some((ObjectId::from_index(index), size))
    });
    let all = latches.chain(barriers).filter(|&(_, size)| size >= 2);
    all.map(|(id, size)| (id, size as usize)).collect()
}

impl Arrivals<'_> {
    /// Adds those of a thread.
    fn of(&mut self, number: usize, thread: &Thread) {
        let operations = self.operations;
        let (mut all, mut taken) = (0, 0);
        for position in thread.operations.clone() {
            all += operations.work_nanos(position);
            let event = operations.event(position);
            let part = |operation: u32, waits: bool| Part {
                thread: number,
                operation,
                work: operations.work_nanos(operation),
                all,
                came: time(self.trace, event),
                waits,
                later: 0,
            };
            match operations.action(position) {
                Action::Barrier(id) | Action::GiveToken(id) if self.sizes.contains_key(&id) => {
                    let at = before_section(operations, position, thread.operations.start);
                    let part = part(at, false);
                    self.come.entry(id).or_default().push((event, part));
                    all = 0;
                }
                Action::TakeToken(id) if self.sizes.contains_key(&id) => {
                    if taken == 0 {
                        let part = part(position, true);
                        self.wait.entry(id).or_default().push(part);
                        all = 0;
                    }
                    taken = (taken + 1) % self.sizes[&id];
                }
                _ => {}
            }
        }
    }

    /// Puts those together that meet at a time.
    fn into_rounds(mut self) -> Rounds {
        self.find_begins();
        let mut rounds = Rounds::new();
        for (id, mut come) in self.come {
            come.sort_by_key(|&(event, _)| event);
            let wait = self.wait.remove(&id).unwrap_or_default();
            // Of several that wait for different rounds it is not known who waits for which.
            let is_one = wait.iter().all(|part| part.thread == wait[0].thread);
            let mut wait = wait.into_iter().filter(|_| is_one);
            for round in come.chunks_exact(self.sizes[&id]) {
                let places: BTreeSet<Option<SiteId>> = round
                    .iter()
                    .map(|&(event, _)| site(self.trace, event))
                    .collect();
                let mut parts: Vec<Part> = round.iter().map(|&(_, part)| part).collect();
                let own: BTreeSet<usize> = parts.iter().map(|part| part.thread).collect();
                let is_one_each = own.len() == parts.len();
                parts.extend(wait.next());
                if is_one_each {
                    let meeting = Meeting::At(id, places);
                    rounds.entry(meeting).or_default().push(parts);
                }
            }
        }
        rounds
    }

    /// Finds out when those that waited for others came: with their event before the one by which the wait was over.
    fn find_begins(&mut self) {
        let mut ends: BTreeMap<u32, &mut u64> = BTreeMap::new();
        for part in self.wait.values_mut().flatten() {
            if self.operations.waited(part.operation) {
                ends.insert(self.operations.event(part.operation), &mut part.came);
            }
        }
        if ends.is_empty() {
            return;
        }
        let mut latest = vec![0; self.trace.threads.len()];
        for (number, event) in (0..).zip(&self.trace.events) {
            let latest = &mut latest[self.trace.call(event).thread.index()];
            if let Some(came) = ends.remove(&number) {
                *came = *latest;
            }
            *latest = event.time.0;
        }
    }
}

/// Returns when an event was, in nanoseconds.
fn time(trace: &Trace, event: u32) -> u64 {
    let event = trace.events.get(event as usize);
    event.map_or(0, |event| event.time.0)
}

/// Returns where an event's call was made.
fn site(trace: &Trace, event: u32) -> Option<SiteId> {
    trace.call(trace.events.get(event as usize)?).site
}

/// Collects what threads do that another creates, of which it waits for the ends before it creates more.
fn at_ends(trace: &Trace, threads: &[Thread], operations: &Operations, rounds: &mut Rounds) {
    let creates = |call: &foretrace_trace::Call| match call.operation {
        Call::Create(_) => Some(call.thread),
        _ => None,
    };
    let creators: BTreeSet<ThreadId> = trace.calls.iter().filter_map(creates).collect();
    for creator in creators {
        // The threads that it created, each with how much it had worked by then.
        let mut batch: Vec<(ThreadId, u64)> = Vec::new();
        let (mut waits, mut worked) = (false, 0);
        let mut close = |batch: &mut Vec<(ThreadId, u64)>| {
            let whole = std::mem::take(batch);
            let Some(&(first, begin)) = whole.first() else {
                return;
            };
            let routine = |thread: ThreadId| trace.threads[thread.index()].start_routine;
            let first = routine(first);
            let is_one =
                whole.len() >= 2 && whole.iter().all(|&(thread, _)| routine(thread) == first);
            let parts = whole.into_iter().map(|(thread, worked)| {
                let part = whole_of(trace, threads, operations, thread)?;
                Some(Part {
                    later: worked - begin,
                    ..part
                })
            });
            if is_one && let Some(parts) = parts.collect::<Option<Vec<Part>>>() {
                let meeting = Meeting::Ends(creator, first);
                rounds.entry(meeting).or_default().push(parts);
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
        operation,
        work: work(&operation),
        all: range.map(|position| work(&position)).sum(),
        came: event.time.0,
        waits: false,
        later: 0,
    })
}

/// Whoever does little before it waits for the others does not take iterations.
fn leave_out_idle(rounds: &mut [Vec<Part>]) {
    let parts = || rounds.iter().flatten();
    let work = |waits: bool| -> u64 {
        let those = parts().filter(|part| part.waits == waits);
        those.map(|part| part.work).sum()
    };
    let (waiting, others) = (work(true), work(false));
    let count = parts().filter(|part| !part.waits).count() as u64;
    if 3 * waiting * count < rounds.len() as u64 * others {
        for round in rounds {
            round.retain(|part| !part.waits);
        }
    }
}

/// Returns the operation that holds the work before threads meet: where they come by a section of a lock, its beginning.
fn before_section(operations: &Operations, position: u32, first: u32) -> u32 {
    let is_section = position >= first + 2
        && matches!(operations.action(position - 1), Action::Unlock(_))
        && matches!(operations.action(position - 2), Action::Lock(_));
    let outside =
        is_section && operations.work_nanos(position - 2) > operations.work_nanos(position);
    if outside { position - 2 } else { position }
}
