//! Axes: from values to shares of their length, and ticks at round numbers.

/// A linear axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

/// About so many ticks.
const TICKS: f64 = 6.0;

impl Axis {
    /// Makes an axis that holds all values; with `whole_steps` it begins and ends at ticks.
    pub fn over(values: impl Iterator<Item = f64>, whole_steps: bool) -> Self {
        let mut integers = true;
        let (mut low, mut high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                integers &= value.fract() == 0.0;
                (low.min(value), high.max(value))
            });
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if high - low <= 1e-12 * high.abs().max(low.abs()) {
            // One value only: it lies in the middle.
            let room = if high == 0.0 { 1.0 } else { high.abs() / 2.0 };
            (low, high) = (low - room, high + room);
        }
        if whole_steps && low > 0.0 && low < 0.4 * high {
            low = 0.0;
        }
        let step = round_step((high - low) / TICKS);
        // What is counted has no ticks in between.
        let step = if integers { step.max(1.0) } else { step };
        if whole_steps {
            low = (low / step + 1e-9).floor() * step;
            high = (high / step - 1e-9).ceil() * step;
        }
        Self { low, high, step }
    }

    /// Returns the least value.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// Returns where a value lies, from 0 at the begin to 1 at the end.
    pub fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Returns the ticks and their labels.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let first = (self.low / self.step - 1e-9).ceil();
        let last = (self.high / self.step + 1e-9).floor();
        let digits = (-self.step.log10().floor()).clamp(0.0, 12.0);
        #[expect(clippy::cast_sign_loss, reason = "it is clamped")]
        let digits = digits as usize;
        let mut ticks = Vec::new();
        let mut number = first;
        while number <= last {
            // Adding 0 makes 0 of -0.
            let value = number * self.step + 0.0;
            let largest = self.low.abs().max(self.high.abs());
            let label = if (1e-4..1e6).contains(&largest) {
                format!("{value:.digits$}")
            } else {
                format!("{value:.1e}")
            };
            ticks.push((value, label));
            number += 1.0;
        }
        ticks
    }
}

/// Returns 1, 2 or 5 times a power of ten, not less than a step.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let times = step / power;
    let round = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|round| times <= round * (1.0 + 1e-9));
    round.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        let axis = Axis::over([0.031, 0.27].into_iter(), true);
        let labels: Vec<String> = axis.ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(
            labels,
            ["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]
        );
        let axis = Axis::over([1.0, 8.0].into_iter(), false);
        let labels: Vec<String> = axis.ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["2", "4", "6", "8"]);
        assert!((axis.share(8.0) - 1.0).abs() < 1e-12);
    }
}
