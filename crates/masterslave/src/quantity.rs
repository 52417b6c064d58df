//! Quantities that are a number, a distribution of numbers, or a course over time that was measured.

use rand::{Rng, RngExt as _};
use rand_distr::{Distribution as _, Exp, LogNormal, Normal};

/// A positive quantity: a time, a bandwidth, a share of a processor, an amount of data.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// Always the same.
    Number(f64),
    /// Drawn anew each time that it is needed.
    Drawn(Distribution),
    /// What it was at each time.
    Course(Course),
}

/// A distribution of positive numbers. Draws that are not positive are drawn again, up to a hundred times.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// The normal distribution.
    Normal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        sd: f64,
    },
    /// The exponential distribution.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// All between two numbers, equally likely.
    Uniform {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// The distribution of a number whose logarithm is normally distributed.
    Lognormal {
        /// The mean of the number itself.
        mean: f64,
        /// The standard deviation of the number itself.
        sd: f64,
    },
    /// One of these, equally likely.
    Empirical(Vec<f64>),
}

/// What a quantity was at each time: each value holds until the next one's time.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// When values begin, in seconds, increasing, from 0.
    pub times: Vec<f64>,
    /// The values: not negative, and not all 0.
    pub values: Vec<f64>,
    /// After how long everything begins again; the last value holds for ever where it does not.
    pub period: Option<f64>,
}

/// How often a draw that is not positive is repeated.
const DRAWS: usize = 100;

/// The least that a draw gives, as a share of the mean, where a hundred draws gave nothing positive.
const LEAST: f64 = 1e-6;

impl Quantity {
    /// Returns the mean; of a course over time, over its period or until its last value begins.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Drawn(distribution) => distribution.mean(),
            Self::Course(course) => course.mean(),
        }
    }

    /// Returns a value for use at a time, in seconds.
    pub fn value(&self, at: f64, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Drawn(distribution) => distribution.draw(rng),
            Self::Course(course) => course.value(at),
        }
    }
}

impl Distribution {
    /// Returns the mean.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Normal { mean, .. }
            | Self::Exponential { mean }
            | Self::Lognormal { mean, .. } => *mean,
            Self::Uniform { low, high } => f64::midpoint(*low, *high),
            Self::Empirical(values) => values.iter().sum::<f64>() / values.len() as f64,
        }
    }

    /// Draws a positive number.
    fn draw(&self, rng: &mut impl Rng) -> f64 {
        for _ in 0..DRAWS {
            let drawn = self.draw_any(rng);
            if drawn > 0.0 {
                return drawn;
            }
        }
        self.mean() * LEAST
    }

    fn draw_any(&self, rng: &mut impl Rng) -> f64 {
        // Parameters were checked when the file was read; what cannot be drawn from is its mean.
        match self {
            Self::Normal { mean, sd } => {
                Normal::new(*mean, *sd).map_or(*mean, |normal| normal.sample(rng))
            }
            Self::Exponential { mean } => {
                Exp::new(1.0 / mean).map_or(*mean, |exponential| exponential.sample(rng))
            }
            Self::Uniform { low, high } => low + (high - low) * rng.random::<f64>(),
            Self::Lognormal { mean, sd } => {
                // The logarithm's variance and mean, from those of the number.
                let variance = (1.0 + (sd / mean).powi(2)).ln();
                let middle = mean.ln() - variance / 2.0;
                LogNormal::new(middle, variance.sqrt()).map_or(*mean, |log| log.sample(rng))
            }
            Self::Empirical(values) => values[rng.random_range(0..values.len())],
        }
    }
}

impl Course {
    /// Returns the mean over the period, or until the last value begins.
    pub fn mean(&self) -> f64 {
        let end = self.period.or(self.times.last().copied()).unwrap_or(0.0);
        if end <= 0.0 {
            return self.values.last().copied().unwrap_or(0.0);
        }
        self.whole_until(end) / end
    }

    /// Returns the value at a time.
    pub fn value(&self, at: f64) -> f64 {
        let at = self.period.map_or(at, |period| at.rem_euclid(period));
        let after = self.times.partition_point(|time| *time <= at);
        self.values[after.saturating_sub(1)]
    }

    /// Returns the integral from 0 to a time within the first period.
    fn whole_until(&self, end: f64) -> f64 {
        let ends = self.times[1..].iter().copied().chain([f64::INFINITY]);
        let parts = self.times.iter().zip(ends).zip(&self.values);
        parts
            .map(|((begin, until), value)| (until.min(end) - begin).max(0.0) * value)
            .sum()
    }

    /// Returns how long it takes from a time on until the integral has grown by `amount`.
    pub fn time_for(&self, start: f64, amount: f64) -> f64 {
        let mut left = amount;
        let mut passed = 0.0;
        let mut at = start;
        if let Some(period) = self.period {
            at = start.rem_euclid(period);
            let each = self.whole_until(period);
            let periods = (left / each).floor().max(0.0);
            // One period less, so that rounding never leaves a negative rest.
            let periods = (periods - 1.0).max(0.0);
            left -= periods * each;
            passed += periods * period;
        }
        loop {
            let index = self
                .times
                .partition_point(|time| *time <= at)
                .saturating_sub(1);
            let value = self.values[index];
            let next = self.times.get(index + 1).copied().or(self.period);
            let room = next.map_or(f64::INFINITY, |next| next - at);
            if value > 0.0 && left <= value * room {
                return passed + left / value;
            }
            let Some(next) = next else {
                // The last value is 0 and holds for ever.
                return f64::INFINITY;
            };
            left -= value * room;
            passed += room;
            at = if Some(next) == self.period && index + 1 == self.times.len() {
                0.0
            } else {
                next
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    #[test]
    fn draws_have_the_mean_that_was_asked_for() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        for distribution in [
            Distribution::Normal { mean: 3.0, sd: 0.5 },
            Distribution::Exponential { mean: 3.0 },
            Distribution::Uniform {
                low: 2.0,
                high: 4.0,
            },
            Distribution::Lognormal { mean: 3.0, sd: 1.0 },
            Distribution::Empirical(vec![1.0, 3.0, 5.0]),
        ] {
            let sum: f64 = (0..40_000).map(|_| distribution.draw(&mut rng)).sum();
            let mean = sum / 40_000.0;
            assert!(
                (mean / distribution.mean() - 1.0).abs() < 0.02,
                "{distribution:?}: {mean}"
            );
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "numbers of few binary digits")]
    fn work_takes_as_long_as_the_load_leaves_it() {
        let course = |period| Course {
            times: vec![0.0, 10.0, 20.0],
            values: vec![1.0, 0.5, 0.0],
            period,
        };
        let once = course(None);
        assert_eq!(once.mean(), 0.75);
        assert_eq!(once.time_for(0.0, 5.0), 5.0);
        assert_eq!(once.time_for(8.0, 4.0), 6.0);
        assert_eq!(once.time_for(8.0, 40.0), f64::INFINITY);
        let again = course(Some(30.0));
        assert_eq!(again.mean(), 0.5);
        assert_eq!(again.time_for(18.0, 2.0), 13.0);
        assert_eq!(again.time_for(0.0, 150.0), 290.0);
        assert_eq!(again.value(47.0), 0.5);
    }
}
