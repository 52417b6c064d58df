//! The one place where the command line calls the crates below it.

use std::{borrow::Cow, env, fs, io::Read as _, path::Path, sync::Arc};

use anyhow::{Context as _, bail};
use foretrace_analysis::{Change, Spots};
use foretrace_calibrate::{Calibration, Effort, Estimate, Streams};
use foretrace_machine::{Description, Share};
use foretrace_program::{Program, Structure};
use foretrace_schedule::{Details, Schedule, SimTime};
use foretrace_sim::{Attempt, Choice, Costs, Course, Machine, ModelKind, Rate, Run, SchedulerKind};
use foretrace_trace::{
    Error, Nanos, Trace,
    journal::{JournalError, ProcessUsage},
};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::args::{Bind, Model, ModelArgs, Scheduler};
use crate::details;
use crate::failure::Usage;
use crate::launch::note;
use crate::report::pools::{self, PoolJson};
use crate::series::Series;

/// A traced program, and how its run is to be predicted.
pub struct Study {
    program: Arc<Program>,
    how: ModelArgs,
    description: Description,
    /// How long caches take to be filled again, as the machine has it; found in the recording.
    refill: Rate,
    all_models: bool,
}

/// A prediction for one number of CPUs.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The machine, and what each model tried on it gave, in order; at least one.
    pub result: foretrace_sim::Prediction,
    /// What the models gave that come after the one that answered; nothing where one was asked for.
    pub others: Vec<Attempt>,
    /// The makespan on one CPU, under the same options, that speed-ups refer to.
    pub one_cpu: SimTime,
    /// The number of workers of each pool, where it is not the recorded one.
    pub workers: Option<u32>,
}

impl Prediction {
    /// Returns the number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.result.machine.cpus
    }

    /// Returns the attempt of the model that answered: the first without a deadlock.
    pub fn answered(&self) -> Option<&Attempt> {
        self.result.answered()
    }

    /// Returns what every model gave, those first that were tried.
    pub fn all_attempts(&self) -> impl Iterator<Item = &Attempt> {
        self.result.attempts.iter().chain(&self.others)
    }

    /// Returns the makespan on one CPU over that of `run`.
    pub fn speedup(&self, run: &Run) -> f64 {
        self.speedup_until(run.end)
    }

    /// Returns the makespan on one CPU over that of a run that ends so.
    pub fn speedup_until(&self, end: SimTime) -> f64 {
        if end == SimTime::ZERO {
            // Nothing took any time, on however many CPUs.
            1.0
        } else {
            self.one_cpu.0 as f64 / end.0 as f64
        }
    }
}

impl Study {
    /// Prepares predictions from a trace, and adds to its warnings what had to be assumed about the program.
    ///
    /// # Errors
    ///
    /// When the trace has no events, or the machine's file cannot be used.
    pub fn new(trace: &mut Trace, how: &ModelArgs, all_models: bool) -> anyhow::Result<Self> {
        Self::on(description(how)?, trace, how, all_models)
    }

