//! From a model to its results.

use crate::{
    chain::{BYTES_PER_ARC, BYTES_PER_STATE, Chain},
    classes,
    descriptor::{self, Descriptor},
    error::{Bytes, Place, SanError},
    expectation,
    generator::{Generator, Partition},
    lump,
    model::{Family, Model},
    reach,
    space::Space,
    stationary::{self, Balance, Goal, Iteration, Stationary, Watch},
    transient,
};

/// How a model is solved.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How the generator is stored.
    pub storage: Storage,
    /// How the distribution is improved.
    pub iteration: Iteration,
    /// Whether interchangeable replicas are lumped.
    pub lump: bool,
    /// The residual that is good enough in each state, in events per unit of time.
    pub tolerance: f64,
    /// The sum of the residual over all states that is good enough.
    pub tolerance_sum: f64,
    /// As many sweeps as are made.
    pub most_iterations: u64,
    /// As many bytes as may be used.
    pub memory: f64,
    /// Whether states that are left for ever are no error.
    pub allow_transient: bool,
    /// The time to tell of; none for the long run.
    pub at_time: Option<f64>,
}

/// How the generator is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// As a sparse matrix where it fits into memory, else not at all.
    Auto,
    /// As a sparse matrix.
    Sparse,
    /// Not at all: products with it are computed from the automata.
    MatrixFree,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            storage: Storage::Auto,
            iteration: Iteration::Aggregation,
            lump: true,
            tolerance: 1e-12,
            tolerance_sum: 1e-10,
            most_iterations: 200_000,
            memory: 8e9,
            allow_transient: false,
            at_time: None,
        }
    }
}

/// What was found out about a model.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The number of reachable states, of the model as it is written.
    pub states: f64,
    /// The number of states that were computed with, which lumping makes fewer.
    pub solved_states: usize,
    /// The number of combinations of local states.
    pub product_states: f64,
    /// The families whose members are interchangeable, and were lumped.
    pub lumped: Vec<String>,
    /// How the distribution was found.
    pub method: &'static str,
    /// The greatest component of the product of distribution and generator; of a distribution at a time, how fast it changes.
    pub residual: f64,
    /// The sum of all components of that product, without their signs.
    pub residual_sum: f64,
    /// How many sweeps or steps that took.
    pub iterations: u64,
    /// The results' values.
    pub results: Vec<(String, f64)>,
}

/// States up to which the search may go before memory is known to suffice for all combinations.
const SEARCHED_ANYWAY: f64 = 1e6;

/// Arcs a state, as estimates have it.
const ARCS: f64 = 12.0;

/// Solves a model.
///
/// # Errors
///
/// Where it is too large, reducible, or its rates or probabilities are none; where the iteration does not converge.
pub fn solve(model: &Model, options: &Options) -> Result<Solution, SanError> {
    solve_watched(model, options, &|_, _| {})
}

/// Solves a model as [`solve`], telling of its progress.
///
/// # Errors
///
/// As [`solve`].
pub fn solve_watched(
    model: &Model,
    options: &Options,
    watch: Watch<'_>,
) -> Result<Solution, SanError> {
    let families: Vec<Family> = if options.lump && options.storage != Storage::MatrixFree {
        let symmetric = lump::symmetric_families(model);
        symmetric
            .into_iter()
            .filter(|family| expectation::can_be_lumped(model, family))
            .collect()
    } else {
        Vec::new()
    };
    let space = Space::new(model, &families);
    if options.storage == Storage::MatrixFree {
        return without_matrix(model, options, watch);
    }
    let combinations = space
        .as_ref()
        .map_or(f64::INFINITY, |space| space.size() as f64);
    let needed = combinations * (BYTES_PER_STATE + ARCS * BYTES_PER_ARC);
    let fits = needed <= options.memory;
    let may_go_without = options.storage == Storage::Auto
        && families.is_empty()
        && descriptor::bytes_needed(model.product_states()) <= options.memory;
    let allowed = if fits {
        options.memory
    } else {
        // The combinations are too many, but few may be reachable: a short search tells.
        let searched = SEARCHED_ANYWAY * (BYTES_PER_STATE + ARCS * BYTES_PER_ARC);
        match options.storage {
            Storage::Sparse => options.memory,
            _ => options.memory.min(searched),
        }
    };
    let chain = if let Some(space) = &space {
        Chain::explore(model, space, allowed).map(|chain| (space, chain))
    } else {
        let needed = descriptor::bytes_needed(model.product_states());
        Err(descriptor::too_large(model, needed, options.memory))
    };
    match chain {
        Err(SanError::TooLarge { .. }) if may_go_without => without_matrix(model, options, watch),
        Err(error) if allowed < options.memory && space.is_some() => {
            Err(after_short_search(error, options))
        }
        Err(error) => Err(error),
        Ok((space, chain)) => with_matrix(model, options, &families, (space, &chain), watch),
    }
}

