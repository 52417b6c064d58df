//! By how much a thread ran more than others of its CPU's queue, and what is left of that when it has slept.
//!
//! Who goes to sleep having run more than others had better not come back as if it had not, or it would have its CPU whenever it
//! wanted. But what it is ahead melts away: the others catch up as long as they run, and where its CPU was idle, nobody had to wait
//! for it. Nobody gets ahead by sleeping.
//!
//! # Source
//!
//! Linux, `kernel/sched/fair.c`: `update_entity_lag`, `place_entity`, and the delayed dequeueing of those that are ahead.

use super::Engine;
use crate::{models::Model, observer::Observer};

/// The most that is remembered, in picoseconds: what a thread can run for between two ticks of the clock.
const MOST_AHEAD: u64 = 4_000_000_000;

/// How far a thread was ahead when it went to sleep.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lead {
    /// Of the one in its queue that ran least, in picoseconds.
    ahead: u64,
    /// What that one ran.
    least: u64,
}

impl<M: Model, O: Observer> Engine<'_, M, O> {
    /// Notes how far a thread is ahead that goes to sleep, where each CPU has its own queue.
    #[inline(always)]
    pub(super) fn note_lead(&mut self, thread: u32) {
        let Some(cpu) = self.processors.queue_of(thread) else {
            return;
        };
        let least = self.least_ran[cpu as usize];
        let ran = self.core.threads[thread as usize].ran;
        self.leads[thread as usize] = Lead {
            ahead: ran.saturating_sub(least).min(MOST_AHEAD),
            least,
        };
    }

    /// Returns how long a thread that wakes counts as having run, which slept where it ran on a CPU and is to wait for another, or the same.
    #[inline(always)]
    pub(super) fn ran_with_lead(&self, thread: u32, [slept_at, waits_at]: [u32; 2]) -> u64 {
        let lead = self.leads[thread as usize];
        let caught_up = self.least_ran[slept_at as usize].saturating_sub(lead.least);
        let since = self.core.threads[thread as usize].since;
        let was_idle = self.processors.occupant(slept_at).is_none()
            || since < self.idle_until[slept_at as usize];
        let ahead = if was_idle {
            0
        } else {
            lead.ahead.saturating_sub(caught_up)
        };
        self.least_ran[waits_at as usize].saturating_add(ahead)
    }
}
