//! What unwinds the stack, where a thread is cancelled or an exception passes through a hook: a library that most programs in C never
//! need. Were it linked, it would be loaded into each of them; so the first call of a function of it looks that up.

use core::arch::global_asm;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::next::{self, Next};

/// The library by which the C library unwinds, too.
const LIBRARY: &CStr = c"libgcc_s.so.1";

/// Defines functions, which only this library sees: they jump to those of the same names.
macro_rules! forward {
    ($($name:ident)*) => {
        $(
            #[expect(non_snake_case, reason = "named as the function is")]
            mod $name {
                use super::{AtomicPtr, CStr, Ordering, c_void, find, global_asm};

                static FOUND: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

                extern "C" fn look_up() -> *mut c_void {
                    let name = concat!(stringify!($name), "\0").as_bytes();
                    let name = CStr::from_bytes_with_nul(name).unwrap_or_default();
                    let address = find(name);
                    FOUND.store(address, Ordering::Relaxed);
                    address
                }

                global_asm!(
                    ".pushsection .text.foretrace_unwinding,\"ax\",@progbits",
                    concat!(".globl ", stringify!($name)),
                    concat!(".hidden ", stringify!($name)),
                    concat!(".type ", stringify!($name), ", @function"),
                    concat!(stringify!($name), ":"),
                    ".cfi_startproc",
                    "mov rax, qword ptr [rip + {found}]",
                    "test rax, rax",
                    "jnz 2f",
                    // None of them has more than three arguments.
                    "push rdi",
                    ".cfi_adjust_cfa_offset 8",
                    "push rsi",
                    ".cfi_adjust_cfa_offset 8",
                    "push rdx",
                    ".cfi_adjust_cfa_offset 8",
                    "call {look_up}",
                    "pop rdx",
                    ".cfi_adjust_cfa_offset -8",
                    "pop rsi",
                    ".cfi_adjust_cfa_offset -8",
                    "pop rdi",
                    ".cfi_adjust_cfa_offset -8",
                    "2:",
                    "jmp rax",
                    ".cfi_endproc",
                    concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
                    ".popsection",
                    found = sym FOUND,
                    look_up = sym look_up,
                );
            }
        )*
    };
}

forward! {
    _Unwind_Backtrace
    _Unwind_DeleteException
    _Unwind_FindEnclosingFunction
    _Unwind_GetCFA
    _Unwind_GetDataRelBase
    _Unwind_GetIP
    _Unwind_GetIPInfo
    _Unwind_GetLanguageSpecificData
    _Unwind_GetRegionStart
    _Unwind_GetTextRelBase
    _Unwind_RaiseException
    _Unwind_Resume
    _Unwind_SetGR
    _Unwind_SetIP
}

/// Finds a function where the dynamic linker would, had this library been linked with it.
#[cold]
fn find(name: &CStr) -> *mut c_void {
    static DLOPEN: Next = Next::new(c"dlopen", None);
    type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

    let address = next::find(libc::RTLD_DEFAULT, name.as_ptr());
    if !address.is_null() {
        return address;
    }
    // SAFETY: the C library's function has this type.
    let open = unsafe { core::mem::transmute::<*mut c_void, Open>(DLOPEN.address()) };
    // SAFETY: who unwinds has opened it already.
    let library = unsafe { open(LIBRARY.as_ptr(), libc::RTLD_NOW) };
    let address = if library.is_null() {
        library
    } else {
        next::find(library, name.as_ptr())
    };
    if address.is_null() {
        // As the C library does.
        // SAFETY: ends the process.
        unsafe { libc::abort() };
    }
    address
}
