//! Whether the preloaded library can be loaded into a program that is about to run. Into those of another class or machine it cannot,
//! nor into those of the musl C library: loaders complain of it then, and that of musl refuses to run the program.
//!
//! Deliberately absent: programs into which no library is loaded at all. They do not look for it.

use core::ffi::CStr;

use crate::sys::{self, Fd};

/// As many levels of scripts as the kernel follows.
const MAX_INTERPRETERS: usize = 5;

/// As much of a file's beginning as is looked at: a script's first line, or a program's headers.
const HEAD_BYTES: usize = 1024;

/// The longest name of a loader or an interpreter.
const NAME_BYTES: usize = 256;

/// Room for what is read of files, which need not hold anything.
#[derive(Debug)]
pub struct Buffers {
    head: [u8; HEAD_BYTES],
    name: [u8; NAME_BYTES],
}

/// What a file's beginning says.
enum Head {
    /// A program that the library can be loaded into, or what is none.
    Ours,
    /// Another one.
    Foreign,
    /// A script; its interpreter's path is in the buffer for names.
    Script,
}

/// Returns whether the library can be loaded into the program of a path, or the one that runs it where it is a script; `None` where there is
/// no such file, or nobody may read it.
pub fn takes_library(directory: Fd, path: &CStr, buffers: &mut Buffers) -> Option<bool> {
    // Not to wait for a writer where it is a pipe.
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    let mut fd = sys::open_below(directory, path, flags, 0).ok()?;
    for _ in 0..MAX_INTERPRETERS {
        let head = look(fd, buffers);
        sys::close(fd);
        match head {
            Head::Ours => return Some(true),
            Head::Foreign => return Some(false),
            Head::Script => {
                let interpreter = CStr::from_bytes_until_nul(&buffers.name).ok()?;
                fd = sys::open(interpreter, flags, 0).ok()?;
            }
        }
    }
    sys::close(fd);
    None
}

/// The same for an open file.
pub fn open_takes_library(fd: Fd, buffers: &mut Buffers) -> Option<bool> {
    match look(fd, buffers) {
        Head::Ours => Some(true),
        Head::Foreign => Some(false),
        Head::Script => {
            let mut path = [0; NAME_BYTES];
            path.copy_from_slice(&buffers.name);
            let interpreter = CStr::from_bytes_until_nul(&path).ok()?;
            takes_library(Fd(libc::AT_FDCWD), interpreter, buffers)
        }
    }
}

fn look(fd: Fd, Buffers { head, name }: &mut Buffers) -> Head {
    let length = sys::read_at(fd, head, 0).unwrap_or(0);
    let head = head.get(..length).unwrap_or_default();
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let mut words = line.trim_ascii().split(u8::is_ascii_whitespace);
        let interpreter = words.next().unwrap_or_default();
        name.fill(0);
        return match name[..NAME_BYTES - 1].get_mut(..interpreter.len()) {
            Some(place) => {
                place.copy_from_slice(interpreter);
                Head::Script
            }
            None => Head::Ours,
        };
    }
    let Some(rest) = head.strip_prefix(b"\x7fELF") else {
        return Head::Ours;
    };
    let is_ours = rest.first() == Some(&2) && number(head, 18, 2) == Some(62);
    if !is_ours || loader(fd, head, name).is_some_and(is_musl) {
        return Head::Foreign;
    }
    Head::Ours
}

/// Returns the path of the loader that a program's headers name.
fn loader<'n>(fd: Fd, head: &[u8], name: &'n mut [u8; NAME_BYTES]) -> Option<&'n [u8]> {
    const INTERPRETER: u64 = 3;
    let (first, size, count) = (
        number(head, 32, 8)?,
        number(head, 54, 2)?,
        number(head, 56, 2)?,
    );
    for index in 0..count {
        let at = first.checked_add(index * size)?;
        let segment = head.get(usize::try_from(at).ok()?..)?;
        if number(segment, 0, 4)? == INTERPRETER {
            let length = sys::read_at(fd, name, number(segment, 8, 8)?).ok()?;
            return name.get(..length)?.split(|&byte| byte == 0).next();
        }
    }
    None
}

fn is_musl(loader: &[u8]) -> bool {
    let name = loader.rsplit(|&byte| byte == b'/').next();
    name.is_some_and(|name| name.starts_with(b"ld-musl-"))
}

/// Reads a number of so many bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    let join = |number, &byte| number << 8 | u64::from(byte);
    Some(bytes.iter().rev().fold(0, join))
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::vec::Vec;
    use std::{format, fs};

    use super::*;

    fn judged(contents: &[u8]) -> Option<bool> {
        let path = std::env::temp_dir().join(format!("foretrace-program-{}", sys::gettid()));
        fs::write(&path, contents).expect("the temporary directory is writable");
        let name = CString::new(path.as_os_str().as_encoded_bytes()).expect("it holds no NUL");
        let mut buffers = Buffers {
            head: [0; HEAD_BYTES],
            name: [0; NAME_BYTES],
        };
        let takes = takes_library(Fd(libc::AT_FDCWD), &name, &mut buffers);
        fs::remove_file(path).expect("it was made just now");
        takes
    }

    /// A program whose only segment names its loader.
    fn program(loader: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(18, 0);
        bytes.push(62);
        bytes.resize(32, 0);
        bytes.push(64);
        bytes.resize(54, 0);
        bytes.extend([56, 0, 1, 0]);
        bytes.resize(64, 0);
        bytes.push(3);
        bytes.resize(64 + 8, 0);
        bytes.extend([0, 5]);
        // Beyond what is read of a file at first.
        bytes.resize(5 << 8, 0);
        bytes.extend(loader);
        bytes
    }

    #[test]
    fn programs_of_other_kinds_are_told_from_ours() {
        assert_eq!(
            judged(&program(b"/lib64/ld-linux-x86-64.so.2\0")),
            Some(true)
        );
        assert_eq!(judged(&program(b"/lib/ld-musl-x86_64.so.1\0")), Some(false));
        let mut small = program(b"");
        small[4] = 1;
        assert_eq!(judged(&small), Some(false));
        assert_eq!(judged(b"\x7fELF"), Some(false));
        assert_eq!(judged(b""), Some(true));
    }

    #[test]
    fn scripts_are_as_their_interpreters() {
        assert_eq!(judged(b"#! /bin/sh -e\nexit 0\n"), Some(true));
        assert_eq!(judged(b"#!/nowhere/sh\n"), None);
        assert_eq!(
            judged(&[b"#!".as_slice(), &[b'x'; 600]].concat()),
            Some(true)
        );
    }
}
