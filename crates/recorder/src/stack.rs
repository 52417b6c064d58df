//! Short call stacks, found by frame pointers.
//!
//! A call site inside a library's wrapper of a lock says little; who called the wrapper says more. The walk follows the
//! saved frame pointers from the one that the program had when it called the hook. Code that was compiled without frame
//! pointers keeps other things in that register: the walk ends where what it finds cannot be a frame, and a caller may
//! be skipped.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::state::ThreadState;
use crate::{process, sys};

/// The deepest stack that is recorded.
pub const MOST_FRAMES: usize = 16;

/// No function has a larger frame, as far as the walk is concerned.
const LARGEST_FRAME: u64 = 1 << 20;

/// What memory is protected by.
const PAGE: u64 = 4096;

/// What lies at a frame pointer: the caller's, and the address to return to.
const FRAME_BYTES: u64 = 16;

/// How many callers to record with each call; 0 for none.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// Asks for so many callers with each call, at most [`MOST_FRAMES`].
pub fn set_depth(frames: u32) {
    DEPTH.store(frames.min(MOST_FRAMES as u32), Ordering::Relaxed);
}

/// Returns how many callers are recorded with each call.
#[inline]
pub fn depth() -> usize {
    DEPTH.load(Ordering::Relaxed) as usize
}

/// Finds the callers of the function that called a hook, from the inside out; returns how many there are.
pub(crate) fn walk(state: &ThreadState, callers: &mut [u64]) -> usize {
    let mut found = 0;
    let mut below = stack_pointer();
    stand_on(state, below);
    let mut frame = state.frame.get();
    while let Some(place) = callers.get_mut(found) {
        // A frame lies above the one that it called.
        if frame <= below || frame - below > LARGEST_FRAME || !frame.is_multiple_of(8) {
            break;
        }
        let Some((outer, address)) = read(state, frame) else {
            break;
        };
        if address < PAGE {
            break;
        }
        *place = address;
        found += 1;
        below = frame;
        frame = outer;
    }
    found
}

fn stack_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// Forgets which memory is readable where the thread is on another stack than before.
fn stand_on(state: &ThreadState, pointer: u64) {
    if pointer < state.stack_low.get() || pointer >= state.stack_high.get() {
        let page = pointer & !(PAGE - 1);
        state.stack_low.set(page);
        state.stack_high.set(page + PAGE);
    }
}

/// Reads a frame, by the kernel where it is not known that the memory can be read: it may be a guard page, or none.
fn read(state: &ThreadState, frame: u64) -> Option<(u64, u64)> {
    let end = frame + FRAME_BYTES;
    if frame >= state.stack_low.get() && end <= state.stack_high.get() {
        // SAFETY: pages of the stack that were read before.
        return Some(unsafe { *(frame as *const (u64, u64)) });
    }
    if process::confined() {
        return None;
    }
    let mut words = [0; 2];
    if !sys::read_own_memory(frame, &mut words) {
        return None;
    }
    // The known part grows by neighbouring pages only, so that there is never a gap in it.
    let (first, last) = (frame & !(PAGE - 1), (end - 1) & !(PAGE - 1));
    if first <= state.stack_high.get() && last >= state.stack_high.get() {
        state.stack_high.set(last + PAGE);
    }
    Some((words[0], words[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames as a compiler makes them: each holds the next outer one's address and a return address.
    fn frames(returns: &[u64]) -> Vec<[u64; 2]> {
        let mut frames: Vec<[u64; 2]> = returns.iter().map(|&address| [0, address]).collect();
        for index in 1..frames.len() {
            frames[index - 1][0] = frames[index].as_ptr() as u64;
        }
        frames
    }

    use std::vec::Vec;

    #[test]
    fn memory_that_cannot_be_read_is_said_so() {
        let state = ThreadState::current();
        assert_eq!(read(state, 8), None);
        let found = frames(&[0x1_0001, 0x1_0002]);
        let (outer, address) = read(state, found[0].as_ptr() as u64).expect("it is ours");
        assert_eq!((outer, address), (found[1].as_ptr() as u64, 0x1_0001));
    }

    #[test]
    fn a_register_that_holds_something_else_ends_the_walk() {
        let state = ThreadState::current();
        let mut callers = [0; 4];
        for other in [0, 1, 12_345, stack_pointer() + 3, u64::MAX, u64::MAX - 7] {
            state.frame.set(other);
            assert_eq!(walk(state, &mut callers), 0, "{other:#x}");
        }
    }

    #[test]
    fn callers_are_found_from_the_inside_out() {
        // On the stack, as the walk wants it.
        let mut stack = [[0_u64; 2]; 3];
        let addresses: Vec<u64> = stack.iter().map(|frame| frame.as_ptr() as u64).collect();
        for (index, frame) in stack.iter_mut().enumerate() {
            *frame = [
                addresses.get(index + 1).copied().unwrap_or(0),
                0x10_0000 + index as u64,
            ];
        }
        core::hint::black_box(&mut stack);
        let state = ThreadState::current();
        state.frame.set(addresses[0]);
        let mut callers = [0; 2];
        assert_eq!(walk(state, &mut callers), 2);
        assert_eq!(callers, [0x10_0000, 0x10_0001]);
        let mut all = [0; 8];
        assert_eq!(walk(state, &mut all), 3);
    }
}