    /// Prepares predictions from a trace that may be asked for by other models than this one, later.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn by_any_model(trace: &mut Trace, how: &ModelArgs) -> anyhow::Result<Self> {
        Self::of(description(how)?, trace, (how, false), Program::from_trace)
    }

    /// Prepares predictions for a machine of this description, whatever file is named.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn on(
        description: Description,
        trace: &mut Trace,
        how: &ModelArgs,
        all_models: bool,
    ) -> anyhow::Result<Self> {
        // Looking for pools takes as long as all the rest of what is done before a replay.
        let lower = if all_models || how.workers.is_some() || how.model.knows_queues() {
            Program::from_trace
        } else {
            Program::without_pools
        };
        Self::of(description, trace, (how, all_models), lower)
    }

    fn of(
        description: Description,
        trace: &mut Trace,
        (how, all_models): (&ModelArgs, bool),
        lower: fn(&Trace) -> Program,
    ) -> anyhow::Result<Self> {
        if trace.events.is_empty() {
            let why = trace
                .warnings
                .first()
                .map_or_else(String::new, |why| format!(" ({why})"));
            bail!(
                "{}: holds no events{why}, so there is nothing to predict; record the program again and let it run longer",
                trace.source
            );
        }
        let (program, refill) = match description.refill() {
            Rate(0) => (lower(trace), Rate(0)),
            Rate(share) => {
                let mut without = trace.clone();
                let refill = foretrace_program::take_out_refills(&mut without, share);
                (lower(&without), Rate(refill))
            }
        };
        trace.warnings.extend_from_slice(&program.warnings);
        trace.warnings.extend(description.warnings(&program));
        trace.warnings.extend(pools::warnings(trace, &program));
        let other_models = all_models || !how.model.knows_pools();
        if how.workers.is_some() && other_models {
            let message = "--workers: only the model pool knows the program with another number of workers; leave --model \
                           and --all-models out";
            return Err(Usage(message.to_owned()).into());
        }
        if (how.workers.is_some() || how.model == Model::Pool) && program.pools.is_empty() {
            bail!(pools::none_found(trace, &program));
        }
        Ok(Self {
            program: Arc::new(program),
            how: how.clone(),
            description,
            refill,
            all_models,
        })
    }

    /// Returns the number of CPUs that the machine was described to have.
    pub fn described_cpus(&self) -> Option<u32> {
        self.description.cpus()
    }

    /// Predicts the run on each of these numbers of CPUs, calling `on_progress` after each. Ties are broken by chance where
    /// there is a seed.
    ///
    /// # Errors
    ///
    /// Where the machine that was described cannot have so many.
    pub fn predict(
        &self,
        cpus: &[u32],
        seed: Option<u64>,
        on_progress: impl Fn() + Sync,
    ) -> anyhow::Result<Vec<Prediction>> {
        if let Some(most) = cpus.iter().max() {
            self.description.check_bindings(*most)?;
        }
        let one_cpu = self.one_cpu()?;
        cpus.par_iter()
            .map(|&cpus| {
                let prediction = self.predict_one(cpus, seed, one_cpu)?;
                on_progress();
                Ok(prediction)
            })
            .collect()
    }

    /// Predicts the run on one number of CPUs; `one_cpu` is what speed-ups refer to. Ties are broken by chance where there is a
    /// seed.
    ///
    /// # Errors
    ///
    /// As [`Self::predict`].
    pub fn predict_one(
        &self,
        cpus: u32,
        seed: Option<u64>,
        one_cpu: SimTime,
    ) -> anyhow::Result<Prediction> {
        let machine = Machine {
            seed,
            ..self.machine(cpus)?
        };
        let of_models = self.predict_on(&machine);
        Ok(self.prediction(cpus, of_models, one_cpu))
    }

    /// Puts together a prediction for a number of CPUs, of what the models give that were tried, and what others do.
    fn prediction(
        &self,
        cpus: u32,
        (result, others): (foretrace_sim::Prediction, Vec<Attempt>),
        one_cpu: SimTime,
    ) -> Prediction {
        Prediction {
            result,
            others,
            one_cpu,
            workers: self.how.workers.map(|workers| workers.on(cpus)),
        }
    }

    /// Returns a study of the same program under other conditions; what it was assumed to spend on refilling caches stays.
    ///
    /// # Errors
    ///
    /// When the machine's file cannot be used.
    pub fn under(&self, how: &ModelArgs, all_models: bool) -> anyhow::Result<Self> {
        Ok(Self {
            program: Arc::clone(&self.program),
            how: how.clone(),
            description: description(how)?,
            refill: self.refill,
            all_models,
        })
    }

    /// Predicts the whole course of the run on a number of CPUs, and says on what machine. `go_on` is called now and then
    /// with the operations that are done and all that there are; `None` where it said that the rest is not wanted.
    ///
    /// # Errors
    ///
    /// As [`Self::predict`].
    pub fn course(
        &self,
        cpus: u32,
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> anyhow::Result<Option<(Course, Machine)>> {
        self.description.check_bindings(cpus)?;
        let machine = self.machine(cpus)?;
        let program = self.program_on(cpus);
        let course = foretrace_sim::course(&program, &machine, self.choice(), go_on);
        Ok(course.map(|course| (course, machine)))
    }

    /// Predicts the run on one number of CPUs by the model that answers, and by none after it; `one_cpu` is what speed-ups refer to.
    ///
    /// # Errors
    ///
    /// As [`Self::predict`].
    pub fn answer(&self, cpus: u32, one_cpu: SimTime) -> anyhow::Result<Prediction> {
        self.description.check_bindings(cpus)?;
        let machine = self.machine(cpus)?;
        let program = self.program_on(cpus);
        let result = foretrace_sim::predict(&program, &machine, self.choice());
        Ok(self.prediction(cpus, (result, Vec::new()), one_cpu))
    }

    /// Predicts the course of what a prediction shows, with every operation.
    ///
    /// # Errors
    ///
    /// As [`Self::predict`].
    pub fn course_of(&self, prediction: &Prediction) -> anyhow::Result<Course> {
        let machine = &prediction.result.machine;
        let program = self.program_on(machine.cpus);
        let choice = Choice::Only(shown(prediction)?);
        let course = foretrace_sim::course(&program, machine, choice, &|_, _| true);
        course.context("nobody cancels it")
    }

    /// Predicts the run of the program after a change, where a prediction says how it runs before that, under the model that answered there. `None`
    /// where nothing would change, or where it cannot be told.
    pub fn after(&self, change: &Change, spots: &Spots<'_>, before: &Prediction) -> Option<Run> {
        let program = self.program_on(before.cpus());
        let (program, machine) = change.apply(spots, &program, &before.result.machine)?;
        let model = before.answered()?.model;
        Some(foretrace_sim::run(&program, &machine, model)).filter(Run::is_complete)
    }

    /// Returns how many threads the program has on so many CPUs.
    pub fn threads_on(&self, cpus: u32) -> u32 {
        let threads = self.program_on(cpus).threads.len();
        u32::try_from(threads).unwrap_or(u32::MAX)
    }

    /// Returns whether threads of the program take tasks from a shared queue.
    pub fn has_pools(&self) -> bool {
        !self.program.pools.is_empty()
    }

    /// Returns what the models tried give, and what those give that come after the one that answers.
    fn predict_on(&self, machine: &Machine) -> (foretrace_sim::Prediction, Vec<Attempt>) {
        let program = self.program_on(machine.cpus);
        let choice = self.choice();
        if choice != Choice::Auto {
            return (
                foretrace_sim::predict(&program, machine, choice),
                Vec::new(),
            );
        }
        let mut result = foretrace_sim::predict_all(&program, machine);
        if self.all_models {
            return (result, Vec::new());
        }
        let answers = |attempt: &Attempt| attempt.run.is_complete();
        let answered = result.attempts.iter().position(answers);
        let tried = answered.map_or(result.attempts.len(), |index| index + 1);
        let others = result.attempts.split_off(tried);
        (result, others)
    }

    /// Returns which models are to answer.
    fn choice(&self) -> Choice {
        match self.how.workers {
            // The other models know nothing but the recorded workers.
            Some(_) => Choice::Only(ModelKind::Pool),
            None => choice(self.how.model),
        }
    }

    /// Returns the program as it is on so many CPUs: with the number of workers that was asked for.
    fn program_on(&self, cpus: u32) -> Cow<'_, Program> {
        match self.how.workers {
            Some(workers) => Cow::Owned(self.program.with_workers(workers.on(cpus))),
            None => Cow::Borrowed(&self.program),
        }
    }

    /// Returns the makespan on one CPU; under `strict` where the models asked for end in a deadlock even there.
    ///
    /// # Errors
    ///
    /// As [`Self::predict`].
    pub fn one_cpu(&self) -> anyhow::Result<SimTime> {
        let machine = self.machine(1)?;
        // The models after the one that answers are not asked for: nobody is told what they say here.
        let program = self.program_on(1);
        let prediction = foretrace_sim::predict(&program, &machine, self.choice());
        Ok(match prediction.answer() {
            Some(run) => run.end,
            None => foretrace_sim::run(&self.program, &machine, ModelKind::Strict).end,
        })
    }

    /// Returns the whole course of a prediction: of the model that answered, else of the last one tried, whose deadlock
    /// is worth looking at, too.
    pub fn schedule(&self, prediction: &Prediction) -> anyhow::Result<Schedule> {
        let machine = &prediction.result.machine;
        Ok(foretrace_sim::schedule(
            &self.program_on(machine.cpus),
            machine,
            shown(prediction)?,
        ))
    }

    /// Returns the same; `go_on` is called as by [`Self::course`], and `None` returned where it said that the rest is not wanted.
    ///
    /// # Errors
    ///
    /// As [`Self::predict`].
    pub fn one_cpu_while(
        &self,
        go_on: &dyn Fn(usize, usize) -> bool,
    ) -> anyhow::Result<Option<SimTime>> {
        let machine = self.machine(1)?;
        let program = self.program_on(1);
        let answer = foretrace_sim::run_while(&program, &machine, self.choice(), go_on);
        let strict = Choice::Only(ModelKind::Strict);
        let run = match answer {
            Some(run) if !run.is_complete() => {
                foretrace_sim::run_while(&self.program, &machine, strict, go_on)
            }
            answer => answer,
        };
        Ok(run.map(|run| run.end))
    }

    /// Saves the course of a prediction, as [`Self::schedule`] returns it, with every operation of the trace that it is of.
    pub fn save(&self, prediction: &Prediction, trace: &Trace, path: &Path) -> anyhow::Result<()> {
        let course = self.course_of(prediction)?;
        let details = details::of(trace, &course.schedule, course.marks);
        write_schedule(&course.schedule, &details, path)
    }

    fn machine(&self, cpus: u32) -> anyhow::Result<Machine> {
        let asked = self.how.scheduler.map(scheduler);
        let mut machine = self.description.machine(cpus, &self.program, asked)?;
        machine.bind = bind(self.how.bind);
        machine.memory.refill = self.refill;
        Ok(machine)
    }
}

