//! Short call stacks, found by frame pointers.
//!
//! A call site inside a library's wrapper of a lock says little; who called the wrapper says more. The walk follows the
//! saved frame pointers from the one that the program had when it called the hook. Code that was compiled without frame
//! pointers keeps other things in that register: the walk ends where what it finds cannot be a frame, and a caller may
//! be skipped.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::state::ThreadState;
use crate::{clock, process, sys};

/// The deepest stack that is recorded.
pub const MOST_FRAMES: usize = 16;

/// No function has a larger frame, as far as the walk is concerned.
const LARGEST_FRAME: u64 = 1 << 20;

/// What memory is protected by.
const PAGE: u64 = 4096;

/// No stack is larger, as far as it is known to be the thread's own. The kernel leaves more than that free below the first thread's.
const FARTHEST: u64 = 64 << 20;

/// By how much more a stack may have grown from one call to the next: each page of that is looked at.
const LARGEST_STEP: u64 = 2 << 20;

/// What lies at a frame pointer: the caller's, and the address to return to.
const FRAME_BYTES: u64 = 16;

/// How many callers to record with each call; 0 for none.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// Asks for so many callers with each call, at most [`MOST_FRAMES`]. The calling thread must be on its own stack.
pub fn set_depth(frames: u32) {
    if frames > 0 {
        note_own(ThreadState::current());
    }
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
    let mut readable = Readable::at(state, below);
    let mut frame = state.frame.get();
    while let Some(place) = callers.get_mut(found) {
        // A frame lies above the one that it called.
        if frame <= below || frame - below > LARGEST_FRAME || !frame.is_multiple_of(8) {
            break;
        }
        let Some((outer, address)) = readable.frame(frame) else {
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

fn page_of(address: u64) -> u64 {
    address & !(PAGE - 1)
}

/// Notes where the stack is that the thread was given, which it is on now: what lies there above a thread's stack pointer stays for as
/// long as the thread does. Of other stacks, those of coroutines, nobody knows that: they may end anywhere, and be taken away.
pub(crate) fn note_own(state: &ThreadState) {
    let low = page_of(stack_pointer());
    // At a thread's stack's end the C library has put what the thread pointer points to. The first thread's holds the program's
    // arguments there, and then nothing.
    let pointer = clock::thread_pointer();
    let limit = if pointer.wrapping_sub(low) < FARTHEST {
        page_of(pointer)
    } else {
        low + FARTHEST
    };
    let mut high = low + PAGE;
    while high < limit && sys::can_read(high) {
        high += PAGE;
    }
    state.stack_low.set(low);
    state.stack_high.set(high);
    state.other_stack.set((0, 0));
}

/// Returns whether the thread is on its own stack, of which more is known then if it has grown.
fn is_on_own(state: &ThreadState, pointer: u64) -> bool {
    let (low, high) = (state.stack_low.get(), state.stack_high.get());
    if pointer >= low {
        return pointer < high;
    }
    let (other_low, other_high) = state.other_stack.get();
    let is_other = pointer >= other_low && pointer < other_high;
    if is_other || high - pointer > FARTHEST || process::confined() {
        return false;
    }
    // Below a stack is a page that cannot be read.
    let mut page = page_of(pointer);
    let limit = low.min(page + LARGEST_STEP);
    while page < limit && sys::can_read(page) {
        page += PAGE;
    }
    if page < low {
        state.other_stack.set((page_of(pointer), page));
        return false;
    }
    state.stack_low.set(page_of(pointer));
    true
}

/// The part of the stack that is known to be readable during a walk.
struct Readable {
    low: u64,
    high: u64,
}

impl Readable {
    /// Begins at a thread's stack pointer.
    fn at(state: &ThreadState, pointer: u64) -> Self {
        let low = page_of(pointer);
        let high = if is_on_own(state, pointer) {
            state.stack_high.get()
        } else {
            low + PAGE
        };
        Self { low, high }
    }

    /// Reads a frame, by the kernel where it is not known that the memory can be read: it may be a guard page, or none.
    fn frame(&mut self, frame: u64) -> Option<(u64, u64)> {
        let end = frame.checked_add(FRAME_BYTES)?;
        if frame >= self.low && end <= self.high {
            // SAFETY: the thread's own stack, or pages that were read in this walk.
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
        let (first, last) = (page_of(frame), page_of(end - 1));
        if first <= self.high && last >= self.high {
            self.high = last + PAGE;
        }
        Some((words[0], words[1]))
    }
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
        let mut readable = Readable::at(state, stack_pointer());
        assert_eq!(readable.frame(8), None);
        assert_eq!(readable.frame(u64::MAX - 7), None);
        let found = frames(&[0x1_0001, 0x1_0002]);
        let (outer, address) = readable
            .frame(found[0].as_ptr() as u64)
            .expect("it is ours");
        assert_eq!((outer, address), (found[1].as_ptr() as u64, 0x1_0001));
    }

    #[test]
    fn only_the_stack_that_a_thread_was_given_is_known_to_stay() {
        let state = ThreadState::current();
        note_own(state);
        let (low, high) = (state.stack_low.get(), state.stack_high.get());
        let pointer = stack_pointer();
        assert!(low <= pointer && pointer < high);
        assert!(high <= clock::thread_pointer());
        assert_eq!(Readable::at(state, pointer).high, high);
        // It grows.
        let deeper = low - 3 * PAGE;
        assert_eq!(Readable::at(state, deeper).high, high);
        assert_eq!(state.stack_low.get(), page_of(deeper));
        // Another stack, of which only what was read in the same walk is known.
        let other = sys::map_zeroed(3 * PAGE as usize).expect("there is memory");
        let frame = other as u64 + PAGE + 16;
        let mut readable = Readable::at(state, other as u64);
        assert_eq!(readable.high, other as u64 + PAGE);
        assert_eq!(readable.frame(frame), Some((0, 0)));
        assert_eq!(readable.high, other as u64 + 2 * PAGE);
        // SAFETY: mapped above, and nobody reads it any more but who looks first.
        unsafe { sys::unmap(other, 3 * PAGE as usize) };
        assert_eq!(Readable::at(state, other as u64).frame(frame), None);
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
