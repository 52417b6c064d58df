//! Sleeping.

use core::ffi::{c_int, c_uint};

use foretrace_recorder::blocking::Target::Time;
use libc::{clockid_t, timespec, useconds_t};

use crate::blocking::{Errno, hooks};

hooks! {
    nanosleep(time: *const timespec, left: *mut timespec) -> c_int = Time;
    clock_nanosleep(clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec)
        -> Errno = Time;
    usleep(micros: useconds_t) -> c_int = Time;
    sleep(seconds: c_uint) -> c_uint = Time;
    thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int = Time;
}
