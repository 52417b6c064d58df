//! The Markov chain of the states that can be reached, as a sparse matrix.

use rustc_hash::FxHashMap;

use crate::{
    error::{Bytes, Place, SanError},
    fire::Transitions,
    model::Model,
    space::{Key, Space},
};

/// A continuous-time Markov chain: for each state the arcs that lead to it.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The states' keys.
    pub keys: Vec<Key>,
    /// Where each state's incoming arcs begin in the next two; one more than states.
    pub starts: Vec<usize>,
    /// Where the arcs come from.
    pub from: Vec<u32>,
    /// Their rates.
    pub rates: Vec<f64>,
    /// The rate at which each state is left.
    pub exit: Vec<f64>,
    /// The position of the state that everything starts in.
    pub initial: u32,
}

/// What a state takes while the chain is made and solved, beside its arcs.
pub(crate) const BYTES_PER_STATE: f64 = 16.0 + 8.0 + 8.0 + 3.0 * 8.0;

/// What an arc takes while the chain is made: once by source, once by target.
pub(crate) const BYTES_PER_ARC: f64 = 2.0 * 12.0;

/// From how many keys on they are looked up by hashing and not in a table.
const LARGEST_TABLE: Key = 1 << 27;

/// Positions by key.
enum Lookup {
    Table(Vec<u32>),
    Hashed(FxHashMap<Key, u32>),
}

const ABSENT: u32 = u32::MAX;

impl Lookup {
    /// Makes an empty one for so many keys; tables take no more than half of the memory.
    fn new(size: Key, allowed: f64) -> Self {
        if size <= LARGEST_TABLE && 8.0 * size as f64 <= allowed {
            Self::Table(vec![ABSENT; size as usize])
        } else {
            Self::Hashed(FxHashMap::default())
        }
    }

    /// Returns the position of a key, which is `new` where it was not there.
    fn position(&mut self, key: Key, new: u32) -> u32 {
        match self {
            Self::Table(table) => {
                let known = &mut table[key as usize];
                if *known == ABSENT {
                    *known = new;
                }
                *known
            }
            Self::Hashed(map) => *map.entry(key).or_insert(new),
        }
    }

    fn get(&self, key: Key) -> Option<u32> {
        match self {
            Self::Table(table) => Some(table[key as usize]).filter(|known| *known != ABSENT),
            Self::Hashed(map) => map.get(&key).copied(),
        }
    }

    fn bytes(&self) -> f64 {
        match self {
            Self::Table(table) => 4.0 * table.len() as f64,
            // 32 bytes an entry, at most seven eighths of them used.
            Self::Hashed(map) => 33.0 * map.capacity() as f64 * 8.0 / 7.0,
        }
    }
}

/// The search's state: arcs by source.
struct Search<'a> {
    transitions: Transitions<'a>,
    lookup: Lookup,
    keys: Vec<Key>,
    /// Where each source's arcs end.
    ends: Vec<usize>,
    to: Vec<u32>,
    rates: Vec<f64>,
    /// Bytes that may be used.
    allowed: f64,
}

impl Chain {
    /// Makes the chain of the states that the model says are reachable, or else that are found by search from the start.
    ///
    /// # Errors
    ///
    /// Where it needs more than `allowed` bytes, a rate or probability is none, or the model leaves the states that it says
    /// are reachable.
    pub fn explore(model: &Model, space: &Space, allowed: f64) -> Result<Self, SanError> {
        let mut search = Search {
            transitions: Transitions::new(model, space),
            lookup: Lookup::new(space.size(), allowed),
            keys: Vec::new(),
            ends: Vec::new(),
            to: Vec::new(),
            rates: Vec::new(),
            allowed,
        };
        let start = space.key(&model.initial());
        if let Some((at, condition)) = &model.reachable {
            let told = |state: &[u16]| condition.value(state) != 0.0;
            if !told(&model.initial()) {
                return Err(SanError::Model {
                    file: model.file.clone(),
                    at: *at,
                    message: format!(
                        "the initial state {} is not among those said to be reachable",
                        model.state_text(&model.initial())
                    ),
                });
            }
            search.list(&told)?;
        } else {
            search.keys.push(start);
            search.lookup.position(start, 0);
        }
        search.run()?;
        let initial = search.lookup.get(start).unwrap_or(0);
        drop(search.lookup);
        Ok(transposed(
            search.keys,
            &search.ends,
            &search.to,
            &search.rates,
            initial,
        ))
    }

    /// Returns the number of states.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there is no state, which never is.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the arcs that lead to a state: where they come from, and their rates.
    pub fn incoming(&self, state: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[state]..self.starts[state + 1];
        let from = self.from[range.clone()].iter();
        from.zip(&self.rates[range])
            .map(|(from, rate)| (*from as usize, *rate))
    }
}

