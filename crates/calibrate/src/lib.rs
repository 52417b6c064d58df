//! What it costs here to let threads on other CPUs go on, and what the memory gives them: measured with threads that are
//! pinned.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! let measured = foretrace_calibrate::calibrate(foretrace_calibrate::Effort::Least)?;
//! assert!(measured.one_cpu_hop.nanos > 0);
//! # Ok(())
//! # }
//! ```
//!
//! A token goes to and fro between two threads that wait for it by futexes, in turn on one CPU and between two, and a thread that
//! works lets one on another CPU go on that waits; medians are compared, since a median is not moved by the few times that others
//! had the CPU.
//!
//! [`spread`] lets the system use all CPUs again after programs were confined to one.
//!
//! [`network`] measures what messages between processes cost.
//!
//! Deliberately absent: files, printing, and what to make of the numbers.

mod balance;
mod contention;
mod estimate;
mod idle;
mod locks;
mod memory;
pub mod network;
mod placement;
mod remaps;
mod system;
mod threads;
mod wakes;

use std::{io, time::Duration};

use idle::Idle;
use wakes::Wakes;

pub use {
    balance::spread, estimate::Estimate, memory::Streams, placement::Placement,
    system::thread_cpu_nanos,
};

/// How often to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Just to see whether it works: some milliseconds.
    Least,
    /// A second or two.
    Brief,
    /// Some seconds.
    Usual,
}

impl Effort {
    /// Returns how many series to measure, and how many rounds each is of.
    fn series(self) -> (usize, usize) {
        match self {
            Self::Least => (3, 20),
            Self::Brief => (7, 500),
            Self::Usual => (31, 500),
        }
    }

    /// Returns how often to look where threads are put.
    fn placements(self) -> usize {
        match self {
            Self::Least => 1,
            Self::Brief => 5,
            Self::Usual => 9,
        }
    }

    /// Returns how many bytes of memory each thread is to go through, and how often. Caches must not hold them.
    fn streams(self) -> (usize, usize) {
        match self {
            Self::Least => (1 << 20, 1),
            Self::Brief => (64 << 20, 3),
            Self::Usual => (64 << 20, 9),
        }
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The CPU time that measuring took.
    pub cpu_nanos: u64,
    /// The CPUs this process may run on.
    pub allowed: Vec<u32>,
    /// From one thread's letting another go on to that one's having done so in turn, on one CPU.
    pub one_cpu_hop: Estimate,
    /// What is between CPUs; nothing where this process may run on one only.
    pub between: Option<Between>,
    /// What the memory gives them; as much.
    pub streams: Option<Streams>,
}

/// What is between two CPUs, beyond what it is on one.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// The CPUs, which do not share a core where there are such.
    pub cpus: [u32; 2],
    /// Whether they share one.
    pub share_core: bool,
    /// The hop, whole.
    pub hop: Estimate,
    /// From a thread's being let go on to its running on a CPU that was idle for long.
    pub wake_latency: Estimate,
    /// The same on one that was idle for less than `shallow_idle`.
    pub shallow_latency: Estimate,
    /// For how long that is so; nothing where it makes no difference.
    pub shallow_idle: Duration,
    /// The CPU time that this takes the one that lets it go on.
    pub wake_cost: Estimate,
    /// The CPU time that it takes to interrupt a CPU that is busy for a thread that is let go on.
    pub preempt_cost: Estimate,
    /// The CPU time of a wait.
    pub block_cost: Estimate,
    /// The CPU time that it takes to lock a mutex which a thread on the other CPU had last, beyond one that it did not.
    pub lock_transfer: Estimate,
    /// From a thread's asking the kernel to let it wait for a lock to its having that, which is given up at once.
    pub call_cost: Estimate,
    /// From a thread's giving up a lock that another one waits for to its having had that woken, beyond `wake_cost`.
    pub offer_cost: Estimate,
    /// The time by which giving memory back takes longer beside a thread of the process on the other CPU that does so, too.
    pub remap_cost: Estimate,
    /// The CPU time by which creating a thread takes longer where it begins elsewhere, beyond that of letting one go on
    /// there; nothing where the system never lets it begin elsewhere.
    pub create_cost: Option<Estimate>,
    /// Which of the two threads get that may run on both.
    pub placement: Placement,
}

/// How long a thread works before each time that it lets another one go on: as programs do that a barrier holds together.
const WORK: Duration = Duration::from_micros(50);

/// After so long, a thread that waits for a lock has fallen asleep.
const ASLEEP: Duration = Duration::from_micros(20);

