//! What is odd about a trace, though valid.

use std::collections::{HashMap, HashSet};

use crate::{
    ObjectId, ObjectKind, Operation, Thread, ThreadId, Trace, operands, validate::event_place,
};

/// How a warning begins that names all threads whose ends were not seen.
pub(crate) const UNSEEN_ENDS: &str = "the ends of ";

/// Oddities beyond this many of one sort are counted, not listed.
const LISTED: usize = 8;

/// Returns what is odd about a valid trace, as sentences for [`Trace::warnings`]: threads that never end or do nothing,
/// locks given up by threads that do not hold them.
///
/// What `trace.warnings` says already is left out, so that a trace that is written and read again gains nothing.
///
/// # Panics
///
/// When the trace is not valid; [`validate`](crate::validate()) tells.
pub fn warnings(trace: &Trace) -> Vec<String> {
    warnings_at(trace, &event_place)
}

/// Adds [`warnings`] to a trace, events named by `place`.
pub(crate) fn warn(trace: &mut Trace, place: impl Fn(usize) -> String) {
    let found = warnings_at(trace, &place);
    trace.warnings.extend(found);
}

/// What is odd, and what else is to be said about it. The first part alone tells one oddity from another: the second
/// names places, which differ from file to file.
type Oddity = (String, String);

fn warnings_at(trace: &Trace, place: &dyn Fn(usize) -> String) -> Vec<String> {
    let mut odd = lives(trace, place);
    odd.extend(Locks::new(trace, place).oddities());
    odd.retain(|(what, _)| {
        let said = |warning: &String| warning.starts_with(what.as_str());
        !trace.warnings.iter().any(said)
    });
    odd.into_iter().map(|(what, more)| what + &more).collect()
}

/// Finds threads that never end, and threads that are named and do nothing.
fn lives(trace: &Trace, place: &dyn Fn(usize) -> String) -> Vec<Oddity> {
    let mut last: Vec<Option<usize>> = vec![None; trace.threads.len()];
    let mut ended = vec![false; trace.threads.len()];
    for (index, event) in trace.events.iter().enumerate() {
        let call = trace.call(event);
        last[call.thread.index()] = Some(index);
        ended[call.thread.index()] |= call.operation == Operation::Terminate;
    }
    // A journal's reader says by itself which ends were not seen.
    let told = trace
        .warnings
        .iter()
        .any(|warning| warning.starts_with(UNSEEN_ENDS));
    let mut endless = Vec::new();
    let mut idle = Vec::new();
    for ((thread, last), ended) in trace.threads.iter().zip(last).zip(ended) {
        let name = &thread.name;
        match last {
            Some(_) if told => {}
            Some(last) if !ended => endless.push((
                format!("thread {name:?} never ends"),
                format!(": it is taken to end after its last event, {}", place(last)),
            )),
            Some(_) => {}
            None => idle.push((format!("thread {name:?} has no events"), String::new())),
        }
    }
    let mut odd = listed(endless, "threads never end");
    odd.extend(listed(idle, "threads have no events"));
    odd
}

/// Keeps the first of many alike, and counts the others.
fn listed(mut odd: Vec<Oddity>, alike: &str) -> Vec<Oddity> {
    if odd.len() > LISTED {
        let further = odd.len() - LISTED;
        odd.truncate(LISTED);
        odd.push((format!("{further} further {alike}"), String::new()));
    }
    odd
}

/// The locks that threads hold while the events are gone through.
///
/// They are counted for each thread by itself: in a listing a lock's row stands where it was asked for, so two threads
/// may seem to hold it.
struct Locks<'t> {
    trace: &'t Trace,
    place: &'t dyn Fn(usize) -> String,
    /// Of each call that is about a lock, the place in `held` of its thread and that lock.
    pairs: Vec<usize>,
    /// How often each thread holds each lock.
    held: Vec<u64>,
    /// The call by which each thread's previous event asked for a lock.
    asked: Vec<Option<usize>>,
    /// Whether each object was asked for before, as far as it is a lock.
    known: Vec<bool>,
    /// Whether each thread is the first of a process that another one began.
    forked: Vec<bool>,
    odd: Vec<Oddity>,
    further: u64,
}

