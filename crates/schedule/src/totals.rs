//! How much time went into what.

use std::ops::{Index, Range};

use serde::{Deserialize, Serialize};

use crate::{Lane, Schedule, SimTime, State, WaitKind};

/// What a thread did, whichever the CPU: the classes by which times are summed and colours chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Activity {
    /// Ran.
    Running,
    /// Could have run, and waited for a CPU.
    Ready,
    /// Waited for something else.
    Blocked(WaitKind),
}

impl Activity {
    /// All activities, in the order in which legends show them and rows stack them.
    pub const ALL: [Self; 13] = [
        Self::Running,
        Self::Ready,
        Self::Blocked(WaitKind::Lock),
        Self::Blocked(WaitKind::Condition),
        Self::Blocked(WaitKind::Semaphore),
        Self::Blocked(WaitKind::Rwlock),
        Self::Blocked(WaitKind::Barrier),
        Self::Blocked(WaitKind::Join),
        Self::Blocked(WaitKind::Once),
        Self::Blocked(WaitKind::Send),
        Self::Blocked(WaitKind::Wait),
        Self::Blocked(WaitKind::Timeout),
        Self::Blocked(WaitKind::Io),
    ];

    /// Returns its name for legends and tables; a blocked thread's is that of the kind of wait.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ready => "ready",
            Self::Blocked(kind) => kind.name(),
        }
    }

    /// Returns its position in [`Activity::ALL`].
    pub fn index(self) -> usize {
        match self {
            Self::Running => 0,
            Self::Ready => 1,
            Self::Blocked(WaitKind::Lock) => 2,
            Self::Blocked(WaitKind::Condition) => 3,
            Self::Blocked(WaitKind::Semaphore) => 4,
            Self::Blocked(WaitKind::Rwlock) => 5,
            Self::Blocked(WaitKind::Barrier) => 6,
            Self::Blocked(WaitKind::Join) => 7,
            Self::Blocked(WaitKind::Once) => 8,
            Self::Blocked(WaitKind::Send) => 9,
            Self::Blocked(WaitKind::Wait) => 10,
            Self::Blocked(WaitKind::Timeout) => 11,
            Self::Blocked(WaitKind::Io) => 12,
        }
    }
}

impl State {
    /// Returns the activity, which is the state without its CPU.
    pub fn activity(self) -> Activity {
        match self {
            Self::Running(_) => Activity::Running,
            Self::Ready => Activity::Ready,
            Self::Blocked(kind) => Activity::Blocked(kind),
        }
    }
}

/// A sum of time for each activity, indexed by [`Activity`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals([SimTime; Activity::ALL.len()]);

impl Totals {
    /// Adds time spent in an activity.
    pub fn add(&mut self, activity: Activity, time: SimTime) {
        let sum = &mut self.0[activity.index()];
        *sum = *sum + time;
    }

    /// Adds all of another sum.
    pub fn add_all(&mut self, other: &Self) {
        for (sum, time) in self.0.iter_mut().zip(other.0) {
            *sum = *sum + time;
        }
    }

    /// Returns the time spent blocked, on whatever.
    pub fn blocked(&self) -> SimTime {
        self.0[2..]
            .iter()
            .fold(SimTime::ZERO, |sum, time| sum + *time)
    }

    /// Returns the whole time.
    pub fn whole(&self) -> SimTime {
        self[Activity::Running] + self[Activity::Ready] + self.blocked()
    }

    /// Visits the activities that took any time, in the order of [`Activity::ALL`].
    pub fn present(&self) -> impl Iterator<Item = (Activity, SimTime)> + '_ {
        Activity::ALL
            .into_iter()
            .zip(self.0)
            .filter(|(_, time)| *time > SimTime::ZERO)
    }
}

impl Index<Activity> for Totals {
    type Output = SimTime;

    fn index(&self, activity: Activity) -> &SimTime {
        &self.0[activity.index()]
    }
}

impl Lane {
    /// Sums the lane's time by activity.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for segment in &self.segments {
            totals.add(segment.state.activity(), segment.duration());
        }
        totals
    }

    /// Returns the positions of the segments that lie, at least in part, within the range `start..end`.
    pub fn segments_in(&self, start: SimTime, end: SimTime) -> Range<usize> {
        let first = self.segments.partition_point(|s| s.end <= start);
        let last = self.segments.partition_point(|s| s.start < end);
        first..last.max(first)
    }
}

/// How many threads did what from a time on, until the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// From when.
    pub at: SimTime,
    /// Threads on CPUs.
    pub running: u32,
    /// Threads waiting for a CPU.
    pub ready: u32,
    /// Threads waiting for something else.
    pub blocked: u32,
}

