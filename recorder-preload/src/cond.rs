//! Condition variables.

use core::ffi::c_int;

use foretrace_recorder::{Kind, OUTCOME_PENDING, outcome_of, record_extended, short_turns};
use libc::{clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};

use crate::hook::{Pending, attempt, give, recording};
use crate::{next, sleep};

pub unsafe extern "C-unwind" fn init(
    cond: *mut pthread_cond_t,
    attributes: *const pthread_condattr_t,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_cond_init(cond, attributes) };
    if !recording() {
        return call();
    }
    attempt(Kind::CondInit, cond as u64, site, call)
}

pub unsafe extern "C-unwind" fn destroy(cond: *mut pthread_cond_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_cond_destroy(cond) };
    if !recording() {
        return call();
    }
    // It may wait for the last waiters to leave, and is recorded after that.
    attempt(Kind::CondDestroy, cond as u64, site, call)
}

/// Records a wait: always a call and a return. Cancelled, it returns too, with the mutex locked.
pub fn wait_for_signal(
    kind: Kind,
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    site: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if !recording() {
        return call();
    }
    let operands = (mutex as u64, 0);
    let slot = record_extended(kind, cond as u64, OUTCOME_PENDING, site, operands);
    short_turns::comes_to_wait(slot.counter());
    let pending = Pending::of(kind, cond as u64, slot);
    let result = call();
    pending.returned(outcome_of(result));
    short_turns::goes_on();
    result
}

/// The same of a wait until a moment of a clock, as [`sleep::note_deadline`] has it.
pub fn wait_until(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    (clock, until): (Option<clockid_t>, *const timespec),
    site: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let result = wait_for_signal(Kind::CondTimedWait, cond, mutex, site, call);
    if result == libc::ETIMEDOUT {
        sleep::note_deadline(clock, until, site);
    }
    result
}

pub unsafe extern "C-unwind" fn wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    site: u64,
) -> c_int {
    wait_for_signal(Kind::CondWait, cond, mutex, site, || {
        // SAFETY: the program's own call.
        unsafe { next::pthread_cond_wait(cond, mutex) }
    })
}

pub unsafe extern "C-unwind" fn timed_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    wait_until(cond, mutex, (None, until), site, || {
        // SAFETY: the program's own call.
        unsafe { next::pthread_cond_timedwait(cond, mutex, until) }
    })
}

pub unsafe extern "C-unwind" fn clock_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    wait_until(cond, mutex, (Some(clock), until), site, || {
        // SAFETY: the program's own call.
        unsafe { next::pthread_cond_clockwait(cond, mutex, clock, until) }
    })
}

pub unsafe extern "C-unwind" fn signal(cond: *mut pthread_cond_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_cond_signal(cond) };
    if !recording() {
        return call();
    }
    give(Kind::CondSignal, cond as u64, site, call)
}

pub unsafe extern "C-unwind" fn broadcast(cond: *mut pthread_cond_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_cond_broadcast(cond) };
    if !recording() {
        return call();
    }
    short_turns::wakes_several();
    give(Kind::CondBroadcast, cond as u64, site, call)
}
