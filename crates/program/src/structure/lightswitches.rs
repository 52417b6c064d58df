//! Lightswitches: under a lock each thread counts that it comes, and the first takes a token of a semaphore for all; later each counts that it goes,
//! and the last gives the token back. Programs make readers-writer locks so, and rooms for several kinds of threads that keep each other out. Many take
//! a mutex in place of the semaphore, which then one thread locks and another unlocks.
//!
//! Replayed as recorded, who was first there would have to be first again: on more CPUs others come before it, without the token.
//!
//! The hypothesis is about the sections of a lock at the calls where some take a token that they do not give back within, or give one that they did not
//! take within: each thread comes and goes in turns, and takes the token where nobody is there, and only then, and gives it where nobody is left,
//! and only then.
//!
//! # Source
//!
//! A. B. Downey, "The Little Book of Semaphores", 4.2.2; `docs/models.md`, "Structure".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, Operation as Op, Outcome, SiteId, ThreadId, Trace};

use super::{Pattern, Structure, plan::Plan, token_locks::TokenLocks};
use crate::{events::Sweep, lower::NONE};

/// So often threads have to come where others are, and to go where others stay.
const LEAST: usize = 2;

/// Who does as much as this to semaphores in a section does not only come or go.
const MANY: usize = 16;

/// A section of a lock that is over.
struct Section {
    thread: u32,
    site: Option<SiteId>,
    /// The event of its end.
    end: u32,
    steps: Vec<Step>,
}

/// A token that is taken or given, of a semaphore or a mutex.
#[derive(Clone, Copy)]
struct Step {
    event: u32,
    room: ObjectId,
    takes: bool,
}

/// A lock, and that of which a token is taken and given in its sections.
type Pair = (ObjectId, ObjectId);

/// The semaphores that are locks, and the mutexes that may be locked by one thread and unlocked by another.
type Tokens<'a> = (&'a TokenLocks, &'a BTreeSet<ObjectId>);

/// What becomes of a section.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Comes,
    Goes,
}

/// Finds all lightswitches, and plans what becomes of them.
pub(super) fn recognize(
    trace: &Trace,
    (sweep, locks): (&Sweep, &TokenLocks),
    structures: &mut Vec<Structure>,
    plan: &mut Plan,
) {
    let handed_on = handed_on(trace, sweep);
    if !locks.are_used() && handed_on.is_empty() {
        return;
    }
    let tokens = (locks, &handed_on);
    let pairs = candidates(trace, tokens);
    if pairs.is_empty() {
        return;
    }
    let wanted: BTreeSet<ObjectId> = pairs.iter().map(|&(lock, _)| lock).collect();
    let mut sections: BTreeMap<ObjectId, Vec<Section>> = BTreeMap::new();
    for_each_section(trace, tokens, |lock, section| {
        if wanted.contains(&lock) {
            sections.entry(lock).or_default().push(section);
        }
    });
    for (lock, room) in pairs {
        let Some(uses) = uses(&sections[&lock], room) else {
            continue;
        };
        let events = |&(section, _): &(&Section, Use)| {
            let step = section.step(room);
            step.map_or(section.end, |step| step.event)
        };
        if !uses.iter().map(events).any(|event| plan.has(event)) {
            let light = plan.new_lightswitch(lock, room);
            structures.push(describe(trace, locks, (lock, room), &uses));
            for (section, used) in uses {
                match (section.step(room), used) {
                    (Some(step), _) => plan.switch(step.event, light),
                    (None, Use::Comes) => plan.enter_before(section.end, light),
                    (None, Use::Goes) => plan.leave_after(section.end, light),
                }
            }
        }
    }
}

/// Returns the locks in whose sections tokens are taken that are not given back, and given that were not taken.
fn candidates(trace: &Trace, tokens: Tokens<'_>) -> Vec<Pair> {
    let mut times: BTreeMap<Pair, (usize, usize)> = BTreeMap::new();
    let mut odd: BTreeSet<ObjectId> = BTreeSet::new();
    for call in &trace.calls {
        match call.operation {
            Op::CondWait { mutex, .. } | Op::CondTimedWait { mutex, .. } => {
                odd.insert(mutex);
            }
            Op::SemTryWait(semaphore) | Op::SemTimedWait(semaphore) => {
                odd.insert(semaphore);
            }
            _ => {}
        }
    }
    for_each_section(trace, tokens, |lock, section| {
        for step in &section.steps {
            if section.step(step.room).is_some() {
                let times = times.entry((lock, step.room)).or_default();
                times.0 += usize::from(step.takes);
                times.1 += usize::from(!step.takes);
            }
        }
    });
    let is_one = |(pair, times): (Pair, (usize, usize))| {
        let is_odd = odd.contains(&pair.0) || odd.contains(&pair.1);
        (!is_odd && times.0 >= LEAST && times.1 >= LEAST).then_some(pair)
    };
    times.into_iter().filter_map(is_one).collect()
}

