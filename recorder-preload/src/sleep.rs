//! Sleeping.
//!
//! On one CPU a thread that wakes waits until the CPU is its own again, so that how long it was to sleep is recorded as well.

use core::{ffi::c_int, ffi::c_uint, mem::MaybeUninit};

use foretrace_recorder::blocking::Target::Time;
use libc::{clockid_t, timespec, useconds_t};

use crate::blocking::{Errno, call_then, next_functions};

/// As many nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Defines hooks of calls that sleep, each with a moment on the clock that it goes by, asked before the call, and how many
/// nanoseconds it was to sleep since that. That is asked after the call, which would not have succeeded had its arguments been
/// bad.
macro_rules! hooks {
    (
        $($name:ident ($($argument:ident: $type:ty),*) -> $result:ty = $began:expr, $nanos:expr;)*
    ) => {
        $(
            pub unsafe extern "C-unwind" fn $name($($argument: $type,)* site: u64) -> $result {
                let began: u64 = $began;
                call_then(
                    Time(0),
                    site,
                    // SAFETY: the program's own call.
                    || unsafe { next::$name($($argument),*) },
                    || Time(u64::saturating_sub($nanos, began)),
                )
            }
        )*

        next_functions! {
            $($name($($argument: $type),*) -> $result;)*
        }
    };
}

hooks! {
    nanosleep(time: *const timespec, left: *mut timespec) -> c_int = 0, nanos_at(time);
    clock_nanosleep(clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec)
        -> Errno = beginning(clock, flags), nanos_at(time);
    usleep(micros: useconds_t) -> c_int = 0, u64::from(micros) * 1_000;
    sleep(seconds: c_uint) -> c_uint = 0, u64::from(seconds) * SECOND;
    thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int = 0, nanos_at(time);
}

/// Returns from when on the time of a call counts: the time on its clock if it names a moment of that, else 0.
fn beginning(clock: clockid_t, flags: c_int) -> u64 {
    if flags & libc::TIMER_ABSTIME == 0 {
        return 0;
    }
    now(clock)
}

/// Returns the time on a clock; 0 where there is no such clock.
fn now(clock: clockid_t) -> u64 {
    let mut now = MaybeUninit::zeroed();
    // SAFETY: there is room for a time, which is there from the beginning. Of a clock that is none, an error is returned.
    unsafe {
        let errno = *libc::__errno_location();
        libc::clock_gettime(clock, now.as_mut_ptr());
        *libc::__errno_location() = errno;
        nanos(now.assume_init_ref())
    }
}

/// Returns the time that a call which has succeeded was given.
fn nanos_at(time: *const timespec) -> u64 {
    // SAFETY: the kernel has read it. What the program has made of it since is of no danger.
    nanos(&unsafe { time.read_unaligned() })
}

fn nanos(time: &timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(SECOND).saturating_add(rest)
}
