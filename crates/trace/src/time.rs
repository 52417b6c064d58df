//! Time as recorded.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A point in time or a duration, in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Returns the difference to an earlier time; zero when `earlier` is in fact later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// Returns the duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl std::ops::Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// Writes a duration with a unit that keeps three to four significant digits: `417 ns`, `12.3 us`, `1.51 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (nanos / 1e3, "us"),
            1_000_000..1_000_000_000 => (nanos / 1e6, "ms"),
            _ => (nanos / 1e9, "s"),
        };
        let digits = match value {
            v if v < 9.995 => 2,
            v if v < 99.95 => 1,
            _ => 0,
        };
        write!(f, "{value:.digits$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_with_three_significant_digits() {
        let shown: Vec<String> = [0, 417, 12_345, 999_999, 1_510_000_000, 123_456_000_000]
            .into_iter()
            .map(|n| Nanos(n).to_string())
            .collect();
        assert_eq!(
            shown,
            ["0 ns", "417 ns", "12.3 us", "1000 us", "1.51 s", "123 s"]
        );
    }
}
