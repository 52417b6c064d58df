//! The memory that all CPUs share, and how much slower they work when together they ask for more than it gives.
//!
//! A share of a thread's CPU time is spent on waiting for the memory. As many CPUs' worth of that as the memory has bandwidth
//! for go on at full speed at once; beyond that, the accesses of all are served in turn, by processor sharing. Where
//! every thread spends the same share f, and the CPUs together would do B seconds of work a second, the memory would be asked for
//! f B, and what it gives is its bandwidth M: all of them work at M / (f B) of their speed where that is less than one.

use crate::Rate;

/// What the memory gives, and what a program asks of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// How many CPUs can access it at once at full speed: how often one CPU's bandwidth it has. At least [`Rate::ONE`].
    pub bandwidth: Rate,
    /// The share of recorded CPU time that goes on accesses to it; at most [`Rate::ONE`], and zero where it does not matter.
    pub bound: Rate,
    /// The share that goes on filling caches again of the time that a thread works after others ran on its CPU, of as much of
    /// it as they ran, a slice at most; beyond the work that the program tells. Zero where that is within the recorded times;
    /// else what [`take_out_refills`](foretrace_program::take_out_refills) returned.
    pub refill: Rate,
}

impl Memory {
    /// A memory that nobody has to wait for.
    pub const AMPLE: Self = Self {
        bandwidth: Rate(2 * Rate::ONE.0),
        bound: Rate(0),
        refill: Rate(0),
    };

    /// Returns whether it slows CPUs down that alone would do so much work a time together, in billionths.
    pub(crate) fn matters(&self, total: u64) -> bool {
        self.demand(total) > self.supply()
    }

    /// Returns the rate at which a CPU works that alone would work at `rate`, when those that are busy, itself included, would
    /// work at `total` together; both in billionths.
    pub(crate) fn rate(&self, rate: u64, total: u64) -> u64 {
        if !self.matters(total) {
            return rate;
        }
        // Above 2^64 only at rates that no file can ask for.
        let slower = u128::from(rate).saturating_mul(self.supply()) / self.demand(total);
        u64::try_from(slower).unwrap_or(u64::MAX).max(1)
    }

    /// Returns how much longer work takes a thread whose caches others emptied for so long before, all in picoseconds: of as
    /// much of its time as they took, a part goes on filling them again.
    pub(crate) fn refill_in(&self, work: u64, cold: u64) -> u64 {
        let one = u128::from(Rate::ONE.0);
        let share = u128::from(self.refill.0);
        let whole = u128::from(work) * one / one.saturating_sub(share).max(1);
        let refill = whole.min(u128::from(cold)) * share / one;
        u64::try_from(refill).unwrap_or(u64::MAX)
    }

    fn demand(&self, total: u64) -> u128 {
        u128::from(total) * u128::from(self.bound.0)
    }

    fn supply(&self) -> u128 {
        u128::from(self.bandwidth.0) * u128::from(Rate::ONE.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: u64 = Rate::ONE.0;

    #[test]
    fn cpus_are_slowed_down_once_they_ask_for_more_than_there_is() {
        let memory = Memory {
            bandwidth: Rate(2 * ONE),
            bound: Rate(ONE / 2),
            refill: Rate(0),
        };
        assert!(!memory.matters(4 * ONE));
        assert!(memory.matters(5 * ONE));
        assert_eq!(memory.rate(ONE, 4 * ONE), ONE);
        // Eight would take 4, and get 2.
        assert_eq!(memory.rate(ONE, 8 * ONE), ONE / 2);
        assert!(!Memory::AMPLE.matters(65_536 * ONE));
    }
}
