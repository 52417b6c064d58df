//! `foretrace grid fit`: a grid from a recording, and what the models make of it.

use std::path::Path;

use anyhow::Context as _;
use foretrace_interchange::Messages;
use foretrace_masterslave::{
    Grid,
    fit::{Fit, Kind, recognize},
    plan::Plan,
    simulate::{Workload, simulate},
};
use foretrace_network::Description;
use foretrace_program::Program;
use foretrace_san::{
    Options,
    language::{Parameters, Source},
    template::{self, Numbers},
};
use foretrace_sim::{Choice, ModelKind, predict};

use super::{san::free_memory, san_sweep::solve_all};
use crate::{
    args::GridFitArgs,
    core,
    failure::Finish,
    messages, output,
    report::fit::{Report, Row},
};

/// The time to hand a task to another thread where nothing was measured, in seconds: what waking an idle CPU takes on the usual
/// machine (`foretrace machine`).
const HANDOVER: f64 = 15e-6;

/// As many results as the buffer of the automata network holds.
const BUFFER: u32 = 40;

/// As many slaves as the report goes to, if there were not more already.
const MOST_SLAVES: u32 = 32;

/// As many tasks as the queueing simulation runs.
const TASKS: u64 = 2000;

/// Runs the command.
pub fn run(args: &GridFitArgs) -> anyhow::Result<Finish> {
    check(args.output.as_deref(), args.force)?;
    let recording = Recording::read(&args.file)?;
    let processors = args
        .processors
        .unwrap_or(recording.fit.slaves.len() as u32 + 1);
    let source = args.file.display().to_string();
    let text = recording.fit.grid(&source, processors, args.bandwidth);
    finish(&recording, args.output.as_deref(), &text, args.json)
}

/// Checks that the output can be written, before any work is done.
pub fn check(file: Option<&Path>, force: bool) -> anyhow::Result<()> {
    match file.filter(|path| path.as_os_str() != "-") {
        Some(path) => output::check_new_file(path, force),
        None => Ok(()),
    }
}

/// Writes the model, and reports what the models predict where the standard output is free for that.
pub fn finish(
    recording: &Recording,
    file: Option<&Path>,
    model: &str,
    json: bool,
) -> anyhow::Result<Finish> {
    if json {
        let report = recording.report()?;
        if let Some(path) = file {
            output::write_to(Some(path), model.as_bytes())?;
        }
        output::print_json(&report.json(model))?;
        return Ok(Finish::Fine);
    }
    output::write_to(file, model.as_bytes())?;
    if file.is_some_and(|path| path.as_os_str() != "-") {
        output::print(recording.report()?.text())?;
    }
    Ok(Finish::Fine)
}

/// What the replay runs.
enum Recorded {
    Threads(Box<Program>),
    Ranks(foretrace_messages::Program),
}

/// A recording with master and slaves.
pub struct Recording {
    program: Recorded,
    /// What was recognized.
    pub fit: Fit,
}

