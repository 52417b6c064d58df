use foretrace_schedule::Segment;
use proptest::prelude::*;

use super::*;
use crate::pixels::Shares;

/// A lane that begins at `start`, with segments of these lengths.
fn lane(start: u64, lengths: &[(u64, State)]) -> Lane {
    let mut at = SimTime(start);
    let segments = lengths.iter().map(|(length, state)| {
        let start = at;
        at = at + SimTime(*length);
        Segment {
            start,
            end: at,
            state: *state,
            object: None,
            event: None,
        }
    });
    Lane {
        segments: segments.collect(),
        end: Some(at),
        ..Lane::default()
    }
}

fn any_lane(most: usize) -> impl Strategy<Value = Lane> {
    let state = prop_oneof![
        (0..4_u32).prop_map(State::Running),
        Just(State::Ready),
        proptest::sample::select(&WaitKind::ALL[..]).prop_map(State::Blocked),
    ];
    let length = prop_oneof![1..5_u64, 1..500_u64, 1..100_000_u64];
    let segments = proptest::collection::vec((length, state), 0..most);
    (0..10_000_u64, segments).prop_map(|(start, lengths)| lane(start, &lengths))
}

fn any_columns() -> impl Strategy<Value = Columns> {
    let length = prop_oneof![1..50_u64, 1..100_000_u64, 1..20_000_000_u64];
    (0..1_000_000_u64, length, 1..700_u32).prop_map(|(start, length, count)| {
        Columns::new(SimTime(start), SimTime(start + length), count)
    })
}

/// What the columns of a track hold together, column by column.
fn shares(track: &Track, columns: &Columns, detail: Detail) -> Vec<Sums> {
    let bounds = bounds(columns);
    let mut found = vec![[0; FILLS]; columns.count() as usize];
    let present: Vec<Fill> = track.present().collect();
    let mut next = 0;
    track.columns(&bounds, detail, |run| match run {
        Run::Solid {
            from, until, fill, ..
        } => {
            assert!(from >= next && until > from, "columns come in order");
            next = until;
            for column in from..until {
                let end = bounds[column + 1].min(track.end().0);
                found[column][fill.index()] += end.saturating_sub(bounds[column]);
            }
        }
        Run::Mixed { column, shares } => {
            assert!(column >= next, "columns come in order");
            next = column + 1;
            for (fill, share) in present.iter().zip(shares) {
                found[column][fill.index()] += share;
            }
        }
    });
    found
}

proptest! {
    #[test]
    fn columns_hold_exactly_what_the_segments_say(lane in any_lane(400), columns in any_columns(), tail in 0..5_000_u64) {
        let end = lane.end.unwrap() + SimTime(tail);
        let track = Track::of_lane(&lane, end);
        let found = shares(&track, &columns, Detail::Exact);
        let truth = Shares::of([&lane], columns);
        for (column, totals) in truth.totals().iter().enumerate() {
            for activity in Activity::ALL {
                prop_assert_eq!(found[column][activity.index()], totals[activity].0);
            }
        }
    }

    #[test]
    fn no_time_is_lost_at_any_zoom(lane in any_lane(400), columns in any_columns(), tail in 0..5_000_u64) {
        let end = lane.end.unwrap() + SimTime(tail);
        let track = Track::of_lane(&lane, end);
        let found = shares(&track, &columns, Detail::Exact);
        let shown = columns.end().min(end).since(columns.start());
        prop_assert_eq!(found.iter().flatten().sum::<u64>(), shown.0);
        let sums = track.sums(columns.start(), columns.end());
        for fill in 0..FILLS {
            prop_assert_eq!(sums[fill], found.iter().map(|column| column[fill]).sum::<u64>());
        }
    }

    #[test]
    fn segments_are_found_by_time(lane in any_lane(300), at in 0..20_000_000_u64) {
        let track = Track::of_lane(&lane, lane.end.unwrap() + SimTime(7));
        let Some(segment) = track.segment_at(SimTime(at)) else {
            prop_assert!(track.is_empty());
            return Ok(());
        };
        let (start, end) = track.span(segment);
        prop_assert!(start.0 <= at && (at < end.0 || segment + 1 == track.len()));
        if let Some(position) = track.lane_segment(segment) {
            prop_assert_eq!(lane.segments[position].start, start);
            prop_assert_eq!(lane.segments[position].end, end);
            prop_assert_eq!(track.of_lane_segment(position), segment);
        }
    }

    #[test]
    fn the_grid_is_within_a_step_of_the_truth(seed in any::<u64>(), columns in 1..400_u32, zoom in 0..6_u32) {
        let track = long_track(seed, GRID_FROM + 77);
        // The coarsest level whose steps are at most half a column wide is taken.
        let step = 1 << track.index.pyramid.last().unwrap().shift;
        let span = track.end().0 >> zoom;
        let columns = Columns::new(SimTime(span / 3), SimTime(span / 3 + span), columns);
        let (fast, exact) = (shares(&track, &columns, Detail::Fast), shares(&track, &columns, Detail::Exact));
        for (fast, exact) in fast.iter().zip(&exact) {
            for fill in 0..FILLS {
                prop_assert!(fast[fill].abs_diff(exact[fill]) <= 2 * step);
            }
        }
        let sum = |shares: &[Sums]| shares.iter().flatten().sum::<u64>();
        prop_assert!(sum(&fast).abs_diff(sum(&exact)) <= 2 * step);
    }
}

