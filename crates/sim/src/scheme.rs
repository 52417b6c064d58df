//! Running models, one or in turn: Direct; on deadlock Client-Server; on deadlock Strict.
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
    models::{ClientServer, Direct, Model, Strict},
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
    for model in models(choice) {
        let run = run(program, machine, *model);
        let complete = run.is_complete();
        attempts.push(Attempt { model: *model, run });
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
    let attempts = ModelKind::ALL
        .iter()
        .map(|&model| Attempt {
            model,
            run: run(program, machine, model),
        })
        .collect();
    Prediction {
        machine: machine.clone(),
        attempts,
    }
}

fn models(choice: Choice) -> &'static [ModelKind] {
    match choice {
        Choice::Auto => &ModelKind::ALL,
        Choice::Only(ModelKind::Direct) => &ModelKind::ALL[..1],
        Choice::Only(ModelKind::ClientServer) => &ModelKind::ALL[1..2],
        Choice::Only(ModelKind::Strict) => &ModelKind::ALL[2..],
    }
}

/// Runs one model.
pub fn run(program: &Program, machine: &Machine, model: ModelKind) -> Run {
    match model {
        ModelKind::Direct => simulate::<Direct, _>(program, machine, Nobody).0,
        ModelKind::ClientServer => simulate::<ClientServer, _>(program, machine, Nobody).0,
        ModelKind::Strict => simulate::<Strict, _>(program, machine, Nobody).0,
    }
}

/// Runs one model and keeps the whole course of it.
pub fn schedule(program: &Program, machine: &Machine, model: ModelKind) -> Schedule {
    let lanes = program.threads.iter().map(|thread| Lane {
        name: thread.name.clone(),
        process: thread.process.0,
        ..Lane::default()
    });
    let builder = LaneBuilder::new(lanes.collect());
    let (run, builder) = match model {
        ModelKind::Direct => simulate::<Direct, _>(program, machine, builder),
        ModelKind::ClientServer => simulate::<ClientServer, _>(program, machine, builder),
        ModelKind::Strict => simulate::<Strict, _>(program, machine, builder),
    };
    let (lanes, wakes) = builder.finish(run.end.0);
    let label = |object: &foretrace_trace::Object| ObjectLabel {
        kind: object.kind,
        name: object.name.clone(),
    };
    Schedule {
        source: program.source.clone(),
        model: model.name().to_owned(),
        cpus: machine.cpus,
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
    let mut engine = Engine::<M, O>::new(program, machine, observer);
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
    };
    (run, engine.observer)
}
