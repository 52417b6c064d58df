//! What the hooks of several families have in common.

use core::ffi::c_int;

use foretrace_recorder::{
    Kind, OUTCOME_FAILED, OUTCOME_PENDING, OUTCOME_SUCCESS, Slot, outcome_of, record,
    record_acquisition, record_busy, record_release, returned, returned_from_wait, turns, woke,
};

pub use crate::init::recording;

/// The outcome of a call that its thread was cancelled in.
pub const CANCELLED: u8 = OUTCOME_FAILED + libc::ECANCELED as u8;

/// A call recorded as pending. Dropped by an unwinding (its thread was cancelled), it records that.
pub struct Pending {
    kind: Kind,
    object: u64,
    /// The counter at its record; 0 if the thread may do something of its own meanwhile.
    since: u64,
}

impl Pending {
    /// Records a call that may block.
    #[inline]
    pub fn record(kind: Kind, object: u64, site: u64) -> Self {
        record(kind, object, OUTCOME_PENDING, site);
        Self {
            kind,
            object,
            since: 0,
        }
    }

    /// Records a call that may block, and in which the thread does nothing else.
    #[inline]
    pub fn wait(kind: Kind, object: u64, site: u64) -> Self {
        let slot = record(kind, object, OUTCOME_PENDING, site);
        Self::of(kind, object, slot)
    }

    /// Takes over such a call that was recorded just now.
    pub fn of(kind: Kind, object: u64, slot: Slot) -> Self {
        Self {
            kind,
            object,
            since: slot.counter(),
        }
    }

    /// Says what it is about, which is known only now.
    pub fn about(mut self, object: u64) -> Self {
        self.object = object;
        self
    }

    /// Returns the counter at its record; 0 if the thread may do something of its own meanwhile.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// Records what came of it.
    #[inline]
    pub fn returned(self, outcome: u8) {
        returned_from_wait(self.kind, self.object, outcome, self.since);
        core::mem::forget(self);
    }

    /// What came of it is recorded already.
    pub fn was_over(self) {
        core::mem::forget(self);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        returned(self.kind, self.object, CANCELLED);
    }
}

/// Records an acquisition: as one record if a try gets the object, else as a call and its return.
///
/// Only success (and `EOWNERDEAD`, which is one) of the try is final: whatever else it says, the function that the
/// program called is called, since its answer may differ.
#[inline]
pub fn acquire(
    kind: Kind,
    object: u64,
    site: u64,
    attempt: impl FnOnce() -> c_int,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    let result = attempt();
    if result == 0 {
        record_acquisition(kind, object, site);
        return result;
    }
    if result == libc::EOWNERDEAD {
        record(kind, object, outcome_of(result), site);
        return result;
    }
    acquire_slowly(kind, object, site, wait)
}

#[inline(never)]
fn acquire_slowly(kind: Kind, object: u64, site: u64, wait: impl FnOnce() -> c_int) -> c_int {
    let pending = Pending::wait(kind, object, site);
    let result = wait();
    pending.returned(outcome_of(result));
    result
}

/// Records a call that does not block, with what came of it.
#[inline]
pub fn attempt(kind: Kind, object: u64, site: u64, call: impl FnOnce() -> c_int) -> c_int {
    let result = call();
    record(kind, object, outcome_of(result), site);
    result
}

/// Records a try to lock a mutex. Those that poll try very often.
#[inline]
pub fn try_mutex(mutex: u64, site: u64, call: impl FnOnce() -> c_int) -> c_int {
    let result = call();
    if result == libc::EBUSY {
        record_busy(Kind::MutexTryLock, mutex, site);
    } else {
        record(Kind::MutexTryLock, mutex, outcome_of(result), site);
    }
    result
}

/// Records a call that lets others go on, before it is made.
#[inline]
pub fn give(kind: Kind, object: u64, site: u64, call: impl FnOnce() -> c_int) -> c_int {
    let slot = record(kind, object, OUTCOME_SUCCESS, site);
    let since = slot.counter();
    let result = call();
    woke(since);
    if result != 0 {
        slot.set_outcome(since, outcome_of(result));
    }
    result
}

/// Records a release, before it is made: with its acquisition where nothing came between.
#[inline]
pub fn release(kind: Kind, object: u64, site: u64, call: impl FnOnce() -> c_int) -> c_int {
    let release = record_release(kind, object, site);
    let result = call();
    release.done();
    if result != 0 {
        release.failed(kind, object, site, outcome_of(result));
    }
    turns::give_way();
    result
}

/// Returns whether the C library would refuse this deadline before looking at the object.
pub unsafe fn refuses(until: *const libc::timespec) -> bool {
    // SAFETY: by the caller's promise null or a timespec.
    let nanos = unsafe { until.as_ref() }.map_or(0, |until| until.tv_nsec);
    !(0..1_000_000_000).contains(&nanos)
}

/// Returns whether the C library would refuse this clock before looking at the object.
pub fn refuses_clock(clock: libc::clockid_t) -> bool {
    clock != libc::CLOCK_REALTIME && clock != libc::CLOCK_MONOTONIC
}
