//! The command line, and the help that teaches it.

mod calibrate;
mod farm;
mod grid;
mod parameters;
mod san;
mod values;

use std::{ffi::OsString, path::PathBuf};

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser},
};
use foretrace_interchange::{EXPORTERS, IMPORTERS, MESSAGE_FORMATS};
use foretrace_machine::Share;

pub use calibrate::{CalibrateArgs, MpiName, MpiRankArgs, TransportName};
pub use farm::{FarmArgs, SchemeName, Workload};
pub use values::{CpuList, Each, Seeds, Slice, Workers};

use crate::failure::EXIT_CODES;

pub use grid::{
    GridArgs, GridCommand, GridFitArgs, PlanArgs, SelectArgs, SimulateArgs, WorkloadArgs,
};
pub use parameters::ParameterList;
pub use san::{
    FitNumbers, IterationArg, MethodArg, PaperArgs, SanArgs, SanCommand, SanFitArgs, SolveArgs,
    SolverArgs, TemplateArgs,
};

const ABOUT_FOR_LONG: &str = "\
Records an unmodified threaded program on one CPU, predicts how it would run on N CPUs, and shows where the time goes.

The program must be dynamically linked and use POSIX threads. It is not changed, and need not be built in any special way.";

const EXAMPLES: &str = "\
Examples:
  foretrace demo                                     the whole way on a bundled program
  foretrace record --pretend-cpus 8 -- ./prog input  writes prog.ftrace
  foretrace info prog.ftrace                         what it holds
  foretrace predict prog.ftrace --cpus 1,2,4,8       how fast it would run
  foretrace view prog.ftrace                         where it would wait, down to the source line
  foretrace export prog.ftrace --format svg --cpus 4 -o prog.svg
";

/// What foretrace is asked to do.
#[derive(Debug, Parser)]
#[command(
    name = "foretrace",
    version,
    about = "Predicts a threaded program's speed-up on N CPUs from a recording on one",
    long_about = ABOUT_FOR_LONG,
    after_help = format!("{EXAMPLES}\n{EXIT_CODES}"),
    max_term_width = 110,
)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// A command and its options.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Record a program, pinned to one CPU
    Record(RecordArgs),
    /// Make a trace of what an interrupted recording left behind
    Recover(RecoverArgs),
    /// Show what a trace holds, and what limits a prediction from it
    Info(InfoArgs),
    /// Predict the makespan and speed-up on given numbers of CPUs
    Predict(PredictArgs),
    /// Show what limits a predicted run, down to the source line, and what would help
    Explain(ExplainArgs),
    /// Predict, then really run on the CPUs that exist, and compare
    Validate(ValidateArgs),
    /// Write a prediction as a picture, or a trace as text
    Export(ExportArgs),
    /// Look at the predicted run in a window
    View(ViewArgs),
    /// Read a foreign trace and write it as a trace file
    Import(ImportArgs),
    /// Show the machine that is predicted for, or measure this one
    Machine(MachineArgs),
    /// Measure this machine, or what messages between MPI processes cost
    Calibrate(CalibrateArgs),
    /// Take part in a calibration
    #[command(hide = true)]
    MpiRank(MpiRankArgs),
    /// Plan and simulate master/slave programs on clusters, before there is anything to record
    Grid(GridArgs),
    /// Solve stochastic automata networks, such as models of master/slave programs
    San(SanArgs),
    /// Simulate a master that deals tasks to slaves, on a network
    Farm(FarmArgs),
    /// Record, predict and draw a bundled program
    #[command(after_help = DEMO_HELP)]
    Demo,
}

const DEMO_HELP: &str = "\
Records a program with 16 worker threads on one CPU, prints its predicted speed-up on 1 to 16 CPUs, and writes \
foretrace-demo.ftrace (the trace) and foretrace-demo.svg (a Gantt picture of the predicted run) into the current \
directory, over those of an earlier demo. Takes some seconds.

Example:
  foretrace demo";

