//! Turns: a thread that ran for long enough lets others run when it has given something up.
//!
//! On one CPU a thread runs until the kernel's clock ticks, mostly 4 ms, whatever slice it was given: until then it takes
//! all the tasks that several threads would share on several CPUs. So after an unlock or a post a thread whose turn is
//! over yields. The kernel could have interrupted it there as well; nothing that it holds is kept from others.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

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

/// How long turns are that the kernel is asked for, in nanoseconds; the shortest that it knows.
const SHORT: u64 = 100_000;

/// Who has waited at barriers so often takes short turns.
pub(crate) const MEETINGS: u8 = 8;

/// Asks the kernel for short turns of the calling thread, once: where others want the CPU, too, its clock's next tick ends them.
#[inline]
pub fn take_short_ones() {
    // A program that gave up system calls is not to be ended for this one.
    if !ThreadState::current().turns_are_short.replace(true) && !process::confined() {
        sys::take_short_turns(SHORT);
    }
}

/// Notes that the calling thread is about to meet others. Who does so again and again takes short turns: else who is first to leave does
/// all that threads share out by themselves before they meet again, unless that takes longer than the kernel lets it, and nobody would know that others would
/// have taken of it.
#[inline]
pub fn meet_again() {
    let state = ThreadState::current();
    let meetings = state.meetings.get();
    if meetings < MEETINGS {
        state.meetings.set(meetings + 1);
        if meetings + 1 == MEETINGS && NANOS.load(Ordering::Relaxed) != 0 {
            take_short_ones();
        }
    }
}

/// Who does less than so many ticks between two waits, some 20 microseconds, has found that others did what there was to do.
const LITTLE: u64 = 1 << 16;

/// Who comes too late so much more often than half as often as not, since others had the CPU until nothing was left, does so again.
const LATE: u8 = 32;

/// How often threads woke several others.
static BROADCASTS: AtomicU32 = AtomicU32::new(0);

/// Whether threads come too late.
static ARE_LATE: AtomicBool = AtomicBool::new(false);

/// Notes that the calling thread wakes several others.
#[inline]
pub fn wakes_several() {
    // Of two at once one may be lost.
    let broadcasts = BROADCASTS.load(Ordering::Relaxed);
    BROADCASTS.store(broadcasts.wrapping_add(1), Ordering::Relaxed);
}

/// Notes that the calling thread is about to wait until others let it go on, when the counter is at `now`. Where threads that are woken together come
/// too late again and again, those that do so take short turns, as those that meet at barriers: see [`meet_again`].
#[inline]
pub fn comes_to_wait(now: u64) {
    let state = ThreadState::current();
    if state.woken_with_others.get() {
        note_woken_with_others(state, now);
    }
    if ARE_LATE.load(Ordering::Relaxed) && NANOS.load(Ordering::Relaxed) != 0 {
        take_short_ones();
    }
    state.broadcasts.set(BROADCASTS.load(Ordering::Relaxed));
}

fn note_woken_with_others(state: &ThreadState, now: u64) {
    let is_late = now.wrapping_sub(state.went_on_at.get()) < LITTLE;
    let times = state.came_late.get();
    let times = if is_late {
        times.saturating_add(2)
    } else {
        times.saturating_sub(1)
    };
    state.came_late.set(times);
    if times >= LATE {
        ARE_LATE.store(true, Ordering::Relaxed);
    }
}

/// Notes that the calling thread goes on after such a wait.
#[inline]
pub fn goes_on() {
    let state = ThreadState::current();
    let with_others = state.broadcasts.get() != BROADCASTS.load(Ordering::Relaxed);
    state.woken_with_others.set(with_others);
    if with_others {
        state.went_on_at.set(clock::tsc());
    }
}

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
