//! The recorded order, as both the Client-Server and the Strict Sequence model enforce it: an acquisition needs the
//! releases that it waited for in the recording.

use foretrace_program::{Action, Program};
use foretrace_schedule::WaitKind;

/// How many releases every acquisition still needs, and who needs a release.
pub(crate) struct Order {
    missing: Vec<u32>,
    /// Per release, where its dependents begin in `dependents`.
    starts: Vec<u32>,
    dependents: Vec<u32>,
    /// Where each thread's operations end.
    ends: Vec<u32>,
}

impl Order {
    pub fn new(program: &Program) -> Self {
        let count = program.operations.len();
        let mut missing = vec![0; count];
        let mut starts = vec![0; count + 1];
        for operation in 0..count as u32 {
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
        let mut dependents = vec![0; program.requirements.len()];
        for operation in (0..count as u32).rev() {
            for &release in program.requirements_of(operation) {
                let place = &mut starts[release as usize];
                *place -= 1;
                dependents[*place as usize] = operation;
            }
        }
        Self {
            missing,
            starts,
            dependents,
            ends: program
                .threads
                .iter()
                .map(|thread| thread.operations.end)
                .collect(),
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
        for &dependent in &self.dependents[range] {
            let missing = &mut self.missing[dependent as usize];
            *missing -= 1;
            if *missing == 0 {
                let thread = self.ends.partition_point(|&end| end <= dependent);
                satisfied(thread as u32, dependent);
            }
        }
    }

    /// Returns the acquisitions that need a release.
    pub fn dependents(&self, release: u32) -> &[u32] {
        let range =
            self.starts[release as usize] as usize..self.starts[release as usize + 1] as usize;
        &self.dependents[range]
    }
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
        Action::Lock(id) => (WaitKind::Lock, Some(id.0)),
        Action::TakeToken(id) | Action::AwaitWake(id) => (WaitKind::Semaphore, Some(id.0)),
        Action::ReadLock(id) | Action::WriteLock(id) => (WaitKind::Rwlock, Some(id.0)),
        Action::CondWait { cond, .. } => (WaitKind::Condition, Some(cond.0)),
        Action::Send { event, .. } => (WaitKind::Send, Some(event.0)),
        Action::Wait(event) => (WaitKind::Wait, Some(event.0)),
        Action::Barrier(id) => (WaitKind::Barrier, Some(id.0)),
        _ => (WaitKind::Join, None),
    }
}