/// Returns the model whose course is shown.
fn shown(prediction: &Prediction) -> anyhow::Result<ModelKind> {
    let attempt = prediction
        .answered()
        .or(prediction.result.attempts.last())
        .context("a prediction tries at least one model")?;
    Ok(attempt.model)
}

fn choice(model: Model) -> Choice {
    match model {
        Model::Auto => Choice::Auto,
        Model::Pool => Choice::Only(ModelKind::Pool),
        Model::Direct => Choice::Only(ModelKind::Direct),
        Model::ClientServer => Choice::Only(ModelKind::ClientServer),
        Model::Strict => Choice::Only(ModelKind::Strict),
    }
}

fn scheduler(scheduler: Scheduler) -> SchedulerKind {
    match scheduler {
        Scheduler::Priority => SchedulerKind::Priority,
        Scheduler::Fair => SchedulerKind::Fair,
        Scheduler::RoundRobin => SchedulerKind::RoundRobin,
    }
}

fn bind(bind: Bind) -> foretrace_sim::Bind {
    match bind {
        Bind::None => foretrace_sim::Bind::None,
        Bind::Free => foretrace_sim::Bind::Free,
        Bind::Block => foretrace_sim::Bind::Block,
    }
}

/// Reads a trace from a sealed trace, a text trace, or a directory in which the recorder left a journal.
pub fn read_trace(path: &Path) -> anyhow::Result<Trace> {
    if let Some(series) = Series::load(path)? {
        let traces = series
            .runs
            .iter()
            .map(|run| run.trace.display().to_string());
        bail!(
            "{}: a series of recordings, which `predict` and `info` read; name one of its traces: {}",
            path.display(),
            traces.collect::<Vec<_>>().join(", ")
        );
    }
    if is_schedule(path).unwrap_or(false) {
        bail!(
            "{}: a saved prediction, which `view` and `export` read; name the trace that it was made from",
            path.display()
        );
    }
    let mut trace = foretrace_trace::read(path).map_err(|error| versions_told(path, error))?;
    if path.is_dir() {
        note::complete(path, &mut trace.recording);
    }
    Ok(trace)
}

