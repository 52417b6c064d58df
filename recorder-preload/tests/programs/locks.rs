//! Mutexes, spin locks, readers-writer locks, one-time initialization.

use crate::harness::record;
use foretrace_trace::ObjectKind;

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
