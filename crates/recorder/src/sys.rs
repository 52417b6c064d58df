//! Raw system calls: they leave `errno` alone, cannot be interposed, and are safe in signal handlers.

use core::arch::asm;
use core::cell::UnsafeCell;
use core::ffi::CStr;

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
    let mut usage = core::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: on x86_64 the kernel's structure is libc's, and `usage` is one.
    unsafe {
        syscall(
            libc::SYS_getrusage,
            [
                libc::RUSAGE_THREAD as usize,
                usage.as_mut_ptr() as usize,
                0,
                0,
                0,
                0,
            ],
        );
    }
    // SAFETY: all zeros is a valid usage, whatever the kernel wrote over it too.
    unsafe { usage.assume_init() }.ru_nvcsw as u64
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

/// An open file. Copying the number does not copy the file; nothing closes it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fd(pub i32);

/// Opens a file.
///
/// # Errors
///
/// The `errno`.
pub fn open(path: &CStr, flags: i32, mode: u32) -> Result<Fd, Errno> {
    // SAFETY: the kernel reads the path up to its NUL.
    let result = unsafe {
        syscall(
            libc::SYS_openat,
            [
                libc::AT_FDCWD as usize,
                path.as_ptr() as usize,
                flags as usize,
                mode as usize,
                0,
                0,
            ],
        )
    };
    check(result).map(|fd| Fd(fd as i32))
}

/// Closes a file.
pub fn close(fd: Fd) {
    // SAFETY: the file is the recorder's own; nobody else knows its number.
    unsafe { syscall(libc::SYS_close, [fd.0 as usize, 0, 0, 0, 0, 0]) };
}

/// Reads into a buffer; returns how many bytes came, 0 at the end.
///
/// # Errors
///
/// The `errno`.
pub fn read(fd: Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel writes at most the buffer's length into the buffer.
    check(unsafe {
        syscall(
            libc::SYS_read,
            [
                fd.0 as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                0,
                0,
                0,
            ],
        )
    })
}

/// Reads directory entries; returns how many bytes came, 0 at the end.
///
/// # Errors
///
/// The `errno`.
pub fn getdents(fd: Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel writes at most the buffer's length into the buffer.
    check(unsafe {
        syscall(
            libc::SYS_getdents64,
            [
                fd.0 as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                0,
                0,
                0,
            ],
        )
    })
}

/// Reads a symbolic link; returns the bytes of its target.
///
/// # Errors
///
/// The `errno`.
pub fn readlink(path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads the path up to its NUL and writes at most the buffer's length.
    check(unsafe {
        syscall(
            libc::SYS_readlinkat,
            [
                libc::AT_FDCWD as usize,
                path.as_ptr() as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                0,
                0,
            ],
        )
    })
}

/// Reads the link by which `/proc` tells what an open file is; returns its bytes.
///
/// # Errors
///
/// The `errno`.
pub fn readlink_of(fd: Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    const PREFIX: &[u8] = b"/proc/self/fd/";
    let mut path = [0; PREFIX.len() + 11];
    path[..PREFIX.len()].copy_from_slice(PREFIX);
    let mut divisor = 1_000_000_000;
    let mut at = PREFIX.len();
    while divisor > 0 {
        let digit = fd.0 / divisor % 10;
        if digit != 0 || at > PREFIX.len() || divisor == 1 {
            path[at] = b'0' + digit as u8;
            at += 1;
        }
        divisor /= 10;
    }
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| libc::EINVAL)?;
    readlink(path, buffer)
}

/// Returns a file's device and inode, which together say whether it is the same file.
///
/// # Errors
///
/// The `errno`.
pub fn identity(fd: Fd) -> Result<(u64, u64), Errno> {
    let stat = stat(fd)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Returns what the kernel says of an open file.
///
/// # Errors
///
/// The `errno`.
pub fn stat(fd: Fd) -> Result<libc::stat, Errno> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: on x86_64 the kernel's structure is libc's, and `stat` is one.
    check(unsafe {
        syscall(
            libc::SYS_fstat,
            [fd.0 as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0],
        )
    })?;
    // SAFETY: all zeros is a valid stat, whatever the kernel wrote over it too.
    Ok(unsafe { stat.assume_init() })
}

/// Moves a file to a number of at least `lowest`, so that the program's own files get the numbers they would have
/// had.
pub fn move_up(fd: Fd, lowest: i32) -> Fd {
    // SAFETY: duplicating touches no memory.
    let result = check(unsafe {
        syscall(
            libc::SYS_fcntl,
            [
                fd.0 as usize,
                libc::F_DUPFD_CLOEXEC as usize,
                lowest as usize,
                0,
                0,
                0,
            ],
        )
    });
    let Ok(moved) = result else { return fd };
    close(fd);
    Fd(moved as i32)
}

/// Returns the soft limit of a resource.
pub fn soft_limit(resource: u32) -> u64 {
    let mut limit = libc::rlimit64 {
        rlim_cur: u64::MAX,
        rlim_max: u64::MAX,
    };
    // SAFETY: the kernel writes one limit, and `limit` is one; it is asked to set nothing.
    unsafe {
        syscall(
            libc::SYS_prlimit64,
            [0, resource as usize, 0, (&raw mut limit) as usize, 0, 0],
        );
    }
    limit.rlim_cur
}

