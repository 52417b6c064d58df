//! From measured times to the parameters of LogGPS and MSE.
//!
//! Half a round trip of k bytes is, in these models, o(k) of the sender, L + (k-1) G, and o(k) of the receiver, and for messages
//! that wait for their receivers a request and an answer before. Sending and receiving are measured by themselves, so that L and G
//! are what is left of half the round trip.
//!
//! # Source
//!
//! F. Ino, N. Fujimoto, K. Hagihara, *LogGPS: A Parallel Computational Model for Synchronization Analysis*, 2001; Y. Mizutani, F. Ino,
//! K. Hagihara, *An Emulation System for Predicting Master/Slave Program Performance*, 2003, sections 2.3 and 3.1.

use super::{
    Measured,
    line::{Point, Straight, boundary, divide},
    samples::{Quantity, Samples, Spread},
};

/// What messages of some sizes cost, as a line of a network's file says it. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// For messages of more bytes than this; 0 for the first.
    pub above: u64,
    /// The transit of a message of one byte more.
    pub latency: f64,
    /// What each byte after that adds to the transit.
    pub gap_per_byte: f64,
    /// What a message of `above` bytes would keep its sender busy for, and what each byte after that adds.
    pub send: [f64; 2],
    /// The same of its receiver.
    pub receive: [f64; 2],
    /// As many sizes were measured in it.
    pub points: usize,
    /// The root of the mean of the squares of the relative errors of half a round trip.
    pub residual: f64,
}

/// By how much overheads grow with each process of the program, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The sender's `o_b`.
    pub send: f64,
    /// The receiver's `o_b`.
    pub receive: f64,
    /// What half a round trip grows by, before it is divided; below 0 where it does not grow.
    pub half_round_trip: f64,
    /// By how much that is uncertain: the standard error.
    pub uncertainty: f64,
}

impl Growth {
    /// Returns whether it is told apart from nothing.
    pub fn is_distinct(&self) -> bool {
        self.half_round_trip > 2.0 * self.uncertainty
    }
}

/// The parameters of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// What messages cost, by increasing size; of overheads that grow, the part that does not (`o_a`).
    pub pieces: Vec<Piece>,
    /// S; none where all messages that were tried are sent at once.
    pub rendezvous_above: Option<u64>,
    /// `o_b`, where several numbers of ranks were measured.
    pub growth: Option<Growth>,
    /// g and G of a burst of small messages, as the network lets them through, in nanoseconds: for comparison.
    pub stream: Option<(f64, f64)>,
    /// What combining takes for each byte, in nanoseconds, where the library can combine by itself.
    pub combine_per_byte: Option<f64>,
}

/// Fits the parameters.
pub fn fit(measured: &Measured) -> Fit {
    let samples = &measured.sizes;
    let halves: Vec<Point> = points(samples, Quantity::RoundTrip)
        .into_iter()
        .map(|(bytes, time)| (bytes, time / 2.0))
        .collect();
    let sends = points(samples, Quantity::Send);
    let receives = points(samples, Quantity::Receive);
    let rendezvous_above = measured.eager_up_to;
    let changes: Vec<u64> = [rendezvous_above, measured.unaided_up_to]
        .into_iter()
        .flatten()
        .collect();
    let ends = divide(&halves, &changes);
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let parts: Vec<&[Point]> = begins
        .zip(&ends)
        .map(|(begin, end)| &halves[begin..*end])
        .collect();
    let lines: Vec<Straight> = parts.iter().map(|part| Straight::through(part)).collect();
    let mut pieces: Vec<Piece> = Vec::new();
    for (number, (part, line)) in parts.iter().zip(&lines).enumerate() {
        let (Some(first), Some(last)) = (part.first(), part.last()) else {
            continue;
        };
        let before = number.checked_sub(1).and_then(|before| {
            let end = parts[before].last()?;
            Some(boundary(lines[before], *line, end.0, first.0))
        });
        let above = before.unwrap_or(0);
        let within = |of: &[Point]| -> Vec<Point> {
            let of = of.iter().copied();
            of.filter(|(bytes, _)| (first.0..=last.0).contains(bytes))
                .collect()
        };
        let handshake = match (rendezvous_above, pieces.first()) {
            (Some(limit), Some(base)) if above >= limit => Some(Handshake::of(base)),
            _ => None,
        };
        let raw = Raw {
            above,
            half: *line,
            send: Straight::through(&within(&sends)),
            receive: Straight::through(&within(&receives)),
            handshake,
        };
        let error = line.error(part) / part.len() as f64;
        pieces.push(raw.piece(part.len(), error.sqrt()));
    }
    let growth = growth(&measured.crowds);
    if let Some(growth) = &growth {
        // What was measured is that of two ranks.
        for piece in &mut pieces {
            piece.send[0] = (piece.send[0] - 2.0 * growth.send).max(0.0);
            piece.receive[0] = (piece.receive[0] - 2.0 * growth.receive).max(0.0);
        }
    }
    Fit {
        pieces,
        rendezvous_above,
        growth,
        stream: stream(samples, rendezvous_above),
        combine_per_byte: combining(samples),
    }
}

