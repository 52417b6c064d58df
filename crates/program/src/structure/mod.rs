//! Structure that programs build out of mutexes and condition variables: barriers, semaphores, gates, latches; polling
//! under a mutex; barriers and lightswitches made of semaphores; and barriers made of futexes.
//!
//! Replayed literally, a condition variable misleads on more CPUs: whoever was last at a barrier in the recording stays
//! the one that lets the others go on, and a signal that found nobody waiting, because on one CPU nobody had come to wait
//! yet, is lost. So each condition variable is tried against what it may be, over the whole recording, and what a
//! hypothesis explains *completely* is replayed as that.
//!
//! The hypotheses are about *sections*: what a thread does between locking the mutex and unlocking it. A section is known
//! by the call that locks. One that sometimes waits on the condition checks its predicate every time; an instance that
//! did not wait found something that was there already.
//!
//! # Source
//!
//! `docs/models.md`, "Structure".

mod barrier;
mod counts;
mod futex_barriers;
mod helpers;
mod holds;
mod left_barrier;
mod lightswitches;
mod looks;
mod parts;
mod plan;
mod polled_barrier;
mod polling;
mod progress;
mod queues;
mod rounds;
mod sections;
mod token_locks;
mod tokens;
mod turnstiles;
mod wakers;
mod work_list;

use std::collections::BTreeSet;

use foretrace_trace::{ObjectId, Operation as Op, Returns, SiteId, Trace};

pub(crate) use plan::{Gift, Need, Plan, Role, Roles};

use crate::events::Sweep;

use self::{
    sections::{Beyond, Sections, Uses},
    token_locks::TokenLocks,
};

/// What a condition variable was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All of so many threads come before any goes on, again and again.
    Barrier {
        /// How many.
        threads: u32,
    },
    /// A number of things that are put there and taken away.
    Semaphore {
        /// How many there are at first.
        initial: u32,
    },
    /// Something that is opened once.
    Gate,
    /// Whoever waits, waits until so many others came.
    Latch {
        /// How many.
        count: u32,
    },
    /// A mutex under which threads look again and again, until another thread changed what they look at.
    Polling,
    /// A mutex that threads get by trying alone, again and again until they have it.
    Tries,
    /// Steps that a thread tells of, which others keep behind.
    Progress,
    /// Threads that let each other go on in turns.
    Rounds,
    /// How often workers told of something, whoever of them.
    Count,
    /// A lock that several threads hold at a time, or one.
    ReadersWriter,
    /// A futex that one thread at a time holds as a lock.
    Lock,
    /// A lock under which the first of several threads takes a token, and the last of them gives it back.
    Lightswitch,
}

impl Pattern {
    /// Returns the field's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier { .. } => "barrier",
            Self::Semaphore { .. } => "semaphore",
            Self::Gate => "gate",
            Self::Latch { .. } => "latch",
            Self::Polling => "polling",
            Self::Tries => "tries",
            Self::Progress => "progress",
            Self::Rounds => "rounds",
            Self::Count => "count",
            Self::ReadersWriter => "readers-writer lock",
            Self::Lock => "lock",
            Self::Lightswitch => "lightswitch",
        }
    }
}

/// A condition variable that is used, a lock that is polled or a lightswitch, a semaphore of a barrier, or a futex that is a lock, and what it was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// The condition variable, the lock, the semaphore, or the futex: of several, the one that was waited for first.
    pub object: ObjectId,
    /// What it is; `None` where no hypothesis explains the whole recording, and its waits wait for what woke them there, or it is
    /// replayed literally.
    pub pattern: Option<Pattern>,
    /// Where threads lock the mutex to wait, or to look whether they have to; or wait for the semaphore or futex.
    pub sites: Vec<SiteId>,
    /// How often a thread waited.
    pub waits: u64,
    /// How many tries that succeeded in the recording give it up where they have to wait in a replay ([`Program::asides`](crate::Program::asides)).
    pub given_up: u64,
}

/// Looks at what programs make of mutexes and semaphores alone.
fn recognize_without_conditions(
    trace: &Trace,
    sweep: &Sweep,
    structures: &mut Vec<Structure>,
    plan: &mut Plan,
) {
    polling::recognize(trace, structures, plan);
    let locks = TokenLocks::of(trace, sweep);
    if locks.are_used() {
        turnstiles::recognize(trace, &locks, structures, plan);
    }
    if trace.recording.is_some() {
        lightswitches::recognize(trace, (sweep, &locks), structures, plan);
        futex_barriers::recognize(trace, &sweep.next, structures, plan);
    }
}

