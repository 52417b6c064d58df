//! Master/slave programs on grids: planned, simulated, selected, and fitted to recordings.

use std::fs;

use crate::environment::TestEnvironment;

/// The first grid of the golden file.
const GRID: &str = "size = 1.0
[nonlocal]
bandwidth = 4.0
[[cluster]]
name = \"c0\"
bandwidth = 10.0
[[cluster]]
name = \"c1\"
bandwidth = 6.0
[[processor]]
name = \"p0\"
cluster = \"c0\"
t_slave = 0.5
t_master = 0.1
[[processor]]
name = \"p1\"
cluster = \"c0\"
t_slave = 0.25
t_master = 0.2
[[processor]]
name = \"p2\"
cluster = \"c1\"
t_slave = 0.3333333333333333
t_master = 0.125
[[processor]]
name = \"p3\"
cluster = \"c1\"
avail = 0.5
t_slave = 0.1
t_master = 0.25
";

fn with_grid() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.file("grid.toml", GRID, 0o644);
    environment
}

fn near(value: &serde_json::Value, expected: f64) -> bool {
    value
        .as_f64()
        .is_some_and(|value| (value / expected - 1.0).abs() < 1e-9)
}

#[test]
fn a_plan_names_the_best_master_its_slaves_and_the_bottleneck() {
    let environment = with_grid();
    insta::assert_snapshot!(environment.run(&["grid", "plan", "grid.toml"]));
    let plan = environment.json(&["grid", "plan", "grid.toml", "--json"]);
    assert_eq!(plan["best"]["master"], "p0");
    assert!(near(&plan["best"]["rate"], 8.0));
    assert_eq!(plan["best"]["bottleneck"], "nonlocal");
    let rates: Vec<f64> = (0..4)
        .filter_map(|index| plan["candidates"][index]["rate"].as_f64())
        .collect();
    assert_eq!(rates, [8.0, 5.0, 6.0, 2.0]);
    let first = &plan["candidates"][0];
    assert_eq!(first["greedy_rate"], 8.0);
    assert_eq!(
        first["slaves"],
        serde_json::json!([{"name": "p1", "rate": 4.0}, {"name": "p3", "rate": 4.0}])
    );
}

#[test]
fn a_plan_is_drawn_with_its_flows() {
    let environment = with_grid();
    let ended = environment.run(&[
        "grid",
        "plan",
        "grid.toml",
        "--master",
        "p2",
        "--svg",
        "grid.svg",
    ]);
    assert!(
        ended.contains("6.000 tasks/s with the master p2"),
        "{ended}"
    );
    let picture = fs::read_to_string(environment.path("grid.svg")).expect("it was written");
    assert!(
        picture.starts_with("<svg") && picture.contains("6 tasks/s with the master p2"),
        "{picture}"
    );
}

#[test]
fn a_simulated_run_has_the_golden_makespan_and_a_schedule() {
    let environment = with_grid();
    let common = [
        "grid",
        "simulate",
        "grid.toml",
        "--tasks",
        "50",
        "--split",
        "0.5",
    ];
    let run = environment.json(&[&common[..], &["-o", "run.fts", "--json"]].concat());
    assert_eq!(run["master"], "p0");
    assert!(
        near(&run["makespan"], 15.05) && near(&run["rate"], 50.0 / 15.05),
        "{run}"
    );
    assert_eq!(run["slaves"][0]["tasks"], 33);
    insta::assert_snapshot!(environment.run(&common));
    let drawn = environment.run(&["export", "run.fts", "--format", "svg", "-o", "run.svg"]);
    assert!(drawn.contains("exit code: 0"), "{drawn}");
    let picture = fs::read_to_string(environment.path("run.svg")).expect("it was written");
    for lane in ["p0 (master)", "network nonlocal", "p3"] {
        assert!(picture.contains(lane), "{lane}");
    }
    // With more in flight, slaves need not wait for the way.
    let two = environment.json(&[&common[..], &["--in-flight", "2", "--json"]].concat());
    assert!(two["rate"].as_f64() > run["rate"].as_f64(), "{two}");
}

#[test]
fn slaves_are_added_as_long_as_some_idle() {
    let environment = with_grid();
    let arguments = [
        "grid",
        "select",
        "grid.toml",
        "--tasks",
        "2000",
        "--split",
        "0.5",
    ];
    let selected = environment.json(&[&arguments[..], &["--json"]].concat());
    assert_eq!(
        selected["rounds"][0]["slaves"],
        serde_json::json!(["p1", "p3"])
    );
    assert!(near(&selected["rounds"][0]["rate"], 3.333_055_578_701_688));
    assert_eq!(
        selected["rounds"][1]["slaves"],
        serde_json::json!(["p1", "p3", "p2"])
    );
    assert!(near(&selected["rounds"][1]["rate"], 4.207_573_632_538_553));
    insta::assert_snapshot!(environment.run(&arguments));
}

