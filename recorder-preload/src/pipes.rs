//! Making pipes, pairs of sockets and counters: what was known of files that had their numbers before is forgotten. And those that the
//! program began with.

use core::ffi::{c_int, c_uint};

use foretrace_recorder::{IoKind, Kind, OUTCOME_SUCCESS, clock, pipes, record, record_extended};

use crate::blocking::next_functions;
use crate::hook::recording;

/// Of more tokens that a counter begins with each by itself is not told.
const MOST_TOKENS: c_uint = 64;

next_functions! {
    pipe(ends: *mut c_int) -> c_int;
    pipe2(ends: *mut c_int, flags: c_int) -> c_int;
    socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int;
    eventfd(count: c_uint, flags: c_int) -> c_int;
}

pub unsafe extern "C-unwind" fn pipe(ends: *mut c_int, _site: u64) -> c_int {
    // SAFETY: the program's own call.
    made(ends, forget, unsafe { next::pipe(ends) })
}

pub unsafe extern "C-unwind" fn pipe2(ends: *mut c_int, flags: c_int, _site: u64) -> c_int {
    // SAFETY: the program's own call.
    made(ends, forget, unsafe { next::pipe2(ends, flags) })
}

pub unsafe extern "C-unwind" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    ends: *mut c_int,
    _site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { next::socketpair(domain, kind, protocol, ends) };
    made(ends, pipes::made_pair, result)
}

pub unsafe extern "C-unwind" fn eventfd(count: c_uint, flags: c_int, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let fd = unsafe { next::eventfd(count, flags) };
    if fd >= 0 && recording() {
        pipes::forget(fd);
        if let Some(name) = pipes::name(fd, IoKind::Read, clock::tsc()) {
            let record = |kind, added: c_uint| {
                record_extended(kind, name, OUTCOME_SUCCESS, site, (added.into(), 0));
            };
            // What one that counts tokens begins with others take one by one.
            let takes_one = flags & libc::EFD_SEMAPHORE != 0 && count <= MOST_TOKENS;
            let each = if takes_one { count.min(1) } else { count };
            record(Kind::CounterMade, each);
            (each..count).for_each(|_| record(Kind::PipeWrite, 1));
        }
    }
    fd
}

fn made(ends: *mut c_int, note: impl FnOnce([c_int; 2]), result: c_int) -> c_int {
    if result == 0 {
        // SAFETY: the kernel has written two numbers there.
        note(unsafe { *ends.cast::<[c_int; 2]>() });
    }
    result
}

fn forget(ends: [c_int; 2]) {
    ends.into_iter().for_each(pipes::forget);
}

/// Tells of the pipes that the program began with as its outputs: what the C library writes there for its streams nobody sees.
pub fn tell_outputs() {
    for fd in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        if let Some(name) = pipes::name(fd, IoKind::Write, clock::tsc()) {
            record(Kind::PipeHeld, name, OUTCOME_SUCCESS, 0);
        }
    }
}
