//! `sched_yield`, by which threads spin before they wait.
//!
//! Libraries spin a few times before they wait by a futex. On one CPU such a yield lets the thread run that is waited
//! for, so that the wait never happens, and what depends on what would never be seen. Hence a thread's first yields
//! return at once: nothing promises that another thread runs. Those that spin for longer than any such library yield as
//! they always did, and are counted.

use core::ffi::c_int;

use foretrace_recorder::{Kind, ThreadState, clock, message, spun};

use crate::hook::recording;
use crate::next;

/// How many yields in quick succession do nothing. libstdc++ makes 4, `parking_lot` 7, crossbeam 4, rayon 33
/// before they wait.
const SPARED: u32 = 40;

/// After so many ticks of other work between two yields, it is another spin: about 20 microseconds.
const APART_TICKS: u64 = 50_000;

/// How many yields do nothing between two waits for futexes at most: a program that never comes to one does not spin
/// like that library code, and shall have its yields.
const SPARED_WITHOUT_A_WAIT: u32 = 1_000;

pub unsafe extern "C-unwind" fn yield_now(site: u64) -> c_int {
    // SAFETY: it takes nothing.
    let call = || unsafe { next::sched_yield() };
    if !recording() {
        return call();
    }
    // A library that passes messages yields to the ranks that it waits for; but also where it only looks.
    if message::is_inside() {
        return if message::is_waiting() { call() } else { 0 };
    }
    let state = ThreadState::current();
    let now = clock::tsc();
    if now.wrapping_sub(state.last_yield.get()) > APART_TICKS {
        state.yields.set(0);
    }
    state.last_yield.set(now);
    let yields = state.yields.get();
    let spared = state.spared_yields.get();
    if yields < SPARED && spared < SPARED_WITHOUT_A_WAIT {
        state.yields.set(yields + 1);
        state.spared_yields.set(spared + 1);
        return 0;
    }
    spun(Kind::Yield, site);
    let result = call();
    // How long others ran meanwhile says nothing about this thread.
    state.last_yield.set(clock::tsc());
    result
}

/// Notes that the thread waited for a futex, which is what its spinning led to.
pub fn came_back() {
    let state = ThreadState::current();
    state.yields.set(0);
    state.spared_yields.set(0);
}
