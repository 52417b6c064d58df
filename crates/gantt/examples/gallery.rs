//! Draws a gallery of made-up schedules into a directory: `cargo run -p foretrace-gantt --example gallery -- DIRECTORY`.
//!
//! Looking at them is how the pictures are judged: few threads and many, few segments and a million, both themes.

use std::{
    collections::{BinaryHeap, VecDeque},
    error::Error,
    path::Path,
};

use foretrace_gantt::{SvgOptions, Theme, render};
use foretrace_schedule::{
    BlockedThread, Lane, ObjectLabel, Outcome, Schedule, Segment, SimTime, State, WaitKind, Wake,
};
use foretrace_trace::ObjectKind;

const NANOSECOND: u64 = 1_000;
const MICROSECOND: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: gallery DIRECTORY")?;
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    let dark = SvgOptions {
        theme: Theme::Dark,
        ..SvgOptions::default()
    };
    let light = SvgOptions::default();
    let eight = workers("eight workers & a queue", 8, 4, 30, 300 * MICROSECOND);
    let range = Some((SimTime(9_000 * MICROSECOND), SimTime(9_800 * MICROSECOND)));
    let zoom = SvgOptions {
        range,
        ..light.clone()
    };
    let narrow = SvgOptions {
        width: 560.0,
        ..light.clone()
    };
    let many = workers("matrix-solver.ftrace", 64, 16, 2_000, 40 * MICROSECOND);
    let crowd = workers("thousand.ftrace", 1_000, 32, 40, 40 * MICROSECOND);
    let pictures = [
        (
            "two",
            workers("two.ftrace", 2, 2, 2, 40 * MICROSECOND),
            &light,
        ),
        ("eight", eight.clone(), &light),
        ("eight-dark", eight.clone(), &dark),
        ("eight-zoom", eight.clone(), &zoom),
        ("eight-narrow", eight, &narrow),
        ("sixty-four", many.clone(), &light),
        ("sixty-four-dark", many, &dark),
        ("thousand", crowd, &light),
        ("deadlock", deadlock(), &light),
        ("deadlock-dark", deadlock(), &dark),
        ("kinds", every_kind(), &light),
        ("kinds-dark", every_kind(), &dark),
    ];
    for (name, schedule, options) in pictures {
        schedule.check().map_err(|e| format!("{name}: {e}"))?;
        std::fs::write(
            directory.join(format!("{name}.svg")),
            render(&schedule, options),
        )?;
    }
    Ok(())
}

/// A stream of numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    /// Returns a number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What a made-up thread does next.
#[derive(Clone, Copy)]
enum Step {
    Run(u64),
    Lock(u32),
    Unlock(u32),
    Barrier,
    Join,
}

/// A made-up schedule: `main` joins workers that compute, now and then within a lock, and meet at barriers.
fn workers(source: &str, threads: usize, cpus: u32, rounds: usize, grain: u64) -> Schedule {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut plans = vec![VecDeque::from([
        Step::Run(grain),
        Step::Join,
        Step::Run(grain / 2),
    ])];
    for _ in 1..threads {
        let mut plan = VecDeque::new();
        for round in 1..=rounds {
            plan.push_back(Step::Run(grain / 3 + numbers.below(grain)));
            let lock = numbers.below(3) as u32;
            plan.push_back(Step::Lock(lock));
            plan.push_back(Step::Run(1 + numbers.below(grain / 2)));
            plan.push_back(Step::Unlock(lock));
            if round % 15 == 0 {
                plan.push_back(Step::Barrier);
            }
        }
        plans.push(plan);
    }
    let mut engine = Engine::new(plans, cpus);
    engine.run();
    engine.finish(source, cpus)
}

/// A toy simulator: first come, first served.
struct Engine {
    plans: Vec<VecDeque<Step>>,
    lanes: Vec<Lane>,
    /// Since when, and what, each thread does.
    doing: Vec<(u64, State, Option<u32>)>,
    free: Vec<u32>,
    ready: VecDeque<usize>,
    holders: [Option<usize>; 3],
    queues: [VecDeque<usize>; 3],
    at_barrier: Vec<usize>,
    /// When threads that run come to the end of their step, latest first.
    pending: BinaryHeap<std::cmp::Reverse<(u64, usize)>>,
    wakes: Vec<Wake>,
    now: u64,
}

