//! Measures how many events a second the engine replays, on one core, of a lock-heavy program.
//!
//! `cargo run --release -p foretrace-sim --example replay_speed -- [EVENTS] [THREADS]`
#![expect(clippy::print_stdout, reason = "a benchmark says what it measured")]

use std::time::Instant;

use foretrace_program::Program;
use foretrace_sim::{Machine, ModelKind, run};
use foretrace_trace::{
    Call, Event, Nanos, Object, ObjectId, ObjectKind, Operation, Outcome, Process, ProcessId,
    Recording, Returns, Thread, ThreadId, Trace,
};

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|word| word.parse().expect("a number"));
    let events: usize = arguments.next().unwrap_or(10_000_000);
    let threads: u32 = arguments
        .next()
        .unwrap_or(64)
        .try_into()
        .expect("a number of threads");
    let trace = lock_heavy(events, threads);
    let begin = Instant::now();
    let program = Program::from_trace(&trace);
    let lowering = begin.elapsed().as_secs_f64();
    println!(
        "{events} events of {threads} threads; lowered at {:.1} million events/s",
        rate(events, lowering)
    );
    for model in ModelKind::ALL {
        for cpus in [1, 4, 16, 64] {
            let begin = Instant::now();
            let run = run(&program, &Machine::new(cpus, &program), model);
            let seconds = begin.elapsed().as_secs_f64();
            let end = run.end;
            println!(
                "{:>13} on {cpus:>2} CPUs: {:>5.1} million events/s (makespan {end})",
                model.name(),
                rate(events, seconds)
            );
        }
    }
}

fn rate(events: usize, seconds: f64) -> f64 {
    events as f64 / seconds / 1e6
}

/// Threads that lock one of 16 mutexes for 200 ns, every microsecond or so; recorded in slices of a hundred events.
fn lock_heavy(events: usize, threads: u32) -> Trace {
    let mutexes = 16;
    let mut trace = Trace {
        source: "generated".to_owned(),
        recording: Some(Recording::default()),
        returns: Returns::Explicit,
        processes: vec![Process {
            name: "generated".to_owned(),
            pid: None,
            parent_pid: None,
        }],
        ..Trace::default()
    };
    for index in 0..threads {
        trace.threads.push(Thread {
            name: format!("T{index}"),
            process: ProcessId(0),
            priority: None,
            cpu: None,
            start_routine: None,
            tid: None,
        });
    }
    for index in 0..mutexes {
        trace.objects.push(Object {
            kind: ObjectKind::Mutex,
            name: format!("mutex {index}"),
            process: ProcessId(0),
            address: None,
            initial: None,
        });
    }
    let mut call = |thread: u32, operation| {
        let call = Call {
            thread: ThreadId(thread),
            operation,
            outcome: Outcome::Success,
            from: None,
            site: None,
        };
        trace.push_call(call)
    };
    let creates: Vec<_> = (1..threads)
        .map(|child| call(0, Operation::Create(ThreadId(child))))
        .collect();
    let mut pairs = Vec::new();
    for thread in 0..threads {
        for mutex in 0..mutexes {
            let mutex = ObjectId(mutex);
            pairs.push((
                call(thread, Operation::Lock(mutex)),
                call(thread, Operation::Unlock(mutex)),
            ));
        }
    }
    let mut cpu = vec![0_u64; threads as usize];
    let mut time = 0;
    let mut random = 1_u64;
    let mut push = |thread: u32, call, spent: u64| {
        time += spent;
        cpu[thread as usize] += spent;
        trace.events.push(Event {
            time: Nanos(time),
            cpu: Some(Nanos(cpu[thread as usize])),
            call,
        });
    };
    for create in creates {
        push(0, create, 10_000);
    }
    for index in 0..events / 2 {
        let thread = (index / 50) as u32 % threads;
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mutex = (random >> 60) as u32;
        let (lock, unlock) = pairs[(thread * mutexes + mutex) as usize];
        push(thread, lock, 500 + (random >> 40) % 1_000);
        push(thread, unlock, 200);
    }
    trace
}