/// Tests a condition variable against what it may be whatever others are.
fn test(trace: &Trace, sections: &Sections, uses: &Uses<'_>, plan: &mut Plan) -> Option<Pattern> {
    if uses.repeats {
        return None;
    }
    match uses.beyond {
        None => barrier::test(uses, plan)
            .or_else(|| left_barrier::test(trace, uses, &uses.sections, plan))
            .or_else(|| left_barrier::test(trace, uses, &sections.of_the_mutex(uses), plan))
            .or_else(|| barrier::test_apart(trace, uses, plan))
            .or_else(|| tokens::test(trace, uses, plan))
            .or_else(|| work_list::test(trace, uses, plan)),
        Some(Beyond::SignalOften) => {
            tokens::test_signals(trace, uses, plan).or_else(|| work_list::test(trace, uses, plan))
        }
        Some(Beyond::WaitForOthers) => None,
    }
}

/// Looks at every condition variable of a trace that says who waited, and from where.
pub(crate) fn recognize(trace: &Trace, sweep: &Sweep) -> (Vec<Structure>, Plan) {
    let mut plan = Plan::new(trace.objects.len());
    let uses_conditions = trace.calls.iter().any(|call| {
        matches!(
            call.operation,
            Op::CondWait { .. } | Op::CondTimedWait { .. }
        )
    });
    let mut structures = Vec::new();
    if trace.returns != Returns::Explicit {
        return (structures, plan);
    }
    recognize_without_conditions(trace, sweep, &mut structures, &mut plan);
    if !uses_conditions {
        return (structures, plan);
    }
    let sections = Sections::collect(trace, &sweep.next);
    let (mut unexplained, mut beyond) = (Vec::new(), Vec::new());
    // The threads that take from each queue.
    let mut takers = Vec::new();
    let held = holds::recognize(trace, &sections, &mut structures, &mut plan);
    let helped = helpers::recognize(trace, &sections, &mut structures, (&mut plan, &mut takers));
    let known = |cond: &ObjectId| held.contains(cond) || helped.contains(cond);
    for cond in sections.conditions().filter(|cond| !known(cond)) {
        let uses = sections.uses_of(cond);
        let found = uses
            .as_ref()
            .and_then(|uses| test(trace, &sections, uses, &mut plan));
        if let (Some(Pattern::Semaphore { .. }), Some(uses)) = (found, &uses) {
            takers.push(uses.threads_that(trace, |section| uses.is_waiting_site(section)));
        }
        match uses.filter(|uses| found.is_none() && !uses.runs_out) {
            Some(uses) if uses.beyond.is_some() && uses.repeats => {}
            Some(uses) if uses.beyond.is_some() => beyond.push(uses),
            Some(uses) => unexplained.push((uses, structures.len())),
            None => {}
        }
        structures.push(Structure {
            object: cond,
            pattern: found,
            sites: sections.waiting_sites(cond),
            waits: sections.waits(cond),
            given_up: 0,
        });
    }
    let (uses, places): (Vec<_>, Vec<_>) = unexplained.into_iter().unzip();
    let (progress, others) = progress::test(trace, &sections, &uses, &mut plan);
    structures.extend(others.into_iter().map(|(object, sites)| Structure {
        object,
        pattern: Some(Pattern::Progress),
        sites,
        waits: 0,
        given_up: 0,
    }));
    let mut left: Vec<&Uses<'_>> = Vec::new();
    for ((uses, place), is_progress) in uses.iter().zip(places).zip(progress) {
        let found = if is_progress {
            Some(Pattern::Progress)
        } else if uses.repeats {
            continue;
        } else {
            rounds::test(trace, uses, &mut plan)
                .or_else(|| counts::test(trace, uses, &takers, &mut plan))
                .or_else(|| tokens::test_batches(trace, uses, &mut plan))
        };
        structures[place].pattern = found;
        if found.is_some() {
            continue;
        }
        match parts::test(trace, uses, &takers, &mut plan) {
            Some(found) => {
                structures[place].pattern = found.first().map(|part| part.pattern);
                let entries = found.into_iter().map(|part| part.entry(uses.cond));
                structures.splice(place..=place, entries);
            }
            None => left.push(uses),
        }
    }
    left.extend(&beyond);
    let queues = match trace.recording {
        Some(_) => queues::recognize(trace, &sections, &mut structures, &mut plan),
        None => BTreeSet::new(),
    };
    for uses in left.iter().filter(|uses| !queues.contains(&uses.cond)) {
        wakers::follow(trace, uses, &mut plan);
    }
    (structures, plan)
}
