//! Waiting for files to be ready, and for signals.

use core::ffi::c_int;

use foretrace_recorder::IoKind::{Poll, Signal};
use foretrace_recorder::blocking::Target::{Epoll, Other};
use libc::{epoll_event, fd_set, nfds_t, siginfo_t, sigset_t, size_t, timespec, timeval};

use crate::blocking::{Errno, Ready, hooks};

hooks! {
    poll(files: *mut libc::pollfd, count: nfds_t, timeout: c_int) -> Ready = Other(Poll);
    ppoll(files: *mut libc::pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t)
        -> Ready = Other(Poll);
    __poll_chk(files: *mut libc::pollfd, count: nfds_t, timeout: c_int, room: size_t) -> Ready
        = Other(Poll);
    __ppoll_chk(files: *mut libc::pollfd, count: nfds_t, timeout: *const timespec,
        mask: *const sigset_t, room: size_t) -> Ready = Other(Poll);
    select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
        timeout: *mut timeval) -> Ready = Other(Poll);
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
        timeout: *const timespec, mask: *const sigset_t) -> Ready = Other(Poll);
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
