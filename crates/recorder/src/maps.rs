//! Copies of `/proc/self/maps`, so that a reader can tell which file an address lay in.
//!
//! A library that is opened while the program runs cannot be copied at once: the hook of `dlopen` must not put itself
//! between the caller and the C library, which looks at who called. It only says that the copy is [`stale`]; a later
//! slow moment, or the exit, takes another one.

use core::sync::atomic::{AtomicU32, Ordering};

use foretrace_trace::journal::layout::{CHUNK_MAPS, ChunkHeader};

use crate::state::ThreadState;
use crate::{buffer, file, process, sys};

/// A copy's chunk; a longer text takes several.
const CHUNK_BYTES: usize = 16 << 10;

/// How often a stale copy is renewed: the library may not be mapped yet at the first time.
const RENEWALS: u32 = 3;

/// How many copies are taken at most: some programs open and close libraries all the time.
const MOST_COPIES: u32 = 64;

/// How many renewals are still due. The hooks of `dlopen` and `dlmopen` set it by assembly.
pub static STALE: AtomicU32 = AtomicU32::new(0);

static COPIES: AtomicU32 = AtomicU32::new(0);

/// Says that libraries were opened.
pub fn stale() {
    STALE.store(RENEWALS, Ordering::Relaxed);
}

/// Takes another copy if the last one is stale.
pub(crate) fn refresh(state: &ThreadState) {
    let due = STALE.load(Ordering::Relaxed);
    if due > 0 {
        STALE.store(due - 1, Ordering::Relaxed);
        buffer::as_overhead(state, copy);
    }
}

/// Copies the maps into the journal. Failing does no harm: call sites stay addresses.
pub fn copy() {
    if !process::recording() || process::confined() {
        return;
    }
    if COPIES.fetch_add(1, Ordering::Relaxed) >= MOST_COPIES {
        return;
    }
    let _signals = sys::block_signals();
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    let Ok(maps) = sys::open(c"/proc/self/maps", flags, 0) else {
        return;
    };
    let mut part = 0;
    while copy_part(maps, part) {
        part += 1;
    }
    sys::close(maps);
}

/// Forgets how many copies were taken: the child of a fork has a journal of its own.
pub(crate) fn forget() {
    COPIES.store(0, Ordering::Relaxed);
    STALE.store(0, Ordering::Relaxed);
}

/// Fills one chunk; returns whether there is more.
fn copy_part(maps: sys::Fd, part: u32) -> bool {
    let Ok(chunk) = file::new_chunk(CHUNK_BYTES, false) else {
        return false;
    };
    let room = CHUNK_BYTES - size_of::<ChunkHeader>();
    // SAFETY: the bytes after the header, mapped just now, known to nobody else.
    let text =
        unsafe { core::slice::from_raw_parts_mut(chunk.add(size_of::<ChunkHeader>()), room) };
    let mut length = 0;
    while length < room {
        match sys::read(maps, &mut text[length..]) {
            Ok(0) | Err(_) => break,
            Ok(read) => length += read,
        }
    }
    // SAFETY: the mapping begins with a header, zeroed; `text` does not overlap it.
    let header = unsafe { &*chunk.cast::<ChunkHeader>() };
    header.sequence.store(part, Ordering::Relaxed);
    header.text_bytes.store(length as u64, Ordering::Relaxed);
    file::publish_chunk(header, CHUNK_MAPS, CHUNK_BYTES);
    // SAFETY: mapped above with this length, and not used any more.
    unsafe { sys::unmap(chunk, CHUNK_BYTES) };
    length == room
}
