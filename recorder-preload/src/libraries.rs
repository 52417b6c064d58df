//! Libraries that are opened while the program runs.
//!
//! `dlopen` looks at its caller: whose search path applies, which namespace to use. A hook that called it would be that
//! caller. So these hooks note what happens and jump.

use core::ffi::c_void;

use foretrace_recorder::maps;

use crate::jump::jump;
use crate::next::Next;

static DLOPEN: Next = Next::new(c"dlopen", None);
static DLMOPEN: Next = Next::new(c"dlmopen", None);
static DLCLOSE: Next = Next::new(c"dlclose", None);

extern "C" fn opening() -> *mut c_void {
    maps::stale();
    DLOPEN.address()
}

extern "C" fn opening_namespace() -> *mut c_void {
    maps::stale();
    DLMOPEN.address()
}

extern "C" fn closing() -> *mut c_void {
    // The addresses in it are about to lose their meaning.
    maps::copy();
    DLCLOSE.address()
}

jump!(dlopen, opening);
jump!(dlmopen, opening_namespace);
jump!(dlclose, closing);
