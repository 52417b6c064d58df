//! Loops whose iterations wait for each other: which iteration's end let which wait go on.

use std::collections::BTreeMap;

use super::OpRef;

/// What happened to the loops of one team so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct DoacrossLog {
    /// The latest end of each iteration. In the team's next region its loops have the same iterations again.
    posted: BTreeMap<u64, OpRef>,
}

impl DoacrossLog {
    /// Logs that an iteration is done.
    pub fn post(&mut self, iteration: u64, post: OpRef) {
        self.posted.insert(iteration, post);
    }

    /// Returns what let a wait for an iteration go on, where that is known. It is recorded before it is done, so it comes
    /// before the wait's end.
    pub fn awaited(&self, iteration: u64) -> Option<OpRef> {
        self.posted.get(&iteration).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_needs_the_latest_end_of_its_iteration() {
        let at = |index| OpRef { thread: 0, index };
        let mut log = DoacrossLog::default();
        assert_eq!(log.awaited(3), None);
        log.post(3, at(0));
        log.post(4, at(1));
        assert_eq!(log.awaited(3), Some(at(0)));
        log.post(3, at(2));
        assert_eq!(log.awaited(3), Some(at(2)));
    }
}
