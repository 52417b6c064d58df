//! Who waits for what since when: in a deadlock, or for what the trace says nothing of.

use foretrace_program::{Action, Program};
use foretrace_schedule::{BlockedThread, SimTime};

use crate::{core::Status, engine::Engine, models::Model, observer::Observer};

/// Lists the threads that had not ended when nothing could run any more, in the order of the trace.
pub(crate) fn blocked_threads<M: Model, O: Observer>(
    engine: &Engine<'_, M, O>,
) -> Vec<BlockedThread> {
    let program = engine.core.program;
    let mut blocked = Vec::new();
    for (index, state) in engine.core.threads.iter().enumerate() {
        let thread = program.threads[index].name.clone();
        match state.status {
            Status::Ended => {}
            Status::Unborn => blocked.push(BlockedThread {
                thread,
                operation: "unborn".to_owned(),
                object: None,
                waits_for: creator(program, index as u32),
                since: SimTime::ZERO,
            }),
            Status::Ready | Status::Waking | Status::Running | Status::Blocked => {
                blocked.push(blocked_thread(engine, index as u32));
            }
        }
    }
    blocked
}

/// Tells what a thread waits for.
pub(crate) fn blocked_thread<M: Model, O: Observer>(
    engine: &Engine<'_, M, O>,
    thread: u32,
) -> BlockedThread {
    let program = engine.core.program;
    let name = |thread: u32| program.threads[thread as usize].name.clone();
    let state = &engine.core.threads[thread as usize];
    let action = program.operations.action(state.position);
    BlockedThread {
        thread: name(thread),
        operation: program.operation_name(state.position).to_owned(),
        object: program.subject(action).map(ToOwned::to_owned),
        waits_for: engine.culprit(thread).map(name),
        since: SimTime(state.since),
    }
}

fn creator(program: &Program, child: u32) -> Option<String> {
    let creates = |action: Action| matches!(action, Action::Create(thread) if thread.0 == child);
    let operations = |thread: &foretrace_program::Thread| {
        let mut positions = thread.operations.clone();
        positions.any(|position| creates(program.operations.action(position)))
    };
    program
        .threads
        .iter()
        .find(|thread| operations(thread))
        .map(|thread| thread.name.clone())
}
