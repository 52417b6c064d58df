//! Waiting for files to be ready, and for signals. Who waits for no file sleeps.

use core::ffi::c_int;

use foretrace_recorder::IoKind::{Poll, Signal};
use foretrace_recorder::blocking::Target::{self, Epoll, Other, Time};
use libc::{epoll_event, fd_set, nfds_t, siginfo_t, sigset_t, size_t, timespec, timeval};

use crate::blocking::{Errno, Ready, hooks};
use crate::{lent, sleep};

hooks! {
    poll(files: *mut libc::pollfd, count: nfds_t, timeout: c_int) -> Ready
        = files_or(count == 0, || millis(timeout));
    ppoll(files: *mut libc::pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t)
        -> Ready = files_or(count == 0 && mask.is_null(), || nanos(timeout));
    __poll_chk(files: *mut libc::pollfd, count: nfds_t, timeout: c_int, room: size_t) -> Ready
        = files_or(count == 0, || millis(timeout));
    __ppoll_chk(files: *mut libc::pollfd, count: nfds_t, timeout: *const timespec,
        mask: *const sigset_t, room: size_t) -> Ready
        = files_or(count == 0 && mask.is_null(), || nanos(timeout));
    select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        timeout: *mut timeval) -> Ready
        = files_or(has_no_sets(count, [read, write, except]), || micros(timeout));
    epoll_wait(epoll: c_int, events: *mut epoll_event, room: c_int, timeout: c_int) -> Ready
        = Epoll(timeout != 0);
    epoll_pwait(epoll: c_int, events: *mut epoll_event, room: c_int, timeout: c_int,
        mask: *const sigset_t) -> Ready = Epoll(timeout != 0);
    epoll_pwait2(epoll: c_int, events: *mut epoll_event, room: c_int, timeout: *const timespec,
        mask: *const sigset_t) -> Ready = Epoll(false);

    pause() -> c_int = Other(Signal);
    sigsuspend(mask: *const sigset_t) -> c_int = Other(Signal);
    sigwait(set: *const sigset_t, signal: *mut c_int) -> Errno = Other(Signal);
    sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int = Other(Signal);
    sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, timeout: *const timespec) -> c_int
        = Other(Signal);

    pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        timeout: *const timespec, mask: *const sigset_t) -> Ready
        = files_or(mask.is_null() && has_no_sets(count, [read, write, except]), || nanos(timeout));
}

/// Returns what a call waits for: so many nanoseconds to pass, where it is about no file and does not wait for ever.
fn files_or(has_none: bool, nanos: impl FnOnce() -> Option<u64>) -> Target {
    let nanos = if has_none { nanos() } else { None };
    match nanos {
        Some(nanos @ 1..) => Time(nanos),
        _ => Other(Poll),
    }
}

/// Returns whether no file is in one of the sets of `select`.
fn has_no_sets(count: c_int, sets: [*mut fd_set; 3]) -> bool {
    count == 0 || sets.iter().all(|set| set.is_null())
}

/// Returns as many milliseconds in nanoseconds; `None` of a time without an end.
fn millis(timeout: c_int) -> Option<u64> {
    let millis = u64::try_from(timeout).ok()?;
    millis.checked_mul(1_000_000)
}

fn micros(timeout: *const timeval) -> Option<u64> {
    // SAFETY: numbers, which any bytes are.
    let timeout = unsafe { lent::value(timeout) }?;
    let seconds = u64::try_from(timeout.tv_sec).ok()?;
    let micros = u64::try_from(timeout.tv_usec).ok()?;
    seconds
        .checked_mul(sleep::SECOND)?
        .checked_add(micros.checked_mul(1_000)?)
}

fn nanos(timeout: *const timespec) -> Option<u64> {
    // SAFETY: numbers, which any bytes are.
    unsafe { lent::value(timeout) }.map(|timeout| sleep::nanos(&timeout))
}

/// Functions of six arguments.
pub mod wide {
    use crate::blocking::export_wide;

    use super::{Ready, c_int, fd_set, sigset_t, timespec};

    export_wide! {
        pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
            timeout: *const timespec, mask: *const sigset_t; _seventh, _eighth) -> Ready;
    }
}
