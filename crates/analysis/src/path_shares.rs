//! What the critical path is made of: code, by the calls that it lies between, and waits that nobody could have ended sooner.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_schedule::{Activity, Marks, Schedule, SimTime};

use crate::{
    PathPart, PathStep, critical_path,
    predicted_waits::sender_at,
    spots::{Places, Spot, Stretch, Walk},
};

/// Something that the critical path goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnPath {
    /// Code that runs.
    Code(Stretch),
    /// What a call takes by itself: to wake up in it, to hand something over.
    Call(Spot),
    /// A thread that could run, and waits for a CPU, or for one to wake up.
    NoCpu,
    /// A wait in a call that no other thread ends: for time to pass, for input or output.
    Wait(Activity, Option<Spot>),
    /// A message on its way, and whatever else lies between the call that sends it and the one that waits for it.
    Message(Option<Spot>, Option<Spot>),
}

/// How much of the critical path goes through something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathShare {
    /// What it is.
    pub what: OnPath,
    /// How long the path goes through it.
    pub time: SimTime,
    /// How often.
    pub times: u64,
    /// In which lanes.
    pub lanes: BTreeSet<usize>,
    /// The longest time that it does so at once.
    pub longest: Within,
}

/// A stretch of time in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    /// The lane.
    pub lane: usize,
    /// When it begins.
    pub start: SimTime,
    /// When it ends.
    pub end: SimTime,
}

impl Within {
    /// Returns how long it takes.
    pub fn length(&self) -> SimTime {
        self.end.since(self.start)
    }
}

/// Returns what the critical path of a prediction goes through, the most first. `marks` are all operations of the schedule, whose
/// events have these places.
pub fn path_shares<P: Places + ?Sized>(
    spots: &P,
    schedule: &Schedule,
    marks: &Marks,
) -> Vec<PathShare> {
    let mut shares = Shares::default();
    let mut walks: Vec<Option<LaneWalk<'_, P>>> = schedule.lanes.iter().map(|_| None).collect();
    for step in critical_path(schedule) {
        match PathPart::of(schedule, &step) {
            PathPart::Running => {
                let walk =
                    walks[step.lane].get_or_insert_with(|| LaneWalk::new(spots, marks, step.lane));
                walk.pass(step.start, step.end, |what, start, end| {
                    let lane = step.lane;
                    shares.add(what, Within { lane, start, end });
                });
            }
            PathPart::NoCpu => shares.add(OnPath::NoCpu, within(&step)),
            PathPart::Wait(_) | PathPart::Message => {
                let segment = &schedule.lanes[step.lane].segments[step.segment];
                let spot = segment.event.and_then(|event| spots.at(event));
                let message = step.via.map(|wake| &schedule.wakes[wake]);
                let what = match message.filter(|wake| wake.is_message()) {
                    Some(wake) => {
                        let sender = marks.lane(wake.from as usize);
                        let sent = sender_at(spots, sender, wake.sent(), segment);
                        OnPath::Message(sent.and_then(|event| spots.at(event)), spot)
                    }
                    None => OnPath::Wait(step.activity, spot),
                };
                shares.add(what, within(&step));
            }
        }
    }
    let mut shares: Vec<PathShare> = shares.0.into_values().collect();
    // Stable, so that equals stay in the order of their places.
    shares.sort_by_key(|share| std::cmp::Reverse(share.time));
    shares
}

fn within(step: &PathStep) -> Within {
    Within {
        lane: step.lane,
        start: step.start,
        end: step.end,
    }
}

#[derive(Default)]
struct Shares(BTreeMap<OnPath, PathShare>);

impl Shares {
    fn add(&mut self, what: OnPath, at: Within) {
        let time = at.length();
        if time == SimTime::ZERO {
            return;
        }
        let share = self.0.entry(what).or_insert_with(|| PathShare {
            what,
            time: SimTime::ZERO,
            times: 0,
            lanes: BTreeSet::new(),
            longest: at,
        });
        share.time = share.time + time;
        share.times += 1;
        share.lanes.insert(at.lane);
        if time > share.longest.length() {
            share.longest = at;
        }
    }
}

/// One lane's way through its code, once from its begin to its end.
struct LaneWalk<'s, P: ?Sized> {
    walk: Walk<'s, P>,
    times: &'s [SimTime],
    events: &'s [u32],
    /// Its next operation.
    next: usize,
}

impl<'s, P: Places + ?Sized> LaneWalk<'s, P> {
    fn new(spots: &'s P, marks: &'s Marks, lane: usize) -> Self {
        let lane = marks.lane(lane);
        Self {
            walk: Walk::new(spots),
            times: &lane.times,
            events: &lane.events,
            next: 0,
        }
    }

    /// Tells what it runs through between two times, which are not before those of the last call.
    fn pass(
        &mut self,
        start: SimTime,
        end: SimTime,
        mut tell: impl FnMut(OnPath, SimTime, SimTime),
    ) {
        let mut from = start;
        while let Some((&at, &event)) = self.times.get(self.next).zip(self.events.get(self.next)) {
            if at >= end {
                // What runs now leads to that, be it over then or only begun.
                tell(self.what(self.walk.until(event)), from, end);
                return;
            }
            let stretch = self.walk.go_to(event);
            tell(self.what(stretch), from, at);
            from = from.max(at);
            self.next += 1;
        }
        if from < end {
            tell(self.what(self.walk.until_end()), from, end);
        }
    }

    fn what(&self, stretch: Option<Stretch>) -> OnPath {
        stretch.map_or_else(|| OnPath::Call(self.walk.at()), OnPath::Code)
    }
}

#[cfg(test)]
mod tests {
    use foretrace_trace::ObjectId;

    use super::*;
    use crate::sample::{course, replayed};
    use crate::spots::{END, Spots};

    fn shares(text: &str, cpus: u32) -> Vec<(OnPath, u64, u64)> {
        let (trace, program, machine) = replayed(text, cpus);
        let course = course(&program, &machine);
        let shares = path_shares(&Spots::of(&trace), &course.schedule, &course.marks);
        let all = shares.iter().map(|share| share.time.0).sum();
        assert_eq!(course.schedule.end, SimTime(all));
        let told = shares
            .iter()
            .map(|share| (share.what, share.time.as_nanos(), share.times));
        told.collect()
    }

    fn code(from: Spot, to: Spot) -> OnPath {
        OnPath::Code(Stretch { from, to })
    }

    #[test]
    fn code_is_told_by_the_calls_around_it() {
        let text = "process A\nprocess B\n0 A create B\n1 A lock m\n5 A unlock m\n7 B lock m\n11 B unlock m\n13 B terminate\n\
                    13 A join B\n14 A terminate\n";
        let lock = Spot::Call("lock", Some(ObjectId(0)));
        let unlock = Spot::Call("unlock", Some(ObjectId(0)));
        let create = Spot::Call("create", None);
        let join = Spot::Call("join", None);
        assert_eq!(
            shares(text, 2),
            [
                (code(lock, unlock), 8, 2),
                (code(unlock, END), 2, 1),
                (code(create, lock), 1, 1),
                (code(join, END), 1, 1),
            ]
        );
    }

    #[test]
    fn waiting_for_a_cpu_is_told() {
        let shares = shares(
            "process A\nprocess B\n0 A create B\n5 B terminate\n12 A terminate\n",
            1,
        );
        assert!(shares.iter().any(|(what, ..)| *what == OnPath::NoCpu));
    }
}
