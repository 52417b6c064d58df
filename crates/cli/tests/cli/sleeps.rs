//! Programs whose main thread sleeps while others work.

use serde_json::Value;

use crate::environment::{TestEnvironment, assert_speedup};

/// Records a program, and predicts it for some CPUs.
fn predicted_of(source: &str, arguments: &[&str], cpus: &str) -> Value {
    let environment = TestEnvironment::new();
    environment.compile("sleeps", source, &["-O1", "-pthread"]);
    let record = ["record", "-q", "-o", "out.ftrace", "--", "./sleeps"];
    let ended = environment.run(&[&record[..], arguments].concat());
    assert!(ended.contains("exit code: 0"), "{ended}");
    environment.json(&["predict", "out.ftrace", "--cpus", cpus, "--json"])
}

fn predicted(arguments: &[&str]) -> Value {
    let source = include_str!("../../../../traces/programs/sleep_until_done.c");
    predicted_of(source, arguments, "2")
}

#[test]
fn sleeps_until_others_are_done_are_shorter_where_these_are_faster() {
    assert_speedup(1.6..=2.05, || predicted(&[]));
}

#[test]
fn sleeps_after_which_others_are_told_to_stop_last_as_long_as_they_are_meant_to() {
    assert_speedup(0.9..=1.2, || predicted(&["clock"]));
}

/// Predicts four threads that share work in such a way for as many CPUs.
fn shared(way: &str) -> Value {
    let source = include_str!("../../../../traces/programs/shares_work.c");
    predicted_of(source, &[way, "4", "60"], "4")
}

#[test]
fn workers_that_sleep_until_there_is_something_to_do_wait_for_who_makes_it() {
    assert_speedup(3.0..=4.6, || shared("naps"));
}

#[test]
fn who_puts_tasks_does_some_itself_where_workers_are_late() {
    assert_speedup(2.8..=3.3, || shared("helping"));
}

#[test]
fn who_gets_each_result_waits_for_all_of_them() {
    assert_speedup(2.3..=2.6, || shared("results"));
}

#[test]
fn threads_that_yield_until_all_are_there_meet() {
    assert_speedup(2.4..=4.0, || shared("yielding"));
}
