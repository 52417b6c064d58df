//! Rounds: threads that let each other go on in turns, all by one condition variable.
//!
//! A worker waits until it is told to begin, and tells when it is done; who told it waits for that, and both use the same condition
//! variable, so that it is no semaphore. Or one thread begins a round by a broadcast, and each worker waits for the next round.
//! On one CPU some have what they wait for before they look, so that a wake-up in the recording says little of the next.
//!
//! The hypothesis is that each thread that looks is let go on by one other thread, and that its look needs `r + c` of what that one
//! told, where `r` is how often the thread itself told something before, or, if that does not fit, looked. A wait says that there was
//! less, a look that went on that there was as much; without waits, all looks have to have found equally much.
//!
//! # Source
//!
//! `docs/models.md`, "Structure".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::Trace;

use super::{
    Pattern,
    plan::Plan,
    sections::{Section, Told, Uses},
};
use crate::lower::NONE;

/// So many waits have to tell how far others keep behind.
pub(super) const LEAST_WAITS: usize = 4;

/// What happens, in order.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// A thread finds too little, and begins to wait.
    Wait(&'a Section),
    /// A section goes on: what it looked for is there.
    Look(&'a Section),
    /// A section tells something.
    Tell(&'a Section, Told),
}

/// A section that looked.
struct Look<'a> {
    section: &'a Section,
    /// How many things others had told when it went on.
    found: usize,
    /// How many when its last wait began, where it waited.
    missed: Option<usize>,
    /// How many its thread had told before.
    told: usize,
}

/// What one thread did.
#[derive(Default)]
struct Side<'a> {
    looks: Vec<Look<'a>>,
    /// When it told something.
    tells: Vec<Told>,
}

/// Tests the hypothesis, and plans what becomes of the condition variable if it holds.
pub(super) fn test(trace: &Trace, uses: &Uses<'_>, plan: &mut Plan) -> Option<Pattern> {
    if !uses.bare.is_empty() {
        return None;
    }
    let sides = sides(trace, uses);
    let waits = |side: &Side<'_>| {
        let waited = side.looks.iter().filter(|look| look.missed.is_some());
        waited.count()
    };
    if sides.values().map(waits).sum::<usize>() < LEAST_WAITS {
        return None;
    }
    let mut needs = Vec::new();
    for (thread, side) in sides.iter().filter(|(_, side)| !side.looks.is_empty()) {
        let told_by = |(other, side): (&u32, &Side<'_>)| other != thread && !side.tells.is_empty();
        let mut others = sides.iter().filter(|&side| told_by(side));
        let (Some((_, other)), None) = (others.next(), others.next()) else {
            return None;
        };
        for (look, needed) in side.looks.iter().zip(side.needs()?) {
            if let Some(last) = needed.checked_sub(1) {
                needs.push((look.section, other.tells[last]));
            } else if look.missed.is_some() {
                // Nobody would end a wait that needs nothing.
                return None;
            }
        }
    }
    plan.tell_otherwise(uses);
    for (section, other) in needs {
        plan.follow(section, other);
    }
    plan.stays(uses.cond, Pattern::Rounds);
    Some(Pattern::Rounds)
}

/// Follows what each thread did.
fn sides<'a>(trace: &Trace, uses: &Uses<'a>) -> BTreeMap<u32, Side<'a>> {
    let mut sides = BTreeMap::<u32, Side<'a>>::new();
    let mut all = 0;
    let mut missed = BTreeMap::new();
    for (_, step) in steps(uses) {
        let (Step::Wait(section) | Step::Look(section) | Step::Tell(section, _)) = step;
        let thread = section.thread(trace);
        let side = sides.entry(thread).or_default();
        let told = side.tells.len();
        match step {
            Step::Wait(_) => {
                missed.insert(thread, all - told);
            }
            Step::Look(_) => side.looks.push(Look {
                section,
                found: all - told,
                missed: missed.remove(&thread),
                told,
            }),
            Step::Tell(_, told) => {
                side.tells.push(told);
                all += 1;
            }
        }
    }
    sides
}

/// Lists what happens, in order. A section may look first and tell then.
fn steps<'a>(uses: &Uses<'a>) -> Vec<(u32, Step<'a>)> {
    let mut steps = Vec::new();
    for &section in &uses.sections {
        if uses.is_waiting_site(section) {
            let waits = section.waits.iter();
            steps.extend(waits.map(|&(wait, _)| (wait, Step::Wait(section))));
            let went_on = section.went_on();
            if went_on != NONE {
                steps.push((went_on, Step::Look(section)));
            }
        }
        if uses.signal(section).is_some()
            && let Some(told) = uses.told(section)
        {
            steps.push((told.event(), Step::Tell(section, told)));
        }
    }
    steps.sort_by_key(|&(event, _)| event);
    steps
}

impl Side<'_> {
    /// Returns how much each look needs; nothing where no rule fits them all.
    fn needs(&self) -> Option<Vec<usize>> {
        let told = || self.looks.iter().map(|look| look.told);
        let looked = || 0..self.looks.len();
        self.needs_ahead_of(told())
            .or_else(|| self.needs_ahead_of(looked()))
    }

    /// Returns how much each look needs, if it is so much more than the thread itself had done.
    fn needs_ahead_of(&self, own: impl Iterator<Item = usize> + Clone) -> Option<Vec<usize>> {
        let (mut least, mut most) = (None, i64::MAX);
        let mut ahead = BTreeSet::new();
        for (look, own) in self.looks.iter().zip(own.clone()) {
            if let Some(missed) = look.missed {
                least = least.max(Some(signed(missed) + 1 - signed(own)));
            }
            most = most.min(signed(look.found) - signed(own));
            ahead.insert(signed(look.found) - signed(own));
        }
        let distance = least.or((ahead.len() == 1).then_some(most))?;
        let needed = |own| usize::try_from(signed(own) + distance).unwrap_or(0);
        (distance <= most).then(|| own.map(needed).collect())
    }
}

/// Returns a count that others may be taken from.
pub(super) fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