impl Search<'_> {
    /// Takes all states that a condition says are reachable.
    fn list(&mut self, told: &dyn Fn(&[u16]) -> bool) -> Result<(), SanError> {
        let space = self.transitions.space;
        let mut state = Vec::new();
        if space.size() as f64 * 4.0 > self.allowed {
            return Err(self.too_large(space.size() as f64));
        }
        for key in 0..space.size() {
            if space.state(key, &mut state) && told(&state) {
                self.lookup.position(key, self.keys.len() as u32);
                self.keys.push(key);
            }
        }
        Ok(())
    }

    /// Follows all transitions from the states that are known, and from those that they lead to.
    fn run(&mut self) -> Result<(), SanError> {
        let model = self.transitions.model;
        let told = model.reachable.as_ref();
        let mut state = Vec::new();
        let mut position = 0;
        while position < self.keys.len() {
            let key = self.keys[position];
            self.transitions.space.state(key, &mut state);
            let mut outside = None;
            let (keys, lookup) = (&mut self.keys, &mut self.lookup);
            let (to, rates) = (&mut self.to, &mut self.rates);
            self.transitions.from(&state, key, &mut |next, rate| {
                if next == key {
                    return;
                }
                let new = keys.len() as u32;
                let known = match told {
                    Some(_) => lookup.get(next),
                    None => Some(lookup.position(next, new)),
                };
                let Some(known) = known else {
                    outside = Some(next);
                    return;
                };
                if known == new {
                    keys.push(next);
                }
                to.push(known);
                rates.push(rate);
            })?;
            if let (Some(next), Some((at, _))) = (outside, told) {
                return Err(self.leaves(*at, &state, next));
            }
            self.ends.push(self.to.len());
            position += 1;
            if position.is_multiple_of(4096) || self.keys.len() >= ABSENT as usize {
                self.check_memory()?;
            }
        }
        Ok(())
    }

    fn leaves(&self, at: Place, state: &[u16], next: Key) -> SanError {
        let (model, space) = (self.transitions.model, self.transitions.space);
        let mut other = Vec::new();
        space.state(next, &mut other);
        SanError::Model {
            file: model.file.clone(),
            at,
            message: format!(
                "the state {} is said to be reachable, and {}, which it leads to, is not",
                model.state_text(state),
                model.state_text(&other)
            ),
        }
    }

    fn check_memory(&self) -> Result<(), SanError> {
        let states = self.keys.len() as f64;
        let arcs = self.to.len() as f64;
        let used = states * BYTES_PER_STATE + arcs * BYTES_PER_ARC + self.lookup.bytes();
        if used > self.allowed || self.keys.len() >= ABSENT as usize {
            return Err(self.too_large(states));
        }
        Ok(())
    }

    fn too_large(&self, found: f64) -> SanError {
        let model = self.transitions.model;
        let product = self.transitions.space.size() as f64;
        let done = self.ends.len().max(1) as f64;
        let arcs = self.to.len() as f64 / done;
        SanError::TooLarge {
            file: model.file.clone(),
            states: format!(
                "{found:.0e} states were found until now, of at most {product:.3e} combinations"
            ),
            method: "sparse matrix of all combinations",
            needed: Bytes(product * (BYTES_PER_STATE + arcs * BYTES_PER_ARC)),
            allowed: Bytes(self.allowed),
            remedy: REMEDY,
        }
    }
}

/// What to do about models that are too large.
pub(crate) const REMEDY: &str = "make replicas interchangeable so that they are lumped, give fewer or smaller automata, solve \
                                 with `--method matrix-free`, or allow more with --memory";

/// Turns arcs by source into arcs by target, in the order of their sources.
fn transposed(keys: Vec<Key>, ends: &[usize], to: &[u32], rates: &[f64], initial: u32) -> Chain {
    let states = keys.len();
    let mut starts = vec![0_usize; states + 1];
    for target in to {
        starts[*target as usize + 1] += 1;
    }
    for state in 0..states {
        starts[state + 1] += starts[state];
    }
    let mut next = starts.clone();
    let mut from = vec![0_u32; to.len()];
    let mut turned = vec![0.0; to.len()];
    let mut exit = vec![0.0; states];
    let mut begin = 0;
    for (source, end) in ends.iter().enumerate() {
        for arc in begin..*end {
            let slot = &mut next[to[arc] as usize];
            from[*slot] = source as u32;
            turned[*slot] = rates[arc];
            *slot += 1;
            exit[source] += rates[arc];
        }
        begin = *end;
    }
    Chain {
        keys,
        starts,
        from,
        rates: turned,
        exit,
        initial,
    }
}