impl Engine {
    fn new(plans: Vec<VecDeque<Step>>, cpus: u32) -> Self {
        let name = |i| match i {
            0 => "main".to_owned(),
            i => format!("worker {i}"),
        };
        let lane = |i| Lane {
            name: name(i),
            ..Lane::default()
        };
        let count = plans.len();
        Self {
            plans,
            lanes: (0..count).map(lane).collect(),
            doing: vec![(0, State::Ready, None); count],
            free: (0..cpus).rev().collect(),
            ready: (0..count).collect(),
            holders: [None; 3],
            queues: Default::default(),
            at_barrier: Vec::new(),
            pending: BinaryHeap::new(),
            wakes: Vec::new(),
            now: 0,
        }
    }

    fn run(&mut self) {
        self.dispatch();
        while let Some(std::cmp::Reverse((at, thread))) = self.pending.pop() {
            self.now = at;
            self.advance(thread);
            self.dispatch();
        }
    }

    /// Gives free CPUs to ready threads.
    fn dispatch(&mut self) {
        while !self.free.is_empty() && !self.ready.is_empty() {
            let (Some(cpu), Some(thread)) = (self.free.pop(), self.ready.pop_front()) else {
                return;
            };
            self.change(thread, State::Running(cpu), None);
            self.advance(thread);
        }
    }

    /// Lets a running thread do its steps up to one that takes time.
    fn advance(&mut self, thread: usize) {
        while let Some(step) = self.plans[thread].pop_front() {
            match step {
                Step::Run(time) => {
                    self.pending
                        .push(std::cmp::Reverse((self.now + time, thread)));
                    return;
                }
                Step::Lock(lock) => {
                    let holder = &mut self.holders[lock as usize];
                    if holder.is_some() {
                        self.queues[lock as usize].push_back(thread);
                        return self.block(thread, WaitKind::Lock, Some(lock));
                    }
                    *holder = Some(thread);
                }
                Step::Unlock(lock) => {
                    let next = self.queues[lock as usize].pop_front();
                    self.holders[lock as usize] = next;
                    if let Some(next) = next {
                        self.wake(thread, next);
                    }
                }
                Step::Barrier => {
                    if self.at_barrier.len() + 2 < self.plans.len() {
                        self.at_barrier.push(thread);
                        return self.block(thread, WaitKind::Barrier, Some(3));
                    }
                    for waiting in std::mem::take(&mut self.at_barrier) {
                        self.wake(thread, waiting);
                    }
                }
                Step::Join => return self.block(thread, WaitKind::Join, None),
            }
        }
        self.leave_cpu(thread);
        self.change(thread, State::Ready, None);
        self.lanes[thread].end = Some(SimTime(self.now));
        let all_but_main_ended = self.lanes[1..].iter().all(|lane| lane.end.is_some());
        if thread > 0 && all_but_main_ended {
            self.wake(thread, 0);
        }
    }

    fn block(&mut self, thread: usize, kind: WaitKind, object: Option<u32>) {
        self.leave_cpu(thread);
        self.change(thread, State::Blocked(kind), object);
    }

    fn wake(&mut self, from: usize, to: usize) {
        self.change(to, State::Ready, None);
        self.ready.push_back(to);
        self.wakes
            .push(Wake::at_once(from as u32, to as u32, SimTime(self.now)));
    }

    fn leave_cpu(&mut self, thread: usize) {
        if let State::Running(cpu) = self.doing[thread].1 {
            self.free.push(cpu);
        }
    }

    /// Ends what a thread does and begins something else.
    fn change(&mut self, thread: usize, state: State, object: Option<u32>) {
        let (since, old, of) = self.doing[thread];
        self.doing[thread] = (self.now, state, object);
        if since == self.now {
            return;
        }
        let segments = &mut self.lanes[thread].segments;
        match segments.last_mut() {
            Some(last) if (last.state, last.object) == (old, of) => last.end = SimTime(self.now),
            _ => segments.push(Segment {
                start: SimTime(since),
                end: SimTime(self.now),
                state: old,
                object: of,
                event: None,
            }),
        }
    }

