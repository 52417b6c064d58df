//! Which arrows are drawn: from the release to the one that it let go on, and from a send to its receive; all while they are
//! few, else in bundles.

use std::{collections::BTreeMap, ops::Range};

use foretrace_schedule::{SimTime, Wake};

use crate::{arrange::Arranged, scale::TimeScale};

/// An arrow between two rows; or several of them, side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrow {
    /// The row that it comes from.
    pub from: usize,
    /// The row that it goes to.
    pub to: usize,
    /// The first of the wakes that it stands for.
    pub wake: usize,
    /// How many they are.
    pub count: u32,
}

/// An arrow's line, cut at the picture's edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Where it begins: pixels to the right and down.
    pub start: (f64, f64),
    /// Where it ends.
    pub end: (f64, f64),
    /// Whether its tip is there; not where the picture ends before.
    pub has_tip: bool,
}

impl Line {
    /// Lays out a wake between two heights: upright where it takes no time, and slanted as a message is on its way.
    pub fn of(wake: &Wake, scale: &TimeScale, (from, to): (f64, f64)) -> Self {
        let (sent, at) = (wake.sent(), wake.at);
        // What is cut off ends at the height that it has there.
        let height = |time: SimTime| {
            let share = time.since(sent).0 as f64 / wake.delay.0.max(1) as f64;
            from + share * (to - from)
        };
        let (first, last) = (sent.max(scale.start()), at.min(scale.end()));
        let top = if first == sent { from } else { height(first) };
        let bottom = if last == at { to } else { height(last) };
        Self {
            start: (scale.x(first), top),
            end: (scale.x(last), bottom),
            has_tip: last == at,
        }
    }

    /// Returns the unit vector along it.
    pub fn direction(&self) -> (f64, f64) {
        let (x, y) = (self.end.0 - self.start.0, self.end.1 - self.start.1);
        let length = x.hypot(y);
        if length > 0.0 {
            (x / length, y / length)
        } else {
            (0.0, 1.0)
        }
    }
}

/// Wakes, found by time and by lane.
#[derive(Clone, Debug, Default)]
pub struct WakeIndex {
    to: Vec<Vec<u32>>,
    from: Vec<Vec<u32>>,
    longest: SimTime,
}

impl WakeIndex {
    /// Sorts the wakes of a schedule by the lanes they lead to and come from.
    pub fn new(wakes: &[Wake], lanes: usize) -> Self {
        let mut index = Self {
            to: vec![Vec::new(); lanes],
            from: vec![Vec::new(); lanes],
            longest: wakes
                .iter()
                .map(|wake| wake.delay)
                .max()
                .unwrap_or_default(),
        };
        for (position, wake) in wakes.iter().enumerate() {
            if let Some(to) = index.to.get_mut(wake.to as usize) {
                to.push(position as u32);
            }
            if let Some(from) = index.from.get_mut(wake.from as usize) {
                from.push(position as u32);
            }
        }
        if index.longest > SimTime::ZERO {
            // Messages may overtake each other.
            for from in &mut index.from {
                from.sort_by_key(|wake| wakes[*wake as usize].sent());
            }
        }
        index
    }

    /// Returns the wakes that let a lane go on, in order of time.
    pub fn to(&self, lane: usize) -> &[u32] {
        self.to.get(lane).map_or(&[], Vec::as_slice)
    }

    /// Returns the wakes that a lane made, in the order in which it did.
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
        let first = from.partition_point(|wake| wakes[*wake as usize].sent() < since);
        let last = from.partition_point(|wake| wakes[*wake as usize].sent() <= until);
        &from[first..last.max(first)]
    }

    /// Returns the positions among which all wakes are that lie, at least in part, between two times.
    fn near(&self, wakes: &[Wake], start: SimTime, end: SimTime) -> Range<usize> {
        let first = wakes.partition_point(|wake| wake.at < start);
        let last = wakes.partition_point(|wake| wake.at <= end + self.longest);
        first..last.max(first)
    }
}

/// Returns the arrows in view, not more than `most`: where there are more, those that stand near each other between the
/// same rows become one.
pub fn arrows(
    wakes: &[Wake],
    index: &WakeIndex,
    scale: &TimeScale,
    rows: &Arranged,
    most: usize,
) -> Vec<Arrow> {
    let near = index.near(wakes, scale.start(), scale.end());
    let arrow = |position: usize| {
        let wake = &wakes[position];
        let (from, to) = (
            rows.of_lane(wake.from as usize)?,
            rows.of_lane(wake.to as usize)?,
        );
        (from != to && wake.sent() <= scale.end()).then_some(Arrow {
            from,
            to,
            wake: position,
            count: 1,
        })
    };
    if near.clone().filter_map(arrow).nth(most).is_none() {
        return near.filter_map(arrow).collect();
    }
    let mut width = 2.0;
    loop {
        let all = near.clone().filter_map(arrow);
        let bundles = bundled(all, wakes, scale, width);
        if bundles.len() <= most || width > scale.width() {
            return bundles;
        }
        width *= 4.0;
    }
}

