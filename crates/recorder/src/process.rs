//! The process: whether it is recorded, and how recording begins, survives a fork, and ends.
//!
//! ```text
//! Unborn -> Initializing -> Recording -> Stopped      (no more room)
//!                       \-> Passive                   (not asked to record, or could not)
//! ```
//!
//! While recording, the word that holds the state lies in a page that the kernel wipes in forked children. However a
//! child came about, by `fork`, `_fork` or a raw system call, it thus finds itself unborn and does not write into its
//! parent's journal.

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use foretrace_trace::journal::layout::{
    FLAG_BYPASSED, FLAG_CLEAN_EXIT, FLAG_CLOCK_UNDECIDED, FLAG_FORKED, FLAG_NAPS, FLAG_STOPPED,
    FLAG_TASKS, Header, Kind, OUTCOME_SUCCESS,
};

use crate::clock::{self, RseqArea};
use crate::cost::{Compared, KnownCosts};
use crate::state::ThreadState;
use crate::{buffer, chunk, cost, file, file_locks, maps, pipes, sys, unread, vfork};

/// Not asked yet whether to record. Zero, so that a wiped page says it.
pub const UNBORN: u32 = 0;
/// Finding out.
pub const INITIALIZING: u32 = 1;
/// Recording.
pub const RECORDING: u32 = 2;
/// Not recording, for good.
pub const PASSIVE: u32 = 3;
/// Recording ended early.
pub const STOPPED: u32 = 4;

/// The state before there is a page for it.
static FIRST_STATE: AtomicU32 = AtomicU32::new(UNBORN);

/// Where the state is kept.
static STATE: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const FIRST_STATE).cast_mut());

static DIRECTORY: Directory = Directory(UnsafeCell::new([0; 4096]));
static CLOCK: AtomicU32 = AtomicU32::new(0);
/// Not zero once system calls may have been given up; a forked child inherits that.
static CONFINED: AtomicU32 = AtomicU32::new(0);
/// Not zero once threads may no longer yield of the recorder's own accord.
static UNYIELDING: AtomicU32 = AtomicU32::new(0);
/// Not zero once nothing may be done at all.
static SILENT: AtomicU32 = AtomicU32::new(0);
static PRETENDED_CPUS: AtomicU32 = AtomicU32::new(0);

struct Directory(UnsafeCell<[u8; 4096]>);

// SAFETY: written once, by `start`, before any thread records.
unsafe impl Sync for Directory {}

#[inline]
fn state() -> &'static AtomicU32 {
    // SAFETY: always the first state or a page that is never unmapped.
    unsafe { &*STATE.load(Ordering::Relaxed) }
}

/// Returns the state, one of the constants of this module.
#[inline]
pub fn current() -> u32 {
    state().load(Ordering::Acquire)
}

/// Returns whether events are being recorded.
#[inline]
pub fn recording() -> bool {
    current() == RECORDING
}

/// Claims the right to initialize; whoever gets it must call [`start`], [`restart`], [`stay_passive`] or [`disclaim`].
pub fn claim() -> bool {
    state()
        .compare_exchange(UNBORN, INITIALIZING, Ordering::AcqRel, Ordering::Acquire)
        .is_ok()
}

/// Gives the right to initialize back: it is too early.
pub fn disclaim() {
    state().store(UNBORN, Ordering::Release);
}

/// Decides not to record.
pub fn stay_passive() {
    state().store(PASSIVE, Ordering::Release);
}

/// Decides not to record, and to let the program believe in so many CPUs all the same; 0 for the truth.
pub fn pretend_only(cpus: u32) {
    PRETENDED_CPUS.store(cpus, Ordering::Relaxed);
    stay_passive();
}

/// Returns whether this process descends by fork from one that recorded.
pub fn was_recorded_before() -> bool {
    CLOCK.load(Ordering::Relaxed) != 0
}

/// Returns how many CPUs the program is made to believe in; 0 for the truth.
pub fn pretended_cpus() -> u32 {
    PRETENDED_CPUS.load(Ordering::Relaxed)
}

/// Returns the directory of journals; empty where nothing was recorded.
pub fn directory() -> &'static CStr {
    if !was_recorded_before() {
        return c"";
    }
    // SAFETY: the directory was written before recording first began, and not since.
    let buffer = unsafe { &*DIRECTORY.0.get() };
    CStr::from_bytes_until_nul(buffer).unwrap_or(c"")
}

/// Says that the process is about to give up system calls, and may be killed for those that it gave up.
pub fn confine() {
    CONFINED.store(1, Ordering::Relaxed);
}

/// Says that the process is about to give up `sched_yield` among others.
pub fn stop_yielding() {
    UNYIELDING.store(1, Ordering::Relaxed);
}

/// Returns whether threads may let others run where the program did not ask for it.
pub fn may_yield() -> bool {
    UNYIELDING.load(Ordering::Relaxed) == 0
}

/// Ends recording because the thread is about to give up even what recording needs to look at the time, and to end.
pub fn silence() {
    if recording() {
        note_end();
        stop();
    }
    confine();
    stop_yielding();
    SILENT.store(1, Ordering::Relaxed);
}

