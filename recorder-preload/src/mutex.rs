//! Mutexes.

use core::cell::UnsafeCell;
use core::ffi::c_int;

use foretrace_recorder::{Calls, Compared, Kind};
use libc::{PTHREAD_MUTEX_INITIALIZER, clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};

use crate::hook::{acquire, attempt, give, recording, refuses, refuses_clock, release, try_mutex};
use crate::next;

/// Which of a mutex's integers is its kind in glibc, and the bits in it that say robust and that it lends its priority.
const KIND_INDEX: usize = 4;
const ROBUST: c_int = 16;
const PROTECT: c_int = 64;

/// Returns whether a try may go before a lock. Not with robust mutexes: glibc's try of one that is not recoverable
/// leaves it locked, and the lock after it would wait for ever. Nor with those that lend their priority: whether the thread may have that is found
/// out once, and a try would hear of it in place of the lock.
#[inline]
fn may_try(mutex: *mut pthread_mutex_t) -> bool {
    // SAFETY: the kind lies within the mutex, and does not change while it is in use.
    let kind = unsafe { mutex.cast::<c_int>().add(KIND_INDEX).read() };
    kind & (ROBUST | PROTECT) == 0
}

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
    let try_lock = || {
        if !may_try(mutex) {
            return libc::EBUSY;
        }
        // SAFETY: a try is allowed wherever a lock is.
        unsafe { next::pthread_mutex_trylock(mutex) }
    };
    acquire(Kind::MutexLock, mutex as u64, site, try_lock, call)
}

pub unsafe extern "C-unwind" fn try_lock(mutex: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_mutex_trylock(mutex) };
    if !recording() {
        return call();
    }
    try_mutex(mutex as u64, site, call)
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
    let try_lock = || {
        // Where the C library might refuse the deadline, no try may go before it.
        if refused || !may_try(mutex) {
            return libc::EBUSY;
        }
        // SAFETY: a try is allowed wherever a lock is.
        unsafe { next::pthread_mutex_trylock(mutex) }
    };
    acquire(Kind::MutexTimedLock, mutex as u64, site, try_lock, call)
}

pub unsafe extern "C-unwind" fn unlock(mutex: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_mutex_unlock(mutex) };
    if !recording() {
        return call();
    }
    release(Kind::MutexUnlock, mutex as u64, site, call)
}

/// Mutexes by which it is measured what recording costs, before anything else is recorded.
pub static COMPARED: Compared = Compared {
    alone: Calls {
        // SAFETY: one of the mutexes below, which no other thread uses.
        lock: |which| _ = unsafe { next::pthread_mutex_lock(OWN.get(which)) },
        // SAFETY: it was locked right before.
        unlock: |which| _ = unsafe { next::pthread_mutex_unlock(OWN.get(which)) },
    },
    recorded: Calls {
        // SAFETY: as above.
        lock: |which| _ = unsafe { lock(OWN.get(which), LOCKED_AT) },
        // SAFETY: as above.
        unlock: |which| _ = unsafe { unlock(OWN.get(which), UNLOCKED_AT) },
    },
};

/// Where these are said to be locked, and unlocked.
const LOCKED_AT: u64 = 16;
const UNLOCKED_AT: u64 = 32;

static OWN: Own = Own([const { UnsafeCell::new(PTHREAD_MUTEX_INITIALIZER) }; 2]);

struct Own([UnsafeCell<pthread_mutex_t>; 2]);

// SAFETY: mutexes are for several threads.
unsafe impl Sync for Own {}

impl Own {
    fn get(&self, which: usize) -> *mut pthread_mutex_t {
        self.0[which % self.0.len()].get()
    }
}
