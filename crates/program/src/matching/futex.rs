//! Futexes: which wake-up let which wait go on.

use super::{OpRef, WokenBy};

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
    /// Wake-ups that woke more threads than is known, oldest first, and how many more.
    unexplained: Vec<(OpRef, u32)>,
}

/// Unexplained wake-ups beyond this many are forgotten: only a recent one can belong to a wait that was recorded late.
const UNEXPLAINED_KEPT: usize = 16;

impl FutexLog {
    /// Logs the begin of a wait that came back at the event `back`.
    pub fn wait(&mut self, wait: OpRef, back: u32, from: Option<u32>) {
        self.waiting.push(Waiter { wait, back, from });
    }

    /// Logs a wake-up and returns the waits that it ended: of those that wait, the ones that came back first, unless
    /// the recording says who woke whom.
    pub fn wake(&mut self, wake: OpRef, woken: u32) -> Vec<OpRef> {
        let by_us = |waiter: &Waiter| waiter.from == Some(wake.thread);
        let (mut possible, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|waiter| waiter.from.is_none() || by_us(waiter));
        possible.sort_by_key(|waiter| (!by_us(waiter), waiter.back));
        let ended = possible.len().min(woken as usize);
        let left = woken - ended as u32;
        let ended: Vec<OpRef> = possible.drain(..ended).map(|waiter| waiter.wait).collect();
        self.waiting = possible;
        self.waiting.extend(others);
        self.woken.extend(&ended);
        if left > 0 {
            if self.unexplained.len() == UNEXPLAINED_KEPT {
                self.unexplained.remove(0);
            }
            self.unexplained.push((wake, left));
        }
        ended
    }

    /// Returns whether a wait was woken, and has not been logged to be back.
    pub fn is_woken(&self, wait: OpRef) -> bool {
        self.woken.contains(&wait)
    }

    /// Logs that a wait came back; returns what woke it.
    ///
    /// A wake-up is recorded before it is done, so a wait that began in between seems to have come later: then it was
    /// the latest of those that woke more threads than seemed to wait.
    pub fn returned(&mut self, wait: OpRef) -> WokenBy {
        if let Some(index) = self.woken.iter().position(|&woken| woken == wait) {
            self.woken.swap_remove(index);
            return WokenBy::Known;
        }
        self.waiting.retain(|waiter| waiter.wait != wait);
        let latest = self
            .unexplained
            .iter()
            .rposition(|(wake, _)| wake.thread != wait.thread);
        let Some(index) = latest else {
            return WokenBy::Nobody;
        };
        let (wake, left) = &mut self.unexplained[index];
        let wake = *wake;
        *left -= 1;
        if *left == 0 {
            self.unexplained.remove(index);
        }
        WokenBy::Late(wake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(thread: u32, index: u32) -> OpRef {
        OpRef { thread, index }
    }

    #[test]
    fn of_two_waits_the_one_that_is_back_first_was_woken_first() {
        let mut log = FutexLog::default();
        log.wait(at(0, 0), 9, None);
        log.wait(at(1, 0), 5, None);
        assert_eq!(log.wake(at(2, 0), 1), [at(1, 0)]);
        assert!(log.is_woken(at(1, 0)) && !log.is_woken(at(0, 0)));
        assert_eq!(log.wake(at(2, 1), 1), [at(0, 0)]);
        assert_eq!(log.returned(at(1, 0)), WokenBy::Known);
    }

    #[test]
    fn a_wait_that_seems_to_begin_after_its_wake_up_is_matched_with_it() {
        let mut log = FutexLog::default();
        log.wait(at(0, 0), 5, None);
        assert_eq!(log.wake(at(2, 0), 2), [at(0, 0)]);
        log.wait(at(1, 0), 6, None);
        assert_eq!(log.returned(at(1, 0)), WokenBy::Late(at(2, 0)));
        log.wait(at(1, 1), 8, None);
        assert_eq!(log.returned(at(1, 1)), WokenBy::Nobody);
    }

    #[test]
    fn a_recorded_waker_counts_more_than_the_order() {
        let mut log = FutexLog::default();
        log.wait(at(0, 0), 5, Some(3));
        log.wait(at(1, 0), 6, Some(2));
        assert_eq!(log.wake(at(2, 0), u32::MAX), [at(1, 0)]);
    }
}
