//! Locks that programs make of futexes: those of Rust's standard library and of `parking_lot`, and C++'s semaphores, which several threads have at a time.
//!
//! Such a lock makes no call where it is free. On one CPU it is mostly not, once somebody has lost the CPU with it: whoever comes then waits, is let in
//! by the one before, and lets in the next. Replayed as it was woken, each would wait for the one that came before it in the recording, though on more CPUs
//! the lock is free.
//!
//! What is known is when a thread was back from its wait, and when it woke the next one: in between it had the lock. Where it woke somebody without having
//! waited, it had taken the lock a while before, and where it woke nobody, it gave it up a while after it was back: as long as most had it.
//!
//! # Source
//!
//! `docs/models.md`, "Structure".

mod calls;
mod candidates;
mod hypothesis;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foretrace_trace::{Object, ObjectId, ObjectKind, Operation as Op, Returns, SiteId, Trace};

use self::{
    calls::Calls,
    candidates::{Uses, Wait},
    hypothesis::Lock,
};
use crate::{Action, Pattern, Structure, events::Following, lower::Lowering};

/// The locks of a trace that are made of futexes.
#[derive(Debug, Default)]
pub(crate) struct FutexLocks {
    /// Which lock the waits take, and the wake-ups give up, by their events.
    of: HashMap<u32, ObjectId>,
    /// What no event tells: locks that are given up or taken in the work before an event, when its thread has used so much CPU time.
    within: BTreeMap<u32, Vec<(u64, Change)>>,
    /// The waits that others were faster than, by their events: they come to nothing.
    in_vain: BTreeSet<u32>,
    /// Who has which.
    held: BTreeSet<(u32, ObjectId)>,
    /// Those that several threads may have at a time.
    shared: BTreeSet<ObjectId>,
}

/// What becomes of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Taken(ObjectId),
    GivenUp(ObjectId),
}

impl FutexLocks {
    /// Finds the locks of a recording, tells of them, and makes objects for them.
    pub fn of(
        trace: &Trace,
        next: &Following,
        (objects, structures): (&mut Vec<Object>, &mut Vec<Structure>),
    ) -> Self {
        let mut locks = Self::default();
        let mut calls = trace.calls.iter();
        let waits = calls.any(|call| matches!(call.operation, Op::FutexWait(_)));
        if trace.recording.is_none() || trace.returns != Returns::Explicit || !waits {
            return locks;
        }
        let calls = Calls::of(trace, structures);
        let mut candidates = candidates::collect(trace, next, &calls);
        candidates.retain(|uses| {
            let mut known = structures.iter().map(|structure| structure.object);
            known.all(|object| object != uses.waits[0].futex)
        });
        for uses in candidates {
            let Some(lock) = hypothesis::test(&uses, trace, &calls) else {
                continue;
            };
            let futex = uses.waits[0].futex;
            let made_of = &trace.objects[futex.index()];
            let id = ObjectId::from_index(objects.len());
            let (object, pattern) = if lock.permits == 1 {
                let name = format!("lock of {}", made_of.name);
                (of_kind(ObjectKind::Mutex, name, made_of), Pattern::Lock)
            } else {
                let name = format!("semaphore of {}", made_of.name);
                let object = Object {
                    initial: Some(lock.permits),
                    ..of_kind(ObjectKind::Semaphore, name, made_of)
                };
                locks.shared.insert(id);
                let initial = lock.permits;
                (object, Pattern::Semaphore { initial })
            };
            objects.push(object);
            let site = |wait: &Wait| trace.call(&trace.events[wait.event as usize]).site;
            let sites: BTreeSet<SiteId> = uses.waits.iter().filter_map(site).collect();
            structures.push(Structure {
                object: futex,
                pattern: Some(pattern),
                sites: sites.into_iter().collect(),
                waits: (uses.waits.len() + uses.in_vain.len()) as u64,
                given_up: 0,
            });
            locks.add(&calls, trace, &uses, (id, &lock));
        }
        locks
    }

