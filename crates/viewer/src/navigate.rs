//! From one event to another: along a thread, an object, a kind, to whoever was the cause, along the critical path.

use foretrace_schedule::{Activity, SimTime, State};

use crate::{
    loaded::Loaded,
    source::{EventClass, EventInfo, ScheduleSource},
};

/// What is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selection {
    /// The lane.
    pub lane: usize,
    /// What in it.
    pub what: Selected,
}

/// What is selected in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selected {
    /// The lane itself.
    Lane,
    /// A segment, by its position.
    Segment(usize),
    /// An operation, by its position among the lane's.
    Mark(usize),
}

/// Which way to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To what is later.
    Next,
    /// To what is earlier.
    Previous,
}

impl Selection {
    /// Returns when it begins and ends; the same time twice for an operation.
    pub fn span(&self, loaded: &Loaded) -> (SimTime, SimTime) {
        let lane = &loaded.picture.schedule.lanes[self.lane];
        match self.what {
            Selected::Lane => {
                let first = lane.segments.first().map_or(SimTime::ZERO, |s| s.start);
                (first, lane.segments.last().map_or(first, |s| s.end))
            }
            Selected::Segment(segment) => {
                let segment = &lane.segments[segment];
                (segment.start, segment.end)
            }
            Selected::Mark(mark) => {
                let time = loaded.picture.marks.lane(self.lane).times[mark];
                (time, time)
            }
        }
    }

    /// Returns the trace's event that it comes from.
    pub fn event(&self, loaded: &Loaded) -> Option<u32> {
        match self.what {
            Selected::Lane => None,
            Selected::Segment(segment) => loaded
                .picture
                .segment(self.lane, segment)
                .and_then(|s| s.event),
            Selected::Mark(mark) => loaded
                .picture
                .marks
                .lane(self.lane)
                .events
                .get(mark)
                .copied(),
        }
    }

    /// Returns the event that tells most of it: of a thread that runs or could, the one that this leads to.
    pub fn told(&self, loaded: &Loaded) -> Option<u32> {
        let Selected::Segment(segment) = self.what else {
            return self.event(loaded);
        };
        match loaded.picture.segment(self.lane, segment)?.state {
            State::Blocked(_) => self.event(loaded),
            State::Running(_) | State::Ready => around(loaded, self.lane, segment).until,
        }
    }

    /// Finds the same thing in another prediction of the same trace: by its event, not by its time.
    pub fn in_other(&self, from: &Loaded, to: &Loaded) -> Option<Self> {
        let lanes = &to.picture.schedule.lanes;
        if lanes.get(self.lane)?.name != from.lane(self.lane) {
            return None;
        }
        let lane = Self {
            lane: self.lane,
            what: Selected::Lane,
        };
        let Some(event) = self.event(from) else {
            return Some(lane);
        };
        let what = match self.what {
            Selected::Lane => Some(Selected::Lane),
            Selected::Mark(_) => {
                let events = &to.picture.marks.lane(self.lane).events;
                events
                    .iter()
                    .position(|other| *other == event)
                    .map(Selected::Mark)
            }
            Selected::Segment(segment) => {
                let activity = from.picture.segment(self.lane, segment)?.state.activity();
                let same = |other: &&foretrace_schedule::Segment| other.event == Some(event);
                let segments = || lanes[self.lane].segments.iter().enumerate();
                let alike = segments().find(|(_, s)| same(s) && s.state.activity() == activity);
                let any = || segments().find(|(_, s)| same(s));
                alike
                    .or_else(any)
                    .map(|(position, _)| Selected::Segment(position))
            }
        };
        Some(what.map_or(lane, |what| Self {
            lane: self.lane,
            what,
        }))
    }
}

/// What a thread did around a segment in which it ran, or could have run: events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// The last one before.
    pub after: Option<u32>,
    /// The one that ends it, or that it leads to.
    pub until: Option<u32>,
    /// Whether the thread got to that: its CPU may have been taken from it before.
    pub reached: bool,
}

/// Returns what a thread did around a segment of its lane.
pub fn around(loaded: &Loaded, lane: usize, segment: usize) -> Around {
    let Some(segment) = loaded.picture.segment(lane, segment) else {
        return Around::default();
    };
    let marks = loaded.picture.marks.lane(lane);
    if marks.is_empty() {
        return Around {
            until: segment.event,
            reached: true,
            ..Around::default()
        };
    }
    let event = |mark: usize| marks.events.get(mark).copied();
    let since = |time: SimTime| marks.times.partition_point(|mark| *mark <= time);
    let (begun, ended) = (since(segment.start), since(segment.end));
    // Of several at that instant the last one ends it: the thread went on after the others.
    let reached = ended > begun && marks.times[ended - 1] == segment.end;
    Around {
        after: begun.checked_sub(1).and_then(event),
        until: event(if reached { ended - 1 } else { ended }),
        reached,
    }
}

/// Returns the next or previous operation of the thread; of segments where operations are not known.
pub fn on_thread(loaded: &Loaded, from: &Selection, direction: Direction) -> Option<Selection> {
    let (start, end) = from.span(loaded);
    let marks = loaded.picture.marks.lane(from.lane);
    let lane = from.lane;
    if marks.is_empty() {
        let segments = loaded.picture.schedule.lanes[lane].segments.len();
        let here = match from.what {
            Selected::Segment(segment) => segment,
            Selected::Lane | Selected::Mark(_) => 0,
        };
        let segment = step(here, segments, direction)?;
        return Some(Selection {
            lane,
            what: Selected::Segment(segment),
        });
    }
    let mark = match (from.what, direction) {
        (Selected::Mark(mark), _) => step(mark, marks.len(), direction)?,
        (_, Direction::Next) => marks.times.partition_point(|time| *time < end),
        (_, Direction::Previous) => {
            let after = marks.times.partition_point(|time| *time <= start);
            after.checked_sub(1)?
        }
    };
    (mark < marks.len()).then_some(Selection {
        lane,
        what: Selected::Mark(mark),
    })
}

