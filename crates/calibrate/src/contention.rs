//! What it takes to wait for a lock that a thread on another CPU holds, and to give it up.
//!
//! The lock is one as in C libraries: a word that is 0, or 1 where it is held, or 2 where one may wait for it, too. The kernel lets a
//! thread sleep only if the word is still 2 when it looks.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::system;

/// A wait, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// From trying to lock it to having it.
    pub locking: u64,
    /// From giving it up to having had the one that waits woken, or to having learnt that none sleeps.
    pub unlocking: u64,
}

/// What two threads have in common, in memory of its own each.
struct Common {
    lock: Apart<AtomicU32>,
    /// The last round in which it was held, in which the other one tried to get it, and had it, and in which that was over.
    held: Apart<AtomicU64>,
    tried: Apart<AtomicU64>,
    got: Apart<AtomicU64>,
    over: Apart<AtomicU64>,
    /// How long that took.
    unlocking: Apart<AtomicU64>,
}

#[derive(Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// Waits for a lock that a thread on the second CPU holds, which is given up so long after that was tried.
pub(crate) fn waits(
    [here, there]: [u32; 2],
    hold: Duration,
    rounds: usize,
) -> io::Result<impl Iterator<Item = Wait>> {
    let common = Arc::new(Common {
        lock: Apart::default(),
        held: Apart::default(),
        tried: Apart::default(),
        got: Apart::default(),
        over: Apart::default(),
        unlocking: Apart::default(),
    });
    let theirs = Arc::clone(&common);
    let holder = thread::Builder::new().spawn(move || {
        let pinned = system::pin(&[there]);
        for round in 1..=rounds as u64 {
            theirs.hold(round, hold);
        }
        pinned
    })?;
    let measured = system::pinned(vec![here], move || {
        Ok((1..=rounds as u64)
            .map(|round| common.wait(round))
            .collect())
    });
    // Where nobody came to wait, the holder would be waited for in vain.
    let waits: Vec<Wait> = measured?;
    system::joined(holder)?;
    Ok(waits.into_iter())
}

impl Common {
    /// Holds the lock until another thread has tried to get it, and for so long.
    fn hold(&self, round: u64, hold: Duration) {
        self.lock.0.store(1, Ordering::Relaxed);
        self.held.0.store(round, Ordering::Release);
        await_round(&self.tried.0, round);
        let tried = Instant::now();
        while tried.elapsed() < hold {}
        let begun = Instant::now();
        if self.lock.0.swap(0, Ordering::Release) == 2 {
            system::futex_wake(&self.lock.0);
        }
        let took = nanos_since(begun);
        self.unlocking.0.store(took, Ordering::Relaxed);
        self.over.0.store(round, Ordering::Release);
        await_round(&self.got.0, round);
    }

    fn wait(&self, round: u64) -> Wait {
        await_round(&self.held.0, round);
        let begun = Instant::now();
        let mut is_new = true;
        while self.lock.0.swap(2, Ordering::Acquire) != 0 {
            if std::mem::take(&mut is_new) {
                self.tried.0.store(round, Ordering::Release);
            }
            system::futex_wait(&self.lock.0, 2);
        }
        let locking = nanos_since(begun);
        self.got.0.store(round, Ordering::Release);
        await_round(&self.over.0, round);
        Wait {
            locking,
            unlocking: self.unlocking.0.load(Ordering::Relaxed),
        }
    }
}

/// Waits, awake for the most part, until it is this round.
fn await_round(rounds: &AtomicU64, round: u64) {
    let mut looks = 0_u32;
    while rounds.load(Ordering::Acquire) < round {
        looks += 1;
        // Where both share a CPU, or another program has the other one.
        if looks.is_multiple_of(10_000) {
            thread::yield_now();
        }
    }
}

fn nanos_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_wait_for_a_lock_on_one_cpu_as_well() {
        let cpu = system::allowed_cpus().expect("there are some")[0];
        let waits = waits([cpu; 2], Duration::ZERO, 20).expect("they can be pinned");
        assert_eq!(waits.filter(|wait| wait.locking > 0).count(), 20);
    }
}
