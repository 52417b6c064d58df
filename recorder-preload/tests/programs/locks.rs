//! Mutexes, spin locks, readers-writer locks, one-time initialization.

use std::ffi::OsStr;

use crate::harness::{compile, record, record_command};
use foretrace_trace::{Object, ObjectKind, ThreadClock};

#[test]
fn what_is_done_again_and_again_is_counted_to_the_last_time() {
    let run = record("repetitions.c");
    assert_eq!(run.stdout(), "0\n");
    assert_eq!(run.count("lock mutex1"), 1_000_000);
    assert_eq!(run.count("unlock mutex1"), 1_000_000);
    for (few, locks) in [("mutex2", 100_000), ("mutex3", 100_000), ("mutex4", 99_000)] {
        assert_eq!(run.count(&format!("lock {few}")), locks, "{few}");
        assert_eq!(run.count(&format!("unlock {few}")), 100_000, "{few}");
    }
    assert_eq!(run.count("trylock mutex4"), 1000);
    assert_eq!(run.count("trylock mutex5 busy"), 30_000);
    assert_eq!(run.count("sem_trywait semaphore1 busy"), 1);
    assert_eq!(run.count("sem_post"), run.count("sem_trywait") - 1);
    for line in ["spin_lock", "spin_unlock"] {
        assert_eq!(run.count(line), 1000, "{line}");
    }
    for (line, times) in [
        ("wrlock rwlock1", 100_000),
        ("rdlock rwlock1", 101_000),
        ("rwunlock rwlock1", 201_000),
        ("rdlock rwlock2", 1_100_000),
        ("rwunlock rwlock2", 1_100_000),
    ] {
        assert_eq!(run.count(line), times, "{line}");
    }
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
    let recording = run.trace.recording.as_ref().expect("it was recorded");
    // Only the clock that notices disturbances lets one be sure that nothing came between.
    if recording.clock == ThreadClock::Rseq {
        // One by one, those of the mutexes alone take 31 MB, the others 33.
        let bytes = run.journal_bytes();
        assert!(bytes < 10_000_000, "{bytes} bytes");
    }
}

#[test]
fn tens_of_millions_of_looks_and_tries_take_little_room() {
    let run = record("polls_often.c");
    assert_eq!(run.stdout(), "4\n");
    // A look that had to wait is recorded as a call and a return.
    assert_eq!(run.count("lock mutex2"), 2 * 15_000_000);
    assert_eq!(run.count("unlock mutex2"), 2 * 15_000_000);
    assert_eq!(run.count("trylock mutex1 busy"), 2 * 10_000_000);
    let recording = run.trace.recording.as_ref().expect("it was recorded");
    let bytes = run.journal_bytes();
    // Without rseq nothing can be counted, and a pair or a try takes 24 bytes.
    let most = match recording.clock {
        ThreadClock::Rseq => 100_000_000,
        _ => 1_400_000_000,
    };
    assert!(bytes < most, "{bytes} bytes");
}

#[test]
fn a_program_killed_at_any_instruction_leaves_a_lock_and_what_went_before() {
    let program = compile("killed_at_any_instruction.c", "killed_at_any", &[]);
    let how_many = ["1", "3", "16", "1", "3", "16", "1", "3", "16"];
    let kinds = [
        (&[][..], "lock mutex", "unlock mutex"),
        (&["reads"], "rdlock", "rwunlock"),
    ];
    let each = kinds
        .iter()
        .flat_map(|kind| how_many.map(|count| (kind, count)));
    for (index, (&(kind, lock, unlock), count)) in (0..).zip(each) {
        let micros = (3000 + index * 77).to_string();
        let arguments = [&[micros.as_str(), count], kind].concat();
        let arguments: Vec<&OsStr> = arguments.into_iter().map(OsStr::new).collect();
        let run = record_command(&program, &arguments, &[]);
        let (locks, unlocks) = (run.count(lock), run.count(unlock));
        assert!(
            locks > 0 && locks.abs_diff(unlocks) <= 1,
            "{locks} {unlocks}"
        );
        let missing = |warning: &String| !warning.starts_with("the ends of main");
        assert!(
            !run.trace.warnings.iter().any(missing),
            "{:?}",
            run.trace.warnings
        );
    }
}

