//! What threads do to memory when they lock a mutex and unlock it: one that both use, or each its own.
//!
//! A mutex that another CPU's thread had last is in that CPU's caches, and has to come from there, as has what it guards. Nobody waits here for the
//! other one, as that would take longer by far, and is known otherwise.

use std::{
    hint::black_box,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use crate::system;

/// What a mutex consists of, and a number that it would guard, in memory of its own each, as programs mostly have them.
#[derive(Default)]
struct Guarded {
    mutex: Apart,
    number: Apart,
}

/// Two lines of caches, as some processors fetch them in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Apart(AtomicU64);

/// What a thread does between two locks, in steps of a random sequence: some 0.2 us, so that both are seldom there at once, and what it takes
/// to lock is a part of it that can be seen.
const STEPS: u32 = 100;

/// Returns the CPU time of locking and unlocking a mutex, with what is done in between, beside a thread on the second CPU that does the same
/// with the same mutex, or with another.
pub(crate) fn sections([here, there]: [u32; 2], is_shared: bool, rounds: usize) -> io::Result<u64> {
    let ours = Arc::new(Guarded::default());
    let theirs = if is_shared {
        Arc::clone(&ours)
    } else {
        Arc::default()
    };
    let [is_there, is_over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (arrives, ends) = (Arc::clone(&is_there), Arc::clone(&is_over));
    let neighbour = thread::Builder::new().spawn(move || {
        let pinned = system::pin(&[there]);
        let mut state = 1;
        arrives.store(true, Ordering::Relaxed);
        while !ends.load(Ordering::Relaxed) {
            section(&theirs, &mut state);
        }
        pinned
    })?;
    let measured = system::pinned(vec![here], move || {
        while !is_there.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let mut state = 2;
        let begin = system::thread_cpu_nanos();
        for _ in 0..rounds {
            section(&ours, &mut state);
        }
        Ok(system::thread_cpu_nanos() - begin)
    });
    is_over.store(true, Ordering::Relaxed);
    system::joined(neighbour)?;
    Ok(measured? / rounds.max(1) as u64)
}

/// Works for a random time, and then as if it had the mutex.
fn section(guarded: &Guarded, state: &mut u64) {
    for _ in 0..STEPS + (*state % u64::from(STEPS / 4)) as u32 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
    }
    black_box(guarded.mutex.0.swap(1, Ordering::Acquire));
    let number = &guarded.number.0;
    number.store(
        number.load(Ordering::Relaxed) ^ black_box(*state),
        Ordering::Relaxed,
    );
    guarded.mutex.0.swap(0, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_lock_on_one_cpu_as_well() {
        let cpu = system::allowed_cpus().expect("there are some")[0];
        assert!(sections([cpu; 2], true, 20).expect("they can be pinned") > 0);
    }
}
