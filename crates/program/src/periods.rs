//! Threads that sleep until moments of a clock which are a period apart.
//!
//! A recording tells how long each sleep was to last. Where these differ while the moments at which they were to end are evenly apart,
//! the thread has something to do once in a period: it sleeps for what is left of that, and on another machine something else is left.
//! A period that was over before its work was done has no sleep, so that two moments may be several periods apart; where one CPU is too
//! little for all that there is to do, none may have one.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said".

use std::collections::BTreeMap;

use foretrace_trace::{Operation as Op, SiteId, ThreadId, Trace};

use crate::{Action, Due, deadlines::Deadlines, lower::Lowering};

/// Fewer sleeps than this of one call in a thread tell nothing.
const FEWEST: usize = 4;

/// One distance in so many may be no multiple of the period.
const OUTLIERS: usize = 8;

/// Waits until moments that were reckoned are as long as each other, give or take one part in so many.
const ALIKE: u64 = 16;

/// Distances are multiples of the period give or take one part in so many of it.
const EVEN: u64 = 32;

/// A sleep until one of the moments of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// The first of a series, or one that goes on from no moment before.
    First {
        series: u32,
        /// The period, where all that its thread did since its event before is the work of one.
        whole: Option<u64>,
    },
    /// So many nanoseconds after the moment before.
    Next { series: u32, nanos: u64 },
}

/// The sleeps of periodic threads, by event.
#[derive(Default)]
pub(crate) struct Periods {
    due: BTreeMap<u32, Sleep>,
}

/// A sleep.
#[derive(Clone, Copy)]
struct Slept {
    event: u32,
    /// How long it was to last, in nanoseconds, and when it was to end.
    asked: u64,
    until: u64,
    /// When the thread came from its event before, or was created.
    since: u64,
    /// Whether it is a wait of which only the moment is known until which it was to last.
    is_reckoned: bool,
}

impl Periods {
    /// Goes through a recording.
    pub fn of(trace: &Trace, deadlines: &Deadlines) -> Self {
        let mut periods = Self::default();
        let is_asked = |operation| matches!(operation, Op::SleepFor(_) | Op::SleepPast(_));
        if trace.recording.is_none() || !trace.calls.iter().any(|call| is_asked(call.operation)) {
            return periods;
        }
        let mut sleeps: BTreeMap<(ThreadId, Option<SiteId>), Vec<Slept>> = BTreeMap::new();
        let mut latest = vec![0; trace.threads.len()];
        // When each thread came from its event before its last wait.
        let mut since = vec![0; trace.threads.len()];
        for (index, event) in (0..).zip(&trace.events) {
            let call = trace.call(event);
            let now = event.time.0;
            let thread = call.thread.index();
            let slept = match call.operation {
                Op::Return => None,
                Op::SleepFor(asked) => Some((index, asked.0, now.saturating_add(asked.0))),
                Op::SleepPast(late) => {
                    let until = now.saturating_sub(late.0);
                    let wait = deadlines.wait_told_by(index);
                    let began = wait.map_or(now, |wait| trace.events[wait as usize].time.0);
                    Some((wait.unwrap_or(index), until.saturating_sub(began), until))
                }
                Op::Create(child) => {
                    latest[child.index()] = now;
                    None
                }
                _ => {
                    since[thread] = latest[thread];
                    None
                }
            };
            if let Some((event, asked, until)) = slept {
                let is_reckoned = event != index;
                let since = if is_reckoned { &since } else { &latest };
                let slept = Slept {
                    event,
                    asked,
                    until,
                    since: since[thread],
                    is_reckoned,
                };
                let series = (call.thread, call.site);
                sleeps.entry(series).or_default().push(slept);
            }
            latest[thread] = now;
        }
        for (series, sleeps) in (0..).zip(sleeps.into_values()) {
            if let Some(period) = period(&sleeps) {
                periods.note(series, period, &sleeps);
            }
        }
        periods
    }

    fn note(&mut self, series: u32, period: u64, sleeps: &[Slept]) {
        let mut before: Option<u64> = None;
        for slept in sleeps {
            let apart = before.map(|before| slept.until.saturating_sub(before));
            let due = if let Some(nanos) = apart.filter(|&apart| is_multiple(apart, period)) {
                Sleep::Next { series, nanos }
            } else {
                let is_whole = slept.since + period <= slept.until + period / EVEN;
                let whole = (before.is_none() && is_whole).then_some(period);
                Sleep::First { series, whole }
            };
            self.due.insert(slept.event, due);
            before = Some(slept.until);
        }
    }

