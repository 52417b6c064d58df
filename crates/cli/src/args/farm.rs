//! Options of `farm`.

use std::{path::PathBuf, str::FromStr};

use clap::Args;

use super::CpuList;

const HELP: &str = "\
The master (rank 0) deals tasks to the other ranks: one to each, then the next to whoever's result comes first. No program is \
needed; the network's file says what messages cost (docs/network.md). The best number of ranks is where the master is \
saturated: more only make it slower.

Schemes: single is one master; multi:PM is PM masters with an equal part of the ranks and tasks each; dynamic begins with \
one master, and divides ranks and tasks wherever slaves wait.

Work: a time as in 292us, uniform:100us..500us, exponential:292us, normal:292us,30us, or a file with a time in each line.

Examples:
  foretrace farm --ranks 2..64 --tasks 1048576 --work 292us --message 1 --network mse-fast-ethernet
  foretrace farm --ranks 2..64x2 --tasks 100000 --work exponential:1ms --network net.toml --scheme dynamic --json
  foretrace farm --ranks 2..128x2 --trace recorded.dim --network gigabit-ethernet
  foretrace farm --ranks 12 --workload matmul:n=800 --network amakata-pc-cluster";

/// Options of `farm`.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct FarmArgs {
    /// The numbers of ranks to simulate, the master among them: a list of numbers and ranges, as of --cpus
    #[arg(long, value_name = "LIST")]
    pub ranks: CpuList,
    /// The file that describes the network, or the name of one of those that come with foretrace
    #[arg(long, value_name = "FILE")]
    pub network: PathBuf,
    /// A program that passes messages, of which the master and the tasks are taken
    ///
    /// The master is who receives from anybody; each task takes as long as it did there, whoever does it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workload", "work", "message", "result"])]
    pub trace: Option<PathBuf>,
    /// The number of tasks [default: as many as the file of --work has lines, or the trace has tasks]
    #[arg(long, value_name = "N", conflicts_with = "workload")]
    pub tasks: Option<u64>,
    /// How long a task takes: a time, a distribution, or a file
    #[arg(
        long,
        value_name = "TIME",
        required_unless_present_any = ["workload", "trace"],
        conflicts_with = "workload"
    )]
    pub work: Option<String>,
    /// The size of a message, in bytes
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 1,
        conflicts_with = "workload"
    )]
    pub message: u64,
    /// The size of a result's message, in bytes [default: that of --message]
    #[arg(long, value_name = "BYTES", conflicts_with = "workload")]
    pub result: Option<u64>,
    /// Who deals the tasks: single, multi:PM or dynamic
    #[arg(
        long,
        value_name = "SCHEME",
        default_value = "single",
        conflicts_with = "workload"
    )]
    pub scheme: SchemeName,
    /// A workload of its own in place of tasks: matmul:n=SIZE, the multiplication of two square matrices
    #[arg(long, value_name = "NAME")]
    pub workload: Option<Workload>,
    /// The seed of random task times
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Who deals the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeName {
    /// Rank 0.
    Single,
    /// So many masters.
    Multi(u32),
    /// Masters that come and go.
    Dynamic,
}

impl FromStr for SchemeName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.split_once(':')) {
            ("single", _) => Ok(Self::Single),
            ("dynamic", _) => Ok(Self::Dynamic),
            (_, Some(("multi", count))) => match count.parse() {
                Ok(count) if count > 0 => Ok(Self::Multi(count)),
                _ => Err("write the number of masters, as in multi:4".to_owned()),
            },
            _ => Err("there are single, multi:PM (as in multi:4) and dynamic".to_owned()),
        }
    }
}

/// A workload with messages of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// The multiplication of two square matrices of this size.
    Matmul(u64),
}

/// As large as matrices may be: their elements' bytes fit in 64 bits by far.
const LARGEST_MATRIX: u64 = 100_000;

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = text.strip_prefix("matmul:n=").map(str::parse);
        match size {
            Some(Ok(size)) if (1..=LARGEST_MATRIX).contains(&size) => Ok(Self::Matmul(size)),
            Some(_) => Err(format!("a matrix has from 1 to {LARGEST_MATRIX} rows")),
            None => {
                Err("there is matmul, with the size of its matrices, as in matmul:n=800".to_owned())
            }
        }
    }
}
