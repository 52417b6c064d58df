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
            self.take_turn(thread);
            if self.core.threads[thread as usize].work_left > 0 {
                self.arm(thread);
                return true;
            }
        } else if state.status == Status::Running && state.work_left == now - state.since {
            state.ran += state.work_left;
            state.since = now;
            state.work_left = 0;
            self.core.now = now;
        } else {
            return false;
        }
        loop {
            self.observer.operation(&self.core, thread);
            let flow = self.model.perform(&mut self.core, thread);
            if !self.conclude_alone(thread, flow) {
                self.settle(thread, cpu, flow);
                return self.due.is_empty();
            }
            if self.core.threads[thread as usize].work_left > 0 {
                self.set_own_alarm(thread, cpu);
                return true;
            }
        }
    }

    /// Does what follows from an operation that makes its thread wait or lets others go on. Its alarm is still set.
    fn settle(&mut self, thread: u32, cpu: u32, flow: Flow) {
        if !flow.goes_on() {
            self.alarms.cancel(cpu);
        }
        if self.conclude_for_others(thread, flow) {
            if self.core.threads[thread as usize].work_left > 0 {
                self.set_own_alarm(thread, cpu);
            } else {
                self.alarms.cancel(cpu);
                if self.goes_on(thread) {
                    self.operate(thread);
                }
            }
        }
    }

    /// Sets the alarm of a thread that has work.
    #[inline]
    fn set_own_alarm(&mut self, thread: u32, cpu: u32) {
        let state = &self.core.threads[thread as usize];
        let done = self.core.now.saturating_add(state.work_left);
        self.count += 1;
        self.alarms.set(cpu, done.min(state.slice_end), self.count);
    }
}
