//! How the system spreads threads over CPUs: when it does so in a program that just began, and what keeps it from that.

use std::{
    collections::BTreeSet,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{Effort, Estimate, system};

/// For how long the system is given time: Linux looks every half a second at least.
const LONGEST: Duration = Duration::from_secs(1);

/// No thread has told where it is.
const NOWHERE: u32 = u32::MAX;

/// Runs as many threads as CPUs, all on the first of them, and then lets them go, until the system has given each a CPU of its own or a second
/// has passed; then the same on the last. Returns the CPU time that this took.
///
/// Linux lets an idle CPU look for threads that wait for others every few milliseconds, but where it finds only such as may not leave theirs, as
/// those of a program that was confined to one CPU, less and less often, down to every half a second (`balance_interval`,
/// `MAX_PINNED_INTERVAL` in `kernel/sched/fair.c`); that holds until it gets one. Threads of the next program may share one CPU for as long.
/// After this, they do not.
///
/// # Errors
///
/// Where threads cannot be made or pinned.
pub fn spread(cpus: &[u32]) -> io::Result<Duration> {
    let [first, .., last] = *cpus else {
        return Ok(Duration::ZERO);
    };
    let before = system::process_cpu_nanos();
    spread_from(first, cpus)?;
    spread_from(last, cpus)?;
    let used = system::process_cpu_nanos().saturating_sub(before);
    Ok(Duration::from_nanos(used))
}

/// Returns when, after this process began, two of its threads that always run had a CPU each; a second at most. Call it first of all.
///
/// # Errors
///
/// Where no thread can be made.
pub fn come_apart() -> io::Result<Duration> {
    let begun = Instant::now();
    let other = Arc::new(AtomicU32::new(NOWHERE));
    let over = Arc::new(AtomicBool::new(false));
    let (its_place, it_is_over) = (Arc::clone(&other), Arc::clone(&over));
    let thread = thread::Builder::new().spawn(move || {
        while !it_is_over.load(Ordering::Relaxed) {
            its_place.store(system::current_cpu().unwrap_or(NOWHERE), Ordering::Relaxed);
        }
        Ok(())
    })?;
    let are_apart = || {
        let other = other.load(Ordering::Relaxed);
        other != NOWHERE && system::current_cpu() != Some(other)
    };
    while begun.elapsed() < LONGEST && !are_apart() {
        std::hint::spin_loop();
    }
    let took = begun.elapsed();
    over.store(true, Ordering::Relaxed);
    system::joined(thread)?;
    Ok(took)
}

/// Measures for how long threads of a process that just began stay on one CPU, and the CPU time that this took, in nanoseconds. `begin` starts
/// a process that calls [`come_apart`], and returns what it told.
///
/// # Errors
///
/// Where threads cannot be made or pinned, and those of `begin`.
pub fn together(
    cpus: &[u32],
    effort: Effort,
    mut begin: impl FnMut() -> io::Result<Duration>,
) -> io::Result<(Estimate, u64)> {
    let used = || system::process_cpu_nanos() + system::children_cpu_nanos();
    let before = used();
    let mut times = Vec::new();
    for _ in 0..effort.processes() {
        spread(cpus)?;
        times.push(u64::try_from(begin()?.as_nanos()).unwrap_or(u64::MAX));
    }
    Ok((Estimate::of(&mut times), used().saturating_sub(before)))
}

fn spread_from(one: u32, cpus: &[u32]) -> io::Result<()> {
    let nowhere = || AtomicU32::new(NOWHERE);
    let places: Arc<Vec<AtomicU32>> = Arc::new(cpus.iter().map(|_| nowhere()).collect());
    let over = Arc::new(AtomicBool::new(false));
    let begun = Instant::now();
    let threads: Vec<_> = (0..cpus.len())
        .map(|own| {
            let (places, over, cpus) = (Arc::clone(&places), Arc::clone(&over), cpus.to_vec());
            thread::Builder::new().spawn(move || {
                system::pin(&[one])?;
                system::pin(&cpus)?;
                while !over.load(Ordering::Relaxed) {
                    let place = system::current_cpu().unwrap_or(NOWHERE);
                    places[own].store(place, Ordering::Relaxed);
                    let all = places.iter().map(|place| place.load(Ordering::Relaxed));
                    let taken: BTreeSet<u32> = all.filter(|&place| place != NOWHERE).collect();
                    if taken.len() == places.len() || begun.elapsed() > LONGEST {
                        over.store(true, Ordering::Relaxed);
                    }
                }
                Ok(())
            })
        })
        .collect::<io::Result<_>>()?;
    threads.into_iter().try_for_each(system::joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_come_apart_where_there_are_two_cpus() {
        let allowed = system::allowed_cpus().expect("the kernel tells");
        let effort = Effort::Least;
        let (told, _) = together(&allowed, effort, come_apart).expect("threads can be made");
        assert_eq!(told.samples, effort.processes());
        assert!(told.nanos > 0);
    }

    #[test]
    fn threads_of_one_cpu_come_to_all() {
        let allowed = system::allowed_cpus().expect("the kernel tells");
        let begun = Instant::now();
        let used = spread(&allowed).expect("threads can be pinned to allowed CPUs");
        assert_eq!(used.is_zero(), allowed.len() == 1);
        assert!(begun.elapsed() < 10 * LONGEST, "it gives up");
        assert_eq!(spread(&[]).expect("there is nothing to do"), Duration::ZERO);
    }
}
