//! Mutexes.

use core::ffi::c_int;

use foretrace_recorder::Kind;
use libc::{clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};

use crate::hook::{acquire, attempt, give, recording, refuses, refuses_clock};
use crate::next;

pub unsafe extern "C-unwind" fn init(
    mutex: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_mutex_init(mutex, attributes) };
    if !recording() {
        return call();
    }
    attempt(Kind::MutexInit, mutex as u64, site, call)
}

pub unsafe extern "C-unwind" fn destroy(mutex: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_mutex_destroy(mutex) };
    if !recording() {
        return call();
    }
    give(Kind::MutexDestroy, mutex as u64, site, call)
}

pub unsafe extern "C-unwind" fn lock(mutex: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_mutex_lock(mutex) };
    if !recording() {
        return call();
    }
    // SAFETY: a try is allowed wherever a lock is.
    let try_lock = || unsafe { next::pthread_mutex_trylock(mutex) };
    acquire(Kind::MutexLock, mutex as u64, site, try_lock, call)
}

pub unsafe extern "C-unwind" fn try_lock(mutex: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_mutex_trylock(mutex) };
    if !recording() {
        return call();
    }
    attempt(Kind::MutexTryLock, mutex as u64, site, call)
}

pub unsafe extern "C-unwind" fn timed_lock(
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_mutex_timedlock(mutex, until) };
    // SAFETY: the program's own deadline.
    timed(mutex, unsafe { refuses(until) }, site, call)
}

pub unsafe extern "C-unwind" fn clock_lock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_mutex_clocklock(mutex, clock, until) };
    // SAFETY: the program's own deadline.
    let refused = refuses_clock(clock) || unsafe { refuses(until) };
    timed(mutex, refused, site, call)
}

fn timed(
    mutex: *mut pthread_mutex_t,
    refused: bool,
    site: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if !recording() {
        return call();
    }
    // Where the C library might refuse the deadline, no try may go before it.
    let try_lock = || match refused {
        true => libc::EINVAL,
        // SAFETY: a try is allowed wherever a lock is.
        false => unsafe { next::pthread_mutex_trylock(mutex) },
    };
    acquire(Kind::MutexTimedLock, mutex as u64, site, try_lock, call)
}

pub unsafe extern "C-unwind" fn unlock(mutex: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_mutex_unlock(mutex) };
    if !recording() {
        return call();
    }
    give(Kind::MutexUnlock, mutex as u64, site, call)
}
