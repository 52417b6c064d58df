//! Which arrows are drawn: from the release to the one that it let go on, all while they are few, else in bundles.

use std::collections::BTreeMap;

use foretrace_schedule::{SimTime, Wake};

use crate::{arrange::Arranged, scale::TimeScale};

/// An arrow between two rows; or several of them, side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrow {
    /// The row that it comes from.
    pub from: usize,
    /// The row that it goes to.
    pub to: usize,
    /// The pixel at which it stands.
    pub x: f64,
    /// The first of the wakes that it stands for.
    pub wake: usize,
    /// How many they are.
    pub count: u32,
}

/// Wakes, found by time and by lane.
#[derive(Clone, Debug, Default)]
pub struct WakeIndex {
    to: Vec<Vec<u32>>,
    from: Vec<Vec<u32>>,
}

impl WakeIndex {
    /// Sorts the wakes of a schedule by the lanes they lead to and come from.
    pub fn new(wakes: &[Wake], lanes: usize) -> Self {
        let mut index = Self {
            to: vec![Vec::new(); lanes],
            from: vec![Vec::new(); lanes],
        };
        for (position, wake) in wakes.iter().enumerate() {
            if let Some(to) = index.to.get_mut(wake.to as usize) {
                to.push(position as u32);
            }
            if let Some(from) = index.from.get_mut(wake.from as usize) {
                from.push(position as u32);
            }
        }
        index
    }

    /// Returns the wakes that let a lane go on, in order of time.
    pub fn to(&self, lane: usize) -> &[u32] {
        self.to.get(lane).map_or(&[], Vec::as_slice)
    }

    /// Returns the wakes that a lane made, in order of time.
    pub fn from(&self, lane: usize) -> &[u32] {
        self.from.get(lane).map_or(&[], Vec::as_slice)
    }

    /// Returns the last wake that let a lane go on from `since` on until `at`.
    pub fn last_to(
        &self,
        wakes: &[Wake],
        lane: usize,
        since: SimTime,
        at: SimTime,
    ) -> Option<usize> {
        let to = self.to(lane);
        let after = to.partition_point(|wake| wakes[*wake as usize].at <= at);
        let wake = to[after.checked_sub(1)?] as usize;
        (wakes[wake].at >= since).then_some(wake)
    }

    /// Returns the wakes that a lane made from `since` to `until`, both included.
    pub fn made(&self, wakes: &[Wake], lane: usize, since: SimTime, until: SimTime) -> &[u32] {
        let from = self.from(lane);
        let first = from.partition_point(|wake| wakes[*wake as usize].at < since);
        let last = from.partition_point(|wake| wakes[*wake as usize].at <= until);
        &from[first..last.max(first)]
    }
}

/// Returns the arrows in view, not more than `most`: where there are more, those that stand near each other between the
/// same rows become one.
pub fn arrows(wakes: &[Wake], scale: &TimeScale, rows: &Arranged, most: usize) -> Vec<Arrow> {
    let first = wakes.partition_point(|wake| wake.at < scale.start());
    let last = wakes.partition_point(|wake| wake.at <= scale.end());
    let range = first..last.max(first);
    let arrow = |wake: usize| {
        let Wake { from, to, at } = wakes[wake];
        let (from, to) = (rows.of_lane(from as usize)?, rows.of_lane(to as usize)?);
        (from != to).then(|| Arrow {
            from,
            to,
            x: scale.x(at),
            wake,
            count: 1,
        })
    };
    if range.len() <= most {
        return range.filter_map(arrow).collect();
    }
    let mut width = 2.0;
    loop {
        let bundles = bundled(range.clone().filter_map(arrow), width);
        if bundles.len() <= most || width > scale.width() {
            return bundles;
        }
        width *= 4.0;
    }
}

/// Joins arrows between the same rows that stand within the same stretch of pixels.
fn bundled(arrows: impl Iterator<Item = Arrow>, width: f64) -> Vec<Arrow> {
    let mut bundles: BTreeMap<(i64, usize, usize), Arrow> = BTreeMap::new();
    for arrow in arrows {
        let key = ((arrow.x / width).floor() as i64, arrow.from, arrow.to);
        bundles
            .entry(key)
            .and_modify(|bundle| bundle.count += 1)
            .or_insert(arrow);
    }
    bundles.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrange::{Arrangement, Heights, LaneFacts, arrange};

    fn rows(lanes: usize) -> Arranged {
        let facts = vec![LaneFacts::default(); lanes];
        let heights = Heights {
            lane: 10.0,
            group: 10.0,
        };
        let how = Arrangement {
            grouped: false,
            ..Arrangement::default()
        };
        arrange(&facts, 0, &how, heights)
    }

    fn wake(from: u32, to: u32, at: u64) -> Wake {
        Wake {
            from,
            to,
            at: SimTime(at),
        }
    }

    #[test]
    fn few_arrows_are_all_drawn_and_many_are_bundled_and_counted() {
        let wakes: Vec<Wake> = (0..10_000)
            .map(|i| wake(i % 3, (i + 1) % 3, u64::from(i)))
            .collect();
        let scale = TimeScale::new(SimTime(0), SimTime(10_000), 0.0, 1_000.0);
        let near = TimeScale::new(SimTime(100), SimTime(199), 0.0, 1_000.0);
        assert_eq!(arrows(&wakes, &near, &rows(3), 500).len(), 100);
        let many = arrows(&wakes, &scale, &rows(3), 500);
        assert!(many.len() <= 500);
        assert_eq!(many.iter().map(|arrow| arrow.count).sum::<u32>(), 10_000);
    }

    #[test]
    fn arrows_within_a_row_or_to_lanes_left_out_are_not_drawn() {
        let wakes = [wake(0, 0, 1), wake(0, 7, 2), wake(1, 0, 3)];
        let scale = TimeScale::new(SimTime(0), SimTime(10), 0.0, 100.0);
        let drawn = arrows(&wakes, &scale, &rows(2), 10);
        assert_eq!(drawn.len(), 1);
        assert_eq!((drawn[0].from, drawn[0].to, drawn[0].wake), (1, 0, 2));
    }

    #[test]
    fn the_wake_that_ended_a_wait_is_found() {
        let wakes = [wake(0, 1, 5), wake(2, 1, 9), wake(1, 0, 12)];
        let index = WakeIndex::new(&wakes, 3);
        assert_eq!(index.last_to(&wakes, 1, SimTime(3), SimTime(9)), Some(1));
        assert_eq!(index.last_to(&wakes, 1, SimTime(3), SimTime(8)), Some(0));
        assert_eq!(index.last_to(&wakes, 1, SimTime(6), SimTime(8)), None);
        assert_eq!(index.made(&wakes, 1, SimTime(0), SimTime(12)), [2]);
        assert!(index.to(9).is_empty());
    }
}