fn points(samples: &Samples, quantity: Quantity) -> Vec<Point> {
    let sizes = samples.sizes(quantity).into_iter();
    sizes
        .filter_map(|bytes| {
            let median = samples.spread(quantity, bytes)?.median;
            (median > 0.0).then_some((bytes, median))
        })
        .collect()
}

/// g and G of bursts of messages that are sent at once.
fn stream(samples: &Samples, up_to: Option<u64>) -> Option<(f64, f64)> {
    let mut gaps = points(samples, Quantity::Gap);
    gaps.retain(|(bytes, _)| up_to.is_none_or(|limit| *bytes <= limit));
    let line = (!gaps.is_empty()).then(|| Straight::through(&gaps))?;
    Some((line.at(1).max(0.0), line.slope))
}

/// What combining takes for each byte, by a line through the measurements: calls take some time of their own.
fn combining(samples: &Samples) -> Option<f64> {
    let points = points(samples, Quantity::Combine);
    (points.len() > 1).then(|| Straight::through(&points).slope.max(0.0))
}

/// What a message that waits for its receiver exchanges first: small messages.
#[derive(Clone, Copy)]
struct Handshake {
    /// From the call until the sender knows that the receiver is ready, which it has long been.
    whole: f64,
    /// The receiver's overhead of a small message.
    receive: f64,
}

impl Handshake {
    fn of(base: &Piece) -> Self {
        let of_one = |overhead: [f64; 2]| overhead[0] + overhead[1];
        let [send, receive] = [of_one(base.send), of_one(base.receive)];
        Self {
            whole: 2.0 * (send + base.latency) + 2.0 * receive,
            receive,
        }
    }
}

/// Lines through measurements of some sizes, of which a piece is made.
struct Raw {
    above: u64,
    half: Straight,
    send: Straight,
    receive: Straight,
    handshake: Option<Handshake>,
}

impl Raw {
    /// Divides half the round trip into what keeps the sender busy, the transit, and what keeps the receiver busy. Half the round
    /// trip is what counts: overheads that were measured to be more than all of it are less in the round trip.
    fn piece(&self, points: usize, residual: f64) -> Piece {
        let first = self.above + 1;
        let exchange = self.handshake.map_or(0.0, |handshake| handshake.whole);
        let all = (self.half.at(first) - exchange).max(0.0);
        let mut send = [(self.send.at(first) - exchange).max(0.0), self.send.slope];
        let mut receive = match self.handshake {
            // Of a late receive it cannot be told what is overhead and what transfer.
            Some(handshake) => [handshake.receive, 0.0],
            None => [self.receive.at(first).max(0.0), self.receive.slope],
        };
        let fit = |sum: f64, parts: [&mut f64; 2]| {
            let both = *parts[0] + *parts[1];
            if both > sum {
                for part in parts {
                    *part *= sum.max(0.0) / both;
                }
            }
        };
        fit(all, [&mut send[0], &mut receive[0]]);
        let left = all - send[0] - receive[0];
        fit(self.half.slope, [&mut send[1], &mut receive[1]]);
        let gap_per_byte = (self.half.slope - send[1] - receive[1]).max(0.0);
        // Overheads begin at `above`, as in the first line, which begins at no bytes.
        let at_above = |[at_first, slope]: [f64; 2]| [(at_first - slope).max(0.0), slope];
        Piece {
            above: self.above,
            latency: left.max(0.0),
            gap_per_byte,
            send: at_above(send),
            receive: at_above(receive),
            points,
            residual,
        }
    }
}

