//! What came of a call, as a record says it.

use foretrace_trace::journal::layout::OUTCOME_PENDING;

/// Returns the outcome byte of a function that returns an `errno`.
#[inline]
pub fn outcome_of(errno: i32) -> u8 {
    match errno {
        0 => 0,
        errno => outcome_of_failure(errno),
    }
}

#[cold]
fn outcome_of_failure(errno: i32) -> u8 {
    use foretrace_trace::journal::layout::{
        OUTCOME_BUSY, OUTCOME_FAILED, OUTCOME_OWNER_DIED, OUTCOME_TIMED_OUT,
    };
    match errno {
        libc::EBUSY => OUTCOME_BUSY,
        libc::ETIMEDOUT => OUTCOME_TIMED_OUT,
        libc::EOWNERDEAD => OUTCOME_OWNER_DIED,
        errno => {
            (OUTCOME_FAILED.saturating_add(errno.clamp(0, 255) as u8)).min(OUTCOME_PENDING - 1)
        }
    }
}
