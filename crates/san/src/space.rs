//! Global states as numbers.
//!
//! Every automaton contributes a weight for the state that it is in, and the sum of the weights is the state's key. Of a
//! family that is lumped all members have the same weights, so that states which differ by an exchange of members have
//! the same key without any sorting.

use crate::model::{Family, Model};

/// The key of a global state.
pub type Key = u128;

/// How global states are numbered.
#[derive(Clone, Debug)]
pub struct Space {
    /// For each automaton, what each of its states adds to the key.
    weights: Vec<Vec<Key>>,
    digits: Vec<Digit>,
    /// The number of keys, used or not.
    size: Key,
    automata: usize,
}

/// A part of the key.
#[derive(Clone, Debug)]
enum Digit {
    /// The state of one automaton.
    Single {
        automaton: usize,
        weight: Key,
        states: u16,
    },
    /// How many members of a family are in each of its states; those that are left are in the last one.
    Counts {
        first: usize,
        count: u32,
        weights: Vec<Key>,
    },
}

impl Space {
    /// Numbers the states of a model with these families lumped; `None` where there are more than can be numbered.
    pub fn new(model: &Model, lumped: &[Family]) -> Option<Self> {
        let mut space = Self {
            weights: vec![Vec::new(); model.automata.len()],
            digits: Vec::new(),
            size: 1,
            automata: model.automata.len(),
        };
        let mut automaton = 0;
        while automaton < model.automata.len() {
            let states = model.automata[automaton].states.len();
            let family = lumped.iter().find(|f| f.first as usize == automaton);
            automaton += match family {
                Some(family) => space.add_family(automaton, family.count, states)?,
                None => space.add_single(automaton, states)?,
            };
        }
        Some(space)
    }

    /// Numbers the states of a model without lumping, so that the automata which few events have come first: the products of
    /// all other events then go through whole stretches of neighbouring states.
    pub fn for_products(model: &Model) -> Option<Self> {
        let mut events = vec![0; model.automata.len()];
        for part in model.events.iter().flat_map(|event| &event.parts) {
            events[part.automaton as usize] += 1;
        }
        let mut order: Vec<usize> = (0..model.automata.len()).collect();
        order.sort_by_key(|automaton| events[*automaton]);
        let mut space = Self {
            weights: vec![Vec::new(); model.automata.len()],
            digits: Vec::new(),
            size: 1,
            automata: model.automata.len(),
        };
        for automaton in order {
            space.add_single(automaton, model.automata[automaton].states.len())?;
        }
        Some(space)
    }

    fn add_single(&mut self, automaton: usize, states: usize) -> Option<usize> {
        let weight = self.size;
        self.size = self.size.checked_mul(states as Key)?;
        self.weights[automaton] = (0..states as Key).map(|s| s * weight).collect();
        self.digits.push(Digit::Single {
            automaton,
            weight,
            states: states as u16,
        });
        Some(1)
    }

    fn add_family(&mut self, first: usize, count: u32, states: usize) -> Option<usize> {
        let mut weights = Vec::new();
        for _ in 0..states - 1 {
            weights.push(self.size);
            self.size = self.size.checked_mul(Key::from(count) + 1)?;
        }
        let mut of_member = weights.clone();
        of_member.push(0);
        for member in first..first + count as usize {
            self.weights[member].clone_from(&of_member);
        }
        self.digits.push(Digit::Counts {
            first,
            count,
            weights,
        });
        Some(count as usize)
    }

    /// Returns the number of keys, of which not all need to belong to a state.
    pub fn size(&self) -> Key {
        self.size
    }

    /// Returns what each state of an automaton adds to the key.
    pub fn weights(&self, automaton: u32) -> &[Key] {
        &self.weights[automaton as usize]
    }

    /// Returns the key of a state.
    pub fn key(&self, state: &[u16]) -> Key {
        let locals = self.weights.iter().zip(state);
        locals
            .map(|(weights, local)| weights[usize::from(*local)])
            .sum()
    }

    /// Writes the state of a key: of a lumped family, members in earlier states come first. Returns whether there is one.
    pub fn state(&self, key: Key, state: &mut Vec<u16>) -> bool {
        state.clear();
        state.resize(self.automata, 0);
        for digit in &self.digits {
            match digit {
                Digit::Single {
                    automaton,
                    weight,
                    states,
                } => state[*automaton] = (key / weight % Key::from(*states)) as u16,
                Digit::Counts {
                    first,
                    count,
                    weights,
                } => {
                    let mut next = *first;
                    let end = first + *count as usize;
                    for (local, weight) in weights.iter().enumerate() {
                        let inside = (key / weight % (Key::from(*count) + 1)) as usize;
                        if next + inside > end {
                            return false;
                        }
                        state[next..next + inside].fill(local as u16);
                        next += inside;
                    }
                    state[next..end].fill(weights.len() as u16);
                }
            }
        }
        true
    }

    /// Returns how many global states a key stands for.
    pub fn multiplicity(&self, state: &[u16]) -> f64 {
        let families = self.digits.iter().filter_map(|digit| match digit {
            Digit::Counts { first, count, .. } => Some(&state[*first..first + *count as usize]),
            Digit::Single { .. } => None,
        });
        families
            .map(|members| {
                let mut ways = 1.0;
                let mut run = 0.0;
                for (position, local) in members.iter().enumerate() {
                    let again = position > 0 && members[position - 1] == *local;
                    run = if again { run + 1.0 } else { 1.0 };
                    // Multiplying first keeps every intermediate value an integer.
                    ways = ways * (position + 1) as f64 / run;
                }
                ways
            })
            .product()
    }

    /// Returns the digits that keys are made of: weight and number of values.
    pub fn digits(&self) -> Vec<(Key, u32)> {
        let mut digits = Vec::new();
        for digit in &self.digits {
            match digit {
                Digit::Single { weight, states, .. } => digits.push((*weight, u32::from(*states))),
                Digit::Counts { count, weights, .. } => {
                    digits.extend(weights.iter().map(|weight| (*weight, count + 1)));
                }
            }
        }
        digits
    }

    /// Returns the lumped families' members as ranges of automata.
    pub fn lumped(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.digits.iter().filter_map(|digit| match digit {
            Digit::Counts { first, count, .. } => Some(*first..first + *count as usize),
            Digit::Single { .. } => None,
        })
    }
}
