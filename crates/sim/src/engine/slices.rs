//! What happens where a slice ends: others have the CPU, or the thread goes on.

use super::Engine;
use crate::{
    SchedulerKind,
    core::{Status, ThreadState},
    models::Model,
    observer::Observer,
    tournament::NONE,
};

/// After how many ends of slices that changed nothing it is asked whether more of them can be passed over.
const PATIENCE: u32 = 16;

/// A thread that only goes on where its slice ends: when that is, the order in which its alarm was set, its CPU and itself.
type Alone = (u64, u64, u32, u32);

impl<M: Model, O: Observer> Engine<'_, M, O> {
    /// Lets others have the CPU whose thread's slice is over, if any ran less. Returns whether that was so.
    pub(super) fn end_slice(&mut self, thread: u32) -> bool {
        let ThreadState { cpu, ran, .. } = self.core.threads[thread as usize];
        if let Some(other) = self.processors.even_out(cpu, self.core.now) {
            self.move_to_queue(other, cpu);
            self.enqueue(other);
        }
        let yields =
            self.processors
                .next_key(cpu)
                .is_some_and(|key| match self.machine.scheduler {
                    SchedulerKind::Fair => key <= ran,
                    _ => key <= u64::from(self.processors.rank(thread)),
                })
                || self.processors.is_better_elsewhere(thread, cpu);
        if yields {
            self.vacate(cpu);
            self.set_ready(thread);
        } else {
            self.core.threads[thread as usize].slice_end = self.core.now + self.machine.slice.0;
            self.note_least(cpu, ran);
            self.arm(thread);
            self.slices_alone += 1;
            if self.slices_alone > PATIENCE && self.alarms.next_at() > self.core.now {
                self.slices_alone = 0;
                self.skip_slices();
            }
        }
        yields
    }

    /// Passes over ends of slices at which nothing would happen: hours of work are millions of them.
    ///
    /// Where nobody waits for a CPU, no such end matters before anything else happens. The last one before that is kept, and
    /// what it leaves behind is what all of them would.
    fn skip_slices(&mut self) {
        let nothing_else = self.speeds.all_one && self.chance.is_none() && self.due.is_empty();
        if !nothing_else || !self.processors.leaves_all_alone() {
            return;
        }
        let (mut alone, until) = self.alone();
        let slice = self.machine.slice.0.max(1);
        alone.retain(|(at, ..)| *at < until);
        for (at, ..) in &mut alone {
            *at += (until - 1 - *at) / slice * slice;
        }
        // They were set one slice before, each at its turn.
        alone.sort_unstable();
        for (at, _, cpu, thread) in alone {
            self.core.threads[thread as usize].slice_end = at;
            self.set_alarm(at, cpu);
        }
    }

    /// Returns the threads that work beyond the ends of their slices, and when anything else happens.
    fn alone(&self) -> (Vec<Alone>, u64) {
        let mut until = self.alarms.first_other();
        let mut alone = Vec::new();
        for cpu in 0..self.machine.cpus {
            let (at, order) = self.alarms.of(cpu);
            if at == NONE {
                continue;
            }
            let running = self.processors.occupant(cpu).filter(|&thread| {
                let state = &self.core.threads[thread as usize];
                state.status == Status::Running && !state.looks && state.slice_end == at
            });
            let Some(thread) = running else {
                until = until.min(at);
                continue;
            };
            let state = &self.core.threads[thread as usize];
            until = until.min(state.since.saturating_add(state.work_left));
            alone.push((at, order, cpu, thread));
        }
        (alone, until)
    }
}
