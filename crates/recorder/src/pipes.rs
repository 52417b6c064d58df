//! Which files are pipes.
//!
//! What one thread writes to a pipe another one waits for, on any number of CPUs, so that both are recorded whether or not they
//! block. Whether a file is a pipe only the kernel knows, and asking at every call would cost as much as many calls do: so each
//! file is asked about again when a while has passed, or when the program made a pipe of its number.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::{process, sys};

/// Files of larger numbers are not looked at.
const FILES: usize = 1024;

/// For how many ticks an answer is believed: about a millisecond.
const BELIEVED: u64 = 1 << 21;

/// What is known of a file.
struct Known {
    /// The counter when it was asked; 0 for never.
    asked: AtomicU64,
    /// The inode of a pipe; 0 for other files.
    inode: AtomicU64,
}

static KNOWN: [Known; FILES] = [const {
    Known {
        asked: AtomicU64::new(0),
        inode: AtomicU64::new(0),
    }
}; FILES];

/// Returns the inode of a pipe, when the counter is at `now`; `None` for other files. The common path: two loads.
#[inline]
pub fn inode(fd: i32, now: u64) -> Option<u64> {
    let known = KNOWN.get(usize::try_from(fd).ok()?)?;
    let asked = known.asked.load(Ordering::Relaxed);
    if asked == 0 || now.wrapping_sub(asked) > BELIEVED {
        ask(fd, known, now);
    }
    let inode = known.inode.load(Ordering::Relaxed);
    (inode != 0).then_some(inode)
}

#[cold]
fn ask(fd: i32, known: &Known, now: u64) {
    // A program that gave up system calls is not to be ended for this one.
    let stat = (!process::confined()).then(|| sys::stat(sys::Fd(fd)));
    let inode = match stat {
        Some(Ok(stat)) if stat.st_mode & libc::S_IFMT == libc::S_IFIFO => stat.st_ino,
        _ => 0,
    };
    known.inode.store(inode, Ordering::Relaxed);
    known.asked.store(now.max(1), Ordering::Relaxed);
}

/// Forgets what was known of a file whose number means another one now.
pub fn forget(fd: i32) {
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
