//! Which arrows are drawn: from the release to the one that it let go on, and from a send to its receive; all while they are
//! few, else in bundles, and of those that would still be too many the ones that matter most.

use std::{cmp::Reverse, collections::BTreeMap, ops::Range};

use foretrace_schedule::{Activity, Lane, Schedule, SimTime, Wake};

use crate::scale::TimeScale;

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
    /// How many lines of arrows that are drawn lie over each other where it ends, its own among them.
    pub crowd: u32,
    /// Whether its line is drawn. Where very many lie over each other that is so of the longest, and of the others their tips.
    pub has_line: bool,
}

/// So many lines are drawn over each other at most.
const LINES: usize = 12;

/// Lines that lie over each other leave so much of what is behind them to be seen.
const SEEN_THROUGH: f32 = 0.45;

impl Arrow {
    /// Returns how thick its line is, in pixels: the thicker the more it stands for, up to what hides nothing.
    pub fn thickness(&self) -> f32 {
        (1.0 + (self.count.max(1) as f32).log10()).min(2.5)
    }

    /// Returns how opaque its line is, so that what is behind a crowd of them can still be seen.
    pub fn opacity(&self) -> f32 {
        if self.crowd <= 1 {
            return 1.0;
        }
        let lines = self.crowd.min(LINES as u32);
        1.0 - SEEN_THROUGH.powf(1.0 / lines as f32)
    }
}

/// The arrows of a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrows {
    /// Those that are drawn, in order of time.
    pub drawn: Vec<Arrow>,
    /// How many releases and messages there are in the picture.
    pub all: usize,
    /// For how many of them no arrow is drawn.
    pub left_out: usize,
}

impl Arrows {
    /// Says what the arrows stand for where there is not one for each.
    pub fn note(&self) -> Option<String> {
        let (arrows, all) = (self.drawn.len(), self.all);
        match self.left_out {
            0 if arrows < all => Some(format!("{all} in {arrows} arrows")),
            0 => None,
            left => Some(format!(
                "{arrows} arrows for the longest waits; {left} of {all} left out"
            )),
        }
    }
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
    /// Of each wake: how long somebody waited for it, or it was on its way.
    waits: Vec<SimTime>,
    longest: SimTime,
}

