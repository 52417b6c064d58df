//! Running models, one or in turn: Pool where there is one; Direct; on deadlock Client-Server; on deadlock Strict.
//!
//! # Source
//!
//! VPPB, section 7.

use foretrace_program::Program;
use foretrace_schedule::{BlockedThread, Lane, ObjectLabel, Outcome, Schedule, SimTime};

use crate::{
    Machine, ModelKind,
    core::Status,
    engine::Engine,
    models::{ClientServer, Direct, Model, Pool, Strict, TaskOrder},
    observer::{LaneBuilder, Nobody, Observer},
    report,
};

/// Which model is to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first that does not deadlock.
    Auto,
    /// This one.
    Only(ModelKind),
}

/// What a model says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The model.
    pub model: ModelKind,
    /// What came of it.
    pub run: Run,
    /// The shortest and the longest makespan, where the Pool model does not know in which order tasks are taken.
    pub spread: Option<(SimTime, SimTime)>,
}

/// A finished simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// How it ended.
    pub outcome: Outcome,
    /// When the last event took place: the makespan, or the instant of the deadlock.
    pub end: SimTime,
    /// When each thread ended.
    pub finish: Vec<Option<SimTime>>,
    /// Waits that nothing ended, of threads that went on in the recording: under the last model they are over when nothing else can happen.
    pub overruled: Vec<Overruled>,
}

/// A wait that was over in the recording, though nothing there ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overruled {
    /// The event of the trace that the wait began with.
    pub event: u32,
    /// Who waited for what.
    pub wait: BlockedThread,
}

impl Run {
    /// Returns whether every thread ended.
    pub fn is_complete(&self) -> bool {
        self.outcome == Outcome::Completed
    }

    /// Returns those that wait for ever.
    pub fn blocked(&self) -> &[BlockedThread] {
        match &self.outcome {
            Outcome::Completed => &[],
            Outcome::Deadlock(blocked) => blocked,
        }
    }
}

/// What the models say about one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The machine.
    pub machine: Machine,
    /// Every model tried, in order.
    pub attempts: Vec<Attempt>,
}

impl Prediction {
    /// Returns the attempt that answers: the first that did not deadlock.
    pub fn answered(&self) -> Option<&Attempt> {
        self.attempts
            .iter()
            .find(|attempt| attempt.run.is_complete())
    }

    /// Returns the run that answers.
    pub fn answer(&self) -> Option<&Run> {
        self.answered().map(|attempt| &attempt.run)
    }
}

/// Predicts a program's run on a machine.
pub fn predict(program: &Program, machine: &Machine, choice: Choice) -> Prediction {
    let mut attempts = Vec::new();
    for model in models(program, choice) {
        let attempt = attempt(program, machine, model);
        let complete = attempt.run.is_complete();
        attempts.push(attempt);
        if complete {
            break;
        }
    }
    Prediction {
        machine: machine.clone(),
        attempts,
    }
}

/// Predicts with every model, whether or not an earlier one answered.
pub fn predict_all(program: &Program, machine: &Machine) -> Prediction {
    let attempts = models(program, Choice::Auto)
        .into_iter()
        .map(|model| attempt(program, machine, model))
        .collect();
    Prediction {
        machine: machine.clone(),
        attempts,
    }
}

/// Returns the models to try, in order.
pub(crate) fn models(program: &Program, choice: Choice) -> Vec<ModelKind> {
    match choice {
        Choice::Auto => {
            let pool = (!program.pools.is_empty()).then_some(ModelKind::Pool);
            pool.into_iter().chain(ModelKind::ALL).collect()
        }
        Choice::Only(model) => vec![model],
    }
}

fn attempt(program: &Program, machine: &Machine, model: ModelKind) -> Attempt {
    let run = run(program, machine, model);
    Attempt {
        model,
        spread: spread(program, machine, model, &run),
        run,
    }
}

