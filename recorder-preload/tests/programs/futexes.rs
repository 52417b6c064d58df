//! Programs whose threads wait by futexes: by hand, and through what C++ and Rust make of them.

use std::ffi::OsStr;
use std::path::Path;

use foretrace_program::{Action, Program};
use foretrace_sim::{Machine, ModelKind, predict_all, run};
use foretrace_trace::{ObjectKind, Operation, Outcome, validate};

use crate::harness::{self, Run, compile, pinned, record_command, rust_programs};

/// Compiles a C++20 program, records it, and checks that it did as it does unrecorded.
fn record_cpp(source: &str) -> Run {
    let name = source.split('.').next().expect("split gives one part");
    let program = compile(source, name, &["-std=c++20"]);
    compare(&program, &[], &[])
}

/// Records one of the Rust programs, which believes in three CPUs.
fn record_rust(name: &str) -> Run {
    let variables = [("FORETRACE_PRETEND_CPUS", "3")];
    compare(rust_programs(), &[OsStr::new(name)], &variables)
}

fn compare(program: &Path, arguments: &[&OsStr], variables: &[(&str, &str)]) -> Run {
    let run = record_command(program, arguments, variables);
    let plain = pinned(program)
        .args(arguments)
        .output()
        .expect("taskset is installed");
    assert!(plain.status.success() && run.output.status.success());
    assert_eq!(run.output.stdout, plain.stdout, "recorded against plain");
    validate(&run.trace).expect("what was recorded is valid");
    run
}

/// Returns the events of the waits for futexes that ended by a wake-up, as they say.
fn woken_waits(run: &Run) -> Vec<u32> {
    let mut waits = vec![None; run.trace.threads.len()];
    let mut woken = Vec::new();
    for (index, event) in run.trace.events.iter().enumerate() {
        let call = run.trace.call(event);
        let waited = waits[call.thread.index()].take();
        match call.operation {
            Operation::FutexWait(_) | Operation::FutexTimedWait(_) => {
                waits[call.thread.index()] = Some(index as u32);
            }
            Operation::Return if call.outcome == Outcome::Success => woken.extend(waited),
            _ => {}
        }
    }
    woken
}

/// Checks what holds for every program that waits by nothing but futexes and joins.
fn check(run: &Run, threads: usize) {
    assert_eq!(run.trace.threads.len(), threads);
    let uses_futexes = run
        .trace
        .objects
        .iter()
        .any(|object| object.kind == ObjectKind::Futex);
    let told = run
        .trace
        .warnings
        .iter()
        .filter(|warning| warning.contains("waits by futexes"));
    assert_eq!(told.count(), usize::from(uses_futexes));
    check_wakes(run);
    check_models(run);
}

/// Every wait that was woken is found to have been woken by somebody.
fn check_wakes(run: &Run) {
    let program = Program::from_trace(&run.trace);
    let mut matched = Vec::new();
    for (index, operation) in program.operations.iter().enumerate() {
        let event = &run.trace.events[operation.event as usize];
        let by_futex = matches!(run.trace.call(event).operation, Operation::FutexWait(_));
        // A futex may be a lock, which is taken by waits, and in the work before wake-ups; or a barrier, at which nobody lets single ones go on.
        let is_wait = match operation.action {
            Action::AwaitWake(_) => true,
            Action::Barrier(_) if by_futex => {
                matched.push(operation.event);
                false
            }
            Action::Lock(_) => by_futex,
            _ => false,
        };
        if is_wait {
            let wakes = program.requirements_of(index as u32);
            assert_eq!(wakes.len(), 1, "one wake-up ends a wait");
            matched.push(operation.event);
        }
    }
    for wait in woken_waits(run) {
        assert!(matched.contains(&wait), "nobody woke event {wait}");
    }
}

/// Every model gets through, on any number of CPUs, and on one it takes as long as was recorded.
fn check_models(run: &Run) {
    let program = Program::from_trace(&run.trace);
    for cpus in [1, 2, 4] {
        for attempt in predict_all(&program, &Machine::new(cpus, &program)).attempts {
            let (model, run) = (attempt.model, attempt.run);
            assert!(run.is_complete(), "{model:?} on {cpus}: {:?}", run.outcome);
        }
    }
    if program.delays.is_empty() {
        let one = on_one_cpu(&program);
        let recorded = run.trace.total_cpu().0;
        assert!(
            one.abs_diff(recorded) <= recorded / 100,
            "{one} ns on one CPU, of {recorded}"
        );
    }
}

