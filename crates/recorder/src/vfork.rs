//! `vfork`: the child runs in the parent's memory, with the state of the parent's thread, until it becomes another
//! program or ends. What it does is not the parent's, so that meanwhile the thread's chunk is out of reach.

use crate::buffer::Slot;
use crate::state::ThreadState;

/// Notes that the thread is about to call `vfork`, and which record tells of it.
pub fn enter(record: Slot) {
    let state = ThreadState::current();
    let depth = state.vforks.get();
    if depth == 0 {
        state
            .before_vfork
            .set((state.cursor.get(), state.end.get()));
        state.vfork_record.set(record.0);
        // No record has room from now on, so that each asks what is the matter.
        state.end.set(0);
    }
    state.vforks.set(depth + 1);
}

/// Notes that the parent's thread is back, and returns which record tells of it; `None` if the call was not noted, or
/// was a child's.
pub fn leave() -> Option<Slot> {
    let state = ThreadState::current();
    let depth = state.vforks.get().checked_sub(1)?;
    state.vforks.set(depth);
    if depth > 0 {
        return None;
    }
    let (cursor, end) = state.before_vfork.get();
    state.cursor.set(cursor);
    state.end.set(end);
    Some(Slot(state.vfork_record.get()))
}