#[test]
fn distributions_and_loads_are_drawn_and_followed_the_same_each_time() {
    let environment = TestEnvironment::new();
    environment.file(
        "load.csv",
        "time,p1\n0,1.0\n10,0.25\n# idle again\n20,1.0\n",
        0o644,
    );
    environment.file("times.csv", "seconds\n0.2\n0.3\n", 0o644);
    let grid = GRID
        .replace("t_slave = 0.5\n", "t_slave = { distribution = \"lognormal\", mean = 0.5, sd = 0.2 }\n")
        .replace("t_slave = 0.25", "t_slave = { distribution = \"empirical\", file = \"times.csv\" }")
        .replace("t_master = 0.2\n", "t_master = { distribution = \"exponential\", mean = 0.2 }\navail = { trace = \"load.csv\", column = \"p1\", repeat = 30 }\n");
    environment.file("grid.toml", grid, 0o644);
    let arguments = ["grid", "simulate", "grid.toml", "--tasks", "500", "--json"];
    let one = environment.run(&arguments);
    assert!(one.contains("exit code: 0"), "{one}");
    assert_eq!(one, environment.run(&arguments));
    let other = [&arguments[..], &["--seed", "2"]].concat();
    assert_ne!(
        environment.json(&arguments)["makespan"],
        environment.json(&other)["makespan"]
    );
}

#[test]
fn what_is_wrong_with_a_grid_is_told() {
    let environment = with_grid();
    environment.file(
        "bad.toml",
        GRID.replace("bandwidth = 6.0", "bandwidth = -6.0"),
        0o644,
    );
    environment.file(
        "apart.toml",
        GRID.replace("[nonlocal]\nbandwidth = 4.0\n", ""),
        0o644,
    );
    insta::assert_snapshot!(
        [
            environment.run(&["grid", "plan", "bad.toml"]),
            environment.run(&["grid", "plan", "apart.toml"]),
            environment.run(&["grid", "plan", "missing.toml"]),
            environment.run(&["grid", "plan", "grid.toml", "--master", "p9"]),
            environment.run(&["grid", "simulate", "grid.toml", "--slaves", "p1,p1"]),
            environment.run(&["grid", "simulate", "grid.toml", "--split", "2"]),
        ]
        .join("\n")
    );
}

/// A master that hands tasks to two slaves as messages.
const STAR: &str = "foretrace-text 1\nunit 1ms\nprocess M\nprocess A\nprocess B\n\
    0 M create A\n0 M create B\n1 M send a A\n2 M send b B\n2 M wait r\n2 A wait a\n12 A send r M\n12 A wait a\n\
    12 B wait b\n32 B send r M\n32 B wait b\n33 M wait r\n34 M send a A\n34 M wait r\n44 A send r M\n44 A terminate\n\
    45 M send b B\n45 M wait r\n65 B send r M\n65 B terminate\n66 M terminate\n";

#[test]
fn master_and_slaves_of_a_message_passing_listing_become_a_grid() {
    let environment = TestEnvironment::new();
    environment.file("star.txt", STAR, 0o644);
    let fitted = environment.json(&["grid", "fit", "star.txt", "-o", "grid.toml", "--json"]);
    assert_eq!(fitted["master"], "M");
    assert_eq!(fitted["slaves"], serde_json::json!(["A", "B"]));
    assert_eq!(fitted["tasks"], 4);
    assert!(near(&fitted["task_seconds"]["mean"], 0.015), "{fitted}");
    let plan = environment.json(&["grid", "plan", "grid.toml", "--json"]);
    assert_eq!(plan["candidates"].as_array().map(Vec::len), Some(3));
    let network = environment.run(&["san", "fit", "star.txt", "-o", "star.san"]);
    assert!(
        network.contains("Tasks per second, by number of slaves"),
        "{network}"
    );
    let solved = environment.json(&["san", "solve", "star.san", "--json"]);
    assert!(
        solved["results"]["tasks_per_second"].as_f64() > Some(10.0),
        "{solved}"
    );
}

#[test]
fn a_recorded_pool_feeds_every_model() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/pool_condvar.c");
    environment.compile("pool", source, &["-O1", "-pthread"]);
    let ended = environment.run(&[
        "record",
        "--quiet",
        "-o",
        "pool.ftrace",
        "--",
        "./pool",
        "4",
    ]);
    assert!(ended.contains("exit code: 0"), "{ended}");
    let fitted = environment.json(&["grid", "fit", "pool.ftrace", "-o", "pool.toml", "--json"]);
    assert_eq!(fitted["tasks"], 400, "{fitted}");
    assert_eq!(fitted["slaves"].as_array().map(Vec::len), Some(4));
    let rows = fitted["predictions"].as_array().expect("there are rows");
    let four = rows
        .iter()
        .find(|row| row["slaves"] == 4)
        .expect("of the recorded number");
    // With four slaves and little for the master to do, all four models expect about the same.
    let mean = fitted["task_seconds"]["mean"].as_f64().expect("a number");
    for model in ["rate_model", "queueing", "network", "replay"] {
        let rate = four[model].as_f64().expect("a number");
        assert!(
            rate < 4.1 / mean && rate > 1.5 / mean,
            "{model}: {rate} tasks/s of {mean} s each"
        );
    }
    let run = environment.run(&[
        "grid",
        "simulate",
        "pool.toml",
        "--tasks",
        "400",
        "--master",
        "p0",
    ]);
    assert!(run.contains("exit code: 0"), "{run}");
}

#[test]
fn a_trace_without_master_and_slaves_says_what_was_looked_for() {
    let environment = TestEnvironment::new();
    environment.file(
        "one.txt",
        "foretrace-text 1\n0 A lock m\n3 A unlock m\n3 A terminate\n",
        0o644,
    );
    insta::assert_snapshot!(environment.run(&["grid", "fit", "one.txt"]));
}
