//! Which states a chain comes back to.

use crate::{
    chain::Chain,
    error::{Place, SanError},
    model::Model,
    space::Space,
};

/// Returns for each state whether the chain keeps coming back to it.
///
/// # Errors
///
/// Where that depends on where it starts; and where some states are left for ever, unless `transient` allows that.
pub fn recurrent(
    model: &Model,
    space: &Space,
    chain: &Chain,
    transient: bool,
) -> Result<Vec<bool>, SanError> {
    let class = components(chain);
    let classes = class.iter().max().map_or(0, |last| *last as usize + 1);
    // Arcs are known by their targets: a class that something else comes from is not closed.
    let mut closed = vec![true; classes];
    for state in 0..chain.len() {
        for (from, _) in chain.incoming(state) {
            if class[from] != class[state] {
                closed[class[from] as usize] = false;
            }
        }
    }
    let inside: Vec<bool> = class.iter().map(|class| closed[*class as usize]).collect();
    let closed_classes = closed.iter().filter(|closed| **closed).count();
    let example = |state: usize| {
        let mut locals = Vec::new();
        space.state(chain.keys[state], &mut locals);
        model.state_text(&locals)
    };
    let reducible = |at: Place, message: String| SanError::Reducible {
        file: model.file.clone(),
        at,
        message,
    };
    if closed_classes > 1 {
        let mut shown = Vec::new();
        for (class_number, _) in closed.iter().enumerate().filter(|(_, closed)| **closed) {
            let state = class
                .iter()
                .position(|class| *class as usize == class_number);
            shown.extend(state.map(example));
        }
        let more = if shown.len() > 3 { ", ..." } else { "" };
        shown.truncate(3);
        let text = format!(
            "there are {closed_classes} sets of states that it never leaves again, with {}{more} in them, so that the answer \
             depends on the start",
            shown.join(" and ")
        );
        return Err(reducible(witness(model, space, chain, &inside), text));
    }
    let outside: Vec<usize> = (0..chain.len()).filter(|state| !inside[*state]).collect();
    if !outside.is_empty() && !transient {
        let shown: Vec<String> = outside.iter().take(5).map(|s| example(*s)).collect();
        let more = if outside.len() > 5 { ", ..." } else { "" };
        let text = format!(
            "{} of {} states are transient, that is left for ever: {}{more}; their probabilities are 0 in the long run \
             (--allow-transient takes that for an answer)",
            outside.len(),
            chain.len(),
            shown.join(", ")
        );
        return Err(reducible(witness(model, space, chain, &inside), text));
    }
    Ok(inside)
}

/// Returns the place of an automaton with a local state that the chain does not come back to; of the first without one.
fn witness(model: &Model, space: &Space, chain: &Chain, inside: &[bool]) -> Place {
    let mut seen: Vec<Vec<bool>> = model
        .automata
        .iter()
        .map(|automaton| vec![false; automaton.states.len()])
        .collect();
    let mut again = seen.clone();
    let mut state = Vec::new();
    for (key, inside) in chain.keys.iter().zip(inside) {
        space.state(*key, &mut state);
        for (automaton, local) in state.iter().enumerate() {
            seen[automaton][usize::from(*local)] = true;
            again[automaton][usize::from(*local)] |= inside;
        }
    }
    let found = (0..model.automata.len()).find(|automaton| seen[*automaton] != again[*automaton]);
    model.automata[found.unwrap_or(0)].at
}

/// Numbers the strongly connected components.
///
/// # Source
///
/// Tarjan, "Depth-first search and linear graph algorithms", 1972, without recursion; along incoming arcs, which have the
/// same components.
fn components(chain: &Chain) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let states = chain.len();
    let mut index = vec![NONE; states];
    let mut low = vec![0_u32; states];
    let mut class = vec![NONE; states];
    let mut stack: Vec<u32> = Vec::new();
    let mut calls: Vec<(u32, usize)> = Vec::new();
    let (mut next_index, mut next_class) = (0, 0);
    for root in 0..states {
        if index[root] != NONE {
            continue;
        }
        calls.push((root as u32, chain.starts[root]));
        while let Some((state, arc)) = calls.pop() {
            let position = state as usize;
            if arc == chain.starts[position] {
                if index[position] == NONE {
                    index[position] = next_index;
                    low[position] = next_index;
                    next_index += 1;
                    stack.push(state);
                }
            } else {
                // The arc before was followed: what its source can reach, this state can.
                let child = chain.from[arc - 1] as usize;
                if class[child] == NONE {
                    low[position] = low[position].min(low[child]);
                }
            }
            if arc < chain.starts[position + 1] {
                calls.push((state, arc + 1));
                let child = chain.from[arc];
                if index[child as usize] == NONE {
                    calls.push((child, chain.starts[child as usize]));
                }
                continue;
            }
            if low[position] == index[position] {
                while let Some(member) = stack.pop() {
                    class[member as usize] = next_class;
                    if member == state {
                        break;
                    }
                }
                next_class += 1;
            }
        }
    }
    class
}
