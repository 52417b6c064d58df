//! Where threads go on here that wake.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::system;

/// What the system does with threads that wake and may run on either of two CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// How many threads were let go on by one that went on itself, on the CPU that they had run on last, while the other CPU was idle.
    pub woken: usize,
    /// How many of these went on there all the same.
    pub stayed: usize,
}

impl Placement {
    /// Returns whether threads that wake look for an idle CPU, as most systems let them. Linux does not where it takes CPUs for far from
    /// each other, as some that run in virtual machines do.
    pub fn searches(&self) -> bool {
        2 * self.stayed <= self.woken
    }
}

/// How long the one that lets others go on works before that, and after it at most.
const WORK: Duration = Duration::from_micros(200);

/// Steps of the two threads: the one that is to sleep is there; it was let go on; it has gone on.
const THERE: u32 = 1;
const LET_GO_ON: u32 = 2;
const GONE_ON: u32 = 3;

/// Looks so often what is done with threads that may run on both CPUs.
pub(crate) fn measure(cpus: [u32; 2], rounds: usize) -> io::Result<Placement> {
    let mut stayed = 0;
    for _ in 0..rounds {
        stayed += usize::from(stays(cpus)?);
    }
    Ok(Placement {
        woken: rounds,
        stayed,
    })
}

/// Returns whether a thread that sleeps on the first CPU, and is let go on by one that works there, goes on there.
fn stays([here, there]: [u32; 2]) -> io::Result<bool> {
    system::pinned(vec![here], move || {
        let step = Arc::new(AtomicU32::new(0));
        let its_step = Arc::clone(&step);
        let sleeper = thread::Builder::new().spawn(move || {
            // It is on the first CPU, and may leave it from now on.
            system::pin(&[here, there])?;
            its_step.store(THERE, Ordering::Release);
            while its_step.load(Ordering::Acquire) < LET_GO_ON {
                thread::park();
            }
            let cpu = system::current_cpu();
            its_step.store(GONE_ON, Ordering::Release);
            Ok(cpu == Some(here))
        })?;
        while step.load(Ordering::Acquire) < THERE && !sleeper.is_finished() {
            thread::yield_now();
        }
        work_until(|| false);
        step.store(LET_GO_ON, Ordering::Release);
        sleeper.thread().unpark();
        work_until(|| step.load(Ordering::Acquire) == GONE_ON);
        system::joined(sleeper)
    })
}

fn work_until(over: impl Fn() -> bool) {
    let begun = Instant::now();
    while begun.elapsed() < WORK && !over() {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_system_does_it_is_told() {
        let allowed = system::allowed_cpus().expect("the kernel tells");
        let [first, .., last] = allowed[..] else {
            return;
        };
        let placement = measure([first, last], 2).expect("threads can be pinned to allowed CPUs");
        assert_eq!(placement.woken, 2);
        assert!(placement.stayed <= 2);
    }

    #[test]
    fn threads_search_where_more_than_half_of_them_found_the_idle_cpu() {
        let searches = |stayed| Placement { woken: 5, stayed }.searches();
        assert!(searches(0) && searches(2));
        assert!(!searches(3) && !searches(5));
    }
}
