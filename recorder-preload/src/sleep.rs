//! Sleeping.
//!
//! On one CPU a thread that wakes waits until the CPU is its own again, so that how long it was to sleep is recorded as well.

use core::{cell::Cell, ffi::c_int, ffi::c_uint, mem::MaybeUninit};

use foretrace_recorder::blocking::Target::Time;
use foretrace_recorder::{Kind, OUTCOME_SUCCESS, clock, record_extended};
use libc::{clockid_t, timespec, useconds_t};

use crate::blocking::{Errno, call_then, next_functions};
use crate::hook::recording;
use crate::lent;

/// As many nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// Defines hooks of calls that sleep, each with how many nanoseconds. That is asked after the call, which would not have succeeded
/// had its arguments been bad.
macro_rules! hooks {
    ($($name:ident ($($argument:ident: $type:ty),*) -> $result:ty = $nanos:expr;)*) => {
        $(
            pub unsafe extern "C-unwind" fn $name($($argument: $type,)* site: u64) -> $result {
                call_then(
                    Time(0),
                    site,
                    // SAFETY: the program's own call.
                    || unsafe { next::$name($($argument),*) },
                    || Time($nanos),
                )
            }
        )*
    };
}

hooks! {
    nanosleep(time: *const timespec, left: *mut timespec) -> c_int = nanos_at(time);
    usleep(micros: useconds_t) -> c_int = u64::from(micros) * 1_000;
    sleep(seconds: c_uint) -> c_uint = u64::from(seconds) * SECOND;
    thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int = nanos_at(time);
}

next_functions! {
    nanosleep(time: *const timespec, left: *mut timespec) -> c_int;
    clock_nanosleep(clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec)
        -> Errno;
    usleep(micros: useconds_t) -> c_int;
    sleep(seconds: c_uint) -> c_uint;
    thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int;
}

/// Where it is to last until a moment of its clock that has passed, it does not sleep, and is told all the same.
pub unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
    site: u64,
) -> Errno {
    // SAFETY: the program's own call.
    let call = || unsafe { next::clock_nanosleep(clock, flags, time, left) };
    if !recording() {
        return call();
    }
    let is_moment = flags & libc::TIMER_ABSTIME != 0;
    if is_moment {
        // SAFETY: numbers, which any bytes are.
        let until = unsafe { lent::value(time) }.filter(is_valid);
        let (counter, now) = (clock::tsc(), now(clock));
        let late = until.and_then(|until| now.checked_sub(nanos(&until)));
        if let Some(late) = late {
            let operands = (counter, 0);
            record_extended(Kind::SleepPast, late, OUTCOME_SUCCESS, site, operands);
            return call();
        }
    }
    let began = Cell::new(0);
    let call = || {
        // Right before: the thread may lose its CPU anywhere.
        if is_moment {
            began.set(now(clock));
        }
        call()
    };
    let waited_for = || Time(nanos_at(time).saturating_sub(began.get()));
    call_then(Time(0), site, call, waited_for)
}

/// Records how long ago the moment was until which a wait was to last whose time has run out: on one CPU its thread may have waited for that, too.
/// Without a clock it is that on which the moment has passed.
#[cold]
pub fn note_deadline(clock: Option<clockid_t>, until: *const timespec, site: u64) {
    if !recording() {
        return;
    }
    let until = nanos_at(until);
    let clocks = clock.map_or([libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME], |clock| {
        [clock; 2]
    });
    let counter = clock::tsc();
    let mut late = clocks
        .iter()
        .filter_map(|&clock| now(clock).checked_sub(until));
    if let Some(late) = late.next() {
        record_extended(Kind::SleepPast, late, OUTCOME_SUCCESS, site, (counter, 0));
    }
}

/// Returns whether the kernel takes a time.
fn is_valid(time: &timespec) -> bool {
    time.tv_sec >= 0 && (0..SECOND.cast_signed()).contains(&time.tv_nsec)
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

/// Returns a time in nanoseconds.
pub fn nanos(time: &timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(SECOND).saturating_add(rest)
}
