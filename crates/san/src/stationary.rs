//! Stationary distributions.
//!
//! Sweeps of Gauss-Seidel (or, without a matrix, damped Jacobi) make neighbouring states agree quickly and distant ones
//! slowly; so between them the chain of *blocks* of states is solved exactly, and the blocks' probabilities are set right.
//! Of the propagation model with 18,016 states, 600 sweeps alone leave a residual of 8e-7, and 90 with aggregation 6e-13.
//!
//! # Source
//!
//! Koury, `McAllister`, Stewart, "Iterative methods for computing stationary distributions of nearly completely decomposable
//! Markov chains", 1984; Stewart, "Introduction to the numerical solution of Markov chains", 1994, chapter 6.

use crate::{
    chain::Chain,
    direct::{self, normalize},
    generator::{Generator, Partition},
};

/// How near, and how far to go for it.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// The residual that is good enough in each state.
    pub tolerance: f64,
    /// The sum of the residual over all states that is good enough. Of a million states each can be nearly right, and what is
    /// summed over them wrong.
    pub sum: f64,
    /// As many sweeps as are made.
    pub most_iterations: u64,
}

/// Is told how many sweeps were made and how large the residual is, again and again.
pub type Watch<'a> = &'a (dyn Fn(u64, f64) + Sync);

/// A distribution, and how good it is.
#[derive(Clone, Debug)]
pub struct Stationary {
    /// The probability of each state.
    pub distribution: Vec<f64>,
    /// The greatest component of its product with the generator.
    pub residual: f64,
    /// The sum of all components without their signs.
    pub residual_sum: f64,
    /// The sweeps that were made; 0 for a direct solution.
    pub iterations: u64,
    /// How it was found.
    pub method: &'static str,
    /// Whether the residual is as small as was asked for, or as rounding allows.
    pub converged: bool,
}

impl Stationary {
    /// Returns whether it is a distribution at all: rates that differ by too much leave no numbers.
    pub fn is_sound(&self) -> bool {
        let sum: f64 = self.distribution.iter().sum();
        self.residual_sum.is_finite() && (sum - 1.0).abs() < WHOLE
    }
}

/// As far as the sum of all probabilities may be off 1: more than rounding makes of it.
const WHOLE: f64 = 1e-6;

/// How a distribution is improved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iteration {
    /// Gauss-Seidel or damped Jacobi, with the chain of blocks solved in between.
    Aggregation,
    /// The same without the blocks.
    Plain,
    /// Steps of the uniformized chain, as in a simulation of it.
    Power,
}

/// Up to this number of states the solution is direct.
const DIRECT: usize = 256;

/// Sweeps between two solutions of the blocks' chain.
const SWEEPS: u64 = 5;

/// The share of a new value in a damped Jacobi step: less lets oscillations die that a whole step keeps up.
const DAMPING: f64 = 0.8;

/// Where a cycle leaves more of the residual than this, the next one tries other blocks.
const SLOW: f64 = 0.5;

/// Cycles without any progress, after which rounding is taken to be all that is left.
const STUCK: u32 = 12;

/// Where there is no progress, so many times the rounding of one operation is taken to be all that is left.
const ROUNDING_LEFT: f64 = 250.0;

/// Cycles without any progress, after which blocks are taken to do harm, and are left alone.
const HARMFUL: u32 = 60;

/// Finds the distribution of a sparse chain; `start` is positive on the recurrent states and 0 elsewhere.
pub fn sparse(
    chain: &Chain,
    start: Vec<f64>,
    partitions: &[Partition],
    iteration: Iteration,
    goal: Goal,
    watch: Watch<'_>,
) -> Stationary {
    if chain.len() <= DIRECT && iteration == Iteration::Aggregation {
        return small(chain, &start);
    }
    let sweep = |distribution: &mut [f64], scratch: &mut [f64]| match iteration {
        Iteration::Power => power_step(chain, distribution, scratch),
        _ => gauss_seidel(chain, distribution),
    };
    let method = match iteration {
        Iteration::Aggregation => "gauss-seidel with aggregation",
        Iteration::Plain => "gauss-seidel",
        Iteration::Power => "power",
    };
    let partitions = if iteration == Iteration::Aggregation {
        partitions
    } else {
        &[]
    };
    iterate(chain, start, partitions, goal, method, watch, sweep)
}

