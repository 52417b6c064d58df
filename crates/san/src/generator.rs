//! What solvers ask of a chain, however it is stored.

use crate::{chain::Chain, space::Key};

/// A chain's generator, by what it does to distributions.
pub trait Generator {
    /// Returns the rate at which each state is left; 0 for numbers that stand for no state.
    fn exit(&self) -> &[f64];

    /// Writes into `into` the probability that flows into each state, per unit of time.
    fn inflow(&self, distribution: &[f64], into: &mut [f64]);

    /// Does the same, and adds the flows from block to block of a partition to the matrix `flows`, row by row.
    fn inflow_by_block(
        &self,
        distribution: &[f64],
        into: &mut [f64],
        partition: &Partition,
        flows: &mut [f64],
    );

    /// Returns the block of a state.
    fn block(&self, partition: &Partition, state: usize) -> usize;

    /// Returns the greatest component of the product of a distribution and the generator, without its sign.
    fn residual(&self, distribution: &[f64], scratch: &mut [f64]) -> f64 {
        self.inflow(distribution, scratch);
        let states = distribution.iter().zip(self.exit()).zip(scratch);
        states
            .map(|((probability, exit), into)| (*into - probability * exit).abs())
            .fold(0.0, f64::max)
    }
}

/// A partition of the states by digits of their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    digits: Vec<(Key, u32)>,
}

/// As many blocks as a partition of several digits has.
const MOST_JOINED: u32 = 64;

/// As many blocks as a partition has: their chain is solved directly.
const MOST_BLOCKS: u32 = 1024;

impl Partition {
    /// Makes partitions of all digits, given by weight and number of values: of the largest digits first, small ones
    /// together. Digits with more values than blocks may be are left out.
    pub fn all(digits: &[(Key, u32)]) -> Vec<Self> {
        let mut digits: Vec<(Key, u32)> = digits
            .iter()
            .copied()
            .filter(|(_, values)| (2..=MOST_BLOCKS).contains(values))
            .collect();
        digits.sort_by_key(|(_, values)| std::cmp::Reverse(*values));
        let mut partitions: Vec<Self> = Vec::new();
        for digit in digits {
            match partitions.last_mut() {
                Some(last) if last.blocks() as u32 * digit.1 <= MOST_JOINED => {
                    last.digits.push(digit);
                }
                _ => partitions.push(Self {
                    digits: vec![digit],
                }),
            }
        }
        partitions
    }

    /// Makes a partition of each digit, of the largest first.
    pub fn single(digits: &[(Key, u32)]) -> Vec<Self> {
        let mut digits = digits.to_vec();
        digits.sort_by_key(|(_, values)| std::cmp::Reverse(*values));
        digits.retain(|(_, values)| (2..=MOST_BLOCKS).contains(values));
        digits
            .into_iter()
            .map(|digit| Self {
                digits: vec![digit],
            })
            .collect()
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.digits
            .iter()
            .map(|(_, values)| *values as usize)
            .product()
    }

    /// Returns the block of a key.
    pub fn of(&self, key: Key) -> usize {
        self.digits.iter().fold(0, |block, (weight, values)| {
            block * *values as usize + (key / weight % Key::from(*values)) as usize
        })
    }
}

impl Generator for Chain {
    fn exit(&self) -> &[f64] {
        &self.exit
    }

    fn inflow(&self, distribution: &[f64], into: &mut [f64]) {
        for (state, sum) in into.iter_mut().enumerate() {
            *sum = self
                .incoming(state)
                .map(|(from, rate)| distribution[from] * rate)
                .sum();
        }
    }

    fn inflow_by_block(
        &self,
        distribution: &[f64],
        into: &mut [f64],
        partition: &Partition,
        flows: &mut [f64],
    ) {
        let blocks = partition.blocks();
        let of: Vec<u32> = self
            .keys
            .iter()
            .map(|key| partition.of(*key) as u32)
            .collect();
        for (state, sum) in into.iter_mut().enumerate() {
            *sum = 0.0;
            let to = of[state] as usize;
            for (from, rate) in self.incoming(state) {
                let flow = distribution[from] * rate;
                *sum += flow;
                flows[of[from] as usize * blocks + to] += flow;
            }
        }
    }

    fn block(&self, partition: &Partition, state: usize) -> usize {
        partition.of(self.keys[state])
    }
}
