//! Work in pieces between sections of locks.

use std::ops::RangeInclusive;

use crate::{Action, Operations};

/// Returns the operations among some of one thread's whose work is done outside of the locks that it takes there; `None` where it does anything but take locks
/// and give them up before the last of them.
pub(super) fn of(operations: &Operations, range: RangeInclusive<u32>) -> Option<Vec<u32>> {
    let last = *range.end();
    let mut held = 0_u32;
    let mut pieces = Vec::new();
    for position in range {
        let action = operations.action(position);
        if held == 0 && !matches!(action, Action::Rouse(_) | Action::Linger) {
            pieces.push(position);
        }
        match action {
            Action::Lock(_) | Action::ReadLock(_) | Action::WriteLock(_) => held += 1,
            // What it had taken before is no section of these.
            Action::Unlock(_) | Action::RwUnlock(_) => held = held.saturating_sub(1),
            Action::Pass | Action::Rouse(_) | Action::Linger => {}
            _ if position == last => {}
            _ => return None,
        }
    }
    Some(pieces)
}
