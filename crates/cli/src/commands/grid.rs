//! `foretrace grid`: master/slave programs on clusters.

use std::path::Path;

use anyhow::Context as _;
use foretrace_masterslave::{
    Grid, picture,
    plan::Plan,
    schedule::schedule,
    select::select,
    simulate::{Workload, simulate},
};
use foretrace_schedule::Details;

use super::grid_fit;
use crate::{
    args::{GridArgs, GridCommand, PlanArgs, SelectArgs, SimulateArgs, WorkloadArgs},
    core,
    failure::Finish,
    output,
    report::grid::{PlanJson, RunJson, SelectJson, plan_text, run_text, select_text},
};

/// Runs the command.
pub fn run(args: &GridArgs) -> anyhow::Result<Finish> {
    match &args.command {
        GridCommand::Plan(args) => plan(args),
        GridCommand::Simulate(args) => simulated(args),
        GridCommand::Select(args) => selected(args),
        GridCommand::Fit(args) => grid_fit::run(args),
    }
}

fn read(path: &Path, master: Option<&str>) -> anyhow::Result<(Grid, Plan)> {
    let grid = Grid::load(path)?;
    let plan = Plan::with_master(&grid, master)?;
    Ok((grid, plan))
}

fn plan(args: &PlanArgs) -> anyhow::Result<Finish> {
    let (grid, plan) = read(&args.file, args.master.as_deref())?;
    if let Some(path) = &args.svg {
        output::write_to(Some(path), picture::render(&grid, &plan).as_bytes())?;
    }
    if args.json {
        output::print_json(&PlanJson::new(&grid, &plan))?;
    } else if args.svg.as_deref() != Some(Path::new("-")) {
        output::print(plan_text(&grid, &plan))?;
    }
    Ok(Finish::Fine)
}

fn workload(args: &WorkloadArgs, keep_intervals: bool) -> Workload {
    Workload {
        tasks: args.tasks,
        split: args.split,
        in_flight: args.in_flight,
        seed: args.seed,
        keep_intervals,
    }
}

fn simulated(args: &SimulateArgs) -> anyhow::Result<Finish> {
    let (grid, plan) = read(&args.file, args.workload.master.as_deref())?;
    let candidate = &plan.candidates[plan.best];
    let slaves: Vec<usize> = if args.slaves.is_empty() {
        let chosen = plan.slaves(candidate).slaves.into_iter();
        chosen.map(|(slave, _)| slave).collect()
    } else {
        let named = args.slaves.iter().map(|name| grid.processor(name));
        named.collect::<Result<_, _>>()?
    };
    let mut once = slaves.clone();
    once.sort_unstable();
    once.dedup();
    anyhow::ensure!(
        once.len() == slaves.len() && !slaves.contains(&candidate.master),
        "--slaves: name each slave once, and not the master {}",
        grid.processors[candidate.master].name
    );
    let workload = workload(&args.workload, args.output.is_some());
    let run = simulate(&grid, &plan.rates, candidate.master, &slaves, &workload)?;
    if let Some(path) = &args.output {
        let schedule = schedule(&grid, &run)?;
        core::write_schedule(&schedule, &Details::default(), path)
            .context("cannot save the schedule")?;
    }
    if args.json {
        output::print_json(&RunJson::new(&grid, &run))?;
    } else {
        output::print(run_text(&grid, &run))?;
    }
    Ok(Finish::Fine)
}

fn selected(args: &SelectArgs) -> anyhow::Result<Finish> {
    let (grid, plan) = read(&args.file, args.workload.master.as_deref())?;
    let rounds = select(&grid, &plan, &workload(&args.workload, false))?;
    if args.json {
        output::print_json(&SelectJson::new(&grid, &rounds))?;
    } else {
        output::print(select_text(&grid, &rounds))?;
    }
    Ok(Finish::Fine)
}
