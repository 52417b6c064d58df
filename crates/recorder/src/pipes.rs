//! Which files are pipes, sockets whose other end is recorded too, which are two pipes, or counters of the kernel's (`eventfd`).
//!
//! What one thread writes there another one waits for, on any number of CPUs, so that both are recorded whether or not they
//! block. What a file is only the kernel knows, and asking at every call would cost as much as many calls do: so each
//! file is asked about again when a while has passed, or when the program made such a one of its number.

use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_trace::{
    io::{FileKind, IoKind},
    journal::layout::{EVENT_COUNTER, SOCKET},
};

use crate::{blocking, process, sockets, sys};

/// Files of larger numbers are not looked at.
const FILES: usize = 1024;

/// For how many ticks an answer is believed: about a millisecond.
const BELIEVED: u64 = 1 << 21;

/// What is known of a file.
struct Known {
    /// The counter when it was asked; 0 for never.
    asked: AtomicU64,
    /// The names, as they are recorded, of what is read from it and of what is written to it; 0 for other files.
    reads: AtomicU64,
    writes: AtomicU64,
}

static KNOWN: [Known; FILES] = [const {
    Known {
        asked: AtomicU64::new(0),
        reads: AtomicU64::new(0),
        writes: AtomicU64::new(0),
    }
}; FILES];

/// Returns the name of what is read from a file or written to it, when the time-stamp counter is at `now`; `None` for files that are
/// no pipes, counters or sockets whose other end is recorded. The common path: two loads.
#[inline]
pub fn name(fd: i32, kind: IoKind, now: u64) -> Option<u64> {
    let known = KNOWN.get(usize::try_from(fd).ok()?)?;
    let asked = known.asked.load(Ordering::Relaxed);
    if asked == 0 || now.wrapping_sub(asked) > BELIEVED {
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
fn ask(fd: i32, known: &Known, now: u64) {
    // A program that gave up system calls is not to be ended for this one.
    let stat = (!process::confined()).then(|| sys::stat(sys::Fd(fd)));
    let (reads, writes) = match stat {
        Some(Ok(stat)) => match stat.st_mode & libc::S_IFMT {
            libc::S_IFIFO => (stat.st_ino, stat.st_ino),
            libc::S_IFSOCK => sockets::names(stat.st_ino).unwrap_or((0, 0)),
            // These have an inode in common.
            0 if blocking::anonymous_kind(fd) == FileKind::Event => {
                let name = EVENT_COUNTER | u64::from(fd.cast_unsigned());
                (name, name)
            }
            _ => (0, 0),
        },
        _ => (0, 0),
    };
    known.reads.store(reads, Ordering::Relaxed);
    known.writes.store(writes, Ordering::Relaxed);
    known.asked.store(now.max(1), Ordering::Relaxed);
}

/// Notes that two sockets were made as a pair.
pub fn made_pair(ends: [i32; 2]) {
    ends.into_iter().for_each(forget);
    sockets::made_pair(ends);
}

/// Returns the inode of a file that was a pipe when it was asked last.
pub(crate) fn inode(fd: i32) -> Option<u64> {
    let known = KNOWN.get(usize::try_from(fd).ok()?)?;
    let name = known.reads.load(Ordering::Relaxed);
    (name != 0 && name & (EVENT_COUNTER | SOCKET) == 0).then_some(name)
}

/// Returns whether a name is that of a counter.
pub fn is_counter(name: u64) -> bool {
    name & EVENT_COUNTER != 0
}

/// Forgets what was known of a file whose number means another one now.
pub fn forget(fd: i32) {
    blocking::forget_anonymous(fd);
    if let Some(known) = usize::try_from(fd).ok().and_then(|fd| KNOWN.get(fd)) {
        known.asked.store(0, Ordering::Relaxed);
    }
}

/// Forgets all files: those of a forked child are about to be arranged anew.
pub(crate) fn forget_all() {
    for known in &KNOWN {
        known.asked.store(0, Ordering::Relaxed);
    }
}
