//! A source for tests: two threads and a lock, on any number of CPUs.

use std::{path::Path, sync::Arc};

use foretrace_schedule::{
    BlockedThread, Lane, Marks, NetworkLabel, ObjectLabel, Outcome, Schedule, Segment, SimTime,
    State, WaitKind, Wake,
};

use crate::source::{
    About, Advice, CANCELLED, Curve, EventClass, EventInfo, Opener, Prediction, Progress,
    ScheduleSource, SiteInfo, WhatIf, Within,
};

/// A millisecond.
pub const MILLI: u64 = 1_000_000_000;

/// Opens anything but files whose name says otherwise.
pub struct Example;

impl Opener for Example {
    fn open(&self, path: &Path, _: &Progress) -> Result<Arc<dyn ScheduleSource>, String> {
        let name = path.display().to_string();
        if name.contains("damaged") {
            return Err(format!(
                "{name}: is damaged at byte 12; record the program again"
            ));
        }
        let is_ranks = name.contains("ranks");
        let networks = if is_ranks {
            vec!["infiniband".to_owned(), "gigabit-ethernet".to_owned()]
        } else {
            Vec::new()
        };
        let name_says_long_ago = name.contains("long-ago");
        Ok(Arc::new(ExampleSource {
            about: About {
                path: name,
                summary: "an example".to_owned(),
                first: WhatIf {
                    cpus: 2,
                    model: "auto".to_owned(),
                    network: is_ranks.then(|| "infiniband".to_owned()),
                    ..WhatIf::default()
                },
                models: vec!["auto".to_owned(), "strict".to_owned()],
                schedulers: vec!["fair".to_owned()],
                can_predict: true,
                warnings: vec!["one event was lost".to_owned()],
                threads: 3,
                recorded_unix_seconds: name_says_long_ago.then_some(1),
                networks,
            },
        }))
    }
}

struct ExampleSource {
    about: About,
}

fn lane(name: &str, segments: &[(u64, u64, State)]) -> Lane {
    let segments = segments
        .iter()
        .enumerate()
        .map(|(position, &(start, end, state))| Segment {
            start: SimTime(start * MILLI),
            end: SimTime(end * MILLI),
            state,
            object: matches!(state, State::Blocked(WaitKind::Lock)).then_some(0),
            event: Some(position as u32),
        });
    Lane {
        name: name.to_owned(),
        process: 0,
        segments: segments.collect(),
        end: Some(SimTime(segments_end(name) * MILLI)),
    }
}

fn segments_end(name: &str) -> u64 {
    if name == "main" { 100 } else { 80 }
}

/// `main` runs all the time; `worker 1` waits for the lock from 20 to 50 ms; `worker 2` runs, and never waits.
pub fn schedule(cpus: u32) -> Schedule {
    let run = State::Running;
    let lock = State::Blocked(WaitKind::Lock);
    let first = [
        (0, 20, run(1 % cpus)),
        (20, 50, lock),
        (50, 80, run(1 % cpus)),
    ];
    let second = if cpus > 2 {
        vec![(0, 80, run(2))]
    } else {
        vec![
            (0, 20, State::Ready),
            (20, 50, run(1 % cpus)),
            (50, 80, State::Ready),
        ]
    };
    let lanes = vec![
        lane("main", &[(0, 100, run(0))]),
        lane("worker 1", &first),
        lane("worker 2", &second),
    ];
    Schedule {
        source: "example".to_owned(),
        model: "direct".to_owned(),
        cpus,
        network: None,
        end: SimTime(100 * MILLI),
        outcome: Outcome::Completed,
        processes: vec!["example".to_owned()],
        lanes,
        objects: vec![ObjectLabel {
            kind: foretrace_trace::ObjectKind::Mutex,
            name: "gate".to_owned(),
        }],
        wakes: vec![Wake::at_once(0, 1, SimTime(50 * MILLI))],
    }
}

/// The operations: `main` unlocks at 50 ms; `worker 1` locks at 20 ms and unlocks at 60 ms.
fn marks() -> Marks {
    let mut marks = Marks::new(3);
    for (lane, at, event) in [(1, 20, 1), (0, 50, 3), (1, 60, 4), (1, 80, 5)] {
        marks.push(lane, SimTime(at * MILLI), event);
    }
    marks
}

