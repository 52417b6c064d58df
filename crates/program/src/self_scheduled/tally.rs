//! Whether threads share out what they do in rounds.

use std::collections::BTreeMap;

use super::{Part, arrivals::Dealt};

/// A thread that did so many times less than another, at least, may have come to wait only.
const LITTLE: u64 = 4;

/// The same where what it did was in pieces between sections of locks, of which it had one at least.
const LITTLE_IN_PIECES: u64 = 16;

/// Of so many rounds one thread may do one alone by chance, though it is the same one each time.
const SELDOM: usize = 5;

/// Fewer rounds may be so by chance.
pub(super) const LEAST_ROUNDS: usize = 8;

/// What is not in one piece before threads meet may be this share of the work, in hundredths, at most.
const MOST_ELSEWHERE: u64 = 20;

/// From who comes first to who comes last goes by at most this share, in hundredths, of what the others did more than who did least.
const MOST_LEFT: u64 = 90;

/// The same, of one round in four.
const MUCH_LESS: u64 = 75;

/// Rounds that one did alone have as much work as others if the mean differs by no more than so many hundredths.
const AS_MUCH: u64 = 10;

/// Who comes last came so much later, in hundredths as of [`MOST_LEFT`], where few rounds tell of what one mostly does alone.
const SURE: u64 = 50;

/// If of rounds in which several had part more than so many hundredths are equally far apart, they are of another kind.
const REGULAR: u64 = 80;

/// So often who waits for others has done it all if it takes iterations, though mostly it comes too late.
const SEEN_TO_TAKE: u64 = 4;

/// What is shared out less unevenly than by so many hundredths may stay as it is.
const UNEVEN: u64 = 5;

/// What rounds tell of the hypothesis. Times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub rounds: usize,
    /// How many threads the first one had.
    pub threads: usize,
    /// The work before threads met, and all.
    work: u64,
    all: u64,
    /// How much sooner all would have come, summed up, than if all had done as much as who did most.
    uneven: u64,
    /// The rounds that tell anything.
    told: usize,
    /// From who came first to who came last.
    left: u64,
    /// What others did more than who did least.
    more: u64,
    /// The rounds where the former was much less than the latter.
    much_less: usize,
    /// Who came behind the first.
    others: u64,
    /// The least and the most work of a round in which several had part.
    shared: Option<(u64, u64)>,
    /// The work of all these, and how many there are.
    shared_work: (u64, u64),
    /// The latest of these, by its number, and how often the next one came so many rounds later.
    latest_shared: usize,
    distances: BTreeMap<usize, usize>,
    /// How often one did all, by who that is in its round.
    alone: BTreeMap<usize, usize>,
    /// The work of all these.
    alone_work: u64,
}

impl Tally {
    /// Adds a round of these parts.
    pub fn add<'a>(&mut self, round: impl Iterator<Item = &'a Part> + Clone, dealt: Dealt) {
        let threads = round.clone().count();
        if self.rounds == 0 {
            self.threads = threads;
        }
        self.rounds += 1;
        let most = round.clone().map(|part| part.all).max().unwrap_or(0);
        let sum: u64 = round.clone().map(|part| part.all).sum();
        self.work += round.clone().map(|part| part.work).sum::<u64>();
        self.all += sum;
        self.uneven += most * threads as u64 - sum;
        if let Some(who) = alone(&round) {
            *self.alone.entry(who).or_default() += 1;
            self.alone_work += sum;
        } else {
            if self.shared_work.1 > 0 {
                let distance = self.rounds - self.latest_shared;
                *self.distances.entry(distance).or_default() += 1;
            }
            self.latest_shared = self.rounds;
            self.shared_work.0 += sum;
            self.shared_work.1 += 1;
            let (least, most) = self.shared.unwrap_or((sum, sum));
            self.shared = Some((least.min(sum), most.max(sum)));
        }
        let little = match dealt {
            Dealt::Last => LITTLE,
            Dealt::Pieces => LITTLE_IN_PIECES,
        };
        let is_busy = |part: &&Part| little * part.all >= most;
        let idle = round.clone().filter(|part| !is_busy(part));
        let busy = round.filter(is_busy);
        let came = busy.clone().map(|part| part.came);
        let (Some(first), Some(until)) = (came.clone().min(), came.max()) else {
            return;
        };
        let least = busy.clone().map(|part| part.all).min().unwrap_or(0);
        // What those do meanwhile that do little is none of what the others have left.
        let meanwhile = idle.filter(|part| (first..=until).contains(&part.came));
        let meanwhile: u64 = meanwhile.map(|part| part.all).sum();
        let until_last = (until - first).saturating_sub(meanwhile).min(sum);
        let more_than_least: u64 = busy.clone().map(|part| part.all - least).sum();
        if more_than_least == 0 {
            return;
        }
        self.told += 1;
        self.left += until_last;
        self.more += more_than_least;
        self.much_less += usize::from(100 * until_last <= MUCH_LESS * more_than_least);
        self.others += busy.count() as u64 - 1;
    }

    /// Returns how much a thread mostly has left to do when no iterations are left, where threads take them by themselves.
    pub fn left_when_none_is(&self) -> Option<u64> {
        let holds = self.told >= LEAST_ROUNDS
            && (self.all - self.work) * 100 <= MOST_ELSEWHERE * self.all
            && self.left * 100 <= MOST_LEFT * self.more
            && 4 * self.much_less >= self.told
            && self.uneven * 100 >= UNEVEN * self.all;
        holds.then(|| self.left / self.others.max(1))
    }
}

