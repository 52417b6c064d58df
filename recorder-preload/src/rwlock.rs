//! Readers-writer locks.

use core::ffi::c_int;

use foretrace_recorder::{Kind, OUTCOME_SUCCESS, record_extended};
use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};

use crate::hook::{acquire, attempt, give, recording, refuses, refuses_clock, release};
use crate::next;

pub unsafe extern "C-unwind" fn init(
    lock: *mut pthread_rwlock_t,
    attributes: *const pthread_rwlockattr_t,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_init(lock, attributes) };
    if !recording() {
        return call();
    }
    if !prefers_writers(attributes) {
        return attempt(Kind::RwInit, lock as u64, site, call);
    }
    let result = call();
    if result == 0 {
        let operands = (1, 0);
        record_extended(Kind::RwInit, lock as u64, OUTCOME_SUCCESS, site, operands);
    }
    result
}

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` of glibc's `pthread.h`. The one without its last part is as the default.
const PREFER_WRITERS: c_int = 2;

/// Returns whether readers wait for writers that wait: by default they do not.
fn prefers_writers(attributes: *const pthread_rwlockattr_t) -> bool {
    let mut preference = 0;
    // SAFETY: the program's own attributes, which are only looked at.
    let known = !attributes.is_null()
        && unsafe { libc::pthread_rwlockattr_getkind_np(attributes, &raw mut preference) } == 0;
    known && preference == PREFER_WRITERS
}

pub unsafe extern "C-unwind" fn destroy(lock: *mut pthread_rwlock_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_destroy(lock) };
    if !recording() {
        return call();
    }
    give(Kind::RwDestroy, lock as u64, site, call)
}

/// Tries to lock for reading, unless the C library might refuse the deadline before it looks at the lock.
fn try_read(lock: *mut pthread_rwlock_t, refused: bool) -> c_int {
    if refused {
        return libc::EINVAL;
    }
    // SAFETY: a try is allowed wherever a lock is.
    unsafe { next::pthread_rwlock_tryrdlock(lock) }
}

/// The same for writing.
fn try_write(lock: *mut pthread_rwlock_t, refused: bool) -> c_int {
    if refused {
        return libc::EINVAL;
    }
    // SAFETY: a try is allowed wherever a lock is.
    unsafe { next::pthread_rwlock_trywrlock(lock) }
}

pub unsafe extern "C-unwind" fn read_lock(lock: *mut pthread_rwlock_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_rdlock(lock) };
    if !recording() {
        return call();
    }
    let try_lock = || try_read(lock, false);
    acquire(Kind::ReadLock, lock as u64, site, try_lock, call)
}

pub unsafe extern "C-unwind" fn try_read_lock(lock: *mut pthread_rwlock_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_tryrdlock(lock) };
    if !recording() {
        return call();
    }
    attempt(Kind::TryReadLock, lock as u64, site, call)
}

pub unsafe extern "C-unwind" fn timed_read_lock(
    lock: *mut pthread_rwlock_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_timedrdlock(lock, until) };
    if !recording() {
        return call();
    }
    // SAFETY: the program's own deadline.
    let try_lock = || try_read(lock, unsafe { refuses(until) });
    acquire(Kind::TimedReadLock, lock as u64, site, try_lock, call)
}

pub unsafe extern "C-unwind" fn clock_read_lock(
    lock: *mut pthread_rwlock_t,
    clock: clockid_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_clockrdlock(lock, clock, until) };
    if !recording() {
        return call();
    }
    // SAFETY: the program's own deadline.
    let try_lock = || try_read(lock, refuses_clock(clock) || unsafe { refuses(until) });
    acquire(Kind::TimedReadLock, lock as u64, site, try_lock, call)
}

pub unsafe extern "C-unwind" fn write_lock(lock: *mut pthread_rwlock_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_wrlock(lock) };
    if !recording() {
        return call();
    }
    let try_lock = || try_write(lock, false);
    acquire(Kind::WriteLock, lock as u64, site, try_lock, call)
}

pub unsafe extern "C-unwind" fn try_write_lock(lock: *mut pthread_rwlock_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_trywrlock(lock) };
    if !recording() {
        return call();
    }
    attempt(Kind::TryWriteLock, lock as u64, site, call)
}

pub unsafe extern "C-unwind" fn timed_write_lock(
    lock: *mut pthread_rwlock_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_timedwrlock(lock, until) };
    if !recording() {
        return call();
    }
    // SAFETY: the program's own deadline.
    let try_lock = || try_write(lock, unsafe { refuses(until) });
    acquire(Kind::TimedWriteLock, lock as u64, site, try_lock, call)
}

pub unsafe extern "C-unwind" fn clock_write_lock(
    lock: *mut pthread_rwlock_t,
    clock: clockid_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_clockwrlock(lock, clock, until) };
    if !recording() {
        return call();
    }
    // SAFETY: the program's own deadline.
    let try_lock = || try_write(lock, refuses_clock(clock) || unsafe { refuses(until) });
    acquire(Kind::TimedWriteLock, lock as u64, site, try_lock, call)
}

pub unsafe extern "C-unwind" fn unlock(lock: *mut pthread_rwlock_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_rwlock_unlock(lock) };
    if !recording() {
        return call();
    }
    release(Kind::RwUnlock, lock as u64, site, call)
}