/// Returns the sections that have part in a lightswitch, if there is one.
fn uses(sections: &[Section], room: ObjectId) -> Option<Vec<(&Section, Use)>> {
    let has_part = |section: &&Section| section.steps_of(room).next().is_some();
    let sites: BTreeSet<Option<SiteId>> = sections
        .iter()
        .filter(has_part)
        .map(|section| section.site)
        .collect();
    let mut there: BTreeSet<u32> = BTreeSet::new();
    let (mut comes_too, mut goes_before) = (0, 0);
    let mut uses = Vec::new();
    for section in sections
        .iter()
        .filter(|section| sites.contains(&section.site))
    {
        let step = section.step(room);
        if step.is_none() && has_part(&section) {
            return None;
        }
        let turn = if there.remove(&section.thread) {
            goes_before += usize::from(!there.is_empty());
            Use::Goes
        } else {
            comes_too += usize::from(!there.is_empty());
            Use::Comes
        };
        let takes = step.map(|step| step.takes);
        let fits = match turn {
            _ if !there.is_empty() => takes.is_none(),
            Use::Comes => takes == Some(true),
            Use::Goes => takes == Some(false),
        };
        if !fits {
            return None;
        }
        if turn == Use::Comes {
            there.insert(section.thread);
        }
        uses.push((section, turn));
    }
    (comes_too >= LEAST && goes_before >= LEAST).then_some(uses)
}

fn describe(
    trace: &Trace,
    locks: &TokenLocks,
    (lock, room): Pair,
    uses: &[(&Section, Use)],
) -> Structure {
    let comes = uses.iter().filter(|(_, used)| *used == Use::Comes);
    let sites: BTreeSet<SiteId> = comes.filter_map(|(section, _)| section.site).collect();
    let takes = uses
        .iter()
        .filter_map(|(section, _)| section.step(room))
        .filter(|step| step.takes);
    let waits = takes.filter(|step| locks.blocks(trace, step.event)).count();
    Structure {
        object: lock,
        pattern: Some(Pattern::Lightswitch),
        sites: sites.into_iter().collect(),
        waits: waits as u64,
        given_up: 0,
    }
}

impl Section {
    fn steps_of(&self, room: ObjectId) -> impl Iterator<Item = Step> {
        let steps = self.steps.iter().copied();
        steps.filter(move |step| step.room == room)
    }

    /// Returns the only thing that it does to a semaphore or mutex.
    fn step(&self, room: ObjectId) -> Option<Step> {
        let mut steps = self.steps_of(room).filter(|_| self.steps.len() < MANY);
        steps.next().filter(|_| steps.next().is_none())
    }
}

/// Returns the mutexes that some thread locked more or less often than it unlocked them.
fn handed_on(trace: &Trace, sweep: &Sweep) -> BTreeSet<ObjectId> {
    let mut open: BTreeMap<(ObjectId, ThreadId), i64> = BTreeMap::new();
    for (call, &times) in trace.calls.iter().zip(&sweep.times) {
        let taken = match call.operation {
            Op::Lock(_) => i64::from(times),
            Op::TryLock(_) if call.outcome == Outcome::Success => i64::from(times),
            Op::Unlock(_) => -i64::from(times),
            _ => 0,
        };
        if let Some(mutex) = call.operation.object().filter(|_| taken != 0) {
            *open.entry((mutex, call.thread)).or_default() += taken;
        }
    }
    let unbalanced = open.into_iter().filter(|&(_, taken)| taken != 0);
    unbalanced.map(|((mutex, _), _)| mutex).collect()
}

/// Hands out the sections of all locks, in the order in which they end.
fn for_each_section(
    trace: &Trace,
    (locks, handed_on): Tokens<'_>,
    mut see: impl FnMut(ObjectId, Section),
) {
    let mut open: Vec<Vec<(ObjectId, Section)>> = Vec::new();
    open.resize_with(trace.threads.len(), Vec::new);
    for (event, recorded) in (0..).zip(&trace.events) {
        let call = trace.call(recorded);
        let (lock, takes) = match call.operation {
            Op::Lock(lock) | Op::SemWait(lock) => (lock, true),
            Op::TryLock(lock) if call.outcome == Outcome::Success => (lock, true),
            Op::Unlock(lock) | Op::SemPost(lock) => (lock, false),
            _ => continue,
        };
        let is_mutex = !matches!(call.operation, Op::SemWait(_) | Op::SemPost(_));
        let own = &mut open[call.thread.index()];
        if !is_mutex || handed_on.contains(&lock) {
            let outer = own
                .iter_mut()
                .filter(|(outer, section)| *outer != lock && section.steps.len() < MANY);
            outer.for_each(|(_, section)| {
                section.steps.push(Step {
                    event,
                    room: lock,
                    takes,
                });
            });
        }
        if !is_mutex && !locks.contains(lock) {
            continue;
        }
        if takes {
            let section = Section {
                thread: call.thread.0,
                site: call.site,
                end: NONE,
                steps: Vec::new(),
            };
            own.push((lock, section));
        } else if let Some(place) = own.iter().rposition(|&(other, _)| other == lock) {
            let (_, mut section) = own.remove(place);
            section.end = event;
            see(lock, section);
        }
    }
}
