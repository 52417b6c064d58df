//! `foretrace validate`: predicts from a recording on one CPU, then really runs on the CPUs that exist.

use std::{
    cell::Cell,
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use foretrace_machine::Share;
use foretrace_trace::{ExitStatus, Nanos, Trace};
use indicatif::{ProgressBar, ProgressStyle};

use super::record::{Plan, record};
use crate::{
    args::{CpuList, ValidateArgs},
    core::{self, Prediction, Study},
    failure::{Finish, ProgramFailed, Usage},
    host::Host,
    launch::{
        self, Launch,
        embedded::{self, Unpacked},
        load::Load,
        resolve, system, turns,
    },
    output,
    report::validation::{self, Comparison, Measured, Validation},
    series::{Run, Series},
};

/// The slice that the recording asks for, as `record` does.
const SLICE: Nanos = Nanos(100_000);

/// What is compared: a prediction for one CPU and one for several, and how to run the program for real on each.
struct Case {
    trace: Trace,
    sides: [Side; 2],
    /// The runs that were made already.
    runs: Runs,
}

/// One of both.
struct Side {
    prediction: Prediction,
    subject: Subject,
}

impl Side {
    fn new(prediction: Prediction, command: &[OsString], pretended: u32) -> anyhow::Result<Self> {
        Ok(Self {
            subject: Subject::new(command, prediction.cpus(), pretended)?,
            prediction,
        })
    }
}

/// How to run a program for real.
#[derive(Clone)]
struct Subject {
    program: PathBuf,
    command: Vec<OsString>,
    cpus: u32,
    /// The number of CPUs that the program is to believe in.
    pretended: u32,
}

impl Subject {
    fn new(command: &[OsString], cpus: u32, pretended: u32) -> anyhow::Result<Self> {
        let name = command.first().map_or(OsStr::new(""), |name| name);
        Ok(Self {
            program: resolve::resolve(name, env::var_os("PATH").as_deref())?,
            command: command.to_vec(),
            cpus,
            pretended,
        })
    }
}

/// Real runs of both sides.
#[derive(Clone, Default)]
struct Runs {
    times: [Vec<Nanos>; 2],
    /// The shares of the CPUs that others used meanwhile.
    loads: Vec<f64>,
}

impl Runs {
    /// How many rounds there were.
    fn rounds(&self) -> u32 {
        self.times[0].len() as u32
    }

    fn foreign_load(&self) -> Option<f64> {
        let count = self.loads.len() as f64;
        (count > 0.0).then(|| self.loads.iter().sum::<f64>() / count)
    }
}

/// Runs the command.
pub fn run(args: &ValidateArgs) -> anyhow::Result<Finish> {
    let allowed = system::allowed_cpus().context("cannot find out which CPUs there are")?;
    let bench = Bench::new(&allowed)?;
    let cases = cases(args, &bench)?;
    let mut comparisons = Vec::new();
    for case in cases {
        let subjects = [&case.sides[0].subject, &case.sides[1].subject];
        let mut runs = case.runs;
        bench.run_until(args.rounds, subjects, &mut runs)?;
        comparisons.push(Comparison {
            trace: case.trace,
            foreign_load: runs.foreign_load(),
            measured: runs.times.map(Measured::of),
            predictions: case.sides.map(|side| side.prediction),
        });
    }
    let validation = Validation {
        rounds: args.rounds,
        comparisons,
    };
    output::warn(&validation.warnings());
    if args.json {
        output::print_json(&validation::Document::new(&validation))?;
    } else {
        output::print(validation::text(&validation))?;
    }
    let worst = validation.worst_error();
    let holds = args
        .fail_if
        .is_none_or(|percent| worst.is_some_and(|worst| 100.0 * worst <= percent));
    Ok(if holds {
        Finish::Fine
    } else {
        Finish::GateFailed
    })
}

/// Makes what is to be compared: of a program that is recorded now, of a recording, or of a series.
fn cases(args: &ValidateArgs, bench: &Bench<'_>) -> anyhow::Result<Vec<Case>> {
    let there = u32::try_from(bench.allowed.len()).unwrap_or(1);
    let asked = args.cpus.as_ref();
    let Some(file) = &args.trace else {
        // A program that starts as many threads as there are CPUs is another program for each number of CPUs.
        let counts = counts(asked, there)?;
        return counts
            .into_iter()
            .map(|cpus| fresh(args, cpus, bench))
            .collect();
    };
    if let Some(series) = Series::load(file)? {
        return of_series(args, file, &series, there);
    }
    let counts = counts(asked, there)?;
    let read = |cpus| {
        let mut trace = core::read_trace(file)?;
        let command = command_of(&trace)?;
        let believed = trace.recording.as_ref().map(|facts| facts.pretended_cpus);
        let believed = args.pretend_cpus.or(believed).unwrap_or(cpus);
        let study = Study::new(&mut trace, &args.how, false)?;
        case(trace, &study, &command, (cpus, believed))
    };
    counts.into_iter().map(read).collect()
}

/// Returns the numbers of CPUs to compare on, all more than one.
fn counts(asked: Option<&CpuList>, there: u32) -> anyhow::Result<Vec<u32>> {
    let asked = asked.map_or_else(|| vec![there], |list| list.0.clone());
    if let Some(more) = asked.iter().find(|&&cpus| cpus > there) {
        let message = format!(
            "--cpus {more}: this process may run on {there} CPUs only, and validate compares with real runs; predict has \
             no such limit"
        );
        return Err(Usage(message).into());
    }
    let counts: Vec<u32> = asked.into_iter().filter(|&cpus| cpus > 1).collect();
    if counts.is_empty() {
        let message = "there is nothing to compare on one CPU alone: ask for --cpus 2, on a machine that has them";
        return Err(Usage(message.to_owned()).into());
    }
    Ok(counts)
}

/// Returns the command that was recorded.
fn command_of(trace: &Trace) -> anyhow::Result<Vec<OsString>> {
    let recording = trace.recording.as_ref();
    let command = recording.map_or(&[][..], |facts| &facts.command);
    anyhow::ensure!(
        !command.is_empty(),
        "{}: does not say which command was recorded, so it cannot be run; name it: foretrace validate -- CMD ARGS",
        trace.source
    );
    Ok(command.iter().map(OsString::from).collect())
}

fn case(
    trace: Trace,
    study: &Study,
    command: &[OsString],
    (cpus, believed): (u32, u32),
) -> anyhow::Result<Case> {
    let mut predictions = study.predict(&[1, cpus], None, || {})?.into_iter();
    let mut side = || {
        let prediction = predictions.next().context("two were asked for")?;
        Side::new(prediction, command, believed)
    };
    let sides = [side()?, side()?];
    let runs = Runs::default();
    Ok(Case { trace, sides, runs })
}

/// Records the program now, and predicts from the recording whose prediction is in the middle. The real runs are made in between:
/// how fast a machine is, above all a virtual one, changes within seconds.
fn fresh(args: &ValidateArgs, cpus: u32, bench: &Bench<'_>) -> anyhow::Result<Case> {
    let believed = args.pretend_cpus.unwrap_or(cpus);
    let one = Subject::new(&args.command, 1, believed)?;
    let several = Subject {
        cpus,
        ..one.clone()
    };
    let mut runs = Runs::default();
    let mut host = args.how.machine.is_none().then(Host::default);
    let (recordings, refill) = recordings(args, believed, |recorded| {
        if let Some(host) = &mut host {
            host.calibrate()?;
        }
        let rounds = args.rounds * recorded / args.recordings;
        bench.run_until(rounds, [&one, &several], &mut runs)
    })?;
    let description = match (host, refill) {
        (Some(host), Some(share)) => host.description().with_refill(share),
        (Some(host), None) => host.description(),
        (None, _) => core::read_machine(args.how.machine.as_deref())?,
    };
    let description = core::as_asked(description, &args.how);
    let mut cases = Vec::new();
    for mut trace in recordings {
        let study = Study::on(description.clone(), &mut trace, &args.how, false)?;
        cases.push(case(trace, &study, &args.command, (cpus, believed))?);
    }
    cases.sort_by(|one, other| {
        // Where it has no speed-up, every model ended in a deadlock: last.
        let key = |case: &Case| speedup(&case.sides[1].prediction).unwrap_or(f64::INFINITY);
        key(one).total_cmp(&key(other))
    });
    let middle = cases.len().saturating_sub(1) / 2;
    let case = cases.into_iter().nth(middle).context("it was recorded")?;
    Ok(Case { runs, ..case })
}

fn speedup(prediction: &Prediction) -> Option<f64> {
    let answer = prediction.answered()?;
    Some(prediction.speedup(&answer.run))
}

/// Records the program as often as was asked for, and finds out how much of its CPU time goes on filling caches that its
/// threads empty for each other when they take turns: that is less when their turns are long. After each recording `between` is
/// called with how many there are.
fn recordings(
    args: &ValidateArgs,
    believed: u32,
    mut between: impl FnMut(u32) -> anyhow::Result<()>,
) -> anyhow::Result<(Vec<Trace>, Option<Share>)> {
    let directory = tempfile::Builder::new()
        .prefix("foretrace-")
        .tempdir()
        .context("cannot make a temporary directory; set TMPDIR to one that can be written")?;
    let recorded_in_turns_of = |slice: Nanos| -> anyhow::Result<Trace> {
        let recorded = record(&Plan {
            command: &args.command,
            output: &directory.path().join("validate.ftrace"),
            pretended_cpus: Some(believed),
            stacks: 0,
            slice: Some(slice),
            cpu: None,
            force: true,
            attached: false,
            children: true,
            find_spins: false,
            quiet: true,
        })?;
        match recorded.exit {
            ExitStatus::Code(0) => Ok(recorded.trace),
            exit => Err(ProgramFailed(exit).into()),
        }
    };
    let mut traces = Vec::new();
    let mut pairs = Vec::new();
    for recorded in 1..=args.recordings {
        let trace = recorded_in_turns_of(SLICE)?;
        if trace.threads.len() > 1 {
            pairs.push(turns::Pair {
                short: trace.total_cpu(),
                long: recorded_in_turns_of(turns::LONG)?.total_cpu(),
            });
        }
        traces.push(trace);
        between(recorded)?;
    }
    Ok((traces, turns::refill(&pairs)))
}

/// Compares each recording of a series with the one for one CPU, or with itself on one CPU where there is none.
fn of_series(
    args: &ValidateArgs,
    file: &Path,
    series: &Series,
    there: u32,
) -> anyhow::Result<Vec<Case>> {
    let asked = |run: &&Run| {
        args.cpus
            .as_ref()
            .is_none_or(|list| list.0.contains(&run.cpus))
    };
    let runs: Vec<&Run> = series
        .runs
        .iter()
        .filter(|run| run.cpus > 1 && run.cpus <= there)
        .filter(asked)
        .collect();
    if runs.is_empty() {
        let message = format!(
            "{}: holds no recording for 2 to {there} CPUs, which this process may run on, that was asked for",
            file.display()
        );
        return Err(Usage(message).into());
    }
    let base = series.runs.first().filter(|run| run.cpus == 1);
    let mut cases = Vec::new();
    for run in runs {
        let mut trace = run.read(file)?;
        let command = command_of(&trace)?;
        let study = Study::new(&mut trace, &args.how, false)?;
        let mut case = case(trace, &study, &command, (run.cpus, run.cpus))?;
        if let Some(base) = base {
            let mut trace = base.read(file)?;
            let command = command_of(&trace)?;
            let study = Study::new(&mut trace, &args.how, false)?;
            let prediction = study.predict(&[1], None, || {})?.into_iter().next();
            let prediction = prediction.context("one was asked for")?;
            case.sides[1].prediction.one_cpu = prediction.one_cpu;
            case.sides[0] = Side::new(prediction, &command, base.cpus)?;
        }
        cases.push(case);
    }
    Ok(cases)
}

/// What all real runs have in common.
struct Bench<'a> {
    allowed: &'a [u32],
    preload: Unpacked,
    bar: ProgressBar,
    cpu_time: Cell<Nanos>,
}

