//! The recorded order, as both the Client-Server and the Strict Sequence model enforce it: an acquisition needs the
//! releases that it waited for in the recording.

use std::collections::HashMap;

use foretrace_program::{Action, Program};
use foretrace_schedule::WaitKind;

/// The releases that have happened.
pub(crate) struct Order {
    /// A bit for each operation.
    released: Vec<u64>,
    /// The thread of each [`BLOCK`]th operation.
    owners: Vec<u32>,
    /// One beyond the last operation of each thread.
    ends: Vec<u32>,
    /// How many releases of those that acquisitions need are known to have happened, in order, where these need more than [`FEW`].
    known: HashMap<u32, u32>,
}

/// So many releases are looked at anew whenever one of them happens. Who writes after thousands have read needs all of these.
const FEW: usize = 8;

/// How many operations lie between those of which the thread is noted.
const BLOCK: u32 = 256;

impl Order {
    pub fn new(program: &Program) -> Self {
        let count = program.operations.len() as u32;
        let ends = program.threads.iter().map(|thread| thread.operations.end);
        let blocks = (0..count).step_by(BLOCK as usize);
        Self {
            released: vec![0; count.div_ceil(64) as usize],
            owners: blocks.map(|first| thread_of(program, first)).collect(),
            ends: ends.collect(),
            known: HashMap::new(),
        }
    }

    /// Returns whether all releases that an acquisition needs have happened.
    #[inline]
    pub fn is_satisfied(&self, program: &Program, operation: u32) -> bool {
        let needed = program.requirements_of(operation);
        needed
            .iter()
            .all(|&release| has_happened(&self.released, release))
    }

    /// A release happens, once: calls `satisfied` with the thread of every acquisition that now needs nothing more, and the
    /// acquisition.
    #[inline]
    pub fn release(&mut self, program: &Program, release: u32, satisfied: impl FnMut(u32, u32)) {
        self.release_to(program, release, |_, _| true, satisfied);
    }

    /// The same, of those acquisitions alone that `concerns` says yes to. It is asked first: it is quicker to answer.
    #[inline]
    pub fn release_to(
        &mut self,
        program: &Program,
        release: u32,
        concerns: impl Fn(u32, u32) -> bool,
        mut satisfied: impl FnMut(u32, u32),
    ) {
        self.released[release as usize / 64] |= 1 << (release % 64);
        for &operation in program.dependents_of(release) {
            let thread = self.thread_of(operation);
            if concerns(thread, operation) && self.needs_no_more(program, operation) {
                satisfied(thread, operation);
            }
        }
    }

    /// Returns whether all releases that an acquisition needs have happened, one of which has.
    #[inline]
    fn needs_no_more(&mut self, program: &Program, operation: u32) -> bool {
        !program.has_several_requirements(operation) || self.has_all(program, operation)
    }

    fn has_all(&mut self, program: &Program, operation: u32) -> bool {
        let needed = program.requirements_of(operation);
        if needed.len() <= FEW {
            return self.is_satisfied(program, operation);
        }
        let known = self.known.entry(operation).or_default();
        let rest = needed.get(*known as usize..).unwrap_or_default();
        let mut rest = rest.iter();
        let next = rest.position(|&release| !has_happened(&self.released, release));
        match next {
            Some(more) => *known += more as u32,
            None => _ = self.known.remove(&operation),
        }
        next.is_none()
    }

    /// Returns the thread of an operation.
    #[inline]
    pub fn thread_of(&self, operation: u32) -> u32 {
        let mut thread = self.owners[(operation / BLOCK) as usize];
        while self.ends[thread as usize] <= operation {
            thread += 1;
        }
        thread
    }
}

/// Returns whether the bit of a release is set.
#[inline]
fn has_happened(released: &[u64], release: u32) -> bool {
    released[release as usize / 64] >> (release % 64) & 1 == 1
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