/// Reads a directory that a recording was just made in, and when the trace's time began, by `CLOCK_MONOTONIC`. `first` is of the
/// process that it was started with.
pub fn read_recording(path: &Path, first: ProcessUsage) -> anyhow::Result<(Trace, Nanos)> {
    let read = foretrace_trace::read_recording(path, first);
    let (mut trace, start) = read.map_err(|error| versions_told(path, error))?;
    note::complete(path, &mut trace.recording);
    Ok((trace, start))
}

/// How long a trace is.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The number of its events.
    pub events: usize,
    /// The CPU time of all its threads together.
    pub cpu_time: Nanos,
}

impl Extent {
    /// Measures a trace.
    pub fn of(trace: &Trace) -> Self {
        Self {
            events: trace.events.len(),
            cpu_time: trace.total_cpu(),
        }
    }

    /// Measures a trace; and gives back the memory of its events, which its program stands for from now on, unless they are to
    /// be saved with a schedule.
    pub fn of_read(trace: &mut Trace, is_saved: bool) -> Self {
        let extent = Self::of(trace);
        if !is_saved {
            trace.events = Vec::new();
        }
        extent
    }
}

/// Notes which files were mapped, so that one knows later whether they are still the same. Right after the recording.
pub fn identify_modules(trace: &mut Trace) {
    for module in &mut trace.modules {
        module.build_id = foretrace_symbols::build_id(Path::new(&module.path));
    }
}