impl<'a> Bench<'a> {
    fn new(allowed: &'a [u32]) -> anyhow::Result<Self> {
        let bar = if output::is_watched() {
            let style = ProgressStyle::with_template("running {wide_bar} {pos}/{len}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(0).with_style(style)
        } else {
            ProgressBar::hidden()
        };
        Ok(Self {
            allowed,
            preload: embedded::PRELOAD.unpack()?,
            bar,
            cpu_time: Cell::new(Nanos(0)),
        })
    }

    /// Runs both sides in turn until there were so many rounds.
    fn run_until(
        &self,
        rounds: u32,
        subjects: [&Subject; 2],
        runs: &mut Runs,
    ) -> anyhow::Result<()> {
        let missing = rounds.saturating_sub(runs.rounds());
        if missing == 0 {
            return Ok(());
        }
        self.cpu_time.set(Nanos(0));
        self.bar.reset();
        self.bar.set_length(2 * u64::from(missing));
        let load = Load::start();
        for _ in 0..missing {
            for (subject, times) in subjects.into_iter().zip(&mut runs.times) {
                times.push(self.run(subject)?);
            }
        }
        self.bar.finish_and_clear();
        runs.loads.extend(load.of_others(self.cpu_time.get()));
        Ok(())
    }

    fn run(&self, subject: &Subject) -> anyhow::Result<Nanos> {
        // The last ones, as `record` takes the last one.
        let cpus = &self.allowed[self.allowed.len() - subject.cpus as usize..];
        if cpus.len() > 1 {
            // The runs on one CPU before it must not be what decides when its threads come to the others.
            let used = core::spread(cpus)?;
            self.cpu_time.set(self.cpu_time.get() + used);
        }
        let ended = launch::run(&Launch {
            program: &subject.program,
            command: &subject.command,
            cpus,
            slice: None,
            pretended_cpus: subject.pretended,
            stacks: 0,
            preload: &self.preload.path,
            journal: None,
            attached: false,
            children: true,
            find_spins: false,
        })?;
        self.bar.inc(1);
        if ended.exit != ExitStatus::Code(0) {
            return Err(ProgramFailed(ended.exit).into());
        }
        self.cpu_time.set(self.cpu_time.get() + ended.cpu_time);
        Ok(ended.wall)
    }
}
