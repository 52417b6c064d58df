//! The command line of `san`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::parameters::{ParameterList, Size};

const SAN_HELP: &str = "\
A model is a text: automata with states and transitions, and events that can move several of them at once. The language is \
explained in docs/masterslave.md; assets/models/san holds the models of the paper by Baldo and others. A small one:

  param fails = 0.1;
  event break rate fails * (nb [Machine[1..3]] up);
  event repair[1..3] rate 2;
  event start rate 5;
  ...
  result broken = nb [Machine[1..3]] down / 3;

Examples:
  foretrace san solve model.san --param N=4
  foretrace san solve model.san --param N=1..8 --param K=10,40 --svg curves.svg
  foretrace san template --slaves 8 --compute 0.04 -o mine.san
  foretrace san paper -o figures
  foretrace san fit prog.ftrace -o mine.san";

/// Options of `san`.
#[derive(Args, Debug)]
#[command(after_help = SAN_HELP)]
pub struct SanArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: SanCommand,
}

/// What `san` does.
#[derive(Debug, Subcommand)]
pub enum SanCommand {
    /// Solve a model in the long run or at a time, for one or many values of its parameters
    Solve(SolveArgs),
    /// Draw figures 11 to 14 of the paper on the Propagation program
    Paper(PaperArgs),
    /// Write a model of a master/slave program from eight numbers
    Template(TemplateArgs),
    /// Write a model from the master and slaves of a recording
    Fit(SanFitArgs),
}

/// How models are solved.
#[derive(Args, Clone, Debug)]
pub struct SolverArgs {
    /// How the generator is stored
    #[arg(long, value_enum, default_value_t)]
    pub method: MethodArg,
    /// How the distribution is improved
    #[arg(long, value_enum, default_value_t)]
    pub iteration: IterationArg,
    /// Do not lump replicas of an automaton that are interchangeable
    #[arg(long)]
    pub no_lump: bool,
    /// The residual that is good enough [default: 1e-12, and 1e-10 for the sum over all states]
    #[arg(long, value_name = "R")]
    pub tolerance: Option<f64>,
    /// As many sweeps as are made
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub max_iterations: u64,
    /// As much memory as may be used, as in 2GiB [default: three quarters of what is free]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Take states that are left for ever for no error: their probability is 0
    #[arg(long)]
    pub allow_transient: bool,
}

/// How the generator is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MethodArg {
    /// As a sparse matrix where that fits into memory, else not at all
    #[default]
    Auto,
    /// As a sparse matrix of the states that can be reached
    Sparse,
    /// Not at all: products with it are computed from the automata, in place (the shuffle algorithm)
    MatrixFree,
}

/// How the distribution is improved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IterationArg {
    /// Gauss-Seidel (Jacobi without a matrix), with the chain of blocks of states solved in between; small ones directly
    #[default]
    Aggregation,
    /// Gauss-Seidel (Jacobi without a matrix)
    Plain,
    /// Steps of the uniformized chain
    Power,
}

const SOLVE_HELP: &str = "\
Parameters take lists and ranges, and the model is solved for every combination: A..B counts by 1, A..B+S steps by S, A..BxF \
multiplies by F. A first parameter with several values is the horizontal axis of the picture, others give curves.

The residual is the greatest component of the product of the distribution and the generator.

Examples:
  foretrace san solve propagation-async.san --param N=5 --param K=40
  foretrace san solve propagation-async.san --param N=1..8 --param NS=16 --csv --results S_Pr,S_Tx
  foretrace san solve propagation-async.san --param K=1..60 --param N=2,4 --svg k.svg --results S_Tx
  foretrace san solve propagation-async.san --at-time 0.5";

/// Options of `san solve`.
#[derive(Args, Debug)]
#[command(after_help = SOLVE_HELP)]
pub struct SolveArgs {
    /// The model
    #[arg(value_name = "MODEL")]
    pub file: PathBuf,
    /// Values for a parameter
    #[arg(long, value_name = "NAME=VALUES")]
    pub param: Vec<ParameterList>,
    #[command(flatten)]
    /// How to solve.
    pub solver: SolverArgs,
    /// Tell of this time after the start, in the model's unit, instead of the long run
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub at_time: Option<f64>,
    /// The results to tell and to draw [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub results: Vec<String>,
    /// Draw the results over the first parameter that has several values
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

const PAPER_HELP: &str = "\
Figures 11 and 12 show the probabilities that a slave transmits and computes, by the number of slaves; figure 13 the first of \
them by the size of the buffer; figure 14 what the master does. Coarse grain is 2 slices a slave, fine grain 3.

Example:
  foretrace san paper -o figures        writes figures/figure-11.svg to figure-14.svg";

/// Options of `san paper`.
#[derive(Args, Debug)]
#[command(after_help = PAPER_HELP)]
pub struct PaperArgs {
    /// The directory for the pictures
    #[arg(short, long, value_name = "DIRECTORY", default_value = ".")]
    pub output: PathBuf,
    /// Overwrite pictures that are there
    #[arg(short, long)]
    pub force: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The eight numbers of a master/slave program. Times are in seconds.
#[derive(Args, Clone, Copy, Debug)]
pub struct FitNumbers {
    /// The number of slaves
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub slaves: u32,
    /// The results that the master's buffer holds
    #[arg(long, value_name = "K", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=65_000))]
    pub buffer: u32,
    /// The time to send a task
    #[arg(long, value_name = "T", default_value_t = 1e-4, value_parser = positive)]
    pub send: f64,
    /// The time to compute a result
    #[arg(long, value_name = "T", default_value_t = 0.04, value_parser = positive)]
    pub compute: f64,
    /// The time to send a result back
    #[arg(long, value_name = "T", default_value_t = 0.0035, value_parser = positive)]
    pub transmit: f64,
    /// The time for the master to take a result in
    #[arg(long, value_name = "T", default_value_t = 0.0088, value_parser = positive)]
    pub evaluate: f64,
    /// The results that a task gives
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = positive)]
    pub packs: f64,
    /// The time from when the master has nothing left to hand out to the next run
    #[arg(long, value_name = "T", default_value_t = 0.001, value_parser = positive)]
    pub restart: f64,
}

/// Options of `san template`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  foretrace san template --slaves 8 --compute 0.04 --evaluate 0.002 -o mine.san\n  \
                  foretrace san solve mine.san --param slaves=1..16"
)]
pub struct TemplateArgs {
    #[command(flatten)]
    /// The numbers.
    pub numbers: FitNumbers,
    /// The file to write [default: the standard output]
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file
    #[arg(short, long)]
    pub force: bool,
}

/// Options of `san fit`.
#[derive(Args, Debug)]
#[command(
    after_help = "The numbers of `san template` are estimated from the recording. The report puts the model's throughput beside \
                  that of the simulation, for as many slaves as there were and more.\n\nExample:\n  foretrace san fit \
                  prog.ftrace -o mine.san"
)]
pub struct SanFitArgs {
    /// The trace
    pub file: PathBuf,
    /// The file to write [default: the standard output, and no report]
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file
    #[arg(short, long)]
    pub force: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

fn time(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(time) if (0.0..f64::INFINITY).contains(&time) => Ok(time),
        _ => Err("expected a time from 0 on".to_owned()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && f64::is_finite(number) => Ok(number),
        _ => Err("expected a positive number".to_owned()),
    }
}