/// Returns how long the Direct model takes on one CPU, in nanoseconds.
fn on_one_cpu(program: &Program) -> u64 {
    run(program, &Machine::new(1, program), ModelKind::Direct)
        .end
        .as_nanos()
}

#[test]
fn every_way_to_wait_and_to_wake_is_told_with_what_came_of_it() {
    let run = harness::record("futex_raw.c");
    assert_eq!(
        run.lines("main")[..9],
        [
            "futex_wake futex1",
            "futex_wait futex1",
            "return busy",
            "futex_timedwait futex1",
            "return timedout",
            "futex_timedwait futex1",
            "return timedout",
            "futex_wait futex2",
            "return failed:22",
        ]
        .map(str::to_owned)
    );
    let wait = ["futex_wait futex1", "return"];
    let waits = [wait, wait, wait, wait].concat();
    assert_eq!(run.lines("T1"), [waits, vec!["terminate"]].concat());
    assert_eq!(
        run.lines("T2"),
        [
            "futex_wait futex4",
            "return",
            "futex_wake futex4",
            "terminate"
        ]
    );
    // All were woken by somebody but the first who took the lock, which was free.
    let program = Program::from_trace(&run.trace);
    let awaits =
        |operation: &foretrace_program::Operation| matches!(operation.action, Action::AwaitWake(_));
    assert_eq!(program.operations.iter().filter(awaits).count(), 5);
    assert_eq!(woken_waits(&run).len(), 6);
    check_models(&run);
}

#[test]
fn a_wait_for_several_is_one_for_the_futex_that_woke_it() {
    let run = harness::record("futex_of_several.c");
    let (main, waiter) = (run.lines("main"), run.lines("T1"));
    let wakes: Vec<&String> = main
        .iter()
        .filter(|line| line.starts_with("futex_wake "))
        .collect();
    // Each is repeated until it woke somebody.
    let (last, first) = (wakes[wakes.len() - 1], wakes[0]);
    assert_ne!(last, first);
    let waits = [first, last].map(|wake| wake.replace("wake", "wait"));
    let expected = [&waits[0], "return", &waits[1], "return", "terminate"];
    assert_eq!(waiter, expected);
    // What nobody woke it for, it waited for at the first.
    let alone = format!("futex_timedwait {}", &waits[1]["futex_wait ".len()..]);
    let rest = &main[main.len() - 5..];
    assert_eq!(rest[..2], [alone, "return timedout".to_owned()]);
    assert_eq!(rest[2..4], [waits[1].clone(), "return busy".to_owned()]);
    let program = Program::from_trace(&run.trace);
    let awaits =
        |operation: &foretrace_program::Operation| matches!(operation.action, Action::AwaitWake(_));
    assert_eq!(program.operations.iter().filter(awaits).count(), 2);
    check_models(&run);
}

#[test]
fn a_wake_up_tells_how_many_it_woke() {
    let run = record_rust("barrier");
    check(&run, 4);
    let most = run
        .trace
        .calls
        .iter()
        .filter_map(|call| match call.operation {
            Operation::FutexWake { woken, .. } => Some(woken),
            _ => None,
        });
    assert!(most.max() <= Some(2), "no more than two wait for the third");
    assert!(
        woken_waits(&run).len() >= 4,
        "somebody waits in every phase"
    );
}

#[test]
fn spinning_does_not_hide_a_wait_and_is_one_where_it_goes_on() {
    let run = harness::record("spins_by_yielding.c");
    assert!(run.count("futex_wait") >= 5, "waits in twenty hand-overs");
    check_wakes(&run);
    check_models(&run);
    // At the end T1 only yields until it is told to stop.
    assert!(run.count("io yield") >= 10, "{}", run.count("io yield"));
    let warnings = &run.trace.warnings;
    assert!(
        warnings.len() == 1 && warnings[0].contains("waits by futexes"),
        "{warnings:?}"
    );
}

#[test]
fn who_yields_between_other_calls_does_not_nap() {
    let run = harness::record("yields_between_locks.c");
    assert_eq!(run.count("io yield"), 0);
    assert_eq!(run.count("lock"), 4000);
    let told = run
        .trace
        .warnings
        .iter()
        .filter(|told| told.contains("spun by sched_yield"));
    assert_eq!(told.count(), 1, "{:?}", run.trace.warnings);
}

