//! What many measurements of one thing say.

/// A time, in nanoseconds: the median of many measurements, between the quartiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The median.
    pub nanos: u64,
    /// What a quarter of the measurements are below.
    pub low: u64,
    /// What a quarter are above.
    pub high: u64,
    /// How many there were.
    pub samples: usize,
}

impl Estimate {
    /// Takes it from measurements, in any order; zero where there are none.
    pub(crate) fn of(samples: &mut [u64]) -> Self {
        samples.sort_unstable();
        let quartile = |quarter: usize| {
            let last = samples.len().saturating_sub(1);
            samples.get(last * quarter / 4).copied().unwrap_or(0)
        };
        Self {
            nanos: quartile(2),
            low: quartile(1),
            high: quartile(3),
            samples: samples.len(),
        }
    }

    /// Returns by how much it is more than another; nothing where it is less.
    pub(crate) fn beyond(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
            low: self.low.saturating_sub(other.high),
            high: self.high.saturating_sub(other.low),
            samples: self.samples.min(other.samples),
        }
    }

    /// Returns the median where it is told apart from nothing, else nothing: where a quarter of the measurements say that
    /// there is no difference, the median is noise.
    pub fn distinct_nanos(&self) -> u64 {
        if self.low == 0 { 0 } else { self.nanos }
    }

    /// Returns whether the measurements differ so much from each other that the median says little: the middle half of
    /// them spreads over more than half of it, and over more than what a clock and a system call are uncertain of.
    pub fn is_unsure(&self) -> bool {
        let spread = self.high - self.low;
        spread > 1_000 && spread * 2 > self.nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_outliers_do_not_move_an_estimate() {
        let mut samples = vec![5_000, 10, 11, 12, 13, 14, 15, 16, 9_000];
        let estimate = Estimate::of(&mut samples);
        assert_eq!((estimate.nanos, estimate.low, estimate.high), (14, 12, 16));
        assert!(!estimate.is_unsure());
        assert_eq!(Estimate::of(&mut []).nanos, 0);
    }

    #[test]
    fn differences_are_as_uncertain_as_both_together() {
        let [more, less] = [[17_000, 18_000, 30_000], [2_000, 3_000, 4_000]]
            .map(|mut samples| Estimate::of(&mut samples));
        let beyond = more.beyond(less);
        assert_eq!((beyond.nanos, beyond.samples), (15_000, 3));
        assert_eq!(less.beyond(more).nanos, 0);
        assert_eq!(beyond.distinct_nanos(), 15_000);
        let mut noise = [0, 0, 900, 1_000, 1_100];
        assert_eq!(Estimate::of(&mut noise).beyond(less).distinct_nanos(), 0);
        let wide = Estimate {
            nanos: 15_000,
            low: 10_000,
            high: 20_000,
            samples: 9,
        };
        assert!(wide.is_unsure());
    }
}