    /// Returns what a sleep is until a moment that is a period after others.
    pub fn due(&self, event: usize) -> Option<Sleep> {
        self.due.get(&(event as u32)).copied()
    }
}

impl Lowering<'_> {
    /// Lowers what would have been a sleep had it not been too late for it.
    pub fn sleep_past(&mut self, index: usize, thread: u32) {
        let action = match self.periods.due(index) {
            Some(sleep) => self.sleep_until(thread, sleep, 0),
            None => Action::Pass,
        };
        self.push(index, thread, action);
    }

    /// Makes the delay of a sleep that was to last so long.
    pub fn sleep_until(&mut self, thread: u32, sleep: Sleep, asked: u64) -> Action {
        match sleep {
            Sleep::First { series, whole } => {
                // In the recording others may have had the CPU in the meantime.
                let worked = self.work.left() + self.carried[thread as usize];
                let left = whole.map_or(0, |whole| whole.saturating_sub(worked));
                let due = Due {
                    series,
                    follows: false,
                };
                self.delay_until(due, left.max(asked))
            }
            Sleep::Next { series, nanos } => {
                let due = Due {
                    series,
                    follows: true,
                };
                self.delay_until(due, nanos)
            }
        }
    }
}

/// Returns how far the moments are apart until which a thread sleeps; `None` where it sleeps for as long each time, or they are not
/// evenly apart.
fn period(sleeps: &[Slept]) -> Option<u64> {
    let asked = || sleeps.iter().map(|slept| slept.asked);
    // One that was too late for all of them sleeps for as long as well: not at all.
    let longest = asked().max().unwrap_or(0);
    // What came between reckoning a moment and waiting until then is missing where that is not recorded by itself.
    let is_reckoned = sleeps.iter().any(|slept| slept.is_reckoned);
    let (alike, outliers) = if is_reckoned {
        (longest - longest / ALIKE, sleeps.len() / OUTLIERS)
    } else {
        (longest, 0)
    };
    let others = asked().filter(|&asked| asked < alike).count();
    let is_constant = longest > 0 && others <= outliers;
    if sleeps.len() < FEWEST || is_constant {
        return None;
    }
    let pairs = sleeps.iter().zip(&sleeps[1..]);
    let mut apart: Vec<u64> = pairs
        .map(|(one, other)| other.until.saturating_sub(one.until))
        .collect();
    apart.sort_unstable();
    let outliers = apart.len() / OUTLIERS;
    let period = apart[outliers];
    let uneven = apart.iter().filter(|&&apart| !is_multiple(apart, period));
    (period > 0 && uneven.count() <= outliers).then_some(period)
}

/// Returns whether two moments are some periods apart, of which one at least.
fn is_multiple(apart: u64, period: u64) -> bool {
    let slack = period / EVEN;
    let rest = (apart + slack) % period;
    apart + slack >= period && rest <= 2 * slack
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeps(all: &[(u64, u64)]) -> Vec<Slept> {
        let slept = |&(time, asked): &(u64, u64)| Slept {
            event: 0,
            asked,
            until: time + asked,
            since: 0,
            is_reckoned: false,
        };
        all.iter().map(slept).collect()
    }

    #[test]
    fn moments_that_are_evenly_apart_are_periods() {
        let late = [
            (300, 700),
            (1_900, 101),
            (2_500, 500),
            (5_001, 999),
            (6_999, 1),
        ];
        assert_eq!(period(&sleeps(&late)), Some(999));
        assert_eq!(period(&sleeps(&late[..3])), None, "too few");
        let constant = [(300, 700), (1_300, 700), (2_300, 700), (3_300, 700)];
        assert_eq!(period(&sleeps(&constant)), None, "for as long each time");
        let too_late = [(1_000, 0), (2_000, 0), (3_001, 0), (4_001, 0)];
        assert_eq!(period(&sleeps(&too_late)), Some(1_000));
        let uneven = [(300, 700), (1_300, 100), (2_300, 600), (3_300, 200)];
        assert_eq!(period(&sleeps(&uneven)), None);
        assert!(is_multiple(3_010, 1_000) && !is_multiple(10, 1_000));
    }
}
