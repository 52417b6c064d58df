//! Looks that a thread makes in passing, while it works, apart from those by which it waits: what it does after a row of them
//! tells.
//!
//! Who waits looks again and again until there is what it looks for. Who works and looks in passing does something else next
//! as often as not. How long it works between two looks tells less: it may be no longer than a look at the clock, by which others see
//! to it that they do not wait too long.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// After so many looks in a row it counts what comes next. Who waits for several things looks for each in turn.
const ROW: u64 = 8;

/// So many rows have to be seen.
const ENOUGH: u32 = 4;

/// Where at least one row in so many ends by something else, the thread looks in passing.
const ONE_IN: u32 = 4;

/// For how many places in the program this is known; a power of two.
const PLACES: usize = 64;

/// How rows of looks ended that were made at one place of the program.
struct Ends {
    /// Which place, and by what function; 0 for none.
    what: AtomicU64,
    found: AtomicU32,
    other: AtomicU32,
}

static ENDS: [Ends; PLACES] = [const { Ends::none() }; PLACES];

impl Ends {
    const fn none() -> Self {
        Self {
            what: AtomicU64::new(0),
            found: AtomicU32::new(0),
            other: AtomicU32::new(0),
        }
    }

    fn of(what: u64) -> &'static Self {
        let mixed = what.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        &ENDS[mixed as usize % PLACES]
    }
}

/// Notes that a row of so many looks ended: with what was looked for, or else.
pub(crate) fn note_end(what: u64, looks: u64, found: bool) {
    if looks < ROW {
        return;
    }
    let ends = Ends::of(what);
    // Threads that meet here lose a row, which does no harm.
    if ends.what.swap(what, Ordering::Relaxed) != what {
        ends.found.store(0, Ordering::Relaxed);
        ends.other.store(0, Ordering::Relaxed);
    }
    let count = if found { &ends.found } else { &ends.other };
    let more = count.load(Ordering::Relaxed).saturating_add(1);
    count.store(more, Ordering::Relaxed);
}

/// Returns whether threads look in passing at a place.
#[inline]
pub(crate) fn are_in_passing(what: u64) -> bool {
    let ends = Ends::of(what);
    if ends.what.load(Ordering::Relaxed) != what {
        return false;
    }
    let [found, other] = [&ends.found, &ends.other].map(|count| count.load(Ordering::Relaxed));
    let all = found.saturating_add(other);
    all >= ENOUGH && other >= all.div_ceil(ONE_IN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(what: u64, looks: u64, ends: &[bool]) -> bool {
        for &found in ends {
            note_end(what, looks, found);
        }
        are_in_passing(what)
    }

    #[test]
    fn who_does_something_else_after_many_looks_looked_in_passing() {
        let [found, other] = [true, false];
        assert!(!after(16, 100, &[other, found, other]), "too few to tell");
        assert!(after(16, 100, &[other]));
        assert!(!after(32, 100, &[found; 9]));
        assert!(!after(32, 100, &[other, other]), "two of eleven");
        assert!(after(32, 100, &[other]));
        assert!(!after(48, 2, &[other; 9]), "it looks for others, too");
    }

    #[test]
    fn a_place_is_told_from_another_that_shares_its_entry() {
        let rival =
            (0..10_000).find(|&what| what != 64 && core::ptr::eq(Ends::of(what), Ends::of(64)));
        let rival = rival.expect("there are more places than entries");
        assert!(after(64, 100, &[false; 9]));
        assert!(!after(rival, 100, &[true]));
        assert!(!are_in_passing(64));
    }
}