    fn finish(self, source: &str, cpus: u32) -> Schedule {
        let label = |kind, name: &str| ObjectLabel {
            kind,
            name: name.to_owned(),
        };
        Schedule {
            source: source.to_owned(),
            model: "direct".to_owned(),
            cpus,
            network: None,
            end: SimTime(self.now),
            outcome: Outcome::Completed,
            processes: vec!["program".to_owned()],
            lanes: self.lanes,
            objects: vec![
                label(ObjectKind::Mutex, "queue"),
                label(ObjectKind::Mutex, "statistics<T>"),
                label(ObjectKind::Mutex, "log"),
                label(ObjectKind::Barrier, "phase"),
            ],
            wakes: self.wakes,
        }
    }
}

/// Makes a lane of segments that follow each other, each with its length in nanoseconds.
fn lane(name: &str, lengths: &[(u64, State, Option<u32>)], ended: bool) -> Lane {
    let mut at = SimTime::ZERO;
    let segment = |(length, state, object): &(u64, State, Option<u32>)| {
        let start = at;
        at = at + SimTime(length * NANOSECOND);
        Segment {
            start,
            end: at,
            state: *state,
            object: *object,
            event: None,
        }
    };
    let segments = lengths.iter().map(segment).collect();
    Lane {
        name: name.to_owned(),
        process: 0,
        segments,
        end: ended.then_some(at),
    }
}

/// Two philosophers with one fork each, and a bystander.
fn deadlock() -> Schedule {
    let lock = State::Blocked(WaitKind::Lock);
    let blocked = |thread: &str, object: &str, other: &str| BlockedThread {
        thread: thread.to_owned(),
        operation: "lock".to_owned(),
        object: Some(object.to_owned()),
        waits_for: Some(other.to_owned()),
        since: SimTime(5 * NANOSECOND),
    };
    let fork = |name: &str| ObjectLabel {
        kind: ObjectKind::Mutex,
        name: name.to_owned(),
    };
    let lanes = vec![
        lane(
            "Plato",
            &[(5, State::Running(0), None), (5, lock, Some(1))],
            false,
        ),
        lane(
            "Socrates",
            &[
                (2, State::Ready, None),
                (4, State::Running(1), None),
                (4, lock, Some(0)),
            ],
            false,
        ),
        lane(
            "Diogenes",
            &[
                (6, State::Running(2), None),
                (2, State::Ready, None),
                (2, State::Running(1), None),
            ],
            true,
        ),
    ];
    Schedule {
        source: "philosophers.txt".to_owned(),
        model: "strict".to_owned(),
        cpus: 3,
        network: None,
        end: SimTime(10 * NANOSECOND),
        outcome: Outcome::Deadlock(vec![
            blocked("Plato", "right fork", "Socrates"),
            blocked("Socrates", "left fork", "Plato"),
        ]),
        processes: vec!["dinner".to_owned()],
        lanes,
        objects: vec![fork("left fork"), fork("right fork")],
        wakes: vec![Wake::at_once(0, 1, SimTime(2 * NANOSECOND))],
    }
}

/// Every kind of wait side by side.
fn every_kind() -> Schedule {
    let lanes = WaitKind::ALL
        .iter()
        .enumerate()
        .map(|(i, kind)| {
            let i = i as u64;
            let wait = (70, State::Blocked(*kind), Some(i as u32));
            let lengths = [
                (100 + 7 * i, State::Running(i as u32), None),
                wait,
                (30, State::Ready, None),
                (300 - 9 * i, State::Running(i as u32), None),
            ];
            lane(
                &format!("thread waiting for {}", kind.name()),
                &lengths,
                true,
            )
        })
        .collect();
    let label = |kind: &WaitKind| ObjectLabel {
        kind: ObjectKind::Event,
        name: format!("{} 1", kind.name()),
    };
    Schedule {
        source: "kinds.ftrace".to_owned(),
        model: "client-server".to_owned(),
        cpus: 10,
        network: None,
        end: SimTime(500 * NANOSECOND),
        outcome: Outcome::Completed,
        processes: vec!["program".to_owned()],
        lanes,
        objects: WaitKind::ALL.iter().map(label).collect(),
        wakes: Vec::new(),
    }
}