/// Says of a search that was given up early how much memory there is, and how to let it go on.
fn after_short_search(error: SanError, options: &Options) -> SanError {
    match error {
        SanError::TooLarge {
            file,
            states,
            method,
            needed,
            ..
        } => SanError::TooLarge {
            file,
            states,
            method,
            needed,
            allowed: Bytes(options.memory),
            remedy: SEARCH_REMEDY,
        },
        other => other,
    }
}

/// What to do where a short search found no end of reachable states.
const SEARCH_REMEDY: &str = "make replicas interchangeable so that they are lumped, give fewer or smaller automata, or, where few \
                             of the combinations can be reached, let `--method sparse` search on until memory is full";

fn goal(options: &Options) -> Goal {
    Goal {
        tolerance: options.tolerance,
        sum: options.tolerance_sum,
        most_iterations: options.most_iterations,
    }
}

fn with_matrix(
    model: &Model,
    options: &Options,
    families: &[Family],
    (space, chain): (&Space, &Chain),
    watch: Watch<'_>,
) -> Result<Solution, SanError> {
    let found = if let Some(time) = options.at_time {
        let mut start = vec![0.0; chain.len()];
        start[chain.initial as usize] = 1.0;
        check_steps(model, chain, time)?;
        let (distribution, steps) = transient::at_time(chain, start, time);
        let rest = Balance::new(chain, &distribution, &mut vec![0.0; chain.len()]);
        Stationary {
            residual: rest.off,
            residual_sum: rest.off_sum,
            distribution,
            iterations: steps,
            method: "uniformization",
            converged: true,
        }
    } else {
        let recurrent = classes::recurrent(model, space, chain, options.allow_transient)?;
        let start = recurrent.iter().map(|inside| f64::from(u8::from(*inside)));
        let partitions = Partition::all(&space.digits());
        stationary::sparse(
            chain,
            start.collect(),
            &partitions,
            options.iteration,
            goal(options),
            watch,
        )
    };
    check(model, &found, options)?;
    let mut state = Vec::new();
    let multiplicities = chain.keys.iter().map(|key| {
        space.state(*key, &mut state);
        space.multiplicity(&state)
    });
    let states = multiplicities.sum();
    let keys = chain.keys.iter().copied();
    let results = expectation::all(
        model,
        space,
        families,
        keys.zip(found.distribution.iter().copied()),
    )?;
    Ok(Solution {
        states,
        solved_states: chain.len(),
        product_states: model.product_states(),
        lumped: families.iter().map(|family| family.name.clone()).collect(),
        method: found.method,
        residual: found.residual,
        residual_sum: found.residual_sum,
        iterations: found.iterations,
        results,
    })
}

