//! Barriers that all have to leave before any comes again: the last to come lets the others go on, and the last to leave those that came again meanwhile.
//!
//! Threads may look at memory for a while in between, without the mutex, before they wait. So what a thread does there is one section of the mutex or several. It
//! has arrived with the first of them, whatever it waits for there.
//!
//! # Source
//!
//! `parsec_barrier_wait` of the PARSEC benchmarks, with and without `ENABLE_SPIN_BARRIER`.

use std::collections::BTreeMap;

use foretrace_trace::Trace;

use super::{
    Pattern,
    plan::{Gift, Need, Plan},
    sections::{Section, Uses},
};
use crate::lower::NONE;

/// What happens, in order.
#[derive(Clone, Copy)]
enum Step {
    Waits,
    Tells { all: bool },
    Ends,
}

/// How a section begins what its thread does at a barrier.
#[derive(Clone, Copy)]
enum Arrival {
    Waits,
    AtEnd,
}

/// Where a thread is that has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Others have not left yet, so that it does not count.
    Before,
    /// It counts, and waits for those that have not come.
    Here,
    /// All had come; it has not left.
    Leaving,
}

/// What is known of a barrier, up to a moment.
#[derive(Default)]
struct Barrier {
    places: BTreeMap<u32, Place>,
    all_have_come: bool,
    size: Option<usize>,
    generations: usize,
}

/// Tests whether these sections of a condition variable's mutex are those of such a barrier, over the whole recording, and plans what becomes of it then.
pub(super) fn test(
    trace: &Trace,
    uses: &Uses<'_>,
    sections: &[&Section],
    plan: &mut Plan,
) -> Option<Pattern> {
    let is_regular = |section: &&Section| {
        let mut others = section.signals.iter().map(|&(cond, ..)| cond);
        !section.odd
            && !section.ran_out
            && section.times == 1
            && section.unlock != NONE
            && section.waited.is_none_or(|cond| cond == uses.cond)
            && others.all(|cond| cond == uses.cond)
    };
    if !uses.bare.is_empty() || !sections.iter().all(is_regular) {
        return None;
    }
    let mut arrivals: BTreeMap<usize, Arrival> = BTreeMap::new();
    let mut barrier = Barrier::default();
    for (number, step) in steps(sections) {
        let thread = sections[number].thread(trace);
        if !barrier.places.contains_key(&thread) {
            let arrival = match step {
                Step::Waits => Arrival::Waits,
                Step::Tells { .. } | Step::Ends => Arrival::AtEnd,
            };
            arrivals.insert(number, arrival);
        }
        barrier.step(thread, step)?;
    }
    let threads = barrier.size()?;
    for (number, section) in sections.iter().enumerate() {
        match arrivals.get(&number) {
            Some(Arrival::Waits) => plan.arrive(section, uses.cond),
            Some(Arrival::AtEnd) if uses.signal(section).is_some() => {
                plan.give(uses, section, Gift::Arrival(uses.cond));
            }
            Some(Arrival::AtEnd) => plan.arrive_after(section.unlock, uses.cond),
            None => plan.take(section, Need::Looked(section.mutex)),
        }
    }
    let pattern = Pattern::Barrier { threads };
    plan.found(uses, pattern);
    Some(pattern)
}

/// Lists what happens in sections, each by its position, in order.
fn steps(sections: &[&Section]) -> Vec<(usize, Step)> {
    let mut steps = Vec::new();
    for (number, section) in sections.iter().enumerate() {
        let waits = section.waits.iter().map(|&(wait, _)| (wait, Step::Waits));
        let told = section.signals.iter();
        let told = told.map(|&(_, signal, all)| (signal, Step::Tells { all }));
        let end = [(section.unlock, Step::Ends)];
        let all = waits.chain(told).chain(end);
        steps.extend(all.map(|(event, step)| (event, number, step)));
    }
    steps.sort_unstable_by_key(|&(event, ..)| event);
    steps
        .into_iter()
        .map(|(_, number, step)| (number, step))
        .collect()
}

impl Barrier {
    /// Follows a thread; returns `None` where it does not do as at a barrier.
    fn step(&mut self, thread: u32, step: Step) -> Option<()> {
        let place = self.places.get(&thread).copied();
        match (step, place) {
            (Step::Waits, Some(Place::Leaving)) | (Step::Tells { all: false }, _) => return None,
            (Step::Waits | Step::Ends, None | Some(Place::Before)) => {
                let next = if self.all_have_come {
                    Place::Before
                } else {
                    Place::Here
                };
                self.places.insert(thread, next);
            }
            // It looks again.
            (Step::Waits | Step::Ends, Some(Place::Here)) => {}
            (Step::Ends, Some(Place::Leaving)) => _ = self.places.remove(&thread),
            (Step::Tells { .. }, None | Some(Place::Before)) if !self.all_have_come => {
                self.complete(thread)?;
            }
            (Step::Tells { .. }, Some(Place::Leaving)) if self.all_have_come => {
                let leave = self.places.values();
                let leave = leave.filter(|&&place| place == Place::Leaving);
                self.all_have_come = false;
                return (leave.count() == 1).then_some(());
            }
            (Step::Tells { .. }, _) => return None,
        }
        Some(())
    }

    /// The last one comes.
    fn complete(&mut self, thread: u32) -> Option<()> {
        let mut comes = 1;
        for place in self
            .places
            .values_mut()
            .filter(|place| **place == Place::Here)
        {
            *place = Place::Leaving;
            comes += 1;
        }
        self.places.insert(thread, Place::Leaving);
        self.all_have_come = true;
        self.generations += 1;
        (*self.size.get_or_insert(comes) == comes).then_some(())
    }

    /// Returns how many threads meet, if they did so more than once, and all have left.
    fn size(&self) -> Option<u32> {
        let is_over = self.places.is_empty() && !self.all_have_come && self.generations > 1;
        u32::try_from(self.size?)
            .ok()
            .filter(|&size| is_over && size > 1)
    }
}
