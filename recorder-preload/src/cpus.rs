//! How many CPUs the program believes in, and what it believes about where it runs.
//!
//! A recorded program stays on its one CPU, whatever it asks for. With `FORETRACE_PRETEND_CPUS` it is told of more, so
//! that it makes as many threads as it would there.

use core::ffi::{c_int, c_long};

use foretrace_recorder::process;
use libc::{cpu_set_t, pid_t, pthread_attr_t, pthread_t, size_t};

use crate::hook::recording;
use crate::next;

/// Returns the number of CPUs to tell of, where the truth is not to be told.
fn pretended() -> Option<u32> {
    // Asked for its side effect: the first hook of all finds out what to pretend.
    recording();
    Some(process::pretended_cpus()).filter(|&cpus| cpus > 0)
}

/// Fills a set of `bytes` bytes with the CPUs from 0 to `cpus - 1`; returns `EINVAL` if it is too small.
unsafe fn fill(set: *mut cpu_set_t, bytes: size_t, cpus: u32) -> c_int {
    let cpus = cpus as usize;
    if bytes * 8 < cpus {
        return libc::EINVAL;
    }
    // SAFETY: by the caller's promise the set has that many bytes.
    let set = unsafe { core::slice::from_raw_parts_mut(set.cast::<u8>(), bytes) };
    for (index, byte) in set.iter_mut().enumerate() {
        let bits = cpus.saturating_sub(index * 8).min(8);
        *byte = ((1_u16 << bits) - 1) as u8;
    }
    0
}

pub unsafe extern "C-unwind" fn sched_getaffinity(
    pid: pid_t,
    bytes: size_t,
    set: *mut cpu_set_t,
    _site: u64,
) -> c_int {
    let Some(cpus) = pretended() else {
        // SAFETY: the program's own call.
        return unsafe { next::sched_getaffinity(pid, bytes, set) };
    };
    // SAFETY: the program's own set.
    let result = unsafe { fill(set, bytes, cpus) };
    if result != 0 {
        // SAFETY: this thread's own.
        unsafe { *libc::__errno_location() = result };
        return -1;
    }
    0
}

pub unsafe extern "C-unwind" fn pthread_getaffinity(
    thread: pthread_t,
    bytes: size_t,
    set: *mut cpu_set_t,
    _site: u64,
) -> c_int {
    match pretended() {
        // SAFETY: the program's own set.
        Some(cpus) => unsafe { fill(set, bytes, cpus) },
        // SAFETY: the program's own call.
        None => unsafe { next::pthread_getaffinity_np(thread, bytes, set) },
    }
}

pub unsafe extern "C-unwind" fn sched_setaffinity(
    pid: pid_t,
    bytes: size_t,
    set: *const cpu_set_t,
    _site: u64,
) -> c_int {
    if pretended().is_some() || recording() {
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { next::sched_setaffinity(pid, bytes, set) }
}

pub unsafe extern "C-unwind" fn pthread_setaffinity(
    thread: pthread_t,
    bytes: size_t,
    set: *const cpu_set_t,
    _site: u64,
) -> c_int {
    if pretended().is_some() || recording() {
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { next::pthread_setaffinity_np(thread, bytes, set) }
}

/// Threads begin where their attributes say; OpenMP's library binds its threads so.
pub unsafe extern "C-unwind" fn attr_setaffinity(
    attributes: *mut pthread_attr_t,
    bytes: size_t,
    set: *const cpu_set_t,
    _site: u64,
) -> c_int {
    if pretended().is_some() || recording() {
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { next::pthread_attr_setaffinity_np(attributes, bytes, set) }
}

pub unsafe extern "C-unwind" fn sysconf(name: c_int, _site: u64) -> c_long {
    if let libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF = name
        && let Some(cpus) = pretended()
    {
        return c_long::from(cpus);
    }
    // SAFETY: the program's own call.
    unsafe { next::sysconf(name) }
}

pub unsafe extern "C-unwind" fn get_nprocs(_site: u64) -> c_int {
    match pretended() {
        Some(cpus) => cpus.cast_signed(),
        // SAFETY: the program's own call.
        None => unsafe { next::get_nprocs() },
    }
}

pub unsafe extern "C-unwind" fn get_nprocs_conf(_site: u64) -> c_int {
    match pretended() {
        Some(cpus) => cpus.cast_signed(),
        // SAFETY: the program's own call.
        None => unsafe { next::get_nprocs_conf() },
    }
}
