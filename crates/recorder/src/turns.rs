//! Turns: a thread that ran for long enough lets others run when it has given something up.
//!
//! On one CPU a thread runs until the kernel's clock ticks, mostly 4 ms, whatever slice it was given: until then it takes
//! all the tasks that several threads would share on several CPUs. So after an unlock or a post a thread whose turn is
//! over yields. The kernel could have interrupted it there as well; nothing that it holds is kept from others.

use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_trace::journal::layout::Kind;

use crate::state::ThreadState;
use crate::{buffer, clock, sys};

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

/// Returns whether a thread's turn is over at a moment.
#[inline]
pub(crate) fn is_over(state: &ThreadState, tsc: u64) -> bool {
    tsc.wrapping_sub(state.turn_began.get()) > TICKS.load(Ordering::Relaxed)
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
    let before = clock::tsc();
    sys::sched_yield();
    let after = clock::tsc();
    state.turn_began.set(after);
    if clock::undisturbed() {
        // Nobody wanted to run.
        buffer::put(state, Kind::Overhead, after, 0, after.wrapping_sub(before));
    }
}