impl Schedule {
    /// Sums the time of all lanes by activity.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for lane in &self.lanes {
            totals.add_all(&lane.totals());
        }
        totals
    }

    /// Returns the average number of running threads over the whole of the schedule; 0 for an empty one.
    pub fn average_parallelism(&self) -> f64 {
        if self.end == SimTime::ZERO {
            return 0.0;
        }
        self.totals()[Activity::Running].0 as f64 / self.end.0 as f64
    }

    /// Returns how many threads run, are ready and are blocked over time, a step for each time at which that changes.
    ///
    /// The last step, if there is any, counts zero threads: by then every lane has ended.
    pub fn parallelism(&self) -> Vec<Step> {
        self.parallelism_in(SimTime::ZERO, SimTime(u64::MAX))
    }

    /// Returns the same for the range `start..end` alone, as if nothing had been before and nothing came after.
    pub fn parallelism_in(&self, start: SimTime, end: SimTime) -> Vec<Step> {
        let visible = |lane: &Lane| lane.segments_in(start, end);
        let segments = self.lanes.iter().flat_map(|l| &l.segments[visible(l)]);
        let mut changes: Vec<(SimTime, Activity, i32)> = segments
            .flat_map(|s| {
                let activity = s.state.activity();
                let (from, until) = (s.start.max(start), s.end.min(end));
                [(from, activity, 1), (until, activity, -1)]
            })
            .collect();
        changes.sort_unstable();
        let mut steps: Vec<Step> = Vec::new();
        let mut now = Step::default();
        for at_once in changes.chunk_by(|a, b| a.0 == b.0) {
            let before = now;
            now.at = at_once[0].0;
            for (_, activity, change) in at_once {
                let count = match activity {
                    Activity::Running => &mut now.running,
                    Activity::Ready => &mut now.ready,
                    Activity::Blocked(_) => &mut now.blocked,
                };
                *count = count.wrapping_add_signed(*change);
            }
            let moved = (before.running, before.ready, before.blocked)
                != (now.running, now.ready, now.blocked);
            if moved {
                steps.push(now);
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn every_activity_stands_at_its_index() {
        for (position, activity) in Activity::ALL.into_iter().enumerate() {
            assert_eq!(activity.index(), position);
        }
        let kinds: Vec<WaitKind> = Activity::ALL[2..]
            .iter()
            .filter_map(|a| match a {
                Activity::Blocked(kind) => Some(*kind),
                _ => None,
            })
            .collect();
        assert_eq!(kinds, WaitKind::ALL);
    }

    #[test]
    fn totals_sum_each_lane_and_all_lanes() {
        let schedule = example::two_threads_and_a_lock();
        let totals = schedule.totals();
        assert_eq!(totals[Activity::Running], SimTime(17));
        assert_eq!(totals[Activity::Blocked(WaitKind::Lock)], SimTime(2));
        assert_eq!(totals[Activity::Blocked(WaitKind::Join)], SimTime(1));
        assert_eq!(totals.blocked(), SimTime(3));
        assert_eq!(totals.whole(), SimTime(20));
        assert_eq!(schedule.lanes[0].totals().whole(), SimTime(11));
        assert_eq!(totals.present().count(), 3);
    }

    #[test]
    fn parallelism_steps_where_a_count_changes_and_ends_at_zero() {
        let schedule = example::two_threads_and_a_lock();
        let counts: Vec<_> = schedule
            .parallelism()
            .iter()
            .map(|s| (s.at.0, s.running, s.ready, s.blocked))
            .collect();
        let expected = [
            (0, 1, 0, 0),
            (1, 2, 0, 0),
            (4, 1, 0, 1),
            (6, 2, 0, 0),
            (9, 1, 0, 1),
            (10, 1, 0, 0),
            (11, 0, 0, 0),
        ];
        assert_eq!(counts, expected);
        assert!((schedule.average_parallelism() - 17.0 / 11.0).abs() < 1e-12);
    }

    #[test]
    fn parallelism_in_a_range_begins_and_ends_with_it() {
        let schedule = example::two_threads_and_a_lock();
        let counts: Vec<_> = schedule
            .parallelism_in(SimTime(3), SimTime(5))
            .iter()
            .map(|s| (s.at.0, s.running, s.blocked))
            .collect();
        assert_eq!(counts, [(3, 2, 0), (4, 1, 1), (5, 0, 0)]);
    }

    #[test]
    fn a_range_takes_in_the_segments_that_it_touches() {
        let schedule = example::two_threads_and_a_lock();
        let lane = &schedule.lanes[1];
        assert_eq!(lane.segments_in(SimTime(4), SimTime(6)), 1..2);
        assert_eq!(lane.segments_in(SimTime(3), SimTime(7)), 0..3);
        assert!(lane.segments_in(SimTime(11), SimTime(20)).is_empty());
        assert!(lane.segments_in(SimTime(8), SimTime(2)).is_empty());
    }
}
