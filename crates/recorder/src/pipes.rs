//! Which files are pipes, sockets whose other end is recorded too, which are two pipes, or counters of the kernel's (`eventfd`).
//!
//! What one thread writes there another one waits for, on any number of CPUs, so that both are recorded whether or not they
//! block. What a file is only the kernel knows, and asking at every call would cost as much as many calls do: so each
//! file is asked about again when a while has passed, longer after each answer that was the one before, or when the program made such a
//! one of its number.

use core::sync::atomic::{AtomicI32, Ordering};

use foretrace_trace::{
    io::{FileKind, IoKind},
    journal::layout::{COUNTER_NUMBER, EVENT_COUNTER, SOCKET},
};

use crate::{
    blocking,
    open_files::{self, OpenFile},
    process, sockets, sys,
};

/// For how many ticks a first answer is believed: about a millisecond.
const BELIEVED: u64 = 1 << 21;

/// As often is that doubled at most: to some thirty milliseconds.
const MOST_DOUBLED: u8 = 5;

/// The highest number of a file that was ever asked about.
static HIGHEST: AtomicI32 = AtomicI32::new(-1);

/// Returns the name of what is read from a file or written to it, when the time-stamp counter is at `now`; `None` for files that are
/// no pipes, counters or sockets whose other end is recorded. The common path: two loads.
#[inline]
pub fn name(fd: i32, kind: IoKind, now: u64) -> Option<u64> {
    let known = open_files::of(fd)?;
    let asked = known.asked.load(Ordering::Relaxed);
    let believed = BELIEVED << known.confirmed.load(Ordering::Relaxed).min(MOST_DOUBLED);
    if asked == 0 || now.wrapping_sub(asked) > believed {
        ask(fd, known, now);
    }
    let name = match kind {
        IoKind::Read => &known.reads,
        _ => &known.writes,
    };
    let name = name.load(Ordering::Relaxed);
    (name != 0).then_some(name)
}

#[cold]
fn ask(fd: i32, known: &OpenFile, now: u64) {
    // A program that gave up system calls is not to be ended for this one.
    let stat = (!process::confined()).then(|| sys::stat(sys::Fd(fd)));
    let (reads, writes) = match stat {
        Some(Ok(stat)) => match stat.st_mode & libc::S_IFMT {
            libc::S_IFIFO => (stat.st_ino, stat.st_ino),
            libc::S_IFSOCK => sockets::names(stat.st_ino).unwrap_or((0, 0)),
            // These have an inode in common.
            0 if blocking::anonymous_kind(fd) == FileKind::Event => {
                let name = counter(fd, known);
                (name, name)
            }
            _ => (0, 0),
        },
        _ => (0, 0),
    };
    let relaxed = Ordering::Relaxed;
    let is_new = known.asked.load(relaxed) == 0;
    let before = (
        known.reads.swap(reads, relaxed),
        known.writes.swap(writes, relaxed),
    );
    let confirmed = if is_new || before != (reads, writes) {
        0
    } else {
        known.confirmed.load(relaxed).saturating_add(1)
    };
    known.confirmed.store(confirmed, relaxed);
    HIGHEST.fetch_max(fd, Ordering::Relaxed);
    known.asked.store(now.max(1), Ordering::Relaxed);
}

/// Returns the name of a counter: by the kernel's number, of which it is asked once, or by the file's.
fn counter(fd: i32, known: &OpenFile) -> u64 {
    let name = known.reads.load(Ordering::Relaxed);
    if is_counter(name) {
        return name;
    }
    let number = sys::counter_number(sys::Fd(fd)).map(|number| COUNTER_NUMBER | number);
    EVENT_COUNTER | number.unwrap_or(u64::from(fd.cast_unsigned()))
}

/// Notes that two sockets were made as a pair.
pub fn made_pair(ends: [i32; 2]) {
    ends.into_iter().for_each(forget);
    sockets::made_pair(ends);
}

/// Returns the inode of a file that was a pipe when it was asked last.
pub(crate) fn inode(fd: i32) -> Option<u64> {
    let name = open_files::known(fd)?.reads.load(Ordering::Relaxed);
    (name != 0 && name & (EVENT_COUNTER | SOCKET) == 0).then_some(name)
}

/// Returns whether a name is that of a counter.
pub fn is_counter(name: u64) -> bool {
    name & EVENT_COUNTER != 0
}

/// Forgets what was known of a file whose number means another one now, or none.
#[inline]
pub fn forget(fd: i32) {
    if let Some(known) = open_files::known(fd) {
        known.forget();
    }
}

/// Forgets the files of numbers from one to another.
pub fn forget_between(first: i32, last: i32) {
    let files = open_files::from(first).take_while(|&(fd, _)| fd <= last);
    files.for_each(|(_, known)| known.forget());
}

/// Looks again what files are: those of a forked child are about to be arranged anew.
pub(crate) fn doubt_all() {
    let highest = HIGHEST.load(Ordering::Relaxed);
    for (_, known) in open_files::from(0).take_while(|&(fd, _)| fd <= highest) {
        if known.asked.load(Ordering::Relaxed) != 0 {
            known.asked.store(0, Ordering::Relaxed);
        }
    }
}

impl OpenFile {
    #[inline]
    fn forget(&self) {
        if self.asked.load(Ordering::Relaxed) != 0 {
            self.asked.store(0, Ordering::Relaxed);
            self.reads.store(0, Ordering::Relaxed);
        }
        if self.anonymous.load(Ordering::Relaxed) != 0 {
            self.anonymous.store(0, Ordering::Relaxed);
        }
    }
}
