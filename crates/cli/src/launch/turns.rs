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

/// Returns the share of the CPU time of runs with short turns that runs with long ones do not need; nothing where it cannot be
/// told from how much runs of one kind differ.
pub fn refill(mut short: Vec<Nanos>, mut long: Vec<Nanos>) -> Option<Share> {
    short.sort_unstable();
    long.sort_unstable();
    let (least, most) = (short.first()?.0 as f64, long.last()?.0 as f64);
    let middle = |times: &[Nanos]| times[times.len() / 2].0 as f64;
    let share = 1.0 - middle(&long) / middle(&short).max(1.0);
    (least > NOTICEABLE * most).then(|| Share::nearest(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_short_turns_take_more_is_refilling_where_all_runs_say_so() {
        let nanos = |times: &[u64]| times.iter().copied().map(Nanos).collect::<Vec<_>>();
        let refilled = refill(nanos(&[390, 400, 430]), nanos(&[300, 310, 290]));
        assert_eq!(refilled, Some(Share::nearest(0.25)));
        assert_eq!(
            refill(nanos(&[400, 310, 430]), nanos(&[300, 310, 290])),
            None
        );
        assert_eq!(refill(nanos(&[400]), nanos(&[])), None);
    }
}
