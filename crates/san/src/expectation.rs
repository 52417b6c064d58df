//! Expectations of expressions over a distribution, also of expressions that tell lumped replicas apart.

use crate::{
    error::{Problem, SanError},
    expr::Expr,
    model::{Family, Model},
    space::{Key, Space},
};

/// As many cases as one state stands for, in an expression that tells replicas apart.
const MOST_CASES: f64 = 4096.0;

/// Returns the expectations of all results.
///
/// Lumped states stand for all exchanges of replicas, which are equally probable. An expression that looks at single replicas
/// is averaged over the states that these can be in, drawn without replacement.
///
/// # Errors
///
/// Where a result is no finite number in a state that the distribution has.
pub(crate) fn all(
    model: &Model,
    space: &Space,
    families: &[Family],
    distribution: impl Iterator<Item = (Key, f64)>,
) -> Result<Vec<(String, f64)>, SanError> {
    let single: Vec<Vec<Vec<u32>>> = model
        .results
        .iter()
        .map(|wanted| {
            families
                .iter()
                .map(|family| told_apart(&wanted.expr, family))
                .collect()
        })
        .collect();
    let mut sums = vec![0.0; model.results.len()];
    let mut state = Vec::new();
    for (key, probability) in distribution {
        if probability == 0.0 {
            continue;
        }
        space.state(key, &mut state);
        for ((sum, wanted), single) in sums.iter_mut().zip(&model.results).zip(&single) {
            let value = if single.iter().all(Vec::is_empty) {
                wanted.expr.value(&state)
            } else {
                average(&wanted.expr, &mut state.clone(), families, single)
            };
            if !value.is_finite() {
                let message = format!(
                    "the result {} is {value} in the state {}; results are finite in every state that is reached",
                    wanted.name,
                    model.state_text(&state)
                );
                return Err(Problem::new(wanted.at, message).in_file(&model.file));
            }
            *sum += probability * value;
        }
    }
    let names = model.results.iter().map(|wanted| wanted.name.clone());
    Ok(names.zip(sums).collect())
}

/// Returns whether all results can be computed where the family is lumped.
pub(crate) fn can_be_lumped(model: &Model, family: &Family) -> bool {
    let states = model.automata[family.first as usize].states.len() as f64;
    model.results.iter().all(|wanted| {
        let apart = told_apart(&wanted.expr, family).len() as f64;
        states.powf(apart) <= MOST_CASES
    })
}

/// Returns the members of a family that an expression tells apart from all others.
fn told_apart(expr: &Expr, family: &Family) -> Vec<u32> {
    let keep = expr.canonical(&|automaton| automaton);
    let members = family.first..family.first + family.count;
    let alike = |a: u32, b: u32| {
        let exchanged = |automaton: u32| match automaton {
            c if c == a => b,
            c if c == b => a,
            c => c,
        };
        a == b || expr.canonical(&exchanged) == keep
    };
    // Nearly always all are alike, or all but those named by their numbers.
    let pivots = [
        family.first + family.count - 1,
        family.first,
        family.first + family.count / 2,
    ];
    let apart_from = |pivot: u32| -> Vec<u32> {
        members
            .clone()
            .filter(|member| !alike(*member, pivot))
            .collect()
    };
    let mut best = apart_from(pivots[0]);
    for pivot in &pivots[1..] {
        if best.is_empty() {
            break;
        }
        let other = apart_from(*pivot);
        if other.len() < best.len() {
            best = other;
        }
    }
    best
}

/// Averages an expression over the states that the first of these members can be in.
fn average(expr: &Expr, state: &mut [u16], families: &[Family], single: &[Vec<u32>]) -> f64 {
    let Some((family, rest)) = families.split_first() else {
        return expr.value(state);
    };
    let Some((these, others)) = single.split_first() else {
        return expr.value(state);
    };
    draw(expr, state, family, these, (rest, others), &mut Vec::new())
}

fn draw(
    expr: &Expr,
    state: &mut [u16],
    family: &Family,
    these: &[u32],
    (rest, others): (&[Family], &[Vec<u32>]),
    drawn: &mut Vec<u32>,
) -> f64 {
    let Some((member, these)) = these.split_first() else {
        return average(expr, state, rest, others);
    };
    drawn.push(*member);
    let free: Vec<u32> = (family.first..family.first + family.count)
        .filter(|other| *other == *member || !drawn.contains(other))
        .collect();
    let mut locals: Vec<u16> = free.iter().map(|other| state[*other as usize]).collect();
    locals.sort_unstable();
    let mut sum = 0.0;
    for run in locals.chunk_by(|a, b| a == b) {
        // Exchange the member with one that is in this state.
        let with = free.iter().find(|other| state[**other as usize] == run[0]);
        let Some(with) = with else { continue };
        state.swap(*member as usize, *with as usize);
        let share = run.len() as f64 / free.len() as f64;
        sum += share * draw(expr, state, family, these, (rest, others), drawn);
        state.swap(*member as usize, *with as usize);
    }
    drawn.pop();
    sum
}
