//! When threads get the CPU and lose it, seen from when they sleep so often that they may look for something in between.

use std::{
    fs::File,
    io,
    mem::offset_of,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use foretrace_trace::journal::layout::{FLAG_CLEAN_EXIT, FLAG_NAPS, Header};

use super::{
    growing::Growing,
    running::all_threads,
    samples::{Pace, Samples, Seen},
    spins::{INTERVAL, stays},
    watched::Turns,
};

/// The journals in which a program is recorded.
pub struct Naps {
    journals: Growing,
}

impl Naps {
    /// Of the journals in a directory.
    pub fn in_journals(directory: &Path) -> Self {
        Self {
            journals: Growing::in_directory(directory),
        }
    }

    /// Returns whether one of them says that its threads sleep so.
    pub fn are_taken(&mut self) -> bool {
        let mut are_taken = false;
        self.journals.look(|_, path| {
            let flags = flags_of(path).unwrap_or(0);
            are_taken |= flags & FLAG_NAPS != 0;
            flags & FLAG_CLEAN_EXIT != 0
        });
        are_taken
    }
}

fn flags_of(journal: &Path) -> io::Result<u64> {
    let mut flags = [0; size_of::<u64>()];
    let place = offset_of!(Header, flags) as u64;
    File::open(journal)?.read_exact_at(&mut flags, place)?;
    Ok(u64::from_ne_bytes(flags))
}

/// How often it is asked whether threads take naps, at first, and for how long that is, and then.
const OFTEN: Duration = Duration::from_millis(4);
const AT_FIRST: Duration = Duration::from_millis(200);

/// Of programs whose threads get the CPU more often than so many times a millisecond it is not seen when they do: that would take more than a sixth of
/// the time.
const MOST_TURNS: u128 = 60;

/// Sees when a program's threads get a CPU and lose it, from when they take many naps.
pub struct Napping {
    naps: Naps,
    cpu: u32,
    pid: u32,
    /// For how long it has been asked whether they take naps.
    asked: Duration,
    switches: Option<Samples>,
    /// For how long these have been seen, and how often any thread got the CPU.
    seen: Duration,
    turns: u128,
    /// Whether the kernel does not tell that, or it would disturb the program.
    is_refused: bool,
}

impl Napping {
    /// Of a program, by the journals that it is recorded in.
    pub fn of(naps: Naps, (cpu, pid): (u32, u32)) -> Self {
        Self {
            naps,
            cpu,
            pid,
            asked: Duration::ZERO,
            switches: None,
            seen: Duration::ZERO,
            turns: 0,
            is_refused: false,
        }
    }

    /// Sees for some time when threads get the CPU and lose it, if they take many naps. Returns whether the watch still goes on then.
    pub fn watch_for(&mut self, time: Duration, on: &Receiver<()>, turns: &mut Turns) -> bool {
        let mut left = time;
        while !left.is_zero() {
            let is_new = self.asked < AT_FIRST && self.switches.is_none();
            let step = left.min(if is_new { OFTEN } else { INTERVAL });
            let begun = Instant::now();
            let goes_on = stays(on, step);
            self.asked += step;
            left -= step;
            if let Some(switches) = &mut self.switches {
                switches.take(|sight| {
                    self.turns += u128::from(sight.seen == Seen::On);
                    turns.add(sight, None, false);
                });
                self.seen += begun.elapsed();
                if self.seen > AT_FIRST / 2 && self.turns > MOST_TURNS * self.seen.as_millis() {
                    self.give_up(turns);
                }
            } else if goes_on && !self.is_refused && self.naps.are_taken() {
                self.switches = samples_of_all(self.cpu, self.pid, Pace::Turns);
                self.is_refused = self.switches.is_none();
            }
            if !goes_on {
                return false;
            }
        }
        true
    }

    /// Sees no longer when threads get the CPU and lose it, which disturbs them too much; and forgets it, as half of it would be taken for all.
    fn give_up(&mut self, turns: &mut Turns) {
        self.switches = None;
        self.is_refused = true;
        turns.look_away();
        if !turns.any_spins() {
            *turns = Turns::default();
        }
    }

    /// Does not see it until the next time, while the program is looked at closely.
    pub fn leave_off(&mut self, turns: &mut Turns) {
        self.switches = None;
        turns.look_away();
    }
}

/// Begins to look at all threads of a program.
pub fn samples_of_all(cpu: u32, pid: u32, pace: Pace) -> Option<Samples> {
    let threads = all_threads(pid);
    let mut samples = Samples::of_threads(cpu, &threads, pace).ok()?;
    // Whoever was created meanwhile, by a thread that was not looked at yet.
    let mut late = all_threads(pid);
    late.retain(|thread| !threads.contains(thread));
    samples.add(cpu, &late, pace);
    Some(samples)
}
