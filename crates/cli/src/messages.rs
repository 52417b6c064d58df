//! Programs that pass messages: the place that calls the crates which read and replay them.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use foretrace_analysis::WorkTime;
use foretrace_interchange::{
    Messages, RECOGNIZED_BYTES, dimemas_machine, is_dimemas_machine, is_wrapped, read_messages,
    recognized,
};
use foretrace_machine::Share;
use foretrace_messages::{
    Attempt, Course, Model, Noted, Run, course, course_graph, predict, replay, replay_graph,
    schedule, schedule_graph,
};
use foretrace_network::{Description, Ease, Network};
use foretrace_schedule::{Schedule, SimTime};
use foretrace_sim::Rate;
use foretrace_trace::Trace;

use crate::{
    args::{self, NetworkArgs},
    failure::Usage,
    hybrid,
    series::Series,
};

/// Reads a program that passes messages, imported or recorded; `None` where a file is something else.
///
/// # Errors
///
/// Where it is one and damaged: with line and column.
pub fn load(path: &Path) -> anyhow::Result<Option<Messages>> {
    if may_hold_ranks(path)? {
        return of_trace(&crate::core::read_trace(path)?);
    }
    imported(path)
}

/// Reads a program that passes messages as [`load`] does, where the threads of each rank have so many CPUs; one, as when they were recorded,
/// where no number is said.
///
/// # Errors
///
/// As [`load`], and where a number of CPUs is said of ranks that were not recorded.
pub fn load_on_cpus(
    path: &Path,
    cpus: Option<u32>,
    how: &args::ModelArgs,
) -> anyhow::Result<Option<Messages>> {
    let Some(cpus) = cpus else {
        return load(path);
    };
    let messages = if may_hold_ranks(path)? {
        hybrid::on_cpus(&crate::core::read_trace(path)?, cpus, how)?
    } else {
        None
    };
    if messages.is_none() {
        let message = format!(
            "--cpus-per-rank: {} holds no recorded ranks, whose threads could have CPUs; leave it out",
            path.display()
        );
        return Err(Usage(message).into());
    }
    Ok(messages)
}

/// A recording of ranks, and for each position of the program the event that it comes from.
pub struct Recording {
    pub trace: Trace,
    pub calls: Vec<u32>,
}

/// Reads a program that passes messages as [`load`] does, and keeps the recording that it comes from, where it does.
///
/// # Errors
///
/// As [`load`].
pub fn load_with_recording(path: &Path) -> anyhow::Result<Option<(Messages, Option<Recording>)>> {
    if !may_hold_ranks(path)? {
        return Ok(imported(path)?.map(|messages| (messages, None)));
    }
    let trace = crate::core::read_trace(path)?;
    if !foretrace_messages::has_ranks(&trace) {
        return Ok(None);
    }
    let (program, calls) = foretrace_messages::recorded_with_calls(&trace)?;
    program.check()?;
    let recording = Recording { trace, calls };
    Ok(Some((Messages::Program(program), Some(recording))))
}

