//! Libraries that are opened while the program runs.
//!
//! `dlopen` looks at its caller: whose search path applies, which namespace to use. A hook that called it would be that
//! caller. So these hooks note what happens and jump.

use core::ffi::c_void;

use foretrace_recorder::maps;

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

/// Defines a hook that calls a function of ours and then jumps to the address it returned, its own arguments and its
/// caller's address untouched.
macro_rules! jump {
    ($name:ident, $before:path) => {
        #[doc = concat!("Stands in for the C library's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// As the C library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "call {before}",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp rax",
                before = sym $before,
            )
        }
    };
}

jump!(dlopen, opening);
jump!(dlmopen, opening_namespace);
jump!(dlclose, closing);