/// Finds the distribution of a chain that is known by its products only.
pub fn matrix_free(
    chain: &impl Generator,
    start: Vec<f64>,
    partitions: &[Partition],
    iteration: Iteration,
    goal: Goal,
    watch: Watch<'_>,
) -> Stationary {
    let (partitions, method) = match iteration {
        Iteration::Aggregation => (partitions, "matrix-free jacobi with aggregation"),
        Iteration::Plain => (&[][..], "matrix-free jacobi"),
        Iteration::Power => (&[][..], "matrix-free power"),
    };
    iterate(chain, start, partitions, goal, method, watch, |x, y| {
        if iteration == Iteration::Power {
            power_step(chain, x, y);
        } else {
            jacobi(chain, x, y);
        }
    })
}

/// Solves a small chain directly.
fn small(chain: &Chain, start: &[f64]) -> Stationary {
    // States that were left out by the start are transient.
    let states: Vec<usize> = (0..chain.len()).filter(|s| start[*s] > 0.0).collect();
    let mut position = vec![usize::MAX; chain.len()];
    for (index, state) in states.iter().enumerate() {
        position[*state] = index;
    }
    let n = states.len();
    let mut rates = vec![0.0; n * n];
    for (index, state) in states.iter().enumerate() {
        for (from, rate) in chain.incoming(*state) {
            if position[from] != usize::MAX {
                rates[position[from] * n + index] += rate;
            }
        }
    }
    let found = direct::stationary(&mut rates, n);
    let mut distribution = vec![0.0; chain.len()];
    for (state, probability) in states.iter().zip(found) {
        distribution[*state] = probability;
    }
    let rest = Balance::new(chain, &distribution, &mut vec![0.0; chain.len()]);
    Stationary {
        residual: rest.off,
        residual_sum: rest.off_sum,
        distribution,
        iterations: 0,
        method: "direct",
        converged: true,
    }
}

fn iterate<G: Generator>(
    chain: &G,
    start: Vec<f64>,
    partitions: &[Partition],
    goal: Goal,
    method: &'static str,
    watch: Watch<'_>,
    sweep: impl Fn(&mut [f64], &mut [f64]),
) -> Stationary {
    let mut distribution = start;
    normalize(&mut distribution);
    let mut scratch = vec![0.0; distribution.len()];
    let mut which = 0;
    let mut iterations = 0;
    let mut best = f64::INFINITY;
    let mut without_progress = 0;
    let mut residual = f64::INFINITY;
    let mut balance = Balance::default();
    let mut converged = false;
    while !converged && iterations < goal.most_iterations {
        let before = residual;
        let partition = partitions.get(which).filter(|_| without_progress < HARMFUL);
        let mut flows = Vec::new();
        match partition {
            Some(partition) => {
                flows.resize(partition.blocks() * partition.blocks(), 0.0);
                chain.inflow_by_block(&distribution, &mut scratch, partition, &mut flows);
            }
            None => chain.inflow(&distribution, &mut scratch),
        }
        balance = Balance::of(chain, &distribution, &scratch);
        residual = balance.off_sum;
        watch(iterations, balance.off);
        if residual > SLOW * before && !partitions.is_empty() {
            which = (which + 1) % partitions.len();
        }
        if without_progress < HARMFUL {
            without_progress = if residual < 0.9 * best {
                0
            } else {
                without_progress + 1
            };
        }
        best = best.min(residual);
        if !residual.is_finite() {
            // Nothing that is computed from this is a number.
            break;
        }
        if balance.reaches(goal, 1.0)
            || (without_progress >= STUCK && balance.reaches(goal, ROUNDING_LEFT))
        {
            converged = true;
            break;
        }
        if let Some(partition) = partition {
            correct_blocks(chain, &mut distribution, partition, &flows);
        }
        for _ in 0..SWEEPS {
            sweep(&mut distribution, &mut scratch);
        }
        normalize(&mut distribution);
        iterations += SWEEPS;
    }
    if !converged {
        balance = Balance::new(chain, &distribution, &mut scratch);
    }
    Stationary {
        distribution,
        residual: balance.off,
        residual_sum: balance.off_sum,
        iterations,
        method,
        converged: converged || balance.reaches(goal, 1.0),
    }
}

