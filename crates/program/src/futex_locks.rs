//! Locks that programs make of futexes: those of Rust's standard library and of `parking_lot`.
//!
//! Such a lock makes no call where it is free. On one CPU it is mostly not, once somebody has lost the CPU with it: whoever comes then waits, is let in
//! by the one before, and lets in the next. Replayed as it was woken, each would wait for the one that came before it in the recording, though on more CPUs
//! the lock is free.
//!
//! What is known is when a thread was back from its wait, and when it woke the next one: in between it had the lock. Where it woke somebody without having
//! waited, it had taken the lock a while before, and where it woke nobody, it gave it up a while after it was back: as long as most had it.
//!
//! The hypothesis is about a futex that several threads wait for, or those that threads wait for at one call, each for its own. Who waits does so while
//! another has the lock, which uses no more CPU time until it wakes somebody than others have the lock for; never two have it; and who lets in whom is
//! as chance has it, and not always the same.
//!
//! # Source
//!
//! `docs/models.md`, "Structure".

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foretrace_trace::{
    Object, ObjectId, ObjectKind, Operation as Op, Outcome, ProcessId, Returns, SiteId, ThreadId,
    Trace,
};

use crate::{
    Action, Pattern, Structure,
    events::Following,
    lower::{Lowering, NONE, WAKING_UP},
    matching::{FutexLog, OpRef},
    shares::Shares,
};

/// So many waits, and half as many threads that woke the next after having waited, have to tell so.
const LEAST: usize = 8;

/// Two threads let each other in, whatever a futex stands for.
const LEAST_THREADS: usize = 3;

/// One in so many may be otherwise: a wake-up is recorded shortly after the lock is free.
const ODD: usize = 20;

/// So much longer than mostly a thread may have the lock that wakes the next one after it has waited.
const LONGER: u64 = 4;

/// A thread that lets in the same one in so many of ten times always does so.
const ALWAYS: usize = 9;

/// The locks of a trace that are made of futexes.
#[derive(Debug, Default)]
pub(crate) struct FutexLocks {
    /// Which lock the waits take, and the wake-ups give up, by their events.
    of: HashMap<u32, ObjectId>,
    /// What no event tells: locks that are given up or taken in the work before an event, when its thread has used so much CPU time.
    within: BTreeMap<u32, Vec<(u64, Change)>>,
    /// Who has which.
    held: BTreeSet<(u32, ObjectId)>,
}

/// What becomes of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Taken(ObjectId),
    GivenUp(ObjectId),
}

/// A wait that a wake-up ended.
#[derive(Clone, Copy)]
struct Wait {
    event: u32,
    thread: ThreadId,
    futex: ObjectId,
    /// Its return, and the same thread's next event.
    back: u32,
    after: u32,
}

#[derive(Clone, Copy)]
struct Wake {
    event: u32,
    thread: ThreadId,
    futex: ObjectId,
    /// The same thread's event before.
    before: u32,
}

/// What may be one lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Candidate {
    /// A futex that several threads wait for.
    Word(ObjectId),
    /// Those for which threads of a process wait from a place, each for its own.
    Parkers(Option<SiteId>, ProcessId),
}

/// How often each thread let in each other.
type LetIn = BTreeMap<ThreadId, BTreeMap<ThreadId, usize>>;

