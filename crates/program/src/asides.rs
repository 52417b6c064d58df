//! What threads give up while they wait for something that they only try to get at first.
//!
//! Interpreters let one thread at a time run, by a token. A thread that wants a lock tries to get it; where that fails, it gives the token up, waits for
//! the lock, and takes the token again. In a recording most such tries succeed. Where one does not in a replay, its thread does as others
//! did: if it kept the token, whoever has the lock might wait for that.
//!
//! Likewise a thread that wants two mutexes (`std::lock` of C++ and its kin) locks one and tries to get the other at once; where that fails, it gives up the
//! first, waits for the other, and tries to get the first. As it did nothing with the first yet, it may as well come to it later.
//!
//! # Source
//!
//! `docs/models.md`, "Tries that give something up".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Call, ObjectId, Operation, Outcome, ProcessId, SiteId, ThreadId, Trace};

use crate::{Action, Operations, PositionSet, Thread, lower::WAKING_UP};

/// So many operations after a failed try the wait is over that it led to, at most.
const FAR: u32 = 24;

/// Where a try is made: the process and the call site.
type Place = (ProcessId, SiteId);

/// Returns, by operation, what a thread gives up while it waits in it, and takes again: of tries that succeeded in the recording.
pub(crate) fn find(
    trace: &Trace,
    threads: &[Thread],
    operations: &Operations,
) -> BTreeMap<u32, ObjectId> {
    let fails = |call: &Call| {
        matches!(call.operation, Operation::SemTryWait(_)) && call.outcome == Outcome::Busy
    };
    if !trace.calls.iter().any(fails) {
        return BTreeMap::new();
    }
    let call_of = |position: u32| {
        let event = trace.events.get(operations.event(position) as usize)?;
        Some(trace.call(event))
    };
    let place_of = |thread: &Thread, call: &Call| Some((thread.process, call.site?));
    let mut given_up: BTreeMap<Place, BTreeSet<ObjectId>> = BTreeMap::new();
    for thread in threads {
        for position in thread.operations.clone() {
            if let Some(call) = call_of(position).filter(|call| fails(call))
                && let Operation::SemTryWait(wanted) = call.operation
                && let Some(place) = place_of(thread, call)
                && let until = thread.operations.end.min(position + FAR)
                && let Some(token) = waits_without(operations, position + 1..until, wanted)
            {
                given_up.entry(place).or_default().insert(token);
            }
        }
    }
    let mut asides = BTreeMap::new();
    if given_up.is_empty() {
        return asides;
    }
    // Where no try failed, what others of the process give up tells.
    let mut of_process: BTreeMap<ProcessId, BTreeSet<ObjectId>> = BTreeMap::new();
    for ((process, _), tokens) in &given_up {
        of_process.entry(*process).or_default().extend(tokens);
    }
    for thread in threads {
        let mut held: BTreeMap<ObjectId, i64> = BTreeMap::new();
        for position in thread.operations.clone() {
            match operations.action(position) {
                Action::GiveToken(object) => *held.entry(object).or_default() -= 1,
                Action::TakeToken(object) => {
                    if let Some(call) = call_of(position)
                        && matches!(call.operation, Operation::SemTryWait(_))
                        && let Some(place) = place_of(thread, call)
                        && let Some(tokens) =
                            given_up.get(&place).or_else(|| of_process.get(&place.0))
                        && let Some(&token) = tokens.first()
                        && tokens.len() == 1
                        && held.get(&token).is_some_and(|&held| held > 0)
                    {
                        asides.insert(position, token);
                    }
                    *held.entry(object).or_default() += 1;
                }
                _ => {}
            }
        }
    }
    asides
}

/// Returns the attempts that succeeded in the recording right behind the operation in which their thread locked another mutex.
pub(crate) fn pairs(trace: &Trace, threads: &[Thread], operations: &Operations) -> PositionSet {
    let is_try = |call: &Call| {
        matches!(call.operation, Operation::TryLock(_)) && call.outcome == Outcome::Success
    };
    let attempts = trace.calls.iter().filter(|call| is_try(call));
    let tried: BTreeSet<ThreadId> = attempts.map(|call| call.thread).collect();
    if tried.is_empty() {
        return PositionSet::default();
    }
    let call_of = |position: u32| {
        let event = trace.events.get(operations.event(position) as usize)?;
        Some(trace.call(event))
    };
    let mut pairs = PositionSet::new(operations.len());
    for thread in tried {
        let range = threads[thread.index()].operations.clone();
        for position in range.start + 1..range.end {
            if let Action::Lock(second) = operations.action(position)
                && let Action::Lock(first) = operations.action(position - 1)
                && first != second
                && operations.work_nanos(position) <= WAKING_UP
                && call_of(position).is_some_and(is_try)
                && call_of(position - 1).is_some_and(|call| !is_try(call))
            {
                pairs.insert(position);
            }
        }
    }
    pairs
}

/// Returns the token that operations give, then wait for what is wanted, and then take again, if they do only that.
fn waits_without(
    operations: &Operations,
    range: std::ops::Range<u32>,
    wanted: ObjectId,
) -> Option<ObjectId> {
    let mut tokens = range.filter_map(|position| match operations.action(position) {
        Action::GiveToken(object) => Some((true, object)),
        Action::TakeToken(object) => Some((false, object)),
        _ => None,
    });
    let (gives, token) = tokens.next()?;
    let is_so = gives
        && token != wanted
        && tokens.next() == Some((false, wanted))
        && tokens.next() == Some((false, token));
    is_so.then_some(token)
}