/// Fits how overheads grow with the number of ranks: by the median of the runs with each number.
fn growth(crowds: &[(u32, Samples)]) -> Option<Growth> {
    let runs = |quantity: Quantity| -> Vec<(u32, f64)> {
        let runs = crowds.iter();
        runs.filter_map(|(ranks, samples)| Some((*ranks, samples.spread(quantity, 1)?.median)))
            .collect()
    };
    let trips = runs(Quantity::RoundTrip);
    let (slope, uncertainty) = trend(&trips)?;
    let half_round_trip = slope / 2.0;
    let whole = half_round_trip.max(0.0);
    let send = trend(&runs(Quantity::Send)).map_or(0.0, |(slope, _)| slope);
    let growth = Growth {
        send: send.clamp(0.0, whole),
        // With it, by how much polling many connections delays the notice of a message.
        receive: whole - send.clamp(0.0, whole),
        half_round_trip,
        uncertainty: uncertainty / 2.0,
    };
    // Noise must not be extrapolated to many ranks.
    Some(if growth.is_distinct() {
        growth
    } else {
        Growth {
            send: 0.0,
            receive: 0.0,
            ..growth
        }
    })
}

/// Returns the slope of a line through the medians at each place, and its standard error by all points; none where there is one
/// place only.
fn trend(points: &[(u32, f64)]) -> Option<(f64, f64)> {
    let mut places: Vec<u32> = points.iter().map(|(place, _)| *place).collect();
    places.sort_unstable();
    places.dedup();
    let medians = places.iter().filter_map(|place| {
        let here = points.iter().filter(|(at, _)| at == place);
        let times: Vec<f64> = here.map(|(_, time)| *time).collect();
        Some((f64::from(*place), Spread::of(&times)?.median))
    });
    let medians: Vec<(f64, f64)> = medians.collect();
    if medians.len() < 2 {
        return None;
    }
    let count = medians.len() as f64;
    let mean_x = medians.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = medians.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = medians.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = medians
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    let slope = together / spread;
    let errors = points.iter().map(|&(x, y)| {
        let x = f64::from(x) - mean_x;
        (y - mean_y - slope * x).powi(2)
    });
    let all_spread: f64 = points
        .iter()
        .map(|(x, _)| (f64::from(*x) - mean_x).powi(2))
        .sum();
    let freedom = points.len().saturating_sub(2).max(1) as f64;
    Some((slope, (errors.sum::<f64>() / freedom / all_spread).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measurements of a network with a known protocol: eager up to 4096 bytes, then with a handshake.
    fn measured(o_send: f64, o_receive: f64) -> Measured {
        let mut measured = Measured {
            eager_up_to: Some(4_096),
            ..Measured::default()
        };
        let mut sizes: Vec<u64> = (0..21).map(|power| 1 << power).collect();
        sizes.push(4_097);
        for bytes in sizes {
            let k = bytes as f64;
            let (send, receive, transit) = if bytes <= 4_096 {
                (
                    o_send + 0.1 * k,
                    o_receive + 0.2 * k,
                    1_000.0 + 0.5 * (k - 1.0),
                )
            } else {
                (
                    o_send + 0.05 * k,
                    o_receive + 0.2,
                    3_000.0 + 0.1 * (k - 1.0),
                )
            };
            let small = o_send + o_receive + 0.3;
            let exchange = if bytes <= 4_096 {
                0.0
            } else {
                2_000.0 + 2.0 * small
            };
            let half = exchange + send + transit + receive;
            let mut add = |quantity, value| measured.sizes.add(quantity, bytes, &[value]);
            add(Quantity::RoundTrip, 2.0 * half);
            add(Quantity::Send, send + exchange);
            add(Quantity::Gap, 50.0 + 0.4 * k);
            if bytes <= 4_096 {
                add(Quantity::Receive, receive);
            }
        }
        measured
    }

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() <= 1e-6 * expected.abs().max(1e-3),
            "{found} for {expected}"
        );
    }

    #[test]
    fn parameters_of_a_known_network_are_found() {
        let fit = fit(&measured(200.0, 300.0));
        assert_eq!(fit.rendezvous_above, Some(4_096));
        let [small, large] = fit.pieces.as_slice() else {
            panic!("{fit:?}");
        };
        assert_eq!((small.above, large.above), (0, 4_096));
        near(small.latency, 1_000.0);
        near(small.gap_per_byte, 0.5);
        near(small.send[0], 200.0);
        near(small.send[1], 0.1);
        near(small.receive[0], 300.0);
        near(small.receive[1], 0.2);
        near(large.latency, 3_000.0 + 0.1 * 4_096.0);
        near(large.gap_per_byte, 0.1);
        near(large.send[0], 200.0 + 0.05 * 4_096.0);
        near(large.send[1], 0.05);
        near(large.receive[0], 300.2);
        assert!(small.residual < 1e-9 && large.residual < 1e-9);
        let (gap, per_byte) = fit.stream.expect("there are bursts");
        near(gap, 50.4);
        near(per_byte, 0.4);
    }

    #[test]
    fn overheads_that_are_more_than_all_are_less_in_proportion() {
        let mut measured = measured(200.0, 300.0);
        for bytes in measured.sizes.sizes(Quantity::Send) {
            measured.sizes.add(Quantity::Send, bytes, &[9e9, 9e9]);
        }
        let fit = fit(&measured);
        for piece in &fit.pieces {
            for value in [
                piece.latency,
                piece.gap_per_byte,
                piece.send[0],
                piece.receive[1],
            ] {
                assert!(value >= 0.0 && value.is_finite(), "{piece:?}");
            }
        }
        let base = fit.pieces[0];
        let sum = base.latency + base.send[0] + base.send[1] + base.receive[0] + base.receive[1];
        assert!((sum - 1_500.3).abs() < 1.0, "{sum}");
    }

    fn crowd(ranks: u32, round_trip: f64, send: f64) -> (u32, Samples) {
        let mut samples = Samples::default();
        samples.add(Quantity::RoundTrip, 1, &[round_trip]);
        samples.add(Quantity::Send, 1, &[send]);
        (ranks, samples)
    }

    #[test]
    fn overheads_that_grow_are_divided_and_the_rest_is_that_of_no_rank() {
        let mut measured = measured(200.0, 300.0);
        for ranks in [2, 4, 8, 2, 4, 8] {
            let p = f64::from(ranks);
            measured
                .crowds
                .push(crowd(ranks, 3_000.0 + 60.0 * p, 200.0 + 10.0 * p));
        }
        let fit = fit(&measured);
        let growth = fit.growth.expect("there are three numbers of ranks");
        near(growth.half_round_trip, 30.0);
        near(growth.send, 10.0);
        near(growth.receive, 20.0);
        near(fit.pieces[0].send[0], 180.0);
        near(fit.pieces[0].receive[0], 260.0);
    }

    #[test]
    fn noise_is_no_growth() {
        let mut measured = measured(200.0, 300.0);
        for (ranks, time) in [
            (2, 3_000.0),
            (4, 3_200.0),
            (8, 3_010.0),
            (2, 2_900.0),
            (4, 2_950.0),
            (8, 3_080.0),
        ] {
            measured.crowds.push(crowd(ranks, time, 200.0));
        }
        let growth = fit(&measured)
            .growth
            .expect("there are three numbers of ranks");
        assert!(!growth.is_distinct(), "{growth:?}");
        near(growth.send, 0.0);
        near(growth.receive, 0.0);
        measured.crowds.truncate(1);
        assert_eq!(fit(&measured).growth, None);
    }
}