fn without_matrix(
    model: &Model,
    options: &Options,
    watch: Watch<'_>,
) -> Result<Solution, SanError> {
    let product = model.product_states();
    let space = Space::for_products(model)
        .filter(|_| descriptor::bytes_needed(product) <= options.memory)
        .ok_or_else(|| {
            descriptor::too_large(model, descriptor::bytes_needed(product), options.memory)
        })?;
    let generator = Descriptor::new(model, &space, options.memory)?;
    let reachable = reach::reachable(model, &space)?;
    let states = space.size() as usize;
    let found = if let Some(time) = options.at_time {
        let mut start = vec![0.0; states];
        start[space.key(&model.initial()) as usize] = 1.0;
        check_steps(model, &generator, time)?;
        let (distribution, steps) = transient::at_time(&generator, start, time);
        let rest = Balance::new(&generator, &distribution, &mut vec![0.0; states]);
        Stationary {
            residual: rest.off,
            residual_sum: rest.off_sum,
            distribution,
            iterations: steps,
            method: "matrix-free uniformization",
            converged: true,
        }
    } else {
        if let Some((state, missing)) = reach::first_without_return(model, &space, &reachable)? {
            return Err(SanError::Reducible {
                file: model.file.clone(),
                at: model.automata[0].at,
                message: format!(
                    "from {missing} of {} states, {} the first of them, there is no way back to the start, so that the start \
                     or they are transient; the sparse method tells which, if it fits",
                    reachable.count(),
                    model.state_text(&state)
                ),
            });
        }
        let start = (0..states).map(|state| f64::from(u8::from(reachable.contains(state))));
        let partitions = Partition::single(&generator.digits());
        stationary::matrix_free(
            &generator,
            start.collect(),
            &partitions,
            options.iteration,
            goal(options),
            watch,
        )
    };
    check(model, &found, options)?;
    let probabilities = found.distribution.iter().copied().enumerate();
    let keys = probabilities.map(|(key, probability)| (key as crate::space::Key, probability));
    let results = expectation::all(model, &space, &[], keys)?;
    Ok(Solution {
        states: reachable.count() as f64,
        solved_states: states,
        product_states: model.product_states(),
        lumped: Vec::new(),
        method: found.method,
        residual: found.residual,
        residual_sum: found.residual_sum,
        iterations: found.iterations,
        results,
    })
}

fn check(model: &Model, found: &Stationary, options: &Options) -> Result<(), SanError> {
    if !found.is_sound() {
        return Err(out_of_range(model));
    }
    if found.converged {
        return Ok(());
    }
    Err(SanError::NotConverged {
        file: model.file.clone(),
        method: found.method,
        residual: found.residual,
        sum: found.residual_sum,
        iterations: found.iterations,
        wanted: options.tolerance,
    })
}

/// Refuses a distribution at a time that would take for ever.
fn check_steps(model: &Model, chain: &impl Generator, time: f64) -> Result<(), SanError> {
    let steps = transient::steps(chain, time);
    if steps <= transient::MOST_STEPS {
        return Ok(());
    }
    Err(SanError::TooManySteps {
        file: model.file.clone(),
        time,
        steps,
        rate: steps / time,
        most: transient::MOST_STEPS,
    })
}

/// Names the slowest and the fastest event, by their rates at the start where these depend on the state.
fn out_of_range(model: &Model) -> SanError {
    let start = model.initial();
    let all = model.events.iter();
    let all = all.map(|event| (event.rate.value(&start), event));
    let mut events: Vec<_> = all.filter(|(rate, _)| *rate > 0.0).collect();
    events.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let rates = events.first().zip(events.last());
    let rates = rates.map(|((slow, slowest), (fast, fastest))| {
        format!(
            "{slow:.1e} per unit of time for the event {}, {fast:.1e} for {}",
            slowest.name, fastest.name
        )
    });
    SanError::OutOfRange {
        file: model.file.clone(),
        at: events
            .last()
            .map_or_else(Place::default, |(_, event)| event.rate_at),
        rates: rates.unwrap_or_else(|| "none is above 0 at the start".to_owned()),
    }
}