impl Tally {
    /// Returns whether a round's work is taken by whoever is free. Where one alone did it, it is a serial part, unless there is as much of it as in other
    /// rounds, and such rounds are few, or now this thread did it alone and now that: then one had the CPU until none was left.
    pub fn is_taken(&self, round: &[Part]) -> bool {
        let rounds: usize = self.alone.values().sum();
        let most = self.alone.values().max().copied().unwrap_or(0);
        let by_chance = 3 * most <= 2 * rounds
            || SELDOM * rounds <= self.rounds
            || self.is_as_much_alone(rounds as u64);
        self.is_taken_by_those_woken(round) && (by_chance || alone(&round.iter()).is_none())
    }

    /// Returns whether in rounds that one did alone, of which there are so many, there was as much to do on average as in others, and these leave no doubt:
    /// neither about who had part, nor that they came by chance.
    fn is_as_much_alone(&self, rounds: u64) -> bool {
        let (work, count) = self.shared_work;
        let is_known = count >= LEAST_ROUNDS as u64 && rounds > 0;
        let is_sure = self.left * 100 <= SURE * self.more;
        let most = self.distances.values().max().copied().unwrap_or(0) as u64;
        let is_chance = most * 100 <= REGULAR * count;
        is_known && is_sure && is_chance && {
            let shared = work / count;
            shared.abs_diff(self.alone_work / rounds) * 100 <= AS_MUCH * shared
        }
    }

    /// The same where all were woken for it: that is not done for a serial part.
    pub fn is_taken_by_those_woken(&self, round: &[Part]) -> bool {
        let all: u64 = round.iter().map(|part| part.all).sum();
        let is_like = |(least, most)| 2 * all >= least && all <= 2 * most;
        alone(&round.iter()).is_none() || self.shared.is_some_and(is_like)
    }
}

/// Returns who did a round's work alone, counted from its first thread; `None` where several had part in it.
fn alone<'a>(round: &(impl Iterator<Item = &'a Part> + Clone)) -> Option<usize> {
    let most = round.clone().max_by_key(|part| part.all)?;
    let those = round.clone().filter(|part| LITTLE * part.all >= most.all);
    let first = round.clone().map(|part| part.thread).min()?;
    (those.count() < 2).then_some(most.thread - first)
}

/// The same where some may only wait for the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Tallies {
    with_waiting: Tally,
    without: Tally,
    /// The work of those that wait for the others, and of these, how many there are.
    waiting: u64,
    others: u64,
    count: u64,
    /// The work of all rounds of which those did more than half, and how many there are; the same of the other rounds.
    theirs: (u64, u64),
    not_theirs: (u64, u64),
}

impl Tallies {
    /// Adds a round.
    pub fn add(&mut self, round: &[Part], dealt: Dealt) {
        let others = round.iter().filter(|part| !part.waits);
        let own: u64 = others.clone().map(|part| part.work).sum();
        let all: u64 = round.iter().map(|part| part.work).sum();
        self.waiting += all - own;
        self.others += own;
        self.count += others.clone().count() as u64;
        let sum = if 2 * own < all {
            &mut self.theirs
        } else {
            &mut self.not_theirs
        };
        sum.0 += all;
        sum.1 += 1;
        self.with_waiting.add(round.iter(), dealt);
        self.without.add(others, dealt);
    }

    /// Returns whether those that wait do little before, so that they do not take iterations. Where they mostly come too late, since those that they wake
    /// had the CPU until none was left, they do little as well; but then they are seen to do as much at other times as all otherwise do.
    pub fn leaves_waiting_out(&self) -> bool {
        let is_little =
            3 * self.waiting * self.count < self.with_waiting.rounds as u64 * self.others;
        let ((theirs, times), (not_theirs, others)) = (self.theirs, self.not_theirs);
        let takes = times >= SEEN_TO_TAKE && others > 0 && {
            let usual = not_theirs / others;
            usual.abs_diff(theirs / times) * 100 <= AS_MUCH * usual
        };
        is_little && !takes
    }

    /// Returns what those tell that may take iterations.
    pub fn of_takers(&self) -> &Tally {
        if self.leaves_waiting_out() {
            &self.without
        } else {
            &self.with_waiting
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixty rounds in which two threads do 1 ms together, and the one that wakes them so much, and the others so much less.
    fn rounds(master: impl Fn(usize) -> (u64, u64)) -> Tallies {
        let mut tallies = Tallies::default();
        for round in 0..60 {
            let (own, less) = master(round);
            let part = |(thread, work)| Part {
                thread,
                first: 0,
                operation: 0,
                work,
                all: work,
                came: 0,
                waits: thread == 0,
                later: 0,
            };
            let others = 1_000_000 - less;
            let parts = [(0, own), (1, others / 3), (2, 2 * others / 3)];
            tallies.add(&parts.map(part), Dealt::Last);
        }
        tallies
    }

    #[test]
    fn who_comes_too_late_mostly_takes_iterations_still() {
        let is_tenth = |round: usize| round.is_multiple_of(10);
        // It did all of it in six of sixty.
        let takes = rounds(|round| {
            if is_tenth(round) {
                (1_000_000, 999_000)
            } else {
                (5_000, 0)
            }
        });
        assert!(!takes.leaves_waiting_out());
        // It has a part of its own, always, and sometimes, besides.
        assert!(rounds(|_| (50_000, 0)).leaves_waiting_out());
        let besides = rounds(|round| {
            if is_tenth(round) {
                (1_200_000, 0)
            } else {
                (5_000, 0)
            }
        });
        assert!(besides.leaves_waiting_out());
    }
}
