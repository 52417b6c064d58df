//! `vfork`: the child runs in the parent's memory, with the state of the parent's thread, until it becomes another
//! program or ends. What it does is not the parent's, so that meanwhile the thread's chunk is out of reach.
//!
//! A signal handler may come between any two steps here. While the thread is said to be in such a call and its chunk has an end, the
//! handler records as ever; where the chunk has none, it finds no room, and is not given another chunk either: that would be left
//! behind, and the one before it given up, while the thread goes on in it.

use core::sync::atomic::{Ordering, compiler_fence};

use crate::buffer::Slot;
use crate::state::ThreadState;

/// Keeps the steps in their order, as seen by a signal handler.
fn step() {
    compiler_fence(Ordering::SeqCst);
}

/// Notes that the thread is about to call `vfork`, and which record tells of it.
pub fn enter(record: Slot) {
    let state = ThreadState::current();
    let depth = state.vforks.get();
    state.vforks.set(depth + 1);
    if depth == 0 {
        step();
        let end = state.end.get();
        // No record has room from now on, so that each asks what is the matter.
        state.end.set(0);
        step();
        state.before_vfork.set((state.cursor.get(), end));
        state.vfork_record.set(record.0);
    }
}

/// Notes that the parent's thread is back, and returns which record tells of it; `None` if the call was not noted, or
/// was a child's.
pub fn leave() -> Option<Slot> {
    let state = ThreadState::current();
    let depth = state.vforks.get().checked_sub(1)?;
    if depth > 0 {
        state.vforks.set(depth);
        return None;
    }
    let record = state.vfork_record.get();
    come_back(state);
    Some(Slot(record))
}

/// Notes that the thread will not come back from where it is, but has something to record: its process ends.
pub(crate) fn leave_for_good(state: &ThreadState) {
    if state.vforks.get() != 0 {
        come_back(state);
    }
}

fn come_back(state: &ThreadState) {
    let (cursor, end) = state.before_vfork.get();
    state.cursor.set(cursor);
    step();
    state.end.set(end);
    step();
    state.vforks.set(0);
}