    fn add(
        &mut self,
        calls: &Calls<'_>,
        trace: &Trace,
        uses: &Uses,
        (id, lock): (ObjectId, &Lock),
    ) {
        let cpu = |event: u32| cpu(trace, event);
        let (known, section) = (&lock.after_waits, lock.section);
        self.in_vain
            .extend(uses.in_vain.iter().map(|wait| wait.event));
        for wait in &uses.waits {
            self.of.insert(wait.event, id);
            if !known.contains(&wait.wake) {
                let at = (cpu(wait.back) + section).min(cpu(wait.next));
                let within = self.within.entry(wait.next).or_default();
                within.push((at, Change::GivenUp(id)));
            }
        }
        for wake in &uses.wakes {
            self.of.insert(wake.event, id);
            if !known.contains(&wake.event) {
                let at = cpu(wake.event).saturating_sub(section);
                let (event, at) = calls.at_work(wake.event, &uses.futexes, at);
                let within = self.within.entry(event).or_default();
                within.push((at, Change::Taken(id)));
            }
        }
    }

    /// Returns how a lock is taken.
    fn taking(&self, lock: ObjectId) -> Action {
        if self.shared.contains(&lock) {
            Action::TakeToken(lock)
        } else {
            Action::Lock(lock)
        }
    }

    /// Returns how it is given up.
    fn giving_up(&self, lock: ObjectId) -> Action {
        if self.shared.contains(&lock) {
            Action::GiveToken(lock)
        } else {
            Action::Unlock(lock)
        }
    }

    /// Returns whether locks are taken or given up in the work before events.
    pub fn has_any(&self) -> bool {
        !self.within.is_empty()
    }

    /// Returns the lock that a wait takes.
    pub fn taken_by(&self, wait: u32) -> Option<ObjectId> {
        self.of.get(&wait).copied()
    }

    /// Notes that a thread takes a lock; returns whether it did not have it.
    pub fn take(&mut self, thread: u32, lock: ObjectId) -> bool {
        self.held.insert((thread, lock))
    }

    /// Returns what a wake-up does to the lock that it is of: it gives it up, if its thread has it.
    pub fn given_up_by(&mut self, thread: u32, wake: u32) -> Option<Action> {
        let lock = *self.of.get(&wake)?;
        let had = self.held.remove(&(thread, lock));
        Some(if had {
            self.giving_up(lock)
        } else {
            Action::Pass
        })
    }

    /// Returns what becomes of locks in the work before an event, and when its thread has used how much CPU time.
    pub fn within(&mut self, event: u32, thread: u32) -> Vec<(u64, bool, Action)> {
        let mut changes = self.within.remove(&event).unwrap_or_default();
        changes.sort_by_key(|&(cpu, change)| (cpu, matches!(change, Change::Taken(_))));
        let steps = changes
            .into_iter()
            .filter_map(|(cpu, change)| match change {
                Change::Taken(lock) => {
                    (self.take(thread, lock)).then(|| (cpu, true, self.taking(lock)))
                }
                Change::GivenUp(lock) => {
                    let had = self.held.remove(&(thread, lock));
                    had.then(|| (cpu, false, self.giving_up(lock)))
                }
            });
        steps.collect()
    }
}

impl Lowering<'_> {
    /// Returns what a wait for a futex is: for who has the lock that is made of it, or for the wake-up.
    pub fn wait_for_futex(&mut self, begin: usize, thread: u32, futex: ObjectId) -> Action {
        let Some(lock) = self.futex_locks.taken_by(begin as u32) else {
            let in_vain = self.futex_locks.in_vain.contains(&(begin as u32));
            return if in_vain {
                Action::Pass
            } else {
                Action::AwaitWake(futex)
            };
        };
        if !self.futex_locks.take(thread, lock) {
            let gives_up = self.futex_locks.giving_up(lock);
            self.push_with_work(begin, thread, gives_up, 0);
        }
        self.futex_locks.taking(lock)
    }
}

/// Returns an object of a kind that a program made of a futex.
fn of_kind(kind: ObjectKind, name: String, made_of: &Object) -> Object {
    Object {
        kind,
        name,
        ..made_of.clone()
    }
}

/// Returns how much CPU time an event's thread has used by then, in nanoseconds.
fn cpu(trace: &Trace, event: u32) -> u64 {
    trace.events[event as usize].cpu().map_or(0, |cpu| cpu.0)
}