/// Reads a program that passes messages in a format of others; `None` where a file is something else.
///
/// # Errors
///
/// Where it is one and damaged: with line and column.
pub fn imported(path: &Path) -> anyhow::Result<Option<Messages>> {
    let name = path.display().to_string();
    if !path.is_file() {
        return Ok(None);
    }
    let start = beginning(path)?;
    if !is_wrapped(&start) && recognized(&name, &start).is_none() && !lists_files(path, &start) {
        return Ok(None);
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {name}"))?;
    let read = |path: &str| fs::read(path);
    if let Some(messages) = read_messages(&bytes, &name, &read) {
        return Ok(Some(messages?));
    }
    let format =
        foretrace_interchange::message_format("simgrid").context("it is one of the formats")?;
    Ok(Some(format.import(&bytes, &name, &read)?))
}

fn beginning(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut start = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    file.take(RECOGNIZED_BYTES as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// Returns whether a file is a recording that may be of ranks, without reading all of it: sealed ones tell by their version.
fn may_hold_ranks(path: &Path) -> anyhow::Result<bool> {
    if path.is_dir() {
        return Ok(Series::load(path)?.is_none());
    }
    if !path.is_file() {
        return Ok(false);
    }
    let start = beginning(path)?;
    Ok(foretrace_trace::sealed::holds_messages(&start)
        || start.starts_with(b"FTJOURNL")
        || start.starts_with(b"foretrace-text"))
}

/// Returns what the ranks of a recording do; `None` where it has none.
///
/// # Errors
///
/// Where some are missing, or what they do contradicts itself.
pub fn of_trace(trace: &Trace) -> anyhow::Result<Option<Messages>> {
    if !foretrace_messages::has_ranks(trace) {
        return Ok(None);
    }
    let program = foretrace_messages::recorded(trace)?;
    program.check()?;
    Ok(Some(Messages::Program(program)))
}

/// Returns whether a file names others beside it that hold a time-independent trace, one for each rank.
fn lists_files(path: &Path, start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(first) = lines
        .next()
        .filter(|line| !line.contains(char::is_whitespace))
    else {
        return false;
    };
    let beside = path.parent().unwrap_or(Path::new("")).join(first);
    let head = fs::read(beside).unwrap_or_default();
    recognized("", &head[..head.len().min(RECOGNIZED_BYTES)])
        .is_some_and(|format| format.name() == "simgrid")
}

/// Reads the network that was asked for.
///
/// # Errors
///
/// Where none was, or it cannot be used: with the remedy.
pub fn network(args: &NetworkArgs) -> anyhow::Result<Description> {
    let Some(path) = &args.network else {
        let names: Vec<&str> = foretrace_network::PRESETS
            .iter()
            .map(|(name, _)| *name)
            .collect();
        bail!(
            "the program passes messages, and what they cost is not said; name a network with --network FILE.toml, or one of {}",
            names.join(", ")
        );
    };
    let mut network = load_network(path)?;
    if let Some(bytes) = args.rendezvous_above {
        network.set_rendezvous_above(Some(bytes));
    }
    Ok(network)
}

/// Reads a network: a file of ours, a preset, or a configuration of Dimemas.
///
/// # Errors
///
/// Where it cannot be used: with line, key and remedy.
pub fn load_network(path: &Path) -> anyhow::Result<Description> {
    if let Ok(bytes) = fs::read(path)
        && is_dimemas_machine(&bytes)
    {
        return Ok(dimemas_machine(&bytes, &path.display().to_string())?);
    }
    Ok(Description::load(path)?)
}

/// A program that passes messages, and the network that it is replayed on.
pub struct Replay {
    pub messages: Arc<Messages>,
    pub network: Network,
    pub description: Description,
}

impl Replay {
    /// Prepares it.
    ///
    /// # Errors
    ///
    /// As [`network`], and where the network has no room for the ranks.
    pub fn new(
        messages: Messages,
        args: &NetworkArgs,
        memory_bound: Option<Share>,
    ) -> anyhow::Result<Self> {
        let mut description = network(args)?;
        if let Some(bound) = memory_bound {
            description.nodes.memory_bound = bound.rate().0 as f64 / Rate::ONE.0 as f64;
        }
        Self::on(Arc::new(messages), description)
    }

    /// Prepares it on a network that was read.
    ///
    /// # Errors
    ///
    /// Where the network has no room for the ranks.
    pub fn on(messages: Arc<Messages>, description: Description) -> anyhow::Result<Self> {
        let network = description.resolve(ranks(&messages))?;
        Ok(Self {
            messages,
            network,
            description,
        })
    }

    /// Tries the models that were asked for; the last attempt is the answer, where it came to an end.
    ///
    /// # Errors
    ///
    /// For a model that knows no messages.
    pub fn predict(&self, model: args::Model) -> anyhow::Result<Vec<Attempt>> {
        let attempts = match (&*self.messages, replay_model(model)?) {
            (Messages::Program(program), None) => predict(program, &self.network),
            (Messages::Program(program), Some(model)) => {
                let run = replay(program, &self.network, model);
                vec![Attempt { model, run }]
            }
            (Messages::Graph(graph), _) => vec![Attempt {
                model: Model::Direct,
                run: replay_graph(graph, &self.network),
            }],
        };
        // Sums of times stop at the last one that there is.
        if attempts.iter().any(|attempt| attempt.run.end.0 == u64::MAX) {
            bail!(
                "the times of the replay come to more than 213 days, 2^64 picoseconds, beyond which they are not counted; give \
                 shorter ones"
            );
        }
        Ok(attempts)
    }

    /// Returns the whole course of a replay, with every operation; `None` where `go_on` says that it is not wanted any more.
    pub fn course(
        &self,
        model: Option<Model>,
        noted: Noted,
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> Option<Course> {
        match &*self.messages {
            Messages::Program(program) => course(program, &self.network, model, noted, go_on),
            Messages::Graph(graph) => course_graph(graph, &self.network, noted, go_on),
        }
    }

    /// Returns when a run ends whose work takes other times, or whose network is better in some way; `None` where it does not come to its end.
    pub fn after(
        &self,
        work: Option<WorkTime<'_>>,
        ease: Option<Ease>,
        model: Model,
    ) -> Option<SimTime> {
        let eased = ease.map(|ease| {
            let network = self.description.resolve(ranks(&self.messages));
            network.map(|network| network.eased(ease))
        });
        let eased = eased.transpose().ok()?;
        let network = eased.as_ref().unwrap_or(&self.network);
        let run = match (&*self.messages, work) {
            (Messages::Program(program), None) => replay(program, network, model),
            (Messages::Program(program), Some(work)) => {
                replay(&program.with_work(work), network, model)
            }
            (Messages::Graph(graph), None) => replay_graph(graph, network),
            (Messages::Graph(graph), Some(work)) => replay_graph(&graph.with_work(work), network),
        };
        run.is_complete().then_some(run.end)
    }

    /// Returns the whole course of a replay.
    pub fn schedule(&self, model: Model) -> Schedule {
        match &*self.messages {
            Messages::Program(program) => schedule(program, &self.network, model),
            Messages::Graph(graph) => schedule_graph(graph, &self.network),
        }
    }
}

/// Returns the model that was asked for; `None` where the first that comes to an end is to answer.
///
/// # Errors
///
/// For a model that knows no messages.
pub fn replay_model(model: args::Model) -> anyhow::Result<Option<Model>> {
    Ok(Some(match model {
        args::Model::Auto => return Ok(None),
        args::Model::Direct => Model::Direct,
        args::Model::ClientServer => Model::ClientServer,
        args::Model::Strict => Model::Strict,
        args::Model::Pool => bail!(
            "--model pool is of threads; `foretrace farm --trace` deals a master's tasks anew"
        ),
    }))
}

/// Refuses a network for a program without messages.
///
/// # Errors
///
/// Where one was named; what is wrong with the file, where it is no trace at all.
pub fn refuse_network(args: &NetworkArgs, file: Option<&Path>) -> anyhow::Result<()> {
    if args.network.is_none() {
        return Ok(());
    }
    if let Some(file) = file
        && Series::load(file)?.is_none()
        && !crate::core::is_schedule(file).unwrap_or(false)
    {
        crate::core::read_trace(file)?;
    }
    Err(Usage("--network: the trace holds no messages; leave it out".to_owned()).into())
}

/// Returns the number of ranks.
pub fn ranks(messages: &Messages) -> u32 {
    match messages {
        Messages::Program(program) => program.ranks(),
        Messages::Graph(graph) => graph.ranks(),
    }
}

/// Returns how many CPUs each rank has for its threads.
pub fn cpus_per_rank(messages: &Messages) -> u32 {
    match messages {
        Messages::Program(program) => program.threads.map_or(1, |threads| threads.cpus),
        Messages::Graph(_) => 1,
    }
}

/// Returns the work of all ranks, in picoseconds.
pub fn work(messages: &Messages) -> u64 {
    match messages {
        Messages::Program(program) => program.work(),
        Messages::Graph(graph) => graph.work(),
    }
}

/// Returns how long all ranks take on one CPU, in picoseconds: what a speed-up is relative to.
pub fn on_one_cpu(messages: &Messages) -> u64 {
    match messages {
        Messages::Program(program) => program.on_one_cpu(),
        Messages::Graph(graph) => graph.work(),
    }
}

/// Returns what limits a prediction.
pub fn warnings(messages: &Messages) -> &[String] {
    match messages {
        Messages::Program(program) => &program.warnings,
        Messages::Graph(_) => &[],
    }
}

/// Returns the attempt that came to an end.
pub fn answered(attempts: &[Attempt]) -> Option<&Run> {
    attempts
        .iter()
        .map(|attempt| &attempt.run)
        .find(|run| run.is_complete())
}

/// Returns the model whose course is shown: the one that came to an end, else the last.
pub fn shown(attempts: &[Attempt]) -> Model {
    let answer = attempts.iter().find(|attempt| attempt.run.is_complete());
    answer
        .or(attempts.last())
        .map_or(Model::Direct, |attempt| attempt.model)
}
