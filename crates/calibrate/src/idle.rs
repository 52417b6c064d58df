//! How long a CPU needs to run a thread again after it was idle, and for how long that is less than later.

use std::{io, time::Duration};

use crate::{Estimate, WORK, wakes::Wakes};

/// For how long the CPU is idle each time, in microseconds.
const IDLE_MICROS: [u32; 7] = [10, 25, 50, 100, 200, 400, 1_000];

/// Where it takes this many times as long after a long time as after a short one, it makes a difference.
const DIFFERENCE: f64 = 1.5;

/// Times from letting a thread go on to its going on, in nanoseconds, after its CPU was idle for each of [`IDLE_MICROS`].
#[derive(Default)]
pub(crate) struct Idle([Vec<u64>; IDLE_MICROS.len()]);

impl Idle {
    /// Measures up to so many of each, fewer of those that take long.
    pub fn measure(&mut self, cpus: [u32; 2], rounds: usize) -> io::Result<()> {
        for (delays, micros) in self.0.iter_mut().zip(IDLE_MICROS) {
            // Those that are longer than usual take as long together.
            let usual = WORK.as_micros() as usize;
            let rounds = (rounds * usual / micros as usize).clamp(8, rounds.max(8));
            let mut wakes = Wakes::default();
            wakes.measure(cpus, false, (Duration::from_micros(micros.into()), rounds))?;
            delays.extend(wakes.delays);
        }
        Ok(())
    }

    /// Returns how long it takes after the CPU was idle for a short time, and for a long one.
    pub fn latencies(&self) -> (Estimate, Estimate) {
        let [first, second, .., last_but_one, last] = &self.0;
        let [mut short, mut long] = [[first, second], [last_but_one, last]]
            .map(|delays| delays.map(Vec::as_slice).concat());
        (Estimate::of(&mut short), Estimate::of(&mut long))
    }

    /// Returns for how long it takes as long as after a short time; nothing where it always does.
    pub fn lasts(&mut self) -> Duration {
        let medians = self.0.each_mut().map(|delays| Estimate::of(delays).nanos);
        lasts(&medians)
    }
}

/// The same, given how long it takes after each of [`IDLE_MICROS`].
fn lasts(medians: &[u64; IDLE_MICROS.len()]) -> Duration {
    let [short, .., long] = medians.map(|nanos| nanos as f64);
    if long < DIFFERENCE * short {
        return Duration::ZERO;
    }
    let between = f64::midpoint(short, long);
    let changed = medians.iter().position(|&nanos| nanos as f64 > between);
    let Some(place) = changed.filter(|&place| place > 0) else {
        return Duration::ZERO;
    };
    // In the middle, as these are each twice as long as the one before.
    let nearly = f64::from(IDLE_MICROS[place - 1]) * f64::from(IDLE_MICROS[place]);
    Duration::from_secs_f64(nearly.sqrt() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_wakes_quickly_until_it_has_been_idle_for_some_time() {
        let host = [7_000, 7_000, 7_500, 9_000, 23_000, 26_000, 28_000];
        assert_eq!(lasts(&host).as_micros(), 141);
        // Where it makes no difference, and where it sleeps at once.
        assert_eq!(lasts(&[9_000; 7]), Duration::ZERO);
        let at_once = [7_000, 17_000, 18_000, 18_000, 18_000, 18_000, 18_000];
        assert_eq!(lasts(&at_once).as_micros(), 15);
    }
}
