//! Threads that meet at barriers and latches, again and again.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Object, ObjectId, ObjectKind, Operation as Call, SiteId, Trace};

use super::{Part, pieces, time};
use crate::{Action, Operations, Pattern, Structure, Thread};

/// A thread comes to where it meets others.
#[derive(Clone, Copy)]
struct Arrival {
    event: u32,
    thread: u32,
    /// Where it came by a section of a lock, the operation that locked.
    section: Option<u32>,
    /// The operation by which it came.
    operation: u32,
    /// The first operation since it met others before.
    first: u32,
    /// All that it did since then, in nanoseconds.
    all: u64,
}

/// Which work of a thread may be dealt out that it did since it met others before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dealt {
    /// That before it comes.
    Last,
    /// All that it did outside of locks, if it did nothing but take some and give them up.
    Pieces,
}

/// Who comes to a barrier or a latch.
#[derive(Default)]
pub(super) struct Arrivals {
    /// How many meet at a time.
    size: usize,
    /// Those that come, in order.
    come: Vec<Arrival>,
    /// Those that wait until all have come to a latch.
    wait: Vec<Part>,
}

/// Collects who comes to barriers and latches, but to those of OpenMP's teams: what they share out is recorded.
pub(super) fn collect(
    trace: &Trace,
    (threads, objects): (&[Thread], &[Object]),
    structures: &[Structure],
    operations: &Operations,
) -> BTreeMap<ObjectId, Arrivals> {
    let mut arrivals = with_sizes(trace, objects, structures);
    if arrivals.is_empty() {
        return arrivals;
    }
    let mut places = vec![None; objects.len()];
    let mut list: Vec<&mut Arrivals> = Vec::with_capacity(arrivals.len());
    for (place, (id, own)) in arrivals.iter_mut().enumerate() {
        places[id.index()] = Some(place);
        list.push(own);
    }
    for (number, thread) in threads.iter().enumerate() {
        let mut taken: BTreeMap<ObjectId, usize> = BTreeMap::new();
        let (mut all, mut first) = (0, thread.operations.start);
        for position in thread.operations.clone() {
            let work = operations.work_nanos(position);
            all += work;
            let action = operations.action(position);
            let (Action::Barrier(id) | Action::GiveToken(id) | Action::TakeToken(id)) = action
            else {
                continue;
            };
            let Some(own) = places[id.index()].map(|place| &mut *list[place]) else {
                continue;
            };
            let event = operations.event(position);
            if let Action::TakeToken(_) = action {
                let taken = taken.entry(id).or_default();
                if *taken == 0 {
                    own.wait.push(Part {
                        thread: number,
                        first: position,
                        operation: position,
                        work,
                        all,
                        came: time(trace, event),
                        waits: true,
                        later: 0,
                    });
                    (all, first) = (0, position + 1);
                }
                *taken = (*taken + 1) % own.size;
            } else {
                let section = operations.section_before(position, thread.operations.start);
                own.come.push(Arrival {
                    event,
                    thread: number as u32,
                    section,
                    operation: position,
                    first,
                    all,
                });
                (all, first) = (0, position + 1);
            }
        }
    }
    find_begins(trace, operations, &mut arrivals);
    for own in arrivals.values_mut() {
        own.come.sort_unstable_by_key(|arrival| arrival.event);
        // Of several that wait for different rounds it is not known who waits for which.
        let first = own.wait.first().map(|part| part.thread);
        if own.wait.iter().any(|part| Some(part.thread) != first) {
            own.wait.clear();
        }
    }
    arrivals
}

/// Returns the barriers and latches at which several threads meet, without those that come.
fn with_sizes(
    trace: &Trace,
    objects: &[Object],
    structures: &[Structure],
) -> BTreeMap<ObjectId, Arrivals> {
    let latches = structures
        .iter()
        .filter_map(|structure| match structure.pattern {
            Some(Pattern::Latch { count }) => Some((structure.object, count)),
            _ => None,
        });
    let calls = trace.calls.iter().map(|call| call.operation);
    let used: BTreeSet<ObjectId> = calls
        .filter_map(|call| match call {
            Call::BarrierWait(id) => Some(id),
            _ => None,
        })
        .collect();
    let barriers = (0..).zip(objects).filter_map(|(index, object)| {
        let id = ObjectId::from_index(index);
        let recorded = trace.objects.get(index);
        // What conditions and futexes are, no call names.
        let is_lifted = recorded.is_none_or(|object| object.kind != ObjectKind::Barrier);
        let is_one = object.kind == ObjectKind::Barrier && !object.is_of_team();
        let size = object.initial.filter(|_| is_one)?;
        (is_lifted || used.contains(&id)).then_some((id, size))
    });
    let all = latches.chain(barriers).filter(|&(_, size)| size >= 2);
    all.map(|(id, size)| {
        let arrivals = Arrivals {
            size: size as usize,
            ..Arrivals::default()
        };
        (id, arrivals)
    })
    .collect()
}

