//! What it takes to give memory back while another thread of the process does so, too: each has to interrupt the other, whose CPU
//! has to forget about the memory, and only one at a time may change what is mapped.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

use crate::system;

/// As many pages are given back at once: a small file's.
const PAGES: usize = 4;

/// Returns the time that giving memory back takes, beyond what it takes alone, beside a thread on the second CPU that does nothing else, in nanoseconds;
/// or where that is less, the time after which the next of both can do so.
pub(crate) fn beside_another([here, there]: [u32; 2], rounds: usize) -> io::Result<u64> {
    let alone = system::pinned(vec![here], move || give_back(rounds))?;
    let [is_there, is_over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (arrives, ends) = (Arc::clone(&is_there), Arc::clone(&is_over));
    let neighbour = thread::Builder::new().spawn(move || {
        let pinned = system::pin(&[there]);
        arrives.store(true, Ordering::Relaxed);
        while !ends.load(Ordering::Relaxed) {
            system::use_pages(PAGES)?;
        }
        pinned
    })?;
    let beside = system::pinned(vec![here], move || {
        while !is_there.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        give_back(rounds)
    });
    is_over.store(true, Ordering::Relaxed);
    system::joined(neighbour)?;
    let beside = beside?;
    Ok((beside / 2).min(beside.saturating_sub(alone)) / rounds.max(1) as u64)
}

/// Returns how long so many rounds take, in nanoseconds. Who waits for the other one sleeps.
fn give_back(rounds: usize) -> io::Result<u64> {
    let begin = Instant::now();
    for _ in 0..rounds {
        system::use_pages(PAGES)?;
    }
    Ok(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_on_one_cpu_as_well() {
        let cpu = system::allowed_cpus().expect("there are some")[0];
        assert!(beside_another([cpu; 2], 20).is_ok());
    }
}
