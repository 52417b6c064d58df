//! What the ranks do: the first measures, the second answers, and the others are there.
//!
//! # Source
//!
//! T. Hoefler, A. Lichei, W. Rehm, *Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks*, 2007: bursts,
//! and messages that are spaced by a round trip; T. Kielmann, H. Bal, K. Verstoep, *Fast Measurement of `LogP` Parameters
//! for Message Passing Platforms*, 2000: times within a send, and within a receive that comes late; Y. Mizutani, F. Ino, K. Hagihara,
//! *An Emulation System for Predicting Master/Slave Program Performance*, 2003: receives from anybody among ranks that are idle.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use super::{
    NetworkCalibrationError, Part,
    ffi::Mpi,
    plan::{LARGEST, Plan},
    samples::{Quantity, Spread, Told},
};
use crate::{Effort, system};

/// The tags of messages.
const DATA: i32 = 1;
const COMMAND: i32 = 2;
const END: i32 = 3;

/// A rank ends that for so long has neither been told nor measured anything: those that it waits for are gone, and nobody ends it.
const LONGEST_SILENCE: Duration = Duration::from_mins(5);

/// How often ranks that only are there look whether it is over.
const GLANCE: Duration = Duration::from_millis(20);

/// As many rounds come first that do not count.
const WARM_UP: usize = 3;

/// And as many before anything is measured, until connections are made and CPUs are fast; in turns, unless it takes too long.
const FIRST_WARM_UP: usize = 50;
const WARM_UP_TURNS: usize = 20;
const LONGEST_WARM_UP: Duration = Duration::from_millis(200);

/// How often combining is measured in a turn.
const COMBINES: usize = 20;

/// What the second rank is to do.
#[derive(Clone, Copy)]
enum Command {
    /// Nothing more.
    End,
    /// So often: receive a burst of messages, and send one.
    Echo { rounds: u64, burst: u64, bytes: u64 },
    /// So often: receive a message of one byte, and send one.
    Answer { rounds: u64, bytes: u64 },
    /// Send a message of one byte, let so many microseconds go by, out of MPI or in calls that receive nothing, and receive.
    Stay {
        micros: u64,
        bytes: u64,
        in_calls: bool,
    },
}

/// A command as it is sent.
type CommandBytes = [u8; 32];

impl Command {
    fn to_bytes(self) -> CommandBytes {
        let words = match self {
            Self::End => [0; 4],
            Self::Echo {
                rounds,
                burst,
                bytes,
            } => [1, bytes, rounds, burst],
            Self::Answer { rounds, bytes } => [2, bytes, rounds, 0],
            Self::Stay {
                micros,
                bytes,
                in_calls,
            } => [3, bytes, micros, in_calls.into()],
        };
        let mut all = [0; 32];
        for (word, place) in words.into_iter().zip(all.chunks_exact_mut(8)) {
            place.copy_from_slice(&u64::to_le_bytes(word));
        }
        all
    }

    fn of_bytes(all: &CommandBytes) -> Self {
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&all[8 * at..8 * at + 8]);
            u64::from_le_bytes(bytes)
        };
        let bytes = word(1);
        match word(0) {
            1 => Self::Echo {
                rounds: word(2),
                burst: word(3),
                bytes,
            },
            2 => Self::Answer {
                rounds: word(2),
                bytes,
            },
            3 => Self::Stay {
                micros: word(2),
                bytes,
                in_calls: word(3) != 0,
            },
            _ => Self::End,
        }
    }
}