/// Finds out when those that waited for others came: with their event before the one by which the wait was over.
fn find_begins(
    trace: &Trace,
    operations: &Operations,
    arrivals: &mut BTreeMap<ObjectId, Arrivals>,
) {
    let mut ends: BTreeMap<u32, &mut u64> = BTreeMap::new();
    for part in arrivals.values_mut().flat_map(|own| &mut own.wait) {
        if operations.waited(part.operation) {
            ends.insert(operations.event(part.operation), &mut part.came);
        }
    }
    if ends.is_empty() {
        return;
    }
    let mut latest = vec![0; trace.threads.len()];
    for (number, event) in (0..).zip(&trace.events) {
        let latest = &mut latest[trace.call(event).thread.index()];
        if let Some(came) = ends.remove(&number) {
            *came = *latest;
        }
        *latest = event.time.0;
    }
}

impl Arrival {
    /// Returns what its thread did before it came.
    fn part(&self, (trace, operations): (&Trace, &Operations), dealt: Dealt) -> Part {
        let work = |position| operations.work_nanos(position);
        let (first, operation, work) = match dealt {
            Dealt::Last => {
                let is_before = |&lock: &u32| work(lock) > work(self.operation);
                let operation = self.section.filter(is_before).unwrap_or(self.operation);
                (operation, operation, work(operation))
            }
            Dealt::Pieces => {
                let last = self.section.unwrap_or(self.operation);
                let pieces = pieces::of(operations, self.first..=last);
                let all = pieces.map(|pieces| pieces.iter().map(|&piece| work(piece)).sum());
                (self.first, last, all.unwrap_or(0))
            }
        };
        Part {
            thread: self.thread as usize,
            first,
            operation,
            work,
            all: self.all,
            came: time(trace, self.event),
            waits: false,
            later: 0,
        }
    }
}

impl Arrivals {
    /// Returns the threads that come.
    pub fn threads(&self) -> BTreeSet<u32> {
        self.come.iter().map(|arrival| arrival.thread).collect()
    }

    /// Returns how many rounds there are.
    pub fn rounds(&self) -> usize {
        self.come.len() / self.size
    }

    /// Replaces `parts` by those of a round, and `places` by the places of the calls by which threads come, each once.
    /// Returns whether it is one of each thread.
    pub fn round(
        &self,
        number: usize,
        (trace, operations, dealt): (&Trace, &Operations, Dealt),
        parts: &mut Vec<Part>,
        places: &mut Vec<Option<SiteId>>,
    ) -> bool {
        let come = &self.come[number * self.size..(number + 1) * self.size];
        // Where they come by no call of their own, it is where they lock for it that tells rounds apart.
        let call = |arrival: &Arrival| match arrival.section {
            Some(lock) if !is_barrier_wait(trace, arrival.event) => operations.event(lock),
            _ => arrival.event,
        };
        places.clear();
        places.extend(come.iter().map(|arrival| site(trace, call(arrival))));
        places.sort_unstable();
        places.dedup();
        parts.clear();
        let part = |arrival: &Arrival| arrival.part((trace, operations), dealt);
        parts.extend(come.iter().map(part));
        let is_one_each = (1..come.len()).all(|place| {
            let mut before = come[..place].iter();
            before.all(|other| other.thread != come[place].thread)
        });
        parts.extend(self.wait.get(number));
        is_one_each
    }
}

/// Returns whether an event is a call of a barrier's.
fn is_barrier_wait(trace: &Trace, event: u32) -> bool {
    let event = trace.events.get(event as usize);
    event.is_some_and(|event| matches!(trace.call(event).operation, Call::BarrierWait(_)))
}

/// Returns where an event's call was made.
fn site(trace: &Trace, event: u32) -> Option<SiteId> {
    trace.call(trace.events.get(event as usize)?).site
}