impl<'t> Locks<'t> {
    fn new(trace: &'t Trace, place: &'t dyn Fn(usize) -> String) -> Self {
        let mut places = HashMap::new();
        let pairs = trace.calls.iter().map(|call| {
            let next = places.len();
            lock_of(call.operation)
                .map_or(0, |lock| *places.entry((call.thread, lock)).or_insert(next))
        });
        let pairs = pairs.collect();
        Self {
            trace,
            place,
            pairs,
            held: vec![0; places.len()],
            asked: vec![None; trace.threads.len()],
            known: vec![false; trace.objects.len()],
            forked: forked(trace),
            odd: Vec::new(),
            further: 0,
        }
    }

    fn oddities(mut self) -> Vec<Oddity> {
        for (index, event) in self.trace.events.iter().enumerate() {
            self.step(index, event.call.index());
        }
        if self.further > 0 {
            let further = self.further;
            let what = format!("{further} further events use locks that their threads do not hold");
            self.odd.push((what, String::new()));
        }
        self.odd
    }

    fn step(&mut self, index: usize, position: usize) {
        let call = &self.trace.calls[position];
        let thread = call.thread;
        let asked = self.asked[thread.index()].take();
        if !operands::took_effect(call.outcome) {
            if let (Operation::Return, Some(asked)) = (call.operation, asked) {
                // The wait for the lock ended without it, so what its call counted is taken back.
                self.give_up(asked);
            }
            return;
        }
        if let Some(lock) = operands::acquired(call.operation) {
            self.known[lock.index()] = true;
            self.held[self.pairs[position]] += 1;
            self.asked[thread.index()] = Some(position);
        } else if let Some(lock) = operands::released(call.operation) {
            // What its parent held when it was forked, a child holds, too.
            let known = std::mem::replace(&mut self.known[lock.index()], true);
            let inherited = self.forked[thread.index()] && !known;
            if !self.give_up(position) && !inherited && !self.is_of_file(lock) {
                self.note(index, thread, "unlocks", lock);
            }
        } else if let Some(mutex) = lock_of(call.operation)
            && self.held[self.pairs[position]] == 0
        {
            self.note(index, thread, "waits with", mutex);
        }
    }

    /// Returns whether a lock is one on a file, which whoever has that open gives up.
    fn is_of_file(&self, lock: ObjectId) -> bool {
        let object = &self.trace.objects[lock.index()];
        let is_nowhere = object.kind == ObjectKind::Rwlock && object.address.is_none();
        is_nowhere && self.trace.recording.is_some()
    }

    /// Takes one acquisition of a call's lock back. Returns whether there was one.
    fn give_up(&mut self, position: usize) -> bool {
        let count = &mut self.held[self.pairs[position]];
        let held = *count > 0;
        *count = count.saturating_sub(1);
        held
    }

    fn note(&mut self, index: usize, thread: ThreadId, does: &str, lock: ObjectId) {
        let name = &self.trace.threads[thread.index()].name;
        let lock = &self.trace.objects[lock.index()].name;
        let what = format!("thread {name:?} {does} {lock:?} without holding it");
        if self.odd.iter().any(|(known, _)| *known == what) {
            return;
        }
        if self.odd.len() < LISTED {
            let place = (self.place)(index);
            self.odd.push((what, format!(": {place}")));
        } else {
            self.further += 1;
        }
    }
}

/// Returns whether each thread is the first of a process, and not of the first.
fn forked(trace: &Trace) -> Vec<bool> {
    let mut processes = HashSet::new();
    let mut is_first = |thread: &Thread| processes.insert(thread.process);
    let forked = trace.threads.iter().enumerate();
    forked
        .map(|(index, thread)| is_first(thread) && index > 0)
        .collect()
}

/// Returns the lock that a call takes, gives up, or gives up while it waits.
fn lock_of(operation: Operation) -> Option<ObjectId> {
    operands::acquired(operation)
        .or_else(|| operands::released(operation))
        .or(match operation {
            Operation::CondWait { mutex, .. } | Operation::CondTimedWait { mutex, .. } => {
                Some(mutex)
            }
            _ => None,
        })
}
