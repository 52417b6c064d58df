//! The turns of threads on the CPU, and how many of them ended in a loop that waits.

use std::collections::BTreeMap;

use super::samples::{Pace, Seen, Sight};

/// A turn: when it began and ended, by `CLOCK_MONOTONIC`, and how long the thread had been in which loop when it lost the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub on: u64,
    pub off: u64,
    pub looked: u64,
    pub place: Option<usize>,
    /// Whether a metronome may have ended it.
    pub is_beaten: bool,
    /// Whether samples were taken in it.
    pub is_sampled: bool,
}

/// As many turns are kept: 160 megabytes. What threads did after that is taken for work.
const MOST: usize = 1 << 22;

/// The turns of a program's threads.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    threads: BTreeMap<u32, Watched>,
    count: usize,
    /// Whether a metronome beats.
    beats: bool,
    /// Whether samples are taken.
    samples: bool,
}

/// Less time than so much in a loop is not told by samples, in nanoseconds; and others that have the CPU have it for longer.
const LEAST: u64 = 50_000;

/// A thread that is looked at closely.
#[derive(Clone, Debug, Default)]
struct Watched {
    turns: Vec<Turn>,
    /// When it was seen to be waiting in a loop that goes on by itself.
    waited: Vec<u64>,
    /// When the present one began.
    on: Option<u64>,
    /// Whether nothing else was seen in it yet.
    is_fresh: bool,
    /// When it was last seen to do something else than to wait, in this turn.
    worked: u64,
    /// Whether it was seen where it was as it lost the CPU.
    is_sure: bool,
    /// The loop that it is in, and since when.
    looks: Option<(u64, usize)>,
    /// The loop that the one before ended in.
    looked: Option<usize>,
    /// In how many samples of this turn it was seen to do something else than to wait.
    works: u64,
    /// What it did in turns that ended in a loop.
    between: Between,
}

/// What a thread did in turns that ended in a loop: a work that is much shorter than the time between samples, before the thread looks again, is in few of
/// them, and yet as many samples are in such works as they are long together.
#[derive(Clone, Debug, Default)]
struct Between {
    /// How many samples were in works.
    samples: u64,
    /// How long these works were taken to be, in nanoseconds.
    told: u64,
    /// In which turns any was seen, and how long that was at least, in nanoseconds.
    seen: Vec<(usize, u64)>,
    /// In how many turns none was seen.
    unseen: u64,
}

impl Between {
    /// Returns how long all works were together, if they were so short that what samples tell of a single one is wrong.
    fn short_works(&self) -> Option<u64> {
        let period = Pace::Closely.period();
        let all = self.samples * period;
        let owed = all.saturating_sub(self.told);
        let is_chance = owed as f64 <= SURE * (self.samples as f64).sqrt() * period as f64;
        let is_short = all < (self.seen.len() as u64 + self.unseen) * (period / SHORT);
        (is_short && !is_chance).then_some(all)
    }
}

/// Works are short that are in less than one in so many samples' time.
const SHORT: u64 = 4;

/// What is no more than so many standard deviations may be chance.
const SURE: f64 = 3.0;

impl Turns {
    /// Adds what was seen of a thread; of an instruction, also which waiting loop it is in, and whether that one goes on by itself.
    pub fn add(&mut self, sight: Sight, place: Option<usize>, is_bounded: bool) {
        let thread = self.threads.entry(sight.tid).or_default();
        match sight.seen {
            Seen::On => {
                thread.on = Some(sight.at);
                thread.is_fresh = true;
                thread.works = 0;
                thread.looks = None;
                thread.worked = sight.at;
            }
            Seen::Leaves(_) => {
                thread.was_at(sight.at, place.filter(|_| !is_bounded));
                thread.is_sure = true;
            }
            Seen::At(_) => {
                thread.was_at(sight.at, place.filter(|_| !is_bounded));
                thread.works += u64::from(place.is_none());
                if is_bounded && self.count < MOST {
                    thread.waited.push(sight.at);
                    self.count += 1;
                }
            }
            Seen::Off(could_go_on) => {
                if let Some(turn) = thread.turn_until(sight.at, could_go_on)
                    && self.count < MOST
                {
                    let is_beaten = self.beats && could_go_on;
                    let is_sampled = self.samples;
                    thread.turns.push(Turn {
                        is_beaten,
                        is_sampled,
                        ..turn
                    });
                    self.count += 1;
                }
            }
        }
    }

    /// Notes whether a metronome beats from now on.
    pub fn set_beats(&mut self, beats: bool) {
        self.beats = beats;
    }

