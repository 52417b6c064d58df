//! What is known of the process's open files, by their numbers.
//!
//! A server may have hundreds of thousands of them, and most programs a few: beyond the first thousand there is room for those that
//! were asked about, and no look-up allocates or waits.

use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::{process, sys};

/// How many files stand together.
const BLOCK: usize = 1024;

/// How many such blocks there may be behind the first: the kernel gives no process more than 2^20 files unless it was told to.
const BLOCKS: usize = 1023;

/// What is known of one file. All zeros: nothing.
pub(crate) struct OpenFile {
    /// The counter when it was asked what it is; 0 for never.
    pub asked: AtomicU64,
    /// The names, as they are recorded, of what is read from it and of what is written to it; 0 for other files.
    pub reads: AtomicU64,
    pub writes: AtomicU64,
    /// How often the answer was the one before, since it was forgotten last.
    pub confirmed: AtomicU8,
    /// Of one that has its inode in common with others, the position of its kind plus one.
    pub anonymous: AtomicU8,
    /// Which locks it has: a bit for each family.
    pub locks: AtomicU8,
    /// The process that locked the whole file.
    pub locker: AtomicU32,
    /// The number of those that are copies of each other (`dup`); 0 for one that was not copied.
    pub copies: AtomicU32,
}

type Block = [OpenFile; BLOCK];

static FIRST: Block = [const {
    OpenFile {
        asked: AtomicU64::new(0),
        reads: AtomicU64::new(0),
        writes: AtomicU64::new(0),
        confirmed: AtomicU8::new(0),
        anonymous: AtomicU8::new(0),
        locks: AtomicU8::new(0),
        locker: AtomicU32::new(0),
        copies: AtomicU32::new(0),
    }
}; BLOCK];

static MORE: [AtomicPtr<Block>; BLOCKS] = [const { AtomicPtr::new(core::ptr::null_mut()) }; BLOCKS];

/// Returns what is known of a file; `None` where nothing was ever noted of it or its neighbours.
#[inline]
pub(crate) fn known(fd: i32) -> Option<&'static OpenFile> {
    let fd = usize::try_from(fd).ok()?;
    if let Some(file) = FIRST.get(fd) {
        return Some(file);
    }
    let block = MORE.get(fd / BLOCK - 1)?.load(Ordering::Acquire);
    // SAFETY: null, or a mapping that is never undone and whose zeros are a valid block.
    unsafe { block.as_ref() }.map(|block| &block[fd % BLOCK])
}

/// Returns the place of what is known of a file; `None` for numbers that are none, or far too large.
#[inline]
pub(crate) fn of(fd: i32) -> Option<&'static OpenFile> {
    known(fd).or_else(|| make_room(fd))
}

#[cold]
fn make_room(fd: i32) -> Option<&'static OpenFile> {
    let place = MORE.get((usize::try_from(fd).ok()? / BLOCK).checked_sub(1)?)?;
    if process::confined() {
        return None;
    }
    let block: *mut Block = sys::map_zeroed(size_of::<Block>()).ok()?.cast();
    let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
    if place
        .compare_exchange(core::ptr::null_mut(), block, success, failure)
        .is_err()
    {
        // SAFETY: it was mapped just now, and another thread was faster, so that nobody knows of it.
        unsafe { sys::unmap(block.cast(), size_of::<Block>()) };
    }
    known(fd)
}

/// Returns all files of which something may be known, with their numbers, from one on.
pub(crate) fn from(first: i32) -> impl Iterator<Item = (i32, &'static OpenFile)> {
    let blocks = MORE.iter().map(|place| {
        // SAFETY: as above.
        unsafe { place.load(Ordering::Acquire).as_ref() }
    });
    let blocks = core::iter::once(Some(&FIRST)).chain(blocks);
    let first = usize::try_from(first).unwrap_or(0);
    let blocks = blocks.enumerate().skip(first / BLOCK);
    let files = blocks.filter_map(|(number, block)| Some((number * BLOCK, block?)));
    let files = files.flat_map(|(before, block)| (before..).zip(block));
    let files = files.filter(move |&(fd, _)| fd >= first);
    files.map(|(fd, file)| (fd as i32, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_any_number_have_a_place() {
        let large = 1_000_000;
        assert!(known(large).is_none());
        for fd in [0, 1023, 1024, large] {
            let file = of(fd).expect("there is room");
            file.locker.store(fd.cast_unsigned() + 1, Ordering::Relaxed);
        }
        for fd in [0, 1023, 1024, large] {
            let locker = known(fd).map(|file| file.locker.load(Ordering::Relaxed));
            assert_eq!(locker, Some(fd.cast_unsigned() + 1));
        }
        assert!(of(-1).is_none() && of(i32::MAX).is_none());
        let noted = |&(_, file): &(i32, &OpenFile)| file.locker.load(Ordering::Relaxed) > 0;
        let numbers = from(1).filter(noted).map(|(fd, _)| fd);
        let numbers: std::vec::Vec<i32> = numbers.collect();
        assert_eq!(numbers, [1023, 1024, large]);
    }
}