/// What flows out of states, and how far that is from what flows in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Balance {
    flow: f64,
    flow_sum: f64,
    /// The greatest difference.
    pub off: f64,
    /// The sum of all differences.
    pub off_sum: f64,
}

impl Balance {
    /// Computes it for a distribution.
    pub fn new(chain: &impl Generator, distribution: &[f64], scratch: &mut [f64]) -> Self {
        chain.inflow(distribution, scratch);
        Self::of(chain, distribution, scratch)
    }

    fn of(chain: &impl Generator, distribution: &[f64], inflow: &[f64]) -> Self {
        let states = distribution.iter().zip(chain.exit()).zip(inflow);
        states.fold(Self::default(), |sum, ((probability, exit), into)| {
            let flow = probability * exit;
            let off = (into - flow).abs();
            Self {
                flow: sum.flow.max(flow),
                flow_sum: sum.flow_sum + flow,
                off: sum.off.max(off),
                off_sum: sum.off_sum + off,
            }
        })
    }

    /// Returns whether it is near enough, or so near that only rounding is left: no difference is smaller than that of the flows
    /// that it is between. `rounding` says how many times that counts as nothing.
    fn reaches(&self, goal: Goal, rounding: f64) -> bool {
        let least = 4.0 * f64::EPSILON * rounding;
        self.off <= goal.tolerance.max(least * self.flow)
            && self.off_sum <= goal.sum.max(least * self.flow_sum)
    }
}

/// Sets the probabilities of blocks right, by the flows between them.
fn correct_blocks(
    chain: &impl Generator,
    distribution: &mut [f64],
    partition: &Partition,
    flows: &[f64],
) {
    let blocks = partition.blocks();
    let mut mass = vec![0.0; blocks];
    for (state, probability) in distribution.iter().enumerate() {
        if *probability > 0.0 {
            mass[chain.block(partition, state)] += probability;
        }
    }
    let used: Vec<usize> = (0..blocks).filter(|block| mass[*block] > 0.0).collect();
    let n = used.len();
    let mut rates = vec![0.0; n * n];
    for (row, from) in used.iter().enumerate() {
        for (column, to) in used.iter().enumerate() {
            if row != column {
                rates[row * n + column] = flows[from * blocks + to] / mass[*from];
            }
        }
    }
    let right = direct::stationary(&mut rates, n);
    let mut factors = vec![0.0; blocks];
    for (block, probability) in used.iter().zip(right) {
        factors[*block] = probability / mass[*block];
    }
    if factors.iter().all(|factor| factor.is_finite()) {
        for (state, probability) in distribution.iter_mut().enumerate() {
            if *probability > 0.0 {
                *probability *= factors[chain.block(partition, state)];
            }
        }
    }
}

fn gauss_seidel(chain: &Chain, distribution: &mut [f64]) {
    for state in 0..chain.len() {
        if chain.exit[state] > 0.0 {
            let into: f64 = chain
                .incoming(state)
                .map(|(from, rate)| distribution[from] * rate)
                .sum();
            distribution[state] = into / chain.exit[state];
        }
    }
}

fn jacobi(chain: &impl Generator, distribution: &mut [f64], scratch: &mut [f64]) {
    chain.inflow(distribution, scratch);
    let states = distribution.iter_mut().zip(scratch).zip(chain.exit());
    for ((probability, into), exit) in states {
        if *exit > 0.0 {
            *probability += DAMPING * (*into / exit - *probability);
        }
    }
}

fn power_step(chain: &impl Generator, distribution: &mut [f64], scratch: &mut [f64]) {
    let fastest = chain.exit().iter().copied().fold(0.0, f64::max);
    // A little more than the fastest rate, so that the uniformized chain has no period.
    let uniform = 1.02 * fastest;
    if uniform == 0.0 {
        return;
    }
    chain.inflow(distribution, scratch);
    let states = distribution.iter_mut().zip(scratch).zip(chain.exit());
    for ((probability, into), exit) in states {
        *probability += (*into - *probability * exit) / uniform;
    }
}
