//! Semaphores: the k-th granted wait took the k-th token.

use super::{Edge, Edges, OpRef};

/// What happened to one semaphore so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct SemaphoreLog {
    /// Tokens that no wait has taken, had it begun with none; negative where it must have begun with some.
    balance: i64,
    lowest_balance: i64,
    tokens: Vec<OpRef>,
    grants: Vec<OpRef>,
    /// Waits without an explicit return that found no token: with the position of the event by which each was back.
    pending: Vec<(OpRef, u32)>,
}

impl SemaphoreLog {
    /// Returns the log of a semaphore that began with so many tokens.
    pub fn with_tokens(initial: u32) -> Self {
        Self {
            balance: i64::from(initial),
            ..Self::default()
        }
    }

    /// Logs a wait of which only the order of the rows tells when it was granted. Returns whether it was at once.
    pub fn wait(&mut self, wait: OpRef, back: u32) -> bool {
        if self.balance > 0 {
            self.grant(wait);
            true
        } else {
            self.pending.push((wait, back));
            false
        }
    }

    /// Logs that a wait was granted, if it had not been before.
    pub fn granted(&mut self, wait: OpRef) {
        if let Some(index) = self
            .pending
            .iter()
            .position(|&(pending, _)| pending == wait)
        {
            self.pending.remove(index);
            self.grant(wait);
        }
    }

    /// Logs that a wait was granted now.
    pub fn grant(&mut self, wait: OpRef) {
        self.grants.push(wait);
        self.balance -= 1;
        self.lowest_balance = self.lowest_balance.min(self.balance);
    }

    /// Logs a token. Of the waits that wait for one, that which was back first gets it.
    pub fn post(&mut self, post: OpRef) {
        self.tokens.push(post);
        self.balance += 1;
        let first = (0..self.pending.len()).min_by_key(|&index| self.pending[index].1);
        if let Some(index) = first {
            let (wait, _) = self.pending.remove(index);
            self.grant(wait);
        }
    }

    /// Returns whether a wait is still without a token.
    pub fn is_pending(&self, wait: OpRef) -> bool {
        self.pending.iter().any(|&(pending, _)| pending == wait)
    }

    /// Returns whether a token is there to be taken.
    pub fn has_token(&self) -> bool {
        self.balance > 0
    }

    /// Returns how many tokens it must have begun with beyond those that were known.
    pub fn missing_tokens(&self) -> u32 {
        u32::try_from(-self.lowest_balance).unwrap_or(0)
    }

    /// Adds an edge for every wait that took a posted token, of a semaphore that began with `initial` tokens.
    pub fn edges(&self, initial: u32, edges: &mut Edges) {
        let posted = self.grants.iter().skip(initial as usize).zip(&self.tokens);
        edges.extend(posted.map(|(&acquire, &release)| Edge { acquire, release }));
    }
}
