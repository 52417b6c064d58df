//! Barriers: k threads wait, one more comes and wakes them all, again and again.

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
