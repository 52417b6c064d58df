//! The replay models: what an operation needs before it may complete.
//!
//! # Source
//!
//! VPPB, sections 2 to 4; for thread primitives the project's `docs/models.md`.

mod client_server;
mod direct;
mod order;
mod pool;
mod strict;

use foretrace_program::{Action, Opener, Program};

pub(crate) use {
    client_server::ClientServer,
    direct::Direct,
    pool::{Pool, TaskOrder},
    strict::Strict,
};

use crate::{
    Machine,
    core::{Core, Flow},
};

/// A replay model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelKind {
    /// Objects behave as they would; whoever comes first is served first.
    Direct,
    /// Every acquisition waits for its recorded releaser; a thread's lists may run out of order.
    ClientServer,
    /// Every acquisition waits for its recorded releaser, in program order.
    Strict,
    /// As Direct, but any worker of a pool may run any task. Of programs with a pool, it is tried first.
    Pool,
}

impl ModelKind {
    /// The models that replay any program, in the order in which the scheme tries them.
    pub const ALL: [Self; 3] = [Self::Direct, Self::ClientServer, Self::Strict];

    /// Returns its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::ClientServer => "client-server",
            Self::Strict => "strict",
            Self::Pool => "pool",
        }
    }
}

/// Decides what an operation needs before it may complete.
pub(crate) trait Model {
    /// Whether the scheme has no further model to try after this one.
    const IS_LAST: bool = false;

    /// Begins a run of a program.
    fn new(program: &Program, machine: &Machine) -> Self;

    /// Does a thread's current operation, whose work is done. Operations of other threads that complete by it are
    /// reported through [`Core::wake`].
    fn perform(&mut self, core: &mut Core<'_>, thread: u32) -> Flow;

    /// Nobody can go on: lets a blocked thread go on that waits for what it had in the recording, which was there but went to another, if it is so.
    /// Returns whether it does.
    fn lend(&mut self, _core: &Core<'_>, _thread: u32) -> bool {
        false
    }

    /// Returns the thread that could let a blocked thread go on, where that is known.
    fn culprit(&self, core: &Core<'_>, thread: u32) -> Option<u32>;
}

/// Returns who could end a wait that is the same under every model.
fn common_culprit(core: &Core<'_>, thread: u32) -> Option<u32> {
    match core.action(thread) {
        Action::Await(gate) => match core.program.opener(gate) {
            Opener::End(thread) => Some(thread.0),
            Opener::Progress(number) => Some(core.program.progress[number as usize].thread.0),
            Opener::Cancellation(_) | Opener::Once(_) => None,
        },
        Action::AwaitWake(_) | Action::Poll(_) => {
            let operation = core.threads[thread as usize].position;
            let wake = core.program.requirements_of(operation).first();
            wake.map(|&wake| order::thread_of(core.program, wake))
        }
        Action::Send { to, .. } => Some(to.0),
        _ => None,
    }
}