/// Returns how many times as fast a program is predicted to be on two CPUs as on one.
fn speedup_on_two(recorded: &Run) -> f64 {
    let program = Program::from_trace(&recorded.trace);
    let end = |cpus| {
        let run = run(&program, &Machine::new(cpus, &program), ModelKind::Direct);
        assert!(run.is_complete(), "{:?}", run.outcome);
        run.end.0 as f64
    };
    end(1) / end(2)
}

#[test]
fn threads_that_meet_by_yielding_wait_for_each_other() {
    // Each works three times as long as the other, in turn: of four units of work, three lie one after the other.
    let mut speedups = Vec::new();
    for _ in 0..5 {
        let run = harness::record("meets.c");
        assert!(run.count("io yield") > 20);
        let speedup = speedup_on_two(&run);
        if (1.05..1.65).contains(&speedup) {
            return;
        }
        speedups.push(speedup);
    }
    panic!("{speedups:?}");
}

#[test]
fn threads_that_hand_each_other_a_turn_by_yielding_never_work_at_the_same_time() {
    // Most naps last until the other waits itself: those that do not tell that it is always at its end.
    let mut speedups = Vec::new();
    for _ in 0..5 {
        let speedup = speedup_on_two(&harness::record("hands_over.c"));
        if (0.9..1.3).contains(&speedup) {
            return;
        }
        speedups.push(speedup);
    }
    panic!("{speedups:?}");
}

#[test]
fn futures_of_all_sorts() {
    let run = record_cpp("cpp_futures.cpp");
    check(&run, 6);
    assert!(!woken_waits(&run).is_empty());
    assert_eq!(run.count("join"), 5, "futures of async join their threads");
}

#[test]
fn semaphores_latches_barriers_and_atomics() {
    let run = record_cpp("cpp_waits.cpp");
    check(&run, 6);
    assert!(
        woken_waits(&run).len() >= 5,
        "somebody waits in every phase"
    );
    assert_eq!(run.count("return timedout"), 1);
}

#[test]
fn locks_and_conditions_of_cpp_are_those_of_the_c_library() {
    let run = record_cpp("cpp_locks.cpp");
    assert_eq!(run.trace.threads.len(), 4);
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
    assert_eq!(run.count("once once1 chosen"), 1);
    assert_eq!(run.count("once once1"), 3);
    assert!(run.count("wrlock") > 4);
    assert!(run.count("timedrdlock") >= 8);
    assert!(run.count("cond_timedwait") >= 1);
    assert!(run.count("cond_broadcast") >= 1);
    assert_eq!(run.count("join"), 3);
}

#[test]
fn rusts_mutex() {
    let run = record_rust("mutex");
    check(&run, 4);
    assert!(
        !woken_waits(&run).is_empty(),
        "they work while they hold it"
    );
}

#[test]
fn rusts_rwlock() {
    check(&record_rust("rwlock"), 4);
}

#[test]
fn rusts_condvar() {
    let run = record_rust("condvar");
    check(&run, 2);
    assert!(
        !woken_waits(&run).is_empty(),
        "the queue is full or empty at times"
    );
}

#[test]
fn rusts_channels() {
    let run = record_rust("channel");
    check(&run, 3);
    assert_eq!(run.count("return timedout"), 1);
}

#[test]
fn rusts_park() {
    let run = record_rust("park");
    check(&run, 2);
    assert!(!woken_waits(&run).is_empty());
}

#[test]
fn rusts_once() {
    check(&record_rust("once"), 4);
}

#[test]
fn parking_lots_mutex_and_condvar() {
    let run = record_rust("parking_lot");
    check(&run, 4);
    assert!(!woken_waits(&run).is_empty());
}

#[test]
fn parking_lots_rwlock() {
    check(&record_rust("parking_lot_rwlock"), 4);
}

#[test]
fn crossbeams_channel() {
    let run = record_rust("crossbeam_channel");
    check(&run, 3);
    assert!(
        !woken_waits(&run).is_empty(),
        "the channel is full or empty at times"
    );
}

#[test]
fn crossbeams_scope_and_wait_group() {
    let run = record_rust("crossbeam_scope");
    check(&run, 5);
    assert!(!woken_waits(&run).is_empty(), "the group is waited for");
}

#[test]
fn rayons_pool() {
    for name in ["rayon_sum", "rayon_join"] {
        let run = record_rust(name);
        // The program's first thread waits for the pool, which believes in three CPUs.
        check(&run, 4);
        assert!(!woken_waits(&run).is_empty());
    }
}
