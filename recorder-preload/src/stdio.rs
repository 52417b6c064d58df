//! The standard streams. What they do with files they do within the C library, where nobody sees it. So their functions
//! that move more than a byte are watched themselves, and of those that move one the functions that they call when the
//! buffer is empty or full.

use core::ffi::{c_char, c_int, c_void};

use foretrace_recorder::IoKind::{Read, Write};
use foretrace_recorder::blocking::Target;
use libc::{FILE, size_t, ssize_t};

use crate::blocking::hooks;

/// Returns the number of a stream's file, -1 if it has none.
pub unsafe fn descriptor(stream: *mut c_void) -> c_int {
    // SAFETY: this thread's own.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    // SAFETY: the stream that the program just used.
    let fd = unsafe { libc::fileno(stream.cast()) };
    // SAFETY: as above.
    unsafe { *errno = before };
    fd
}

/// What reading a stream waits for.
pub fn reading(stream: *mut FILE) -> Target {
    Target::Stream(Read, stream.cast(), descriptor)
}

fn writing(stream: *mut FILE) -> Target {
    Target::Stream(Write, stream.cast(), descriptor)
}

/// What writing out what a stream holds waits for; without one, those of all streams that are open.
fn flushing(stream: *mut FILE) -> Target {
    if stream.is_null() {
        Target::Other(Write)
    } else {
        writing(stream)
    }
}

hooks! {
    fread(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        = reading(stream);
    fread_unlocked(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        = reading(stream);
    __fread_chk(buffer: *mut c_void, room: size_t, size: size_t, count: size_t, stream: *mut FILE)
        -> size_t = reading(stream);
    __fread_unlocked_chk(buffer: *mut c_void, room: size_t, size: size_t, count: size_t,
        stream: *mut FILE) -> size_t = reading(stream);
    fgets(line: *mut c_char, room: c_int, stream: *mut FILE) -> *mut c_char = reading(stream);
    fgets_unlocked(line: *mut c_char, room: c_int, stream: *mut FILE) -> *mut c_char
        = reading(stream);
    __fgets_chk(line: *mut c_char, size: size_t, room: c_int, stream: *mut FILE) -> *mut c_char
        = reading(stream);
    __fgets_unlocked_chk(line: *mut c_char, size: size_t, room: c_int, stream: *mut FILE)
        -> *mut c_char = reading(stream);
    getline(line: *mut *mut c_char, room: *mut size_t, stream: *mut FILE) -> ssize_t
        = reading(stream);
    getdelim(line: *mut *mut c_char, room: *mut size_t, delimiter: c_int, stream: *mut FILE)
        -> ssize_t = reading(stream);
    __getdelim(line: *mut *mut c_char, room: *mut size_t, delimiter: c_int, stream: *mut FILE)
        -> ssize_t = reading(stream);
    __uflow(stream: *mut FILE) -> c_int = reading(stream);
    fwrite(buffer: *const c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        = writing(stream);
    fwrite_unlocked(buffer: *const c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        = writing(stream);
    fputs(text: *const c_char, stream: *mut FILE) -> c_int = writing(stream);
    fputs_unlocked(text: *const c_char, stream: *mut FILE) -> c_int = writing(stream);
    fflush(stream: *mut FILE) -> c_int = flushing(stream);
    fflush_unlocked(stream: *mut FILE) -> c_int = flushing(stream);
    __overflow(stream: *mut FILE, byte: c_int) -> c_int = writing(stream);
    puts(text: *const c_char) -> c_int = Target::File(Write, libc::STDOUT_FILENO);
}
