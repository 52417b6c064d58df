//! Semaphores. Their functions return -1 and set `errno`.

use core::ffi::{CStr, c_char, c_int, c_uint};

use foretrace_recorder::{Kind, OUTCOME_SUCCESS, record, record_extended, turns};
use libc::{clockid_t, sem_t, timespec};

use crate::hook::{acquire, attempt, give, recording, refuses, refuses_clock};
use crate::{mapping, next, sleep};

fn errno() -> c_int {
    // SAFETY: the address of this thread's own.
    unsafe { *libc::__errno_location() }
}

fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value };
}

/// Makes a function that returns -1 and sets `errno` one that returns it. A try that fails says `EAGAIN`, which is
/// what others call `EBUSY`.
fn as_errno(call: impl FnOnce() -> c_int) -> c_int {
    if call() == 0 {
        return 0;
    }
    match errno() {
        libc::EAGAIN => libc::EBUSY,
        errno => errno,
    }
}

/// The reverse: what the program expects of a function that returned `result`.
fn as_result(result: c_int) -> c_int {
    if result == 0 { 0 } else { -1 }
}

pub unsafe extern "C-unwind" fn init(
    semaphore: *mut sem_t,
    shared: c_int,
    value: c_uint,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { next::sem_init(semaphore, shared, value) };
    if result == 0 && recording() {
        let operands = (u64::from(value), 0);
        record_extended(
            Kind::SemInit,
            semaphore as u64,
            OUTCOME_SUCCESS,
            site,
            operands,
        );
    }
    result
}

pub unsafe extern "C-unwind" fn destroy(semaphore: *mut sem_t, site: u64) -> c_int {
    if recording() {
        record(Kind::SemDestroy, semaphore as u64, OUTCOME_SUCCESS, site);
    }
    // SAFETY: the program's own call.
    unsafe { next::sem_destroy(semaphore) }
}

/// The last two parameters are only there when the flags say so; what stands in their registers is passed on.
pub unsafe extern "C-unwind" fn open(
    name: *const c_char,
    flags: c_int,
    mode: c_uint,
    value: c_uint,
    site: u64,
) -> *mut sem_t {
    mapping::shares();
    // SAFETY: the program's own call; a function with variable arguments takes integers as any other does.
    let semaphore = unsafe { next::sem_open(name, flags, mode, value) };
    if !semaphore.is_null() && recording() {
        let mut value = 0;
        // SAFETY: a semaphore that was opened just now, and a place for a number.
        unsafe { libc::sem_getvalue(semaphore, &raw mut value) };
        // SAFETY: the C library just read the name.
        let hash = hash(unsafe { CStr::from_ptr(name) }.to_bytes());
        let operands = (u64::from(value.cast_unsigned()), hash);
        record_extended(
            Kind::SemOpen,
            semaphore as u64,
            OUTCOME_SUCCESS,
            site,
            operands,
        );
    }
    semaphore
}

/// FNV-1a: enough to tell a program's few names apart.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Records a wait, which is a cancellation point also when there is a token.
fn take(
    kind: Kind,
    semaphore: *mut sem_t,
    refused: bool,
    site: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if !recording() {
        return call();
    }
    let before = errno();
    let attempt = || {
        if refused {
            return libc::EINVAL;
        }
        // SAFETY: the function that the program called begins with it too.
        unsafe { next::pthread_testcancel() };
        // SAFETY: a try is allowed wherever a wait is.
        let result = as_errno(|| unsafe { next::sem_trywait(semaphore) });
        // The program knows nothing of this try.
        set_errno(before);
        result
    };
    as_result(acquire(kind, semaphore as u64, site, attempt, || {
        as_errno(call)
    }))
}

/// The same of a wait until a moment of a clock.
fn take_until(
    semaphore: *mut sem_t,
    refused: bool,
    (clock, until): (clockid_t, *const timespec),
    site: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let result = take(Kind::SemTimedWait, semaphore, refused, site, call);
    if result != 0 && errno() == libc::ETIMEDOUT {
        sleep::note_deadline(Some(clock), until, site);
    }
    result
}

pub unsafe extern "C-unwind" fn wait(semaphore: *mut sem_t, site: u64) -> c_int {
    take(Kind::SemWait, semaphore, false, site, || {
        // SAFETY: the program's own call.
        unsafe { next::sem_wait(semaphore) }
    })
}

pub unsafe extern "C-unwind" fn timed_wait(
    semaphore: *mut sem_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the program's own deadline.
    let refused = unsafe { refuses(until) };
    take_until(
        semaphore,
        refused,
        (libc::CLOCK_REALTIME, until),
        site,
        || {
            // SAFETY: the program's own call.
            unsafe { next::sem_timedwait(semaphore, until) }
        },
    )
}

pub unsafe extern "C-unwind" fn clock_wait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the program's own deadline.
    let refused = refuses_clock(clock) || unsafe { refuses(until) };
    take_until(semaphore, refused, (clock, until), site, || {
        // SAFETY: the program's own call.
        unsafe { next::sem_clockwait(semaphore, clock, until) }
    })
}

pub unsafe extern "C-unwind" fn try_wait(semaphore: *mut sem_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::sem_trywait(semaphore) };
    if !recording() {
        return call();
    }
    as_result(attempt(Kind::SemTryWait, semaphore as u64, site, || {
        as_errno(call)
    }))
}

pub unsafe extern "C-unwind" fn post(semaphore: *mut sem_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::sem_post(semaphore) };
    if !recording() {
        return call();
    }
    let result = as_result(give(Kind::SemPost, semaphore as u64, site, || {
        as_errno(call)
    }));
    turns::give_way_now();
    result
}
