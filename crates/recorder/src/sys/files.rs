//! Files, by raw system calls.

use core::cell::UnsafeCell;
use core::ffi::CStr;

use super::{Errno, check, syscall};

/// An open file. Copying the number does not copy the file; nothing closes it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fd(pub i32);

/// Opens a file.
///
/// # Errors
///
/// The `errno`.
pub fn open(path: &CStr, flags: i32, mode: u32) -> Result<Fd, Errno> {
    open_below(Fd(libc::AT_FDCWD), path, flags, mode)
}

/// Opens a file by its path from an open directory.
///
/// # Errors
///
/// The `errno`.
pub fn open_below(directory: Fd, path: &CStr, flags: i32, mode: u32) -> Result<Fd, Errno> {
    // SAFETY: the kernel reads the path up to its NUL.
    let result = unsafe {
        syscall(
            libc::SYS_openat,
            [
                directory.0 as usize,
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

/// The numbers of the standard streams: below this one.
const STREAMS: usize = 3;

/// Those of the standard streams' numbers taken that nothing was open by, until this is dropped.
#[derive(Debug)]
pub struct StreamsOccupied([Option<Fd>; STREAMS]);

/// Takes the numbers of the standard streams where nothing is open by them, so that no file that is opened meanwhile gets one. Who writes
/// to them is told that they are not open, as ever.
///
/// # Errors
///
/// The `errno`, where the program may have no more files.
pub fn occupy_streams() -> Result<StreamsOccupied, Errno> {
    let mut taken = StreamsOccupied([None; STREAMS]);
    for number in 0..STREAMS {
        // SAFETY: asking for a file's flags touches no memory.
        let flags = unsafe {
            syscall(
                libc::SYS_fcntl,
                [number, libc::F_GETFD as usize, 0, 0, 0, 0],
            )
        };
        if flags >= 0 {
            continue;
        }
        let fd = open(c"/", libc::O_PATH | libc::O_CLOEXEC, 0)?;
        if fd.0 as usize >= STREAMS {
            // Another thread was quicker.
            close(fd);
        } else {
            taken.0[number] = Some(fd);
        }
    }
    Ok(taken)
}

impl Drop for StreamsOccupied {
    fn drop(&mut self) {
        for fd in self.0.into_iter().flatten() {
            close(fd);
        }
    }
}

/// Reads from a place of a file into a buffer; returns how many bytes came.
///
/// # Errors
///
/// The `errno`.
pub fn read_at(fd: Fd, buffer: &mut [u8], at: u64) -> Result<usize, Errno> {
    // SAFETY: the kernel writes at most the buffer's length into the buffer.
    check(unsafe {
        syscall(
            libc::SYS_pread64,
            [
                fd.0 as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                at as usize,
                0,
                0,
            ],
        )
    })
}

/// Writes to a place of a file; returns how many bytes were written.
///
/// # Errors
///
/// The `errno`.
pub fn write_at(fd: Fd, bytes: &[u8], at: u64) -> Result<usize, Errno> {
    // SAFETY: the kernel reads the bytes, and writes to the recorder's own file.
    check(unsafe {
        syscall(
            libc::SYS_pwrite64,
            [
                fd.0 as usize,
                bytes.as_ptr() as usize,
                bytes.len(),
                at as usize,
                0,
                0,
            ],
        )
    })
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

/// A path below `/proc/self` that ends with a file's number.
type NumberedPath = [u8; 32];

/// Writes such a path; `None` for a number that is none.
fn numbered(prefix: &[u8], fd: Fd) -> Option<NumberedPath> {
    let mut path = [0; size_of::<NumberedPath>()];
    let mut number = u32::try_from(fd.0).ok()?;
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    path[..prefix.len()].copy_from_slice(prefix);
    for place in (prefix.len()..prefix.len() + digits).rev() {
        path[place] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    Some(path)
}

/// Reads the link by which `/proc` tells what an open file is; returns its bytes.
///
/// # Errors
///
/// The `errno`.
pub fn readlink_of(fd: Fd, buffer: &mut [u8]) -> Result<usize, Errno> {
    let path = numbered(b"/proc/self/fd/", fd).ok_or(libc::EBADF)?;
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| libc::EINVAL)?;
    readlink(path, buffer)
}

/// Returns the kernel's number of an `eventfd`, which all processes that have it open share; `None` before Linux 5.2, and where
/// `/proc` is not mounted.
pub fn counter_number(fd: Fd) -> Option<u64> {
    let path = numbered(b"/proc/self/fdinfo/", fd)?;
    let info = CStr::from_bytes_until_nul(&path).ok()?;
    let info = open(info, libc::O_RDONLY | libc::O_CLOEXEC, 0).ok()?;
    let mut text = [0; 512];
    let length = read(info, &mut text);
    close(info);
    let mut lines = text.get(..length.ok()?)?.split(|&byte| byte == b'\n');
    let number = lines.find_map(|line| line.strip_prefix(b"eventfd-id:"))?;
    core::str::from_utf8(number).ok()?.trim().parse().ok()
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

/// Writes the path of an open file, as the kernel knows it, and returns its length; `None` where it is too long or there is none.
pub fn path_of(fd: Fd, path: &mut [u8]) -> Option<usize> {
    let length = readlink_of(fd, path).ok();
    // What fills all room may be longer.
    length.filter(|&length| length < path.len())
}

/// Lets the owner of an open file read and write it, where the process's mask of modes kept that from happening.
///
/// # Errors
///
/// The `errno`.
pub fn let_owner_in(fd: Fd, stat: &libc::stat) -> Result<(), Errno> {
    const OWNER: u32 = libc::S_IRUSR | libc::S_IWUSR;
    if stat.st_mode & OWNER == OWNER {
        return Ok(());
    }
    // SAFETY: takes two numbers.
    let result = unsafe {
        syscall(
            libc::SYS_fchmod,
            [fd.0 as usize, OWNER as usize, 0, 0, 0, 0],
        )
    };
    check(result).map(drop)
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

/// Returns how many bytes the file system has that an open file is in, and how many of them whoever asks may still use.
///
/// # Errors
///
/// The `errno`.
pub fn space(fd: Fd) -> Result<(u64, u64), Errno> {
    let mut told = core::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: on x86_64 the kernel's structure is libc's, and `told` is one.
    check(unsafe {
        syscall(
            libc::SYS_fstatfs,
            [fd.0 as usize, told.as_mut_ptr() as usize, 0, 0, 0, 0],
        )
    })?;
    // SAFETY: all zeros is a valid one, whatever the kernel wrote over it too.
    let told = unsafe { told.assume_init() };
    // The unit of the numbers; some file systems tell only the other one.
    let unit = if told.f_frsize > 0 {
        told.f_frsize
    } else {
        told.f_bsize
    } as u64;
    Ok((
        unit.saturating_mul(told.f_blocks),
        unit.saturating_mul(told.f_bavail),
    ))
}

/// Returns how many links there are to a file.
///
/// # Errors
///
/// The `errno`.
pub fn links(path: &CStr) -> Result<u64, Errno> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the kernel reads the path up to its NUL; the structure is as for `stat`.
    check(unsafe {
        syscall(
            libc::SYS_newfstatat,
            [
                libc::AT_FDCWD as usize,
                path.as_ptr() as usize,
                stat.as_mut_ptr() as usize,
                0,
                0,
                0,
            ],
        )
    })?;
    // SAFETY: as in `stat`.
    Ok(unsafe { stat.assume_init() }.st_nlink)
}

/// Returns where in a file is read or written next.
///
/// # Errors
///
/// The `errno`; `ESPIPE` of files that have no places.
pub fn position(fd: Fd) -> Result<i64, Errno> {
    // SAFETY: the place is left as it is, and no memory is touched.
    let place = unsafe {
        syscall(
            libc::SYS_lseek,
            [fd.0 as usize, 0, libc::SEEK_CUR as usize, 0, 0, 0],
        )
    };
    check(place).map(|place| place as i64)
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

/// Few: each page of them is looked up when it is first read.
const ZEROS_BYTES: usize = 4 << 10;

/// How often they are written by one call, at most.
const PARTS: usize = 32;

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
