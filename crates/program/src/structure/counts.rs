//! Who waits for what others have done, of which any may do it: workers that take tasks from a queue tell of each that is done.
//!
//! Nothing explains the condition variable, but what told the waiting thread is known ([`wakers`](super::wakers)). Where it was told by
//! one of several workers, another may do that task in a replay, and the one that did it in the recording may never come to it. So the thread
//! waits until as many have told as had then, whoever they are.
//!
//! # Source
//!
//! `docs/models.md`, "Count".

use std::collections::BTreeSet;

use foretrace_trace::Trace;

use super::{
    Pattern,
    plan::{Gift, Need, Plan},
    sections::{Section, Uses},
    wakers::{self, Step},
};

/// Plans that one thread waits for as many tellings as there had been when it went on. `takers` are threads that take from the same queue.
pub(super) fn test(
    trace: &Trace,
    uses: &Uses<'_>,
    takers: &[BTreeSet<u32>],
    plan: &mut Plan,
) -> Option<Pattern> {
    let waiting = uses.threads_that(trace, |section| uses.waits(section));
    let telling = uses.threads_that(trace, |section| uses.signal(section).is_some());
    let are_workers = takers.iter().any(|takers| telling.is_subset(takers));
    let one_waits = waiting.len() == 1 && waiting.is_disjoint(&telling);
    if !one_waits || telling.len() < 2 || !are_workers || !uses.bare.is_empty() {
        return None;
    }
    let (mut told, mut known) = (0_u32, 0_u32);
    let mut begun: Option<(&Section, u32)> = None;
    let mut needs = Vec::new();
    for (event, step) in wakers::steps(uses) {
        match step {
            Step::Wait(section, back) => begun = Some((section, back)),
            Step::Signal(..) => {
                told += 1;
                // It may have come back without having been told.
                if let Some((section, _)) = begun.take().filter(|&(_, back)| back > event) {
                    needs.push((section, told - known));
                    known = told;
                }
            }
        }
    }
    for (section, count) in needs {
        plan.take(section, Need::Tokens(uses.object, count));
    }
    for section in &uses.sections {
        let count = uses.signals(section).count() as u32;
        for (signal, _) in uses.signals(section) {
            plan.silence(signal);
        }
        if count > 0 {
            plan.give(uses, section, Gift::Tokens(uses.object, count));
        }
    }
    plan.found(uses, Pattern::Count);
    Some(Pattern::Count)
}