/// Returns whether system calls may have been given up.
pub fn confined() -> bool {
    CONFINED.load(Ordering::Relaxed) != 0
}

/// Begins recording into a directory, and returns whether that worked.
///
/// `rseq` is what there is for the best clock, `falls` whether another process found that it works. `began` is the
/// thread's CPU time when the recorder's own work began, which is not the program's; `known` is what is known of such work, and `compared` tells what else
/// is to be known.
pub fn start(
    directory: &CStr,
    pretended_cpus: u32,
    rseq: Option<RseqArea>,
    falls: bool,
    began: u64,
    (known, compared): (&KnownCosts, &Compared),
) -> bool {
    let bytes = directory.to_bytes_with_nul();
    // SAFETY: no thread records yet, so nobody reads the directory.
    let kept = unsafe { &mut *DIRECTORY.0.get() };
    let Some(place) = kept.get_mut(..bytes.len()) else {
        stay_passive();
        return false;
    };
    place.copy_from_slice(bytes);
    PRETENDED_CPUS.store(pretended_cpus, Ordering::Relaxed);
    CLOCK.store(clock::choose(rseq, falls), Ordering::Relaxed);
    if let Ok(page) = sys::map_wiped_on_fork(4096) {
        let page: *mut AtomicU32 = page.cast();
        // SAFETY: fresh zeroed memory, aligned to a page.
        unsafe { &*page }.store(INITIALIZING, Ordering::Relaxed);
        STATE.store(page, Ordering::Release);
    }
    cost::know(known, CLOCK.load(Ordering::Relaxed));
    let flags = if clock::is_undecided() {
        FLAG_CLOCK_UNDECIDED
    } else {
        0
    };
    open((flags, None), (began, known.loading), compared)
}

/// Begins recording anew, in the child of a fork.
pub fn restart() -> bool {
    if confined() {
        file::forget();
        stay_passive();
        return false;
    }
    let began = own_cpu_nanos();
    let thread = ThreadState::current();
    let parent = file::header();
    clock::forget(thread);
    thread.reset();
    maps::forget();
    pipes::doubt_all();
    file_locks::inherited();
    file::abandon();
    let recorded = open(
        (FLAG_FORKED, parent),
        (began, cost::of_forking()),
        &Compared::default(),
    );
    if recorded {
        chunk::hold_back(thread);
    }
    recorded
}

/// Keeps what the calling thread did until now, a process's first, from its journal's growing: the copy of the maps, and room for calls,
/// are made for the first call.
pub fn wait_for_calls() {
    chunk::hold_back(ThreadState::current());
}

/// Records that the calling thread is about to become another program.
pub fn becomes_another() {
    unread::settle();
    let thread = ThreadState::current();
    let was_held_back = chunk::let_in(thread);
    buffer::record(Kind::Exec, 0, OUTCOME_SUCCESS, 0);
    if was_held_back {
        chunk::hold_back(thread);
    }
}

