//! When threads did what: every operation of a schedule, also those that changed no thread's state.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{SimTime, details::Step};

/// The operations of all lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    lanes: Vec<LaneMarks>,
}

/// The operations of one lane, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Step>", into = "Vec<Step>")]
pub struct LaneMarks {
    /// When each was done.
    pub times: Vec<SimTime>,
    /// The trace's event that each came from.
    pub events: Vec<u32>,
}

impl Marks {
    /// Makes lanes without operations.
    pub fn new(lanes: usize) -> Self {
        Self {
            lanes: vec![LaneMarks::default(); lanes],
        }
    }

    /// Adds an operation to a lane; not earlier than its last one.
    ///
    /// # Panics
    ///
    /// When there is no such lane.
    pub fn push(&mut self, lane: u32, at: SimTime, event: u32) {
        let lane = &mut self.lanes[lane as usize];
        lane.times.push(at);
        lane.events.push(event);
    }

    /// Returns a lane's operations; none for a lane that is not there.
    pub fn lane(&self, lane: usize) -> &LaneMarks {
        const NONE: &LaneMarks = &LaneMarks {
            times: Vec::new(),
            events: Vec::new(),
        };
        self.lanes.get(lane).unwrap_or(NONE)
    }

    /// Returns the number of lanes.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(LaneMarks::len).sum()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl LaneMarks {
    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Returns the positions of the operations from `start` to `end`, both included.
    pub fn within(&self, start: SimTime, end: SimTime) -> Range<usize> {
        let first = self.times.partition_point(|time| *time < start);
        let last = self.times.partition_point(|time| *time <= end);
        first..last.max(first)
    }
}

impl From<LaneMarks> for Vec<Step> {
    fn from(marks: LaneMarks) -> Self {
        let (mut time, mut event) = (0, 0);
        let steps = marks.times.iter().zip(&marks.events);
        let step = |(at, of): (&SimTime, &u32)| {
            let of = i64::from(*of);
            let step = (at.0.saturating_sub(time), of - event);
            (time, event) = (at.0, of);
            step
        };
        steps.map(step).collect()
    }
}

impl From<Vec<Step>> for LaneMarks {
    fn from(steps: Vec<Step>) -> Self {
        let mut marks = Self::default();
        let (mut time, mut event) = (0_u64, 0_i64);
        for (later, further) in steps {
            (time, event) = (time.saturating_add(later), event.saturating_add(further));
            marks.times.push(SimTime(time));
            // A number that is none points nowhere, which is found when the file is checked.
            marks.events.push(u32::try_from(event).unwrap_or(u32::MAX));
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_found_by_time() {
        let mut marks = Marks::new(2);
        for (at, event) in [(1, 10), (4, 11), (4, 12), (9, 13)] {
            marks.push(1, SimTime(at), event);
        }
        let lane = marks.lane(1);
        assert_eq!(lane.within(SimTime(2), SimTime(4)), 1..3);
        assert_eq!(lane.within(SimTime(1), SimTime(9)), 0..4);
        assert!(lane.within(SimTime(5), SimTime(8)).is_empty());
        assert!(lane.within(SimTime(8), SimTime(2)).is_empty());
        assert!(marks.lane(0).is_empty() && marks.lane(7).is_empty());
        assert_eq!(marks.len(), 4);
        let steps = Vec::<Step>::from(marks.lane(1).clone());
        assert_eq!(steps, [(1, 10), (3, 1), (0, 1), (5, 1)]);
        assert_eq!(LaneMarks::from(steps), *marks.lane(1));
    }
}
