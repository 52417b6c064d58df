//! Measures how fast large grids are planned and simulated: `cargo run --release --example plan_speed`.

use std::{fmt::Write as _, path::Path, time::Instant};

use foretrace_masterslave::{
    Grid, GridError,
    plan::Plan,
    simulate::{Workload, simulate},
};

const CLUSTERS: usize = 100;
const PROCESSORS: usize = 10_000;
const TASKS: u64 = 1_000_000;

fn main() -> Result<(), GridError> {
    for (name, bandwidth) in [("narrow", 50.0), ("wide", 1e9)] {
        let text = text(bandwidth);
        let begin = Instant::now();
        let grid = Grid::parse(&text, Path::new("large.toml"))?;
        let read = begin.elapsed();
        let begin = Instant::now();
        let plan = Plan::new(&grid);
        let planned = begin.elapsed();
        let candidate = &plan.candidates[plan.best];
        eprintln!(
            "{PROCESSORS} processors in {CLUSTERS} clusters, {name} network between them: read in {:.0} ms, planned in {:.0} ms more; \
             {:.1} tasks/s",
            1e3 * read.as_secs_f64(),
            1e3 * planned.as_secs_f64(),
            candidate.rate
        );
        let slaves: Vec<usize> = plan
            .slaves(candidate)
            .slaves
            .iter()
            .map(|(slave, _)| *slave)
            .collect();
        let workload = Workload {
            tasks: TASKS,
            split: 0.5,
            in_flight: 1,
            seed: 1,
            keep_intervals: false,
        };
        let begin = Instant::now();
        simulate(&grid, &plan.rates, candidate.master, &slaves, &workload)?;
        eprintln!(
            "{TASKS} tasks on {} slaves simulated in {:.2} s",
            slaves.len(),
            begin.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

/// Writes a grid whose numbers follow from those of the processors.
fn text(bandwidth: f64) -> String {
    let mut text = format!("size = 1.0\n[nonlocal]\nbandwidth = {bandwidth:?}\n");
    // Writing to a string cannot fail.
    for cluster in 0..CLUSTERS {
        let bandwidth = 20.0 + (cluster * 37 % 101) as f64;
        let _ = write!(
            text,
            "[[cluster]]\nname = \"c{cluster}\"\nbandwidth = {bandwidth:?}\n"
        );
    }
    for processor in 0..PROCESSORS {
        let _ = write!(
            text,
            "[[processor]]\nname = \"p{processor}\"\ncluster = \"c{}\"\navail = {:?}\nt_slave = {:?}\nt_master = {:?}\n",
            processor % CLUSTERS,
            0.5 + (processor * 13 % 50) as f64 / 100.0,
            0.5 + (processor * 29 % 97) as f64 / 10.0,
            0.001 + (processor * 17 % 89) as f64 / 1e4
        );
    }
    text
}