/// Takes part in a calibration as one of its ranks; the first tells what it measured.
///
/// # Errors
///
/// Where there is no library of MPI, or it does not work.
pub fn take_part(
    libraries: &[String],
    part: Part,
    effort: Effort,
    mut tell: impl FnMut(&Told),
) -> Result<(), NetworkCalibrationError> {
    let mpi = Mpi::join(libraries)?;
    system::end_in(LONGEST_SILENCE);
    match (mpi.rank, mpi.size) {
        (_, 0 | 1) => tell(&Told::Fault(
            "each rank is alone: the launcher does not belong to the library of MPI".to_owned(),
        )),
        (0, _) => {
            tell(&Told::Library(mpi.version.clone()));
            if let Some(fault) = meet(&mpi, &mut tell) {
                tell(&Told::Fault(fault));
            } else {
                First::new(&mpi, effort, &mut tell).measure(part);
            }
            mpi.send(1, COMMAND, &Command::End.to_bytes());
            for rank in 2..mpi.size {
                mpi.send(rank, END, &[0]);
            }
            tell(&Told::Done);
        }
        (1, _) => {
            introduce(&mpi);
            answer(&mpi);
        }
        _ => {
            introduce(&mpi);
            while !mpi.is_there(0, END) {
                thread::sleep(GLANCE);
            }
            mpi.receive(Some(0), END, &mut [0]);
        }
    }
    mpi.leave();
    Ok(())
}

/// As long as the name of a computer may be, and the CPUs that a rank may use.
const HOST_BYTES: usize = 64;
const CPU_BYTES: usize = 4 * 1_024;

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().replace(' ', "_");
    if name.is_empty() {
        "?".to_owned()
    } else {
        name
    }
}

/// Tells the first rank where this one is, goes where that says, and lets both be connected.
fn introduce(mpi: &Mpi) {
    let mut name = host().into_bytes();
    name.resize(HOST_BYTES, 0);
    mpi.send(0, DATA, &name);
    let allowed = system::allowed_cpus().unwrap_or_default();
    let mut cpus: Vec<u8> = allowed.iter().flat_map(|cpu| cpu.to_le_bytes()).collect();
    // Where there are fewer, they end with one that there cannot be.
    cpus.resize(CPU_BYTES, u8::MAX);
    mpi.send(0, DATA, &cpus);
    let mut cpu = [0; 4];
    mpi.receive(Some(0), DATA, &mut cpu);
    let cpu = u32::from_le_bytes(cpu);
    // One that was not allowed any more would only be less sure.
    if cpu != u32::MAX {
        let _ = system::pin(&[cpu]);
    }
}

/// Meets all others, and puts the second rank on another CPU than this one. Returns what makes that impossible.
fn meet(mpi: &Mpi, tell: &mut impl FnMut(&Told)) -> Option<String> {
    let here = host();
    let own = system::allowed_cpus().unwrap_or_default();
    let own_cpu = own.first().copied().unwrap_or_default();
    let mut fault = None;
    for rank in 1..mpi.size {
        let mut name = [0; HOST_BYTES];
        mpi.receive(Some(rank), DATA, &mut name);
        let mut cpus = vec![0; CPU_BYTES];
        mpi.receive(Some(rank), DATA, &mut cpus);
        let mut cpu = u32::MAX;
        if rank == 1 {
            let name = String::from_utf8_lossy(&name);
            let there = name.trim_end_matches('\0').to_owned();
            let allowed: Vec<u32> = cpus
                .chunks_exact(4)
                .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                .take_while(|cpu| *cpu != u32::MAX)
                .collect();
            let other = if there == here {
                crate::other_cpu(own_cpu, &allowed)
            } else {
                allowed.first().map(|cpu| (*cpu, false))
            };
            match other {
                Some((other, share_core)) => {
                    cpu = other;
                    tell(&Told::Cpus([own_cpu, other], share_core));
                    tell(&Told::Hosts([here.clone(), there]));
                }
                None => fault = Some(ONE_CPU.to_owned()),
            }
        }
        mpi.send(rank, DATA, &cpu.to_le_bytes());
    }
    if fault.is_none() {
        let _ = system::pin(&[own_cpu]);
    }
    fault
}

/// Why it cannot be measured on one CPU.
pub(crate) const ONE_CPU: &str = "only one CPU may be used, on which both ranks of a ping-pong take turns: what a message costs between \
     two cannot be measured there; allow another CPU, or name other computers with --launcher";