#[derive(Default)]
struct Uses {
    waits: Vec<Wait>,
    wakes: Vec<Wake>,
    /// Whether some were used in another way.
    is_odd: bool,
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
        let candidates = candidates(trace, next);
        if candidates.is_empty() {
            return locks;
        }
        let mut events = vec![Vec::new(); trace.threads.len()];
        for (number, event) in (0..).zip(&trace.events) {
            events[trace.call(event).thread.index()].push(number);
        }
        for uses in candidates {
            let Some(section) = uses.section(trace, &events) else {
                continue;
            };
            let futex = uses.waits[0].futex;
            let made_of = &trace.objects[futex.index()];
            let lock = ObjectId::from_index(objects.len());
            objects.push(Object {
                kind: ObjectKind::Mutex,
                name: format!("lock of {}", made_of.name),
                ..made_of.clone()
            });
            let site = |wait: &Wait| trace.call(&trace.events[wait.event as usize]).site;
            let sites: BTreeSet<SiteId> = uses.waits.iter().filter_map(site).collect();
            structures.push(Structure {
                object: futex,
                pattern: Some(Pattern::Lock),
                sites: sites.into_iter().collect(),
                waits: uses.waits.len() as u64,
                given_up: 0,
            });
            locks.add(trace, &uses, (lock, section));
        }
        locks
    }

    fn add(&mut self, trace: &Trace, uses: &Uses, (lock, section): (ObjectId, u64)) {
        let cpu = |event: u32| cpu(trace, event);
        let known = uses.after_waits(trace);
        for wait in &uses.waits {
            self.of.insert(wait.event, lock);
            if !known.contains(&wait.after) {
                let at = (cpu(wait.back) + section).min(cpu(wait.after));
                let within = self.within.entry(wait.after).or_default();
                within.push((at, Change::GivenUp(lock)));
            }
        }
        for wake in &uses.wakes {
            self.of.insert(wake.event, lock);
            if !known.contains(&wake.event) {
                let at = cpu(wake.event).saturating_sub(section);
                let at = if wake.before == NONE {
                    at
                } else {
                    at.max(cpu(wake.before))
                };
                let within = self.within.entry(wake.event).or_default();
                within.push((at, Change::Taken(lock)));
            }
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
            Action::Unlock(lock)
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
                    (self.take(thread, lock)).then_some((cpu, true, Action::Lock(lock)))
                }
                Change::GivenUp(lock) => {
                    let had = self.held.remove(&(thread, lock));
                    had.then_some((cpu, false, Action::Unlock(lock)))
                }
            });
        steps.collect()
    }
}

impl Lowering<'_> {
    /// Returns what a wait for a futex is: for who has the lock that is made of it, or for the wake-up.
    pub fn wait_for_futex(&mut self, begin: usize, thread: u32, futex: ObjectId) -> Action {
        let Some(lock) = self.futex_locks.taken_by(begin as u32) else {
            return Action::AwaitWake(futex);
        };
        if !self.futex_locks.take(thread, lock) {
            self.push_with_work(begin, thread, Action::Unlock(lock), 0);
        }
        Action::Lock(lock)
    }
}

/// Collects what may be locks, as far as there are enough waits.
fn candidates(trace: &Trace, next: &Following) -> Vec<Uses> {
    let mut waits: Vec<(Wait, Option<SiteId>)> = Vec::new();
    let mut wakes = Vec::new();
    let mut odd: BTreeSet<ObjectId> = BTreeSet::new();
    let mut waiters: BTreeMap<ObjectId, BTreeSet<ThreadId>> = BTreeMap::new();
    let mut latest = vec![NONE; trace.threads.len()];
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
                        let after = next.after(back as usize);
                        let wait = Wait {
                            event,
                            thread,
                            futex,
                            back,
                            after,
                        };
                        waits.push((wait, call.site));
                        waiters.entry(futex).or_default().insert(thread);
                        if after == NONE {
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
                    odd.insert(futex);
                }
                let before = latest[thread.index()];
                wakes.push(Wake {
                    event,
                    thread,
                    futex,
                    before,
                });
            }
            _ => {}
        }
        latest[thread.index()] = event;
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
        uses.waits.push(wait);
        uses.is_odd |= odd.contains(&wait.futex);
    }
    for wake in wakes {
        if let Some(uses) = kinds.get(&wake.futex).and_then(|kind| found.get_mut(kind)) {
            uses.wakes.push(wake);
        }
    }
    let found = found.into_values();
    found
        .filter(|uses| !uses.is_odd && uses.waits.len() >= LEAST)
        .collect()
}

impl Uses {
    /// Returns those that their threads make right after a wait: these have had the lock since then.
    fn after_waits(&self, trace: &Trace) -> BTreeSet<u32> {
        let ends: BTreeSet<u32> = self.wakes.iter().map(|wake| wake.event).collect();
        let after = self.waits.iter().filter(|wait| ends.contains(&wait.after));
        let mut works: Vec<(u64, u32)> = after
            .map(|wait| {
                let work = cpu(trace, wait.after).saturating_sub(cpu(trace, wait.back));
                (work, wait.after)
            })
            .collect();
        works.sort_unstable();
        let longest = works.get(works.len() / 2).map_or(0, |&(work, _)| work);
        // Others that come much later gave the lock up to nobody, and took it again.
        works.retain(|&(work, _)| work <= LONGER * longest);
        works.into_iter().map(|(_, event)| event).collect()
    }

