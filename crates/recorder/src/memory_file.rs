//! Files in memory that are written piece by piece and then stand in for real ones, without any allocation.

use crate::sys::{self, Fd};

/// The bytes that are read or written at once. Small, since they may have to lie on a small stack.
const BUFFER_BYTES: usize = 512;

/// A file in memory, being written.
#[derive(Debug)]
pub(crate) struct MemoryFile {
    fd: Fd,
    buffer: [u8; BUFFER_BYTES],
    used: usize,
    failed: bool,
}

impl MemoryFile {
    /// Makes an empty one; `None` where the system has none.
    pub fn create() -> Option<Self> {
        let name = c"foretrace";
        // SAFETY: the kernel reads the name up to its NUL.
        let fd = unsafe {
            sys::syscall(
                libc::SYS_memfd_create,
                [
                    name.as_ptr() as usize,
                    libc::MFD_CLOEXEC as usize,
                    0,
                    0,
                    0,
                    0,
                ],
            )
        };
        (fd >= 0).then(|| Self {
            fd: Fd(fd as i32),
            buffer: [0; BUFFER_BYTES],
            used: 0,
            failed: false,
        })
    }

    /// Writes a byte.
    pub fn put(&mut self, byte: u8) {
        if self.used == BUFFER_BYTES {
            self.flush();
        }
        self.buffer[self.used] = byte;
        self.used += 1;
    }

    /// Writes bytes.
    pub fn text(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.put(byte);
        }
    }

    /// Writes a number in decimal.
    pub fn number(&mut self, number: u32) {
        if number >= 10 {
            self.number(number / 10);
        }
        self.put(b'0' + (number % 10) as u8);
    }

    /// Writes a number as eight hexadecimal digits.
    pub fn hexadecimal(&mut self, number: u32) {
        for digit in (0..8).rev() {
            let value = (number >> (4 * digit) & 15) as usize;
            self.put(b"0123456789abcdef"[value]);
        }
    }

    fn flush(&mut self) {
        let mut done = 0;
        while done < self.used {
            let rest = &self.buffer[done..self.used];
            // SAFETY: the kernel reads as many bytes as there are.
            let written = unsafe {
                sys::syscall(
                    libc::SYS_write,
                    [
                        self.fd.0 as usize,
                        rest.as_ptr() as usize,
                        rest.len(),
                        0,
                        0,
                        0,
                    ],
                )
            };
            let Ok(bytes @ 1..) = usize::try_from(written) else {
                self.failed = true;
                break;
            };
            done += bytes;
        }
        self.used = 0;
    }

    /// Gives the file the number of another, from its beginning; that one is closed. Where that fails it stays.
    pub fn take_over(mut self, other: Fd) {
        self.flush();
        seek_to_start(self.fd);
        if !self.failed {
            let flags = control(other, libc::F_GETFD);
            let close_on_exec = if flags & libc::FD_CLOEXEC as isize == 0 {
                0
            } else {
                libc::O_CLOEXEC
            };
            // SAFETY: touches no memory; the other number is an open file's.
            unsafe {
                sys::syscall(
                    libc::SYS_dup3,
                    [
                        self.fd.0 as usize,
                        other.0 as usize,
                        close_on_exec as usize,
                        0,
                        0,
                        0,
                    ],
                )
            };
        }
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        sys::close(self.fd);
    }
}

/// Returns whether a file was opened for reading alone.
pub(crate) fn is_read_only(fd: Fd) -> bool {
    let flags = control(fd, libc::F_GETFL);
    flags >= 0 && flags & (libc::O_ACCMODE | libc::O_PATH) as isize == libc::O_RDONLY as isize
}

fn control(fd: Fd, command: i32) -> isize {
    // SAFETY: asks for flags, touches no memory.
    unsafe {
        sys::syscall(
            libc::SYS_fcntl,
            [fd.0 as usize, command as usize, 0, 0, 0, 0],
        )
    }
}

fn seek_to_start(fd: Fd) {
    // SAFETY: touches no memory.
    unsafe {
        sys::syscall(
            libc::SYS_lseek,
            [fd.0 as usize, 0, libc::SEEK_SET as usize, 0, 0, 0],
        );
    }
}

/// The bytes of a file, one after the other.
pub(crate) struct Source {
    fd: Fd,
    buffer: [u8; BUFFER_BYTES],
    next: usize,
    end: usize,
}

impl Source {
    /// Begins at the file's beginning.
    pub fn from_start(fd: Fd) -> Self {
        seek_to_start(fd);
        Self {
            fd,
            buffer: [0; BUFFER_BYTES],
            next: 0,
            end: 0,
        }
    }

    /// Returns the next byte.
    pub fn next(&mut self) -> Option<u8> {
        if self.next == self.end {
            self.end = sys::read(self.fd, &mut self.buffer).ok()?.min(BUFFER_BYTES);
            self.next = 0;
            if self.end == 0 {
                return None;
            }
        }
        self.next += 1;
        Some(self.buffer[self.next - 1])
    }

    /// Copies the rest of a line with its end, or skips it.
    pub fn copy_line(&mut self, mut out: Option<&mut MemoryFile>) {
        while let Some(byte) = self.next() {
            if let Some(out) = &mut out {
                out.put(byte);
            }
            if byte == b'\n' {
                return;
            }
        }
    }

    /// Takes the rest of a line without its end, as much as there is room for, and returns its length.
    pub fn line_into(&mut self, line: &mut [u8]) -> usize {
        let mut length = 0;
        while let Some(byte) = self.next()
            && byte != b'\n'
        {
            if let Some(place) = line.get_mut(length) {
                *place = byte;
                length += 1;
            }
        }
        length
    }
}
