//! From the counter to nanoseconds.

use super::file::{Journal, Stamp};

/// How many nanoseconds a tick takes, and when time began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timescale {
    origin_tsc: u64,
    nanos_per_tick: f64,
}

impl Timescale {
    /// Takes the whole recording as the measure: the longer, the more exact.
    pub fn of(journals: &[Journal]) -> Self {
        let first = journals
            .iter()
            .map(|journal| journal.start)
            .min_by_key(|stamp| stamp.tsc);
        let last = journals
            .iter()
            .map(|journal| journal.latest)
            .max_by_key(|stamp| stamp.tsc);
        match (first, last) {
            (Some(first), Some(last)) => Self::between(first, last),
            _ => Self {
                origin_tsc: 0,
                nanos_per_tick: 1.0,
            },
        }
    }

    fn between(first: Stamp, last: Stamp) -> Self {
        let ticks = last.tsc.saturating_sub(first.tsc);
        let nanos = last.monotonic_nanos.saturating_sub(first.monotonic_nanos);
        let nanos_per_tick = match (ticks, nanos) {
            (0, _) | (_, 0) => 1.0,
            (ticks, nanos) => nanos as f64 / ticks as f64,
        };
        Self {
            origin_tsc: first.tsc,
            nanos_per_tick,
        }
    }

    /// Returns the nanoseconds from the recording's beginning to a moment.
    pub fn nanos_at(self, tsc: u64) -> u64 {
        self.nanos(tsc.saturating_sub(self.origin_tsc))
    }

    /// Returns the nanoseconds in a number of ticks.
    #[expect(clippy::cast_sign_loss, reason = "a product of non-negative factors")]
    pub fn nanos(self, ticks: u64) -> u64 {
        // Rounded to the nearest: without SSE 4.1, `round` is a call.
        (ticks as f64 * self.nanos_per_tick + 0.5) as u64
    }

    /// Returns the whole ticks in a number of nanoseconds.
    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        reason = "a quotient of non-negative numbers, cut off"
    )]
    pub fn ticks(self, nanos: u64) -> u64 {
        (nanos as f64 / self.nanos_per_tick) as u64
    }

    /// Returns the nanoseconds in a part of a tick, or several.
    pub fn exact_nanos(self, ticks: f64) -> f64 {
        ticks * self.nanos_per_tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_comes_from_the_first_and_the_last_moment() {
        let stamp = |tsc, monotonic_nanos| Stamp {
            tsc,
            monotonic_nanos,
        };
        let scale = Timescale::between(stamp(1_000, 50), stamp(4_000, 1_050));
        assert_eq!(scale.nanos_at(1_000), 0);
        assert_eq!(scale.nanos_at(2_500), 500);
        assert_eq!(scale.nanos_at(4_000), 1_000);
        assert_eq!(scale.nanos_at(7), 0, "before the beginning");
    }
}
