//! Short turns: threads that share out what they do, between two times that they meet, need the CPU in turn before all is done.
//!
//! On one CPU who goes on first mostly does all of it by itself, and nobody would know that the others would have taken of it. The turns of `turns.rs` end
//! where a thread gives something up; in between only the kernel can end one. Who is seen to meet others again and again asks it to.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::{clock, process, state::ThreadState, sys, turns};

/// How long turns are that the kernel is asked for, in nanoseconds; the shortest that it knows.
const SHORT: u64 = 100_000;

/// Who has waited at barriers so often takes short turns.
pub(crate) const MEETINGS: u8 = 8;

/// Who does less than so many ticks between two waits, some 20 microseconds, has found that others did what there was to do.
const LITTLE: u64 = 1 << 16;

/// Who comes too late so much more often than half as often as not, since others had the CPU until nothing was left, does so again.
const LATE: u8 = 32;

/// How often threads woke several others.
static BROADCASTS: AtomicU32 = AtomicU32::new(0);

/// Whether threads come too late.
static ARE_LATE: AtomicBool = AtomicBool::new(false);

/// Asks the kernel for short turns of the calling thread, once: where others want the CPU, too, its clock's next tick ends them.
#[inline]
pub fn take() {
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
        if meetings + 1 == MEETINGS && turns::are_asked_for() {
            take();
        }
    }
}

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
    if ARE_LATE.load(Ordering::Relaxed) && turns::are_asked_for() {
        take();
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