/// What the second rank does until it is over.
fn answer(mpi: &Mpi) {
    let mut buffer = vec![1_u8; LARGEST as usize];
    loop {
        let mut command = [0; 32];
        mpi.receive(Some(0), COMMAND, &mut command);
        system::end_in(LONGEST_SILENCE);
        match Command::of_bytes(&command) {
            Command::End => return,
            Command::Echo {
                rounds,
                burst,
                bytes,
            } => {
                let buffer = &mut buffer[..bytes as usize];
                for _ in 0..rounds {
                    for _ in 0..burst {
                        mpi.receive(Some(0), DATA, buffer);
                    }
                    mpi.send(0, DATA, buffer);
                }
            }
            Command::Answer { rounds, bytes } => {
                for _ in 0..rounds {
                    mpi.receive(Some(0), DATA, &mut [0]);
                    mpi.send(0, DATA, &buffer[..bytes as usize]);
                }
            }
            Command::Stay {
                micros,
                bytes,
                in_calls,
            } => {
                mpi.send(0, DATA, &[0]);
                let time = Duration::from_micros(micros);
                if in_calls {
                    let begun = Instant::now();
                    while begun.elapsed() < time {
                        mpi.is_there(0, END);
                    }
                } else {
                    thread::sleep(time);
                }
                mpi.receive(Some(0), DATA, &mut buffer[..bytes as usize]);
            }
        }
    }
}

/// The rank that measures.
struct First<'a, T> {
    mpi: &'a Mpi,
    plan: Plan,
    tell: T,
    /// What telling the time takes, in nanoseconds.
    clock: f64,
    out: Vec<u8>,
    into: Vec<u8>,
    /// Whom receives are from: anybody, in a crowd.
    from: Option<u32>,
}

impl<'a, T: FnMut(&Told)> First<'a, T> {
    fn new(mpi: &'a Mpi, effort: Effort, tell: T) -> Self {
        let [out, into] = [1, 2].map(|value| vec![value; LARGEST as usize]);
        Self {
            mpi,
            plan: Plan::of(effort),
            tell,
            clock: clock_cost(),
            out,
            into,
            from: Some(1),
        }
    }

    fn measure(&mut self, part: Part) {
        match part {
            Part::Sizes => self.measure_sizes(),
            Part::Crowd => self.measure_crowd(),
        }
    }

    fn measure_sizes(&mut self) {
        self.warm_up();
        let eager = self.sent_up_to(true);
        (self.tell)(&Told::EagerUpTo(eager));
        let unaided = self.sent_up_to(false);
        (self.tell)(&Told::UnaidedUpTo(unaided));
        let mut sizes = self.plan.sizes.clone();
        // So that the lines begin and end where the protocol changes.
        let changes = [eager, unaided].into_iter().flatten();
        sizes.extend(changes.flat_map(|bytes| [bytes, bytes + 1]));
        sizes.sort_unstable();
        sizes.dedup();
        sizes.retain(|bytes| (1..=LARGEST).contains(bytes));
        let checks = self.plan.checks.clone();
        let combined = self.plan.combined.clone();
        let all = (self.plan.passes * sizes.len()) as u32;
        for pass in 0..self.plan.passes {
            for (number, &bytes) in sizes.iter().enumerate() {
                self.all_of(bytes, eager.is_none_or(|eager| bytes <= eager));
                let done = (pass * sizes.len() + number + 1) as u32;
                (self.tell)(&Told::Progress(done, all));
            }
            for &bytes in &checks {
                let (_, round_trips) = self.usual_round_trips(bytes);
                (self.tell)(&Told::Samples(Quantity::Check, bytes, round_trips));
            }
            for &bytes in &combined {
                let times = self.combines(bytes);
                (self.tell)(&Told::Samples(Quantity::Combine, bytes, times));
            }
        }
    }

    /// Measures small messages only, received from anybody.
    fn measure_crowd(&mut self) {
        self.from = None;
        self.warm_up();
        for pass in 0..self.plan.passes {
            self.all_of(1, true);
            (self.tell)(&Told::Progress(pass as u32 + 1, self.plan.passes as u32));
        }
    }

    fn warm_up(&mut self) {
        let begun = Instant::now();
        for _ in 0..WARM_UP_TURNS {
            self.round_trips(1, FIRST_WARM_UP);
            if begun.elapsed() > LONGEST_WARM_UP {
                return;
            }
        }
    }

