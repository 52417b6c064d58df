//! How long tasks take.

use std::str::FromStr;

use foretrace_schedule::SimTime;
use foretrace_settings::Time;

/// How long tasks take: by their number, so that it does not depend on who does them.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// All the same.
    Constant(SimTime),
    /// Evenly distributed between two times.
    Uniform(SimTime, SimTime, u64),
    /// Exponentially distributed with a mean.
    Exponential(SimTime, u64),
    /// Normally distributed with a mean and a standard deviation, and not below zero.
    Normal(SimTime, SimTime, u64),
    /// These, from the beginning again where there are more tasks.
    List(Vec<SimTime>),
}

impl Work {
    /// Returns the time of a task.
    #[inline]
    pub fn of(&self, task: u64) -> SimTime {
        match self {
            Self::Constant(time) => *time,
            Self::List(times) => times
                .get((task % times.len().max(1) as u64) as usize)
                .copied()
                .unwrap_or_default(),
            Self::Uniform(least, most, seed) => {
                let span = most.0.saturating_sub(least.0) as f64;
                drawn(least.0 as f64 + span * unit(*seed, task, 0))
            }
            Self::Exponential(mean, seed) => {
                drawn(-(1.0 - unit(*seed, task, 0)).ln() * mean.0 as f64)
            }
            Self::Normal(mean, deviation, seed) => {
                let (one, other) = (1.0 - unit(*seed, task, 0), unit(*seed, task, 1));
                let normal = (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos();
                drawn(mean.0 as f64 + normal * deviation.0 as f64)
            }
        }
    }

    /// Returns it with the random numbers of another seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        match self {
            Self::Uniform(least, most, _) => Self::Uniform(least, most, seed),
            Self::Exponential(mean, _) => Self::Exponential(mean, seed),
            Self::Normal(mean, deviation, _) => Self::Normal(mean, deviation, seed),
            other => other,
        }
    }
}

/// Takes a drawn time to the nanosecond: what mathematical libraries disagree on is far below that.
fn drawn(picos: f64) -> SimTime {
    #[expect(clippy::cast_sign_loss, reason = "it is not below zero")]
    let nanos = (picos.max(0.0) / 1e3).round() as u64;
    SimTime::from_nanos(nanos)
}

/// Returns a number from 0 to 1 (not 1 itself) that depends on a seed, a task and a draw alone.
///
/// # Source
///
/// `SplitMix64`: G. L. Steele, D. Lea, C. H. Flood, *Fast splittable pseudorandom number generators*, 2014.
fn unit(seed: u64, task: u64, draw: u64) -> f64 {
    let mut z = seed
        .wrapping_mul(0xd129_0692_13b7_65d5)
        .wrapping_add((2 * task + draw + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / 18_446_744_073_709_551_616.0 * (1.0 - f64::EPSILON)
}

impl FromStr for Work {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = |text: &str| text.trim().parse::<Time>().map(|time| time.0);
        let Some((kind, rest)) = text.split_once(':') else {
            return time(text).map(Self::Constant);
        };
        let pair = |separator: &str, example: &str| {
            let (one, other) = rest
                .split_once(separator)
                .ok_or_else(|| format!("write two times, as in {example}"))?;
            Ok::<_, String>((time(one)?, time(other)?))
        };
        match kind {
            "exponential" => time(rest).map(|mean| Self::Exponential(mean, 0)),
            "uniform" => {
                let (least, most) = pair("..", "uniform:100us..500us")?;
                if least > most {
                    return Err(format!("{rest} is empty; write the shorter time first"));
                }
                Ok(Self::Uniform(least, most, 0))
            }
            "normal" => {
                let (mean, deviation) = pair(",", "normal:292us,30us")?;
                Ok(Self::Normal(mean, deviation, 0))
            }
            _ => Err(format!(
                "`{kind}` is no distribution; there are uniform:100us..500us, exponential:292us and normal:292us,30us"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(work: &Work) -> f64 {
        let all: f64 = (0..100_000).map(|task| work.of(task).0 as f64).sum();
        all / 1e5 / 1e6
    }

    #[test]
    fn distributions_have_their_means_whatever_the_seed() {
        for seed in [0, 7] {
            for (text, expected) in [
                ("exponential:292us", 292.0),
                ("uniform:100us..500us", 300.0),
                ("normal:292us,30us", 292.0),
            ] {
                let work = text.parse::<Work>().unwrap().with_seed(seed);
                assert!((mean(&work) / expected - 1.0).abs() < 0.02, "{text}");
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_an_example() {
        for text in [
            "292",
            "poisson:3us",
            "uniform:3us",
            "uniform:5us..3us",
            "normal:3us",
        ] {
            assert!(text.parse::<Work>().is_err(), "{text}");
        }
    }
}