const RECORD_HELP: &str = "\
The program runs as always, with your terminal, its own output and its own exit code, but all its threads share one \
CPU. A short note at the end says what was recorded. Interrupt it as usual: what was recorded until then is kept.

Examples:
  foretrace record -- ./prog --threads 4
  foretrace record -o run.ftrace --pretend-cpus 16 -- xz -T0 -k big.tar
  foretrace record --force --slice 3ms -- ./prog-that-spins
  foretrace record --each cpus=1,2,4,8 -- ./prog -t {cpus}

Exit code: that of the program; a program killed by a signal ends foretrace by the same signal. 1 when foretrace \
failed, 2 for a wrong command line.";

/// Options of `record`.
#[derive(Args, Debug)]
#[command(
    after_help = RECORD_HELP,
    override_usage = "foretrace record [OPTIONS] -- CMD [ARGS]..."
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct RecordArgs {
    /// The trace file to write [default: the program's name with .ftrace (a series: .ftseries), in the current directory]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The number of CPUs that the program is made to believe in [default: those it would see without foretrace]
    ///
    /// Many programs start as many threads as there are CPUs; ask for as many as you want to predict for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(values::MOST_PRETENDED)))]
    pub pretend_cpus: Option<u32>,
    /// Record the program once for each number of CPUs, as a series that `predict` reads
    ///
    /// Each time it believes in that many CPUs, and `{cpus}` in its arguments is replaced by the number. The file that is
    /// written lists the traces, which lie beside it.
    #[arg(long, value_name = "cpus=LIST", conflicts_with = "pretend_cpus")]
    pub each: Option<Each>,
    /// The time that one thread runs before it lets others run, from 100us to 100ms, or `off`
    ///
    /// Threads that take turns as they would side by side share out work as they would there. A thread whose turn is over
    /// lets others run when it next unlocks or posts something. Each turn is a hundredth longer than the one before it, until
    /// they are twenty times as long. From Linux 6.12 on the kernel is asked for slices of as much, 1ms at least. `off` leaves
    /// all that to the kernel.
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub slice: Slice,
    /// Record with each call the N functions that it was called through
    ///
    /// A lock is often taken within a library's or a language's wrapper; its callers tell more. They are found by frame
    /// pointers: compile with -fno-omit-frame-pointer, else callers are missing. Costs some 50 ns a call.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=16))]
    pub stacks: u32,
    /// The CPU to record on [default: the last one allowed]
    #[arg(long, value_name = "K")]
    pub cpu: Option<u32>,
    /// Record the program alone, not those that it starts or becomes
    ///
    /// Then no variable of the recorder is in its environment, nor in that of its children.
    #[arg(long)]
    pub no_children: bool,
    /// Look for loops that spin on memory all the time, and warn of them with their lines
    ///
    /// Samples the program four times a millisecond of CPU time, which makes it some percent slower; the time that this takes is
    /// taken out. Without it there are samples for 20 ms now and then, seven times in the first second and once a second later, until
    /// such a loop is found: what was spun before counts as work in predictions, where it is a wait otherwise. Programs that run for
    /// less than a tenth of a second may escape. What spins by calls (tries, spin locks) is always found.
    #[arg(long)]
    pub find_spins: bool,
    /// Overwrite the output file
    #[arg(short, long)]
    pub force: bool,
    /// Print no note at the end
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments
    #[arg(
        value_name = "CMD",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

/// Options of `recover`.
#[derive(Args, Debug)]
#[command(
    after_help = "While a program runs, what it does is recorded in FILE.journal. When foretrace itself is killed, \
that directory stays. `info`, `predict` and `export` read it as it is, too.\n\n\
Example:\n  foretrace recover prog.ftrace.journal"
)]
pub struct RecoverArgs {
    /// The directory that was left behind
    pub journal: PathBuf,
    /// The trace file to write [default: JOURNAL without .journal]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file
    #[arg(short, long)]
    pub force: bool,
}

