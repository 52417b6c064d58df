//! Reading a stream by single characters and by formats. Within the C library these fill an empty buffer by functions of its own, which
//! nobody sees. Of single characters all but a few are in the buffer.

use core::ffi::{c_char, c_int, c_uint, c_void};

use libc::{FILE, wchar_t};

use crate::blocking::{self, hooks, next_functions};
use crate::stdio::reading;

mod others {
    use super::{FILE, c_char, c_int, c_uint, c_void, hooks, reading, wchar_t};

    // The last argument of the first three is a list of places.
    hooks! {
        vfscanf(stream: *mut FILE, format: *const c_char, places: *mut c_void) -> c_int
            = reading(stream);
        __isoc99_vfscanf(stream: *mut FILE, format: *const c_char, places: *mut c_void) -> c_int
            = reading(stream);
        __isoc23_vfscanf(stream: *mut FILE, format: *const c_char, places: *mut c_void) -> c_int
            = reading(stream);
        fgetwc(stream: *mut FILE) -> c_uint = reading(stream);
        fgetws(line: *mut wchar_t, room: c_int, stream: *mut FILE) -> *mut wchar_t
            = reading(stream);
    }
}

pub use others::{__isoc23_vfscanf, __isoc99_vfscanf, fgetwc, fgetws, vfscanf};

next_functions! {
    getc(stream: *mut FILE) -> c_int;
    getc_unlocked(stream: *mut FILE) -> c_int;
}

/// Looks the functions up, so that no hook has to later.
pub fn look_up_everything() {
    look_up_all();
    others::look_up_all();
}

unsafe extern "C" {
    static stdin: *mut FILE;
}

/// The beginning of a stream, as glibc's headers have it for the functions that they define.
#[repr(C)]
struct Stream {
    flags: c_int,
    next: *const c_char,
    end: *const c_char,
}

/// Returns whether the next character is in a stream's buffer.
#[inline]
unsafe fn has_more(stream: *mut FILE) -> bool {
    let stream: *const Stream = stream.cast_const().cast();
    // SAFETY: by the caller's promise; other threads that read it meanwhile may find what is in the buffer first.
    let next = unsafe { (&raw const (*stream).next).read_volatile() };
    // SAFETY: as above.
    next < unsafe { (&raw const (*stream).end).read_volatile() }
}

pub unsafe extern "C-unwind" fn getc(stream: *mut FILE, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::getc(stream) };
    // SAFETY: the program's own stream.
    if unsafe { has_more(stream) } {
        return call();
    }
    blocking::call(reading(stream), site, call)
}

pub unsafe extern "C-unwind" fn getc_unlocked(stream: *mut FILE, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::getc_unlocked(stream) };
    // SAFETY: the program's own stream.
    if unsafe { has_more(stream) } {
        return call();
    }
    blocking::call(reading(stream), site, call)
}

pub unsafe extern "C-unwind" fn getchar(site: u64) -> c_int {
    // SAFETY: the program's own call, by another name.
    unsafe { getc(stdin, site) }
}

pub unsafe extern "C-unwind" fn getchar_unlocked(site: u64) -> c_int {
    // SAFETY: as above.
    unsafe { getc_unlocked(stdin, site) }
}

pub unsafe extern "C-unwind" fn getwchar(site: u64) -> c_uint {
    // SAFETY: as above.
    unsafe { fgetwc(stdin, site) }
}

/// Defines functions that read from the standard input what others do from a stream.
macro_rules! from_standard_input {
    ($($name:ident => $of_stream:ident;)*) => {
        $(
            pub unsafe extern "C-unwind" fn $name(
                format: *const c_char,
                places: *mut c_void,
                site: u64,
            ) -> c_int {
                // SAFETY: the program's own call, by another name.
                unsafe { $of_stream(stdin, format, places, site) }
            }
        )*
    };
}

from_standard_input! {
    vscanf => vfscanf;
    __isoc99_vscanf => __isoc99_vfscanf;
    __isoc23_vscanf => __isoc23_vfscanf;
}

/// Exports functions whose last arguments are places to write to: they become a list, as those take them that do the work.
macro_rules! export_listing {
    ($($name:ident, $named:literal, $list:literal, $behind:literal => $work:path;)*) => {
        $(
            #[doc = concat!("Stands in for the C library's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// As the C library's.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C-unwind" fn $name() {
                core::arch::naked_asm!(
                    // Whoever unwinds must know of the frame.
                    ".cfi_startproc",
                    "mov r11, qword ptr [rip + foretrace_thread_state@GOTTPOFF]",
                    "mov qword ptr fs:[r11 + {frame}], rbp",
                    "sub rsp, 72",
                    ".cfi_adjust_cfa_offset 72",
                    "mov qword ptr [rsp], rdi",
                    "mov qword ptr [rsp + 8], rsi",
                    "mov qword ptr [rsp + 16], rdx",
                    "mov qword ptr [rsp + 24], rcx",
                    "mov qword ptr [rsp + 32], r8",
                    "mov qword ptr [rsp + 40], r9",
                    // The list: how much of the registers is used by other arguments, none of floating point, the stack's part, theirs.
                    "mov dword ptr [rsp + 48], {named}",
                    "mov dword ptr [rsp + 52], 176",
                    "lea rax, [rsp + 80]",
                    "mov qword ptr [rsp + 56], rax",
                    "mov qword ptr [rsp + 64], rsp",
                    concat!("lea ", $list, ", [rsp + 48]"),
                    // The caller's address comes behind the list.
                    "mov rax, qword ptr [rsp + 72]",
                    concat!("mov ", $behind, ", rax"),
                    "call {work}",
                    "add rsp, 72",
                    ".cfi_adjust_cfa_offset -72",
                    "ret",
                    ".cfi_endproc",
                    frame = const foretrace_recorder::FRAME_OFFSET,
                    named = const 8 * $named,
                    work = sym $work,
                )
            }
        )*
    };
}

/// Exports that are no ordinary functions.
pub mod exports {
    export_listing! {
        scanf, 1, "rsi", "rdx" => super::vscanf;
        __isoc99_scanf, 1, "rsi", "rdx" => super::__isoc99_vscanf;
        __isoc23_scanf, 1, "rsi", "rdx" => super::__isoc23_vscanf;
        fscanf, 2, "rdx", "rcx" => super::vfscanf;
        __isoc99_fscanf, 2, "rdx", "rcx" => super::__isoc99_vfscanf;
        __isoc23_fscanf, 2, "rdx", "rcx" => super::__isoc23_vfscanf;
    }
}
