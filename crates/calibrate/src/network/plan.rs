//! What to measure, and how often.

use std::time::Duration;

use crate::Effort;

/// The largest message.
pub(crate) const LARGEST: u64 = 4 << 20;

/// What to measure, and how often.
pub(crate) struct Plan {
    /// The sizes that parameters are fitted to, in bytes; what is found of the protocol comes to them.
    pub sizes: Vec<u64>,
    /// Others, between them, that show how good the fit is.
    pub checks: Vec<u64>,
    /// How many bytes are combined: what a small cache holds, and what it does not.
    pub combined: Vec<u64>,
    /// How often to go through all sizes, so that what changes meanwhile changes all.
    pub passes: usize,
    /// As many measurements of a kind, size and pass at most.
    pub rounds: usize,
    /// As much time for them, about.
    pub budget: Duration,
    /// Messages of a burst.
    pub burst: usize,
    /// For how long the receiver stays out of MPI, to see whether a send waits for it.
    pub absence: Duration,
    /// How often a send has to wait until that is believed.
    pub tries: usize,
}

impl Plan {
    /// Returns the plan for an effort.
    pub fn of(effort: Effort) -> Self {
        match effort {
            Effort::Least => Self {
                sizes: (0..=20).step_by(2).map(|power| 1 << power).collect(),
                checks: vec![300, 40_000],
                combined: vec![1 << 14, 1 << 18],
                passes: 1,
                rounds: 12,
                budget: Duration::from_millis(5),
                burst: 4,
                absence: Duration::from_millis(4),
                tries: 3,
            },
            Effort::Brief | Effort::Usual => Self {
                sizes: sizes(),
                checks: vec![
                    5, 10, 100, 700, 1_500, 3_500, 7_000, 14_000, 28_000, 50_000, 110_000, 220_000,
                    450_000, 900_000, 1_800_000, 3_600_000,
                ],
                combined: vec![1 << 13, 1 << 15, 1 << 17, 1 << 19, 1 << 21],
                passes: 3,
                rounds: 60,
                budget: Duration::from_millis(40),
                burst: 16,
                absence: Duration::from_millis(20),
                tries: 5,
            },
        }
    }
}

/// Returns powers of two, and what is half-way between them.
fn sizes() -> Vec<u64> {
    let powers = (0..).map(|power| 1_u64 << power);
    let both = powers.flat_map(|power| [power, power + power / 2]);
    let mut sizes: Vec<u64> = both.take_while(|bytes| *bytes <= LARGEST).collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_increase_and_no_check_is_among_those_that_are_fitted() {
        for effort in [Effort::Least, Effort::Usual] {
            let plan = Plan::of(effort);
            assert!(plan.sizes.is_sorted_by(|a, b| a < b), "{:?}", plan.sizes);
            assert_eq!(plan.sizes[0], 1);
            let largest = plan.sizes.last().copied().unwrap_or(0);
            assert!(largest <= LARGEST);
            for check in plan.checks {
                assert!(!plan.sizes.contains(&check) && check < largest, "{check}");
            }
        }
    }
}
