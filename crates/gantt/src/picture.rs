//! A schedule made ready to be drawn and asked about: its tracks, and what is found in them.

use std::sync::atomic::{AtomicUsize, Ordering};

use foretrace_schedule::{Activity, BlockedThread, Marks, Outcome, Schedule, Segment, SimTime};
use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _,
};

use crate::{
    arrange::LaneFacts,
    arrows::WakeIndex,
    track::{self, CpuTrack, FILLS, Fill, Sums, Track},
};

/// A schedule with its index.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What it is of.
    pub schedule: Schedule,
    /// Every operation, where that is known.
    pub marks: Marks,
    /// A track for each lane.
    pub tracks: Vec<Track>,
    /// A track for each CPU.
    pub cpus: Vec<CpuTrack>,
    /// The wakes by lane.
    pub wakes: WakeIndex,
}

impl Picture {
    /// Makes the index, on all CPUs. `on_progress` is called with the lanes that are done and all that there are.
    pub fn new(
        schedule: Schedule,
        marks: Marks,
        on_progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Self {
        let done = AtomicUsize::new(0);
        let of = schedule.lanes.len();
        let tracks = schedule
            .lanes
            .par_iter()
            .map(|lane| {
                let track = Track::of_lane(lane, schedule.end);
                on_progress(done.fetch_add(1, Ordering::Relaxed) + 1, of);
                track
            })
            .collect();
        Self {
            tracks,
            cpus: track::of_cpus(&schedule),
            wakes: WakeIndex::new(&schedule),
            schedule,
            marks,
        }
    }

    /// The number of segments of all lanes.
    pub fn segments(&self) -> usize {
        self.tracks.iter().map(Track::len).sum()
    }

    /// Returns what lanes are arranged by; `routine` names a thread's start routine.
    pub fn facts(&self, routine: &(dyn Fn(usize) -> Option<String> + Sync)) -> Vec<LaneFacts> {
        let schedule = &self.schedule;
        let facts = |(lane, of): (usize, &foretrace_schedule::Lane)| {
            let sums = self.tracks[lane].sums(SimTime::ZERO, schedule.end);
            let process = schedule.processes.get(of.process as usize);
            LaneFacts {
                name: of.name.clone(),
                process: process.cloned().unwrap_or_default(),
                routine: routine(lane),
                operations: self.marks.lane(lane).len().max(of.segments.len()),
                born: of
                    .segments
                    .first()
                    .map_or(u64::MAX, |segment| segment.start.0),
                running: sums[Fill::RUNNING.index()],
                ready: sums[Fill::of(Activity::Ready).index()],
                blocked: blocked(&sums),
            }
        };
        schedule
            .lanes
            .par_iter()
            .enumerate()
            .map(|(lane, of)| facts((lane, of)))
            .collect()
    }

    /// Returns the segment of a lane at a time; none before its birth and after its end.
    pub fn segment_at(&self, lane: usize, time: SimTime) -> Option<usize> {
        let track = self.tracks.get(lane)?;
        track.lane_segment(track.segment_at(time)?)
    }

    /// Returns a segment of a lane.
    pub fn segment(&self, lane: usize, segment: usize) -> Option<&Segment> {
        self.schedule.lanes.get(lane)?.segments.get(segment)
    }

    /// Returns the segment that a row shows at a height above its bottom (as a share of its height), between two times:
    /// the longest of those in the state that is drawn there.
    pub fn pick(&self, lane: usize, start: SimTime, end: SimTime, height: f64) -> Option<usize> {
        let track = self.tracks.get(lane)?;
        let first = track.segment_at(start)?;
        let last = track.segment_at(SimTime(end.0.saturating_sub(1)).max(start))?;
        if first == last {
            return track.lane_segment(first);
        }
        let sums = track.sums(start, end);
        let fill = fill_at(&sums, height)?;
        let length = |segment: usize| {
            let (from, until) = track.span(segment);
            until.min(end).since(from.max(start))
        };
        let of_fill = (first..=last).filter(|segment| track.fill(*segment) == fill);
        let longest =
            of_fill.max_by_key(|segment| (length(*segment), std::cmp::Reverse(*segment)))?;
        track.lane_segment(longest)
    }

    /// Returns the exact time that each lane spent in each state within a range.
    pub fn statistics(&self, start: SimTime, end: SimTime) -> Vec<Sums> {
        self.tracks
            .iter()
            .map(|track| track.sums(start, end))
            .collect()
    }

    /// Returns the wake that let a lane go on at the end of a blocked segment, or that created it.
    pub fn released_by(&self, lane: usize, segment: usize) -> Option<usize> {
        let of = self.segment(lane, segment)?;
        let wakes = &self.schedule.wakes;
        self.wakes.last_to(wakes, lane, of.end, of.end)
    }

    /// Returns those that wait for ever.
    pub fn deadlocked(&self) -> &[BlockedThread] {
        match &self.schedule.outcome {
            Outcome::Completed => &[],
            Outcome::Deadlock(blocked) => blocked,
        }
    }

    /// Returns who waits for whom in a deadlock, as lanes, and the lanes that wait in a circle.
    pub fn deadlock(&self) -> Deadlock {
        Deadlock::of(&self.schedule)
    }
}

/// Who waits for whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deadlock {
    /// The lane that waits, and the one that could let it go on.
    pub edges: Vec<(usize, usize)>,
    /// Lanes each of which waits for the next, and the last one for the first; empty where there is no such circle.
    pub cycle: Vec<usize>,
}