/// Returns the calling thread's CPU time.
pub fn own_cpu_nanos() -> u64 {
    sys::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Begins a journal, with the flags that apply and, in a forked child, its parent's header. The recorder's own work are the thread's CPU
/// time since `began`, and so many nanoseconds before.
fn open(
    (flags, parent): (u64, Option<&'static Header>),
    (began, before): (u64, u64),
    compared: &Compared,
) -> bool {
    // SAFETY: the directory was written before recording first began, and not since.
    let buffer = unsafe { &*DIRECTORY.0.get() };
    let birth = file::Birth {
        clock: CLOCK.load(Ordering::Relaxed),
        pretended_cpus: pretended_cpus(),
        flags,
        parent,
    };
    let journal = CStr::from_bytes_until_nul(buffer)
        .ok()
        .and_then(|directory| file::create(directory, birth).ok());
    if journal.is_none() {
        // It stays on the CPU that recordings are made on, so it goes on believing in as many.
        stay_passive();
        return false;
    }
    state().store(RECORDING, Ordering::Release);
    // The calling thread begins here, as number 0.
    let thread = ThreadState::current();
    buffer::synchronize(thread);
    if let Some(header) = file::header() {
        cost::note(thread, header, compared);
    }
    buffer::put_overhead(thread, began, before);
    // The measurement armed the clock anew without a record: had the thread left its CPU before, in a page fault or a
    // full disk queue, that time would count as work.
    buffer::synchronize(thread);
    true
}

/// Ends recording because there is no more room.
#[cold]
pub fn stop() {
    state().store(STOPPED, Ordering::Release);
    if let Some(header) = file::header() {
        header.flags.fetch_or(FLAG_STOPPED, Ordering::Relaxed);
    }
}

/// Notes that the program makes OpenMP tasks that are not seen one by one.
pub fn note_tasks() {
    if let Some(header) = file::header()
        && header.flags.load(Ordering::Relaxed) & FLAG_TASKS == 0
    {
        header.flags.fetch_or(FLAG_TASKS, Ordering::Relaxed);
    }
}

/// As many naps may be of threads that look for something in between.
const NAPS: u32 = 16;

/// Notes that a thread sleeps.
pub fn note_nap() {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    if TAKEN.load(Ordering::Relaxed) < NAPS
        && TAKEN.fetch_add(1, Ordering::Relaxed) + 1 == NAPS
        && let Some(header) = file::header()
    {
        header.flags.fetch_or(FLAG_NAPS, Ordering::Relaxed);
    }
}

/// Notes that the program gives memory back, or changes what it may do with it. With several threads all CPUs that run one have to forget about it.
#[inline]
pub fn note_remap() {
    if let Some(header) = file::header()
        && header.thread_count.load(Ordering::Relaxed) > 1
    {
        header.remaps.fetch_add(1, Ordering::Relaxed);
    }
}

/// Notes that a library was opened whose calls may pass the recorder by. The first is named.
pub fn note_bypass(library: &CStr) {
    if let Some(header) = file::header()
        && header.flags.fetch_or(FLAG_BYPASSED, Ordering::Relaxed) & FLAG_BYPASSED == 0
    {
        for (place, &byte) in header.bypassing.iter().zip(library.to_bytes()) {
            place.store(byte, Ordering::Relaxed);
        }
    }
}

/// Counts an event that came after recording stopped.
#[cold]
pub fn lose() {
    if let Some(header) = file::header() {
        header.lost_events.fetch_add(1, Ordering::Relaxed);
    }
}

/// Records how things stand at the process's end: the clocks, and every thread's CPU time. The last call counts.
pub fn finish() {
    if SILENT.load(Ordering::Relaxed) == 0
        && note_end()
        && let Some(header) = file::header()
    {
        header.flags.fetch_or(FLAG_CLEAN_EXIT, Ordering::Relaxed);
    }
}

/// Records how things stand. Returns whether they are this process's.
fn note_end() -> bool {
    let state = current();
    let Some(header) = file::header() else {
        return false;
    };
    // The child of a vfork shares our memory, and its end is not ours.
    if header.pid.load(Ordering::Relaxed) != sys::getpid() {
        return false;
    }
    if state == RECORDING {
        if maps::STALE.load(Ordering::Relaxed) > 0 {
            maps::copy();
        }
        let thread = ThreadState::current();
        vfork::leave_for_good(thread);
        chunk::let_in(thread);
        record_final_times(thread);
    }
    let (tsc, monotonic) = clock::stamp();
    let relaxed = Ordering::Relaxed;
    header.end_tsc.store(tsc, relaxed);
    header.end_monotonic_nanos.store(monotonic, relaxed);
    let cpu = sys::clock_nanos(libc::CLOCK_PROCESS_CPUTIME_ID);
    header.end_cpu_nanos.store(cpu, relaxed);
    if !confined() {
        let children = 1000 * sys::children_cpu_micros();
        header.end_children_nanos.store(children, relaxed);
    }
    true
}

fn record_final_times(state: &ThreadState) {
    buffer::synchronize(state);
    let own = sys::gettid();
    let record = |tid, clock| {
        let cpu = sys::clock_nanos(clock);
        if cpu > 0 {
            buffer::put(state, Kind::Final, clock::tsc(), cpu, u64::from(tid));
        }
    };
    // This thread first: looking for the others is not the program's work.
    record(own, libc::CLOCK_THREAD_CPUTIME_ID);
    if confined() {
        return;
    }
    for_each_thread(|tid| {
        if tid != own {
            record(tid, sys::thread_clock_id(tid));
        }
    });
}

/// The threads of this process, as the kernel lists them.
const THREADS: &CStr = c"/proc/self/task";

/// A directory without others in it has so many links: its own, and its name. Each thread is one.
const LINKS: u64 = 2;

/// Calls a function with the number of every thread of this process, if it has more than one.
fn for_each_thread(mut visit: impl FnMut(u32)) {
    if sys::links(THREADS) == Ok(LINKS + 1) {
        return;
    }
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let Ok(directory) = sys::open(THREADS, flags, 0) else {
        return;
    };
    // Small, since it may have to lie on a small stack.
    let mut buffer = [0; 1024];
    while let Ok(length @ 1..) = sys::getdents(directory, &mut buffer) {
        visit_entries(&buffer[..length.min(1024)], &mut visit);
    }
    sys::close(directory);
}

/// Walks directory entries as the kernel writes them: inode, offset, length (2 bytes at 16), type, name at 19.
fn visit_entries(mut entries: &[u8], visit: &mut impl FnMut(u32)) {
    while let Some(&[low, high]) = entries.get(16..18) {
        let length = usize::from(u16::from_le_bytes([low, high]));
        let name = entries.get(19..length).unwrap_or_default();
        if let Some(tid) = CStr::from_bytes_until_nul(name)
            .ok()
            .and_then(|name| name.to_str().ok())
            .and_then(|name| name.parse().ok())
        {
            visit(tid);
        }
        entries = entries.get(length.max(1)..).unwrap_or_default();
    }
}