/// Zeros, in memory that takes no space in a file.
struct Zeros(UnsafeCell<[u8; ZEROS_BYTES]>);

// SAFETY: nobody ever writes to them.
unsafe impl Sync for Zeros {}

const ZEROS_BYTES: usize = 64 << 10;

/// How often they are written by one call, at most.
const PARTS: usize = 8;

static ZEROS: Zeros = Zeros(UnsafeCell::new([0; ZEROS_BYTES]));

/// Makes a file hold zeros that are really there, so that writing to its mapping cannot fail.
///
/// They are written, not only allocated: a page of a file that exists in memory already is made writable in a mapping
/// at a fraction of what the first touch of an allocated one costs, where the file system has to be asked page by page.
///
/// # Errors
///
/// The `errno`, `ENOSPC` on a full disk.
pub fn allocate(fd: Fd, offset: u64, bytes: usize) -> Result<(), Errno> {
    // Beyond this limit the kernel would not only refuse but also kill by SIGXFSZ.
    if offset + bytes as u64 > soft_limit(libc::RLIMIT_FSIZE) {
        return Err(libc::EFBIG);
    }
    let mut done = 0;
    while done < bytes {
        let mut left = (bytes - done).min(PARTS * ZEROS_BYTES);
        let parts: [libc::iovec; PARTS] = core::array::from_fn(|_| {
            let part = left.min(ZEROS_BYTES);
            left -= part;
            libc::iovec {
                iov_base: ZEROS.0.get().cast(),
                iov_len: part,
            }
        });
        let at = offset as usize + done;
        // SAFETY: the kernel reads the parts, all of them zeros, and writes to the recorder's own file.
        let written = check(unsafe {
            syscall(
                libc::SYS_pwritev,
                [fd.0 as usize, parts.as_ptr() as usize, PARTS, at, 0, 0],
            )
        });
        match written {
            Ok(0) => return Err(libc::ENOSPC),
            Ok(written) => done += written,
            Err(libc::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Maps part of a file for reading and writing, shared; if asked to, with its pages present already.
///
/// # Errors
///
/// The `errno`.
pub fn map_shared(fd: Fd, offset: u64, bytes: usize, present: bool) -> Result<*mut u8, Errno> {
    let offset = usize::try_from(offset).map_err(|_| libc::EFBIG)?;
    let address = map(bytes, libc::MAP_SHARED, fd.0, offset)?;
    if present {
        // MAP_POPULATE would only read shared pages. Before Linux 5.14 this fails, and they come one by one.
        // SAFETY: the range was mapped just now.
        unsafe {
            syscall(
                libc::SYS_madvise,
                [
                    address as usize,
                    bytes,
                    libc::MADV_POPULATE_WRITE as usize,
                    0,
                    0,
                    0,
                ],
            );
        }
    }
    Ok(address)
}

/// Maps fresh zeroed memory that a forked child finds zeroed again.
///
/// # Errors
///
/// The `errno`; `EINVAL` before Linux 4.14.
pub fn map_wiped_on_fork(bytes: usize) -> Result<*mut u8, Errno> {
    let page = map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)?;
    // SAFETY: the range was mapped just now and nobody knows it yet.
    check(unsafe {
        syscall(
            libc::SYS_madvise,
            [
                page as usize,
                bytes,
                libc::MADV_WIPEONFORK as usize,
                0,
                0,
                0,
            ],
        )
    })?;
    Ok(page)
}

fn map(bytes: usize, flags: i32, fd: i32, offset: usize) -> Result<*mut u8, Errno> {
    // SAFETY: the kernel chooses a range that nobody uses.
    let result = unsafe {
        syscall(
            libc::SYS_mmap,
            [
                0,
                bytes,
                (libc::PROT_READ | libc::PROT_WRITE) as usize,
                flags as usize,
                fd as usize,
                offset,
            ],
        )
    };
    check(result).map(|address| address as *mut u8)
}

/// Unmaps memory.
///
/// # Safety
///
/// The range was mapped by this module and nobody uses it any more.
pub unsafe fn unmap(address: *mut u8, bytes: usize) {
    // SAFETY: by the caller's promise.
    unsafe { syscall(libc::SYS_munmap, [address as usize, bytes, 0, 0, 0, 0]) };
}

/// All signals blocked, until this is dropped.
#[derive(Debug)]
pub struct SignalsBlocked {
    before: u64,
}

/// Blocks every signal for this thread.
#[must_use]
pub fn block_signals() -> SignalsBlocked {
    let mut before = 0;
    set_mask(&u64::MAX, Some(&mut before));
    SignalsBlocked { before }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        set_mask(&self.before, None);
    }
}

fn set_mask(mask: &u64, before: Option<&mut u64>) {
    let before = before.map_or(0, |before| core::ptr::from_mut(before) as usize);
    // SAFETY: the kernel reads one set of 8 bytes and writes one where it is given a place.
    unsafe {
        syscall(
            libc::SYS_rt_sigprocmask,
            [
                libc::SIG_SETMASK as usize,
                core::ptr::from_ref(mask) as usize,
                before,
                size_of::<u64>(),
                0,
                0,
            ],
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