impl Deadlock {
    /// Finds out who waits for whom in a schedule.
    pub fn of(schedule: &Schedule) -> Self {
        let Outcome::Deadlock(blocked) = &schedule.outcome else {
            return Self::default();
        };
        let lane = |name: &str| schedule.lanes.iter().position(|lane| lane.name == name);
        let edges: Vec<(usize, usize)> = blocked
            .iter()
            .filter_map(|blocked| {
                Some((lane(&blocked.thread)?, lane(blocked.waits_for.as_deref()?)?))
            })
            .collect();
        let cycle = cycle(&edges, schedule.lanes.len());
        Self { edges, cycle }
    }

    /// Returns whether somebody in the circle waits for somebody in it.
    pub fn is_in_circle(&self, (from, to): (usize, usize)) -> bool {
        self.cycle.contains(&from) && self.cycle.contains(&to)
    }
}

/// Finds a circle; every lane waits for one other at most.
fn cycle(edges: &[(usize, usize)], lanes: usize) -> Vec<usize> {
    let mut next = vec![None; lanes];
    for &(from, to) in edges {
        next[from] = Some(to);
    }
    for &(start, _) in edges {
        let follow = |lane: &usize| next[*lane];
        let path = std::iter::successors(Some(start), follow)
            .take(lanes + 1)
            .skip(1);
        let mut circle = vec![start];
        for lane in path {
            if lane == start {
                return circle;
            }
            circle.push(lane);
        }
    }
    Vec::new()
}

/// Returns how much of these times was spent blocked.
pub fn blocked(sums: &Sums) -> u64 {
    Fill::all()
        .filter(|fill| matches!(fill.activity(), Some(Activity::Blocked(_))))
        .map(|fill| sums[fill.index()])
        .sum()
}

/// Adds up the times of several lanes.
pub fn total(lanes: &[Sums]) -> Sums {
    let mut total = [0; FILLS];
    for sums in lanes {
        for (all, one) in total.iter_mut().zip(sums) {
            *all += one;
        }
    }
    total
}

/// Returns what is drawn at a height of a stacked column.
fn fill_at(sums: &Sums, height: f64) -> Option<Fill> {
    let whole: u64 = sums.iter().sum();
    let mut below = 0;
    let mut found = None;
    for fill in Fill::all().filter(|fill| sums[fill.index()] > 0) {
        below += sums[fill.index()];
        found = Some(fill);
        if below as f64 > height.clamp(0.0, 1.0) * whole as f64 {
            break;
        }
    }
    found
}

/// Returns a schedule of some of the lanes alone, in this order: what is seen, to be written as a picture.
#[must_use]
pub fn only_lanes(schedule: &Schedule, lanes: &[usize]) -> Schedule {
    let mut renumbered = vec![None; schedule.lanes.len()];
    for (position, &lane) in lanes.iter().enumerate() {
        renumbered[lane] = Some(position as u32);
    }
    let new = |lane: u32| renumbered.get(lane as usize).copied().flatten();
    let wakes = schedule.wakes.iter().filter_map(|wake| {
        Some(foretrace_schedule::Wake {
            from: new(wake.from)?,
            to: new(wake.to)?,
            ..*wake
        })
    });
    Schedule {
        source: schedule.source.clone(),
        model: schedule.model.clone(),
        cpus: schedule.cpus,
        network: schedule.network.clone(),
        end: schedule.end,
        outcome: schedule.outcome.clone(),
        processes: schedule.processes.clone(),
        lanes: lanes
            .iter()
            .map(|&lane| schedule.lanes[lane].clone())
            .collect(),
        objects: schedule.objects.clone(),
        wakes: wakes.collect(),
    }
}

#[cfg(test)]
mod tests {
    use foretrace_schedule::{Lane, State, WaitKind, Wake};

