//! A small schedule for tests.

use foretrace_trace::ObjectKind;

use crate::{Lane, ObjectLabel, Outcome, Schedule, Segment, SimTime, State, WaitKind, Wake};

/// Makes a segment.
fn segment(start: u64, end: u64, state: State, object: Option<u32>) -> Segment {
    Segment {
        start: SimTime(start),
        end: SimTime(end),
        state,
        object,
        event: None,
    }
}

/// `main` runs 0 to 9, joins `worker` until 10, runs to 11; `worker` runs 1 to 4, waits for a lock, runs 6 to 10.
pub fn two_threads_and_a_lock() -> Schedule {
    let lane = |name: &str, end, segments| Lane {
        name: name.to_owned(),
        process: 0,
        segments,
        end: Some(SimTime(end)),
    };
    let main = vec![
        segment(0, 9, State::Running(0), None),
        segment(9, 10, State::Blocked(WaitKind::Join), None),
        segment(10, 11, State::Running(0), None),
    ];
    let worker = vec![
        segment(1, 4, State::Running(1), None),
        segment(4, 6, State::Blocked(WaitKind::Lock), Some(0)),
        segment(6, 10, State::Running(1), None),
    ];
    let wake = |from, to, at| Wake {
        from,
        to,
        at: SimTime(at),
    };
    Schedule {
        source: "example".to_owned(),
        model: "direct".to_owned(),
        cpus: 2,
        end: SimTime(11),
        outcome: Outcome::Completed,
        processes: vec!["example".to_owned()],
        lanes: vec![lane("main", 11, main), lane("worker", 10, worker)],
        objects: vec![ObjectLabel {
            kind: ObjectKind::Mutex,
            name: "m".to_owned(),
        }],
        wakes: vec![wake(0, 1, 6), wake(1, 0, 10)],
    }
}
