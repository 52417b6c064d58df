//! Replays: one model, or one after the other until one comes to an end.

use foretrace_network::Network;

use crate::{
    Outcome, Program, Run, TaskGraph,
    engine::Engine,
    graph,
    observer::{Nobody, Observer},
};

/// Who a receive from anybody gets its message from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Whoever comes first in simulated time.
    Direct,
    /// Whoever it was in the recording, as far as that is known; a rank's operations keep their order, so that between
    /// ranks this is what `Strict` does.
    ClientServer,
    /// Whoever it was in the recording, as far as that is known.
    Strict,
}

impl Model {
    /// All, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Direct, Self::ClientServer, Self::Strict];

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::ClientServer => "client-server",
            Self::Strict => "strict",
        }
    }
}

/// What one model gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The model.
    pub model: Model,
    /// What it gave.
    pub run: Run,
}

impl Run {
    /// Returns whether all ranks ended and no message is left over.
    pub fn is_complete(&self) -> bool {
        self.outcome == Outcome::Completed
    }
}

/// Replays a program on a network that was made for as many ranks as it has.
pub fn replay(program: &Program, network: &Network, model: Model) -> Run {
    observed(program, network, model, Nobody).0
}

pub(crate) fn observed<O: Observer>(
    program: &Program,
    network: &Network,
    model: Model,
    observer: O,
) -> (Run, O) {
    let mut engine = Engine::new(program, network, model != Model::Direct, observer);
    engine.run();
    engine.finish()
}

/// Replays a task graph on a network that was made for as many ranks as it has.
pub fn replay_graph(graph: &TaskGraph, network: &Network) -> Run {
    graph::run(graph, network, Nobody).0
}

/// Tries the models in turn until one comes to an end; the last attempt is the answer, if there is one. Where no rank
/// receives from anybody, all would do the same, and one is tried.
pub fn predict(program: &Program, network: &Network) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    for &model in models(program) {
        let run = replay(program, network, model);
        let is_complete = run.is_complete();
        attempts.push(Attempt { model, run });
        if is_complete {
            break;
        }
    }
    attempts
}

/// Returns the models that [`predict`] tries, in this order.
pub(crate) fn models(program: &Program) -> &'static [Model] {
    let is_open = program.distinct.iter().any(crate::Operation::is_wild);
    &Model::ALL[..if is_open { Model::ALL.len() } else { 1 }]
}
