//! Barriers: k threads wait, one more comes and wakes them all, again and again.

use std::collections::BTreeMap;

use foretrace_trace::Trace;

use super::{
    Pattern,
    plan::{Gift, Plan},
    sections::Uses,
};
use crate::lower::NONE;

/// Tests whether the condition variable is one, over the whole recording, and plans what becomes of it then.
pub(super) fn test(uses: &Uses<'_>, plan: &mut Plan) -> Option<Pattern> {
    // Who went on when its time had run out may not have waited for all.
    if !uses.bare.is_empty() || uses.runs_out {
        return None;
    }
    let mut waiting = 0;
    let mut size = None;
    let mut generations = 0;
    for section in &uses.sections {
        let whole = section.unlock != NONE && section.waits.iter().all(|&(_, back)| back != NONE);
        if !whole {
            return None;
        }
        match (uses.waits(section), uses.signal(section)) {
            (true, None) => waiting += 1,
            // The last one of a generation, which are all of the same size.
            (false, Some((_, true))) => {
                if waiting == 0 || *size.get_or_insert(waiting) != waiting {
                    return None;
                }
                waiting = 0;
                generations += 1;
            }
            _ => return None,
        }
    }
    // Once may be anything.
    if waiting > 0 || generations < 2 {
        return None;
    }
    // Where one always waits at one call and another always tells at another, it more likely waits for what that one does.
    if size == Some(1) && uses.waiting.is_disjoint(&uses.signalling) {
        return None;
    }
    let threads = size? + 1;
    for section in &uses.sections {
        if uses.waits(section) {
            plan.arrive(section, uses.cond);
        } else {
            plan.give(uses, section, Gift::Arrival(uses.cond));
        }
    }
    let pattern = Pattern::Barrier { threads };
    plan.found(uses, pattern);
    Some(pattern)
}

/// Tests whether threads that come to a barrier note that at one call, where the last lets all go on, and the others wait at another, having looked for a while
/// in between, perhaps; and plans what becomes of it then.
pub(super) fn test_apart(trace: &Trace, uses: &Uses<'_>, plan: &mut Plan) -> Option<Pattern> {
    let is_apart = uses.waiting.is_disjoint(&uses.signalling);
    if !is_apart || !uses.bare.is_empty() || uses.runs_out {
        return None;
    }
    // Those that have come, each with the end of its wait if it waits.
    let mut here: BTreeMap<u32, Option<u32>> = BTreeMap::new();
    let mut size = None;
    let mut generations = 0;
    for section in &uses.sections {
        let thread = section.thread(trace);
        if section.unlock == NONE {
            return None;
        }
        if uses.is_waiting_site(section) {
            match here.get_mut(&thread) {
                Some(until @ None) if uses.waits(section) => *until = Some(section.unlock),
                // It had been let go on before.
                None if !uses.waits(section) => {}
                _ => return None,
            }
            continue;
        }
        if here.insert(thread, None).is_some() || !section.waits.is_empty() {
            return None;
        }
        match uses.signal(section) {
            None => {}
            Some((signal, true)) => {
                let mut ends = here.values().flatten();
                let comes = here.len() as u32;
                if ends.any(|&end| end < signal) || *size.get_or_insert(comes) != comes {
                    return None;
                }
                here.clear();
                generations += 1;
            }
            Some((_, false)) => return None,
        }
    }
    let threads = size.filter(|&size| size > 1 && generations > 1 && here.is_empty())?;
    for section in &uses.sections {
        if uses.is_waiting_site(section) {
            continue;
        }
        if uses.signal(section).is_some() {
            plan.give(uses, section, Gift::Arrival(uses.cond));
        } else {
            plan.arrive_after(section.unlock, uses.cond);
        }
    }
    let pattern = Pattern::Barrier { threads };
    plan.found(uses, pattern);
    Some(pattern)
}
