//! Memory, by raw system calls.

use super::{Errno, Fd, check, syscall};

/// Returns whether the aligned word at or around an address can be read. Costs a system call that does nothing else, a quarter of
/// [`read_own_memory`](super::read_own_memory), which also reads what may be gone the next moment.
#[must_use]
pub fn can_read(address: u64) -> bool {
    const NO_OPERATION: usize = 99;
    // SAFETY: the kernel reads the set before it refuses what is to be done with it.
    let result = unsafe {
        syscall(
            libc::SYS_rt_sigprocmask,
            [
                NO_OPERATION,
                address as usize & !7,
                0,
                size_of::<u64>(),
                0,
                0,
            ],
        )
    };
    check(result) != Err(libc::EFAULT)
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
    let page = map_zeroed(bytes)?;
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

/// Maps fresh zeroed memory, of which nothing is used before it is written to.
///
/// # Errors
///
/// The `errno`.
pub fn map_zeroed(bytes: usize) -> Result<*mut u8, Errno> {
    map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
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
