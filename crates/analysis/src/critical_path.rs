//! The critical path of a schedule: what its end waited for, back to the begin.
//!
//! From the thread that ends last, one goes back in time: while it ran, the time is its own; where it had waited for a CPU,
//! that is on the path too; where it was blocked, the path goes on at the thread that let it go on. Making anything else
//! faster does not make the end come sooner, as long as the order stays as it is.

use std::cmp::Reverse;

use foretrace_schedule::{Activity, Schedule, SimTime};

use crate::wakes::Wakes;

/// A stretch of the path, within one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// The lane.
    pub lane: usize,
    /// The segment of the lane.
    pub segment: usize,
    /// Where the stretch begins: of a message on its way, with its send, which may be before its receiver began to wait.
    pub start: SimTime,
    /// Where it ends.
    pub end: SimTime,
    /// What the lane did: running, or waiting for a CPU; blocked only while a message was on its way, or where nobody is
    /// known to have let it go on.
    pub activity: Activity,
    /// The wake by which the path came here from the step before, a position in the schedule's wakes.
    pub via: Option<usize>,
}

/// Returns the critical path, in order of time.
///
/// Takes time linear in its steps, times the logarithm of the segments.
pub fn critical_path(schedule: &Schedule) -> Vec<PathStep> {
    let mut path = Vec::new();
    let last = (0..schedule.lanes.len())
        .filter_map(|lane| Some((schedule.lanes[lane].segments.last()?.end, Reverse(lane))))
        .max();
    let Some((mut at, Reverse(mut lane))) = last else {
        return path;
    };
    let wakes = Wakes::of(schedule);
    // Going back, wakes are used in descending order: at one instant threads may let each other go on in turn.
    let mut before = schedule.wakes.len();
    loop {
        let segments = &schedule.lanes[lane].segments;
        let segment = segments.partition_point(|s| s.start < at);
        let Some(segment) = segment.checked_sub(1) else {
            // Before its birth: its creator's path.
            let Some(wake) = wakes.at(lane, at, before) else {
                break;
            };
            arrive(&mut path, wake);
            (lane, before) = (schedule.wakes[wake].from as usize, wake);
            continue;
        };
        let of = segments[segment];
        let activity = of.state.activity();
        let released = match activity {
            Activity::Blocked(_) if of.end == at => wakes.at(lane, at, before),
            _ => None,
        };
        if let Some(wake) = released {
            let of = &schedule.wakes[wake];
            if of.is_message() {
                path.push(PathStep {
                    lane,
                    segment,
                    start: of.sent(),
                    end: at,
                    activity,
                    via: None,
                });
            }
            arrive(&mut path, wake);
            (lane, before, at) = (of.from as usize, wake, of.sent());
            continue;
        }
        path.push(PathStep {
            lane,
            segment,
            start: of.start,
            end: at,
            activity,
            via: None,
        });
        at = of.start;
    }
    path.reverse();
    path
}

/// Notes by which wake the path came to the step found last.
fn arrive(path: &mut [PathStep], wake: usize) {
    if let Some(step) = path.last_mut() {
        step.via.get_or_insert(wake);
    }
}

#[cfg(test)]
mod tests {
    use foretrace_program::Program;
    use foretrace_sim::{Machine, ModelKind};

    use super::*;

    fn schedule(text: &str, cpus: u32) -> Schedule {
        let program = Program::from_trace(&foretrace_testkit::trace(text));
        foretrace_sim::schedule(&program, &Machine::new(cpus, &program), ModelKind::Strict)
    }

    /// The path as lane, begin, end; it must be without gaps from the begin to the end.
    fn steps(schedule: &Schedule) -> Vec<(String, u64, u64)> {
        let path = critical_path(schedule);
        assert_eq!(path.first().map(|step| step.start), Some(SimTime::ZERO));
        assert_eq!(path.last().map(|step| step.end), Some(schedule.end));
        for pair in path.windows(2) {
            assert_eq!(pair[0].end, pair[1].start, "{path:?}");
        }
        path.iter()
            .map(|step| {
                let name = schedule.lanes[step.lane].name.clone();
                (name, step.start.as_nanos(), step.end.as_nanos())
            })
            .collect()
    }

    #[test]
    fn the_path_goes_through_the_thread_that_is_waited_for() {
        let text = "process A\nprocess B\n0 A create B\n5 B terminate\n5 A join B\n7 A terminate\n";
        let schedule = schedule(text, 2);
        let expected = [("B", 0, 5), ("A", 5, 7)];
        assert_eq!(
            steps(&schedule),
            expected.map(|(name, start, end)| (name.to_owned(), start, end))
        );
        let path = critical_path(&schedule);
        assert_eq!(schedule.wakes[path[1].via.unwrap()].from, 1);
    }

    #[test]
    fn a_message_on_its_way_is_on_the_path() {
        let text = "process A\nprocess B\n0 A create B\n5 B terminate\n5 A join B\n7 A terminate\n";
        let mut schedule = schedule(text, 2);
        let wake = schedule.wakes.last_mut().unwrap();
        wake.delay = SimTime::from_nanos(2);
        let expected = [("B", 0, 3), ("A", 3, 5), ("A", 5, 7)];
        assert_eq!(
            steps(&schedule),
            expected.map(|(name, start, end)| (name.to_owned(), start, end))
        );
    }

    #[test]
    fn waiting_for_a_cpu_is_on_the_path() {
        let text = "process A\nprocess B\n0 A create B\n5 B terminate\n12 A terminate\n";
        let path = critical_path(&schedule(text, 1));
        assert!(path.iter().any(|step| step.activity == Activity::Ready));
    }

    #[test]
    fn the_papers_programs_have_paths_without_gaps() {
        for text in [
            foretrace_testkit::P,
            foretrace_testkit::Q,
            foretrace_testkit::R,
        ] {
            for cpus in 1..5 {
                let schedule = schedule(text, cpus);
                assert!(!steps(&schedule).is_empty());
            }
        }
    }

    #[test]
    fn an_empty_schedule_has_no_path() {
        let mut schedule = schedule("0 A create B\n3 B terminate\n4 A terminate\n", 1);
        schedule.lanes.clear();
        schedule.wakes.clear();
        assert!(critical_path(&schedule).is_empty());
    }
}
