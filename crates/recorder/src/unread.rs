//! Coming back from the kernel without asking it for the CPU time.
//!
//! Asking costs as much as a short wait itself. A thread that waits again and again, a server's or one of two that hand
//! something over, spends little of its CPU time in the waits. So only the counter is stored when such a wait is over, with the
//! ticks since the thread was last watched, and the clock watches on from there. The same where a thread lost its CPU within a
//! call that woke another. The CPU time is asked for at the next occasion, within some milliseconds: its reader shares out what the
//! calls in between used.

use foretrace_trace::journal::layout::{Kind, Unread, pack_tail};

use crate::buffer::{self, STEP};
use crate::state::ThreadState;
use crate::{clock, turns};

/// How long a thread may go without a reading of its CPU time, in ticks: some milliseconds.
const LONGEST: u64 = 1 << 23;

/// Records that a call came back in which the thread did nothing of its own.
///
/// `since` is the counter at the call's own record; 0 where there is none.
#[inline]
pub fn returned_from_wait(kind: Kind, object: u64, outcome: u8, since: u64) {
    let before = clock::tsc();
    if !clock::undisturbed() {
        let state = ThreadState::current();
        if returned(state, (kind, object, outcome), since, before) {
            return;
        }
    }
    buffer::returned(kind, object, outcome);
}

/// Records that a call came back that was watched until `since`, and watches on; what passed since `before` is the recorder's
/// own. Returns whether it did: not where the CPU time must be asked for, or there is no room.
pub(crate) fn returned(
    state: &ThreadState,
    (kind, object, outcome): (Kind, u64, u8),
    since: u64,
    before: u64,
) -> bool {
    let Some(at) = room(state, since, before) else {
        return false;
    };
    clock::may_have_blocked(state);
    let (tsc, unread) = watch(state, since, before);
    turns::begin_after_wait(state, tsc);
    let tail = pack_tail(Kind::Return, outcome, unread.pack(kind));
    buffer::fill(at, tsc, object, tail);
    true
}

/// Says that a call came back that lets others go on, and watches on if the thread lost its CPU in it.
#[inline]
pub fn woke(since: u64) {
    if !clock::undisturbed() {
        resume(ThreadState::current(), since, clock::tsc());
    }
}

/// Records that a thread has its CPU again, which it lost in a call that was watched until `since`. Returns whether it did, as
/// [`returned`].
#[cold]
pub(crate) fn resume(state: &ThreadState, since: u64, before: u64) -> bool {
    let Some(at) = room(state, since, before) else {
        return false;
    };
    state.switches_plus_one.set(0);
    let (tsc, unread) = watch(state, since, before);
    turns::begin_again(state, tsc);
    let tail = pack_tail(Kind::Resume, 0, unread.pack(Kind::Resume));
    buffer::fill(at, tsc, 0, tail);
    true
}

fn room(state: &ThreadState, since: u64, before: u64) -> Option<u64> {
    let read_at = state.read_at.get();
    let is_close = before.wrapping_sub(read_at) < LONGEST;
    // Whoever read it meanwhile, a signal handler, did something that must not be taken for a part of the call.
    let was_calling = since.wrapping_sub(read_at) <= before.wrapping_sub(read_at);
    if !clock::notices() || !is_close || !was_calling || state.vforks.get() != 0 {
        return None;
    }
    let at = state.take(STEP);
    (at + STEP <= state.end.get()).then_some(at)
}

fn watch(state: &ThreadState, since: u64, before: u64) -> (u64, Unread) {
    state.unread.set(true);
    let tsc = clock::watch();
    let unread = Unread {
        ticks: tsc.wrapping_sub(since),
        own: tsc.wrapping_sub(before),
    };
    (tsc, unread)
}

/// Records the thread's CPU time if nobody asked for some of it: it is about to end, or to become something else.
pub(crate) fn settle() {
    let state = ThreadState::current();
    if state.unread.get() && state.vforks.get() == 0 {
        buffer::synchronize(state);
    }
}
