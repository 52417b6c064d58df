//! Tasks. Nothing is recorded of them but that there are some.

use core::ffi::c_void;

use foretrace_recorder::process;

use super::functions;
use crate::hook::recording;

fn note() {
    if recording() {
        process::note_tasks();
    }
}

/// Defines a hook that notes that there are tasks and jumps to the library's function, with all arguments as they were.
macro_rules! tasks {
    ($($name:ident => $before:ident, $address:ident;)*) => {
        $(
            extern "C" fn $before(site: u64) -> *mut c_void {
                note();
                functions::$address(site)
            }

            #[doc = concat!("Stands in for the library's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// As the library's.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C-unwind" fn $name() {
                core::arch::naked_asm!(
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    // The caller's address lies above these. Calls want the stack aligned to 16 bytes.
                    "mov rdi, qword ptr [rsp + 48]",
                    "sub rsp, 8",
                    "call {before}",
                    "add rsp, 8",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    "jmp rax",
                    before = sym $before,
                )
            }
        )*
    };
}

tasks! {
    GOMP_task => before_task, task;
    GOMP_taskloop => before_taskloop, taskloop;
    GOMP_taskloop_ull => before_taskloop_ull, taskloop_ull;
}
