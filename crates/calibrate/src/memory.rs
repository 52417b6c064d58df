//! Threads that do nothing but go through the memory: alone, and all at once.

use std::{
    hint, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::{Estimate, system};

/// As many threads as are tried at most: each has its own stretch of memory.
const MOST_THREADS: usize = 32;

/// What it takes to go through the memory, for one CPU alone and when others do so, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    /// How many CPUs went through it at once.
    pub cpus: u32,
    /// The CPU time of going through a stretch of it once, on one CPU alone.
    pub alone: Estimate,
    /// The same on each of all those CPUs.
    pub together: Estimate,
}

impl Streams {
    /// Returns how many CPUs can access the memory at once at full speed, in billionths, where these were more than that: half
    /// of the measurements say so for sure.
    pub fn bandwidth(&self) -> Option<u64> {
        let slowed = self.together.low > self.alone.high && self.alone.nanos > 0;
        let served = u128::from(self.cpus) * u128::from(self.alone.nanos) * 1_000_000_000;
        let bandwidth = served / u128::from(self.together.nanos.max(1));
        slowed.then(|| u64::try_from(bandwidth).unwrap_or(u64::MAX))
    }
}

/// Measures with a stretch of so many bytes for each thread; the last CPU is the one that is looked at.
pub(crate) fn streams(cpus: &[u32], bytes: usize, series: usize) -> io::Result<Streams> {
    let cpus = &cpus[cpus.len().saturating_sub(MOST_THREADS)..];
    let Some((&watched, others)) = cpus.split_last() else {
        return Err(io::Error::other("this process may run on no CPU"));
    };
    let [mut alone, mut together] = [(); 2].map(|()| Vec::new());
    for _ in 0..series {
        alone.push(pass_beside(watched, &[], bytes)?);
        together.push(pass_beside(watched, others, bytes)?);
    }
    Ok(Streams {
        cpus: cpus.len() as u32,
        alone: Estimate::of(&mut alone),
        together: Estimate::of(&mut together),
    })
}

/// Returns the CPU time of going through a stretch once, while threads on other CPUs go through theirs.
fn pass_beside(cpu: u32, others: &[u32], bytes: usize) -> io::Result<u64> {
    let over = Arc::new(AtomicBool::new(false));
    let start = |&cpu: &u32| {
        let (ready, told) = std::sync::mpsc::channel();
        let over = Arc::clone(&over);
        let run = move || {
            let pinned = system::pin(&[cpu]);
            let mut stretch = stretch(bytes);
            // Nobody listens any more only where measuring failed.
            let _ = ready.send(());
            while !over.load(Ordering::Relaxed) {
                pass(&mut stretch);
            }
            pinned
        };
        let thread = thread::Builder::new().spawn(run)?;
        Ok((thread, told))
    };
    let neighbours: Vec<_> = others.iter().map(start).collect::<io::Result<_>>()?;
    for (_, told) in &neighbours {
        // It ended, which its result tells below.
        let _ = told.recv();
    }
    let time = system::pinned(vec![cpu], move || {
        let mut stretch = stretch(bytes);
        pass(&mut stretch);
        let begin = system::thread_cpu_nanos();
        pass(&mut stretch);
        Ok(system::thread_cpu_nanos().saturating_sub(begin))
    });
    over.store(true, Ordering::Relaxed);
    for (thread, _) in neighbours {
        system::joined(thread)?;
    }
    time
}

fn stretch(bytes: usize) -> Vec<u64> {
    (0..bytes as u64 / 8).collect()
}

/// Reads and writes all of it.
fn pass(stretch: &mut [u64]) {
    for word in hint::black_box(&mut *stretch).iter_mut() {
        *word = word.wrapping_mul(3).wrapping_add(1);
    }
    hint::black_box(stretch);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(low: u64, nanos: u64, high: u64) -> Estimate {
        Estimate {
            nanos,
            low,
            high,
            samples: 9,
        }
    }

    #[test]
    fn the_bandwidth_is_known_where_all_at_once_are_surely_slower() {
        let streams = |together| Streams {
            cpus: 8,
            alone: estimate(90, 100, 110),
            together,
        };
        assert_eq!(
            streams(estimate(390, 400, 410)).bandwidth(),
            Some(2_000_000_000)
        );
        assert_eq!(streams(estimate(100, 120, 130)).bandwidth(), None);
    }
}