fn step(here: usize, count: usize, direction: Direction) -> Option<usize> {
    match direction {
        Direction::Next => Some(here + 1).filter(|next| *next < count),
        Direction::Previous => here.checked_sub(1),
    }
}

/// Returns the nearest operation of any thread that is of the kind asked for.
pub fn across(
    loaded: &Loaded,
    source: &dyn ScheduleSource,
    from: &Selection,
    direction: Direction,
    wanted: &dyn Fn(&EventInfo) -> bool,
) -> Option<Selection> {
    let (time, _) = from.span(loaded);
    let here = match from.what {
        Selected::Mark(mark) => (time, from.lane, mark),
        Selected::Lane | Selected::Segment(_) => match direction {
            Direction::Next => (time, 0, 0),
            Direction::Previous => (time, usize::MAX, usize::MAX),
        },
    };
    let is_wanted = |event: &u32| source.event(*event).is_some_and(|event| wanted(&event));
    let mut best: Option<(SimTime, usize, usize)> = None;
    for lane in 0..loaded.picture.schedule.lanes.len() {
        let marks = loaded.picture.marks.lane(lane);
        let key = |mark: usize| (marks.times[mark], lane, mark);
        let found = match direction {
            Direction::Next => {
                let first = marks.times.partition_point(|at| *at < time);
                (first..marks.len())
                    .skip_while(|&mark| key(mark) <= here)
                    .take_while(|&mark| best.is_none_or(|best| key(mark) < best))
                    .find(|&mark| is_wanted(&marks.events[mark]))
            }
            Direction::Previous => {
                let last = marks.times.partition_point(|at| *at <= time);
                (0..last)
                    .rev()
                    .skip_while(|&mark| key(mark) >= here)
                    .take_while(|&mark| best.is_none_or(|best| key(mark) > best))
                    .find(|&mark| is_wanted(&marks.events[mark]))
            }
        };
        best = found.map(key).or(best);
    }
    best.map(|(_, lane, mark)| Selection {
        lane,
        what: Selected::Mark(mark),
    })
}

/// Returns the segment in which a selected operation waited, if it did; or the segment selected itself.
pub fn wait_of(loaded: &Loaded, from: &Selection) -> Option<usize> {
    let lane = &loaded.picture.schedule.lanes[from.lane];
    match from.what {
        Selected::Lane => None,
        Selected::Segment(segment) => Some(segment),
        Selected::Mark(_) => {
            let (time, _) = from.span(loaded);
            let event = from.event(loaded);
            let near = lane.segments_in(time, SimTime(time.0 + 1));
            let before = near.start.saturating_sub(3);
            let waits = |segment: &usize| {
                let of = &lane.segments[*segment];
                of.event == event && matches!(of.state.activity(), Activity::Blocked(_))
            };
            (before..(near.end + 1).min(lane.segments.len())).find(waits)
        }
    }
}

/// Who let a thread go on: the wake, and what to select for it.
pub fn cause(
    loaded: &Loaded,
    source: &dyn ScheduleSource,
    from: &Selection,
) -> Option<(usize, Selection)> {
    let segment = wait_of(loaded, from)?;
    let lane = &loaded.picture.schedule.lanes[from.lane];
    // One that is ready or runs was let go on when it last waited, or was created.
    let is_blocked = |segment: &usize| {
        matches!(
            lane.segments[*segment].state.activity(),
            Activity::Blocked(_)
        )
    };
    let blocked = (0..=segment).rev().find(is_blocked);
    let wake = if let Some(blocked) = blocked {
        loaded.picture.released_by(from.lane, blocked)?
    } else {
        let birth = lane.segments.first()?.start;
        let wakes = &loaded.picture.schedule.wakes;
        let to = &loaded.picture.wakes;
        to.last_to(wakes, from.lane, birth, birth)?
    };
    Some((wake, releaser(loaded, source, wake)?))
}

/// Returns what the thread did that made a wake.
pub fn releaser(loaded: &Loaded, source: &dyn ScheduleSource, wake: usize) -> Option<Selection> {
    let wake = loaded.picture.schedule.wakes.get(wake)?;
    let lane = wake.from as usize;
    let marks = loaded.picture.marks.lane(lane);
    let at_once = marks.within(wake.sent(), wake.sent());
    let lets_go = |mark: &usize| {
        source.event(marks.events[*mark]).is_some_and(|event| {
            let to_them = event.other.is_none_or(|other| other == wake.to);
            to_them && !matches!(event.class, EventClass::Acquire | EventClass::Io)
        })
    };
    if let Some(mark) = at_once.clone().rev().find(lets_go).or(at_once.last()) {
        return Some(Selection {
            lane,
            what: Selected::Mark(mark),
        });
    }
    // A release ends what its thread did; a send begins what it does.
    let doing = if wake.is_message() {
        wake.sent()
    } else {
        SimTime(wake.at.0.saturating_sub(1))
    };
    let what = loaded
        .picture
        .segment_at(lane, doing)
        .map_or(Selected::Lane, Selected::Segment);
    Some(Selection { lane, what })
}

/// Returns the step of the critical path after or before a time, by its position.
pub fn path_step(
    loaded: &Loaded,
    from: Option<usize>,
    at: SimTime,
    direction: Direction,
) -> Option<usize> {
    if let Some(here) = from {
        return step(here, loaded.path.len(), direction);
    }
    let after = loaded.path.partition_point(|step| step.start <= at);
    after
        .checked_sub(1)
        .or((!loaded.path.is_empty()).then_some(0))
}
