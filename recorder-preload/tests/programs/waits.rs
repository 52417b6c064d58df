//! Condition variables, semaphores, barriers.

use foretrace_trace::Operation;

use crate::harness::record;

#[test]
fn a_barrier_made_of_a_condition_lets_all_pass_in_every_phase() {
    let run = record("cond_barrier.c");
    assert_eq!(run.stdout(), "4 phases\n");
    assert_eq!(run.count("cond_broadcast cond1"), 4);
    let waits = run.count("cond_wait cond1 mutex1");
    assert!(
        waits >= 8,
        "two of three threads wait in each of four phases, not {waits}"
    );
    for thread in ["T1", "T2", "T3"] {
        let lines = run.lines(thread);
        for (index, line) in lines.iter().enumerate() {
            if line.starts_with("cond_wait") {
                assert_eq!(lines[index + 1], "return");
            }
        }
        let unlocks = lines.iter().filter(|line| *line == "unlock mutex1");
        assert_eq!(unlocks.count(), 4);
    }
}

#[test]
fn a_wait_that_was_cancelled_returns_with_the_mutex_locked() {
    let run = record("cancel_in_cond_wait.c");
    let mut lines = run.lines_without_once("T1");
    // What the unwinder initializes, it does in the wait.
    if lines[2] == "unlock mutex1" {
        lines.drain(2..4);
    }
    assert_eq!(
        lines,
        [
            "lock mutex1",
            "sem_post semaphore1",
            "cond_wait cond1 mutex1",
            "return failed:125",
            "unlock mutex1",
            "terminate"
        ]
    );
    assert!(run.lines("main").contains(&"cancel T1".to_owned()));
}

#[test]
fn a_cancellation_that_is_pending_comes_before_a_token() {
    let run = record("cancel_pending_at_semaphore.c");
    assert_eq!(run.stdout(), "cancelled 1, tokens left 1\n");
    assert_eq!(
        run.lines("T1").last().map(String::as_str),
        Some("terminate")
    );
}

#[test]
fn deadlines_that_pass_are_told() {
    let run = record("timedwait_times_out.c");
    assert_eq!(
        run.lines("main")[..14],
        [
            "lock mutex1",
            "cond_timedwait cond1 mutex1",
            "return timedout",
            // By how much it is late.
            "sleep",
            "cond_timedwait cond1 mutex1",
            "return timedout",
            "sleep",
            "unlock mutex1",
            "sem_timedwait semaphore1",
            "return timedout",
            "sleep",
            "sem_post semaphore1",
            // A senseless deadline is refused although there is a token.
            "sem_timedwait semaphore1",
            "return failed:22",
        ]
        .map(str::to_owned)
    );
    assert_eq!(
        run.lines("T1"),
        ["timedlock mutex2", "return timedout", "terminate"]
    );
}

#[test]
fn until_when_a_wait_was_to_last_is_known() {
    let run = record("timedwait_times_out.c");
    let call = |index: usize| run.trace.call(&run.trace.events[index]);
    let of_main = (0..run.trace.events.len()).filter(|&index| call(index).thread.0 == 0);
    let of_main: Vec<usize> = of_main.collect();
    let mut told = 0;
    for events in of_main.windows(3) {
        let Operation::SleepPast(late) = call(events[2]).operation else {
            continue;
        };
        let time = |place: usize| run.trace.events[events[place]].time.0;
        assert_eq!(call(events[0]).site, call(events[2]).site);
        let asked = (time(2) - late.0).saturating_sub(time(0));
        // Of 2 ms; the clocks differ by little.
        assert!(asked <= 2_100_000, "asked for {asked} ns");
        told += 1;
    }
    assert_eq!(told, 3);
}

#[test]
fn a_handover_between_two_threads_is_seen_from_both() {
    let run = record("sem_ping_pong.c");
    assert_eq!(run.count("sem_wait"), 200);
    assert_eq!(run.count("sem_post"), 200);
    let initial: Vec<Option<u32>> = run
        .trace
        .objects
        .iter()
        .map(|object| object.initial)
        .collect();
    assert_eq!(initial, [Some(0), Some(0)]);
    // Nobody takes what was not given yet.
    let mut tokens = std::collections::BTreeMap::new();
    for event in &run.trace.events {
        let operation = run.trace.call(event).operation;
        match (operation.name(), operation.object()) {
            ("sem_post", Some(object)) => *tokens.entry(object).or_insert(0) += 1,
            ("sem_wait", Some(object)) => *tokens.entry(object).or_insert(0) -= 1,
            _ => {}
        }
    }
    assert!(tokens.values().all(|&left| left == 0));
}

#[test]
fn a_named_semaphore_opened_twice_is_one_object() {
    let run = record("sem_named.c");
    assert_eq!(
        run.lines("main"),
        [
            "sem_wait semaphore1",
            "sem_wait semaphore1",
            "sem_trywait semaphore1 busy",
            "terminate"
        ]
    );
    assert_eq!(run.trace.objects[0].initial, Some(2));
}

#[test]
fn one_thread_of_each_phase_is_the_serial_one() {
    let run = record("barrier_phases.c");
    assert_eq!(run.count("barrier_wait barrier1"), 12);
    assert_eq!(run.count("return chosen"), 4);
    assert_eq!(run.trace.objects[0].initial, Some(3));
}

#[test]
fn a_handler_that_posts_stands_before_the_wait_that_it_interrupted() {
    let run = record("signal_posts_semaphore.c");
    assert_eq!(run.count("sem_post semaphore1"), 200);
    assert_eq!(run.count("sem_wait semaphore1"), 200);
    assert_eq!(run.count("lock mutex1"), run.count("unlock mutex1"));
    let lines = run.lines("main");
    let mut tokens = 0;
    for line in &lines {
        match line.as_str() {
            "sem_post semaphore1" => tokens += 1,
            "sem_wait semaphore1" => {
                tokens -= 1;
                assert!(tokens >= 0, "the only thread takes what it did not post");
            }
            _ => {}
        }
    }
    assert_eq!(
        run.trace.recording.map(|recording| recording.lost_events),
        Some(0)
    );
}
