//! After how many rounds threads do the same again.

use super::tally::LEAST_ROUNDS;

/// The longest period that is looked for.
const LONGEST: usize = 12;

/// Rounds of one kind differ by so many times less than all.
const LESS: f64 = 4.0;

/// Where the logarithms of the work of all rounds have a smaller variance, they are all of one kind: it differs by a quarter.
const ALIKE: f64 = 0.0625;

/// Returns the shortest period after which rounds have about as much work again, in nanoseconds; 1 where there is none.
#[expect(clippy::cast_precision_loss, reason = "of a logarithm")]
pub(super) fn of(work: &[u64]) -> usize {
    // What takes some microseconds is no work to speak of.
    let logs: Vec<f64> = work
        .iter()
        .map(|&nanos| (nanos as f64 + 5_000.0).ln())
        .collect();
    let all = deviation(&logs, 1);
    if all < ALIKE * logs.len() as f64 {
        return 1;
    }
    let mut periods = (2..=LONGEST).take_while(|period| logs.len() >= period * LEAST_ROUNDS);
    periods
        .find(|&period| deviation(&logs, period) * LESS <= all)
        .unwrap_or(1)
}

/// Returns the sum of the squares by which numbers differ from the mean of those of their kind, of which there are so many in turn.
#[expect(clippy::cast_precision_loss, reason = "of a logarithm")]
fn deviation(numbers: &[f64], kinds: usize) -> f64 {
    let of_kind = |kind: usize| {
        let own = numbers.iter().skip(kind).step_by(kinds);
        let mean = own.clone().sum::<f64>() / own.clone().count().max(1) as f64;
        own.map(|number| (number - mean).powi(2)).sum::<f64>()
    };
    (0..kinds).map(of_kind).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_that_come_in_turn_have_a_period() {
        let rounds = |pattern: &[u64]| -> Vec<u64> {
            let numbers = (0..120_u64).map(|number| {
                let noise = number * 7_919 % 40;
                pattern[number as usize % pattern.len()] * (80 + noise) / 100
            });
            numbers.collect()
        };
        assert_eq!(of(&rounds(&[5_000_000])), 1);
        assert_eq!(of(&rounds(&[5_000_000, 100_000])), 2);
        assert_eq!(of(&rounds(&[5_000_000, 100_000, 2_000_000])), 3);
        // By chance, or seldom, is no turn.
        let by_chance = |number: u64| 1_000 << (number * number * 7_919 % 13);
        assert_eq!(of(&(0..120).map(by_chance).collect::<Vec<_>>()), 1);
        assert_eq!(of(&rounds(&[5_000_000; 13])[..12]), 1);
    }
}
