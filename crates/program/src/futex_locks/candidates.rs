//! Futexes that may be locks: those that several threads wait for, or for which threads wait at one call, each for its own.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, Operation as Op, Outcome, ProcessId, SiteId, ThreadId, Trace};

use super::{calls::Calls, hypothesis::LEAST};
use crate::{events::Following, futexes::waits_again, lower::NONE};

/// A wait that a wake-up ended.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub event: u32,
    pub thread: ThreadId,
    pub futex: ObjectId,
    /// Its return, and the same thread's next event.
    pub back: u32,
    pub next: u32,
    /// The wake-up at one of the futexes that the thread makes before it can have waited for anything else; [`NONE`] where it makes none.
    pub wake: u32,
}

/// A wake-up, of so many threads.
#[derive(Clone, Copy)]
pub(super) struct Wake {
    pub event: u32,
    pub thread: ThreadId,
    pub futex: ObjectId,
    pub woken: u32,
}

/// What may be one lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Candidate {
    /// A futex that several threads wait for.
    Word(ObjectId),
    /// Those for which threads of a process wait from a place, each for its own.
    Parkers(Option<SiteId>, ProcessId),
}

/// How a candidate is used.
#[derive(Default)]
pub(super) struct Uses {
    /// The waits after which their threads went on.
    pub waits: Vec<Wait>,
    /// Those after which they waited again at once: somebody else was faster.
    pub in_vain: Vec<Wait>,
    pub wakes: Vec<Wake>,
    /// The futexes.
    pub futexes: BTreeSet<ObjectId>,
    /// Whether some were used in another way.
    is_odd: bool,
    /// Whether some wake-up woke several threads.
    wakes_several: bool,
}

/// Collects what may be locks, as far as there are enough waits.
pub(super) fn collect(trace: &Trace, next: &Following, calls: &Calls<'_>) -> Vec<Uses> {
    let mut waits: Vec<(Wait, Option<SiteId>)> = Vec::new();
    let mut wakes = Vec::new();
    let (mut odd, mut several) = (BTreeSet::new(), BTreeSet::new());
    let mut waiters: BTreeMap<ObjectId, BTreeSet<ThreadId>> = BTreeMap::new();
    for (event, recorded) in (0..).zip(&trace.events) {
        let call = trace.call(recorded);
        let thread = call.thread;
        match call.operation {
            Op::FutexWait(futex) | Op::FutexTimedWait(futex) => {
                let back = next.after(event as usize);
                let outcome = match back {
                    NONE => call.outcome,
                    back => trace.call(&trace.events[back as usize]).outcome,
                };
                match outcome {
                    Outcome::Success
                        if matches!(call.operation, Op::FutexWait(_)) && back != NONE =>
                    {
                        let next = next.after(back as usize);
                        let wait = Wait {
                            event,
                            thread,
                            futex,
                            back,
                            next,
                            wake: NONE,
                        };
                        waits.push((wait, call.site));
                        waiters.entry(futex).or_default().insert(thread);
                        if next == NONE {
                            odd.insert(futex);
                        }
                    }
                    Outcome::Failed(_) | Outcome::Busy => {}
                    _ => {
                        odd.insert(futex);
                    }
                }
            }
            Op::FutexWake { futex, woken } => {
                if woken > 1 {
                    several.insert(futex);
                }
                wakes.push(Wake {
                    event,
                    thread,
                    futex,
                    woken,
                });
            }
            _ => {}
        }
    }
    let mut kinds: BTreeMap<ObjectId, Candidate> = BTreeMap::new();
    let mut found: BTreeMap<Candidate, Uses> = BTreeMap::new();
    for (wait, site) in waits {
        let kind = kinds.entry(wait.futex).or_insert_with(|| {
            let process = trace.objects[wait.futex.index()].process;
            match waiters[&wait.futex].len() {
                1 => Candidate::Parkers(site, process),
                _ => Candidate::Word(wait.futex),
            }
        });
        let uses = found.entry(*kind).or_default();
        if waits_again(trace, (wait.back, wait.next), wait.futex) {
            uses.in_vain.push(wait);
        } else {
            uses.waits.push(wait);
        }
        uses.futexes.insert(wait.futex);
        uses.is_odd |= odd.contains(&wait.futex);
        uses.wakes_several |= several.contains(&wait.futex);
    }
    for wake in wakes {
        if let Some(uses) = kinds.get(&wake.futex).and_then(|kind| found.get_mut(kind)) {
            uses.wakes.push(wake);
        }
    }
    for uses in found.values_mut() {
        let futexes = &uses.futexes;
        for wait in &mut uses.waits {
            wait.wake = calls.wakes_after(wait.back, futexes).unwrap_or(NONE);
        }
    }
    let found = found.into_values();
    found
        .filter(|uses| !uses.is_odd && uses.waits.len() >= LEAST)
        // Of all that are woken one goes on, and the others wait again.
        .filter(|uses| !uses.wakes_several || uses.in_vain.len() >= LEAST)
        .collect()
}
