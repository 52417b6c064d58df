//! Who let whom go on in a schedule, found by who went on.

use foretrace_schedule::{Schedule, SimTime};

/// The wakes of a schedule by the lanes that they let go on.
pub(crate) struct Wakes<'s> {
    schedule: &'s Schedule,
    to: Vec<Vec<u32>>,
}

impl<'s> Wakes<'s> {
    /// Goes through a schedule. Who lets itself go on is left out.
    pub fn of(schedule: &'s Schedule) -> Self {
        let mut to: Vec<Vec<u32>> = vec![Vec::new(); schedule.lanes.len()];
        for (position, wake) in schedule.wakes.iter().enumerate() {
            if wake.from != wake.to && (wake.from as usize) < to.len() {
                to[wake.to as usize].push(position as u32);
            }
        }
        Self { schedule, to }
    }

    /// Returns the last wake of a lane at a time that stands before a position among all.
    pub fn at(&self, lane: usize, at: SimTime, before: usize) -> Option<usize> {
        let to = &self.to[lane];
        let older = to.partition_point(|wake| {
            let wake = *wake as usize;
            wake < before && self.schedule.wakes[wake].at <= at
        });
        let wake = to[older.checked_sub(1)?] as usize;
        (self.schedule.wakes[wake].at == at).then_some(wake)
    }
}
