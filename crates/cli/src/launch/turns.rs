//! Runs of a program whose threads take long turns on one CPU, beside runs of the same kind in which they take short ones.
//!
//! Threads that take turns empty the caches for each other. The more seldom, the less CPU time they need; what the difference
//! is between turns of some milliseconds and turns of a tenth of a second is what filling caches again takes. The processor's
//! counters would tell more, but virtual machines seldom have them.

use foretrace_machine::Share;
use foretrace_trace::Nanos;

/// The longest turn that the kernel can be asked for.
pub const LONG: Nanos = Nanos(100_000_000);

/// How many times as much CPU time short turns must take for that to be told from noise.
const NOTICEABLE: f64 = 1.03;

/// The CPU times of two runs of a program that were made one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// In turns as threads take them.
    pub short: Nanos,
    /// In turns of [`LONG`].
    pub long: Nanos,
}

/// Returns the share of the CPU time of runs with short turns that runs with long ones do not need: the middle one of all pairs,
/// if each of them shows one.
///
/// Only runs made together are compared: how fast a virtual machine's memory is changes by more within a minute than what is
/// looked for.
pub fn refill(pairs: &[Pair]) -> Option<Share> {
    let ratio = |pair: &Pair| pair.short.0 as f64 / pair.long.0.max(1) as f64;
    let mut ratios: Vec<f64> = pairs.iter().map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let least = *ratios.first()?;
    (least > NOTICEABLE).then(|| Share::nearest(1.0 - 1.0 / ratios[ratios.len() / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(times: &[(u64, u64)]) -> Vec<Pair> {
        let pair = |&(short, long)| Pair {
            short: Nanos(short),
            long: Nanos(long),
        };
        times.iter().map(pair).collect()
    }

    #[test]
    fn what_short_turns_take_more_is_refilling_where_all_pairs_of_runs_say_so() {
        // All runs of the last pair were slow.
        let refilled = refill(&pairs(&[(390, 300), (400, 300), (640, 480)]));
        assert_eq!(refilled, Some(Share::nearest(0.25)));
        assert_eq!(refill(&pairs(&[(400, 300), (300, 310), (430, 290)])), None);
        assert_eq!(refill(&[]), None);
    }
}