    use super::*;

    fn lane(name: &str, segments: &[(u64, u64, State)]) -> Lane {
        let segments = segments.iter().map(|&(start, end, state)| Segment {
            start: SimTime(start),
            end: SimTime(end),
            state,
            object: None,
            event: None,
        });
        let segments: Vec<Segment> = segments.collect();
        Lane {
            name: name.to_owned(),
            end: segments.last().map(|segment| segment.end),
            segments,
            ..Lane::default()
        }
    }

    fn picture(outcome: Outcome) -> Picture {
        let lock = State::Blocked(WaitKind::Lock);
        let main = lane("main", &[(0, 60, State::Running(0))]);
        let worker = lane(
            "worker",
            &[
                (10, 20, State::Running(1)),
                (20, 50, lock),
                (50, 55, State::Running(1)),
                (55, 56, lock),
                (56, 60, State::Running(1)),
            ],
        );
        let wake = |from, to, at| Wake::at_once(from, to, SimTime(at));
        let schedule = Schedule {
            source: "test".to_owned(),
            model: "direct".to_owned(),
            cpus: 2,
            network: None,
            end: SimTime(60),
            outcome,
            processes: vec!["test".to_owned()],
            lanes: vec![main, worker],
            objects: Vec::new(),
            wakes: vec![wake(0, 1, 10), wake(0, 1, 50), wake(0, 1, 56)],
        };
        Picture::new(schedule, Marks::new(2), &|done, of| assert!(done <= of))
    }

    #[test]
    fn a_click_finds_what_is_drawn_there() {
        let picture = picture(Outcome::Completed);
        let pick = |from, until, height| picture.pick(1, SimTime(from), SimTime(until), height);
        assert_eq!(pick(12, 13, 0.5), Some(0));
        // Running 19 of 50, blocked 31: the longest of each.
        assert_eq!(pick(10, 60, 0.1), Some(0));
        assert_eq!(pick(10, 60, 0.9), Some(1));
        assert_eq!(pick(51, 60, 0.99), Some(3));
        assert_eq!(pick(2, 5, 0.5), None);
        assert_eq!(picture.segment_at(1, SimTime(55)), Some(3));
    }

    #[test]
    fn statistics_and_facts_are_exact() {
        let picture = picture(Outcome::Completed);
        let lanes = picture.statistics(SimTime(15), SimTime(25));
        assert_eq!(lanes[1][Fill::RUNNING.index()], 5);
        assert_eq!(blocked(&lanes[1]), 5);
        assert_eq!(total(&lanes).iter().sum::<u64>(), 20);
        let facts = picture.facts(&|lane| (lane == 1).then(|| "work".to_owned()));
        assert_eq!(
            (facts[1].running, facts[1].blocked, facts[1].born),
            (19, 31, 10)
        );
        assert_eq!(facts[1].routine.as_deref(), Some("work"));
    }

    #[test]
    fn who_released_a_waiter_is_found() {
        let picture = picture(Outcome::Completed);
        assert_eq!(picture.released_by(1, 1), Some(1));
        assert_eq!(picture.released_by(1, 3), Some(2));
        assert_eq!(picture.released_by(0, 0), None);
    }

    #[test]
    fn a_circle_of_waiters_is_found() {
        let blocked = |thread: &str, other: &str| BlockedThread {
            thread: thread.to_owned(),
            operation: "lock".to_owned(),
            object: None,
            waits_for: Some(other.to_owned()),
            since: SimTime(1),
        };
        let both = vec![blocked("main", "worker"), blocked("worker", "main")];
        let deadlock = picture(Outcome::Deadlock(both)).deadlock();
        assert_eq!((deadlock.edges.len(), deadlock.cycle), (2, vec![0, 1]));
        let chain = picture(Outcome::Deadlock(vec![blocked("main", "worker")])).deadlock();
        assert!(chain.cycle.is_empty());
        assert_eq!(cycle(&[(0, 1), (1, 2), (2, 1)], 3), [1, 2]);
    }

    #[test]
    fn a_part_of_the_lanes_is_a_schedule_of_its_own() {
        let picture = picture(Outcome::Completed);
        let swapped = only_lanes(&picture.schedule, &[1, 0]);
        assert_eq!(swapped.check(), Ok(()));
        assert_eq!(swapped.lanes[0].name, "worker");
        assert_eq!((swapped.wakes[0].from, swapped.wakes[0].to), (1, 0));
        let alone = only_lanes(&picture.schedule, &[1]);
        assert_eq!((alone.lanes.len(), alone.wakes.len()), (1, 0));
    }
}
