//! What threads were bound to, in belief, by who knows them by number: mostly another process, as `taskset -p` is.
//!
//! The processes of a recording share a table of it, a mapped file beside their journals. Recordings in which nobody does so do not have
//! it.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use foretrace_trace::journal::layout::BINDINGS_FILE;

use crate::{file, process};

const ENTRIES: usize = 1024;

/// How many places of the table a thread may be at. Where all are taken it takes the place of another.
const PLACES: usize = 8;

const BYTES: usize = ENTRIES * size_of::<Entry>();

/// A thread that was bound.
#[repr(C)]
struct Entry {
    /// Its number, 0 for nobody yet.
    thread: AtomicU32,
    /// Of the first 64 CPUs, those that it is bound to.
    cpus: AtomicU64,
}

static TABLE: AtomicPtr<[Entry; ENTRIES]> = AtomicPtr::new(core::ptr::null_mut());

/// Returns the table; `None` where there is none, and none is to be made.
fn table(make: bool) -> Option<&'static [Entry; ENTRIES]> {
    // SAFETY: null or a mapping that is never undone, made of atomics.
    let known = unsafe { TABLE.load(Relaxed).as_ref() };
    if known.is_some() || process::confined() || !process::recording() {
        return known;
    }
    let create = if make { libc::O_CREAT } else { 0 };
    let flags = libc::O_RDWR | libc::O_CLOEXEC | create;
    let table = file::map_beside(BINDINGS_FILE, flags, BYTES)?.cast();
    TABLE.store(table, Relaxed);
    // SAFETY: as above; a mapped file is zeroed, and of so many bytes.
    unsafe { table.as_ref() }
}

fn places(table: &[Entry; ENTRIES], thread: u32) -> impl Iterator<Item = &Entry> {
    (0..PLACES).map(move |place| &table[(thread as usize + place) % ENTRIES])
}

/// Returns what another has bound a thread to, of the first 64 CPUs.
pub fn of(thread: u32) -> Option<u64> {
    let mut places = places(table(false)?, thread);
    let entry = places.find(|entry| entry.thread.load(Relaxed) == thread)?;
    Some(entry.cpus.load(Relaxed))
}

/// Binds a thread to some of the first 64 CPUs.
pub fn bind(thread: u32, cpus: u64) {
    let Some(table) = table(true) else {
        return;
    };
    let is_its = |entry: &&Entry| {
        let taken = entry.thread.compare_exchange(0, thread, Relaxed, Relaxed);
        taken.is_ok() || taken == Err(thread)
    };
    let entry = places(table, thread).find(is_its);
    let entry = entry.unwrap_or(&table[thread as usize % ENTRIES]);
    entry.cpus.store(cpus, Relaxed);
    entry.thread.store(thread, Relaxed);
}
