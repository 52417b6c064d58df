//! Straight lines through measurements, and where one line ends and the next begins.

/// A measurement: a size in bytes, and a time above 0.
pub(crate) type Point = (u64, f64);

/// A straight line that nowhere falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Straight {
    /// Its value at no bytes, which may be below 0.
    pub at_zero: f64,
    /// What each byte adds.
    pub slope: f64,
}

impl Straight {
    /// Returns its value for so many bytes.
    pub fn at(&self, bytes: u64) -> f64 {
        self.at_zero + self.slope * bytes as f64
    }

    /// Fits it to measurements by least squares of the relative errors: at every size a percent is a percent.
    pub(crate) fn through(points: &[Point]) -> Self {
        // The mean of something over the points, in which each has its weight.
        let mean = |of: &dyn Fn(f64, f64) -> f64| {
            let [mut all, mut weights] = [0.0; 2];
            for &(bytes, time) in points {
                let weight = 1.0 / (time * time);
                all += weight * of(bytes as f64, time);
                weights += weight;
            }
            if weights > 0.0 { all / weights } else { 0.0 }
        };
        let [size, time] = [mean(&|x, _| x), mean(&|_, y| y)];
        let spread = mean(&|x, _| (x - size).powi(2));
        // Sizes that are one and the same have no slope.
        let slope = if spread > 0.0 {
            mean(&|x, y| (x - size) * (y - time)).max(0.0) / spread
        } else {
            0.0
        };
        Self {
            at_zero: time - slope * size,
            slope,
        }
    }

    /// Returns the sum of the squares of its relative errors.
    pub(crate) fn error(&self, points: &[Point]) -> f64 {
        let squares = points.iter().map(|&(bytes, time)| {
            let error = self.at(bytes) / time - 1.0;
            error * error
        });
        squares.sum()
    }
}

/// As few points as a line should go through, and how much dearer it is with none, one or two missing.
const FEWEST: usize = 3;
const DEARER: [f64; FEWEST] = [1.0, 4.0, 10.0];

/// A further line has to make the sum of the squares of the relative errors smaller by this: as four errors of five percent.
const PRICE: f64 = 4.0 * 0.05 * 0.05;

/// Divides measurements, by increasing size, into neighbouring ones that lie on a line: returns where each part ends.
///
/// Of all divisions it is the one whose errors, with a price for every part, are least. No part goes over a size of `changes`,
/// after which the protocol is another.
///
/// # Source
///
/// Segmented least squares, by dynamic programming: R. Bellman, *On the Approximation of Curves by Line Segments Using Dynamic
/// Programming*, 1961.
pub(crate) fn divide(points: &[Point], changes: &[u64]) -> Vec<usize> {
    let crosses = |part: &[Point]| {
        let ends = part.first().zip(part.last());
        ends.is_some_and(|(first, last)| {
            let mut changes = changes.iter();
            changes.any(|&change| first.0 <= change && change < last.0)
        })
    };
    // What is best up to a point: its errors and prices, and where its last part begins.
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0)];
    for end in 1..=points.len() {
        let mut found = (f64::INFINITY, end - 1);
        for begin in 0..end {
            let part = &points[begin..end];
            if crosses(part) {
                continue;
            }
            // Short parts may only follow noise: they have to be worth more.
            let short = DEARER[FEWEST.saturating_sub(part.len())];
            let error = Straight::through(part).error(part);
            let all = best[begin].0 + error + PRICE * short;
            if all < found.0 {
                found = (all, begin);
            }
        }
        best.push(found);
    }
    let mut ends = Vec::new();
    let mut end = points.len();
    while end > 0 {
        ends.push(end);
        end = best[end].1;
    }
    ends.reverse();
    ends
}

/// Returns up to which size the first of two lines holds, whose points end at `last` and begin again at `next`: where they cross
/// between these, else the last size that is known to belong to it.
pub(crate) fn boundary(first: Straight, second: Straight, last: u64, next: u64) -> u64 {
    let crossing = (first.at_zero - second.at_zero) / (second.slope - first.slope);
    if crossing > last as f64 && crossing < next as f64 {
        #[expect(clippy::cast_sign_loss, reason = "it is above a size")]
        let crossing = crossing as u64;
        crossing
    } else {
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> impl Iterator<Item = u64> {
        (0..23).map(|power| 1 << power)
    }

    #[test]
    fn points_of_one_line_give_that_line() {
        let line = Straight {
            at_zero: 300.0,
            slope: 0.25,
        };
        let points: Vec<Point> = sizes().map(|bytes| (bytes, line.at(bytes))).collect();
        let found = Straight::through(&points);
        assert!((found.at_zero - 300.0).abs() < 1e-6, "{found:?}");
        assert!((found.slope - 0.25).abs() < 1e-9, "{found:?}");
        assert_eq!(divide(&points, &[]), [23]);
        assert!(found.error(&points) < 1e-12);
    }

    #[test]
    fn a_line_never_falls_and_one_point_is_a_line() {
        let falling = Straight::through(&[(1, 10.0), (100, 9.0), (1_000, 10.0)]);
        assert!(falling.slope >= 0.0 && falling.at(1) > 9.0);
        let one = Straight::through(&[(64, 5.0)]);
        assert!((one.at(64) - 5.0).abs() < 1e-12 && one.slope == 0.0);
        assert!(Straight::through(&[]).at(5) == 0.0);
    }

    #[test]
    fn a_jump_and_a_bend_are_found_and_noise_is_not() {
        let noise = [0.0, 0.01, -0.012, 0.008, -0.004];
        let time = |bytes: u64| match bytes {
            0..=4_096 => 300.0 + 0.2 * bytes as f64,
            4_097..=262_144 => 3_000.0 + 0.05 * bytes as f64,
            _ => 0.2 * bytes as f64 - 36_321.6,
        };
        let points: Vec<Point> = sizes()
            .zip(noise.into_iter().cycle())
            .map(|(bytes, noise)| (bytes, time(bytes) * (1.0 + noise)))
            .collect();
        let ends = divide(&points, &[]);
        let last: Vec<u64> = ends.iter().map(|end| points[end - 1].0).collect();
        assert_eq!(last.len(), 3, "{last:?}");
        assert_eq!(last[0], 4_096, "{last:?}");
        assert!((131_072..=524_288).contains(&last[1]), "{last:?}");
    }

    #[test]
    fn no_line_goes_over_a_change_of_the_protocol() {
        let points: Vec<Point> = sizes().map(|bytes| (bytes, 100.0 + bytes as f64)).collect();
        let ends = divide(&points, &[4_096, 1 << 21]);
        assert_eq!(ends, [13, 22, 23]);
    }

    #[test]
    fn lines_that_cross_between_their_points_end_there() {
        let line = |at_zero, slope| Straight { at_zero, slope };
        let flat = line(100.0, 0.0);
        assert_eq!(boundary(flat, line(0.0, 0.5), 128, 256), 200);
        assert_eq!(boundary(flat, line(900.0, 0.5), 128, 256), 128);
        assert_eq!(boundary(flat, flat, 128, 256), 128);
    }
}
