//! Machines: described by files, shown, and measured.

use std::{fs, process::Command};

use crate::environment::TestEnvironment;

/// Three threads with 10, 20 and 30 ms of work, of which the first creates the others.
const TRACE: &str = "foretrace-text 1\nunit 1ms\nthread main\nthread T1\nthread T2\n0 main create T1\n0 main create T2\n\
                     10 main terminate\n30 T1 terminate\n60 T2 terminate\n";

fn with_trace() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.file("work.txt", TRACE, 0o644);
    environment
}

#[test]
fn a_machines_file_changes_the_prediction_and_is_named_below_it() {
    let environment = with_trace();
    environment.file(
        "hybrid.toml",
        "[scheduler]\nkind = \"round-robin\"\nslice = \"1ms\"\n[costs]\nwake_latency = \"250us\"\n[threads]\nlimit = 9\n\
         [cpus.sockets]\ncount = 2\n[[cpus.group]]\ncount = 4\nsmt = { throughput = 1.5 }\n[[cpus.group]]\ncount = 2\nspeed = 0.5\n",
        0o644,
    );
    insta::assert_snapshot!(
        [
            environment.run(&["predict", "work.txt"]),
            environment.run(&["predict", "work.txt", "--machine", "hybrid.toml"]),
            environment.run(&[
                "predict",
                "work.txt",
                "--cpus",
                "2,3",
                "--machine",
                "hybrid.toml",
                "--scheduler",
                "fair",
                "--all-models"
            ]),
        ]
        .join("\n")
    );
}

#[test]
fn the_machine_is_part_of_each_prediction_in_json() {
    let environment = with_trace();
    environment.file(
        "slow.toml",
        "[cpus]\nspeeds = [1.0, 0.5]\n[costs]\ncreate_cost = \"1.5us\"\n",
        0o644,
    );
    let output = environment
        .command(&["predict", "work.txt", "--machine", "slow.toml", "--json"])
        .output()
        .expect("foretrace was built");
    let json: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("it is one JSON document");
    let [one, two] = [0, 1].map(|index| json["predictions"][index]["machine"].clone());
    assert_eq!(one["processors"], serde_json::json!([]));
    assert_eq!(two["slice_ns"], 3_000_000);
    assert_eq!(two["handover"], "first-come");
    assert_eq!(two["costs"]["create_cost_ns"], 1_500);
    assert_eq!(two["costs"]["wake_latency_ns"], 0);
    assert_eq!(
        two["memory"],
        serde_json::json!({"bandwidth": 2.0, "bound": 0.0, "refill": 0.0})
    );
    assert_eq!(two["runnable_limit"], serde_json::Value::Null);
    assert_eq!(
        two["processors"][1],
        serde_json::json!({"speed": 0.5, "core": 1, "core_throughput": 1.0, "socket": 0})
    );
}

#[test]
fn cpus_that_share_the_memory_are_slowed_down() {
    let environment = with_trace();
    environment.file(
        "memory.toml",
        "[memory]\nbandwidth = 1\nbound = 0.5\n",
        0o644,
    );
    insta::assert_snapshot!(
        [
            &["--cpus", "1,2,3", "--machine", "memory.toml"][..],
            // All of the CPU time, of a memory that serves two at once.
            &["--cpus", "3", "--memory-bound", "1"],
            // What the command line says holds.
            &[
                "--cpus",
                "3",
                "--memory-bound",
                "0",
                "--machine",
                "memory.toml"
            ],
            &["--memory-bound", "1.5"],
        ]
        .map(|options| environment.run(&[&["predict", "work.txt"], options].concat()))
        .join("\n")
    );
}

#[test]
fn what_is_wrong_with_a_machines_file_is_told_with_its_line() {
    let environment = with_trace();
    let mut all = String::new();
    for (name, text, arguments) in [
        ("key.toml", "[costs]\nwake_latancy = \"15us\"\n", &[][..]),
        ("value.toml", "[locks]\nhandover = \"random\"\n", &[]),
        ("none.toml", "[cpus]\ncount = 0\n", &[]),
        ("few.toml", "\n[cpus]\ncount = 2\n", &["--cpus", "1,4"]),
        (
            "bound.toml",
            "[[thread]]\nname = \"T*\"\ncpu = 4\n",
            &["--cpus", "4"],
        ),
        (
            "priority.toml",
            "[[thread]]\nnumber = 0\npriority = 4\n",
            &[],
        ),
        (
            "nobody.toml",
            "[[thread]]\nname = \"worker*\"\ncpu = 0\n",
            &["--cpus", "1"],
        ),
    ] {
        environment.file(name, text, 0o644);
        let command = ["predict", "work.txt", "--machine", name];
        all += &environment.run(&[&command, arguments].concat());
        all += "\n";
    }
    all += &environment.run(&["predict", "work.txt", "--machine", "missing.toml"]);
    insta::assert_snapshot!(all);
}

