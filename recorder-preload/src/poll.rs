//! Waiting for files to be ready, for signals, and for locks on files.

use core::ffi::{c_int, c_long, c_void};

use foretrace_recorder::IoKind::{Lock, Poll, Signal};
use foretrace_recorder::blocking::Target::{Epoll, File, Other};
use libc::{epoll_event, fd_set, nfds_t, off_t, siginfo_t, sigset_t, size_t, timespec, timeval};

use crate::blocking::{self, Errno, Ready, hooks};
use crate::next::Next;

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

    flock(fd: c_int, operation: c_int) -> c_int = File(Lock, fd);
    lockf(fd: c_int, operation: c_int, bytes: off_t) -> c_int = File(Lock, fd);
    lockf64(fd: c_int, operation: c_int, bytes: off_t) -> c_int = File(Lock, fd);
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

static FCNTL: Next = Next::new(c"fcntl", None);
static FCNTL64: Next = Next::new(c"fcntl64", None);

/// What `fcntl` is once its third argument, of whichever type, is taken as what stands in its register.
type Fcntl = unsafe extern "C-unwind" fn(c_int, c_int, c_long) -> c_int;

unsafe fn control(next: &Next, fd: c_int, command: c_int, argument: c_long, site: u64) -> c_int {
    // SAFETY: the function of that name, which takes its third argument as any other does.
    let next = unsafe { core::mem::transmute::<*mut c_void, Fcntl>(next.address()) };
    // SAFETY: the program's own call.
    let call = || unsafe { next(fd, command, argument) };
    match command {
        libc::F_SETLKW | libc::F_OFD_SETLKW => blocking::call(File(Lock, fd), site, call),
        _ => call(),
    }
}

pub unsafe extern "C-unwind" fn fcntl(
    fd: c_int,
    command: c_int,
    argument: c_long,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { control(&FCNTL, fd, command, argument, site) }
}

pub unsafe extern "C-unwind" fn fcntl64(
    fd: c_int,
    command: c_int,
    argument: c_long,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { control(&FCNTL64, fd, command, argument, site) }
}
