//! What happens where nobody can go on.

use foretrace_program::{Action, Opener};

use super::Engine;
use crate::{core::Status, models::Model, observer::Observer, report, scheme::Overruled};

impl<M: Model, O: Observer> Engine<'_, M, O> {
    /// Nobody can go on. Returns whether somebody does all the same.
    pub(super) fn goes_on_anyway(&mut self) -> bool {
        self.go_on_without_sign()
            || !self.end_with_processes() && (self.go_on_with_loan() || self.go_on_as_recorded())
    }

    /// Of the threads that wait for something which the recording does not say that they waited for, the one goes on that did so first: for the end of
    /// a process that they found there without waiting, or until others have come as far as they had when they saw by looking what they looked for.
    /// Returns whether there is one.
    fn go_on_without_sign(&mut self) -> bool {
        let program = self.core.program;
        let is_found = |position| program.found.contains(&position);
        let is_seen = |position| match program.operations.action(position) {
            Action::Await(gate) => matches!(program.opener(gate), Opener::Progress(_)),
            _ => false,
        };
        let waits = self.core.threads.iter().zip(0..).filter(|(state, _)| {
            let (status, position) = (state.status, state.position);
            status == Status::Blocked && (is_found(position) || is_seen(position))
        });
        let waits = waits.map(|(state, thread)| (program.operations.event(state.position), thread));
        let Some((event, thread)) = waits.min() else {
            return false;
        };
        if is_seen(self.core.threads[thread as usize].position) {
            let wait = report::blocked_thread(self, thread);
            self.overruled.push(Overruled { event, wait });
        }
        if let Action::Await(gate) = self.core.action(thread) {
            self.core.gates.leave(gate, thread);
        }
        self.resume(thread, thread);
        self.share_out();
        true
    }

    /// Of the threads that wait for a token that they took in the recording, and which is there in this run, too, but went to another, the one goes on
    /// that took it first. Returns whether there is one. A listing by hand is replayed as it stands.
    fn go_on_with_loan(&mut self) -> bool {
        let program = self.core.program;
        if !program.recorded {
            return false;
        }
        let waits = self.core.threads.iter().zip(0..);
        let waits = waits.filter(|(state, _)| state.status == Status::Blocked);
        let mut waits: Vec<(u32, u32)> = waits
            .map(|(state, thread)| (program.operations.event(state.position), thread))
            .collect();
        waits.sort_unstable();
        let mut waits = waits.into_iter();
        let Some((_, thread)) = waits.find(|&(_, thread)| self.model.lend(&self.core, thread))
        else {
            return false;
        };
        self.resume(thread, thread);
        self.share_out();
        true
    }

    /// Where all that are left are threads of processes that have ended with another thread, they are over as well. Returns whether that is so.
    fn end_with_processes(&mut self) -> bool {
        let threads = self.core.threads.iter();
        let left: Vec<u32> = threads
            .zip(0..)
            .filter(|(state, _)| state.status != Status::Ended)
            .map(|(_, thread)| thread)
            .collect();
        let is_over = |&thread: &u32| {
            let with = self.core.program.threads[thread as usize].ends_with;
            with.is_some_and(|with| self.core.threads[with.index()].status == Status::Ended)
        };
        if left.is_empty() || !left.iter().all(is_over) {
            return false;
        }
        let now = self.core.now;
        for thread in left {
            let state = &mut self.core.threads[thread as usize];
            state.status = Status::Ended;
            state.since = now;
            self.observer.end(thread, now);
        }
        true
    }

    /// Nobody can go on. Where no further model is to be tried, the one does that waited first of those that went on in the recording, although
    /// nothing there ends its wait: such a recording contradicts itself. Returns whether there is one.
    fn go_on_as_recorded(&mut self) -> bool {
        if !M::IS_LAST {
            return false;
        }
        let program = self.core.program;
        let threads = self.core.threads.iter().zip(&program.threads);
        let waits = threads.zip(0..).filter(|((state, thread), _)| {
            state.status == Status::Blocked && state.position + 1 < thread.operations.end
        });
        let waits =
            waits.map(|((state, _), thread)| (program.operations.event(state.position), thread));
        let Some((event, thread)) = waits.min() else {
            return false;
        };
        let wait = report::blocked_thread(self, thread);
        self.overruled.push(Overruled { event, wait });
        match self.core.action(thread) {
            Action::Await(gate) => {
                self.core.open_gate(gate, thread);
                self.release_others(thread);
            }
            action => {
                if let Action::Barrier(barrier) = action {
                    self.core.barriers.leave(barrier, thread);
                }
                self.resume(thread, thread);
            }
        }
        self.share_out();
        true
    }
}
