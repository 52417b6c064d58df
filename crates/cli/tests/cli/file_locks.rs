//! Processes that lock a file.

use serde_json::Value;

use crate::environment::{TestEnvironment, assert_speedup};

/// Records two processes that lock a file in one way, and predicts them for two CPUs.
fn predicted(how: &str) -> Value {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/file_locks.c");
    environment.compile("file_locks", source, &["-O1"]);
    let program = ["./file_locks", how, "2", "3000000"];
    let record = ["record", "-q", "-o", "out.ftrace", "--"];
    let ended = environment.run(&[&record[..], &program].concat());
    assert!(ended.contains("exit code: 0"), "{ended}");
    environment.json(&["predict", "out.ftrace", "--cpus", "2", "--json"])
}

#[test]
fn who_locks_a_file_keeps_others_out() {
    for how in ["flock", "fcntl", "lockf", "close", "stream", "try"] {
        // Two processes, of whose work two thirds exclude each other: of 36 parts, 25 are left.
        assert_speedup(1.25..=1.6, || predicted(how));
    }
}

#[test]
fn who_locks_a_file_for_reading_does_not() {
    assert_speedup(1.75..=2.05, || predicted("read"));
}
