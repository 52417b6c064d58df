//! Raw system calls: they leave `errno` alone, cannot be interposed, and are safe in signal handlers.

use core::arch::asm;
use core::ffi::c_int;
use core::sync::atomic::AtomicU32;

mod emulators;
mod files;
mod locks;
mod memory;
mod signals;
mod sockets;

pub use {emulators::*, files::*, locks::*, memory::*, signals::*, sockets::*};

/// Makes a system call; a result in `-4095..0` is a negated `errno`.
///
/// # Safety
///
/// As the call named asks.
#[inline]
pub unsafe fn syscall(number: i64, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel clobbers rcx and r11 and nothing else; what the call itself does is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// A failed system call's `errno`.
pub type Errno = i32;

fn check(result: isize) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| -(result as i32))
}

/// Returns the process's number.
pub fn getpid() -> u32 {
    // SAFETY: takes no arguments and has no effect.
    unsafe { syscall(libc::SYS_getpid, [0; 6]) as u32 }
}

/// Returns the parent's number.
pub fn getppid() -> u32 {
    // SAFETY: takes no arguments and has no effect.
    unsafe { syscall(libc::SYS_getppid, [0; 6]) as u32 }
}

/// Returns the calling thread's number.
pub fn gettid() -> u32 {
    // SAFETY: takes no arguments and has no effect.
    unsafe { syscall(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Lets another thread run.
pub fn sched_yield() {
    // SAFETY: takes no arguments and touches no memory.
    unsafe { syscall(libc::SYS_sched_yield, [0; 6]) };
}

/// Asks for the CPUs that a thread may run on; returns the bytes of the kernel's own set.
///
/// # Errors
///
/// The `errno`.
///
/// # Safety
///
/// The set has that many bytes.
pub unsafe fn getaffinity(pid: i32, bytes: usize, set: *mut u8) -> Result<usize, Errno> {
    let arguments = [pid as usize, bytes, set as usize, 0, 0, 0];
    // SAFETY: by the caller's promise.
    check(unsafe { syscall(libc::SYS_sched_getaffinity, arguments) })
}

/// Returns a clock's time in nanoseconds; 0 when there is no such clock.
#[inline]
pub fn clock_nanos(clock: i32) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec, and `time` is one.
    unsafe {
        syscall(
            libc::SYS_clock_gettime,
            [clock as usize, (&raw mut time) as usize, 0, 0, 0, 0],
        );
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Reads the process's own memory at an address; returns whether that is possible.
pub fn read_own_memory(address: u64, words: &mut [u64; 2]) -> bool {
    let bytes = size_of_val(words);
    let local = [words.as_mut_ptr() as usize, bytes];
    let remote = [address as usize, bytes];
    // SAFETY: the kernel writes the words, and checks the other address itself.
    let result = unsafe {
        syscall(
            libc::SYS_process_vm_readv,
            [
                getpid() as usize,
                local.as_ptr() as usize,
                1,
                remote.as_ptr() as usize,
                1,
                0,
            ],
        )
    };
    result == bytes as isize
}

/// Returns the id of the CPU-time clock of a thread of this process.
pub fn thread_clock_id(tid: u32) -> i32 {
    // The kernel's encoding: the complement of the thread, and "per thread" (4) with "scheduler time" (2).
    (!tid.cast_signed() << 3) | 6
}

/// Returns how often the calling thread left its CPU because it had to wait.
pub fn voluntary_switches() -> u64 {
    usage_of(libc::RUSAGE_THREAD).ru_nvcsw as u64
}

/// Returns the CPU time of the children that were waited for, and of theirs, in microseconds.
pub fn children_cpu_micros() -> u64 {
    let usage = usage_of(libc::RUSAGE_CHILDREN);
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    micros(usage.ru_utime) + micros(usage.ru_stime)
}

fn usage_of(whom: i32) -> libc::rusage {
    let mut usage = core::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: on x86_64 the kernel's structure is libc's, and `usage` is one.
    unsafe {
        syscall(
            libc::SYS_getrusage,
            [whom as usize, usage.as_mut_ptr() as usize, 0, 0, 0, 0],
        );
    }
    // SAFETY: all zeros is a valid usage, whatever the kernel wrote over it too.
    unsafe { usage.assume_init() }
}

/// Returns the value of a semaphore of a System V set.
///
/// # Errors
///
/// The `errno`.
pub fn semaphore_value(set: i32, number: u16) -> Result<u64, Errno> {
    // SAFETY: asking for a value touches no memory.
    check(unsafe {
        syscall(
            libc::SYS_semctl,
            [
                set as usize,
                usize::from(number),
                libc::GETVAL as usize,
                0,
                0,
                0,
            ],
        )
    })
    .map(|value| value as u64)
}

/// Waits until [`wake_all`] is called for a word that held a value when this began, and no longer than so many nanoseconds. The kernel is
/// not allowed to be late by more than that takes.
pub fn wait_briefly(word: &AtomicU32, value: u32, nanos: u32) {
    let option = |option: c_int, value: usize| {
        // SAFETY: these options take and give numbers.
        unsafe { syscall(libc::SYS_prctl, [option as usize, value, 0, 0, 0, 0]) }
    };
    let slack = option(libc::PR_GET_TIMERSLACK, 0);
    option(libc::PR_SET_TIMERSLACK, 1);
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: i64::from(nanos),
    };
    futex(word, libc::FUTEX_WAIT, value, (&raw const time) as usize);
    option(libc::PR_SET_TIMERSLACK, slack.max(1) as usize);
}

/// The arguments of `sched_setattr`, as far as Linux 3.14 knew them.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Asks the kernel to let the calling thread have the CPU for about so many nanoseconds at a time where others want it, too. Linux before
/// 6.12 does nothing of that kind, and threads of real-time policies are left alone.
pub fn take_short_turns(nanos: u64) {
    let mut attr = SchedAttr::default();
    let (address, size) = ((&raw mut attr) as usize, size_of::<SchedAttr>());
    // SAFETY: the kernel writes no more than that size.
    let known = unsafe { syscall(libc::SYS_sched_getattr, [0, address, size, 0, 0, 0]) };
    let is_usual = [libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&attr.policy.cast_signed());
    if known != 0 || !is_usual {
        return;
    }
    let short = SchedAttr {
        runtime: nanos,
        ..attr
    };
    // SAFETY: the kernel reads as much as the size says.
    unsafe {
        let address = (&raw const short) as usize;
        syscall(libc::SYS_sched_setattr, [0, address, 0, 0, 0, 0]);
    }
}

/// Wakes all that wait for a word in [`wait_briefly`].
pub fn wake_all(word: &AtomicU32) {
    futex(word, libc::FUTEX_WAKE, c_int::MAX as u32, 0);
}

/// Waits for a word of this process, or wakes those that do; `time` is the address of a `timespec`, or 0.
fn futex(word: &AtomicU32, operation: c_int, value: u32, time: usize) {
    let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
    let arguments = [
        word.as_ptr() as usize,
        operation,
        value as usize,
        time,
        0,
        0,
    ];
    // SAFETY: the word outlives the call, and the kernel only reads the time.
    unsafe { syscall(libc::SYS_futex, arguments) };
}

/// Sleeps.
pub fn sleep_nanos(nanos: u32) {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: i64::from(nanos),
    };
    // SAFETY: the kernel reads one timespec, and `time` is one; it is asked to write nothing back.
    unsafe {
        syscall(
            libc::SYS_nanosleep,
            [(&raw const time) as usize, 0, 0, 0, 0, 0],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_gives_its_errno_and_leaves_the_c_librarys_alone() {
        // SAFETY: errno is this thread's own.
        unsafe { *libc::__errno_location() = 77 };
        assert_eq!(open(c"/nonexistent/file", 0, 0), Err(libc::ENOENT));
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 77);
    }

    #[test]
    fn another_threads_clock_can_be_read_by_its_number() {
        let before = clock_nanos(thread_clock_id(gettid()));
        let own = clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
        let after = clock_nanos(thread_clock_id(gettid()));
        assert!(before > 0 && before <= own && own <= after);
    }
}
