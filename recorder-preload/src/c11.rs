//! The threads, mutexes and condition variables of C11. glibc's are its POSIX ones under other names and with other
//! results, and call them by inner names that no hook stands in for.

use core::ffi::{c_int, c_void};

use foretrace_recorder::thread::Routine;
use foretrace_recorder::{Kind, OUTCOME_SUCCESS, record};
use libc::{pthread_cond_t, pthread_mutex_t, pthread_once_t, pthread_t, timespec};

use crate::hook::{acquire, attempt, give, recording, refuses, release, try_mutex};
use crate::next::{self, OnceRoutine};
use crate::{cond, once, thread};

/// `thrd_busy`, `thrd_error`, `thrd_nomem`, `thrd_timedout`; `thrd_success` is 0.
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

/// Returns the `errno` that a result of C11 stands for.
fn to_errno(result: c_int) -> c_int {
    match result {
        0 => 0,
        BUSY => libc::EBUSY,
        NO_MEMORY => libc::ENOMEM,
        TIMED_OUT => libc::ETIMEDOUT,
        _ => libc::EINVAL,
    }
}

/// Returns the result that stands for an `errno`.
fn from_errno(errno: c_int) -> c_int {
    match errno {
        0 => 0,
        libc::EBUSY => BUSY,
        libc::ENOMEM => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

/// A start routine of C11 returns an `int`, in the register that a pointer would be returned in.
pub unsafe extern "C-unwind" fn create(
    thread: *mut pthread_t,
    routine: Routine,
    argument: *mut c_void,
    site: u64,
) -> c_int {
    thread::create_with(
        routine,
        argument,
        (site, 0),
        to_errno,
        |routine, argument| {
            // SAFETY: the program's own call, perhaps with a routine that runs the program's.
            unsafe { next::thrd_create(thread, routine, argument) }
        },
    )
}

pub unsafe extern "C-unwind" fn join(thread: pthread_t, result: *mut c_int, site: u64) -> c_int {
    from_errno(thread::wait_for_end(Kind::Join, thread, site, || {
        // SAFETY: the program's own call.
        to_errno(unsafe { next::thrd_join(thread, result) })
    }))
}

pub unsafe extern "C-unwind" fn detach(thread: pthread_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::thrd_detach(thread) };
    if !recording() {
        return call();
    }
    from_errno(give(Kind::Detach, thread, site, || to_errno(call())))
}

pub unsafe extern "C-unwind" fn mutex_init(
    mutex: *mut pthread_mutex_t,
    kind: c_int,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::mtx_init(mutex, kind) };
    if !recording() {
        return call();
    }
    from_errno(attempt(Kind::MutexInit, mutex as u64, site, || {
        to_errno(call())
    }))
}

pub unsafe extern "C-unwind" fn mutex_destroy(mutex: *mut pthread_mutex_t, site: u64) {
    if recording() {
        record(Kind::MutexDestroy, mutex as u64, OUTCOME_SUCCESS, site);
    }
    // SAFETY: the program's own call.
    unsafe { next::mtx_destroy(mutex) };
}

pub unsafe extern "C-unwind" fn mutex_lock(mutex: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::mtx_lock(mutex) };
    if !recording() {
        return call();
    }
    // SAFETY: a try is allowed wherever a lock is.
    let try_lock = || to_errno(unsafe { next::mtx_trylock(mutex) });
    let lock = || to_errno(call());
    from_errno(acquire(Kind::MutexLock, mutex as u64, site, try_lock, lock))
}

pub unsafe extern "C-unwind" fn mutex_try_lock(mutex: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::mtx_trylock(mutex) };
    if !recording() {
        return call();
    }
    from_errno(try_mutex(mutex as u64, site, || to_errno(call())))
}

pub unsafe extern "C-unwind" fn mutex_timed_lock(
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::mtx_timedlock(mutex, until) };
    if !recording() {
        return call();
    }
    let try_lock = || {
        // SAFETY: the program's own deadline.
        if unsafe { refuses(until) } {
            return libc::EINVAL;
        }
        // SAFETY: a try is allowed wherever a lock is.
        to_errno(unsafe { next::mtx_trylock(mutex) })
    };
    let lock = || to_errno(call());
    from_errno(acquire(
        Kind::MutexTimedLock,
        mutex as u64,
        site,
        try_lock,
        lock,
    ))
}

pub unsafe extern "C-unwind" fn mutex_unlock(mutex: *mut pthread_mutex_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::mtx_unlock(mutex) };
    if !recording() {
        return call();
    }
    from_errno(release(Kind::MutexUnlock, mutex as u64, site, || {
        to_errno(call())
    }))
}

pub unsafe extern "C-unwind" fn cond_init(cond: *mut pthread_cond_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::cnd_init(cond) };
    if !recording() {
        return call();
    }
    from_errno(attempt(Kind::CondInit, cond as u64, site, || {
        to_errno(call())
    }))
}

pub unsafe extern "C-unwind" fn cond_destroy(cond: *mut pthread_cond_t, site: u64) {
    // SAFETY: the program's own call.
    unsafe { next::cnd_destroy(cond) };
    if recording() {
        record(Kind::CondDestroy, cond as u64, OUTCOME_SUCCESS, site);
    }
}

pub unsafe extern "C-unwind" fn cond_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    site: u64,
) -> c_int {
    from_errno(cond::wait_for_signal(
        Kind::CondWait,
        cond,
        mutex,
        site,
        || {
            // SAFETY: the program's own call.
            to_errno(unsafe { next::cnd_wait(cond, mutex) })
        },
    ))
}

pub unsafe extern "C-unwind" fn cond_timed_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    let until_when = (Some(libc::CLOCK_REALTIME), until);
    from_errno(cond::wait_until(cond, mutex, until_when, site, || {
        // SAFETY: the program's own call.
        to_errno(unsafe { next::cnd_timedwait(cond, mutex, until) })
    }))
}

pub unsafe extern "C-unwind" fn cond_signal(cond: *mut pthread_cond_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::cnd_signal(cond) };
    if !recording() {
        return call();
    }
    from_errno(give(Kind::CondSignal, cond as u64, site, || {
        to_errno(call())
    }))
}

pub unsafe extern "C-unwind" fn cond_broadcast(cond: *mut pthread_cond_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::cnd_broadcast(cond) };
    if !recording() {
        return call();
    }
    from_errno(give(Kind::CondBroadcast, cond as u64, site, || {
        to_errno(call())
    }))
}

/// `call_once` is `pthread_once` without a result.
pub unsafe extern "C-unwind" fn call_once(
    control: *mut pthread_once_t,
    routine: OnceRoutine,
    site: u64,
) {
    // SAFETY: the program's own call: both have the same control word and routine.
    unsafe { once::once(control, routine, site) };
}