/// Names the versions of foretrace where a journal is of another one: the number in the file means nothing to users.
fn versions_told(path: &Path, error: foretrace_trace::Error) -> anyhow::Error {
    let is_version = matches!(error, Error::Journal(JournalError::Version { .. }));
    match note::version(path).filter(|_| is_version) {
        Some(recorder) => anyhow::Error::from(error).context(format!(
            "{0}: recorded by foretrace {recorder}, and this is foretrace {1}, which does not know its journals; run \
             `foretrace recover {0}` of version {recorder} to make a trace of it, which newer versions read",
            path.display(),
            env!("CARGO_PKG_VERSION")
        )),
        None => error.into(),
    }
}

/// What is found out about a trace's program.
#[derive(Debug)]
pub struct Findings {
    /// What a prediction has to assume.
    pub assumptions: Vec<String>,
    /// What its condition variables are.
    pub structures: Vec<Structure>,
    /// Its work pools.
    pub pools: Vec<PoolJson>,
}

/// Finds out what there is to know about a trace's program without a prediction.
pub fn findings(trace: &Trace) -> Findings {
    let program = Program::from_trace(trace);
    let pools = PoolJson::all(trace, &program);
    let warnings = pools::warnings(trace, &program);
    Findings {
        assumptions: program.warnings.into_iter().chain(warnings).collect(),
        structures: program.structures,
        pools,
    }
}

/// Returns what is said of the machine.
///
/// # Errors
///
/// When the machine's file cannot be used.
pub fn description(how: &ModelArgs) -> anyhow::Result<Description> {
    Ok(as_asked(read_machine(how.machine.as_deref())?, how))
}

/// Returns a description with what the command line says of it.
pub fn as_asked(description: Description, how: &ModelArgs) -> Description {
    match how.memory_bound {
        Some(bound) => description.with_memory_bound(bound),
        None => description,
    }
}

/// Reads a machine's file, where there is one.
pub fn read_machine(path: Option<&Path>) -> anyhow::Result<Description> {
    Ok(path.map(Description::load).transpose()?.unwrap_or_default())
}

