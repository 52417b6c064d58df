//! The one place where the command line calls the crates below it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use foretrace_schedule::{Outcome, Schedule, SimTime};
use foretrace_trace::Trace;

use crate::args::{Bind, Model, ModelArgs, Scheduler};

/// What to predict.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model or the order of models.
    pub model: Model,
    /// Whether to try the models after the one that answered, too.
    pub all_models: bool,
    /// Who runs when there are more threads than CPUs.
    pub scheduler: Scheduler,
    /// Which CPUs a thread may run on.
    pub bind: Bind,
}

impl Request {
    /// Completes the options with what the trace suggests.
    pub fn new(trace: &Trace, how: ModelArgs, all_models: bool) -> Self {
        Self {
            model: how.model,
            all_models,
            scheduler: how.scheduler.unwrap_or_else(|| default_scheduler(trace)),
            bind: how.bind,
        }
    }
}

fn default_scheduler(trace: &Trace) -> Scheduler {
    let all_prioritized = trace.threads.iter().all(|thread| thread.priority.is_some());
    if all_prioritized && !trace.threads.is_empty() {
        Scheduler::Priority
    } else {
        Scheduler::Fair
    }
}

/// A prediction for one number of CPUs.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The number of CPUs.
    pub cpus: u32,
    /// What each model tried gave, in order; at least one.
    pub attempts: Vec<Schedule>,
    /// The makespan on one CPU, under the same options, that speed-ups refer to.
    pub one_cpu: SimTime,
}

impl Prediction {
    /// Returns the schedule of the model that answered: the first without a deadlock.
    pub fn answer(&self) -> Option<&Schedule> {
        self.attempts
            .iter()
            .find(|schedule| schedule.outcome == Outcome::Completed)
    }

    /// Returns the makespan on one CPU over that of `schedule`.
    pub fn speedup(&self, schedule: &Schedule) -> f64 {
        if schedule.end == SimTime::ZERO {
            // Nothing took any time, on however many CPUs.
            1.0
        } else {
            self.one_cpu.0 as f64 / schedule.end.0 as f64
        }
    }
}

/// Reads a trace from a sealed trace, a journal or a text trace.
pub fn read_trace(path: &Path) -> anyhow::Result<Trace> {
    Ok(foretrace_trace::read(path)?)
}

/// Reads a text trace.
pub fn read_text(path: &Path) -> anyhow::Result<Trace> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    Ok(foretrace_trace::text::parse(&text, &name)?)
}

/// Reads what the recorder left in a directory.
pub fn read_journal(_directory: &Path) -> anyhow::Result<Trace> {
    // TODO: foretrace_trace::journal::read_dir(directory)
    anyhow::bail!("not connected yet")
}

/// Puts a trace file in place, whole or not at all.
pub fn save_trace(trace: &Trace, path: &Path) -> anyhow::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".partial-{}", std::process::id()));
    let partial = PathBuf::from(partial);
    let save = || -> anyhow::Result<()> {
        write_sealed(trace, &partial)?;
        // The journal is removed when this returns, so the data must have reached the disk.
        File::open(&partial)?.sync_all()?;
        Ok(fs::rename(&partial, path)?)
    };
    let saved = save().with_context(|| format!("cannot write {}", path.display()));
    if saved.is_err() {
        let _ = fs::remove_file(&partial);
    }
    saved
}

fn write_sealed(_trace: &Trace, _path: &Path) -> anyhow::Result<()> {
    // TODO: foretrace_trace::sealed::write(trace, path)
    anyhow::bail!("not connected yet")
}

/// Returns a trace as text.
pub fn text_of(_trace: &Trace) -> anyhow::Result<String> {
    // TODO: foretrace_trace::text::write(trace)
    anyhow::bail!("not connected yet")
}

/// Predicts the run on each of these numbers of CPUs, calling `on_progress` after each.
pub fn predict(
    _trace: &Trace,
    request: &Request,
    _cpus: &[u32],
    _on_progress: impl Fn(),
) -> anyhow::Result<Vec<Prediction>> {
    // TODO: foretrace_program, foretrace_sim; `one_cpu` from a prediction on one CPU
    let _ = (request.model, request.all_models);
    anyhow::bail!("not connected yet")
}

/// Draws a schedule.
pub fn render_svg(_schedule: &Schedule) -> anyhow::Result<String> {
    // TODO: foretrace_gantt::render(schedule, &SvgOptions::default())
    anyhow::bail!("not connected yet")
}

/// Saves a schedule.
pub fn write_schedule(_schedule: &Schedule, _path: &Path) -> anyhow::Result<()> {
    // TODO: foretrace_schedule
    anyhow::bail!("not connected yet")
}
