//! Turns: a thread that ran for long enough lets others run when it has given something up.
//!
//! On one CPU a thread runs until the kernel's clock ticks, mostly 4 ms, whatever slice it was given: until then it takes
//! all the tasks that several threads would share on several CPUs. So after an unlock or a post a thread whose turn is
//! over yields. The kernel could have interrupted it there as well; nothing that it holds is kept from others.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use foretrace_trace::journal::layout::Kind;

use crate::state::ThreadState;
use crate::{buffer, clock, clock::Pair, process, sys};

/// How long a turn lasts, in nanoseconds; 0 for as long as the kernel lets it.
static NANOS: AtomicU64 = AtomicU64::new(0);

/// The same in ticks; never over before it is known that there are several threads.
static TICKS: AtomicU64 = AtomicU64::new(u64::MAX);

/// Asks for turns of so many nanoseconds, 0 for none.
pub fn set_length(nanos: u64) {
    NANOS.store(nanos, Ordering::Relaxed);
}

/// Returns whether turns are asked for.
#[inline]
pub(crate) fn are_asked_for() -> bool {
    NANOS.load(Ordering::Relaxed) != 0
}

/// Begins to take turns: a second thread is about to be created.
pub(crate) fn begin() {
    let nanos = NANOS.load(Ordering::Relaxed);
    if nanos != 0 && TICKS.load(Ordering::Relaxed) == u64::MAX {
        TICKS.store(clock::ticks_in(nanos), Ordering::Relaxed);
    }
}

/// Where no thread has waited for so many turns, they get longer.
const PATIENCE: u64 = 32;

/// How many times as long as at first a turn becomes. Beyond that the kernel's clock alone ends it: turns that end about as often
/// by a yield as by the clock would be shorter than either alone.
const MOST_EXTENDED: u64 = 20;

/// Each turn that is ended makes all later ones longer by such a part. Each costs some microseconds to fill caches again, which short
/// programs do not notice; and what short turns show, how threads begin to share out work and who has to wait for whom, is seen early.
const GROWTH: u64 = 100;

/// By how many times as much as at first they become longer so.
const MOST_GROWN: u64 = MOST_EXTENDED - 1;

/// By how much turns have become longer so, in ticks.
static GROWN: AtomicU32 = AtomicU32::new(0);

/// A turn that only the kernel ends.
const ENDLESS: u64 = u64::MAX;

/// How often threads waited that had worked since they waited before.
static WAITS: AtomicU32 = AtomicU32::new(0);

/// How long turns are since the last of these waits, in nanoseconds: for all threads the same.
static LENGTH: AtomicU64 = AtomicU64::new(0);

/// Begins a turn of a thread that has the CPU again.
///
/// Whoever takes turns with others finds the caches cold each time. What turns are for is that threads share out between
/// two waits what they would share out on several CPUs, and for that a turn may be a small part of the time since threads
/// last waited.
///
/// All turns have to be of one length: a thread that yields forfeits what it has left of its slice (Linux 6.18), so that
/// the kernel hands out turns, not times, and a thread with turns ten times as long gets ten times as much done. A thread
/// that only coordinates waits often; its waits do not make turns short.
pub(crate) fn begin_turn(state: &ThreadState, now: &Pair) {
    state.turn_began.set(now.tsc);
    let nanos = NANOS.load(Ordering::Relaxed);
    let ticks = TICKS.load(Ordering::Relaxed);
    if nanos == 0 || ticks == u64::MAX {
        return;
    }
    if state.waited.replace(false) {
        let worked = now.cpu_nanos.saturating_sub(state.worked_from.get());
        if worked >= nanos {
            WAITS.fetch_add(1, Ordering::Relaxed);
            LENGTH.store(nanos, Ordering::Relaxed);
        }
        state.worked_from.set(now.cpu_nanos);
    }
    let waits = WAITS.load(Ordering::Relaxed);
    if state.waits_seen.replace(waits) != waits {
        state.worked_from.set(now.cpu_nanos);
    }
    let since = now.cpu_nanos.saturating_sub(state.worked_from.get());
    let length = match since / PATIENCE {
        length if length > nanos.saturating_mul(MOST_EXTENDED) => ENDLESS,
        length => length.max(nanos),
    };
    let length = LENGTH.fetch_max(length, Ordering::Relaxed).max(length);
    let extension = (length - nanos).saturating_mul(ticks) / nanos;
    let extension = u32::try_from(extension).unwrap_or(u32::MAX);
    state
        .turn_extension
        .set(extension.max(GROWN.load(Ordering::Relaxed)));
}

/// Begins a turn of a thread that waited, without knowing its CPU time.
pub(crate) fn begin_after_wait(state: &ThreadState, tsc: u64) {
    begin_again(state, tsc);
    state.turn_extension.set(GROWN.load(Ordering::Relaxed));
}

/// Begins a turn of a thread that has the CPU again, without knowing its CPU time.
pub(crate) fn begin_again(state: &ThreadState, tsc: u64) {
    state.turn_began.set(tsc);
}

/// Returns whether a thread's turn is over at a moment.
#[inline]
pub(crate) fn is_over(state: &ThreadState, tsc: u64) -> bool {
    let length = TICKS.load(Ordering::Relaxed);
    let length = length.saturating_add(state.turn_extension.get().into());
    tsc.wrapping_sub(state.turn_began.get()) > length
}

/// Lets others run, if the turn was over when the thread recorded that it gives something up.
#[inline]
pub fn give_way() {
    let state = ThreadState::current();
    if state.turn_is_over.replace(false) {
        yield_now(state);
    }
}

/// Lets others run, if the turn is over now: where nothing is recorded that would have found it out.
#[inline]
pub fn give_way_now() {
    let state = ThreadState::current();
    if is_over(state, clock::tsc()) {
        yield_now(state);
    }
}

#[cold]
fn yield_now(state: &ThreadState) {
    if state.vforks.get() != 0 || !process::may_yield() {
        // What it does is not the thread's own: a library that passes messages, say, gives way by itself.
        return;
    }
    let before = clock::tsc();
    sys::sched_yield();
    let after = clock::tsc();
    state.turn_began.set(after);
    if clock::undisturbed() {
        // Nobody wanted to run.
        buffer::put(state, Kind::Overhead, after, 0, after.wrapping_sub(before));
    } else {
        let first = TICKS.load(Ordering::Relaxed);
        let grown = u64::from(GROWN.load(Ordering::Relaxed));
        let grown = grown.saturating_add(first.saturating_add(grown) / GROWTH);
        let grown = grown.min(first.saturating_mul(MOST_GROWN));
        GROWN.store(u32::try_from(grown).unwrap_or(u32::MAX), Ordering::Relaxed);
    }
}
