//! Closing files, which gives up their locks, and copying their numbers: what was known of a number is forgotten.

use core::ffi::{c_int, c_uint};

use foretrace_recorder::{file_locks, pipes};
use libc::FILE;

use crate::blocking::next_functions;
use crate::file_locks::close_by;
use crate::hook::recording;
use crate::stdio;

next_functions! {
    close(fd: c_int) -> c_int;
    fclose(stream: *mut FILE) -> c_int;
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
    closefrom(first: c_int) -> ();
    dup(fd: c_int) -> c_int;
    dup2(fd: c_int, number: c_int) -> c_int;
    dup3(fd: c_int, number: c_int, flags: c_int) -> c_int;
}

/// Of `close_range`: the files are not closed now.
const ON_EXEC: c_int = 4;

pub unsafe extern "C-unwind" fn close(fd: c_int, site: u64) -> c_int {
    pipes::forget(fd);
    // SAFETY: the program's own call.
    close_by(fd, site, || unsafe { next::close(fd) })
}

pub unsafe extern "C-unwind" fn fclose(stream: *mut FILE, site: u64) -> c_int {
    // SAFETY: the stream that the program is about to close.
    let fd = unsafe { stdio::descriptor(stream.cast()) };
    pipes::forget(fd);
    // SAFETY: the program's own call.
    close_by(fd, site, || unsafe { next::fclose(stream) })
}

pub unsafe extern "C-unwind" fn close_range(
    first: c_uint,
    last: c_uint,
    flags: c_int,
    site: u64,
) -> c_int {
    if flags & ON_EXEC == 0 {
        close_between(first, last, site);
    }
    // SAFETY: the program's own call.
    unsafe { next::close_range(first, last, flags) }
}

pub unsafe extern "C-unwind" fn closefrom(first: c_int, site: u64) {
    close_between(u32::try_from(first).unwrap_or(0), u32::MAX, site);
    // SAFETY: the program's own call.
    unsafe { next::closefrom(first) }
}

/// Several files are about to be closed.
fn close_between(first: c_uint, last: c_uint, site: u64) {
    let [first, last] = [first, last].map(|fd| c_int::try_from(fd).unwrap_or(c_int::MAX));
    pipes::forget_between(first, last);
    file_locks::for_each_between(first, last, |fd| close_by(fd, site, || ()));
}

pub unsafe extern "C-unwind" fn dup(fd: c_int, _site: u64) -> c_int {
    // SAFETY: the program's own call.
    copied(fd, unsafe { next::dup(fd) })
}

pub unsafe extern "C-unwind" fn dup2(fd: c_int, number: c_int, site: u64) -> c_int {
    // SAFETY: the program's own call.
    copy_onto(fd, number, site, || unsafe { next::dup2(fd, number) })
}

pub unsafe extern "C-unwind" fn dup3(fd: c_int, number: c_int, flags: c_int, site: u64) -> c_int {
    // SAFETY: the program's own call.
    copy_onto(fd, number, site, || unsafe {
        next::dup3(fd, number, flags)
    })
}

/// Makes a call that closes a file and gives its number to a copy of another.
fn copy_onto(fd: c_int, number: c_int, site: u64, call: impl FnOnce() -> c_int) -> c_int {
    let result = if fd == number {
        call()
    } else {
        close_by(number, site, call)
    };
    copied(fd, result)
}

/// Notes that a file's number was copied, to one that is returned; below 0 if it was not.
pub fn copied(fd: c_int, to: c_int) -> c_int {
    if to >= 0 && to != fd && recording() {
        pipes::forget(to);
        file_locks::copied(fd, to);
    }
    to
}
