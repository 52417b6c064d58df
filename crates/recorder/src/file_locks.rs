//! Locks on files: of which file, and which files have some, since those that are closed give them up.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::{process, state::ThreadState, sys};

/// Who holds a lock on a file, and whom it keeps out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Family {
    /// Of the whole, by `flock`; it belongs to the open file.
    Whole,
    /// Of a part, by `fcntl` and `lockf`; it belongs to the process, or to the open file. Locks of the other family do not matter to
    /// it.
    Part,
}

/// Files of larger numbers are not looked at when they are closed.
const FILES: usize = 1024;

/// Which files have locks: a bit for each family.
static LOCKED: [AtomicU8; FILES] = [const { AtomicU8::new(0) }; FILES];

/// Returns what a record calls a file with locks of a family; `None` where it cannot be asked about.
pub fn name(fd: i32, family: Family) -> Option<u64> {
    if process::confined() {
        return None;
    }
    let (device, inode) = sys::identity(sys::Fd(fd)).ok()?;
    Some((inode << 1 | family as u64) ^ device << 40)
}

/// Notes that a file has a lock of a family.
pub fn locked(fd: i32, family: Family) {
    if let Some(place) = usize::try_from(fd).ok().and_then(|fd| LOCKED.get(fd)) {
        place.fetch_or(1 << family as u8, Relaxed);
    }
}

/// Returns whether a file that is about to be closed has locks of each family, and forgets them. The common path: a load.
#[inline]
pub fn closing(fd: i32) -> [bool; 2] {
    let place = usize::try_from(fd).ok().and_then(|fd| LOCKED.get(fd));
    match place {
        // A child that shares the memory has files of its own.
        Some(place) if place.load(Relaxed) != 0 && ThreadState::current().vforks.get() == 0 => {
            let families = place.swap(0, Relaxed);
            [Family::Whole, Family::Part].map(|family| families & 1 << family as u8 != 0)
        }
        _ => [false; 2],
    }
}