    /// Measures everything of a size.
    fn all_of(&mut self, bytes: u64, is_eager: bool) {
        let (usual, round_trips) = self.usual_round_trips(bytes);
        (self.tell)(&Told::Samples(Quantity::RoundTrip, bytes, round_trips));
        let bursts = self.rounds(usual * 2 * self.plan.burst as u32);
        let sends = self.sends(bytes, bursts, usual);
        (self.tell)(&Told::Samples(Quantity::Send, bytes, sends));
        let gaps = self.gaps(bytes, bursts, usual);
        (self.tell)(&Told::Samples(Quantity::Gap, bytes, gaps));
        // A receive that comes late gets all of a large message only then: that is no overhead.
        if is_eager {
            let receives = self.receives(bytes, self.rounds(usual * 3), usual);
            (self.tell)(&Told::Samples(Quantity::Receive, bytes, receives));
        }
    }

    /// Returns how many rounds there is time for, of which each takes so long.
    fn rounds(&self, each: Duration) -> usize {
        let fit = self.plan.budget.as_nanos() / each.as_nanos().max(1);
        (fit as usize).clamp(5.min(self.plan.rounds), self.plan.rounds)
    }

    /// Returns the median, and all.
    fn usual_round_trips(&mut self, bytes: u64) -> (Duration, Vec<f64>) {
        let usual = |times: &[f64]| {
            let median = Spread::of(times).map_or(0.0, |spread| spread.median);
            Duration::from_secs_f64(median / 1e9)
        };
        let few = self.round_trips(bytes, 3);
        let times = self.round_trips(bytes, self.rounds(usual(&few)));
        (usual(&times), times)
    }

    fn command(&self, command: Command) {
        system::end_in(LONGEST_SILENCE);
        self.mpi.send(1, COMMAND, &command.to_bytes());
    }

    /// Returns times since an instant, in nanoseconds, without what telling the time takes.
    fn since(&self, begun: Instant) -> f64 {
        (begun.elapsed().as_nanos() as f64 - self.clock).max(0.1)
    }

