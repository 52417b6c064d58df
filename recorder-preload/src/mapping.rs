//! Memory that a program shares with others, and how often it gives some back. What lies in shared memory is told by the copies of the maps, so that
//! another is due.
//!
//! These hooks jump on: whoever asks for memory may be an allocator in the midst of something.
//!
//! Deliberately absent: memory shared by raw system calls, and what a program maps after the copies that are taken for it, unless a
//! child forked later has it. Objects there are each process's own.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use foretrace_recorder::{maps, process};
use libc::size_t;

use crate::jump::jump;
use crate::next::Next;

static MMAP: Next = Next::new(c"mmap", None);
static MMAP64: Next = Next::new(c"mmap64", None);
static SHMAT: Next = Next::new(c"shmat", None);
static MUNMAP: Next = Next::new(c"munmap", None);
static MPROTECT: Next = Next::new(c"mprotect", None);
static MADVISE: Next = Next::new(c"madvise", None);

/// After so many no more copies are taken for it: some programs map files all the time.
const MOST: u32 = 8;

/// Says that memory is about to be shared.
pub fn shares() {
    static SHARED: AtomicU32 = AtomicU32::new(0);
    if SHARED.load(Ordering::Relaxed) < MOST {
        SHARED.fetch_add(1, Ordering::Relaxed);
        maps::stale();
    }
}

fn note(protection: c_int, flags: c_int) {
    let is_shared = matches!(
        flags & libc::MAP_TYPE,
        libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE
    );
    if is_shared && protection & libc::PROT_WRITE != 0 {
        shares();
    }
}

extern "C" fn mapping(
    _at: *mut c_void,
    _bytes: size_t,
    protection: c_int,
    flags: c_int,
) -> *mut c_void {
    note(protection, flags);
    MMAP.address()
}

extern "C" fn mapping_64(
    _at: *mut c_void,
    _bytes: size_t,
    protection: c_int,
    flags: c_int,
) -> *mut c_void {
    note(protection, flags);
    MMAP64.address()
}

extern "C" fn attaching() -> *mut c_void {
    shares();
    SHMAT.address()
}

extern "C" fn unmapping() -> *mut c_void {
    process::note_remap();
    MUNMAP.address()
}

extern "C" fn protecting() -> *mut c_void {
    process::note_remap();
    MPROTECT.address()
}

extern "C" fn advising(_at: *mut c_void, _bytes: size_t, advice: c_int) -> *mut c_void {
    // Others are read ahead or kept, and stay where they are.
    if matches!(advice, libc::MADV_DONTNEED | libc::MADV_FREE) {
        process::note_remap();
    }
    MADVISE.address()
}

jump!(mmap, mapping);
jump!(mmap64, mapping_64);
jump!(shmat, attaching);
jump!(munmap, unmapping);
jump!(mprotect, protecting);
jump!(madvise, advising);