/// Options of `info`.
#[derive(Args, Debug)]
#[command(
    after_help = "Waiting times are those of the recording, where all threads share one CPU: they show who \
waited for whom, not how long it would take on more CPUs.\n\nExample:\n  foretrace info prog.ftrace"
)]
pub struct InfoArgs {
    /// The trace: a recording, a journal that an interrupted one left behind, a text trace, or a series of recordings
    pub file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// How to predict, for every command that does.
#[derive(Args, Clone, Debug, Default)]
pub struct ModelArgs {
    /// How recorded events constrain the predicted run
    #[arg(long, value_enum, default_value_t)]
    pub model: Model,
    /// Predict with so many workers in each work pool, or `cpus` for as many as there are CPUs [default: as recorded]
    ///
    /// A pool is made of threads that take tasks from a shared queue; `info` tells which there are. Only the model pool
    /// knows the program with another number of them.
    #[arg(long, value_name = "W")]
    pub workers: Option<Workers>,
    /// Who runs when there are more threads than CPUs [default: priority where every thread carries one, else fair]
    #[arg(long, value_enum)]
    pub scheduler: Option<Scheduler>,
    /// Which CPUs a thread may run on
    #[arg(long, value_enum, default_value_t)]
    pub bind: Bind,
    /// A file that describes the machine: its costs, locks and CPUs (docs/machine.md explains every key)
    ///
    /// `foretrace machine` prints one to begin with, or measures this one.
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
    /// The share of the CPU time that goes on accesses to memory, from 0 to 1, in place of the machine's file
    ///
    /// CPUs share the memory's bandwidth (`bandwidth` in the file's [memory]): together they are slowed down where they ask for
    /// more than it gives. So do ranks on one node, by `nodes.memory_bandwidth` of the network's file. `foretrace machine
    /// --calibrate -- CMD` measures this share.
    #[arg(long, value_name = "F")]
    pub memory_bound: Option<Share>,
}

/// What messages cost, for every command that replays programs which pass them.
#[derive(Args, Clone, Debug, Default)]
pub struct NetworkArgs {
    /// The network that a program's messages go over: a file (docs/network.md explains every key), one of those that come
    /// with foretrace, or a configuration of Dimemas
    #[arg(long, value_name = "FILE")]
    pub network: Option<PathBuf>,
    /// Messages of more bytes than this wait for their receivers, in place of what the network says
    #[arg(long, value_name = "BYTES", requires = "network")]
    pub rendezvous_above: Option<u64>,
}

/// What recorded ranks run on.
#[derive(Args, Clone, Debug, Default)]
pub struct RanksArgs {
    /// How many CPUs each rank has for its threads [default: one, as when they were recorded]
    ///
    /// For programs that use threads within ranks (MPI with OpenMP). Each rank's threads are replayed on so many CPUs first, as if messages
    /// took no time, and then the ranks on the network.
    #[arg(long, value_name = "N", requires = "network", value_parser = values::one_count)]
    pub cpus_per_rank: Option<u32>,
}

/// How recorded events constrain the predicted run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Model {
    /// The first of the others, in this order, that does not run into a deadlock
    #[default]
    Auto,
    /// As direct, but workers that take tasks from a shared queue take any task; of programs with such a pool, the first
    Pool,
    /// Threads do their recorded operations in order; locks go to whoever comes first
    Direct,
    /// As direct, but what a thread does after a wait may go in another order, by what has come
    ClientServer,
    /// Everything in the recorded order; never a deadlock
    Strict,
}

impl Model {
    /// Returns whether work pools are an answer of its own.
    pub fn knows_pools(self) -> bool {
        matches!(self, Self::Auto | Self::Pool)
    }

    /// Returns whether it matters to it which threads take tasks from a queue.
    pub fn knows_queues(self) -> bool {
        self.knows_pools() || self == Self::Direct
    }
}

/// Who runs when there are more threads than CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scheduler {
    /// Always those of highest priority
    Priority,
    /// All in turn, those first that ran least
    Fair,
    /// All in turn, one after the other; those of higher priority before others
    RoundRobin,
}

