//! Making pipes and counters: what was known of files that had their numbers before is forgotten.

use core::ffi::{c_int, c_uint};

use foretrace_recorder::pipes;

use crate::blocking::next_functions;

next_functions! {
    pipe(ends: *mut c_int) -> c_int;
    pipe2(ends: *mut c_int, flags: c_int) -> c_int;
    eventfd(count: c_uint, flags: c_int) -> c_int;
}

pub unsafe extern "C-unwind" fn pipe(ends: *mut c_int, _site: u64) -> c_int {
    // SAFETY: the program's own call.
    made(ends, unsafe { next::pipe(ends) })
}

pub unsafe extern "C-unwind" fn pipe2(ends: *mut c_int, flags: c_int, _site: u64) -> c_int {
    // SAFETY: the program's own call.
    made(ends, unsafe { next::pipe2(ends, flags) })
}

pub unsafe extern "C-unwind" fn eventfd(count: c_uint, flags: c_int, _site: u64) -> c_int {
    // SAFETY: the program's own call.
    let fd = unsafe { next::eventfd(count, flags) };
    pipes::forget(fd);
    fd
}

fn made(ends: *mut c_int, result: c_int) -> c_int {
    if result == 0 {
        // SAFETY: the kernel has written two numbers there.
        let ends = unsafe { *ends.cast::<[c_int; 2]>() };
        ends.into_iter().for_each(pipes::forget);
    }
    result
}
