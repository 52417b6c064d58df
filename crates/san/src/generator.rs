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
}

/// A partition of the states by digits of their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    digits: Vec<Digit>,
}

/// A digit of keys, of which some neighbouring values count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digit {
    weight: Key,
    values: u32,
    joined: u32,
}

impl Digit {
    fn new((weight, values): (Key, u32)) -> Self {
        Self {
            weight,
            values,
            joined: values.div_ceil(MOST_BLOCKS),
        }
    }

    fn blocks(self) -> u32 {
        self.values.div_ceil(self.joined)
    }
}

/// As many blocks as a partition of several digits has.
const MOST_JOINED: u32 = 64;

/// As many blocks as a partition has: their chain is solved directly.
const MOST_BLOCKS: u32 = 512;

impl Partition {
    /// Makes partitions of all digits, given by weight and number of values: of the largest digits first, small ones
    /// together.
    pub fn all(digits: &[(Key, u32)]) -> Vec<Self> {
        let mut partitions: Vec<Self> = Vec::new();
        for partition in Self::single(digits) {
            match partitions.last_mut() {
                Some(last) if last.blocks() * partition.blocks() <= MOST_JOINED as usize => {
                    last.digits.extend(partition.digits);
                }
                _ => partitions.push(partition),
            }
        }
        partitions
    }

    /// Makes a partition of each digit, of the largest first.
    pub fn single(digits: &[(Key, u32)]) -> Vec<Self> {
        let mut digits = digits.to_vec();
        digits.sort_by_key(|(_, values)| std::cmp::Reverse(*values));
        digits.retain(|(_, values)| *values >= 2);
        let partition = |digit| Self {
            digits: vec![Digit::new(digit)],
        };
        digits.into_iter().map(partition).collect()
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.digits
            .iter()
            .map(|digit| digit.blocks() as usize)
            .product()
    }

    /// Returns the block of a key.
    pub fn of(&self, key: Key) -> usize {
        self.digits.iter().fold(0, |block, digit| {
            let value = (key / digit.weight % Key::from(digit.values)) as usize;
            block * digit.blocks() as usize + value / digit.joined as usize
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