impl Recording {
    /// Reads a trace and looks for master and slaves in it.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        if let Some(Messages::Program(program)) = messages::load(path)? {
            let source = path.display().to_string();
            let fit = of_ranks(&program).with_context(|| source.clone())?;
            let fit = fit.with_work(&source)?;
            let program = Recorded::Ranks(program);
            return Ok(Self { program, fit });
        }
        let trace = core::read_trace(path)?;
        let program = Program::from_trace(&trace);
        let fit = recognize(&program)?;
        let program = Recorded::Threads(Box::new(program));
        Ok(Self { program, fit })
    }

    /// Returns the numbers of an automata network.
    pub fn numbers(&self) -> Numbers {
        let tasks = self.fit.tasks.len() as f64;
        Numbers {
            slaves: self.fit.slaves.len() as u32,
            buffer: BUFFER,
            send: HANDOVER,
            compute: self.fit.mean_task(),
            transmit: HANDOVER,
            evaluate: self.fit.master_seconds,
            packs: 1.0,
            // A run ends once in so many times that the master could hand out a task.
            restart: HANDOVER * tasks,
        }
    }

    /// Returns the numbers of slaves to tell of: doubling until the master could do no more, and the recorded one.
    fn counts(&self) -> Vec<u32> {
        let recorded = self.fit.slaves.len() as u32;
        let enough = 2.0 * self.fit.mean_task() / self.fit.master_seconds;
        let doubled = std::iter::successors(Some(1), |n| Some(n * 2))
            .take_while(|n| *n <= MOST_SLAVES && f64::from(*n) < enough);
        let mut counts: Vec<u32> = doubled.chain([recorded, 2 * recorded]).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Puts what the models predict beside each other.
    fn report(&self) -> anyhow::Result<Report<'_>> {
        let counts = self.counts();
        let networks = self.networks(&counts)?;
        let rows = counts.iter().zip(networks).map(|(&slaves, network)| {
            let (rate_model, queueing) = self.grid_rates(slaves)?;
            Ok(Row {
                slaves,
                rate_model,
                queueing,
                network,
                replay: self.replay(slaves)?,
            })
        });
        Ok(Report {
            fit: &self.fit,
            rows: rows.collect::<anyhow::Result<_>>()?,
        })
    }

    /// Returns the tasks per second of the rate model and of the queueing simulation.
    fn grid_rates(&self, slaves: u32) -> anyhow::Result<(f64, f64)> {
        let text = self.fit.grid("the recording", slaves + 1, None);
        let grid = Grid::parse(&text, Path::new("the grid of the recording"))?;
        let plan = Plan::new(&grid);
        let workload = Workload {
            tasks: TASKS,
            split: 0.5,
            in_flight: 1,
            seed: 1,
            keep_intervals: false,
        };
        // All of them are equal, and the rate model may need fewer than there are.
        let others: Vec<usize> = (1..=slaves as usize).collect();
        let run = simulate(&grid, &plan.rates, 0, &others, &workload)?;
        Ok((plan.candidates[0].rate, run.rate()))
    }

    /// Returns the tasks per second of the automata network.
    fn networks(&self, counts: &[u32]) -> anyhow::Result<Vec<f64>> {
        let text = template::text(&self.numbers(), "");
        let source = Source::read(&text, "the model of the recording")?;
        let points: Vec<Parameters> = counts
            .iter()
            .map(|slaves| Parameters::from([("slaves".to_owned(), f64::from(*slaves))]))
            .collect();
        let options = Options {
            memory: free_memory(),
            tolerance: 1e-9,
            tolerance_sum: 1e-7,
            ..Options::default()
        };
        let solved = solve_all(&source, &points, &options)?;
        let rate =
            |results: &[(String, f64)]| results.first().map_or(f64::NAN, |(_, value)| *value);
        Ok(solved
            .iter()
            .map(|point| rate(&point.solution.results))
            .collect())
    }

    /// Returns the tasks per second of a replay on a CPU for each slave and the master; none where the recording tells only of
    /// another number of slaves.
    fn replay(&self, slaves: u32) -> anyhow::Result<Option<f64>> {
        let recorded = slaves as usize == self.fit.slaves.len();
        let end = match &self.program {
            Recorded::Threads(program) if self.fit.kind == Kind::Pool => {
                let program = program.with_workers(slaves);
                replay_threads(&program, slaves, Choice::Only(ModelKind::Pool))?
            }
            Recorded::Threads(program) if recorded => {
                replay_threads(program, slaves, Choice::Auto)?
            }
            Recorded::Ranks(program) if recorded => replay_ranks(program)?,
            _ => return Ok(None),
        };
        Ok(end
            .filter(|end| *end > 0.0)
            .map(|end| self.fit.tasks.len() as f64 / end))
    }
}

/// Returns how long a program of threads takes with a CPU for each slave and the master; none where it comes to no end.
fn replay_threads(program: &Program, slaves: u32, choice: Choice) -> anyhow::Result<Option<f64>> {
    let machine = core::read_machine(None)?.machine(slaves + 1, program, None)?;
    let prediction = predict(program, &machine, choice);
    Ok(prediction.answer().map(|run| run.end.as_secs_f64()))
}

/// A network that costs nothing: the models that the replay is put beside know only of a bandwidth, if of that.
const FREE: &str = "model = \"loggps\"\nlatency = \"0us\"\ngap_per_byte = \"0us\"\n[send]\noverhead = \"0us\"\n[receive]\noverhead = \"0us\"\n";

/// As [`replay_threads`] for ranks, on a network that costs nothing.
fn replay_ranks(program: &foretrace_messages::Program) -> anyhow::Result<Option<f64>> {
    let network = Description::parse(FREE, "a network that costs nothing")?;
    let attempts = foretrace_messages::predict(program, &network.resolve(program.ranks())?);
    Ok(messages::answered(&attempts).map(|run| run.end.as_secs_f64()))
}

/// Returns master and slaves among ranks.
fn of_ranks(program: &foretrace_messages::Program) -> anyhow::Result<Fit> {
    let dealt = foretrace_messages::dealt(program)?;
    let name = |rank: u32| format!("rank {rank}");
    let slaves = (0..program.ranks()).filter(|rank| *rank != dealt.master);
    Ok(Fit {
        kind: Kind::Ranks,
        master: name(dealt.master),
        slaves: slaves.take(dealt.slaves as usize).map(name).collect(),
        tasks: dealt.tasks.iter().map(|time| time.as_secs_f64()).collect(),
        master_seconds: dealt.master_work.as_secs_f64().max(1e-9),
        bytes: Some((dealt.task_bytes + dealt.result_bytes) as f64),
    })
}

/// Returns the model's text for what was recorded.
pub fn network(recording: &Recording, source: &Path) -> anyhow::Result<String> {
    let fit = &recording.fit;
    let about = format!(
        "From {}: {}. {} did {} tasks of {} slaves; send and transmit were not measured.",
        source.display(),
        fit.kind.described(),
        fit.master,
        fit.tasks.len(),
        fit.slaves.len()
    );
    let text = template::text(&recording.numbers(), &about);
    Source::read(&text, "the model of the recording").context("the model cannot be read again")?;
    Ok(text)
}