#[test]
fn the_machine_in_force_is_shown_as_a_file() {
    let environment = TestEnvironment::new();
    insta::assert_snapshot!(environment.run(&["machine"]));
    environment.file(
        "own.toml",
        "[cpus]\nspeeds = [1, 0.5]\n[[thread]]\nname = \"T\\\"*\"\npriority = 3\n[scheduler]\nkind = \"priority\"\n",
        0o644,
    );
    insta::assert_snapshot!(environment.run(&[
        "machine",
        "--show",
        "--machine",
        "own.toml",
        "--cpus",
        "1"
    ]));
    // What is shown is a machine's file, too.
    assert!(
        environment
            .run(&["machine", "--cpus", "6", "-o", "six.toml"])
            .contains("exit code: 0")
    );
    assert!(
        environment
            .run(&["machine", "-o", "six.toml"])
            .contains("is there already")
    );
    let again = environment.run(&["machine", "--machine", "six.toml"]);
    let shown = fs::read_to_string(environment.path("six.toml")).expect("it was written");
    assert!(
        shown.contains("count = 6") && again.ends_with(&shown),
        "{again}"
    );
}

#[test]
fn this_machine_can_be_measured_and_predicted_for() {
    let environment = with_trace();
    let text = environment.run(&["machine", "--calibrate", "-o", "here.toml"]);
    assert!(text.contains("exit code: 0"), "{text}");
    let measured = fs::read_to_string(environment.path("here.toml")).expect("it was written");
    assert!(measured.contains("hop on one CPU"), "{measured}");
    assert!(measured.contains("\nwake_latency = \""), "{measured}");
    let text = environment.run(&["predict", "work.txt", "--machine", "here.toml"]);
    assert!(
        text.contains("exit code: 0") && text.contains("Machine: fair"),
        "{text}"
    );
}

#[test]
fn a_program_is_measured_beside_copies_of_itself() {
    let environment = TestEnvironment::new();
    let run =
        |command: &[&str]| environment.run(&[&["machine", "--calibrate", "--"], command].concat());
    let text = run(&["sh", "-c", "echo it is $((40 + 2))"]);
    assert!(text.contains("# The program took "), "{text}");
    assert!(text.contains("\nbound = "), "{text}");
    assert!(!text.contains("it is 42"), "{text}");
    let failed = run(&["false"]);
    assert!(failed.contains("exit code: 3"), "{failed}");
    let alone = environment.run(&["machine", "--", "true"]);
    assert!(alone.contains("--calibrate"), "{alone}");
}

#[test]
fn where_there_is_one_cpu_only_the_usual_costs_are_written() {
    let status = fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = allowed
        .expect("the kernel tells which CPUs are allowed")
        .trim();
    let first = allowed.split([',', '-']).next().expect("one is allowed");
    let output = Command::new("taskset")
        .args([
            "-c",
            first,
            env!("CARGO_BIN_EXE_foretrace"),
            "machine",
            "--calibrate",
        ])
        .output()
        .expect("util-linux is installed");
    let (shown, said) = [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .into();
    assert!(said.contains("only one CPU may be used"), "{said}");
    assert!(shown.contains("wake_latency = \"18us\""), "{shown}");
}

#[test]
fn a_picture_has_the_cpus_of_the_machine() {
    let environment = with_trace();
    environment.file("two.toml", "[cpus]\nspeeds = [1.0, 0.5]\n", 0o644);
    let two = environment.run(&[
        "export",
        "work.txt",
        "--format",
        "svg",
        "--machine",
        "two.toml",
    ]);
    let asked = environment.run(&[
        "export",
        "work.txt",
        "--format",
        "svg",
        "--machine",
        "two.toml",
        "--cpus",
        "2",
    ]);
    let contents = |text: &str| text.split_once("--- stdout").map(|(_, svg)| svg.to_owned());
    assert!(contents(&two).is_some());
    assert_eq!(contents(&two), contents(&asked));
}
