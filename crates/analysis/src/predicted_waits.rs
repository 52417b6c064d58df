//! Where threads wait in a prediction, and for whom.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_schedule::{LaneMarks, Marks, Schedule, Segment, SimTime, State, WaitKind};

use crate::{
    path_shares::Within,
    spots::{Places, Spot},
    wakes::Wakes,
};

/// What threads wait for in calls at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredictedWait {
    /// The place; nothing where it is not known.
    pub spot: Option<Spot>,
    /// What kind of wait it is.
    pub kind: WaitKind,
    /// The objects, positions in the schedule's, in ascending order.
    pub objects: Vec<u32>,
    /// In which lanes.
    pub lanes: BTreeSet<usize>,
    /// How often threads waited.
    pub times: u64,
    /// How long they waited together.
    pub total: SimTime,
    /// The longest of the waits.
    pub longest: Within,
    /// The call that ended waits of most of that time; nothing where no thread is known to have ended any.
    pub ended_by: Option<Spot>,
}

/// Returns where threads wait in a prediction, those that wait longest first. `marks` are all operations of the schedule, whose events
/// have these places.
pub fn predicted_waits<P: Places + ?Sized>(
    spots: &P,
    schedule: &Schedule,
    marks: &Marks,
) -> Vec<PredictedWait> {
    let wakes = Wakes::of(schedule);
    let mut found: BTreeMap<(Option<Spot>, WaitKind), Found> = BTreeMap::new();
    for (lane, segments) in schedule.lanes.iter().map(|lane| &lane.segments).enumerate() {
        for segment in segments {
            let State::Blocked(kind) = segment.state else {
                continue;
            };
            let spot = segment.event.and_then(|event| spots.at(event));
            let at = Within {
                lane,
                start: segment.start,
                end: segment.end,
            };
            let Found { wait, enders } = found
                .entry((spot, kind))
                .or_insert_with(|| Found::new(spot, kind, at));
            let time = segment.duration();
            wait.times += 1;
            wait.lanes.insert(lane);
            wait.total = wait.total + time;
            if time > wait.longest.length() {
                wait.longest = at;
            }
            if let Some(object) = segment.object
                && let Err(place) = wait.objects.binary_search(&object)
            {
                wait.objects.insert(place, object);
            }
            let wake = wakes.at(lane, segment.end, schedule.wakes.len());
            let by = wake.and_then(|wake| {
                let wake = &schedule.wakes[wake];
                let from = marks.lane(wake.from as usize);
                let event = if wake.is_message() {
                    sender_at(spots, from, wake.sent(), segment)
                } else {
                    released_by(spots, from, wake.at, segment)
                };
                spots.at(event?)
            });
            if let Some(by) = by {
                let ended = enders.entry(by).or_default();
                *ended = *ended + time;
            }
        }
    }
    let mut waits: Vec<PredictedWait> = found
        .into_values()
        .map(|Found { wait, enders }| PredictedWait {
            ended_by: enders
                .into_iter()
                .rev()
                .max_by_key(|(_, time)| *time)
                .map(|(spot, _)| spot),
            ..wait
        })
        .collect();
    // Stable, so that equals stay in the order of their places.
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.total));
    waits
}

/// What was found of the waits at one place.
struct Found {
    wait: PredictedWait,
    /// How long those were that each call ended.
    enders: BTreeMap<Spot, SimTime>,
}

impl Found {
    fn new(spot: Option<Spot>, kind: WaitKind, first: Within) -> Self {
        let wait = PredictedWait {
            spot,
            kind,
            objects: Vec::new(),
            lanes: BTreeSet::new(),
            times: 0,
            total: SimTime::ZERO,
            longest: first,
            ended_by: None,
        };
        Self {
            wait,
            enders: BTreeMap::new(),
        }
    }
}

/// Returns a lane's events at a time, and how many were before.
fn events_at(lane: &LaneMarks, at: SimTime) -> Option<(usize, &[u32])> {
    let first = lane.times.partition_point(|time| *time < at);
    let after = lane.times.partition_point(|time| *time <= at);
    Some((first, lane.events.get(first..after)?))
}

/// Returns the event by which a lane let another go on at a time that had waited: of several at that time the one on what was waited for.
fn released_by<P: Places + ?Sized>(
    spots: &P,
    lane: &LaneMarks,
    at: SimTime,
    waited: &Segment,
) -> Option<u32> {
    let (_, then) = events_at(lane, at)?;
    let on_it = then
        .iter()
        .rev()
        .find(|event| spots.could_end(**event, waited));
    let any = match waited.state {
        State::Blocked(WaitKind::Join) => then.last(),
        _ => then.first(),
    };
    on_it.or(any).copied()
}

/// Returns the event in whose call a lane sent a message at a time, for which another waited so: of several at that time one that could send it,
/// else the call that it was in, as of a collective.
pub(crate) fn sender_at<P: Places + ?Sized>(
    spots: &P,
    lane: &LaneMarks,
    at: SimTime,
    waited: &Segment,
) -> Option<u32> {
    let (first, then) = events_at(lane, at)?;
    let before = first.checked_sub(1).map(|before| &lane.events[before]);
    let sends = |event: &&u32| spots.could_end(**event, waited);
    let sent = then.iter().find(sends).or(before).or(then.first());
    sent.copied()
}

#[cfg(test)]
mod tests {
    use foretrace_trace::ObjectId;

    use super::*;
    use crate::sample::{course, replayed};
    use crate::spots::Spots;

    #[test]
    fn a_wait_is_told_with_who_ended_it() {
        let text = "process A\nprocess B\n0 A create B\n1 A lock m\n5 A unlock m\n7 B lock m\n11 B unlock m\n13 B terminate\n\
                    13 A join B\n14 A terminate\n";
        let (trace, program, machine) = replayed(text, 2);
        let course = course(&program, &machine);
        let waits = predicted_waits(&Spots::of(&trace), &course.schedule, &course.marks);
        let told: Vec<_> = waits
            .iter()
            .map(|wait| (wait.spot, wait.kind, wait.total.as_nanos(), wait.times))
            .collect();
        let lock = Spot::Call("lock", Some(ObjectId(0)));
        let join = Spot::Call("join", None);
        assert_eq!(
            told,
            [
                (Some(join), WaitKind::Join, 6, 1),
                (Some(lock), WaitKind::Lock, 3, 1)
            ]
        );
        let ender = |wait: &PredictedWait| wait.ended_by;
        let unlock = Spot::Call("unlock", Some(ObjectId(0)));
        let end = Spot::Call("terminate", None);
        assert_eq!(
            waits.iter().map(ender).collect::<Vec<_>>(),
            [Some(end), Some(unlock)]
        );
    }
}