impl ScheduleSource for ExampleSource {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict(&self, what: &WhatIf, progress: &Progress) -> Result<Prediction, String> {
        while self.about.path.contains("slow") && what.cpus > 2 {
            if !progress.tell(1, 3) {
                return Err(CANCELLED.to_owned());
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        if self.about.path.contains("gone-later") && what.cpus > 2 {
            let path = &self.about.path;
            return Err(format!("{path}: cannot be read any more; put it back"));
        }
        if what.cpus == 13 {
            return Err("no machine has 13 CPUs; ask for 12".to_owned());
        }
        let mut schedule = schedule(what.cpus);
        if let Some(network) = &what.network {
            schedule.network = Some(NetworkLabel {
                name: network.clone(),
                path: network.clone(),
            });
            schedule.processes.push("another".to_owned());
        }
        if self.about.path.contains("nobody-waits") {
            for segment in schedule
                .lanes
                .iter_mut()
                .flat_map(|lane| &mut lane.segments)
            {
                segment.state = State::Running(0);
                segment.object = None;
            }
        }
        if self.about.path.contains("no-objects") {
            for segment in schedule
                .lanes
                .iter_mut()
                .flat_map(|lane| &mut lane.segments)
            {
                segment.object = None;
            }
        }
        if self.about.path.contains("message") || self.about.passes_messages() {
            schedule.wakes[0].delay = SimTime(20 * MILLI);
        }
        if self.about.path.contains("deadlock") {
            let waits = |thread: &str, other: &str| BlockedThread {
                thread: thread.to_owned(),
                operation: "lock".to_owned(),
                object: Some("gate".to_owned()),
                waits_for: Some(other.to_owned()),
                since: SimTime(20 * MILLI),
            };
            let both = vec![waits("worker 1", "worker 2"), waits("worker 2", "worker 1")];
            schedule.outcome = Outcome::Deadlock(both);
            for lane in &mut schedule.lanes[1..] {
                lane.end = None;
            }
        }
        Ok(Prediction {
            schedule,
            marks: marks(),
            failed: vec!["pool".to_owned()],
            one_cpu: Some(SimTime(200 * MILLI)),
            machine: match &what.network {
                Some(network) => format!("the network {network}"),
                None => "an example machine".to_owned(),
            },
            warnings: Vec::new(),
        })
    }

    fn curve(&self, _: &WhatIf, cpus: &[u32], _: &Progress) -> Result<Vec<Curve>, String> {
        if self.about.passes_messages() {
            let on = |network: &String| Curve {
                model: network.clone(),
                points: vec![(3, SimTime(100 * MILLI), 1.5)],
            };
            return Ok(self.about.networks.iter().map(on).collect());
        }
        let points = cpus.iter().map(|&cpus| {
            let speedup = f64::from(cpus).min(2.0);
            (cpus, SimTime(100 * MILLI), speedup)
        });
        Ok(vec![Curve {
            model: "direct".to_owned(),
            points: points.collect(),
        }])
    }

    fn advice(&self, what: &WhatIf, _: &Progress) -> Result<Vec<Advice>, String> {
        if what.cpus == 1 {
            return Ok(Vec::new());
        }
        let wait = Within {
            lane: 1,
            start: SimTime(20 * MILLI),
            end: SimTime(50 * MILLI),
        };
        let advice = |change: &str, speedup, gain, at| Advice {
            change: change.to_owned(),
            speedup,
            gain,
            at,
        };
        Ok(vec![
            advice("nobody waited for gate: finer locks", 2.5, 0.2, Some(wait)),
            advice("input and output took no time", 2.1, 0.05, None),
        ])
    }

    fn event(&self, event: u32) -> Option<EventInfo> {
        let (operation, class, lane) = match event {
            1 => ("lock", EventClass::Acquire, 1),
            3 => ("unlock", EventClass::Release, 0),
            4 => ("unlock", EventClass::Release, 1),
            5 => ("terminate", EventClass::Life, 1),
            _ => ("other", EventClass::Other, 0),
        };
        Some(EventInfo {
            operation: operation.into(),
            class,
            lane,
            object: matches!(event, 1 | 3 | 4).then_some(0),
            other: None,
            about: None,
            recorded_nanos: Some(7),
            site: (event == 1 && !self.about.path.contains("no-objects")).then_some(0),
        })
    }

    fn site(&self, _: u32) -> SiteInfo {
        SiteInfo {
            function: "take_the_gate".to_owned(),
            line: Some((
                concat!(env!("CARGO_MANIFEST_DIR"), "/src/testing.rs").to_owned(),
                3,
            )),
            callers: Vec::new(),
            note: None,
        }
    }

    fn routine(&self, lane: usize) -> Option<String> {
        (lane > 0).then(|| "work".to_owned())
    }

    fn check_file(&self, file: &Path) -> Result<(), String> {
        let name = file.display().to_string();
        if name.contains("damaged") {
            return Err(format!("{name}: line 2: no such key"));
        }
        Ok(())
    }
}
