//! Streaks: sections of several mutexes in turn, of which the journal holds how many of each there were.

use super::file::RawRecord;
use super::layout::{Kind, OUTCOME_BUSY, Repetition, SECTION_BITS, release_of};
use super::records::Records;

/// What a streak holds of one mutex and place: the two records of a [`Repetition`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// As the first acquisition's record was.
    pub acquisition: RawRecord,
    pub release_site: u64,
    /// The counter at the last release, or try, for which it was read.
    pub until: u64,
    pub count: u64,
    /// For how many the counter was read; 0 for all.
    timed: u64,
    /// How many ticks these took.
    held: u64,
    /// Whether they are of the same streak as those of the repetition right before.
    is_joined: bool,
    /// Whether another one has begun.
    pub has_begun: bool,
}

impl Member {
    /// Reads it, when its first record was taken.
    pub fn read(record: RawRecord, records: &mut Records<'_>) -> Option<Self> {
        let counts = records.following(Kind::Extension)?;
        let tail = counts.site << 16 | u64::from(counts.outcome) << 8;
        let count = Repetition::count(tail);
        let (object, distance) = divide(record.object);
        let is_busy = record.outcome == OUTCOME_BUSY;
        let kind = if is_busy {
            record.kind
        } else {
            Kind::from_byte(record.outcome)?
        };
        (count > 0).then_some(Self {
            acquisition: RawRecord {
                object,
                kind,
                outcome: if is_busy { OUTCOME_BUSY } else { 0 },
                ..record
            },
            release_site: record.site.wrapping_add_signed(distance),
            until: counts.tsc,
            count,
            timed: Repetition::timed(tail),
            held: counts.object,
            is_joined: Repetition::is_joined(tail),
            has_begun: Repetition::has_begun(tail),
        })
    }

    /// Returns whether the counter was read for each section, or each try.
    pub fn is_each_timed(&self) -> bool {
        self.timed == 0
    }

    /// Returns the mean of the ticks from acquisition to release.
    pub fn held(&self) -> f64 {
        let timed = if self.is_each_timed() {
            self.count
        } else {
            self.timed
        };
        self.held as f64 / timed as f64
    }
}

/// Divides the object's place of a section into the object and the distance of the call sites.
pub(super) fn divide(word: u64) -> (u64, i64) {
    let distance = word.cast_signed() >> SECTION_BITS;
    (word & ((1 << SECTION_BITS) - 1), distance)
}

/// No streak of several mutexes holds more sections: it lasts for a tenth of a millisecond.
const MOST_IN_TURN: u64 = 1 << 16;

/// Takes those that took turns with the first one, which stand right behind it.
pub(super) fn take_others(first: Member, records: &mut Records<'_>) -> Vec<Member> {
    let mut members = vec![first];
    let mut all = first.count;
    loop {
        let mut ahead = records.clone();
        let next = ahead
            .following(Kind::Repetition)
            .and_then(|next| Member::read(next, &mut ahead))
            .filter(|next| next.is_joined && all.saturating_add(next.count) <= MOST_IN_TURN);
        let Some(member) = next else {
            return members;
        };
        *records = ahead;
        all += member.count;
        members.push(member);
    }
}

/// One section of a streak: the position of its member, and the counter at its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub member: usize,
    pub tsc: u64,
}

/// Returns the sections of a streak, spread evenly over its time. Where there were as many of each mutex, these took turns; else they come in no order, the
/// same each time, as no order is known but that of the first ones: none is told before its mutex was locked at all.
pub(super) fn turns(members: &[Member]) -> Vec<Turn> {
    let from = members.iter().map(|member| member.acquisition.tsc).min();
    let until = members.iter().map(|member| member.until).max();
    let (Some(from), Some(until)) = (from, until) else {
        return Vec::new();
    };
    let counts = || members.iter().map(|member| member.count);
    let all: u64 = counts().sum();
    let time = u128::from(until.saturating_sub(from));
    let in_order = counts()
        .min()
        .zip(counts().max())
        .is_some_and(|(least, most)| most - least <= 1);
    let mut left: Vec<u64> = counts().collect();
    let mut begun = 0;
    let mut random = from;
    let turn = |index: u64| {
        let passed = time * u128::from(index + 1) / u128::from(all);
        let tsc = from + u64::try_from(passed).ok()?;
        let among = left.get(..begun)?;
        let choices: u64 = among.iter().sum();
        let begins = |next: &Member| choices == 0 || next.acquisition.tsc <= tsc;
        let member = if in_order {
            let next = (index % left.len() as u64) as usize;
            let mut others = (next..left.len()).chain(0..next);
            others.find(|&member| left[member] > 0)?
        } else if members.get(begun).is_some_and(begins) {
            begun += 1;
            begun - 1
        } else {
            // Any of those that are left.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let mut nth = (random >> 33) % choices;
            among.iter().position(|&left| {
                let is_here = nth < left;
                nth = nth.saturating_sub(left);
                is_here
            })?
        };
        *left.get_mut(member)? -= 1;
        Some(Turn { member, tsc })
    };
    (0..all).filter_map(turn).collect()
}

/// Returns the kind of a member's releases.
pub(super) fn released_by(member: &Member) -> Kind {
    release_of(member.acquisition.kind).unwrap_or(Kind::MutexUnlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(tsc: u64, until: u64, count: u64) -> Member {
        let acquisition = RawRecord {
            tsc,
            object: 64,
            kind: Kind::MutexLock,
            outcome: 0,
            site: 1000,
        };
        Member {
            acquisition,
            release_site: 1007,
            until,
            count,
            timed: 1,
            held: 20,
            is_joined: false,
            has_begun: false,
        }
    }

    #[test]
    fn each_section_is_told_once() {
        for counts in [vec![2, 3], vec![3, 2, 3], vec![1, 50, 7, 7], vec![40]] {
            let members: Vec<Member> = counts.iter().map(|&n| member(100, 1100, n)).collect();
            let turns = turns(&members);
            for (index, &count) in counts.iter().enumerate() {
                let told = turns.iter().filter(|turn| turn.member == index);
                assert_eq!(told.count() as u64, count);
            }
            assert!(turns.windows(2).all(|two| two[0].tsc <= two[1].tsc));
            assert_eq!(turns.last().map(|turn| turn.tsc), Some(1100));
        }
    }

    #[test]
    fn mutexes_that_were_locked_as_often_took_turns() {
        let order = |members: &[Member]| -> Vec<usize> {
            turns(members).iter().map(|turn| turn.member).collect()
        };
        assert_eq!(order(&[member(0, 9, 2), member(1, 9, 3)]), [0, 1, 0, 1, 1]);
        let unequal = order(&[member(0, 900, 40), member(1, 900, 20)]);
        // Of those that come in no order, some follow others like them, on either side.
        for index in 0..2 {
            assert!(unequal.windows(2).any(|two| two == [index, index]));
        }
    }

    #[test]
    fn none_is_told_before_its_mutex_was_locked_at_all() {
        let members = [
            member(0, 1000, 500),
            member(100, 1000, 400),
            member(800, 990, 20),
        ];
        let turns = turns(&members);
        for (index, member) in members.iter().enumerate() {
            let told: Vec<u64> = turns
                .iter()
                .filter(|turn| turn.member == index)
                .map(|turn| turn.tsc)
                .collect();
            assert_eq!(told.len() as u64, member.count);
            // Every section takes about one tick.
            assert!(told[0].abs_diff(member.acquisition.tsc) <= 2, "{told:?}");
        }
    }
}
