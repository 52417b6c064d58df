//! A small schedule for tests.

use foretrace_trace::ObjectKind;

use crate::{
    Details, Event, EventClass, Lane, Marks, ObjectLabel, Outcome, Schedule, Segment, SimTime,
    Site, State, WaitKind, Wake,
};

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
    let wake = |from, to, at| Wake::at_once(from, to, SimTime(at));
    Schedule {
        source: "example".to_owned(),
        model: "direct".to_owned(),
        cpus: 2,
        network: None,
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

/// The operations of the example: `worker` takes the lock from 4 to 6, and ends.
pub fn details() -> Details {
    let mut marks = Marks::new(2);
    marks.push(1, SimTime(4), 1);
    marks.push(1, SimTime(10), 0);
    let event = |name, class, object, site| Event {
        name,
        class,
        lane: 1,
        object,
        other: None,
        recorded_nanos: 3,
        site,
    };
    Details {
        marks,
        events: vec![
            event(1, EventClass::Life, None, None),
            event(0, EventClass::Acquire, Some(0), Some(0)),
        ],
        names: vec!["lock".to_owned(), "terminate".to_owned()],
        sites: vec![Site {
            function: "work".to_owned(),
            line: Some(("work.c".to_owned(), 7)),
            ..Site::default()
        }],
        routines: vec![None, Some("work".to_owned())],
    }
}
