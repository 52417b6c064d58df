//! The direct solution of small chains.

/// Returns the stationary distribution of a chain given by its rates, row by row, without the diagonal. Destroys them.
///
/// Loses no digits to cancellation, for it subtracts nothing. States that the rest cannot be reached from get what is theirs
/// in a chain that ends there.
///
/// # Source
///
/// Grassmann, Taksar, Heyman, "Regenerative analysis and steady state distributions for Markov chains", 1985.
pub fn stationary(rates: &mut [f64], states: usize) -> Vec<f64> {
    let n = states;
    for last in (1..n).rev() {
        let (above, row) = rates.split_at_mut(last * n);
        let row = &row[..last];
        let sum: f64 = row.iter().sum();
        for from in 0..last {
            let rate = above[from * n + last];
            if rate == 0.0 || sum == 0.0 {
                continue;
            }
            let share = rate / sum;
            above[from * n + last] = share;
            for (to, onward) in above[from * n..from * n + last].iter_mut().zip(row) {
                *to += share * onward;
            }
        }
    }
    let mut distribution = vec![0.0; n];
    if let Some(first) = distribution.first_mut() {
        *first = 1.0;
    }
    for state in 1..n {
        distribution[state] = (0..state)
            .map(|from| distribution[from] * rates[from * n + state])
            .sum();
    }
    normalize(&mut distribution);
    distribution
}

/// Makes the components sum to 1.
pub(crate) fn normalize(distribution: &mut [f64]) {
    let sum: f64 = distribution.iter().sum();
    if sum > 0.0 {
        for probability in distribution {
            *probability /= sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_in_each_state_for_the_time_it_takes() {
        let mut rates = vec![0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 4.0, 0.0, 0.0];
        let found = stationary(&mut rates, 3);
        for (found, expected) in found.iter().zip([4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0]) {
            assert!((found - expected).abs() < 1e-15);
        }
    }
}
