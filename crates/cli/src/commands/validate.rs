//! `foretrace validate`: predicts from a recording on one CPU, then really runs on the CPUs that exist.

use std::{cell::Cell, env, ffi::OsStr, path::PathBuf};

use anyhow::Context as _;
use foretrace_trace::{ExitStatus, Nanos, Trace};
use indicatif::{ProgressBar, ProgressStyle};

use super::record::{Plan, record};
use crate::{
    args::ValidateArgs,
    core::{Prediction, Study},
    failure::{Finish, ProgramFailed, Usage},
    launch::{
        self, Launch,
        embedded::{self, Unpacked},
        load::Load,
        resolve, system,
    },
    output,
    report::validation::{self, Comparison, Measured, Validation},
};

/// The slice that the recording asks for, as `record` does.
const SLICE: Nanos = Nanos(100_000);

/// Runs the command.
pub fn run(args: &ValidateArgs) -> anyhow::Result<Finish> {
    let allowed = system::allowed_cpus().context("cannot find out which CPUs there are")?;
    let counts = counts(args, &allowed)?;
    let bench = Bench::new(args, &allowed)?;
    let mut comparisons = Vec::new();
    // A program that starts as many threads as there are CPUs is another program for each number of CPUs.
    for &cpus in &counts {
        let (trace, predictions) = predict(args, cpus)?;
        let load = Load::start();
        let (one_cpu, on_all) = bench.measure(args, cpus)?;
        comparisons.push(Comparison {
            trace,
            predictions,
            one_cpu,
            on_all,
            foreign_load: load.of_others(bench.cpu_time()),
        });
    }
    let validation = Validation {
        command: args.command.clone(),
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

/// Returns the numbers of CPUs to compare on, all more than one.
fn counts(args: &ValidateArgs, allowed: &[u32]) -> anyhow::Result<Vec<u32>> {
    let there = u32::try_from(allowed.len()).unwrap_or(1);
    let asked = args
        .cpus
        .as_ref()
        .map_or_else(|| vec![there], |list| list.0.clone());
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

/// Records the program and predicts its run on one CPU and on `cpus`.
fn predict(args: &ValidateArgs, cpus: u32) -> anyhow::Result<(Trace, Vec<Prediction>)> {
    let directory = tempfile::Builder::new()
        .prefix("foretrace-")
        .tempdir()
        .context("cannot make a temporary directory; set TMPDIR to one that can be written")?;
    let recorded = record(&Plan {
        command: &args.command,
        output: &directory.path().join("validate.ftrace"),
        pretended_cpus: Some(args.pretend_cpus.unwrap_or(cpus)),
        stacks: 0,
        slice: Some(SLICE),
        cpu: None,
        force: false,
        attached: false,
        children: true,
        find_spins: false,
        quiet: true,
    })?;
    if recorded.exit != ExitStatus::Code(0) {
        return Err(ProgramFailed(recorded.exit).into());
    }
    let mut trace = recorded.trace;
    let study = Study::new(&mut trace, &args.how, false)?;
    let predictions = study.predict(&[1, cpus], || {})?;
    Ok((trace, predictions))
}

/// What all real runs have in common.
struct Bench<'a> {
    program: PathBuf,
    allowed: &'a [u32],
    preload: Unpacked,
    bar: ProgressBar,
    cpu_time: Cell<Nanos>,
}

impl<'a> Bench<'a> {
    fn new(args: &ValidateArgs, allowed: &'a [u32]) -> anyhow::Result<Self> {
        let name = args.command.first().map_or(OsStr::new(""), |name| name);
        let bar = if output::is_watched() {
            let style = ProgressStyle::with_template("running {wide_bar} {pos}/{len}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(0).with_style(style)
        } else {
            ProgressBar::hidden()
        };
        Ok(Self {
            program: resolve::resolve(name, env::var_os("PATH").as_deref())?,
            allowed,
            preload: embedded::PRELOAD.unpack()?,
            bar,
            cpu_time: Cell::new(Nanos(0)),
        })
    }

    /// Runs the program in turn on one CPU and on `cpus`.
    fn measure(&self, args: &ValidateArgs, cpus: u32) -> anyhow::Result<(Measured, Measured)> {
        self.cpu_time.set(Nanos(0));
        self.bar.inc_length(2 * u64::from(args.rounds));
        let (mut one, mut all) = (Vec::new(), Vec::new());
        for _ in 0..args.rounds {
            one.push(self.run(args, 1, cpus)?);
            all.push(self.run(args, cpus, cpus)?);
        }
        self.bar.finish_and_clear();
        Ok((Measured::of(one), Measured::of(all)))
    }

    fn run(&self, args: &ValidateArgs, cpus: u32, compared: u32) -> anyhow::Result<Nanos> {
        // The last ones, as `record` takes the last one.
        let first = self.allowed.len() - cpus as usize;
        let ended = launch::run(&Launch {
            program: &self.program,
            command: &args.command,
            cpus: &self.allowed[first..],
            slice: None,
            pretended_cpus: args.pretend_cpus.unwrap_or(compared),
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

    /// Returns the CPU time of the runs since the last comparison began.
    fn cpu_time(&self) -> Nanos {
        self.cpu_time.get()
    }
}
