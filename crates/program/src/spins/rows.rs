//! Looks of a thread between which it does nothing else: how many there are depends on how long it has to wait.

use foretrace_trace::{Call, Operation as Op, SiteId, Trace};

use crate::{
    held::{Awaited, Held},
    polls::{POLL_RATIO, SPIN},
    structure::Roles,
};

/// Looks of a thread, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The event at which its first nap begins.
    pub begin: u32,
    /// The event at which its last nap begins.
    pub end: u32,
    /// The event by which its thread looked in vain for the last time: that one, or the end of a turn right before it.
    pub look: u32,
    /// The event at which that nap is over; `None` where it is not.
    pub back: Option<u32>,
    /// How many naps there are.
    pub count: u32,
    /// How long the shortest of them is that the program itself asked for, in nanoseconds; none where it is 0.
    pub shortest: u64,
    /// How much CPU time it looked between them, in nanoseconds.
    pub looked: u64,
}

impl Row {
    /// Returns the call by which its thread looks.
    pub(super) fn site(&self, trace: &Trace) -> Option<SiteId> {
        trace.call(&trace.events[self.end as usize]).site
    }

    /// Returns the events at which it begins and between which its last nap lies.
    pub(super) fn ends(&self) -> impl Iterator<Item = u32> + use<> {
        let ends = [self.begin, self.look, self.end];
        ends.into_iter().chain(self.back)
    }
}

/// Returns the looks of a thread with these events, in order. `counts` tells which calls between which a thread may look are asked for.
pub(super) fn rows(
    trace: &Trace,
    own: &[u32],
    what_is_taken: (&Roles, &Awaited),
    counts: impl Fn(&Call) -> bool,
) -> Vec<Row> {
    let call = |place: usize| trace.call(&trace.events[own[place] as usize]);
    let mut rows = Vec::new();
    let mut place = 0;
    while place < own.len() {
        if counts(call(place)) && pauses(trace, own, place) {
            let (row, last) = row_at(trace, own, what_is_taken, place);
            rows.push(row);
            place = last;
        }
        place += 1;
    }
    rows
}

/// Returns whether the call at a place of a thread's events is one between which a thread may look: it gives up the CPU, sleeps, or waits for files until
/// its time runs out.
fn pauses(trace: &Trace, own: &[u32], place: usize) -> bool {
    let call = |place: usize| {
        let event = own.get(place)?;
        Some(trace.call(&trace.events[*event as usize]))
    };
    let Some(pause) = call(place) else {
        return false;
    };
    let back = call(place + 1).filter(|back| back.operation == Op::Return);
    let outcome = pause.outcome.with_return(back.map(|back| back.outcome));
    pause.operation.is_nap() || pause.operation.is_sleep(outcome)
}

/// Returns the looks that begin at a place of a thread's events, and the place of the last of them.
fn row_at(
    trace: &Trace,
    own: &[u32],
    what_is_taken: (&Roles, &Awaited),
    first: usize,
) -> (Row, usize) {
    let is_return = |event: &&u32| {
        let call = trace.call(&trace.events[**event as usize]);
        call.operation == Op::Return
    };
    let mut row = Row {
        begin: own[first],
        end: own[first],
        look: own[first],
        back: None,
        count: 1,
        shortest: nap_of(trace, own, first),
        looked: 0,
    };
    let mut last = first;
    while let Some((next, looked)) = next_look(trace, own, what_is_taken, last) {
        last = next;
        row.count += 1;
        row.looked += looked;
        row.shortest = row.shortest.min(nap_of(trace, own, next));
    }
    row.end = own[last];
    row.look = own[last - usize::from(is_about_to(trace, own, last))];
    row.back = own.get(last + 1).filter(is_return).copied();
    (row, last)
}

/// How long threads looked that kept the CPU is told in whole microseconds: less than that many nanoseconds are no work.
const LEAST_WORK: u64 = 1_000;

/// A thread that loses the CPU works no more than so many nanoseconds, when it has it again, until it takes the nap that it was about to take: it had looked
/// before.
const ABOUT_TO: u64 = 12_000;

/// Returns whether a thread was about to take the nap at a place of its events when it lost the CPU at the event before.
fn is_about_to(trace: &Trace, own: &[u32], nap: usize) -> bool {
    let event = |place: usize| &trace.events[own[place] as usize];
    let Some(before) = nap.checked_sub(1).map(event) else {
        return false;
    };
    let worked = event(nap).cpu().zip(before.cpu());
    trace.call(before).operation == Op::TURN_END
        && worked.is_some_and(|(now, then)| now.since(then).0 <= ABOUT_TO)
}

/// Returns how long the nap at a place of a thread's events is where the thread gets a CPU at once, in nanoseconds; nothing of one that the program did
/// not ask for.
fn nap_of(trace: &Trace, own: &[u32], place: usize) -> u64 {
    let event = &trace.events[own[place] as usize];
    let call = trace.call(event);
    let back = own.get(place + 1).map(|&back| &trace.events[back as usize]);
    match back {
        Some(back) if !call.operation.is_spin() => {
            call.gone_by_itself(back.time.since(event.time)).0
        }
        _ => 0,
    }
}

/// Returns the place of the nap that follows the one at a place of a thread's events, if the thread only looks in between, and for how long it does.
fn next_look(
    trace: &Trace,
    own: &[u32],
    (roles, awaited): (&Roles, &Awaited),
    nap: usize,
) -> Option<(usize, u64)> {
    let event = |place: usize| own.get(place).map(|&event| &trace.events[event as usize]);
    let (began, back) = (event(nap)?, event(nap + 1)?);
    let from = back.cpu()?;
    let call = trace.call(began);
    let site = call.site;
    let allowed = match call.operation {
        // What it looked there has been taken out: what is left is work.
        Op::Spin(_) => LEAST_WORK,
        _ => SPIN.max(back.time.since(began.time).0 / POLL_RATIO),
    };
    let mut held = Held::default();
    let mut place = nap + 2;
    loop {
        let next = event(place)?;
        let looked = next.cpu()?.since(from).0;
        if looked > allowed {
            return None;
        }
        let call = trace.call(next);
        if call.site == site && pauses(trace, own, place) {
            return held.is_nothing().then_some((place, looked));
        }
        let back = event(place + 1).map(|back| trace.call(back).operation);
        let waited = back == Some(Op::Return);
        if !held.passes(call, waited, roles.of(own[place]), awaited) {
            return None;
        }
        place += 1;
    }
}
