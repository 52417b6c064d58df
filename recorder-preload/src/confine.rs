//! Programs that give up system calls by a filter (seccomp). A filter may kill for a call that the program would never
//! have made, so that from then on the recorder makes only a few, and goes on in the room that it has; where the filter
//! does not let those pass, it ends.

use core::ffi::{c_int, c_long, c_void};

use foretrace_recorder::process;

use crate::affinity;
use crate::filter::Filter;
use crate::futex::{
    SYS_FUTEX_WAIT, SYS_FUTEX_WAKE, futex, futex_2_wait, futex_2_wake, futex_of_several,
};
use crate::jump::jump;
use crate::next::Next;
use crate::successors;

const SECCOMP_MODE_STRICT: c_int = libc::SECCOMP_MODE_STRICT.cast_signed();

static PRCTL: Next = Next::new(c"prctl", None);
pub static SYSCALL: Next = Next::new(c"syscall", None);

/// The system calls that the recorder makes also when others were given up, with their first arguments: to look at the
/// time, to say which thread is new, to end.
const NEEDED: [(c_long, c_long); 7] = [
    (libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC as c_long),
    (
        libc::SYS_clock_gettime,
        libc::CLOCK_THREAD_CPUTIME_ID as c_long,
    ),
    (
        libc::SYS_clock_gettime,
        libc::CLOCK_PROCESS_CPUTIME_ID as c_long,
    ),
    (libc::SYS_getpid, 0),
    (libc::SYS_gettid, 0),
    (libc::SYS_rt_sigprocmask, libc::SIG_BLOCK as c_long),
    (libc::SYS_rt_sigprocmask, libc::SIG_SETMASK as c_long),
];

/// The system calls that it makes where none were given up, beside those.
const OTHERS: [c_long; 32] = [
    libc::SYS_close,
    libc::SYS_dup3,
    libc::SYS_fallocate,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getdents64,
    libc::SYS_getpeername,
    libc::SYS_getppid,
    libc::SYS_getrusage,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_memfd_create,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_openat,
    libc::SYS_prctl,
    libc::SYS_pread64,
    libc::SYS_prlimit64,
    libc::SYS_process_vm_readv,
    libc::SYS_pwritev,
    libc::SYS_read,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_sched_getattr,
    libc::SYS_sched_setattr,
    libc::SYS_sched_yield,
    libc::SYS_semctl,
    libc::SYS_write,
];

/// Notes that the program asks for a filter. One that would kill for what the recorder needs ends the recording.
fn filter(program: c_long) {
    // SAFETY: the program's own, which the kernel is about to read.
    let Some(filter) = (unsafe { Filter::at(program.cast_unsigned()) }) else {
        // It asks what the kernel can do.
        return;
    };
    if NEEDED
        .iter()
        .all(|&(number, first)| filter.allows(number, first))
    {
        process::confine();
    } else {
        process::silence();
    }
    if !filter.allows(libc::SYS_sched_yield, 0) {
        process::stop_yielding();
    }
    // The filter stays where the process becomes another program, which does not know of it.
    if !OTHERS.iter().all(|&number| filter.spares(number)) {
        successors::record_none();
    }
}

extern "C" fn before_prctl(option: c_long, first: c_long, second: c_long) -> *mut c_void {
    control(option, first, second);
    PRCTL.address()
}

fn control(option: c_long, first: c_long, second: c_long) {
    match (option as c_int, first as c_int) {
        // From then on nothing but to read, to write and to end, and no look at the counter.
        (libc::PR_SET_SECCOMP, SECCOMP_MODE_STRICT) | (libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) => {
            process::silence();
        }
        (libc::PR_SET_SECCOMP, _) => filter(second),
        _ => {}
    }
}

extern "C" fn before_syscall(
    number: c_long,
    first: c_long,
    second: c_long,
    third: c_long,
) -> *mut c_void {
    match number {
        libc::SYS_prctl => control(first, second, third),
        libc::SYS_seccomp if first == c_long::from(libc::SECCOMP_SET_MODE_STRICT) => {
            process::silence();
        }
        libc::SYS_seccomp if first == c_long::from(libc::SECCOMP_SET_MODE_FILTER) => filter(third),
        _ => {}
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
        ".cfi_startproc",
        "cmp rdi, {futex_number}",
        "je 2f",
        "cmp rdi, {several_number}",
        "je 3f",
        "cmp rdi, {wait_number}",
        "je 4f",
        "cmp rdi, {wake_number}",
        "je 5f",
        "jmp {other}",
        "2:",
        "mov rdi, qword ptr [rsp]",
        "jmp {futex}",
        "3:",
        "mov rdi, qword ptr [rsp]",
        "jmp {several}",
        "4:",
        "mov rdi, qword ptr [rsp]",
        "jmp {wait}",
        "5:",
        "mov rdi, qword ptr [rsp]",
        "jmp {wake}",
        ".cfi_endproc",
        futex_number = const libc::SYS_futex,
        several_number = const libc::SYS_futex_waitv,
        wait_number = const SYS_FUTEX_WAIT,
        wake_number = const SYS_FUTEX_WAKE,
        other = sym other_syscall,
        futex = sym futex,
        several = sym futex_of_several,
        wait = sym futex_2_wait,
        wake = sym futex_2_wake,
    )
}

jump!(local other_syscall, before_syscall);
