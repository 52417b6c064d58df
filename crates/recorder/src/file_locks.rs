//! Locks on files: of which file, and which files have some, since those that are closed give them up.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::{
    open_files::{self, OpenFile},
    process,
    state::ThreadState,
    sys,
};

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

/// Whether other processes may have the same files open: this one began as a copy of one, or has started some.
static INHERITED: AtomicBool = AtomicBool::new(false);

/// Returns what a record calls a file with locks of a family; `None` where it cannot be asked about.
pub fn name(fd: i32, family: Family) -> Option<u64> {
    if process::confined() {
        return None;
    }
    let (device, inode) = sys::identity(sys::Fd(fd)).ok()?;
    Some((inode << 1 | family as u64) ^ device << 40)
}

/// Notes that other processes may have the files of this one open from now on.
pub fn inherited() {
    INHERITED.store(true, Relaxed);
}

/// Calls a function with what is known of a file and, if asked to, of those that are copies of it.
fn for_each_copy(fd: i32, all: bool, mut visit: impl FnMut(&OpenFile)) {
    let Some(file) = open_files::of(fd) else {
        return;
    };
    visit(file);
    let copies = file.copies.load(Relaxed);
    if all && copies != 0 {
        open_files::from(0)
            .filter(|(_, other)| other.copies.load(Relaxed) == copies)
            .for_each(|(_, other)| visit(other));
    }
}

/// Notes that a file has a lock of a family.
pub fn locked(fd: i32, family: Family) {
    let locker = sys::getpid();
    for_each_copy(fd, family == Family::Whole, |file| {
        file.locks.fetch_or(family.bit(), Relaxed);
        file.locker.store(locker, Relaxed);
    });
}

/// Notes that a file's lock of the whole was given up, for all its copies.
pub fn unlocked(fd: i32) {
    for_each_copy(fd, true, |file| {
        file.locks.fetch_and(!Family::Whole.bit(), Relaxed);
    });
}

/// Calls a function with each file of numbers from one to another that has locks.
pub fn for_each_between(first: i32, last: i32, mut visit: impl FnMut(i32)) {
    let files = open_files::from(first).take_while(|&(fd, _)| fd <= last);
    let locked = files.filter(|(_, file)| file.locks.load(Relaxed) != 0);
    locked.for_each(|(fd, _)| visit(fd));
}

/// Notes that one file is a copy of another: what that one has locked it has, too.
pub fn copied(from: i32, to: i32) {
    static LAST: AtomicU32 = AtomicU32::new(0);
    if from == to || ThreadState::current().vforks.get() != 0 {
        return;
    }
    let (Some(from), Some(to)) = (open_files::of(from), open_files::of(to)) else {
        return;
    };
    let mut copies = from.copies.load(Relaxed);
    if copies == 0 {
        copies = LAST.fetch_add(1, Relaxed).wrapping_add(1);
        from.copies.store(copies, Relaxed);
    }
    to.copies.store(copies, Relaxed);
    to.locker.store(from.locker.load(Relaxed), Relaxed);
    to.locks.store(from.locks.load(Relaxed), Relaxed);
}

impl Family {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What a file that is about to be closed had locked.
#[derive(Clone, Copy, Debug)]
pub struct Closing {
    /// Whether it has a lock of the whole, and whether it has some of parts.
    pub families: [bool; 2],
    /// Who locked the whole, where others that are open still may keep that locked: the process, the file's device and its inode.
    shared: Option<(u32, u64, u64)>,
}

/// Returns which locks a file has that is about to be closed, if any, and forgets them. The common path: two loads.
#[inline]
pub fn closing(fd: i32) -> Option<Closing> {
    let file = open_files::known(fd)?;
    // A child that shares the memory has files of its own.
    let is_plain = file.locks.load(Relaxed) == 0 && file.copies.load(Relaxed) == 0;
    if is_plain || ThreadState::current().vforks.get() != 0 {
        return None;
    }
    let is_copied = file.copies.swap(0, Relaxed) != 0;
    let locks = file.locks.swap(0, Relaxed);
    let families = [Family::Whole, Family::Part].map(|family| locks & family.bit() != 0);
    let may_be_kept = families[0] && (is_copied || INHERITED.load(Relaxed)) && !process::confined();
    let shared = if may_be_kept { shared(fd, file) } else { None };
    (locks != 0).then_some(Closing { families, shared })
}

/// Returns what tells whether a file's lock of the whole is kept when it is closed. Where another thread of the process waits for
/// one, that one's would be taken for it.
#[cold]
fn shared(fd: i32, file: &OpenFile) -> Option<(u32, u64, u64)> {
    let (device, inode) = sys::identity(sys::Fd(fd)).ok()?;
    let locker = file.locker.load(Relaxed);
    let lock = sys::whole_lock(locker, device, inode).ok()?;
    (!lock.is_awaited).then_some((locker, device, inode))
}

impl Closing {
    /// Returns whether the whole is locked still, now that the file was closed: by a copy of it, in this process or in another.
    pub fn is_kept(&self) -> bool {
        let lock = self.shared.and_then(|(locker, device, inode)| {
            let lock = sys::whole_lock(locker, device, inode);
            lock.ok()
        });
        lock.is_some_and(|lock| lock.is_held)
    }
}
