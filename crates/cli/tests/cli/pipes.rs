//! Processes and threads that hand each other work through pipes.

use serde_json::Value;

use crate::environment::{TestEnvironment, assert_speedup};

/// Records a command, and predicts it for two CPUs.
fn predicted(command: &[&str]) -> Value {
    let environment = TestEnvironment::new();
    for (name, source) in [
        ("pipes", include_str!("../../../../traces/programs/pipes.c")),
        (
            "connections",
            include_str!("../../../../traces/programs/connections.c"),
        ),
    ] {
        environment.compile(name, source, &["-O1", "-pthread"]);
    }
    let record = ["record", "-q", "-o", "out.ftrace", "--"];
    let ended = environment.run(&[&record[..], command].concat());
    assert!(ended.contains("exit code: 0"), "{ended}");
    environment.json(&["predict", "out.ftrace", "--cpus", "2", "--json"])
}

#[test]
fn who_reads_begins_when_it_was_written() {
    for how in ["chain", "sockets"] {
        // Of five parts of work, one lies beside others.
        assert_speedup(1.1..=1.4, || predicted(&["./pipes", how, "50000000"]));
    }
}

#[test]
fn threads_that_read_tasks_from_a_pipe_are_a_pool() {
    // Eight tasks for two threads, and as much as four by one: of twelve parts of work eight are left.
    assert_speedup(1.3..=1.6, || {
        let predicted = predicted(&["./pipes", "tasks", "4", "4000000"]);
        assert_eq!(predicted["predictions"][0]["model"], "pool", "{predicted}");
        predicted
    });
}

#[test]
fn stages_of_a_pipeline_that_use_streams_wait_for_each_other() {
    // What the C library writes itself, nobody sees.
    let command = "./pipes give 50000000 | ./pipes take 50000000";
    assert_speedup(0.9..=1.2, || predicted(&["sh", "-c", command]));
}

#[test]
fn who_asks_through_a_connection_waits_for_the_answer() {
    for how in ["tcp", "local", "ready", "processes"] {
        // One client and its server take turns.
        assert_speedup(0.9..=1.1, || {
            predicted(&["./connections", how, "1", "5000000"])
        });
    }
}