#[test]
fn every_type_of_mutex_answers_as_it_would_unrecorded() {
    let run = record("mutex_types.c");
    assert_eq!(
        run.lines("main"),
        [
            "lock mutex1",
            "lock mutex1",
            "unlock mutex1",
            "unlock mutex1",
            "lock mutex2",
            // EDEADLK: it is an error-checking mutex that is locked already.
            "lock mutex2",
            "return failed:35",
            "unlock mutex2",
            "unlock mutex2 failed:1",
            "create T1",
            "join T1",
            "return",
            "lock mutex3",
            "return ownerdied",
            "unlock mutex3",
            // ENOTRECOVERABLE.
            "lock mutex3",
            "return failed:131",
            "timedlock mutex1",
            "return failed:22",
            "join main",
            "return failed:35",
            "terminate",
        ]
    );
}

#[test]
fn a_try_that_fails_is_not_a_wait() {
    let run = record("trylock_busy.c");
    assert_eq!(
        run.lines("T1"),
        [
            "trylock mutex1 busy",
            "sem_trywait semaphore1 busy",
            "terminate"
        ]
    );
    assert_eq!(
        run.lines("main"),
        [
            "lock mutex1",
            "create T1",
            "join T1",
            "return",
            "unlock mutex1",
            "trylock mutex1",
            "terminate"
        ]
    );
}

#[test]
fn spinning_on_one_cpu_yields() {
    let run = record("spin_lock.c");
    assert_eq!(run.stdout(), "400\n");
    assert_eq!(run.count("spin_lock spin1"), 400);
    assert_eq!(run.count("spin_unlock spin1"), 400);
    // Two threads were joined; any further return is that of a lock that was held when it was asked for.
    assert!(run.count("return") > 2, "no lock was ever contended");
    // Not so without the recorder.
    assert!(run.trace.objects.iter().any(Object::keeps_cpus));
}

#[test]
fn whether_readers_wait_for_writers_that_wait_is_known() {
    let run = record("rwlock_prefers.c");
    assert_eq!(run.stdout(), "locked\n");
    let locks = run.trace.objects.iter();
    let locks = locks.filter(|object| object.kind == ObjectKind::Rwlock);
    let preferences: Vec<Option<u32>> = locks.map(|lock| lock.initial).collect();
    assert_eq!(preferences, [Some(1), None]);
}

#[test]
fn readers_writers_tries_and_deadlines_are_told_apart() {
    let run = record("rwlock_phases.c");
    let lines = run.lines("main");
    let first = lines.iter().position(|line| line.starts_with("tryrdlock"));
    let from = first.expect("the program tries");
    assert_eq!(
        lines[from..],
        [
            "tryrdlock rwlock1",
            "rwunlock rwlock1",
            "trywrlock rwlock1 busy",
            "timedwrlock rwlock1",
            "return timedout",
            "timedrdlock rwlock1",
            "return failed:22",
            "timedrdlock rwlock1",
            "rwunlock rwlock1",
            "wrlock rwlock1",
            "return",
            "rwunlock rwlock1",
            "join T1",
            "return",
            "terminate"
        ]
        .map(str::to_owned)
    );
}

#[test]
fn one_thread_of_a_race_is_said_to_run_the_routine() {
    let run = record("once_race.c");
    assert_eq!(run.count("once once1 chosen"), 1);
    assert_eq!(run.count("once once2 chosen"), 1);
    assert_eq!(run.count("return chosen"), 2);
    assert_eq!(run.count("once once1"), 4);
    let once = run
        .trace
        .objects
        .iter()
        .filter(|object| object.kind == ObjectKind::Once);
    assert_eq!(once.count(), 2);
}

#[test]
fn errno_is_as_it_was() {
    let run = record("errno_preserved.c");
    assert_eq!(run.stdout(), "good\n");
}

#[test]
fn memory_that_is_not_there_is_an_error_and_no_death() {
    let run = record("bad_addresses.c");
    assert_eq!(run.stdout(), "good\n");
}

#[test]
fn the_cpp_librarys_locks_are_recorded() {
    let run = record("cpp_threads.cpp");
    // The first run of the routine ended with an exception, the second in order.
    assert_eq!(run.count("once once1 chosen"), 2);
    assert!(run.count("return chosen") >= 2);
    assert_eq!(run.count("rdlock rwlock1"), 1);
    assert_eq!(run.count("cond_timedwait cond1 mutex"), 1);
    assert_eq!(run.count("return timedout"), 1);
    assert_eq!(run.count("timedlock mutex"), 1);
}
