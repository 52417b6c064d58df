//! A thread that works, and now and then lets another go on that waits on another CPU.
//!
//! How long that takes depends on how long the CPU was idle: systems choose states from which it wakes sooner if they expect it to be wanted
//! soon, and hosts of virtual machines look for a while whether it is, before they let it sleep.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::system;

/// What was measured, in nanoseconds.
#[derive(Default)]
pub(crate) struct Wakes {
    /// From letting the thread go on to its going on.
    pub delays: Vec<u64>,
    /// The CPU time of its waits.
    pub waits: Vec<u64>,
}

impl Wakes {
    /// Measures so many, of which the second half counts, of a thread on the second CPU that one on the first lets go on each time that it has
    /// worked for so long; if that CPU is to be `busy`, another thread runs there all the time.
    pub fn measure(
        &mut self,
        [here, there]: [u32; 2],
        busy: bool,
        (work, rounds): (Duration, usize),
    ) -> io::Result<()> {
        let over = Arc::new(AtomicBool::new(false));
        let neighbour = busy.then(|| {
            let over = Arc::clone(&over);
            thread::Builder::new().spawn(move || {
                let pinned = system::pin(&[there]);
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                pinned
            })
        });
        let neighbour = neighbour.transpose()?;
        let measured = system::pinned(vec![here], move || wakes(there, work, rounds));
        over.store(true, Ordering::Relaxed);
        neighbour.map_or(Ok(()), system::joined)?;
        let measured = measured?;
        // At first they are quicker, until systems and what they run on have seen that this CPU sleeps again and again.
        let settled = measured.delays.len() / 2;
        self.delays.extend(&measured.delays[settled..]);
        self.waits.extend(&measured.waits[settled..]);
        Ok(())
    }
}

fn wakes(there: u32, work: Duration, rounds: usize) -> io::Result<Wakes> {
    let base = Instant::now();
    let now = move || u64::try_from(base.elapsed().as_nanos()).unwrap_or(u64::MAX);
    // When it was let go on last, and how often it has gone on.
    let called = Arc::new(AtomicU64::new(0));
    let gone_on = Arc::new(AtomicU64::new(0));
    let (its_called, its_gone_on) = (Arc::clone(&called), Arc::clone(&gone_on));
    let sleeper = thread::Builder::new().spawn(move || {
        system::pin(&[there])?;
        let mut wakes = Wakes::default();
        let mut before = 0;
        for round in 1..=rounds as u64 {
            let begun = system::thread_cpu_nanos();
            let at = loop {
                let at = its_called.load(Ordering::Acquire);
                if at > before {
                    break at;
                }
                thread::park();
            };
            wakes.delays.push(now().saturating_sub(at));
            let ended = system::thread_cpu_nanos();
            wakes.waits.push(ended.saturating_sub(begun));
            before = at;
            its_gone_on.store(round, Ordering::Release);
        }
        Ok(wakes)
    })?;
    for round in 1..=rounds as u64 {
        let begun = Instant::now();
        while begun.elapsed() < work {
            std::hint::spin_loop();
        }
        called.store(now(), Ordering::Release);
        sleeper.thread().unpark();
        while gone_on.load(Ordering::Acquire) < round && !sleeper.is_finished() {
            thread::yield_now();
        }
    }
    system::joined(sleeper)
}