/// Which CPUs a thread may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Bind {
    /// All, but for threads that the trace itself binds
    #[default]
    None,
    /// All, also for threads that the trace binds
    Free,
    /// One: neighbouring threads share a CPU
    Block,
}

const PREDICT_HELP: &str = "\
Columns: speed-up is the makespan on one CPU over the makespan on so many; efficiency is the speed-up per CPU; others are \
the speed-ups that the models after the one that answered give. A prediction that ends in a deadlock is explained below \
the table, and with --model auto the next model answers.

CPU counts: a list of numbers and ranges. A..B is every count from A to B, A..BxF multiplies by F at each step.
  --cpus 8        --cpus 1,2,4        --cpus 1..16        --cpus 1,2,4..64x2

Examples:
  foretrace predict prog.ftrace
  foretrace predict prog.ftrace --cpus 1..16 --all-models
  foretrace predict prog.ftrace --cpus 2,4,8 --workers cpus
  foretrace predict prog.ftseries
  foretrace predict first.ftrace second.ftrace third.ftrace
  foretrace predict prog.ftrace --cpus 4 --seed 1..20
  foretrace predict prog.ftrace --cpus 4 --json | jq '.predictions[0].speedup'
  foretrace predict stencil.goal --network loggopsim
  foretrace predict trace.dim --network machine.cfg --json";