/// Measures.
///
/// # Errors
///
/// Where threads cannot be made or pinned.
pub fn calibrate(effort: Effort) -> io::Result<Calibration> {
    let begun = system::process_cpu_nanos();
    let allowed = system::allowed_cpus()?;
    let Some(&first) = allowed.first() else {
        return Err(io::Error::other("this process may run on no CPU"));
    };
    let (series, rounds) = effort.series();
    let other = other_cpu(first, &allowed);
    let [mut same, mut across] = [(); 2].map(|()| Samples::default());
    let [mut here, mut to_busy] = [(); 2].map(|()| Wakes::default());
    let mut idle = Idle::default();
    let [mut transfers, mut calls, mut offers, mut remaps] = [(); 4].map(|()| Vec::new());
    // In turn, so that what changes meanwhile changes all.
    for number in 0..series {
        same.measure([first, first], rounds)?;
        let Some((second, _)) = other else {
            continue;
        };
        across.measure([first, second], rounds)?;
        let cpus = [first, second];
        let shared = locks::sections(cpus, true, 20 * rounds)?;
        let own = locks::sections(cpus, false, 20 * rounds)?;
        transfers.push(shared.saturating_sub(own));
        calls.extend(contention::waits(cpus, Duration::ZERO, rounds)?.map(|wait| wait.locking));
        offers.extend(contention::waits(cpus, ASLEEP, rounds / 5)?.map(|wait| wait.unlocking));
        remaps.push(remaps::beside_another(cpus, rounds)?);
        // These are fewer and longer.
        if number % 8 == 0 {
            let rounds = 4 * rounds;
            here.measure([first, first], false, (WORK, rounds))?;
            idle.measure([first, second], rounds)?;
            to_busy.measure([first, second], true, (WORK, rounds))?;
        }
    }
    let one_cpu_hop = Estimate::of(&mut same.hops);
    let Some((second, share_core)) = other else {
        return Ok(Calibration {
            cpu_nanos: system::process_cpu_nanos() - begun,
            allowed,
            one_cpu_hop,
            between: None,
            streams: None,
        });
    };
    let (shallow, deep) = idle.latencies();
    let (bytes, passes) = effort.streams();
    let streams = memory::streams(&allowed, bytes, passes)?;
    let hop = Estimate::of(&mut across.hops);
    let wake_cost = Estimate::of(&mut across.calls).beyond(Estimate::of(&mut same.calls));
    for offer in &mut offers {
        *offer = offer.saturating_sub(wake_cost.nanos);
    }
    let create_cost = (!across.creations.is_empty() && !same.creations.is_empty()).then(|| {
        let elsewhere = Estimate::of(&mut across.creations);
        elsewhere
            .beyond(Estimate::of(&mut same.creations))
            .beyond(wake_cost)
    });
    Ok(Calibration {
        cpu_nanos: system::process_cpu_nanos() - begun,
        allowed,
        one_cpu_hop,
        between: Some(Between {
            cpus: [first, second],
            share_core,
            hop,
            wake_latency: deep.beyond(one_cpu_hop),
            shallow_latency: shallow.beyond(one_cpu_hop),
            shallow_idle: idle.lasts(),
            wake_cost,
            preempt_cost: Estimate::of(&mut to_busy.waits).beyond(Estimate::of(&mut here.waits)),
            block_cost: Estimate::of(&mut across.waits).beyond(Estimate::of(&mut same.passes)),
            lock_transfer: Estimate::of(&mut transfers),
            call_cost: Estimate::of(&mut calls),
            offer_cost: Estimate::of(&mut offers),
            remap_cost: Estimate::of(&mut remaps),
            create_cost,
            placement: placement::measure([first, second], effort.placements())?,
        }),
        streams: Some(streams),
    })
}

/// What was measured with the threads on the same CPUs, in nanoseconds.
#[derive(Default)]
struct Samples {
    hops: Vec<u64>,
    /// CPU times of letting the other one go on.
    calls: Vec<u64>,
    /// CPU times of waiting.
    waits: Vec<u64>,
    /// CPU times of a wait for what is there already.
    passes: Vec<u64>,
    creations: Vec<u64>,
}

impl Samples {
    fn measure(&mut self, cpus: [u32; 2], rounds: usize) -> io::Result<()> {
        self.hops.push(threads::hop(cpus, rounds)?);
        let parts = threads::parts(cpus, rounds)?;
        self.calls.extend(parts.calls);
        self.waits.extend(parts.waits);
        self.passes.extend(parts.passes);
        self.creations
            .extend(threads::creations(cpus, rounds / 10)?);
        Ok(())
    }
}

/// Returns another CPU, of another core where there is one, and whether it shares the core.
fn other_cpu(first: u32, allowed: &[u32]) -> Option<(u32, bool)> {
    let siblings = system::siblings(first);
    let others = || allowed.iter().copied().filter(|&cpu| cpu != first);
    let elsewhere = others().find(|cpu| !siblings.contains(cpu));
    match elsewhere {
        Some(cpu) => Some((cpu, false)),
        None => others().next().map(|cpu| (cpu, true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_machine_this_is_something_is_measured() {
        let measured = calibrate(Effort::Least).expect("threads can be pinned to allowed CPUs");
        assert!(measured.one_cpu_hop.nanos > 0);
        assert_eq!(measured.between.is_some(), measured.allowed.len() > 1);
        if let Some(between) = measured.between {
            assert_ne!(between.cpus[0], between.cpus[1]);
            assert!(between.hop.nanos > 0);
            let streams = measured.streams.expect("it goes with the other");
            assert_eq!(streams.cpus as usize, measured.allowed.len().min(32));
            assert!(streams.alone.nanos > 0 && streams.together.nanos > 0);
        }
    }
}
