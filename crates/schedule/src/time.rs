//! Simulated time.

use std::fmt;

use foretrace_trace::Nanos;
use serde::{Deserialize, Serialize};

/// A point in simulated time or a duration, in picoseconds.
///
/// Integers keep simulation exact and its result the same on every machine; 2^64 ps are 213 days.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct SimTime(pub u64);

impl SimTime {
    /// The begin of every simulation.
    pub const ZERO: Self = Self(0);

    /// Converts from nanoseconds, ending at the largest time there is.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos.saturating_mul(1_000))
    }

    /// Returns the time in nanoseconds, rounded to the nearest.
    pub fn as_nanos(self) -> u64 {
        self.0.saturating_add(500) / 1_000
    }

    /// Returns the time in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Returns the difference to an earlier time; zero when `earlier` is in fact later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add for SimTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Writes the time like [`Nanos`].
impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Nanos(self.as_nanos()).fmt(f)
    }
}
