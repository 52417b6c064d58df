//! Threads that hand a token to and fro, and threads that are created.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, Thread},
    time::Instant,
};

use crate::system;

/// CPU times of single steps, in nanoseconds.
#[derive(Default)]
pub(crate) struct Parts {
    /// Letting the other thread go on.
    pub calls: Vec<u64>,
    /// Waiting for it.
    pub waits: Vec<u64>,
    /// Waiting for what is there already.
    pub passes: Vec<u64>,
}

/// How many rounds come before those that count, until all is in the caches.
const WARM_UP: usize = 10;

/// A thread that hands a token back.
struct Partner {
    thread: thread::JoinHandle<io::Result<()>>,
    /// How often the token was handed over, by both: the other one has it when this is odd.
    turns: Arc<AtomicU64>,
}

impl Partner {
    /// Starts it on a CPU; it hands the token back to this thread so often.
    fn start(cpu: u32, rounds: usize) -> io::Result<Self> {
        let turns = Arc::new(AtomicU64::new(0));
        let (its, us) = (Arc::clone(&turns), thread::current());
        let run = move || {
            let pinned = system::pin(&[cpu]);
            for round in 0..rounds as u64 {
                wait_for(&its, 2 * round + 1);
                hand_over(&its, &us);
            }
            pinned
        };
        let thread = thread::Builder::new().spawn(run)?;
        Ok(Self { thread, turns })
    }

    fn join(self) -> io::Result<()> {
        system::joined(self.thread)
    }
}

fn wait_for(turns: &AtomicU64, turn: u64) {
    while turns.load(Ordering::Acquire) < turn {
        thread::park();
    }
}

fn hand_over(turns: &AtomicU64, to: &Thread) {
    turns.fetch_add(1, Ordering::Release);
    to.unpark();
}

/// Returns how long it takes to hand the token over once.
pub(crate) fn hop([here, there]: [u32; 2], rounds: usize) -> io::Result<u64> {
    system::pinned(vec![here], move || {
        let partner = Partner::start(there, rounds + WARM_UP)?;
        let mut begun = Instant::now();
        for round in 0..rounds + WARM_UP {
            if round == WARM_UP {
                begun = Instant::now();
            }
            hand_over(&partner.turns, partner.thread.thread());
            wait_for(&partner.turns, 2 * round as u64 + 2);
        }
        let elapsed = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        partner.join()?;
        Ok(elapsed / (2 * rounds.max(1)) as u64)
    })
}

/// Returns the CPU times of each step of handing the token over.
pub(crate) fn parts([here, there]: [u32; 2], rounds: usize) -> io::Result<Parts> {
    system::pinned(vec![here], move || {
        let partner = Partner::start(there, rounds + WARM_UP)?;
        let own = thread::current();
        let mut parts = Parts::default();
        for round in 0..rounds + WARM_UP {
            let begin = system::thread_cpu_nanos();
            hand_over(&partner.turns, partner.thread.thread());
            let called = system::thread_cpu_nanos();
            wait_for(&partner.turns, 2 * round as u64 + 2);
            let waited = system::thread_cpu_nanos();
            own.unpark();
            let ready = system::thread_cpu_nanos();
            thread::park();
            let passed = system::thread_cpu_nanos();
            if round >= WARM_UP {
                parts.calls.push(called.saturating_sub(begin));
                parts.waits.push(waited.saturating_sub(called));
                parts.passes.push(passed.saturating_sub(ready));
            }
        }
        partner.join()?;
        Ok(parts)
    })
}

/// Returns the CPU times of creating threads that begin on the second CPU. Where that is another, the system chooses; those
/// that begin on the first do not count.
pub(crate) fn creations([here, there]: [u32; 2], rounds: usize) -> io::Result<Vec<u64>> {
    let cpus = if here == there {
        vec![here]
    } else {
        vec![here, there]
    };
    system::pinned(cpus, move || {
        let mut times = Vec::new();
        for _ in 0..rounds.max(1) {
            let from = system::current_cpu();
            let begin = system::thread_cpu_nanos();
            let child = thread::Builder::new().spawn(system::current_cpu)?;
            let created = system::thread_cpu_nanos();
            let stayed = system::current_cpu() == from;
            let its_cpu = child.join().unwrap_or(None);
            if stayed && (its_cpu == from) == (here == there) {
                times.push(created.saturating_sub(begin));
            }
        }
        Ok(times)
    })
}
