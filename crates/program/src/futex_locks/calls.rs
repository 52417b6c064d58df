//! What threads do within short sections, beside taking locks and giving them up: what makes nobody wait.

use std::collections::BTreeSet;

use foretrace_trace::{ObjectId, Operation as Op, Trace};

use super::cpu;
use crate::{Pattern, Structure};

/// Each thread's events.
pub(super) struct Calls<'t> {
    trace: &'t Trace,
    events: Vec<Vec<u32>>,
    /// What they meet at: whoever wakes the others there in the recording may be one that waits in a replay.
    meetings: BTreeSet<ObjectId>,
}

impl<'t> Calls<'t> {
    /// Goes through a recording.
    pub fn of(trace: &'t Trace, structures: &[Structure]) -> Self {
        let meets = |found: &&Structure| matches!(found.pattern, Some(Pattern::Barrier { .. }));
        let meetings = structures.iter().filter(meets);
        let mut events = vec![Vec::new(); trace.threads.len()];
        for (number, event) in (0..).zip(&trace.events) {
            events[trace.call(event).thread.index()].push(number);
        }
        Self {
            trace,
            events,
            meetings: meetings.map(|found| found.object).collect(),
        }
    }

    /// Returns each thread's events, in their order.
    pub fn by_thread(&self) -> &[Vec<u32>] {
        &self.events
    }

    /// Returns the first wake-up at the futexes of a lock that a thread makes after an event, before it does anything that may make it wait.
    pub fn wakes_after(&self, event: u32, lock: &BTreeSet<ObjectId>) -> Option<u32> {
        let (events, place) = self.place(event)?;
        let mut later = events[place + 1..].iter().copied();
        let stop = later.find(|&event| !self.passes(event, lock))?;
        let operation = self.operation(stop);
        let wakes = matches!(operation, Op::FutexWake { futex, .. } if lock.contains(&futex));
        wakes.then_some(stop)
    }

    /// Lists a thread's events before a wake-up at the futexes of a lock, the latest first, up to the first of those after which it may have waited or woke somebody
    /// at them before.
    pub fn before(&self, wake: u32, lock: &BTreeSet<ObjectId>) -> impl Iterator<Item = u32> {
        let earlier = self.place(wake).map(|(events, place)| &events[..place]);
        let mut is_over = false;
        let earlier = earlier.unwrap_or_default().iter().rev().copied();
        earlier.take_while(move |&event| {
            let was_over = is_over;
            is_over |= !self.passes(event, lock);
            !was_over
        })
    }

    /// Returns the event before which a thread's work goes on in which it had used so much CPU time, in nanoseconds, of those up to a wake-up, if it did
    /// nothing from then on that may have made it wait; else the first such event.
    pub fn at_work(&self, wake: u32, lock: &BTreeSet<ObjectId>, nanos: u64) -> (u32, u64) {
        let mut work = wake;
        for event in self.before(wake, lock) {
            let since = cpu(self.trace, event);
            if since <= nanos || !self.passes(event, lock) {
                return (work, nanos.max(since));
            }
            work = event;
        }
        (work, nanos)
    }

    fn passes(&self, event: u32, lock: &BTreeSet<ObjectId>) -> bool {
        let passes = match self.operation(event) {
            Op::FutexWake { futex, .. } => {
                !lock.contains(&futex) && !self.meetings.contains(&futex)
            }
            Op::CondSignal(cond) | Op::CondBroadcast(cond) => !self.meetings.contains(&cond),
            Op::Return
            | Op::FutexWait(_)
            | Op::FutexTimedWait(_)
            | Op::CondWait { .. }
            | Op::CondTimedWait { .. }
            // Whether it waits depends on when others write.
            | Op::PipeRead { .. }
            | Op::Terminate => false,
            _ => true,
        };
        passes && !self.is_answered(event)
    }

    /// Returns whether an event's thread had to wait for its end.
    fn is_answered(&self, event: u32) -> bool {
        let back = self.place(event).and_then(|(events, place)| {
            let back = events.get(place + 1)?;
            Some(self.operation(*back))
        });
        back == Some(Op::Return)
    }

    fn place(&self, event: u32) -> Option<(&[u32], usize)> {
        let recorded = self.trace.events.get(event as usize)?;
        let events = &self.events[self.trace.call(recorded).thread.index()];
        let place = events.binary_search(&event).ok()?;
        Some((events, place))
    }

    fn operation(&self, event: u32) -> Op {
        self.trace
            .call(&self.trace.events[event as usize])
            .operation
    }
}
