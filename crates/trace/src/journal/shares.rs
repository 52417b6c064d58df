//! The CPU time of waits after which nobody asked for it, see [`Unread`].
//!
//! Between two readings of the CPU time a thread had its CPU but for some waits; what it used of it in these, in the kernel
//! on the way to sleep and back, is what the two readings differ by, less the time in between. It is shared out among
//! the waits: each gets the same, but none more than it lasted. So the sum is exact, and that of one wait wrong by no more
//! than all of them used together, within the few milliseconds that the recorder lets pass between two readings.
//!
//! Where the second reading was taken since the thread lost its CPU elsewhere, within its own work, it is not known how much of
//! the difference is the rest of that work. Then the waits get what they got the time before, or [`USUAL`], as far as it is there.

use super::clock::Timescale;
use super::layout::{Kind, OUTCOME_PENDING, Unread, release_of, section_tsc};
use super::records::Records;

/// What a wait is taken to use as long as no group of them told, in nanoseconds: about what going to sleep and coming back
/// take.
const USUAL: u64 = 3_000;

/// What one thread's waits get.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    /// What each of the present ones gets at most, in nanoseconds; `None` before it was found out.
    present: Option<u64>,
    /// What each got the latest time that it was known.
    usual: Option<u64>,
}

/// What was known last: counter and CPU time.
type Pair = (u64, u64);

impl Shares {
    /// Says that the CPU time was read: the waits that come have to be looked at anew.
    pub fn forget(&mut self) {
        self.present = None;
    }

    /// Returns what a wait gets in nanoseconds that ended now and was not watched for so many ticks. `pair` is the latest
    /// that was read, `records` come after the wait's end.
    pub fn of(
        &mut self,
        (tsc, ticks): (u64, u64),
        pair: Pair,
        records: Records<'_>,
        scale: Timescale,
    ) -> u64 {
        let level = match self.present {
            Some(level) => level,
            None => self.find((tsc, ticks), pair, records, scale),
        };
        self.present = Some(level);
        scale.nanos(ticks).min(level)
    }

    fn find(
        &mut self,
        first: (u64, u64),
        pair: Pair,
        records: Records<'_>,
        scale: Timescale,
    ) -> u64 {
        let Some(group) = Group::read(first, records) else {
            // The program was killed.
            return self.usual.unwrap_or(0);
        };
        let mut waits: Vec<u64> = group
            .waits
            .iter()
            .map(|&ticks| scale.nanos(ticks))
            .collect();
        let rest = scale.nanos(group.last);
        let all = waits
            .iter()
            .fold(rest, |all, &wait| all.saturating_add(wait));
        let elapsed = scale.nanos(group.read.0.saturating_sub(pair.0));
        let used = group.read.1.saturating_sub(pair.1);
        // What was used in the waits and in the last stretch.
        let total = used.saturating_add(all).saturating_sub(elapsed).min(all);
        if group.ends_in_wait {
            waits.push(rest);
            let level = level(&mut waits, total);
            self.usual = Some(level);
            return level;
        }
        let least = level(&mut waits, total.saturating_sub(rest));
        let most = level(&mut waits, total);
        self.usual.unwrap_or(USUAL).clamp(least, most)
    }
}

/// The waits from one reading of the CPU time to the next.
struct Group {
    /// Their ticks.
    waits: Vec<u64>,
    /// The ticks from the last event to the second reading.
    last: u64,
    /// Whether the thread was in a wait then.
    ends_in_wait: bool,
    /// The second reading.
    read: Pair,
}

impl Group {
    /// Looks from the first wait's end for the next reading; `None` if there is none.
    fn read((tsc, ticks): (u64, u64), records: Records<'_>) -> Option<Self> {
        let mut waits = vec![ticks];
        let mut latest = tsc;
        let mut waits_now = false;
        for record in records {
            if record.kind == Kind::Sync {
                return Some(Self {
                    waits,
                    last: record.tsc.saturating_sub(latest),
                    ends_in_wait: waits_now,
                    read: (record.tsc, record.object),
                });
            }
            match record.kind {
                Kind::Extension
                | Kind::Words
                | Kind::Stack
                | Kind::Overhead
                | Kind::Stamp
                | Kind::Reaped
                | Kind::Final => continue,
                Kind::Return | Kind::Resume => {
                    if let Some(unread) = Unread::unpack(record.site) {
                        waits.push(unread.ticks.min(record.tsc.saturating_sub(latest)));
                    }
                }
                _ => {}
            }
            waits_now = record.outcome == OUTCOME_PENDING;
            let at = if record.kind == Kind::Section || release_of(record.kind).is_some() {
                section_tsc(record.tsc, latest)
            } else {
                record.tsc
            };
            latest = latest.max(at);
        }
        None
    }
}

/// Returns the most that any of several gets when they share a total out evenly, and none gets more than it can hold. Sorts them.
fn level(holds: &mut [u64], total: u64) -> u64 {
    holds.sort_unstable();
    let mut left = total;
    let mut level = 0;
    for (index, &hold) in holds.iter().enumerate() {
        let share = left / (holds.len() - index) as u64;
        if share < hold {
            return share;
        }
        left -= hold;
        level = hold;
    }
    level
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_shared_out_evenly_and_none_gets_more_than_it_can_hold() {
        assert_eq!(level(&mut [10, 10, 10], 12), 4);
        assert_eq!(level(&mut [20, 2, 20], 12), 5);
        assert_eq!(level(&mut [1, 2, 3], 100), 3);
        assert_eq!(level(&mut [5, 5], 0), 0);
        assert_eq!(level(&mut [], 7), 0);
    }
}
