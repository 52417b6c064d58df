//! The greedy choice of slaves against the maximum flow.

use std::{fmt::Write as _, path::Path};

use foretrace_masterslave::{
    Grid,
    plan::Plan,
    schedule::schedule,
    simulate::{Workload, simulate},
};
use proptest::{prelude::*, test_runner::Config};

/// A network that hangs below another, or below the root, and its processors.
#[derive(Clone, Debug)]
struct Cluster {
    below: usize,
    bandwidth: f64,
    processors: Vec<(f64, f64, f64)>,
}

fn clusters() -> impl Strategy<Value = Vec<Cluster>> {
    let processor = (0.05..1.0_f64, 0.05..2.0_f64, 0.005..0.5_f64);
    let cluster = (
        any::<prop::sample::Index>(),
        1.0..60.0_f64,
        prop::collection::vec(processor, 1..5),
    );
    prop::collection::vec(cluster, 1..7).prop_map(|clusters| {
        let mut made = Vec::new();
        for (below, bandwidth, processors) in clusters {
            made.push(Cluster {
                below: if made.is_empty() {
                    0
                } else {
                    below.index(made.len())
                },
                bandwidth,
                processors,
            });
        }
        made
    })
}

fn parsed(text: &str) -> Grid {
    Grid::parse(text, Path::new("test.toml")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Writes clusters as a tree: each touches the one that it hangs below.
fn tree(clusters: &[Cluster]) -> String {
    let mut text = "size = 0.7\n".to_owned();
    for (index, cluster) in clusters.iter().enumerate() {
        let joins = if index == 0 {
            String::new()
        } else {
            format!("\"c{}\"", cluster.below)
        };
        let _ = writeln!(
            text,
            "[[cluster]]\nname = \"c{index}\"\nbandwidth = {:?}\njoins = [{joins}]",
            cluster.bandwidth
        );
    }
    for (index, cluster) in clusters.iter().enumerate() {
        for (number, (avail, slave, master)) in cluster.processors.iter().enumerate() {
            let _ = writeln!(
                text,
                "[[processor]]\nname = \"p{index}.{number}\"\ncluster = \"c{index}\"\navail = {avail:?}\nt_slave = {slave:?}\n\
                 t_master = {master:?}"
            );
        }
    }
    text
}

/// Writes clusters around one network.
fn star(clusters: &[Cluster], nonlocal: f64) -> String {
    let text = tree(clusters);
    let lines = text.lines().filter(|line| !line.starts_with("joins"));
    let mut text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let _ = writeln!(text, "[nonlocal]\nbandwidth = {nonlocal:?}");
    text
}

fn same_rates(grid: &Grid) -> Result<(), TestCaseError> {
    let plan = Plan::new(grid);
    for candidate in &plan.candidates {
        let off = (candidate.rate - candidate.greedy_rate).abs() / candidate.rate.max(1e-12);
        prop_assert!(off < 1e-9, "{candidate:?}");
        for u in plan.uses(candidate) {
            prop_assert!(u.used <= u.capacity * (1.0 + 1e-9), "{u:?}");
        }
        let used: f64 = plan
            .slaves(candidate)
            .slaves
            .iter()
            .map(|(_, rate)| rate)
            .sum();
        let off = (used - candidate.rate).abs() / candidate.rate.max(1e-12);
        prop_assert!(off < 1e-9, "{used} of {candidate:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 1000, failure_persistence: None, ..Config::default() })]

    #[test]
    fn on_clusters_around_one_network_greedy_is_the_maximum_flow(clusters in clusters(), nonlocal in 0.5..80.0_f64) {
        let grid = star(&clusters, nonlocal);
        if clusters.iter().map(|c| c.processors.len()).sum::<usize>() >= 2 {
            same_rates(&parsed(&grid))?;
        }
    }

    #[test]
    fn on_any_tree_greedy_is_the_maximum_flow(clusters in clusters()) {
        if clusters.iter().map(|c| c.processors.len()).sum::<usize>() >= 2 {
            same_rates(&parsed(&tree(&clusters)))?;
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 100, failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_simulated_run_is_faster_than_the_flow_and_its_schedule_is_sound(
        clusters in clusters(),
        nonlocal in 0.5..80.0_f64,
        tasks in 1..200_u64,
        split in 0.0..=1.0_f64,
        in_flight in 1..4_u32,
    ) {
        if clusters.iter().map(|c| c.processors.len()).sum::<usize>() >= 2 {
            let grid = parsed(&star(&clusters, nonlocal));
            let plan = Plan::new(&grid);
            let candidate = &plan.candidates[plan.best];
            let slaves: Vec<usize> = plan.slaves(candidate).slaves.iter().map(|(slave, _)| *slave).collect();
            let workload = Workload { tasks, split, in_flight, seed: 1, keep_intervals: true };
            let run = simulate(&grid, &plan.rates, candidate.master, &slaves, &workload).unwrap();
            prop_assert!(run.rate() <= candidate.rate * (1.0 + 1e-9), "{} > {}", run.rate(), candidate.rate);
            prop_assert_eq!(run.tasks.iter().map(|(_, tasks)| tasks).sum::<u64>(), tasks);
            for server in &run.servers {
                let kept: u128 = server.intervals.iter().map(|(start, end)| end - start).sum();
                prop_assert_eq!(kept, server.busy);
                let shares = server.over_time.shares(run.makespan, 20);
                let mean = shares.iter().sum::<f64>() / 20.0;
                prop_assert!((mean - run.utilization(server)).abs() < 1e-6, "{mean} of {}", run.utilization(server));
            }
            let schedule = schedule(&grid, &run).unwrap();
            prop_assert_eq!(schedule.check(), Ok(()));
        }
    }
}

/// Two ways lead from a to b: a narrow direct one, and a wide one around by c.
const TWO_WAYS: &str = "size = 1.0
[[cluster]]
name = \"a\"
bandwidth = 20.0
[[cluster]]
name = \"b\"
bandwidth = 20.0
[[cluster]]
name = \"c\"
bandwidth = 20.0
[[network]]
name = \"narrow\"
bandwidth = 1.0
joins = [\"a\", \"b\"]
[[network]]
name = \"wide\"
bandwidth = 10.0
joins = [\"a\", \"c\"]
[[network]]
name = \"around\"
bandwidth = 10.0
joins = [\"c\", \"b\"]
[[processor]]
name = \"master\"
cluster = \"a\"
t_slave = 1.0
t_master = 0.01
[[processor]]
name = \"slave\"
cluster = \"b\"
t_slave = 0.2
t_master = 1.0
";

#[test]
fn where_two_ways_lead_to_a_slave_greedy_misses_one_of_them() {
    let grid = parsed(TWO_WAYS);
    let plan = Plan::new(&grid);
    let candidate = &plan.candidates[0];
    assert!((candidate.greedy_rate - 1.0).abs() < 1e-12, "{candidate:?}");
    assert!((candidate.rate - 5.0).abs() < 1e-9, "{candidate:?}");
    let uses = plan.uses(candidate);
    let flow = |name: &str| {
        uses.iter()
            .find(|u| u.resource.name(&grid) == name)
            .map_or(f64::NAN, |u| u.used)
    };
    assert!((flow("narrow") + flow("wide") - 5.0).abs() < 1e-9);
    assert!((flow("wide") - flow("around")).abs() < 1e-9);
    assert!((flow("a") - 5.0).abs() < 1e-9);
}
