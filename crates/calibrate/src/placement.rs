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

/// What the system does with threads that wake and may run on either of two CPUs, the one that they ran on last being busy and the other idle.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// For which share of the time the busy CPU had been so, as Linux counts it, when the first of some threads went on on the idle one; nothing
    /// where none did. One for each time that this was looked at, increasing, those where none did last.
    left_from: Vec<Option<f64>>,
}

impl Placement {
    /// Returns what was seen at each of several times.
    pub fn of(mut left_from: Vec<Option<f64>>) -> Self {
        let rank = |share: &Option<f64>| share.unwrap_or(f64::INFINITY);
        left_from.sort_by(|one, other| rank(one).total_cmp(&rank(other)));
        Self { left_from }
    }

    /// Returns from which share of the time on the CPU has to have been busy for threads to leave it as they wake: zero where they always do; nothing
    /// where they never do. It is what three quarters of the measurements were at most: whatever else runs only lets threads leave earlier, as it makes
    /// the CPU busier, or lets the other take a thread that waits.
    pub fn searches_from(&self) -> Option<f64> {
        let told = self.left_from.get(self.left_from.len() * 3 / 4)?;
        told.map(|share| if share < LITTLE { 0.0 } else { share })
    }

    /// Returns between what the middle half of the measurements was; nothing where threads never left the CPU in some of it.
    pub fn middle_half(&self) -> Option<[f64; 2]> {
        let last = self.left_from.len().checked_sub(1)?;
        let [low, high] = [last / 4, last - last / 4].map(|place| self.left_from[place]);
        Some([low?, high?])
    }

    /// Returns how often this was looked at.
    pub fn samples(&self) -> usize {
        self.left_from.len()
    }
}

/// Threads that leave a CPU that was busy for less than this always do.
const LITTLE: f64 = 0.1;

/// After so long, what ran before counts for a hundredth where Linux looks how busy CPUs were lately.
pub(crate) const UNTIL_FORGOTTEN: Duration = Duration::from_millis(220);

/// After so long it counts half (`kernel/sched/pelt.c`).
const HALF_LIFE: f64 = 0.032;

/// Between two threads that wake, and when it is over: the CPU has been busy for 97 % of the time then.
const STEP: Duration = Duration::from_millis(3);
const STEPS: u32 = 54;

/// For how long a thread is waited for that has woken, by one that works.
const PATIENCE: Duration = Duration::from_micros(100);

/// For how long the one that works lets the other have its CPU, if that is where it is.
const BREAK: Duration = Duration::from_micros(100);

/// What the thread that is to wake was told last: to sleep; to wake; to end.
const SLEEP: u32 = 0;
const WAKE: u32 = 1;
const END: u32 = 2;

/// It has not told where it is.
const NOWHERE: u32 = u32::MAX;

/// Looks so often what is done with threads that may run on both CPUs.
pub(crate) fn measure(cpus: [u32; 2], times: usize) -> io::Result<Placement> {
    let left_from: io::Result<Vec<_>> = (0..times).map(|_| left_from(cpus)).collect();
    Ok(Placement::of(left_from?))
}