impl WakeIndex {
    /// Sorts the wakes of a schedule by the lanes they lead to and come from.
    pub fn new(schedule: &Schedule) -> Self {
        let (wakes, lanes) = (&schedule.wakes, schedule.lanes.len());
        let mut index = Self {
            to: vec![Vec::new(); lanes],
            from: vec![Vec::new(); lanes],
            waits: wakes.iter().map(|wake| wake.delay).collect(),
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
        for (lane, to) in schedule.lanes.iter().zip(&index.to) {
            note_waits(lane, to, wakes, &mut index.waits);
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

/// Notes how long the waits were that wakes of a lane ended.
fn note_waits(lane: &Lane, to: &[u32], wakes: &[Wake], waits: &mut [SimTime]) {
    let mut segments = lane.segments.iter().peekable();
    for &wake in to {
        let at = wakes[wake as usize].at;
        while segments.next_if(|segment| segment.end < at).is_some() {}
        if let Some(segment) = segments.peek()
            && segment.end == at
            && matches!(segment.state.activity(), Activity::Blocked(_))
        {
            let wait = &mut waits[wake as usize];
            *wait = segment.duration().max(*wait);
        }
    }
}

/// Arrows between the same rows that begin and end within so many pixels of each other cannot be told apart.
const APART: f64 = 3.0;

/// Returns the arrows in view, not more than `most`; `row` gives the row that a lane is drawn in, and `seen` are the rows that
/// are: an arrow is in view where a part of it may be.
///
/// Where there are more, those between the same rows that cannot be told apart become one. Where even that leaves too many,
/// those are left out that belong to the shortest waits.
pub fn arrows(
    wakes: &[Wake],
    index: &WakeIndex,
    scale: &TimeScale,
    row: &dyn Fn(usize) -> Option<usize>,
    seen: Range<usize>,
    most: usize,
) -> Arrows {
    let near = index.near(wakes, scale.start(), scale.end());
    let arrow = |position: usize| {
        let wake = &wakes[position];
        let (from, to) = (row(wake.from as usize)?, row(wake.to as usize)?);
        let crosses = from.min(to) < seen.end && from.max(to) >= seen.start;
        (from != to && crosses && wake.sent() <= scale.end()).then_some(Arrow {
            from,
            to,
            wake: position,
            count: 1,
            crowd: 1,
            has_line: true,
        })
    };
    let all = near.clone().filter_map(arrow).count();
    if all <= most {
        let mut drawn: Vec<Arrow> = near.filter_map(arrow).collect();
        count_crowds(&mut drawn, wakes, scale);
        return Arrows {
            drawn,
            all,
            left_out: 0,
        };
    }
    let mut bundles = bundled(near.filter_map(arrow), wakes, index, scale);
    if bundles.len() > most {
        keep_longest(&mut bundles, wakes, scale, most);
    }
    let mut drawn: Vec<Arrow> = bundles.into_iter().map(|(bundle, _)| bundle).collect();
    count_crowds(&mut drawn, wakes, scale);
    let shown: usize = drawn.iter().map(|bundle| bundle.count as usize).sum();
    Arrows {
        drawn,
        all,
        left_out: all - shown,
    }
}

/// Notes how many lines lie over each other, and which of them are drawn: those that reach farthest, which lie over the others.
fn count_crowds(arrows: &mut [Arrow], wakes: &[Wake], scale: &TimeScale) {
    let mut crowds: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (position, arrow) in arrows.iter().enumerate() {
        let x = scale.x(wakes[arrow.wake].at);
        let crowd = crowds.entry((x / APART).floor() as i64).or_default();
        crowd.push(position);
    }
    for crowd in crowds.values_mut() {
        let count = crowd.len() as u32;
        crowd.sort_by_key(|arrow| Reverse(arrows[*arrow].from.abs_diff(arrows[*arrow].to)));
        for (rank, position) in crowd.iter().enumerate() {
            let arrow = &mut arrows[*position];
            (arrow.crowd, arrow.has_line) = (count, rank < LINES);
        }
    }
}

/// No part of a picture that is so many pixels wide is left without arrows where it has some.
const PART: f64 = 24.0;

/// Keeps so many bundles: first those of the longest waits of each part of the picture, then those of the longest of all.
fn keep_longest(
    bundles: &mut Vec<(Arrow, SimTime)>,
    wakes: &[Wake],
    scale: &TimeScale,
    most: usize,
) {
    // The first of equals stays, so that the same picture is drawn each time.
    bundles.sort_by_key(|(bundle, wait)| (Reverse(*wait), bundle.wake));
    #[expect(clippy::cast_sign_loss, reason = "widths are not negative")]
    let parts = ((scale.width() / PART) as usize).clamp(1, most.max(1));
    let of_each = most / parts;
    let mut kept = vec![0; parts + 1];
    let mut rank = |bundle: &Arrow| {
        let at = wakes[bundle.wake].at.clamp(scale.start(), scale.end());
        let share = (scale.x(at) - scale.x(scale.start())) / scale.width().max(1.0);
        #[expect(clippy::cast_sign_loss, reason = "shares are not negative")]
        let part = (share * parts as f64) as usize;
        let count = &mut kept[part.min(parts)];
        *count += 1;
        *count > of_each
    };
    let ranked = bundles.drain(..).map(|bundle| (rank(&bundle.0), bundle));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(is_more, _)| *is_more);
    ranked.truncate(most);
    bundles.extend(ranked.into_iter().map(|(_, bundle)| bundle));
    bundles.sort_by_key(|(bundle, _)| bundle.wake);
}

/// Joins arrows that cannot be told apart; each bundle with its longest wait, whose arrow stands for it.
fn bundled(
    arrows: impl Iterator<Item = Arrow>,
    wakes: &[Wake],
    index: &WakeIndex,
    scale: &TimeScale,
) -> Vec<(Arrow, SimTime)> {
    let mut bundles: BTreeMap<(i64, i64, usize, usize), (Arrow, SimTime)> = BTreeMap::new();
    let stretch = |time: SimTime| (scale.x(time) / APART).floor() as i64;
    for arrow in arrows {
        let wake = &wakes[arrow.wake];
        let key = (stretch(wake.at), stretch(wake.sent()), arrow.from, arrow.to);
        let wait = index.waits[arrow.wake];
        let (bundle, longest) = bundles.entry(key).or_insert((arrow, wait));
        if bundle.wake != arrow.wake {
            bundle.count += 1;
        }
        if wait > *longest {
            (bundle.wake, *longest) = (arrow.wake, wait);
        }
    }
    bundles.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretrace_schedule::{Outcome, Segment, State, WaitKind};

    fn schedule(wakes: &[Wake], lanes: usize) -> Schedule {
        Schedule {
            source: "test".to_owned(),
            model: "direct".to_owned(),
            cpus: 1,
            network: None,
            end: SimTime(1_000_000),
            outcome: Outcome::Completed,
            processes: Vec::new(),
            lanes: vec![Lane::default(); lanes],
            objects: Vec::new(),
            wakes: wakes.to_vec(),
        }
    }

    fn wake(from: u32, to: u32, at: u64) -> Wake {
        Wake::at_once(from, to, SimTime(at))
    }

    fn in_view(wakes: &[Wake], scale: &TimeScale, lanes: usize, most: usize) -> Arrows {
        let index = WakeIndex::new(&schedule(wakes, lanes));
        let row = |lane| (lane < lanes).then_some(lane);
        arrows(wakes, &index, scale, &row, 0..lanes, most)
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
            let seen = in_view(&wakes, &near, 3, 500);
            assert_eq!(
                (seen.drawn.len(), seen.left_out, seen.note()),
                (few, 0, None)
            );
            let many = in_view(&wakes, &scale, 3, 5_000);
            let shown: u32 = many.drawn.iter().map(|arrow| arrow.count).sum();
            assert_eq!((shown, many.all, many.left_out), (10_000, 10_000, 0));
            assert!(
                many.note()
                    .is_some_and(|note| note.starts_with("10000 in "))
            );
            let most = in_view(&wakes, &scale, 3, 50);
            let shown: u32 = most.drawn.iter().map(|arrow| arrow.count).sum();
            assert_eq!(
                (most.drawn.len(), most.left_out + shown as usize),
                (50, 10_000)
            );
            assert!(
                most.note()
                    .is_some_and(|note| note.ends_with("of 10000 left out"))
            );
        }
    }

    #[test]
    fn however_many_lines_lie_over_each_other_what_is_behind_them_is_seen() {
        let scale = TimeScale::new(SimTime(0), SimTime(10_000), 0.0, 1_000.0);
        for count in [1, 2, 40, 1_000] {
            // One thread lets all others go on, all but at once.
            let wakes: Vec<Wake> = (1..=count).map(|to| wake(0, to, 5_000)).collect();
            let drawn = in_view(&wakes, &scale, 1_001, 2_000).drawn;
            assert_eq!(drawn.len(), count as usize, "the tips of all are drawn");
            let lines = drawn.iter().filter(|arrow| arrow.has_line);
            let behind: f32 = lines.map(|arrow| 1.0 - arrow.opacity()).product();
            assert!(behind > 0.4 || count == 1, "{count}: {behind}");
            // The line that reaches farthest is drawn.
            assert!(drawn.last().is_some_and(|arrow| arrow.has_line));
        }
        let alone = in_view(&[wake(0, 1, 5), wake(1, 0, 9_000)], &scale, 2, 9).drawn;
        assert!(alone.iter().all(|arrow| arrow.opacity() >= 1.0));
        let many = Arrow {
            count: 1_000_000,
            ..alone[0]
        };
        assert!(many.thickness() < 3.0);
    }

    #[test]
    fn the_arrows_of_the_longest_waits_are_kept() {
        let wakes: Vec<Wake> = (1..=100).map(|i| wake(0, 1, i * 1_000)).collect();
        let mut schedule = schedule(&wakes, 2);
        let blocked = |start: u64, end: u64| Segment {
            start: SimTime(start),
            end: SimTime(end),
            state: State::Blocked(WaitKind::Lock),
            object: None,
            event: None,
        };
        schedule.lanes[1].segments = (1..=100)
            .map(|i| {
                let wait = if i % 10 == 0 { 900 } else { i };
                blocked(i * 1_000 - wait, i * 1_000)
            })
            .collect();
        let index = WakeIndex::new(&schedule);
        let scale = TimeScale::new(SimTime(0), SimTime(100_000), 0.0, 1_000.0);
        let kept = arrows(&wakes, &index, &scale, &Some, 0..2, 10);
        let kept: Vec<usize> = kept.drawn.iter().map(|arrow| arrow.wake + 1).collect();
        assert_eq!(kept, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
        // Of each part of a wide picture, some are kept.
        let scale = TimeScale::new(SimTime(0), SimTime(100_000), 0.0, 240.0);
        let kept = arrows(&wakes, &index, &scale, &Some, 0..2, 20);
        let parts = kept.drawn.chunk_by(|a, b| a.wake / 10 == b.wake / 10);
        assert_eq!((kept.drawn.len(), parts.count()), (20, 10));
    }

    #[test]
    fn arrows_within_a_row_or_to_lanes_left_out_are_not_drawn() {
        let wakes = [wake(0, 0, 1), wake(0, 7, 2), wake(1, 0, 3)];
        let scale = TimeScale::new(SimTime(0), SimTime(10), 0.0, 100.0);
        let drawn = in_view(&wakes, &scale, 2, 10).drawn;
        assert_eq!(drawn.len(), 1);
        assert_eq!((drawn[0].from, drawn[0].to, drawn[0].wake), (1, 0, 2));
    }

    #[test]
    fn arrows_above_and_below_the_rows_that_are_seen_are_not_drawn() {
        let wakes = [wake(0, 1, 1), wake(1, 5, 2), wake(4, 3, 3), wake(6, 5, 4)];
        let index = WakeIndex::new(&schedule(&wakes, 7));
        let scale = TimeScale::new(SimTime(0), SimTime(10), 0.0, 100.0);
        let drawn = arrows(&wakes, &index, &scale, &Some, 2..4, 10).drawn;
        let drawn: Vec<usize> = drawn.iter().map(|arrow| arrow.wake).collect();
        assert_eq!(drawn, [1, 2], "one crosses them, one ends in them");
    }

    #[test]
    fn the_wake_that_ended_a_wait_is_found() {
        let wakes = [wake(0, 1, 5), wake(2, 1, 9), wake(1, 0, 12)];
        let index = WakeIndex::new(&schedule(&wakes, 3));
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
        let index = WakeIndex::new(&schedule(&wakes, 2));
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
        assert_eq!(in_view(&[message, upright], &near, 2, 10).all, 1);
    }
}
