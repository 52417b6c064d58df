//! Libraries that are opened while the program runs.
//!
//! `dlopen` looks at its caller: whose search path applies, which namespace to use. A hook that called it would be that
//! caller. So these hooks note what happens and jump.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

use foretrace_recorder::{maps, message, process};

use crate::hook::recording;
use crate::jump::jump;
use crate::mpi;
use crate::next::Next;

static DLOPEN: Next = Next::new(c"dlopen", None);
static DLMOPEN: Next = Next::new(c"dlmopen", None);
static DLCLOSE: Next = Next::new(c"dlclose", None);

extern "C" fn opening(path: *const c_char, flags: c_int) -> *mut c_void {
    if flags & libc::RTLD_DEEPBIND != 0 {
        note_bypass(path);
    }
    maps::stale();
    mpi::opening();
    DLOPEN.address()
}

extern "C" fn opening_namespace(
    namespace: c_long,
    path: *const c_char,
    flags: c_int,
) -> *mut c_void {
    if namespace != libc::LM_ID_BASE || flags & libc::RTLD_DEEPBIND != 0 {
        note_bypass(path);
    }
    maps::stale();
    DLMOPEN.address()
}

/// Notes that a library looks the C library's functions up before ours.
#[cold]
fn note_bypass(path: *const c_char) {
    if !path.is_null() && recording() {
        // SAFETY: the program's own name of a library.
        process::note_bypass(unsafe { CStr::from_ptr(path) });
    }
}

extern "C" fn closing() -> *mut c_void {
    // The addresses in it are about to lose their meaning. A library that passes messages looks at many of its own.
    if !message::is_inside() {
        maps::copy();
    }
    DLCLOSE.address()
}

jump!(dlopen, opening);
jump!(dlmopen, opening_namespace);
jump!(dlclose, closing);