/// Options of `predict`.
#[derive(Args, Debug)]
#[command(after_help = PREDICT_HELP)]
pub struct PredictArgs {
    /// The trace, or the series that `record --each` made; or several traces of one program
    ///
    /// Of several recordings the one in the middle answers for each number of CPUs, and the lowest and the highest speed-up
    /// are shown beside it.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The numbers of CPUs to predict for [default: 1,2,4,8,16, or as many as --machine has; of a series, those that it was
    /// recorded for]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,
    #[command(flatten)]
    /// How to predict.
    pub how: ModelArgs,
    /// Show what every model predicts, side by side
    #[arg(long, conflicts_with = "model")]
    pub all_models: bool,
    /// Break ties by chance, with this seed, or with each of several as in 1..20
    ///
    /// Which of two threads goes first that get ready at the same instant is not known; by default it is the one that the
    /// simulation came to first. With several seeds, the lowest and the highest speed-up are shown.
    #[arg(long, value_name = "SEEDS")]
    pub seed: Option<Seeds>,
    #[command(flatten)]
    /// What messages cost.
    pub network: NetworkArgs,
    #[command(flatten)]
    /// What ranks run on.
    pub ranks: RanksArgs,
    /// Save the schedule predicted for the last number of CPUs in the list
    #[arg(short, long, value_name = "SCHEDULE")]
    pub output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

const EXPLAIN_HELP: &str = "\
Three tables. The critical path is what the end of the run waits for: code, told by the calls that it lies between, and waits that \
no thread could have ended sooner. Making anything else faster does not help. Below it is where threads wait, and the call that \
mostly lets them go on. The last table is what would help: for each stretch of code on the path, and each lock that is waited for, \
the program is changed and its run predicted anew, so that it is known what the change is worth, also where another path takes over.

A stretch of code is from one recorded call to the next of the same thread; `begin` and `end` are those of the thread. Programs \
compiled with -g are told by lines. `--stacks` of `record` and docs/explain.md help where a call site says little.

Of programs that pass messages, the path goes over ranks and messages, on the network that --network names; what would help is also \
even work and better networks.

Examples:
  foretrace explain prog.ftrace
  foretrace explain prog.ftrace --cpus 64
  foretrace explain mpi.ftrace --network infiniband
  foretrace explain prog.ftrace --cpus 8 --json | jq '.changes[0]'";

/// Options of `explain`.
#[derive(Args, Debug)]
#[command(after_help = EXPLAIN_HELP)]
pub struct ExplainArgs {
    /// The trace
    pub file: PathBuf,
    /// The number of CPUs of the predicted run [default: those that --machine has, else those the program was made to
    /// believe in, else one a thread]
    #[arg(long, value_name = "N", value_parser = values::one_count)]
    pub cpus: Option<u32>,
    #[command(flatten)]
    /// How to predict.
    pub how: ModelArgs,
    #[command(flatten)]
    /// What messages cost.
    pub network: NetworkArgs,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

const VALIDATE_HELP: &str = "\
The program is recorded on one CPU, and then run as it is: in turn on one CPU and on as many as asked for, several \
times, and the medians are compared with the predictions. It reads nothing and what it writes is dropped, so it must do \
the same at every run. Other programs that use the CPUs meanwhile make real runs slower; how much they did is told.

It is recorded three times, and the prediction that is in the middle counts; and as often with long turns of its threads, \
from which it is seen how much of its CPU time goes on filling caches that threads empty for each other when they take \
turns. Without --machine, predictions take that into account (`refill` in docs/machine.md).

Columns: error is the predicted time over the real one; the speed-ups refer to the run on one CPU, predicted to predicted \
and real to real.

Examples:
  foretrace validate -- pigz -c -p 2 big.tar
  foretrace validate --cpus 2,4 --rounds 9 --json -- ./prog --threads 4
  foretrace validate --trace prog.ftseries";

/// Options of `validate`.
#[derive(Args, Debug)]
#[command(
    after_help = VALIDATE_HELP,
    override_usage = "foretrace validate [OPTIONS] -- CMD [ARGS]...\n       foretrace validate [OPTIONS] --trace FILE"
)]
pub struct ValidateArgs {
    /// Predict from this trace or series, and run the command that it was recorded from in the current directory
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// The numbers of CPUs to compare on [default: all that there are]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,
    /// The number of CPUs that the program is made to believe in, on one CPU too [default: those compared]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8192))]
    pub pretend_cpus: Option<u32>,
    /// How often to run on each number of CPUs
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// How often to record the program; the prediction that is in the middle counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub recordings: u32,
    #[command(flatten)]
    /// How to predict.
    pub how: ModelArgs,
    /// Exit with 4 where a speed-up is predicted wrong by more than so many percent
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub fail_if: Option<f64>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments
    #[arg(
        value_name = "CMD",
        required_unless_present = "trace",
        conflicts_with = "trace",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

const MACHINE_HELP: &str = "\
What is printed or written is a file for --machine of `predict`, `export` and `validate`; keys that it does not have are \
as they are natural for the program. docs/machine.md explains every key.

Examples:
  foretrace machine                                 what recorded programs are predicted for
  foretrace machine --calibrate -o here.toml        the same with what this machine costs
  foretrace machine --calibrate -o here.toml -- ./prog 1
                                                    and with the share of ./prog's CPU time that goes on memory
  foretrace machine --machine server.toml           what a file says, with every key
  foretrace predict prog.ftrace --machine here.toml";

/// Options of `machine`.
#[derive(Args, Debug)]
#[command(after_help = MACHINE_HELP)]
pub struct MachineArgs {
    /// Print the machine in force, as a file with every key [default]
    #[arg(long, conflicts_with = "calibrate")]
    pub show: bool,
    /// Measure what waking, waiting and creating threads cost here, and the memory's bandwidth; takes some seconds
    #[arg(long)]
    pub calibrate: bool,
    /// The file that describes the machine
    #[arg(long, value_name = "FILE", conflicts_with = "calibrate")]
    pub machine: Option<PathBuf>,
    /// The number of CPUs to show it for [default: those that the file says]
    #[arg(long, value_name = "N", conflicts_with = "calibrate", value_parser = values::one_count)]
    pub cpus: Option<u32>,
    /// The file to write [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file
    #[arg(short, long)]
    pub force: bool,
    /// With --calibrate, measure as well which share of this program's CPU time goes on accesses to memory
    ///
    /// It runs on one CPU, three times alone and three times beside a copy of itself on each other CPU, with nothing to read
    /// and its output dropped. Copies must not be in each other's way: they should not write the same files.
    #[arg(last = true, value_name = "CMD", requires = "calibrate")]
    pub command: Vec<OsString>,
}

/// Returns a parser of the names of formats, which shows them in the help.
fn formats(known: impl Iterator<Item = (&'static str, &'static str)>) -> PossibleValuesParser {
    let values = known.map(|(name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(values)
}

fn export_formats() -> PossibleValuesParser {
    let of_messages = MESSAGE_FORMATS.iter().filter(|format| format.is_written());
    let of_messages = of_messages.map(|format| (format.name(), format.about()));
    let of_traces = EXPORTERS
        .iter()
        .map(|format| (format.name(), format.about()));
    formats(of_traces.chain(of_messages))
}

fn import_formats() -> PossibleValuesParser {
    let of_messages = MESSAGE_FORMATS
        .iter()
        .map(|format| (format.name(), format.about()));
    let of_traces = IMPORTERS
        .iter()
        .map(|format| (format.name(), format.about()));
    formats(of_traces.chain(of_messages))
}

/// Options of `export`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  foretrace export prog.ftrace --format svg --cpus 4 -o prog.svg\n  \
                        foretrace export prog.ftrace --format png --cpus 4 -o prog.png\n  \
                        foretrace export prog.ftrace --format text | less"
)]
pub struct ExportArgs {
    /// The trace, or a schedule that `predict -o` saved
    pub file: PathBuf,
    /// What to write
    #[arg(long, value_name = "NAME", value_parser = export_formats())]
    pub format: String,
    /// The file to write [default: the standard output]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    /// What messages cost.
    pub network: NetworkArgs,
    #[command(flatten)]
    /// What ranks run on.
    pub ranks: RanksArgs,
    /// The number of CPUs of the predicted run [default: those that --machine has, else those the program was made to
    /// believe in, else one a thread]
    #[arg(long, value_name = "N", value_parser = values::one_count)]
    pub cpus: Option<u32>,
    #[command(flatten)]
    /// How to predict.
    pub how: ModelArgs,
}

const VIEW_HELP: &str = "\
Opens a window with a lane for each thread, and above them how many run. The number of CPUs, the model, the scheduler and the \
machine (of a program that passes messages: the network) are changed in the window, and the run is predicted anew. A click on a segment or an event shows what it waited for, \
who let it go on, and the line of the source. The key ? shows all keys; docs/viewer.md explains more.

Without a display, `foretrace export FILE --format svg` or `--format png` draws the same picture.

Examples:
  foretrace view prog.ftrace
  foretrace view prog.ftrace --cpus 8 --model strict
  foretrace view before.ftrace after.ftrace
  foretrace view saved.fts
  foretrace view stencil.ftrace --network infiniband";

/// Options of `view`.
#[derive(Args, Debug)]
#[command(after_help = VIEW_HELP)]
pub struct ViewArgs {
    /// Traces, or schedules that `predict -o` saved; without any, the window asks
    pub files: Vec<PathBuf>,
    /// The number of CPUs to begin with [default: those that --machine has, else those the program was made to believe in,
    /// else one a thread]
    #[arg(long, value_name = "N", value_parser = values::one_count)]
    pub cpus: Option<u32>,
    #[command(flatten)]
    /// How to predict.
    pub how: ModelArgs,
    #[command(flatten)]
    /// What messages cost.
    pub network: NetworkArgs,
}

/// Options of `import`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  foretrace import case.txt --format text -o case.ftrace\n\n\
                        Text traces and the formats of messages need no import to be predicted: every command reads them as they are."
)]
pub struct ImportArgs {
    /// The file to read
    pub file: PathBuf,
    /// What it is
    #[arg(long, value_name = "NAME", value_parser = import_formats())]
    pub format: String,
    /// The trace file to write [default: FILE with .ftrace in place of its suffix]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file
    #[arg(short, long)]
    pub force: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
