//! `sched_yield`, by which threads spin before they wait.
//!
//! Libraries spin a few times before they wait by a futex. On one CPU such a yield lets the thread run that is waited
//! for, so that the wait never happens, and what depends on what would never be seen. Hence a thread's first yields
//! return at once: nothing promises that another thread runs. Those that spin for longer than any such library wait for others that
//! work: they look again after short naps, each of which is recorded.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use foretrace_recorder::blocking::{self, Target};
use foretrace_recorder::{Kind, ThreadState, clock, message, process, short_turns, spun, sys};
use foretrace_trace::IoKind;

use crate::hook::recording;
use crate::next;

/// How many yields in quick succession do nothing. libstdc++ makes 4, `parking_lot` 7, crossbeam 4, rayon 33
/// before they wait.
const SPARED: u16 = 40;

/// After so many ticks of other work between two yields, it is another spin: about 20 microseconds.
const APART_TICKS: u32 = 50_000;

/// How many yields do nothing between two waits for futexes at most: a program that never comes to one does not spin
/// like that library code, and shall have its yields.
const SPARED_WITHOUT_A_WAIT: u32 = 1_000;

pub unsafe extern "C-unwind" fn yield_now(site: u64) -> c_int {
    // SAFETY: it takes nothing.
    let call = || unsafe { next::sched_yield() };
    if !recording() || process::confined() {
        return call();
    }
    // A library that passes messages yields to the ranks that it waits for; but also where it only looks.
    if message::is_inside() {
        return if message::is_waiting() { call() } else { 0 };
    }
    let state = ThreadState::current();
    if !goes_on(state) {
        state.yields.set(0);
    }
    note(state);
    let yields = state.yields.get();
    state.yields.set(yields.saturating_add(1));
    if let Some(naps) = yields.checked_sub(SPARED) {
        nap(naps.into(), site);
        // It does spin, and may spin again.
        state.spared_yields.set(0);
        // How long others ran meanwhile says nothing about this thread.
        note(state);
        return 0;
    }
    let spared = state.spared_yields.get();
    if spared < SPARED_WITHOUT_A_WAIT {
        state.spared_yields.set(spared + 1);
        return 0;
    }
    spun(Kind::Yield, site);
    let result = call();
    note(state);
    result
}

/// Notes when and where a thread yielded.
fn note(state: &ThreadState) {
    state.last_yield.set(clock::tsc() as u32);
    state.yielded_at.set(state.place() as u32);
}

/// Returns whether a thread that yields has done so a moment ago, and nothing that was recorded since.
fn goes_on(state: &ThreadState) -> bool {
    let passed = (clock::tsc() as u32).wrapping_sub(state.last_yield.get());
    passed <= APART_TICKS && state.yielded_at.get() == state.place() as u32
}

/// How many threads take naps, or are about to.
static NAPPING: AtomicU32 = AtomicU32::new(0);

/// Changes when they are to look again.
static ROUND: AtomicU32 = AtomicU32::new(0);

/// How long the first nap of a spin is, by how much each is longer than the one before, and how long one is at most, in nanoseconds: a spin
/// that is over after a millisecond is seen to be so 70 microseconds later, one of ten milliseconds after 230.
const FIRST_NAP: u32 = 20_000;
const NAP_GROWS: u32 = 2_500;
const LONGEST_NAP: u32 = 500_000;

/// Lets others run for some time in place of a yield, and records that as a wait. After a yield whoever comes next keeps the CPU for its whole
/// turn, and nobody would know when in it what the thread waits for was done.
#[cold]
fn nap(naps: u32, site: u64) {
    // Who had a long turn does not get the CPU back at the end of its nap: others are owed as long ones first.
    short_turns::take();
    let begun = blocking::begin();
    let round = if naps == 0 && NAPPING.load(Ordering::Relaxed) > 0 {
        // It comes from work of its own, which may be what others wait for.
        let round = ROUND.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        sys::wake_all(&ROUND);
        round
    } else {
        ROUND.load(Ordering::Relaxed)
    };
    let nanos = NAP_GROWS.saturating_mul(naps).saturating_add(FIRST_NAP);
    NAPPING.fetch_add(1, Ordering::Relaxed);
    sys::wait_briefly(&ROUND, round, nanos.min(LONGEST_NAP));
    NAPPING.fetch_sub(1, Ordering::Relaxed);
    blocking::end_of_wait(begun, Target::Other(IoKind::Yield), site);
}

/// Notes that the thread waited for a futex, which is what its spinning led to.
pub fn came_back() {
    let state = ThreadState::current();
    state.yields.set(0);
    state.spared_yields.set(0);
}
