//! Threads: numbered by their creators, which also make their first chunks.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use foretrace_trace::journal::layout::{CHUNK_ABANDONED, ChunkHeader, Kind};

use crate::state::ThreadState;
use crate::{buffer, chunk, message, process, stack, sys, turns, unread};

/// The function that a thread runs.
pub type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// A thread about to be created: its number, and its first chunk, which also carries routine and argument.
#[derive(Debug)]
pub struct Child {
    chunk: u64,
}

/// Prepares a thread; `None` when there is no room for its events.
pub fn prepare(routine: Routine, argument: *mut c_void) -> Option<Child> {
    if !process::recording() || message::is_inside() {
        return None;
    }
    let state = ThreadState::current();
    buffer::as_overhead(state, || prepare_child(state, routine, argument))
}

fn prepare_child(state: &ThreadState, routine: Routine, argument: *mut c_void) -> Option<Child> {
    if process::confined() {
        // There is no room to be had, and the clock may not be looked at for as long as turns ask for.
        process::stop();
        return None;
    }
    turns::begin();
    let number = chunk::new_number()?;
    let Some(chunk) = chunk::new_events_chunk(number, 0) else {
        process::stop();
        return None;
    };
    let child = Child { chunk };
    let header = child.header();
    header
        .start_routine
        .store(routine as usize as u64, Ordering::Relaxed);
    header.argument.store(argument as u64, Ordering::Relaxed);
    header
        .creator
        .store(state.number_plus_one.get(), Ordering::Relaxed);
    header
        .bound
        .store(state.bound.load(Ordering::Relaxed), Ordering::Relaxed);
    Some(child)
}

impl Child {
    fn header(&self) -> &ChunkHeader {
        // SAFETY: the chunk is mapped until the child's end, or until it is abandoned here.
        unsafe { &*(self.chunk as *const ChunkHeader) }
    }

    /// Returns the child's number.
    pub fn number(&self) -> u32 {
        self.header().thread.load(Ordering::Relaxed)
    }

    /// Binds the child, from its beginning, to those of the first 64 CPUs.
    pub fn bind(&self, cpus: u64) {
        self.header().bound.store(cpus, Ordering::Relaxed);
    }

    /// Returns what [`begin`] must be called with, in the child.
    pub fn token(&self) -> *mut c_void {
        self.chunk as *mut c_void
    }

    /// Takes everything back: the thread could not be created.
    pub fn abandon(self) {
        self.header().kind.store(CHUNK_ABANDONED, Ordering::Relaxed);
        chunk::release(self.chunk);
    }
}

/// Makes the calling thread the one that was prepared, and returns what it is to run.
///
/// # Safety
///
/// `token` is of a [`Child`] that was not abandoned, and this is the first call with it.
pub unsafe fn begin(token: *mut c_void) -> (Routine, *mut c_void) {
    let state = ThreadState::current();
    let chunk = token as u64;
    // SAFETY: by the caller's promise a mapped chunk that is this thread's.
    let header = unsafe { &*(chunk as *const ChunkHeader) };
    let routine = header.start_routine.load(Ordering::Relaxed);
    let argument = header.argument.load(Ordering::Relaxed);
    header.tid.store(sys::gettid(), Ordering::Relaxed);
    // SAFETY: returns a number.
    let pthread = unsafe { libc::pthread_self() };
    header.pthread.store(pthread, Ordering::Relaxed);
    state
        .bound
        .store(header.bound.load(Ordering::Relaxed), Ordering::Relaxed);
    {
        let _signals = sys::block_signals();
        chunk::adopt(state, chunk);
    }
    if stack::depth() != 0 {
        stack::note_own(state);
    }
    buffer::synchronize(state);
    // SAFETY: `prepare` stored a routine here, as an address.
    let routine = unsafe { core::mem::transmute::<usize, Routine>(routine as usize) };
    (routine, argument as *mut c_void)
}

/// Returns the calling thread's number in the process, 0 where it has none.
pub fn current_number() -> u32 {
    ThreadState::current()
        .number_plus_one
        .get()
        .saturating_sub(1)
}

/// Records that the thread ends. It may be called several times: the last call counts.
pub fn end(last: bool) {
    if !process::recording() {
        return;
    }
    unread::settle();
    buffer::record(Kind::Terminate, 0, 0, 0);
    if last {
        chunk::retire(ThreadState::current());
    }
}