    /// Notes whether samples are taken from now on.
    pub fn set_samples(&mut self, samples: bool) {
        self.samples = samples;
    }

    /// Takes works that are too short to be seen in each turn out of the time that threads looked at memory.
    pub fn find_short_works(&mut self) {
        for thread in self.threads.values_mut() {
            thread.find_short_works();
        }
    }

    /// Forgets what the threads are in the midst of: they are not looked at for a while.
    pub fn look_away(&mut self) {
        for thread in self.threads.values_mut() {
            thread.on = None;
            thread.looks = None;
            thread.looked = None;
        }
    }

    /// Returns the turns of each thread, by its number.
    pub fn of_threads(&self) -> impl Iterator<Item = (u32, &[Turn])> {
        let threads = self.threads.iter();
        threads.map(|(&tid, thread)| (tid, thread.turns.as_slice()))
    }

    /// Returns when each thread, by its number, was seen to be waiting in a loop that goes on by itself.
    pub fn waited(&self) -> impl Iterator<Item = (u32, &[u64])> {
        let threads = self.threads.iter();
        threads.map(|(&tid, thread)| (tid, thread.waited.as_slice()))
    }

    /// Returns whether a metronome may have ended any turn.
    pub fn any_beaten(&self) -> bool {
        let mut turns = self.of_threads().flat_map(|(_, turns)| turns);
        turns.any(|turn| turn.is_beaten)
    }

    /// Returns whether any turn ended in a loop, or one was seen that goes on by itself.
    pub fn any_spins(&self) -> bool {
        let spins = |turns: &[Turn]| turns.iter().any(|turn| turn.looked > 0);
        self.of_threads().any(|(_, turns)| spins(turns))
            || self.waited().any(|(_, times)| !times.is_empty())
    }
}

impl Watched {
    /// It was seen at a time where it waits in a loop, or does something else.
    fn was_at(&mut self, at: u64, place: Option<usize>) {
        let on = *self.on.get_or_insert(at);
        let goes_on = self.is_fresh && place == self.looked;
        self.is_fresh = false;
        let began = at
            .saturating_sub(Pace::Closely.period())
            .max(on)
            .max(self.worked);
        self.looks = place.map(|place| match self.looks {
            Some((since, before)) if before == place => (since, place),
            // It still looks for what it looked for when it lost the CPU.
            _ if goes_on => (on, place),
            _ => (u64::midpoint(began, at), place),
        });
        if self.looks.is_none() {
            self.worked = at;
        }
    }

    fn find_short_works(&mut self) {
        let between = std::mem::take(&mut self.between);
        let Some(all) = between.short_works() else {
            return;
        };
        let turns = between.seen.len() as u64 + between.unseen;
        let usual = all / turns.max(1);
        let mut left = all;
        for &(place, least) in &between.seen {
            let Some(turn) = self.turns.get_mut(place) else {
                continue;
            };
            let length = turn.off.saturating_sub(turn.on);
            let work = least.max(usual).min(length);
            turn.looked = length - work;
            left = left.saturating_sub(work);
        }
        let work = left / between.unseen.max(1);
        let mut last = 0;
        for turn in &mut self.turns {
            let is_whole = turn.looked > 0 && turn.looked >= turn.off.saturating_sub(turn.on);
            if is_whole && turn.on.saturating_sub(last) >= LEAST {
                turn.looked -= work.min(turn.looked / 2);
            }
            last = turn.off;
        }
    }

    /// Returns whether others may have had the CPU before a turn that begins now, and so may have ended the thread's wait.
    fn others_ran_before(&self, on: u64) -> bool {
        let last = self.turns.last();
        last.is_none_or(|last| on.saturating_sub(last.off) >= LEAST)
    }

