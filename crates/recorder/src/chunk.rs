//! The chunks that threads record into: how a thread gets one, takes the next, and gives them up.

use core::sync::atomic::{AtomicBool, Ordering};

use foretrace_trace::journal::layout::{CHUNK_EVENTS, ChunkHeader, PAGE_BYTES};

use crate::buffer::put_overhead;
use crate::state::ThreadState;
use crate::{cost, file, maps, process, sys};

/// The first chunk of the threads that most programs have.
const FIRST_CHUNK_BYTES: usize = 16 << 10;

/// The first chunk of further threads: there may be very many, each short.
const LATER_FIRST_CHUNK_BYTES: usize = 4 << 10;

/// How many threads a process has before their chunks begin small.
const MANY_THREADS: u32 = 64;

/// Whether the first thread's first chunk is only for what is recorded of the process itself; see [`hold_back`].
static HELD_BACK: AtomicBool = AtomicBool::new(false);

/// What chunks grow to: their pages are made present at once, which holds the thread up.
pub(crate) const LARGEST_CHUNK_BYTES: usize = 512 << 10;

/// Gives the thread a new chunk, unless a signal handler did so meanwhile, or whoever runs is not to record anything.
pub(crate) fn make_room(state: &ThreadState, bytes: u64) -> bool {
    if !process::recording() || state.vforks.get() != 0 {
        return false;
    }
    let _signals = sys::block_signals();
    if state.cursor.get() + bytes <= state.end.get() {
        return true;
    }
    let before = sys::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
    let Some(number) = number(state) else {
        return false;
    };
    let sequence = state.sequence.get();
    let Some(chunk) = new_events_chunk(number, sequence) else {
        process::stop();
        return false;
    };
    // SAFETY: a chunk of this thread's, mapped just now, zeroed but for what new_events_chunk stored.
    let header = unsafe { &*(chunk as *const ChunkHeader) };
    header.tid.store(sys::gettid(), Ordering::Relaxed);
    // SAFETY: returns a number.
    let pthread = unsafe { libc::pthread_self() };
    header.pthread.store(pthread, Ordering::Relaxed);
    if sequence == 0 {
        let bound = state.bound.load(Ordering::Relaxed);
        header.bound.store(bound, Ordering::Relaxed);
    }
    release(state.previous_chunk.get());
    state.previous_chunk.set(state.chunk.get());
    state.previous_place.set(state.place_in_file.get());
    adopt(state, chunk);
    if (number, sequence) != (0, 0) && HELD_BACK.swap(false, Ordering::Relaxed) {
        maps::copy();
    }
    // A process's beginning is counted as a whole, by `process::start`.
    if number != 0 || sequence != 0 {
        put_overhead(state, before, 0);
    }
    true
}

/// Makes a chunk the thread's current one.
pub(crate) fn adopt(state: &ThreadState, chunk: u64) {
    // SAFETY: the chunk was mapped and published for this thread.
    let header = unsafe { &*(chunk as *const ChunkHeader) };
    state.chunk.set(chunk);
    state
        .place_in_file
        .set(header.place.load(Ordering::Relaxed));
    state.burst.set(0);
    state.tries.set(0);
    state
        .sequence
        .set(header.sequence.load(Ordering::Relaxed) + 1);
    state
        .number_plus_one
        .set(header.thread.load(Ordering::Relaxed) + 1);
    state.repeated.forget();
    state.streak.forget();
    state.end.set(0);
    state.cursor.set(chunk + size_of::<ChunkHeader>() as u64);
    state.end.set(chunk + header.length.load(Ordering::Relaxed));
}

/// Returns the thread's number, a new one if it had none.
fn number(state: &ThreadState) -> Option<u32> {
    match state.number_plus_one.get() {
        0 => new_number(),
        number => Some(number - 1),
    }
}

/// Takes the next thread number of the process.
pub(crate) fn new_number() -> Option<u32> {
    let header = file::header()?;
    Some(header.thread_count.fetch_add(1, Ordering::Relaxed))
}

/// Returns the bytes of a process's first chunk. It is for little more than the process's beginning and end, but where it is not known
/// yet what recording costs: then it is measured there.
pub(crate) fn first_of_process() -> usize {
    if cost::is_known() {
        PAGE_BYTES
    } else {
        FIRST_CHUNK_BYTES
    }
}

/// Keeps the calling thread, a process's first, from recording calls into its first chunk: the first call takes the next one, and with
/// it the copy of the maps, which processes that do nothing before they end or become other programs can do without.
pub(crate) fn hold_back(state: &ThreadState) {
    let _signals = sys::block_signals();
    if state.number_plus_one.get() == 1 && state.sequence.get() == 1 {
        HELD_BACK.store(true, Ordering::Relaxed);
        state.end.set(state.cursor.get());
    }
}

/// Takes back what [`hold_back`] did, for records that are not of calls in the program's code; returns whether there was anything to
/// take back.
pub(crate) fn let_in(state: &ThreadState) -> bool {
    let _signals = sys::block_signals();
    let is_first = state.number_plus_one.get() == 1 && state.sequence.get() == 1;
    if !is_first || state.chunk.get() == 0 || !HELD_BACK.swap(false, Ordering::Relaxed) {
        return false;
    }
    // SAFETY: a chunk is mapped until its thread releases it.
    let header = unsafe { &*(state.chunk.get() as *const ChunkHeader) };
    let length = header.length.load(Ordering::Relaxed);
    state.end.set(state.chunk.get() + length);
    true
}

/// Makes a chunk for events of a thread.
pub(crate) fn new_events_chunk(thread: u32, sequence: u32) -> Option<u64> {
    let (first, grown) = match thread {
        0 => (FIRST_CHUNK_BYTES, sequence.saturating_sub(1)),
        1..MANY_THREADS => (FIRST_CHUNK_BYTES, sequence),
        _ => (LATER_FIRST_CHUNK_BYTES, sequence),
    };
    let bytes = if thread == 0 && sequence == 0 {
        first_of_process()
    } else {
        (first << (2 * grown).min(8)).min(LARGEST_CHUNK_BYTES)
    };
    // A thread that filled a chunk will likely fill the next: its pages are made present where that is counted as
    // the recorder's work, not fault by fault within the program's.
    let chunk = file::new_chunk(bytes, grown > 0).ok()?;
    // SAFETY: mapped just now, page-aligned, zeroed; only this thread knows it.
    let header = unsafe { &*chunk.cast::<ChunkHeader>() };
    header.thread.store(thread, Ordering::Relaxed);
    header.sequence.store(sequence, Ordering::Relaxed);
    file::publish_chunk(header, CHUNK_EVENTS, bytes);
    Some(chunk as u64)
}

/// Gives up the thread's chunks. If it records again, it gets another.
pub(crate) fn retire(state: &ThreadState) {
    let _signals = sys::block_signals();
    state.repeated.forget();
    state.streak.forget();
    state.end.set(0);
    state.cursor.set(0);
    release(state.previous_chunk.replace(0));
    release(state.chunk.replace(0));
}

/// Unmaps a chunk that its thread no longer writes to.
pub(crate) fn release(chunk: u64) {
    // A program that gave up system calls keeps what it has.
    if chunk == 0 || process::confined() {
        return;
    }
    // SAFETY: a chunk is mapped until its thread releases it, which it does once.
    let header = unsafe { &*(chunk as *const ChunkHeader) };
    let bytes = header.length.load(Ordering::Relaxed) as usize;
    // SAFETY: a chunk's own length was mapped; who has something to add later looks first (see Late).
    unsafe { sys::unmap(chunk as *mut u8, bytes) };
}
