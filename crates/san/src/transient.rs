//! Distributions at a time.

use crate::generator::Generator;

/// What of the whole weight of the Poisson distribution may be left out.
const LEFT_OUT: f64 = 1e-17;

/// As many steps as are made. A thousand million of a small chain take a quarter of a minute.
pub const MOST_STEPS: f64 = 1e9;

/// Returns about how many steps a distribution at a time takes: what the fastest state would be left until then.
pub fn steps(chain: &impl Generator, time: f64) -> f64 {
    chain.exit().iter().copied().fold(0.0, f64::max) * time
}

/// Returns the distribution at a time from the one at time 0, and how many steps that took.
///
/// Steps of the uniformized chain, weighted by the Poisson probabilities of so many steps until then. Ends early where a step
/// changes nothing any more.
///
/// # Source
///
/// Uniformization: Jensen 1953; Stewart, "Introduction to the numerical solution of Markov chains", 1994, section 8.2; the
/// weights from the most probable number of steps outwards as in Fox and Glynn, "Computing Poisson probabilities", 1988.
pub fn at_time(chain: &impl Generator, start: Vec<f64>, time: f64) -> (Vec<f64>, u64) {
    let uniform = chain.exit().iter().copied().fold(0.0, f64::max);
    let mean = steps(chain, time);
    if mean <= 0.0 {
        return (start, 0);
    }
    let (first, weights) = poisson(mean);
    let mut now = start;
    let mut scratch = vec![0.0; now.len()];
    let mut sum = vec![0.0; now.len()];
    let mut used = 0.0;
    let last = first + weights.len() as u64 - 1;
    for step in 0..=last {
        if step >= first {
            let weight = weights[(step - first) as usize];
            used += weight;
            add(&mut sum, &now, weight);
        }
        if step == last {
            break;
        }
        chain.inflow(&now, &mut scratch);
        let mut change: f64 = 0.0;
        for ((probability, into), exit) in now.iter_mut().zip(&scratch).zip(chain.exit()) {
            let by = (into - *probability * exit) / uniform;
            *probability += by;
            change = change.max(by.abs());
        }
        if change < f64::EPSILON * f64::EPSILON {
            add(&mut sum, &now, 1.0 - used);
            return (sum, step + 1);
        }
    }
    (sum, last)
}

fn add(sum: &mut [f64], part: &[f64], weight: f64) {
    for (sum, part) in sum.iter_mut().zip(part) {
        *sum += weight * part;
    }
}

/// Returns the probabilities of a Poisson distribution that matter, and the number that the first one is of.
fn poisson(mean: f64) -> (u64, Vec<f64>) {
    let mode = mean.floor();
    let mut down = Vec::new();
    let mut weight = 1.0;
    let mut number = mode;
    while number > 0.0 && weight > LEFT_OUT {
        weight *= number / mean;
        number -= 1.0;
        down.push(weight);
    }
    let mut weights: Vec<f64> = down.iter().rev().copied().collect();
    weights.push(1.0);
    weight = 1.0;
    let mut above = mode;
    while weight > LEFT_OUT {
        above += 1.0;
        weight *= mean / above;
        weights.push(weight);
    }
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= sum;
    }
    #[expect(clippy::cast_sign_loss, reason = "the mode counts steps")]
    let first = mode as u64 - down.len() as u64;
    (first, weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_weights_have_the_right_mean() {
        for mean in [0.3, 7.0, 12_345.6] {
            let (first, weights) = poisson(mean);
            let found: f64 = weights
                .iter()
                .enumerate()
                .map(|(k, w)| (first + k as u64) as f64 * w)
                .sum();
            assert!((found / mean - 1.0).abs() < 1e-9, "{mean}: {found}");
        }
    }
}