    fn turn_until(&mut self, at: u64, could_go_on: bool) -> Option<Turn> {
        let on = self.on.take()?;
        let is_sure = std::mem::take(&mut self.is_sure);
        if self.is_fresh {
            // Too short for a sample.
            self.looks = self.looked.map(|place| (on, place));
        }
        let is_long = |since: u64| is_sure || at.saturating_sub(since) >= LEAST;
        let looks = self.looks.take();
        let looks = looks.filter(|&(since, _)| could_go_on && is_long(since));
        self.looked = looks.map(|(_, place)| place);
        if let Some((since, _)) = looks {
            self.between.samples += self.works;
            self.between.told += since.saturating_sub(on);
            if self.works > 0 {
                let least = self.worked.saturating_sub(on);
                self.between.seen.push((self.turns.len(), least));
            }
            self.between.unseen += u64::from(since <= on && self.others_ran_before(on));
        }
        Some(Turn {
            on,
            off: at,
            looked: looks.map_or(0, |(since, _)| at.saturating_sub(since)),
            place: self.looked,
            is_beaten: false,
            is_sampled: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(seen: Seen, at: u64) -> Sight {
        Sight {
            seen,
            pid: 1,
            tid: 2,
            at,
            registers: None,
        }
    }

    fn turns(sights: &[(u64, Seen, Option<usize>)]) -> Vec<Turn> {
        let mut turns = Turns::default();
        for &(at, seen, place) in sights {
            turns.add(sight(seen, at), place, false);
        }
        let all = turns.of_threads().flat_map(|(_, turns)| turns);
        all.copied().collect()
    }

    #[test]
    fn a_loop_begins_between_two_samples_and_goes_on_over_turns() {
        let found = turns(&[
            (1_000_000, Seen::On, None),
            (1_100_000, Seen::At(1), None),
            (1_200_000, Seen::At(9), Some(3)),
            (2_000_000, Seen::Off(true), None),
            (5_000_000, Seen::On, None),
            (5_060_000, Seen::At(9), Some(3)),
            (6_000_000, Seen::Off(true), None),
            (7_000_000, Seen::On, None),
            (7_050_000, Seen::At(1), None),
            (7_150_000, Seen::At(9), Some(3)),
            (7_200_000, Seen::Off(false), None),
        ]);
        let looked: Vec<u64> = found.iter().map(|turn| turn.looked).collect();
        // In the last one the thread did not lose the CPU: it waits for something else.
        assert_eq!(looked, [850_000, 1_000_000, 0]);
    }

    #[test]
    fn who_loses_the_cpu_in_a_loop_looked_however_short_that_was() {
        let found = turns(&[
            (1_000_000, Seen::On, None),
            (1_040_000, Seen::Leaves(9), Some(3)),
            (1_040_000, Seen::Off(true), None),
            (1_200_000, Seen::On, None),
            (1_300_000, Seen::Leaves(1), None),
            (1_300_000, Seen::Off(true), None),
            // Without being seen as it lost the CPU, it may not be taken for one that looked.
            (1_400_000, Seen::On, None),
            (1_420_000, Seen::At(9), Some(3)),
            (1_450_000, Seen::Off(true), None),
        ]);
        let looked: Vec<u64> = found.iter().map(|turn| turn.looked).collect();
        assert_eq!(looked, [20_000, 0, 0]);
    }

    #[test]
    fn works_too_short_to_be_seen_in_each_turn_are_told_by_how_often_they_are() {
        let mut turns = Turns::default();
        let place = Some(3);
        // A work of ten microseconds in each turn of a hundred, of which samples see one in twenty-five.
        for round in 0..2_500 {
            let on = 1_000_000 + 200_000 * round;
            turns.add(sight(Seen::On, on), None, false);
            if round % 25 == 7 {
                turns.add(sight(Seen::At(1), on + 5_000), None, false);
            }
            turns.add(sight(Seen::Leaves(9), on + 100_000), place, false);
            turns.add(sight(Seen::Off(true), on + 100_000), None, false);
        }
        turns.find_short_works();
        let all = turns.of_threads().flat_map(|(_, turns)| turns);
        let works = all.map(|turn| turn.off - turn.on - turn.looked);
        let mean = works.sum::<u64>() / 2_500;
        assert!((9_000..11_000).contains(&mean), "{mean} ns a turn");
    }

    #[test]
    fn loops_that_end_by_themselves_are_counted_by_their_samples() {
        let mut turns = Turns::default();
        let seen = [
            (1, Seen::On, None),
            (2, Seen::At(9), Some(3)),
            (3, Seen::At(9), Some(3)),
            (4, Seen::At(1), None),
            (5, Seen::At(9), Some(3)),
            (6, Seen::Off(true), None),
        ];
        for (at, seen, place) in seen {
            turns.add(sight(seen, at), place, place.is_some());
        }
        let waited: Vec<_> = turns.waited().collect();
        assert_eq!(waited, [(2, &[2, 3, 5][..])]);
        // Whoever loses the CPU there does not wait until it has it again.
        assert!(turns.of_threads().all(|(_, turns)| turns[0].looked == 0));
        assert!(turns.any_spins());
    }

    #[test]
    fn threads_that_never_spin_are_known_as_such() {
        let mut turns = Turns::default();
        let seen = [Seen::On, Seen::At(1), Seen::Off(true)];
        for (at, seen) in (1..).zip(seen) {
            turns.add(sight(seen, at), None, false);
        }
        assert!(!turns.any_spins());
    }
}
