//! Which combinations of local states can be reached, as a bit for each.

use crate::{
    error::SanError,
    fire::Transitions,
    model::Model,
    space::{Key, Space},
};

/// A set of states.
#[derive(Clone, Debug)]
pub(crate) struct States {
    bits: Vec<u64>,
    count: usize,
}

impl States {
    fn new(size: usize) -> Self {
        Self {
            bits: vec![0; size.div_ceil(64)],
            count: 0,
        }
    }

    pub fn contains(&self, state: usize) -> bool {
        self.bits[state / 64] >> (state % 64) & 1 == 1
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds a state; returns whether it is new.
    fn add(&mut self, state: usize) -> bool {
        let new = !self.contains(state);
        self.bits[state / 64] |= 1 << (state % 64);
        self.count += usize::from(new);
        new
    }
}

/// Finds what can be reached from the start, or takes what the model says; and checks all rates and routing there.
pub(crate) fn reachable(model: &Model, space: &Space) -> Result<States, SanError> {
    let transitions = Transitions::new(model, space);
    let size = space.size() as usize;
    let mut found = States::new(size);
    let mut state = Vec::new();
    let start = model.initial();
    if let Some((at, condition)) = &model.reachable {
        for key in 0..size {
            space.state(key as Key, &mut state);
            if condition.value(&state) != 0.0 {
                found.add(key);
            }
        }
        for key in 0..size {
            if !found.contains(key) {
                continue;
            }
            space.state(key as Key, &mut state);
            let mut outside = None;
            transitions.from(&state, key as Key, &mut |next, _| {
                if !found.contains(next as usize) {
                    outside = Some(next);
                }
            })?;
            if let Some(next) = outside {
                let from = model.state_text(&state);
                space.state(next, &mut state);
                let to = model.state_text(&state);
                return Err(SanError::Model {
                    file: model.file.clone(),
                    at: *at,
                    message: format!(
                        "the state {from} is said to be reachable, and {to}, which it leads to, is not"
                    ),
                });
            }
        }
        return Ok(found);
    }
    let mut open = vec![space.key(&start)];
    found.add(open[0] as usize);
    while let Some(key) = open.pop() {
        space.state(key, &mut state);
        transitions.from(&state, key, &mut |next, _| {
            if found.add(next as usize) {
                open.push(next);
            }
        })?;
    }
    Ok(found)
}

/// Returns the first of the states from which the start is out of reach; none where the chain is irreducible.
///
/// Goes through the states forwards and backwards in turn until nothing is new, which takes few rounds where counters and
/// phases are numbered in the order in which they are gone through.
pub(crate) fn first_without_return(
    model: &Model,
    space: &Space,
    reachable: &States,
) -> Result<Option<(Vec<u16>, usize)>, SanError> {
    let transitions = Transitions::new(model, space);
    let size = space.size() as usize;
    let mut back = States::new(size);
    back.add(space.key(&model.initial()) as usize);
    let mut state = Vec::new();
    let mut forwards = true;
    loop {
        let before = back.count();
        for step in 0..size {
            let key = if forwards { step } else { size - 1 - step };
            if !reachable.contains(key) || back.contains(key) {
                continue;
            }
            space.state(key as Key, &mut state);
            let mut returns = false;
            transitions.from(&state, key as Key, &mut |next, _| {
                returns |= back.contains(next as usize);
            })?;
            if returns {
                back.add(key);
            }
        }
        if back.count() == reachable.count() {
            return Ok(None);
        }
        if back.count() == before {
            break;
        }
        forwards = !forwards;
    }
    let missing = reachable.count() - back.count();
    let first = (0..size).find(|key| reachable.contains(*key) && !back.contains(*key));
    Ok(first.map(|key| {
        space.state(key as Key, &mut state);
        (state.clone(), missing)
    }))
}
