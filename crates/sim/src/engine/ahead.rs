//! What mostly happens, in few instructions: a thread's work is done, nothing else happens at that instant, and its operation
//! neither makes it wait nor lets others go on.
//!
//! All of it comes out as [`Engine::advance`] would have it.

use super::Engine;
use crate::{
    core::{Flow, Status},
    models::Model,
    observer::Observer,
};

impl<M: Model, O: Observer> Engine<'_, M, O> {
    /// Goes on from alarm to alarm as long as that is so.
    pub(super) fn run_ahead(&mut self) {
        // Chance has to be asked for the same numbers in the same order.
        if !self.speeds.all_one || self.chance.is_some() {
            return;
        }
        while let Some((now, cpu)) = self.alarms.next_alone() {
            if !self.ring_alone(now, cpu) || self.observer.is_cancelled() {
                return;
            }
        }
    }

    /// The alarm of a CPU rings. Where its thread has come there, lets it work; where its work is done, lets it do its
    /// operation. Returns whether one of these was so, and no other thread can do an operation now.
    #[inline]
    fn ring_alone(&mut self, now: u64, cpu: u32) -> bool {
        let Some(thread) = self.processors.occupant(cpu) else {
            return false;
        };
        let state = &mut self.core.threads[thread as usize];
        if state.status == Status::Waking {
            self.core.now = now;
            if state.work_left == 0 {
                self.alarms.cancel(cpu);
            }
            self.begin_turn(thread);
            return self.due.is_empty();
        }
        if state.status != Status::Running || state.work_left != now - state.since {
            return false;
        }
        state.ran += state.work_left;
        state.since = now;
        state.work_left = 0;
        self.core.now = now;
        loop {
            self.observer.operation(&self.core, thread);
            let flow = self.model.perform(&mut self.core, thread);
            if flow != Flow::Next || !self.core.is_quiet() {
                self.alarms.cancel(cpu);
                if self.conclude(thread, flow) {
                    self.operate(thread);
                }
                return self.due.is_empty();
            }
            self.core.advance(thread);
            let state = &self.core.threads[thread as usize];
            if state.work_left > 0 {
                let done = now.saturating_add(state.work_left);
                self.count += 1;
                self.alarms.set(cpu, done.min(state.slice_end), self.count);
                return true;
            }
        }
    }
}
