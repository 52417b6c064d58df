//! The recorded order, as both the Client-Server and the Strict Sequence model enforce it: an acquisition needs the
//! releases that it waited for in the recording.

use foretrace_program::{Action, Program};
use foretrace_schedule::WaitKind;

/// How many releases every acquisition still needs, and who needs a release.
pub(crate) struct Order {
    missing: Vec<u32>,
    /// Per release, where its dependents begin in `dependents`.
    starts: Vec<u32>,
    dependents: Vec<Dependent>,
}

/// An acquisition that needs a release.
#[derive(Clone, Copy, Default)]
pub(crate) struct Dependent {
    pub operation: u32,
    pub thread: u32,
}

impl Order {
    pub fn new(program: &Program) -> Self {
        let count = program.operations.len();
        let mut missing = vec![0; count];
        let mut starts = vec![0; count + 1];
        // Those of threads that are left out are in nobody's list.
        for (_, operation) in operations(program) {
            let needed = program.requirements_of(operation);
            missing[operation as usize] = needed.len() as u32;
            for &release in needed {
                starts[release as usize] += 1;
            }
        }
        // First where they end, which becomes where they begin while they are put there from the last to the first.
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut dependents = vec![Dependent::default(); end as usize];
        for (thread, operation) in operations(program).rev() {
            for &release in program.requirements_of(operation) {
                let place = &mut starts[release as usize];
                *place -= 1;
                dependents[*place as usize] = Dependent { operation, thread };
            }
        }
        Self {
            missing,
            starts,
            dependents,
        }
    }

    /// Returns whether all releases that an acquisition needs have happened.
    pub fn is_satisfied(&self, operation: u32) -> bool {
        self.missing[operation as usize] == 0
    }

    /// A release happens: calls `satisfied` with the thread of every acquisition that now needs nothing more, and the
    /// acquisition.
    pub fn release(&mut self, release: u32, mut satisfied: impl FnMut(u32, u32)) {
        let range =
            self.starts[release as usize] as usize..self.starts[release as usize + 1] as usize;
        for &Dependent { operation, thread } in &self.dependents[range] {
            let missing = &mut self.missing[operation as usize];
            *missing -= 1;
            if *missing == 0 {
                satisfied(thread, operation);
            }
        }
    }

    /// Returns the acquisitions that need a release.
    pub fn dependents(&self, release: u32) -> &[Dependent] {
        let range =
            self.starts[release as usize] as usize..self.starts[release as usize + 1] as usize;
        &self.dependents[range]
    }
}

/// Returns the operations of all threads, each with its thread.
fn operations(program: &Program) -> impl DoubleEndedIterator<Item = (u32, u32)> {
    let threads = program.threads.iter().enumerate();
    threads.flat_map(|(index, thread)| {
        let operations = thread.operations.clone();
        operations.map(move |operation| (index as u32, operation))
    })
}

/// Finds the thread of an operation.
pub(crate) fn thread_of(program: &Program, operation: u32) -> u32 {
    program
        .threads
        .partition_point(|thread| thread.operations.end <= operation) as u32
}

/// Returns what a thread that cannot do this acquisition waits for.
pub(crate) fn wait_of(action: Action) -> (WaitKind, Option<u32>) {
    match action {
        Action::Lock(id) | Action::Poll(id) => (WaitKind::Lock, Some(id.0)),
        Action::TakeToken(id) | Action::AwaitWake(id) => (WaitKind::Semaphore, Some(id.0)),
        Action::ReadLock(id) | Action::WriteLock(id) => (WaitKind::Rwlock, Some(id.0)),
        Action::CondWait { cond, .. } => (WaitKind::Condition, Some(cond.0)),
        Action::Send { event, .. } => (WaitKind::Send, Some(event.0)),
        Action::Wait(event) => (WaitKind::Wait, Some(event.0)),
        Action::Barrier(id) => (WaitKind::Barrier, Some(id.0)),
        _ => (WaitKind::Join, None),
    }
}
