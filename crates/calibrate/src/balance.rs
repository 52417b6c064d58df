//! What keeps the system from spreading threads over CPUs.

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

use crate::{placement::UNTIL_FORGOTTEN, system};

/// For how long the system is given time: Linux looks every half a second at least.
const LONGEST: Duration = Duration::from_secs(1);

/// No thread has told where it is.
const NOWHERE: u32 = u32::MAX;

/// Runs as many threads as CPUs, all on the first of them, and then lets them go, until the system has given each a CPU of its own or a second
/// has passed; then the same on the last; and waits until that counts no more. Returns the CPU time that this took.
///
/// Linux lets an idle CPU look for threads that wait for others every few milliseconds, but where it finds only such as may not leave theirs, as
/// those of a program that was confined to one CPU, less and less often, down to every half a second (`balance_interval`,
/// `MAX_PINNED_INTERVAL` in `kernel/sched/fair.c`); that holds until it gets one. Threads of the next program may share one CPU for as long.
/// After this, they do not. Where threads wake or begin depends on how busy the CPUs were in the last tenth of a second, so the wait.
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
    thread::sleep(UNTIL_FORGOTTEN);
    Ok(Duration::from_nanos(used))
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
    fn threads_of_one_cpu_come_to_all() {
        let allowed = system::allowed_cpus().expect("the kernel tells");
        let begun = Instant::now();
        let used = spread(&allowed).expect("threads can be pinned to allowed CPUs");
        assert_eq!(used.is_zero(), allowed.len() == 1);
        assert!(begun.elapsed() < 10 * LONGEST, "it gives up");
        assert_eq!(spread(&[]).expect("there is nothing to do"), Duration::ZERO);
    }
}
