//! Programs that give up system calls by a filter (seccomp). A filter may kill for a call that the program would never
//! have made, so that from then on the recorder makes none but those that every program with threads needs: it goes
//! on in the room that it has.

use core::ffi::{c_int, c_long, c_void};

use foretrace_recorder::process;

use crate::affinity;
use crate::jump::jump;
use crate::next::Next;

static PRCTL: Next = Next::new(c"prctl", None);
static SYSCALL: Next = Next::new(c"syscall", None);

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
jump!(syscall, before_syscall);