/// A track of many short segments.
fn long_track(seed: u64, segments: usize) -> Track {
    let mut state = seed | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut starts, mut fills, mut at) = (Vec::new(), Vec::new(), 0);
    for _ in 0..segments {
        starts.push(at);
        fills.push(Fill((random() % 4) as u8));
        at += 1 + random() % 1_000;
    }
    Track::new(starts, fills, SimTime(at))
}

#[test]
fn every_fill_has_a_name_and_a_place_of_its_own() {
    let names: std::collections::BTreeSet<&str> = Fill::all().map(Fill::name).collect();
    assert_eq!(names.len(), FILLS);
    for (position, fill) in Fill::all().enumerate() {
        assert_eq!(fill.index(), position);
        assert_eq!(fill.activity().is_none(), position >= Activity::ALL.len());
    }
    for activity in Activity::ALL {
        assert_eq!(Fill::of(activity).activity(), Some(activity));
    }
}

#[test]
fn a_lane_without_segments_is_not_born() {
    let track = Track::of_lane(&Lane::default(), SimTime(10));
    assert_eq!(track.len(), 1);
    assert_eq!(track.sums(SimTime(2), SimTime(99))[Fill::UNBORN.index()], 8);
    assert_eq!(track.lane_segment(0), None);
}

#[test]
fn a_cpu_runs_what_the_lanes_say() {
    let running = |cpu| State::Running(cpu);
    let first = lane(0, &[(5, running(0)), (5, State::Ready), (5, running(1))]);
    let second = lane(5, &[(4, running(0))]);
    let schedule = Schedule {
        source: String::new(),
        model: String::new(),
        cpus: 3,
        network: None,
        end: SimTime(15),
        outcome: foretrace_schedule::Outcome::Completed,
        processes: vec![String::new()],
        lanes: vec![first, second],
        objects: Vec::new(),
        wakes: Vec::new(),
    };
    let cpus = of_cpus(&schedule);
    let turns = |cpu: usize| -> Vec<_> {
        (0..cpus[cpu].track.len())
            .map(|s| cpus[cpu].turn(s))
            .collect()
    };
    assert_eq!(turns(0), [Some((0, 0)), Some((1, 0)), None]);
    assert_eq!(turns(1), [None, Some((0, 2))]);
    assert_eq!(turns(2), [None]);
    let busy = cpus[0].track.sums(SimTime::ZERO, SimTime(15));
    assert_eq!(
        (busy[Fill::RUNNING.index()], busy[Fill::IDLE.index()]),
        (9, 6)
    );
}
