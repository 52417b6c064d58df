//! Condition variables: which signal woke which wait.

use foretrace_trace::ObjectId;

use super::OpRef;

/// A wait that may be woken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    /// The wait.
    pub wait: OpRef,
    /// The mutex it gave up.
    pub mutex: ObjectId,
    /// The position of the event by which it had come back; `u32::MAX` where none follows.
    pub back: u32,
    /// Who woke it, where the recording says so.
    pub from: Option<u32>,
}

/// What happened to one condition variable so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConditionLog {
    waiting: Vec<Waiter>,
    /// Woken, but not yet back.
    woken: Vec<OpRef>,
    /// Signals that found nobody waiting, oldest first.
    idle_signals: Vec<OpRef>,
}

/// Idle signals beyond this many are forgotten: only a recent one can belong to a wait that was recorded late.
const IDLE_SIGNALS_KEPT: usize = 16;

impl ConditionLog {
    /// Logs the begin of a wait.
    pub fn wait(&mut self, waiter: Waiter) {
        self.waiting.push(waiter);
    }

    /// Logs a signal and returns the wait that it woke: of those that wait, the one that came back first, unless the
    /// recording says who woke whom.
    pub fn signal(&mut self, signal: OpRef) -> Option<Waiter> {
        let by_us = |waiter: &Waiter| waiter.from == Some(signal.thread);
        let chosen = (0..self.waiting.len())
            .filter(|&i| self.waiting[i].from.is_none() || by_us(&self.waiting[i]))
            .min_by_key(|&i| (!by_us(&self.waiting[i]), self.waiting[i].back));
        if let Some(index) = chosen {
            let waiter = self.waiting.remove(index);
            self.woken.push(waiter.wait);
            return Some(waiter);
        }
        if self.idle_signals.len() == IDLE_SIGNALS_KEPT {
            self.idle_signals.remove(0);
        }
        self.idle_signals.push(signal);
        None
    }

    /// Logs a broadcast and returns the waits that it woke.
    pub fn broadcast(&mut self) -> Vec<Waiter> {
        let woken = std::mem::take(&mut self.waiting);
        self.woken.extend(woken.iter().map(|waiter| waiter.wait));
        woken
    }

    /// Logs that a wait came back; returns what woke it.
    ///
    /// A signal is recorded before it takes effect, so a wait that began in between seems to have come later: then
    /// the last signal that found nobody woke it after all.
    pub fn returned(&mut self, wait: OpRef) -> WokenBy {
        if let Some(index) = self.woken.iter().position(|&woken| woken == wait) {
            self.woken.swap_remove(index);
            return WokenBy::Known;
        }
        self.waiting.retain(|waiter| waiter.wait != wait);
        let before = self
            .idle_signals
            .iter()
            .rposition(|signal| signal.thread != wait.thread);
        before.map_or(WokenBy::Nobody, |index| {
            WokenBy::Late(self.idle_signals.remove(index))
        })
    }
}

/// What woke a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WokenBy {
    /// A signal or broadcast that was matched when it was logged.
    Known,
    /// A signal that seemed to have woken nobody.
    Late(OpRef),
    /// Nothing that was recorded: a spurious wake-up.
    Nobody,
}
