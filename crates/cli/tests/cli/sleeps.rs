//! Programs whose main thread sleeps while others work.

use serde_json::Value;

use crate::environment::{TestEnvironment, assert_speedup};

/// Records the program, and predicts it for two CPUs.
fn predicted(arguments: &[&str]) -> Value {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/sleep_until_done.c");
    environment.compile("sleep_until_done", source, &["-O1", "-pthread"]);
    let record = [
        "record",
        "-q",
        "-o",
        "out.ftrace",
        "--",
        "./sleep_until_done",
    ];
    let ended = environment.run(&[&record[..], arguments].concat());
    assert!(ended.contains("exit code: 0"), "{ended}");
    environment.json(&["predict", "out.ftrace", "--cpus", "2", "--json"])
}

#[test]
fn sleeps_until_others_are_done_are_shorter_where_these_are_faster() {
    assert_speedup(1.6..=2.05, || predicted(&[]));
}

#[test]
fn sleeps_after_which_others_are_told_to_stop_last_as_long_as_they_are_meant_to() {
    assert_speedup(0.9..=1.2, || predicted(&["clock"]));
}