/// Returns between what the makespan lies where the order of a pool's tasks is not known.
fn spread(
    program: &Program,
    machine: &Machine,
    model: ModelKind,
    run: &Run,
) -> Option<(SimTime, SimTime)> {
    let known = program.pools.iter().all(|pool| pool.ordered);
    if model != ModelKind::Pool || known || !run.is_complete() {
        return None;
    }
    let others = [TaskOrder::Last, TaskOrder::Longest].map(|order| {
        let run = simulate_pool(program, machine, order, Nobody).0;
        run.is_complete().then_some(run.end)
    });
    let ends = || others.into_iter().flatten().chain([run.end]);
    Some((ends().min()?, ends().max()?)).filter(|(least, most)| least != most)
}

/// Runs one model.
pub fn run(program: &Program, machine: &Machine, model: ModelKind) -> Run {
    observe(program, machine, model, Nobody).0
}

/// Runs one model and keeps the whole course of it.
pub fn schedule(program: &Program, machine: &Machine, model: ModelKind) -> Schedule {
    let (run, builder) = observe(program, machine, model, lane_builder(program));
    to_schedule(program, machine, model, run, builder)
}

/// Makes a builder with a lane for each thread.
pub(crate) fn lane_builder(program: &Program) -> LaneBuilder {
    let lanes = program.threads.iter().map(|thread| Lane {
        name: thread.name.clone(),
        process: thread.process.0,
        ..Lane::default()
    });
    LaneBuilder::new(lanes.collect())
}

/// Runs one model under an observer's eyes.
pub(crate) fn observe<O: Observer>(
    program: &Program,
    machine: &Machine,
    model: ModelKind,
    observer: O,
) -> (Run, O) {
    match model {
        ModelKind::Direct => simulate::<Direct, _>(program, machine, observer),
        ModelKind::ClientServer => simulate::<ClientServer, _>(program, machine, observer),
        ModelKind::Strict => simulate::<Strict, _>(program, machine, observer),
        ModelKind::Pool => simulate_pool(program, machine, TaskOrder::default(), observer),
    }
}

/// Puts together what a run under a builder's eyes gave.
pub(crate) fn to_schedule(
    program: &Program,
    machine: &Machine,
    model: ModelKind,
    run: Run,
    builder: LaneBuilder,
) -> Schedule {
    let (lanes, wakes) = builder.finish(run.end.0);
    let label = |object: &foretrace_trace::Object| ObjectLabel {
        kind: object.kind,
        name: object.name.clone(),
    };
    Schedule {
        source: program.source.clone(),
        model: model.name().to_owned(),
        cpus: machine.cpus,
        network: None,
        end: run.end,
        outcome: run.outcome,
        processes: program
            .processes
            .iter()
            .map(|process| process.name.clone())
            .collect(),
        lanes,
        objects: program.objects.iter().map(label).collect(),
        wakes,
    }
}

fn simulate<M: Model, O: Observer>(program: &Program, machine: &Machine, observer: O) -> (Run, O) {
    finish(Engine::<M, O>::new(program, machine, observer))
}

fn simulate_pool<O: Observer>(
    program: &Program,
    machine: &Machine,
    order: TaskOrder,
    observer: O,
) -> (Run, O) {
    let mut engine = Engine::<Pool, O>::new(program, machine, observer);
    engine.model.set_order(order);
    finish(engine)
}

fn finish<M: Model, O: Observer>(mut engine: Engine<'_, M, O>) -> (Run, O) {
    engine.run();
    let blocked = report::blocked_threads(&engine);
    let finish = engine
        .core
        .threads
        .iter()
        .map(|state| (state.status == Status::Ended).then_some(SimTime(state.since)));
    let run = Run {
        outcome: if blocked.is_empty() {
            Outcome::Completed
        } else {
            Outcome::Deadlock(blocked)
        },
        end: SimTime(engine.core.now),
        finish: finish.collect(),
        overruled: engine.overruled,
    };
    (run, engine.observer)
}