/// Joins arrows between the same rows that begin and end within the same stretches of pixels.
fn bundled(
    arrows: impl Iterator<Item = Arrow>,
    wakes: &[Wake],
    scale: &TimeScale,
    width: f64,
) -> Vec<Arrow> {
    let mut bundles: BTreeMap<(i64, i64, usize, usize), Arrow> = BTreeMap::new();
    let stretch = |time: SimTime| (scale.x(time) / width).floor() as i64;
    for arrow in arrows {
        let wake = &wakes[arrow.wake];
        let key = (stretch(wake.at), stretch(wake.sent()), arrow.from, arrow.to);
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
        Wake::at_once(from, to, SimTime(at))
    }

    fn in_view(wakes: &[Wake], scale: &TimeScale, lanes: usize, most: usize) -> Vec<Arrow> {
        let index = WakeIndex::new(wakes, lanes);
        arrows(wakes, &index, scale, &rows(lanes), most)
    }

    #[test]
    fn few_arrows_are_all_drawn_and_many_are_bundled_and_counted() {
        let at_once = |i: u32| wake(i % 3, (i + 1) % 3, u64::from(i));
        let message = |i: u32| Wake {
            delay: SimTime(u64::from(i % 7)),
            ..at_once(i)
        };
        for wakes in [
            (0..10_000).map(at_once).collect::<Vec<_>>(),
            (0..10_000).map(message).collect(),
        ] {
            let scale = TimeScale::new(SimTime(0), SimTime(10_000), 0.0, 1_000.0);
            let near = TimeScale::new(SimTime(100), SimTime(199), 0.0, 1_000.0);
            let seen = |wake: &&Wake| wake.at.0 >= 100 && wake.sent().0 <= 199;
            let few = wakes.iter().filter(seen).count();
            assert_eq!(in_view(&wakes, &near, 3, 500).len(), few);
            let many = in_view(&wakes, &scale, 3, 500);
            assert!(many.len() <= 500);
            assert_eq!(many.iter().map(|arrow| arrow.count).sum::<u32>(), 10_000);
        }
    }

    #[test]
    fn arrows_within_a_row_or_to_lanes_left_out_are_not_drawn() {
        let wakes = [wake(0, 0, 1), wake(0, 7, 2), wake(1, 0, 3)];
        let scale = TimeScale::new(SimTime(0), SimTime(10), 0.0, 100.0);
        let drawn = in_view(&wakes, &scale, 2, 10);
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

    #[test]
    fn messages_that_overtake_each_other_are_found_by_when_they_were_sent() {
        let message = |sent, at| Wake::message(0, SimTime(sent), 1, SimTime(at));
        let wakes = [message(20, 30), message(10, 40)];
        let index = WakeIndex::new(&wakes, 2);
        assert_eq!(index.made(&wakes, 0, SimTime(10), SimTime(10)), [1]);
        assert_eq!(index.made(&wakes, 0, SimTime(15), SimTime(99)), [0]);
    }

    #[test]
    fn a_message_goes_from_its_send_to_its_receive_and_is_cut_at_the_edges() {
        let message = Wake::message(0, SimTime(10), 1, SimTime(30));
        let line = |start, end| {
            let scale = TimeScale::new(SimTime(start), SimTime(end), 0.0, 100.0);
            Line::of(&message, &scale, (0.0, 8.0))
        };
        let whole = line(0, 100);
        assert_eq!((whole.start, whole.end), ((10.0, 0.0), (30.0, 8.0)));
        assert!(whole.has_tip);
        let cut = line(15, 25);
        assert_eq!((cut.start, cut.end), ((0.0, 2.0), (100.0, 6.0)));
        assert!(!cut.has_tip);
        let upright = Wake::at_once(1, 0, SimTime(50));
        let scale = TimeScale::new(SimTime(0), SimTime(100), 0.0, 100.0);
        let line = Line::of(&upright, &scale, (8.0, 0.0));
        assert_eq!((line.start, line.end), ((50.0, 8.0), (50.0, 0.0)));
        assert_eq!(line.direction(), (0.0, -1.0));
        // One that is on its way through all of a closer view is in it.
        let near = TimeScale::new(SimTime(15), SimTime(25), 0.0, 100.0);
        assert_eq!(in_view(&[message, upright], &near, 2, 10).len(), 1);
    }
}
