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
    /// Waits of a listing that found no token, in the order in which they came.
    pending: Vec<Wait>,
    /// Waits of a listing that a token came to, and which are not known to be back.
    served: Vec<Served>,
    /// How many waits of a listing came so far.
    came: u32,
}

/// A wait of which only the order of the rows tells when it was granted.
#[derive(Clone, Copy, Debug)]
struct Wait {
    operation: OpRef,
    /// How many came before.
    number: u32,
}

/// A wait that has waited for a token that came.
#[derive(Clone, Copy, Debug)]
struct Served {
    wait: Wait,
    /// Where it is among the grants.
    grant: usize,
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
    pub fn wait(&mut self, wait: OpRef) -> bool {
        if self.balance > 0 {
            self.grant(wait);
            true
        } else {
            self.pending.push(Wait {
                operation: wait,
                number: self.came,
            });
            self.came += 1;
            false
        }
    }

    /// Logs that a wait is back, and so was granted by now.
    ///
    /// Where no token has come to it, it has the last one that came to another that is not back yet: that one still waits.
    pub fn granted(&mut self, wait: OpRef) {
        let is_served = |served: &Served| served.wait.operation == wait;
        if let Some(index) = self.served.iter().position(is_served) {
            self.served.remove(index);
            return;
        }
        let is_pending = |pending: &Wait| pending.operation == wait;
        let Some(index) = self.pending.iter().position(is_pending) else {
            return;
        };
        self.pending.remove(index);
        match self.served.pop() {
            Some(other) => {
                self.grants[other.grant] = wait;
                let before = |pending: &Wait| pending.number < other.wait.number;
                let place = self.pending.partition_point(before);
                self.pending.insert(place, other.wait);
            }
            None => self.grant(wait),
        }
    }

    /// Logs that a wait was granted now.
    pub fn grant(&mut self, wait: OpRef) {
        self.grants.push(wait);
        self.balance -= 1;
        self.lowest_balance = self.lowest_balance.min(self.balance);
    }

    /// Logs a token. Of the waits of a listing that wait for one, that which came first gets it.
    pub fn post(&mut self, post: OpRef) {
        self.tokens.push(post);
        self.balance += 1;
        if !self.pending.is_empty() {
            let wait = self.pending.remove(0);
            self.served.push(Served {
                wait,
                grant: self.grants.len(),
            });
            self.grant(wait.operation);
        }
    }

    /// Returns whether a wait is still without a token.
    pub fn is_pending(&self, wait: OpRef) -> bool {
        let mut waits = self.pending.iter();
        waits.any(|pending| pending.operation == wait)
    }

    /// Returns whether a token came to a wait of a listing that is not known to be back, so that another can have it that is.
    pub fn has_unclaimed(&self) -> bool {
        !self.served.is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(thread: u32, index: u32) -> OpRef {
        OpRef { thread, index }
    }

    /// Two wait, then two tokens come; in between, and at the end, those are back that are named.
    fn takers(back: [Option<u32>; 2]) -> Vec<(u32, u32)> {
        let mut log = SemaphoreLog::default();
        log.wait(at(1, 0));
        log.wait(at(2, 0));
        for (index, back) in back.into_iter().enumerate() {
            log.post(at(0, index as u32));
            if let Some(thread) = back {
                log.granted(at(thread, 0));
            }
        }
        let pairs = log.grants.iter().zip(&log.tokens);
        pairs
            .map(|(wait, post)| (wait.thread, post.index))
            .collect()
    }

    #[test]
    fn tokens_go_to_waits_as_they_came_where_the_rows_do_not_say_otherwise() {
        assert_eq!(takers([None, None]), [(1, 0), (2, 1)]);
        assert_eq!(takers([Some(1), None]), [(1, 0), (2, 1)]);
        assert_eq!(takers([None, Some(2)]), [(1, 0), (2, 1)]);
    }

    #[test]
    fn who_is_back_before_the_next_token_comes_had_the_one_before() {
        assert_eq!(takers([Some(2), None]), [(2, 0), (1, 1)]);
    }
}
