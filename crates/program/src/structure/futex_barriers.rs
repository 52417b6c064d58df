//! Barriers that libraries make of atomics and futexes: `std::barrier` of C++, and that of Rust's standard library.
//!
//! Replayed as woken, who was last in the recording would be waited for by all again, and nobody for the others.
//!
//! The hypothesis is about a futex: always the same threads but one begin to wait, then that one wakes all of them, not always the same one. Who finds that it
//! need not wait any more comes to the round before.
//!
//! # Source
//!
//! `docs/models.md`, "Structure".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, Operation as Op, Outcome, SiteId, ThreadId, Trace};

use super::{
    Pattern, Structure,
    plan::{Gift, Plan},
};
use crate::{events::Following, futexes::waits_again, lower::NONE};

/// So often all have to meet.
const LEAST: usize = 2;

/// Two threads that wake each other in turns may do so for any reason.
const LEAST_THREADS: usize = 3;

/// What happened at a futex so far.
#[derive(Default)]
struct Uses {
    /// Who came since the last wake-up, and how many of them sleep.
    came: BTreeSet<ThreadId>,
    asleep: usize,
    /// Who had come by the last wake-up; nobody before the first.
    before: BTreeSet<ThreadId>,
    /// Who meets each time, once that is known.
    members: BTreeSet<ThreadId>,
    rounds: usize,
    wakers: BTreeSet<ThreadId>,
    /// The waits, each with its return, where it had to wait, and the wake-ups.
    waits: Vec<(u32, Option<u32>)>,
    wakes: Vec<u32>,
    sites: BTreeSet<SiteId>,
    /// Whether something else happened.
    is_odd: bool,
}

/// Finds all such barriers, and plans what becomes of them.
pub(super) fn recognize(
    trace: &Trace,
    next: &Following,
    structures: &mut Vec<Structure>,
    plan: &mut Plan,
) {
    let wakes_several =
        |call: &foretrace_trace::Call| matches!(call.operation, Op::FutexWake { woken: 2.., .. });
    if !trace.calls.iter().any(wakes_several) {
        return;
    }
    let mut futexes: BTreeMap<ObjectId, Uses> = BTreeMap::new();
    for (event, recorded) in (0..).zip(&trace.events) {
        let call = trace.call(recorded);
        match call.operation {
            Op::FutexWait(futex) => {
                let back = Some(next.after(event as usize)).filter(|&back| back != NONE);
                let back = back.map(|back| (back, trace.call(&trace.events[back as usize])));
                let back = back.filter(|(_, call)| call.operation == Op::Return);
                let outcome = back.map_or(call.outcome, |(_, call)| call.outcome);
                // Others came while it looked.
                if outcome != Outcome::Success
                    && let at = back.map_or(event, |(back, _)| back)
                    && waits_again(trace, (at, next.after(at as usize)), futex)
                {
                    continue;
                }
                let uses = futexes.entry(futex).or_default();
                uses.wait(call.thread, outcome);
                let back = back.map(|(back, _)| back);
                uses.waits.push((event, back));
                uses.sites.extend(call.site);
            }
            Op::FutexTimedWait(futex) => futexes.entry(futex).or_default().is_odd = true,
            Op::FutexWake { futex, woken } => {
                let uses = futexes.entry(futex).or_default();
                uses.wake((event, call.thread), woken as usize);
            }
            _ => {}
        }
    }
    for (futex, mut uses) in futexes {
        if let Some(threads) = uses.size() {
            structures.push(uses.plan((futex, threads), plan));
        }
    }
}

impl Uses {
    fn wait(&mut self, thread: ThreadId, outcome: Outcome) {
        match outcome {
            Outcome::Success => {
                self.is_odd |= !self.came.insert(thread);
                self.asleep += 1;
            }
            // Meanwhile the last one came: it may have woken the others already.
            Outcome::Failed(_) | Outcome::Busy
                if !self.before.is_empty() && self.before.insert(thread) => {}
            Outcome::Failed(_) | Outcome::Busy => self.is_odd |= !self.came.insert(thread),
            _ => self.is_odd = true,
        }
    }

    fn wake(&mut self, (event, thread): (u32, ThreadId), woken: usize) {
        self.end_round();
        self.is_odd |= woken != self.asleep || !self.came.insert(thread);
        self.before = std::mem::take(&mut self.came);
        self.asleep = 0;
        self.rounds += 1;
        self.wakers.insert(thread);
        self.wakes.push(event);
    }

    /// Nobody comes late any more to the last wake-up.
    fn end_round(&mut self) {
        if self.rounds == 1 {
            self.members = self.before.clone();
        }
        self.is_odd |= self.rounds > 0 && self.members != self.before;
    }

    /// Returns how many threads there are, if all of them come, again and again, before any goes on.
    fn size(&mut self) -> Option<u32> {
        self.end_round();
        // Where it is always the same that lets the others go on, it may not wait for them.
        let is_one = !self.is_odd
            && self.members.len() >= LEAST_THREADS
            && self.rounds >= LEAST
            && self.wakers.len() >= 2
            && self.came.is_empty();
        is_one.then_some(self.members.len() as u32)
    }

    fn plan(self, (futex, threads): (ObjectId, u32), plan: &mut Plan) -> Structure {
        let made = plan.new_barrier(futex, "barrier", threads);
        for &(wait, back) in &self.waits {
            plan.give_bare(wait, Gift::Arrival(made));
            if let Some(back) = back {
                plan.wakes(back, made);
            }
        }
        for wake in self.wakes {
            plan.give_bare(wake, Gift::Arrival(made));
        }
        Structure {
            object: futex,
            pattern: Some(Pattern::Barrier { threads }),
            sites: self.sites.into_iter().collect(),
            waits: self.waits.len() as u64,
            given_up: 0,
        }
    }
}