/// Measures what it costs here to let threads go on, where they go on, and what the memory gives them.
pub fn calibrate(effort: Effort) -> anyhow::Result<Calibration> {
    foretrace_calibrate::calibrate(effort).context("cannot measure this machine")
}

/// Lets the system use all these CPUs again after programs were confined to one; returns the CPU time that this took.
pub fn spread(cpus: &[u32]) -> anyhow::Result<Nanos> {
    let used = foretrace_calibrate::spread(cpus).context("cannot run on all CPUs")?;
    Ok(Nanos(u64::try_from(used.as_nanos()).unwrap_or(u64::MAX)))
}

/// Returns how many CPUs can access the memory at once at full speed, where those that there are were more.
pub fn bandwidth(streams: &Streams) -> Option<f64> {
    let billionths = streams.bandwidth()?;
    Some(billionths as f64 / Rate::ONE.0 as f64)
}

/// Returns this machine with the costs that were measured, in tenths of a microsecond, and the memory's bandwidth; the usual
/// ones where none could be.
pub fn calibrated(measured: &Calibration) -> Description {
    let Some(between) = &measured.between else {
        return Description::default();
    };
    let time =
        |estimate: &Estimate| SimTime::from_nanos((estimate.distinct_nanos() + 50) / 100 * 100);
    let description = Description::default().with_costs(&Costs {
        wake_latency: time(&between.wake_latency),
        shallow_latency: time(&between.shallow_latency),
        shallow_idle: SimTime::from_nanos(
            u64::try_from(between.shallow_idle.as_nanos()).unwrap_or(u64::MAX),
        ),
        wake_cost: time(&between.wake_cost),
        preempt_cost: time(&between.preempt_cost),
        block_cost: time(&between.block_cost),
        // Shorter than the others by far.
        lock_transfer: SimTime::from_nanos(between.lock_transfer.distinct_nanos()),
        call_cost: SimTime::from_nanos(between.call_cost.distinct_nanos() / 10 * 10),
        offer_cost: time(&between.offer_cost),
        remap_cost: time(&between.remap_cost),
        create_cost: between.create_cost.as_ref().map_or(SimTime::ZERO, time),
        ..Costs::NONE
    });
    let from = between.placement.searches_from();
    let description = description
        .with_idle_search(from.is_some())
        .with_idle_search_from(Share::nearest(from.unwrap_or(0.0)));
    match &measured.streams {
        Some(streams) => {
            // Where they do not slow each other down, there is bandwidth for all of them at least.
            let all = u64::from(streams.cpus) * Rate::ONE.0;
            let bandwidth = streams.bandwidth().unwrap_or(all);
            // To a hundredth: it is not known better.
            description.with_bandwidth(Rate(bandwidth / 10_000_000 * 10_000_000))
        }
        None => description,
    }
}

/// Reads a schedule and what is known of its operations; `None` where the file is something else.
pub fn read_schedule(path: &Path) -> anyhow::Result<Option<(Schedule, Details)>> {
    if is_schedule(path)? {
        return Ok(Some(Schedule::load_with_details(path)?));
    }
    Ok(None)
}

/// Returns whether a file begins as saved schedules do.
pub fn is_schedule(path: &Path) -> anyhow::Result<bool> {
    let mut start = Vec::new();
    if fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        let file =
            fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        file.take(foretrace_schedule::file::MAGIC.len() as u64)
            .read_to_end(&mut start)?;
    }
    Ok(start == foretrace_schedule::file::MAGIC)
}

/// Puts a trace file in place, whole or not at all.
pub fn save_trace(trace: &Trace, path: &Path) -> anyhow::Result<()> {
    Ok(foretrace_trace::sealed::write(trace, path)?)
}

/// Saves a schedule, and what is known of its operations.
pub fn write_schedule(schedule: &Schedule, details: &Details, path: &Path) -> anyhow::Result<()> {
    Ok(schedule.save(details, path)?)
}
