//! Programs that give up system calls by a filter (seccomp). A filter may kill for a call that the program would never
//! have made, so that from then on the recorder makes none but those that every program with threads needs: it goes
//! on in the room that it has.

use core::ffi::{c_int, c_long, c_void};

use foretrace_recorder::process;

use crate::affinity;
use crate::futex::futex;
use crate::jump::jump;
use crate::next::Next;

static PRCTL: Next = Next::new(c"prctl", None);
pub static SYSCALL: Next = Next::new(c"syscall", None);

extern "C" fn before_prctl(option: c_int) -> *mut c_void {
    if option == libc::PR_SET_SECCOMP {
        process::confine();
    }
    PRCTL.address()
}

extern "C" fn before_syscall(number: c_long, first: c_long) -> *mut c_void {
    let by_prctl = number == libc::SYS_prctl && first == c_long::from(libc::PR_SET_SECCOMP);
    if number == libc::SYS_seccomp || by_prctl {
        process::confine();
    }
    if let Some(ours) = affinity::stands_in_for(number) {
        return ours;
    }
    SYSCALL.address()
}

jump!(prctl, before_prctl);

/// Stands in for the C library's `syscall`: leaves no trace of itself, as with `jump`, but for futexes, which get the
/// caller's address in the place of the number.
///
/// # Safety
///
/// As the C library's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn syscall() {
    core::arch::naked_asm!(
        "cmp rdi, {futex_number}",
        "je 2f",
        "jmp {other}",
        "2:",
        "mov rdi, qword ptr [rsp]",
        "jmp {futex}",
        futex_number = const libc::SYS_futex,
        other = sym other_syscall,
        futex = sym futex,
    )
}

jump!(local other_syscall, before_syscall);
