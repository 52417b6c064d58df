//! Wake-ups of a condition variable that no hypothesis explains.
//!
//! What its waits are for is not known; but what ended each of them in the recording is. A wait waits for that, whether it comes
//! before the wait or after it in a replay, so that no wake-up is lost because it found nobody; one that was not needed in the
//! recording is not made. Where some wait and others tell by the same call, and none does both, as at a barrier, the last to come is
//! another thread in each replay: such a condition variable is replayed literally. That threads who wait and threads who tell all lock
//! by the same call is no barrier but a function of a library's; nor is one where more than two meet, and each signal wakes but one.
//!
//! # Source
//!
//! `docs/models.md`, "What none of them explains".

use foretrace_trace::Trace;

use super::{
    plan::Plan,
    sections::{Section, Told, Uses},
};
use crate::lower::NONE;

/// What happens, in order.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// A section's last wait begins, which is over at an event.
    Wait(&'a Section, u32),
    /// Somebody signals something, which is told by then or later; whether all are woken.
    Signal(Told, bool),
}

/// Plans that each wait of a condition variable waits for what woke it.
pub(super) fn follow(trace: &Trace, uses: &Uses<'_>, plan: &mut Plan) {
    if may_be_barrier(trace, uses) {
        return;
    }
    let mut waiting: Vec<(&Section, u32)> = Vec::new();
    for (event, step) in steps(uses) {
        match step {
            Step::Wait(section, back) => waiting.push((section, back)),
            Step::Signal(told, all) => {
                plan.silence(event);
                // Others came back without having been told.
                waiting.retain(|&(_, back)| back > event);
                // A signal wakes the one that comes back first.
                waiting.sort_by_key(|&(_, back)| back);
                let woken = if all { waiting.len() } else { 1 };
                for (section, _) in waiting.drain(..woken.min(waiting.len())) {
                    plan.follow(section, told);
                }
            }
        }
    }
}

/// Returns whether some wait and others tell by the same call, none does both, threads take turns at that, and all can be let go on.
fn may_be_barrier(trace: &Trace, uses: &Uses<'_>) -> bool {
    let same_calls = uses.waiting.intersection(&uses.signalling).next().is_some();
    let tells = |section: &Section| uses.signal(section).is_some();
    let does_both = |section: &&Section| uses.waits(section) && tells(section);
    if !same_calls || uses.sections.iter().any(does_both) {
        return false;
    }
    let waiting = uses.threads_that(trace, |section| uses.waits(section));
    let telling = uses.threads_that(trace, tells);
    // Who lets more than one go on broadcasts.
    let broadcasts = !uses.waiting.is_disjoint(&uses.broadcasting);
    let are_two = waiting.union(&telling).count() <= 2;
    !telling.is_disjoint(&waiting) && (broadcasts || are_two)
}

/// Lists what happens, in order.
pub(super) fn steps<'a>(uses: &Uses<'a>) -> Vec<(u32, Step<'a>)> {
    let mut steps = Vec::new();
    for &section in &uses.sections {
        if uses.waits(section)
            && section.unlock != NONE
            && let Some(&(wait, _)) = section.waits.last()
        {
            steps.push((wait, Step::Wait(section, section.went_on())));
        }
        for (event, all) in uses.signals(section) {
            let told = section.told_by(Some(event));
            let told = told.unwrap_or(Told::Within(event));
            steps.push((event, Step::Signal(told, all)));
        }
    }
    let bare = uses.bare.iter();
    steps.extend(bare.map(|&(event, all)| (event, Step::Signal(Told::Within(event), all))));
    steps.sort_by_key(|&(event, _)| event);
    steps
}
