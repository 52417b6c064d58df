//! Input and output that may block.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr::null;

use foretrace_recorder::IoKind::{Copy, Read, Sync, Write};
use foretrace_recorder::blocking::Target::{self, Bytes, File, Other};
use foretrace_recorder::{clock, pipes};
use libc::{iovec, mmsghdr, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t, timespec};

use crate::blocking::{self, Counted, Result, hooks};
use crate::hook::recording;

/// Returns what is waited for by one that receives: of a connection, unless what it gets is to be received again.
fn received(fd: c_int, flags: c_int) -> Target {
    if flags & libc::MSG_PEEK == 0 {
        Bytes(Read, fd, null())
    } else {
        File(Read, fd)
    }
}

/// Returns what is waited for by one that copies from one file to another, which may be a connection.
fn copied(out: c_int, fd: c_int) -> Target {
    if recording() && pipes::name(out, Write, clock::tsc()).is_some() {
        Bytes(Write, out, null())
    } else {
        File(Copy, fd)
    }
}

hooks! {
    read(fd: c_int, buffer: *mut c_void, bytes: size_t) -> ssize_t = Bytes(Read, fd, buffer);
    write(fd: c_int, buffer: *const c_void, bytes: size_t) -> ssize_t = Bytes(Write, fd, buffer);
    readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t = Bytes(Read, fd, null());
    writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t = Bytes(Write, fd, null());
    pread(fd: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t) -> ssize_t
        = File(Read, fd);
    pread64(fd: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t) -> ssize_t
        = File(Read, fd);
    pwrite(fd: c_int, buffer: *const c_void, bytes: size_t, offset: off_t) -> ssize_t
        = File(Write, fd);
    pwrite64(fd: c_int, buffer: *const c_void, bytes: size_t, offset: off_t) -> ssize_t
        = File(Write, fd);
    preadv(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t
        = File(Read, fd);
    preadv64(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t
        = File(Read, fd);
    pwritev(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t
        = File(Write, fd);
    pwritev64(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t
        = File(Write, fd);
    preadv2(fd: c_int, parts: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
        = File(Read, fd);
    pwritev2(fd: c_int, parts: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
        = File(Write, fd);
    __read_chk(fd: c_int, buffer: *mut c_void, bytes: size_t, room: size_t) -> ssize_t
        = Bytes(Read, fd, buffer);
    __pread_chk(fd: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t, room: size_t)
        -> ssize_t = File(Read, fd);
    __pread64_chk(fd: c_int, buffer: *mut c_void, bytes: size_t, offset: off_t, room: size_t)
        -> ssize_t = File(Read, fd);

    recv(fd: c_int, buffer: *mut c_void, bytes: size_t, flags: c_int) -> ssize_t
        = received(fd, flags);
    recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t = received(fd, flags);
    recvfrom(fd: c_int, buffer: *mut c_void, bytes: size_t, flags: c_int, from: *mut sockaddr,
        length: *mut socklen_t) -> ssize_t = received(fd, flags);
    __recv_chk(fd: c_int, buffer: *mut c_void, bytes: size_t, room: size_t, flags: c_int)
        -> ssize_t = received(fd, flags);
    __recvfrom_chk(fd: c_int, buffer: *mut c_void, bytes: size_t, room: size_t, flags: c_int,
        from: *mut sockaddr, length: *mut socklen_t) -> ssize_t = received(fd, flags);
    send(fd: c_int, buffer: *const c_void, bytes: size_t, flags: c_int) -> ssize_t
        = Bytes(Write, fd, null());
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t
        = Bytes(Write, fd, null());
    sendto(fd: c_int, buffer: *const c_void, bytes: size_t, flags: c_int, to: *const sockaddr,
        length: socklen_t) -> ssize_t = Bytes(Write, fd, null());

    sendfile(out: c_int, fd: c_int, offset: *mut off_t, bytes: size_t) -> ssize_t
        = copied(out, fd);
    sendfile64(out: c_int, fd: c_int, offset: *mut off_t, bytes: size_t) -> ssize_t
        = copied(out, fd);
    splice(fd: c_int, from: *mut off_t, out: c_int, to: *mut off_t, bytes: size_t, flags: c_uint)
        -> ssize_t = File(Copy, fd);
    copy_file_range(fd: c_int, from: *mut off_t, out: c_int, to: *mut off_t, bytes: size_t,
        flags: c_uint) -> ssize_t = File(Copy, fd);

    eventfd_read(fd: c_int, value: *mut u64) -> Counted = Bytes(Read, fd, value.cast());
    eventfd_write(fd: c_int, value: u64) -> Counted = Bytes(Write, fd, (&raw const value).cast());

    fsync(fd: c_int) -> c_int = File(Sync, fd);
    fdatasync(fd: c_int) -> c_int = File(Sync, fd);
    syncfs(fd: c_int) -> c_int = File(Sync, fd);
    sync() -> () = Other(Sync);
    msync(start: *mut c_void, bytes: size_t, flags: c_int) -> c_int = Other(Sync);
}

/// How many messages were moved, and where the kernel wrote how long each is.
#[derive(Clone, Copy)]
struct Messages {
    count: c_int,
    first: *const mmsghdr,
}

impl Result for Messages {
    fn outcome(self) -> u8 {
        self.count.outcome()
    }

    fn bytes(self) -> Option<u64> {
        let count = usize::try_from(self.count).ok()?;
        // SAFETY: the kernel has written to so many just now.
        let lengths = (0..count).map(|place| unsafe { (*self.first.add(place)).msg_len });
        Some(lengths.map(u64::from).sum())
    }
}

/// Makes a call that moves several messages.
fn of_several(
    target: Target,
    site: u64,
    first: *const mmsghdr,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let call = || Messages {
        count: call(),
        first,
    };
    blocking::call(target, site, call).count
}

pub unsafe extern "C-unwind" fn recvmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
    site: u64,
) -> c_int {
    of_several(received(fd, flags), site, messages, || {
        // SAFETY: the program's own call.
        unsafe { several::recvmmsg(fd, messages, count, flags, timeout) }
    })
}

pub unsafe extern "C-unwind" fn sendmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    site: u64,
) -> c_int {
    of_several(Bytes(Write, fd, null()), site, messages, || {
        // SAFETY: the program's own call.
        unsafe { several::sendmmsg(fd, messages, count, flags) }
    })
}

/// The next functions of those that move several messages.
pub mod several {
    use crate::blocking::next_functions;

    use super::{c_int, c_uint, mmsghdr, timespec};

    next_functions! {
        recvmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int,
            timeout: *mut timespec) -> c_int;
        sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int;
    }

    pub use next::{recvmmsg, sendmmsg};
}

/// Functions of six and seven arguments.
pub mod wide {
    use crate::blocking::export_wide;

    use super::{c_int, c_uint, c_void, off_t, size_t, sockaddr, socklen_t, ssize_t};

    export_wide! {
        recvfrom(fd: c_int, buffer: *mut c_void, bytes: size_t, flags: c_int, from: *mut sockaddr,
            length: *mut socklen_t; _seventh, _eighth) -> ssize_t;
        sendto(fd: c_int, buffer: *const c_void, bytes: size_t, flags: c_int, to: *const sockaddr,
            length: socklen_t; _seventh, _eighth) -> ssize_t;
        splice(fd: c_int, from: *mut off_t, out: c_int, to: *mut off_t, bytes: size_t,
            flags: c_uint; _seventh, _eighth) -> ssize_t;
        copy_file_range(fd: c_int, from: *mut off_t, out: c_int, to: *mut off_t, bytes: size_t,
            flags: c_uint; _seventh, _eighth) -> ssize_t;
        __recvfrom_chk(fd: c_int, buffer: *mut c_void, bytes: size_t, room: size_t, flags: c_int,
            from: *mut sockaddr, length: *mut socklen_t; _eighth) -> ssize_t;
    }
}