    /// Returns for how much CPU time threads mostly have the lock, in nanoseconds, if it is one.
    fn section(&self, trace: &Trace, events: &[Vec<u32>]) -> Option<u64> {
        let threads: BTreeSet<ThreadId> = self.waits.iter().map(|wait| wait.thread).collect();
        let known = self.after_waits(trace);
        if threads.len() < LEAST_THREADS
            || known.len() < LEAST / 2
            || 2 * known.len() < self.waits.len()
        {
            return None;
        }
        let mut had: Vec<(u32, u32)> = self
            .waits
            .iter()
            .map(|wait| (wait.back, wait.after))
            .collect();
        had.retain(|(_, end)| known.contains(end));
        had.sort_unstable();
        let cpu = |event: u32| cpu(trace, event);
        let mut works: Vec<u64> = had
            .iter()
            .map(|&(from, to)| cpu(to).saturating_sub(cpu(from)))
            .collect();
        works.sort_unstable();
        let section = works[works.len() / 2];
        let longest = 2 * works[works.len() * 9 / 10] + WAKING_UP;
        let beside = had.windows(2).filter(|pair| pair[1].0 < pair[0].1).count();
        let within = |event: u32| {
            let place = had.partition_point(|&(from, _)| from < event);
            place > 0 && event < had[place - 1].1
        };
        let others = self
            .wakes
            .iter()
            .filter(|wake| !known.contains(&wake.event) && within(wake.event));
        let mut odd = beside + others.count();
        let (wakers, pairs) = self.let_in(trace);
        let wanted: BTreeSet<u32> = wakers.iter().map(|&(_, since)| since).collect();
        let wanted: Vec<u32> = wanted.into_iter().collect();
        let shares = Shares::at(trace, events, &wanted);
        let time = |event: u32| trace.events[event as usize].time.0;
        let is_word = self
            .waits
            .iter()
            .all(|wait| wait.futex == self.waits[0].futex);
        for &(wake, since) in &wakers {
            let used = if is_word && wake.before != NONE {
                // As much as it can have used: it lost the CPU where it had the lock, and not in the middle of its work.
                cpu(wake.before) + time(since).saturating_sub(time(wake.before))
            } else {
                shares.of(since, wake.thread.0).unwrap_or(0)
            };
            let has_it = wake.before <= since || wake.before == NONE;
            odd += usize::from(!has_it || cpu(wake.event).saturating_sub(used) > longest);
        }
        let is_explained = odd * ODD <= had.len() + wakers.len();
        (is_explained && is_by_chance(&pairs)).then_some(section)
    }

    /// Returns the wake-ups by threads that had not waited, each with since when they had the lock at least, and who let in whom how often.
    fn let_in(&self, trace: &Trace) -> (Vec<(Wake, u32)>, LetIn) {
        let known = self.after_waits(trace);
        let mut steps: Vec<(u32, Option<Wait>, Option<Wake>)> = Vec::new();
        steps.extend(
            self.waits
                .iter()
                .map(|&wait| (wait.event, Some(wait), None)),
        );
        steps.extend(
            self.wakes
                .iter()
                .map(|&wake| (wake.event, None, Some(wake))),
        );
        steps.sort_unstable_by_key(|&(event, ..)| event);
        let mut logs: BTreeMap<ObjectId, FutexLog> = BTreeMap::new();
        let mut pairs = LetIn::new();
        let (mut wakers, mut free_at) = (Vec::new(), 0);
        for step in steps {
            match step {
                (event, Some(wait), _) => {
                    let at = OpRef {
                        thread: wait.thread.0,
                        index: event,
                    };
                    logs.entry(wait.futex)
                        .or_default()
                        .wait(at, wait.back, None);
                }
                (event, _, Some(wake)) => {
                    let at = OpRef {
                        thread: wake.thread.0,
                        index: event,
                    };
                    for ended in logs.entry(wake.futex).or_default().wake(at, 1) {
                        let of = pairs.entry(wake.thread).or_default();
                        *of.entry(ThreadId(ended.thread)).or_default() += 1;
                        if !known.contains(&event) {
                            wakers.push((wake, ended.index.max(free_at)));
                        }
                    }
                    free_at = event;
                }
                _ => {}
            }
        }
        (wakers, pairs)
    }
}

/// Returns whether some thread lets in now this one and now that.
fn is_by_chance(pairs: &LetIn) -> bool {
    pairs.values().any(|others| {
        let all: usize = others.values().sum();
        let most = others.values().max().copied().unwrap_or(0);
        all >= LEAST / 2 && most * 10 < all * ALWAYS
    })
}

/// Returns how much CPU time an event's thread has used by then, in nanoseconds.
fn cpu(trace: &Trace, event: u32) -> u64 {
    trace.events[event as usize].cpu().map_or(0, |cpu| cpu.0)
}
