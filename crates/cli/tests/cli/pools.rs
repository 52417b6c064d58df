//! Programs whose threads take tasks from a queue: recognized, and predicted with any number of threads.

use crate::environment::{TestEnvironment, assert_speedup};

/// Records a program with four workers.
fn recorded(program: &str, source: &str) -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.compile(program, source, &["-O1", "-pthread"]);
    let program = format!("./{program}");
    let ended = environment.run(&["record", "--quiet", "-o", "out.ftrace", "--", &program, "4"]);
    assert!(ended.contains("exit code: 0"), "{ended}");
    environment
}

#[test]
fn a_queue_of_a_mutex_and_a_condition_variable_is_a_pool() {
    let source = include_str!("../../../../traces/programs/pool_condvar.c");
    let environment = recorded("pool_condvar", source);
    let pools = &environment.json(&["info", "out.ftrace", "--json"])["pools"];
    assert_eq!(pools[0]["threads"], 4, "{pools}");
    assert_eq!(pools[0]["tasks"], 400, "{pools}");
    let predicted = environment.json(&["predict", "out.ftrace", "--cpus", "4", "--json"]);
    let prediction = &predicted["predictions"][0];
    assert_eq!(prediction["model"], "pool");
    assert_eq!(prediction["attempts"].as_array().map(Vec::len), Some(1));
}

#[test]
fn stacks_that_threads_take_from_each_other_are_a_pool_that_the_creator_works_in() {
    let source = include_str!("../../../../traces/programs/stolen_stacks.c");
    let environment = TestEnvironment::new();
    environment.compile("stolen_stacks", source, &["-O1", "-pthread"]);
    // With few meetings, interruptions may spoil what is seen around each of them.
    let command = ["./stolen_stacks", "2", "8", "100"];
    let record = ["record", "--quiet", "--force", "-o", "out.ftrace", "--"];
    let record = || {
        let ended = environment.run(&[&record[..], &command[..]].concat());
        assert!(ended.contains("exit code: 0"), "{ended}");
    };
    record();
    let info = environment.json(&["info", "out.ftrace", "--json"]);
    assert_eq!(info["pools"][0]["threads"], 2, "{info}");
    assert_eq!(info["pools"][0]["queue"].as_array().map(Vec::len), Some(2));
    assert_eq!(info["structures"][0]["pattern"], "barrier", "{info}");
    // However the recording shared the tasks out, two CPUs need little more than half of the time for them.
    assert_speedup(1.6..=2.0, || {
        record();
        let predicted = environment.json(&["predict", "out.ftrace", "--cpus", "2", "--json"]);
        assert_eq!(predicted["predictions"][0]["model"], "pool");
        predicted
    });
}

#[test]
fn the_number_of_workers_can_be_another_than_was_recorded() {
    let source = include_str!("../../../../traces/programs/pool_index.c");
    let environment = recorded("pool_index", source);
    let pools = &environment.json(&["info", "out.ftrace", "--json"])["pools"];
    assert_eq!(pools[0]["tasks"], 480, "{pools}");
    assert_eq!(pools[0]["order_known"], true, "{pools}");
    let makespan = |workers: &str| {
        let arguments = [
            "predict",
            "out.ftrace",
            "--cpus",
            "16",
            "--workers",
            workers,
            "--json",
        ];
        let prediction = &environment.json(&arguments)["predictions"][0];
        assert_eq!(prediction["model"], "pool");
        let expected = workers.parse().unwrap_or(16);
        assert_eq!(prediction["workers"], expected);
        prediction["makespan_ns"].as_u64().expect("it is a number")
    };
    assert!(makespan("1") > makespan("2"));
    assert!(makespan("2") > makespan("cpus"));
    // Workers that were added have lanes of their own.
    let arguments = [
        "export",
        "out.ftrace",
        "--format",
        "svg",
        "--cpus",
        "6",
        "--workers",
        "6",
    ];
    let picture = environment.run(&arguments);
    assert!(picture.contains("+1"), "{picture}");
}

#[test]
fn where_there_is_no_pool_it_is_said_what_was_looked_for() {
    let environment = TestEnvironment::new();
    let text = include_str!("../../../../traces/p.trace.txt");
    environment.file("p.trace.txt", text, 0o644);
    insta::assert_snapshot!(
        [
            environment.run(&["predict", "p.trace.txt", "--model", "pool"]),
            environment.run(&["predict", "p.trace.txt", "--workers", "4"]),
            environment.run(&["predict", "p.trace.txt", "--workers", "4", "--all-models"]),
            environment.run(&["predict", "p.trace.txt", "--workers", "0"]),
        ]
        .join("\n")
    );
}