    fn round_trips(&mut self, bytes: u64, rounds: usize) -> Vec<f64> {
        let rounds = rounds + WARM_UP;
        self.command(Command::Echo {
            rounds: rounds as u64,
            burst: 1,
            bytes,
        });
        let bytes = bytes as usize;
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let begun = Instant::now();
            self.mpi.send(1, DATA, &self.out[..bytes]);
            self.mpi.receive(self.from, DATA, &mut self.into[..bytes]);
            times.push(self.since(begun));
        }
        times.split_off(WARM_UP)
    }

    /// Returns the times in sends that are so far apart that the receiver always waits for them.
    fn sends(&mut self, bytes: u64, rounds: usize, apart: Duration) -> Vec<f64> {
        let burst = self.plan.burst;
        self.command(Command::Echo {
            rounds: rounds as u64,
            burst: burst as u64,
            bytes,
        });
        let bytes = bytes as usize;
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let mut all = 0.0;
            for _ in 0..burst {
                let begun = Instant::now();
                self.mpi.send(1, DATA, &self.out[..bytes]);
                all += self.since(begun);
                stay_away(apart);
            }
            self.mpi.receive(self.from, DATA, &mut self.into[..bytes]);
            times.push(all / burst as f64);
        }
        times
    }

    /// Returns by how much each further message of a burst makes it longer.
    fn gaps(&mut self, bytes: u64, rounds: usize, round_trip: Duration) -> Vec<f64> {
        let burst = self.plan.burst;
        self.command(Command::Echo {
            rounds: rounds as u64,
            burst: burst as u64,
            bytes,
        });
        let bytes = bytes as usize;
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let begun = Instant::now();
            for _ in 0..burst {
                self.mpi.send(1, DATA, &self.out[..bytes]);
            }
            self.mpi.receive(self.from, DATA, &mut self.into[..bytes]);
            let beyond = self.since(begun) - round_trip.as_nanos() as f64;
            times.push(beyond.max(0.0) / (burst - 1).max(1) as f64);
        }
        times
    }

    /// Returns the times in receives of messages that have been there for long.
    fn receives(&mut self, bytes: u64, rounds: usize, round_trip: Duration) -> Vec<f64> {
        let rounds = rounds + WARM_UP;
        self.command(Command::Answer {
            rounds: rounds as u64,
            bytes,
        });
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            self.mpi.send(1, DATA, &[0]);
            stay_away(2 * round_trip + Duration::from_micros(5));
            let begun = Instant::now();
            self.mpi
                .receive(self.from, DATA, &mut self.into[..bytes as usize]);
            times.push(self.since(begun));
        }
        times.split_off(WARM_UP)
    }

    /// Returns the times of what a reduction does without any message: a rank's own numbers are copied, and those of another added.
    fn combines(&self, bytes: u64) -> Vec<f64> {
        let bytes = bytes as usize;
        let (own, others) = (&self.out[..bytes], &self.into[..bytes]);
        let mut sum = vec![0; bytes];
        let mut times = Vec::new();
        for _ in 0..COMBINES + WARM_UP {
            let begun = Instant::now();
            sum.copy_from_slice(own);
            if !self.mpi.combine(others, &mut sum) {
                return Vec::new();
            }
            times.push(self.since(begun));
        }
        times.split_off(WARM_UP)
    }

    /// Returns the size of the largest message whose send is over before there is a receive for it; none where that is so of
    /// all. The receiver may meanwhile be in calls of MPI, as is usual, or out of it: implementations may need its help to hand
    /// a message over.
    fn sent_up_to(&mut self, in_calls: bool) -> Option<u64> {
        let (mut eager, mut waits) = (0, None);
        // A send may be held up by chance: that of twice the size has to wait, too.
        for bytes in (0..=LARGEST.ilog2()).map(|power| 1 << power) {
            if self.is_sent(bytes, in_calls) {
                (eager, waits) = (bytes, None);
            } else if waits.is_some() {
                break;
            } else {
                waits = Some(bytes);
            }
        }
        let mut waits = waits?;
        while waits - eager > 1 {
            let middle = eager.midpoint(waits);
            if self.is_sent(middle, in_calls) {
                eager = middle;
            } else {
                waits = middle;
            }
        }
        Some(eager)
    }

    fn is_sent(&mut self, bytes: u64, in_calls: bool) -> bool {
        let absence = self.plan.absence;
        (0..self.plan.tries).any(|_| {
            // The receiver may still be away from the try before.
            self.round_trips(1, 1);
            let begun = Instant::now();
            self.command(Command::Stay {
                micros: absence.as_micros() as u64,
                bytes,
                in_calls,
            });
            self.mpi.receive(self.from, DATA, &mut [0]);
            // Until it is asleep.
            stay_away(absence / 20);
            self.mpi.send(1, DATA, &self.out[..bytes as usize]);
            // Else this rank may have been held up itself until the receiver was back.
            begun.elapsed() < absence
        })
    }
}

/// Stays out of MPI for a time, and busy: a CPU that went to sleep would have to wake.
fn stay_away(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn clock_cost() -> f64 {
    let times: Vec<f64> = (0..1_000)
        .map(|_| Instant::now().elapsed().as_nanos() as f64)
        .collect();
    Spread::of(&times).map_or(0.0, |spread| spread.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_arrive_as_they_were_given() {
        for command in [
            Command::End,
            Command::Echo {
                rounds: 3,
                burst: 4,
                bytes: 1 << 40,
            },
            Command::Answer {
                rounds: 7,
                bytes: 0,
            },
            Command::Stay {
                micros: 20_000,
                bytes: 1,
                in_calls: true,
            },
        ] {
            let bytes = command.to_bytes();
            assert_eq!(Command::of_bytes(&bytes).to_bytes(), bytes);
        }
    }

    #[test]
    fn the_clock_takes_its_time_but_not_much() {
        assert!((0.0..1e6).contains(&clock_cost()));
    }
}
