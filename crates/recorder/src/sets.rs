//! System V's semaphores: they begin in ways that nobody sees, perhaps long before the recording, so that each process
//! asks for their values when it first uses them.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::sys;

/// The semaphores that this process has used, each where its number leads; one may drive out another.
static SEEN: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// Returns a semaphore's value plus one, if this process has not used it before; else 0. Its name is the set's number and,
/// in the low 16 bits, its own.
pub fn value_at_first_sight(semaphore: u64) -> u64 {
    let place = (semaphore ^ semaphore >> 16) as usize % SEEN.len();
    let key = semaphore + 1;
    if SEEN[place].swap(key, Relaxed) == key {
        return 0;
    }
    sys::semaphore_value((semaphore >> 16) as i32, (semaphore & 0xffff) as u16)
        .map_or(0, |value| value + 1)
}
