//! Spin locks.

use core::ffi::c_int;

use foretrace_recorder::{
    Kind, OUTCOME_SUCCESS, outcome_of, process, record, record_extended, sys,
};
use libc::pthread_spinlock_t;

use crate::hook::{acquire, attempt, recording, release};
use crate::next;

/// The lock's address: libc takes it as a pointer to an integer, volatile or not.
type Lock = *mut pthread_spinlock_t;

pub unsafe extern "C-unwind" fn init(lock: Lock, shared: c_int, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { next::pthread_spin_init(lock, shared) };
    if recording() {
        // Whoever waits for it never gives up its CPU; other spin locks, of OpenMP's libraries, are not made here.
        let operands = (1, 0);
        record_extended(
            Kind::SpinInit,
            lock as u64,
            outcome_of(result),
            site,
            operands,
        );
    }
    result
}

pub unsafe extern "C-unwind" fn destroy(lock: Lock, site: u64) -> c_int {
    if recording() {
        record(Kind::SpinDestroy, lock as u64, OUTCOME_SUCCESS, site);
    }
    // SAFETY: the program's own call.
    unsafe { next::pthread_spin_destroy(lock) }
}

pub unsafe extern "C-unwind" fn lock(lock: Lock, site: u64) -> c_int {
    if !recording() || !process::may_yield() {
        // SAFETY: the program's own call.
        return unsafe { next::pthread_spin_lock(lock) };
    }
    // SAFETY: a try is allowed wherever a lock is.
    let try_lock = || unsafe { next::pthread_spin_trylock(lock) };
    acquire(Kind::SpinLock, lock as u64, site, try_lock, || {
        // All threads share one CPU: spinning would burn a whole slice while the owner waits for it.
        while try_lock() != 0 {
            sys::sched_yield();
        }
        0
    })
}

pub unsafe extern "C-unwind" fn try_lock(lock: Lock, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_spin_trylock(lock) };
    if !recording() {
        return call();
    }
    attempt(Kind::SpinTryLock, lock as u64, site, call)
}

pub unsafe extern "C-unwind" fn unlock(lock: Lock, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_spin_unlock(lock) };
    if !recording() {
        return call();
    }
    release(Kind::SpinUnlock, lock as u64, site, call)
}
