//! Options of `calibrate`.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, ValueEnum};
use foretrace_calibrate::network::Part;

use super::CpuList;

const HELP: &str = "\
--network starts ranks of an MPI program that are foretrace itself (no compiler of MPI is needed), lets two of them on different \
CPUs or computers send each other messages, and fits what they cost: L, G, and o of sender and receiver, each for as many ranges \
of sizes as it takes, and S, from which size on messages wait for their receivers. From several numbers of ranks, of which all \
but two are idle, it fits how overheads grow with the ranks: that is what tells of programs with many more of them. The file is \
for --network of `predict`, `export` and `farm`; docs/network.md explains every key, and how each is measured.

What is measured is a network only where messages go over one: on one computer they usually go through shared memory. \
--transport tcp has them go through the kernel's network; --launcher names other computers.

Examples:
  foretrace calibrate --network -o here.toml
  foretrace calibrate --network --mpi mpich --transport tcp -o tcp.toml
  foretrace calibrate --network --launcher 'mpirun --host a,b' -o cluster.toml
  foretrace farm --ranks 2..64 --tasks 100000 --work 1ms --network here.toml
  foretrace calibrate --machine -o machine.toml          as `foretrace machine --calibrate`";

/// Options of `calibrate`.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(after_help = HELP)]
pub struct CalibrateArgs {
    /// Measure what messages between MPI processes cost
    #[arg(long, required_unless_present = "machine", conflicts_with = "machine")]
    pub network: bool,
    /// Measure what letting threads go on costs, and the memory's bandwidth, as `machine --calibrate` does
    #[arg(long)]
    pub machine: bool,
    /// What messages go over
    #[arg(long, value_enum, default_value_t, requires = "network")]
    pub transport: TransportName,
    /// The implementation of MPI, where several are installed [default: that of mpirun]
    #[arg(long, value_name = "NAME", requires = "network")]
    pub mpi: Option<MpiName>,
    /// The launcher, with its arguments but for the number of ranks, as in 'mpirun --host a,b'
    #[arg(long, value_name = "CMD", requires = "network", conflicts_with = "mpi")]
    pub launcher: Option<String>,
    /// The library of MPI that belongs to the launcher [default: the one that is installed with it]
    #[arg(long = "library", value_name = "FILE", requires = "network")]
    pub mpi_library: Option<PathBuf>,
    /// The numbers of ranks to fit the growth of overheads to; a single one for overheads that do not grow
    #[arg(
        long,
        value_name = "LIST",
        default_value = "2,4,8",
        requires = "network"
    )]
    pub ranks: CpuList,
    /// Measure little, in a few seconds: just to see whether it works
    #[arg(long, requires = "network")]
    pub quick: bool,
    /// The file to write [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file
    #[arg(short, long)]
    pub force: bool,
    /// Print one JSON document
    #[arg(long, requires = "network")]
    pub json: bool,
    /// With --machine, a program of which to measure the share of CPU time that goes on accesses to memory
    #[arg(last = true, value_name = "CMD", conflicts_with = "network")]
    pub command: Vec<OsString>,
}

/// What messages go over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TransportName {
    /// What the implementation takes
    #[default]
    Auto,
    /// TCP, also on one computer
    Tcp,
    /// Shared memory
    Shm,
}

/// An implementation of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MpiName {
    /// Open MPI
    Openmpi,
    /// MPICH, and what descends from it
    Mpich,
}

/// Options of the ranks of a calibration, which a launcher starts.
#[derive(Args, Debug)]
pub struct MpiRankArgs {
    /// Measure small messages among many ranks, in place of all sizes between two
    #[arg(long)]
    crowd: bool,
    /// Measure little
    #[arg(long)]
    pub quick: bool,
    /// The libraries of MPI to try
    pub libraries: Vec<String>,
}

impl MpiRankArgs {
    /// Returns what the ranks are to measure.
    pub fn part(&self) -> Part {
        if self.crowd { Part::Crowd } else { Part::Sizes }
    }

    /// Returns the arguments that say so.
    pub fn to_arguments(libraries: &[String], part: Part, quick: bool) -> Vec<OsString> {
        let crowd = (part == Part::Crowd).then_some("--crowd");
        let quick = quick.then_some("--quick");
        let words = std::iter::once("mpi-rank").chain(crowd).chain(quick);
        words
            .chain(libraries.iter().map(String::as_str))
            .map(OsString::from)
            .collect()
    }
}
