//! Futexes: which wake-up let which wait go on.

use super::OpRef;

/// A wait that may be woken.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    wait: OpRef,
    /// The position of the event by which it had come back; `u32::MAX` where none follows.
    back: u32,
    /// Who woke it, where the recording says so.
    from: Option<u32>,
}

/// What happened to one futex so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct FutexLog {
    waiting: Vec<Waiter>,
    /// Woken, but not yet back.
    woken: Vec<OpRef>,
    /// Wake-ups of which it is not known whom they woke, oldest first.
    idle: Vec<OpRef>,
}

/// Idle wake-ups beyond this many are forgotten: only a recent one can belong to a wait that was recorded late.
const IDLE_KEPT: usize = 64;

impl FutexLog {
    /// Logs the begin of a wait that came back at the event `back`.
    pub fn wait(&mut self, wait: OpRef, back: u32, from: Option<u32>) {
        self.waiting.push(Waiter { wait, back, from });
    }

    /// Logs the wake-up of one thread and returns the wait that it ended: of those that wait, the one that came back
    /// first, unless the recording says who woke whom.
    pub fn wake(&mut self, wake: OpRef) -> Option<OpRef> {
        let by_us = |waiter: &Waiter| waiter.from == Some(wake.thread);
        let chosen = (0..self.waiting.len())
            .filter(|&i| self.waiting[i].from.is_none() || by_us(&self.waiting[i]))
            .min_by_key(|&i| (!by_us(&self.waiting[i]), self.waiting[i].back));
        if let Some(index) = chosen {
            let wait = self.waiting.remove(index).wait;
            self.woken.push(wait);
            return Some(wait);
        }
        if self.idle.len() == IDLE_KEPT {
            self.idle.remove(0);
        }
        self.idle.push(wake);
        None
    }

    /// Returns whether a wait was woken, and has not been logged to be back.
    pub fn is_woken(&self, wait: OpRef) -> bool {
        self.woken.contains(&wait)
    }

    /// Logs that a wait came back; returns what woke it.
    ///
    /// A wake-up is recorded before it is done, so a wait that began in between seems to have come later: then it was
    /// the latest of those that seem to have woken nobody.
    pub fn returned(&mut self, wait: OpRef) -> Woken {
        if let Some(index) = self.woken.iter().position(|&woken| woken == wait) {
            self.woken.swap_remove(index);
            return Woken::Known;
        }
        self.waiting.retain(|waiter| waiter.wait != wait);
        let latest = self
            .idle
            .iter()
            .rposition(|wake| wake.thread != wait.thread);
        latest.map_or(Woken::ByNobody, |index| {
            Woken::Late(self.idle.remove(index))
        })
    }
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// A wake-up that was matched when it was logged.
    Known,
    /// A wake-up that seemed to have woken nobody.
    Late(OpRef),
    /// Nothing that was recorded.
    ByNobody,
}
