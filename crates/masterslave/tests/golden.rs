//! The rate model, the simulation and the selection reproduce results that were computed independently.

use std::{fmt::Write as _, path::Path};

use foretrace_masterslave::{
    Grid,
    plan::Plan,
    select::select,
    simulate::{Run, Workload, simulate},
};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/shao.json")).expect("it is JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("it is a number")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("it is a list")
}

/// Writes a grid of the golden file as a GRID.toml.
fn toml(grid: &Value) -> String {
    let mut text = format!(
        "size = {:?}\n[nonlocal]\nbandwidth = {:?}\n",
        number(&grid["size"]),
        number(&grid["bw_nonlocal"])
    );
    for (index, cluster) in list(&grid["clusters"]).iter().enumerate() {
        let _ = write!(
            text,
            "[[cluster]]\nname = \"c{index}\"\nbandwidth = {:?}\n",
            number(&cluster["bw"])
        );
    }
    for (index, processor) in list(&grid["procs"]).iter().enumerate() {
        let _ = write!(
            text,
            "[[processor]]\nname = \"p{index}\"\ncluster = \"c{}\"\navail = {:?}\nt_slave = {:?}\nt_master = {:?}\n",
            processor["cluster"],
            number(&processor["avail"]),
            number(&processor["t_slave"]),
            number(&processor["t_master"])
        );
    }
    text
}

fn assert_near(found: f64, expected: f64, what: &str) {
    let off = (found - expected).abs() / expected.abs().max(1e-300);
    assert!(off <= 1e-9, "{what}: found {found}, expected {expected}");
}

#[test]
fn rates_of_all_masters_are_the_golden_ones_by_flow_and_by_greedy() {
    for case in list(&golden()["grids"]) {
        let grid =
            Grid::parse(&toml(&case["grid"]), Path::new("golden.toml")).expect("it is a grid");
        let plan = Plan::new(&grid);
        for candidate in &plan.candidates {
            let what = format!("{} p{}", case["name"], candidate.master);
            let greedy = &case["greedy"][candidate.master];
            assert_near(candidate.rate, number(&case["lp"][candidate.master]), &what);
            assert_near(candidate.greedy_rate, number(&greedy["rate"]), &what);
            let slaves = plan.slaves(candidate).slaves;
            let expected = list(&greedy["slaves"]);
            assert_eq!(slaves.len(), expected.len(), "{what}");
            for ((slave, rate), expected) in slaves.iter().zip(expected) {
                assert_eq!(Some(*slave as u64), expected[0].as_u64(), "{what}");
                assert_near(*rate, number(&expected[1]), &what);
            }
        }
        assert_near(
            plan.candidates[plan.best].rate,
            number(&case["rate"]),
            "best",
        );
        assert_eq!(Some(plan.best as u64), case["master"].as_u64());
    }
}

fn run(grid: &Grid, plan: &Plan, tasks: u64, split: f64) -> Run {
    let candidate = &plan.candidates[plan.best];
    let slaves: Vec<usize> = plan
        .slaves(candidate)
        .slaves
        .iter()
        .map(|(slave, _)| *slave)
        .collect();
    simulate(
        grid,
        &plan.rates,
        candidate.master,
        &slaves,
        &workload(tasks, split),
    )
    .expect("it ends")
}

fn workload(tasks: u64, split: f64) -> Workload {
    Workload {
        tasks,
        split,
        in_flight: 1,
        seed: 1,
        keep_intervals: false,
    }
}

#[test]
fn simulated_makespans_tasks_and_use_are_the_golden_ones() {
    let mut cases = 0;
    for case in list(&golden()["grids"]) {
        let Some(simulations) = case["simulation"].as_object() else {
            continue;
        };
        let grid =
            Grid::parse(&toml(&case["grid"]), Path::new("golden.toml")).expect("it is a grid");
        let plan = Plan::new(&grid);
        for (name, expected) in simulations {
            let (tasks, split) = name
                .trim_start_matches("T=")
                .split_once(" beta=")
                .expect("tasks and split");
            let run = run(
                &grid,
                &plan,
                tasks.parse().expect("a number"),
                split.parse().expect("a number"),
            );
            let what = format!("{} {name}", case["name"]);
            assert_near(run.makespan_seconds(), number(&expected["makespan"]), &what);
            assert_near(run.rate(), number(&expected["rate"]), &what);
            for (slave, tasks) in &run.tasks {
                assert_eq!(
                    Some(*tasks),
                    expected["tasks_per_slave"][slave.to_string()].as_u64(),
                    "{what}"
                );
            }
            assert_near(
                run.utilization(&run.servers[0]),
                number(&expected["util"][format!("m{}", plan.best)]),
                &what,
            );
            cases += 1;
        }
    }
    assert_eq!(cases, 8);
}

#[test]
fn slaves_are_added_in_the_golden_rounds() {
    let mut cases = 0;
    for case in list(&golden()["grids"]) {
        let expected = &case["slave_selection"];
        if expected.is_null() {
            continue;
        }
        let grid =
            Grid::parse(&toml(&case["grid"]), Path::new("golden.toml")).expect("it is a grid");
        let rounds = select(&grid, &Plan::new(&grid), &workload(2000, 0.5)).expect("it ends");
        let steps = list(&expected["steps"]);
        assert_eq!(rounds.len(), steps.len());
        for (round, step) in rounds.iter().zip(steps) {
            let slaves: Vec<u64> = round.slaves.iter().map(|slave| *slave as u64).collect();
            let golden: Vec<u64> = list(&step[0]).iter().filter_map(Value::as_u64).collect();
            assert_eq!(slaves, golden);
            assert_near(round.run.rate(), number(&step[1]), "round");
        }
        cases += 1;
    }
    assert_eq!(cases, 2);
}
