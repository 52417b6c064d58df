//! Listening, connecting and accepting: which sockets are connected to which of the same recording.

use core::ffi::c_int;

use foretrace_recorder::IoKind::{Accept, Connect};
use foretrace_recorder::blocking::Target::File;
use foretrace_recorder::{Kind, OUTCOME_SUCCESS, outcome_of, pipes, record_extended, sockets, sys};
use libc::{sockaddr, socklen_t};

use crate::blocking::{self, errno, next_functions};
use crate::hook::recording;
use crate::lent;

next_functions! {
    listen(fd: c_int, waiting: c_int) -> c_int;
    accept(fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int;
    accept4(fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
    connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int;
}

pub unsafe extern "C-unwind" fn listen(fd: c_int, waiting: c_int, _site: u64) -> c_int {
    // Who connects may be there before this is back; but a socket without an address gets one in the call.
    sockets::listening(fd);
    // SAFETY: the program's own call.
    let result = unsafe { next::listen(fd, waiting) };
    if result == 0 {
        sockets::listening(fd);
    }
    result
}

pub unsafe extern "C-unwind" fn accept(
    fd: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::accept(fd, from, length) };
    accepting(fd, site, call)
}

pub unsafe extern "C-unwind" fn accept4(
    fd: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::accept4(fd, from, length, flags) };
    accepting(fd, site, call)
}

/// Whoever accepts takes what one told who connected: their connection.
fn accepting(fd: c_int, site: u64, call: impl FnOnce() -> c_int) -> c_int {
    let accepted = blocking::call(File(Accept, fd), site, call);
    if accepted >= 0 && recording() {
        pipes::forget(accepted);
        if let Some(arrivals) = sockets::accepted(accepted) {
            record_extended(Kind::PipeRead, arrivals, OUTCOME_SUCCESS, site, (1, 0));
        }
    }
    accepted
}

pub unsafe extern "C-unwind" fn connect(
    fd: c_int,
    to: *const sockaddr,
    length: socklen_t,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let next = || unsafe { next::connect(fd, to, length) };
    let call = || blocking::call(File(Connect, fd), site, next);
    if !recording() {
        return call();
    }
    pipes::forget(fd);
    // The kernel refuses longer ones without a look.
    let bytes = (length as usize).min(sys::ADDRESS_BYTES);
    // SAFETY: any bytes are bytes, and nobody changes an address while the program connects to it.
    let address = unsafe { lent::slice(to.cast(), bytes) };
    let Some(connecting) = address.and_then(|address| sockets::connecting(fd, address)) else {
        return call();
    };
    // Whoever accepts may be back before this is.
    let told = record_extended(
        Kind::PipeWrite,
        connecting.arrivals,
        OUTCOME_SUCCESS,
        site,
        (1, 0),
    )
    .for_later();
    let result = call();
    let failed = if result == 0 { 0 } else { errno() };
    // One that does not block is made all the same.
    let is_made = matches!(failed, 0 | libc::EINPROGRESS | libc::EINTR);
    if !is_made {
        told.set_outcome(outcome_of(failed));
    }
    connecting.done(fd, is_made);
    result
}
