//! Parallel regions that are one loop. Their functions have seven or eight arguments.

use core::ffi::{c_long, c_uint, c_void};

use super::functions::{self, Body};
use super::region::begin;

/// Exports a function of eight arguments, two of which are on the stack. The function that does the work gets the
/// caller's address as a ninth. Where there is no eighth, something is passed on that nobody looks at.
macro_rules! export {
    ($($name:ident;)*) => {
        $(
            #[doc = concat!("Stands in for the library's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// As the library's.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C-unwind" fn $name() {
                unsafe extern "C-unwind" fn work(
                    body: Body,
                    data: *mut c_void,
                    threads: c_uint,
                    start: c_long,
                    end: c_long,
                    step: c_long,
                    sixth: c_long,
                    seventh: c_long,
                    site: u64,
                ) {
                    // SAFETY: the program's own call, perhaps with a function that runs the program's.
                    unsafe {
                        begin((body, data), threads, 0, site, |body, data| {
                            functions::$name(
                                body, data, threads, start, end, step, sixth, seventh, site,
                            );
                        });
                    }
                }
                core::arch::naked_asm!(
                    // Whoever unwinds must know of the frame.
                    ".cfi_startproc",
                    // The caller's address, then the two from above it.
                    "push qword ptr [rsp]",
                    ".cfi_adjust_cfa_offset 8",
                    "push qword ptr [rsp + 24]",
                    ".cfi_adjust_cfa_offset 8",
                    "push qword ptr [rsp + 24]",
                    ".cfi_adjust_cfa_offset 8",
                    "call {work}",
                    "add rsp, 24",
                    ".cfi_adjust_cfa_offset -24",
                    "ret",
                    ".cfi_endproc",
                    work = sym work,
                )
            }
        )*
    };
}

export! {
    GOMP_parallel_loop_static;
    GOMP_parallel_loop_dynamic;
    GOMP_parallel_loop_guided;
    GOMP_parallel_loop_runtime;
    GOMP_parallel_loop_nonmonotonic_dynamic;
    GOMP_parallel_loop_nonmonotonic_guided;
    GOMP_parallel_loop_nonmonotonic_runtime;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime;
}