/// Works on the first CPU, after a rest, and lets a thread wake there now and then; returns how busy that CPU was when it first went on on the
/// other.
fn left_from([here, there]: [u32; 2]) -> io::Result<Option<f64>> {
    system::pinned(vec![here], move || {
        let told = Arc::new(AtomicU32::new(SLEEP));
        let woke_on = Arc::new(AtomicU32::new(NOWHERE));
        let (its_order, its_place) = (Arc::clone(&told), Arc::clone(&woke_on));
        let sleeper = thread::Builder::new().spawn(move || {
            // It is on the first CPU, and may leave it from now on.
            system::pin(&[here, there])?;
            loop {
                match its_order.load(Ordering::Acquire) {
                    SLEEP => thread::park(),
                    WAKE => {
                        its_order.store(SLEEP, Ordering::Release);
                        let cpu = system::current_cpu().unwrap_or(NOWHERE);
                        its_place.store(cpu, Ordering::Release);
                    }
                    _ => return Ok(()),
                }
            }
        })?;
        thread::sleep(UNTIL_FORGOTTEN);
        let mut busy = Busy::rested();
        let mut left_from = None;
        for _ in 0..STEPS {
            let before = busy.share;
            busy.work(STEP);
            woke_on.store(NOWHERE, Ordering::Release);
            told.store(WAKE, Ordering::Release);
            sleeper.thread().unpark();
            let has_woken = || woke_on.load(Ordering::Acquire) != NOWHERE;
            let woken = Instant::now();
            while woken.elapsed() < PATIENCE && !has_woken() {
                std::hint::spin_loop();
            }
            busy.count(true);
            // If it waits for this CPU, it gets it; alone there, it sleeps without having been ahead of anyone.
            while !has_woken() && !sleeper.is_finished() {
                thread::sleep(BREAK);
            }
            busy.count(false);
            if woke_on.load(Ordering::Acquire) == there {
                // The system counted last when the step began, and may have when its clock ticked since.
                left_from = Some(before);
                break;
            }
        }
        told.store(END, Ordering::Release);
        sleeper.thread().unpark();
        system::joined(sleeper)?;
        Ok(left_from)
    })
}

/// How busy a CPU was lately, as Linux counts it.
struct Busy {
    /// For which share of the time.
    share: f64,
    /// Until when that is counted.
    at: Instant,
}

impl Busy {
    /// One that did nothing for long.
    fn rested() -> Self {
        Self {
            share: 0.0,
            at: Instant::now(),
        }
    }

    /// Works for so long.
    fn work(&mut self, time: Duration) {
        while self.at.elapsed() < time {
            std::hint::spin_loop();
        }
        self.count(true);
    }

    /// Counts the time since it was counted last, in which the CPU worked or did nothing.
    fn count(&mut self, worked: bool) {
        let time = self.at.elapsed();
        self.at += time;
        self.add(time, worked);
    }

    fn add(&mut self, time: Duration, worked: bool) {
        let left = (-time.as_secs_f64() / HALF_LIFE).exp2();
        self.share = self.share * left + if worked { 1.0 - left } else { 0.0 };
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
        assert_eq!(placement.samples(), 2);
        let from = placement.searches_from();
        assert!(from.is_none_or(|share| (0.0..1.0).contains(&share)));
    }

    #[test]
    fn three_quarters_of_the_measurements_are_at_most_what_is_told() {
        let searches = |shares: &[f64], never: usize| {
            let shares = shares.iter().map(|&share| Some(share));
            Placement::of(shares.chain(vec![None; never]).collect())
        };
        assert_eq!(searches(&[0.7, 0.01, 0.66], 0).searches_from(), Some(0.7));
        assert_eq!(searches(&[0.02, 0.01, 0.03], 1).searches_from(), None);
        assert_eq!(searches(&[0.02; 4], 1).searches_from(), Some(0.0));
        assert_eq!(searches(&[0.02], 2).searches_from(), None);
        assert_eq!(searches(&[], 0).searches_from(), None);
        let five = searches(&[0.1, 0.2, 0.3, 0.4], 1);
        assert_eq!(five.middle_half(), Some([0.2, 0.4]));
        assert_eq!(searches(&[0.1], 2).middle_half(), None);
    }

    #[test]
    fn a_cpu_that_works_fills() {
        let mut busy = Busy::rested();
        for (millis, worked, share) in [(32, true, 0.5), (32, true, 0.75), (64, false, 0.1875)] {
            busy.add(Duration::from_millis(millis), worked);
            assert!((busy.share - share).abs() < 1e-9);
        }
        let mut busy = Busy::rested();
        busy.add(STEP * (STEPS - 1), true);
        assert!(busy.share > 0.96);
    }
}
