//! The command line of `grid`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const GRID_HELP: &str = "\
GRID.toml describes clusters, the networks between them and processors; docs/masterslave.md explains every key:

  size = 1.0              # data of a task, there and back
  [nonlocal]              # the network between clusters
  bandwidth = 4.0         # data per second
  [[cluster]]
  name = \"c0\"
  bandwidth = 10.0
  [[processor]]
  name = \"p0\"
  cluster = \"c0\"
  avail = 1.0             # the share of it that one gets
  t_slave = 0.5           # seconds a task
  t_master = 0.1          # seconds that a master needs for each task

Examples:
  foretrace grid plan grid.toml --svg grid.svg
  foretrace grid simulate grid.toml --tasks 2000 -o run.fts
  foretrace grid select grid.toml --tasks 2000
  foretrace grid fit prog.ftrace -o grid.toml";

/// Options of `grid`.
#[derive(Args, Debug)]
#[command(after_help = GRID_HELP)]
pub struct GridArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: GridCommand,
}

/// What `grid` does.
#[derive(Debug, Subcommand)]
pub enum GridCommand {
    /// Find the best master, its slaves and what limits them, in the steady state
    Plan(PlanArgs),
    /// Simulate a number of tasks with queues at processors and networks
    Simulate(SimulateArgs),
    /// Add slaves by simulation, as long as some idle and more are worth it
    Select(SelectArgs),
    /// Write a GRID.toml from the master and slaves of a recording
    Fit(GridFitArgs),
}

const PLAN_HELP: &str = "\
A master takes back at most avail / t_master tasks a second, a slave does avail / t_slave, a network carries bandwidth / \
size. The rate of a master is a maximum flow under these limits; `greedy` is what the choice of slaves by Shao, Berman and \
Wolski comes to, which is as good where there is one way only between any two clusters.

Examples:
  foretrace grid plan grid.toml
  foretrace grid plan grid.toml --master p3 --svg grid.svg
  foretrace grid plan grid.toml --json | jq .best";

/// Options of `grid plan`.
#[derive(Args, Debug)]
#[command(after_help = PLAN_HELP)]
pub struct PlanArgs {
    /// The grid
    #[arg(value_name = "GRID.toml")]
    pub file: PathBuf,
    /// The master whose slaves are shown and drawn [default: the best]
    #[arg(long, value_name = "NAME")]
    pub master: Option<String>,
    /// Draw the networks and what flows through them
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// What is simulated.
#[derive(Args, Clone, Debug)]
pub struct WorkloadArgs {
    /// The number of tasks
    #[arg(long, value_name = "T", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub tasks: u64,
    /// The share of a task's data that travels to the slave; the rest comes back
    #[arg(long, value_name = "BETA", default_value_t = 0.5, value_parser = share)]
    pub split: f64,
    /// The tasks that each slave has in flight
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub in_flight: u32,
    /// The master [default: the best]
    #[arg(long, value_name = "NAME")]
    pub master: Option<String>,
    /// Where random numbers begin, for quantities that are distributions
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
}

const SIMULATE_HELP: &str = "\
Processors and networks serve one task at a time, in the order of arrival. A task goes over the networks to its slave, is \
done there, comes back, and is taken in by the master, who then gives the slave its next one.

-o saves the run as a schedule: `foretrace export run.fts --format svg` draws it.

Examples:
  foretrace grid simulate grid.toml --tasks 50 --split 0.2
  foretrace grid simulate grid.toml --tasks 500 --in-flight 2 -o run.fts";

/// Options of `grid simulate`.
#[derive(Args, Debug)]
#[command(after_help = SIMULATE_HELP)]
pub struct SimulateArgs {
    /// The grid
    #[arg(value_name = "GRID.toml")]
    pub file: PathBuf,
    #[command(flatten)]
    /// What is simulated.
    pub workload: WorkloadArgs,
    /// The slaves, in the order in which they get their first tasks [default: those that `grid plan` chooses]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub slaves: Vec<String>,
    /// Save the run as a schedule
    #[arg(short, long, value_name = "SCHEDULE")]
    pub output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

const SELECT_HELP: &str = "\
The first round simulates the slaves that `grid plan` chooses. As long as slaves idle, the next one adds processors for \
which the simulated run leaves room on the networks and the master, and is kept if it gains 1 % or more.

Example:
  foretrace grid select grid.toml --tasks 2000 --split 0.5";

/// Options of `grid select`.
#[derive(Args, Debug)]
#[command(after_help = SELECT_HELP)]
pub struct SelectArgs {
    /// The grid
    #[arg(value_name = "GRID.toml")]
    pub file: PathBuf,
    #[command(flatten)]
    /// What is simulated.
    pub workload: WorkloadArgs,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

const GRID_FIT_HELP: &str = "\
Master and slaves are recognized in a recording: threads that take tasks from a queue and who fills it, or processes that \
exchange messages with one of them. The times of their tasks become the distributions in the grid.

Examples:
  foretrace grid fit prog.ftrace                    prints the grid and what was recognized
  foretrace grid fit prog.ftrace -o grid.toml --processors 16";

/// Options of `grid fit`.
#[derive(Args, Debug)]
#[command(after_help = GRID_FIT_HELP)]
pub struct GridFitArgs {
    /// The trace
    pub file: PathBuf,
    /// The number of processors of the grid, the master's included [default: as many as there were threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub processors: Option<u32>,
    /// The network's bandwidth, in bytes per second [default: so fast that it does not matter]
    #[arg(long, value_name = "B")]
    pub bandwidth: Option<f64>,
    /// The file to write [default: the standard output, and no report]
    #[arg(short, long, value_name = "GRID.toml")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file
    #[arg(short, long)]
    pub force: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}
