//! The generator as a sum of generalized tensor products, one for each event, and never as a matrix.
//!
//! An event's product takes the parts of the distribution from where the event is enabled, multiplies by the event's matrix
//! in each automaton that has it, and adds the outcome to where it leads. Of some automata the combinations of arcs are
//! written out, each a shift by a constant; along the others the part is multiplied automaton by automaton, which is the
//! shuffle algorithm. What depends on the state is looked up in tables over the automata that it depends on.
//!
//! # Source
//!
//! Fernandes, Plateau, Stewart, "Efficient descriptor-vector multiplications in stochastic automata networks", JACM 1998
//! (shuffle); Czekster, Fernandes, Vincent, Webber, "Split: a flexible and efficient algorithm to vector-descriptor product",
//! 2007 (which automata to write out).

use std::collections::BTreeMap;

use crate::{
    error::{Bytes, SanError},
    generator::{Generator, Partition},
    model::{Arc, Event, Model, Part},
    product::{Dim, Product, Term, joined, mode, shift, shuffle, walk},
    space::{Key, Space},
};

/// As many combinations of arcs as are written out for one event.
const MOST_TERMS: usize = 1024;

/// A generator known by its tensor products.
#[derive(Debug)]
pub struct Descriptor {
    exit: Vec<f64>,
    events: Vec<Product>,
    tables: Vec<Vec<f64>>,
    /// For each automaton whether all its events write its arcs out.
    written_out: Vec<bool>,
    sizes: Vec<usize>,
    strides: Vec<usize>,
}

impl Descriptor {
    /// Makes the products of a model, its states numbered as in `space`, where nothing is lumped.
    ///
    /// # Errors
    ///
    /// Where vectors and tables need more than `allowed` bytes.
    pub fn new(model: &Model, space: &Space, allowed: f64) -> Result<Self, SanError> {
        let sizes: Vec<usize> = model.automata.iter().map(|a| a.states.len()).collect();
        let stride = |automaton| {
            space
                .weights(automaton)
                .get(1)
                .map_or(0, |weight| *weight as usize)
        };
        let strides: Vec<usize> = (0..sizes.len() as u32).map(stride).collect();
        let states = model.product_states();
        let mut descriptor = Self {
            exit: vec![0.0; space.size() as usize],
            events: Vec::new(),
            tables: Vec::new(),
            written_out: vec![true; sizes.len()],
            sizes,
            strides,
        };
        for event in &model.events {
            descriptor.add(event);
            let tables: usize = descriptor.tables.iter().map(Vec::len).sum();
            let needed = bytes_needed(states) + 8.0 * tables as f64;
            if needed > allowed {
                return Err(too_large(model, needed, allowed));
            }
        }
        descriptor.sum_exits();
        Ok(descriptor)
    }

    /// Returns the digits of the states' numbers by which blocks can be made: weight and number of values.
    pub fn digits(&self) -> Vec<(Key, u32)> {
        let automata = self.strides.iter().zip(&self.sizes).zip(&self.written_out);
        automata
            .filter(|(_, written_out)| **written_out)
            .map(|((stride, size), _)| (*stride as Key, *size as u32))
            .collect()
    }

    /// Adds the product of an event.
    fn add(&mut self, event: &Event) {
        let (written, shuffled) = divided(event);
        for part in &shuffled {
            self.written_out[part.automaton as usize] = false;
        }
        let is_written =
            |automaton: usize| written.iter().any(|p| p.automaton as usize == automaton);
        // The automata that a table is over: those that rate or routing depend on, and that loops run over.
        let mut depends = Vec::new();
        event.rate.automata(&mut depends);
        for arc in event
            .parts
            .iter()
            .flat_map(|part| part.arcs.iter().flatten())
        {
            arc.probability.automata(&mut depends);
        }
        depends.sort_unstable();
        depends.dedup();
        depends.retain(|automaton| !is_written(*automaton as usize));
        let mut table_strides = vec![0; self.sizes.len()];
        let mut table_size = 1;
        for automaton in &depends {
            table_strides[*automaton as usize] = table_size;
            table_size *= self.sizes[*automaton as usize];
        }
        let mut product = Product::default();
        // Automata with greater strides are outer loops.
        let mut loops: Vec<usize> = (0..self.sizes.len()).filter(|a| !is_written(*a)).collect();
        loops.sort_by_key(|automaton| std::cmp::Reverse(self.strides[*automaton]));
        loops.retain(|automaton| self.sizes[*automaton] > 1);
        for automaton in loops {
            let dim = Dim {
                size: self.sizes[automaton],
                stride: self.strides[automaton],
                table_stride: table_strides[automaton],
            };
            if let Some(part) = shuffled.iter().find(|p| p.automaton as usize == automaton) {
                product.modes.push(mode(part, product.dims.len()));
            }
            product.dims.push(dim);
        }
        if product.modes.is_empty() {
            product.dims = joined(&product.dims);
        }
        let context = Context {
            event,
            written: &written,
            depends: &depends,
            table_size,
        };
        let mut known = BTreeMap::new();
        let mut chosen = Vec::new();
        self.combine(&context, &mut chosen, &mut known, &mut product.terms);
        self.events.push(product);
    }

    /// Writes out the combinations of arcs, with `chosen` for the first automata.
    fn combine<'a>(
        &mut self,
        context: &Context<'a>,
        chosen: &mut Vec<(usize, usize, &'a Arc)>,
        known: &mut BTreeMap<Vec<(usize, usize)>, Option<usize>>,
        terms: &mut Vec<Term>,
    ) {
        let Some(part) = context.written.get(chosen.len()) else {
            terms.extend(self.term(context, chosen, known));
            return;
        };
        for (from, arcs) in part.arcs.iter().enumerate() {
            for arc in arcs {
                chosen.push((part.automaton as usize, from, arc));
                self.combine(context, chosen, known, terms);
                chosen.pop();
            }
        }
    }

    /// Makes a term of a combination of arcs; none where it does nothing.
    fn term(
        &mut self,
        context: &Context<'_>,
        chosen: &[(usize, usize, &Arc)],
        known: &mut BTreeMap<Vec<(usize, usize)>, Option<usize>>,
    ) -> Option<Term> {
        let (mut source, mut target, mut factor) = (0, 0, 1.0);
        for (automaton, from, arc) in chosen {
            source += from * self.strides[*automaton];
            target += usize::from(arc.to) * self.strides[*automaton];
            factor *= arc.probability.constant().unwrap_or(1.0);
        }
        if (source == target && context.written.len() == context.event.parts.len()) || factor == 0.0
        {
            return None;
        }
        if let Some(rate) = context.event.rate.constant()
            && chosen
                .iter()
                .all(|(.., arc)| arc.probability.constant().is_some())
        {
            let factor = factor * rate;
            return (factor > 0.0).then_some(Term {
                source,
                target,
                factor,
                table: None,
            });
        }
        let table = self.table(context, chosen, known)?;
        Some(Term {
            source,
            target,
            factor,
            table: Some(table),
        })
    }

    /// Returns the table of rate times routing probabilities; none where they are 0 everywhere.
    fn table(
        &mut self,
        context: &Context<'_>,
        chosen: &[(usize, usize, &Arc)],
        known: &mut BTreeMap<Vec<(usize, usize)>, Option<usize>>,
    ) -> Option<usize> {
        let functional = |arc: &Arc| arc.probability.constant().is_none();
        let mut needed = Vec::new();
        context.event.rate.automata(&mut needed);
        for (.., arc) in chosen {
            arc.probability.automata(&mut needed);
        }
        // Terms with the same functions of the same states share a table.
        let mut name = Vec::new();
        for (automaton, from, arc) in chosen {
            if needed.contains(&(*automaton as u32)) {
                name.push((*automaton, *from));
            }
            if functional(arc) {
                let address = std::ptr::from_ref(&arc.probability) as usize;
                name.push((usize::MAX, function_of(context, arc).unwrap_or(address)));
            }
        }
        if let Some(table) = known.get(&name) {
            return *table;
        }
        let mut state = vec![0_u16; self.sizes.len()];
        for (automaton, from, _) in chosen {
            state[*automaton] = *from as u16;
        }
        let mut values = Vec::with_capacity(context.table_size);
        for index in 0..context.table_size {
            let mut rest = index;
            for automaton in context.depends {
                let size = self.sizes[*automaton as usize];
                state[*automaton as usize] = (rest % size) as u16;
                rest /= size;
            }
            let mut value = context.event.rate.value(&state);
            for (.., arc) in chosen.iter().filter(|(.., arc)| functional(arc)) {
                value *= arc.probability.value(&state);
            }
            // States in which this is no rate are not reachable, or the search has complained already.
            values.push(if value.is_finite() {
                value.max(0.0)
            } else {
                0.0
            });
        }
        let table = values.iter().any(|value| *value > 0.0).then(|| {
            self.tables.push(values);
            self.tables.len() - 1
        });
        known.insert(name, table);
        table
    }

    /// Adds up the rates at which states are left.
    fn sum_exits(&mut self) {
        let mut exit = std::mem::take(&mut self.exit);
        for product in &self.events {
            // Whether a state can be left is the sum of its row along every automaton that is shuffled.
            let rows: Vec<Vec<f64>> = product
                .modes
                .iter()
                .map(|mode| {
                    let mut sums = vec![0.0; product.dims[mode.dim].size];
                    for (from, _, probability) in &mode.arcs {
                        sums[*from] += probability;
                    }
                    sums
                })
                .collect();
            for term in &product.terms {
                let table = term.table.map(|table| self.tables[table].as_slice());
                walk(&product.dims, |offset, entry, position| {
                    let mut rate = term.factor * table.map_or(1.0, |table| table[entry]);
                    for (mode, sums) in product.modes.iter().zip(&rows) {
                        rate *= sums[position[mode.dim]];
                    }
                    exit[term.source + offset] += rate;
                });
            }
        }
        self.exit = exit;
    }

    /// Adds the inflow by all events; calls `flow` with source, target and the whole flow of each term.
    fn multiply(&self, x: &[f64], y: &mut [f64], mut flow: impl FnMut(usize, usize, f64)) {
        y.fill(0.0);
        let (mut part, mut turned) = (Vec::new(), Vec::new());
        for product in &self.events {
            for term in &product.terms {
                let table = term.table.map(|table| self.tables[table].as_slice());
                let sum = if product.modes.is_empty() {
                    shift(product, term, table, x, y)
                } else {
                    shuffle(product, term, table, x, y, (&mut part, &mut turned))
                };
                flow(term.source, term.target, sum);
            }
        }
    }
}

/// Returns what the vectors of a matrix-free solution need: distribution, inflow, exit rates and two bits a state.
pub(crate) fn bytes_needed(states: f64) -> f64 {
    states * 24.25
}

/// Says that a model is too large to be solved even without a matrix.
pub(crate) fn too_large(model: &Model, needed: f64, allowed: f64) -> SanError {
    SanError::TooLarge {
        file: model.file.clone(),
        states: format!(
            "there are {:.3e} combinations of states",
            model.product_states()
        ),
        method: "matrix-free solution",
        needed: Bytes(needed),
        allowed: Bytes(allowed),
        remedy: "make replicas interchangeable so that they are lumped, give fewer or smaller automata, or allow more with \
                 --memory",
    }
}

struct Context<'a> {
    event: &'a Event,
    written: &'a [&'a Part],
    depends: &'a [u32],
    table_size: usize,
}

/// Returns the position of the first arc of the event with the same function.
fn function_of(context: &Context<'_>, arc: &Arc) -> Option<usize> {
    let mut arcs = context
        .event
        .parts
        .iter()
        .flat_map(|part| part.arcs.iter().flatten());
    arcs.position(|other| other.probability == arc.probability)
}

/// Divides an event's automata into those whose arcs are written out and those that are shuffled: functional routing has to
/// be written out; of the others the largest automata are, as long as there are not too many combinations.
fn divided(event: &Event) -> (Vec<&Part>, Vec<&Part>) {
    let arcs = |part: &Part| part.arcs.iter().map(Vec::len).sum::<usize>().max(1);
    let functional = |part: &Part| {
        let mut all = part.arcs.iter().flatten();
        all.any(|arc| arc.probability.constant().is_none())
    };
    let mut parts: Vec<&Part> = event.parts.iter().collect();
    parts.sort_by_key(|part| {
        (
            !functional(part),
            std::cmp::Reverse(part.arcs.len()),
            part.automaton,
        )
    });
    let mut combinations = 1;
    let mut written = Vec::new();
    let mut shuffled = Vec::new();
    for part in parts {
        let more = combinations * arcs(part);
        if functional(part) || more <= MOST_TERMS {
            combinations = more;
            written.push(part);
        } else {
            shuffled.push(part);
        }
    }
    (written, shuffled)
}

impl Generator for Descriptor {
    fn exit(&self) -> &[f64] {
        &self.exit
    }

    fn inflow(&self, distribution: &[f64], into: &mut [f64]) {
        self.multiply(distribution, into, |_, _, _| {});
    }

    fn inflow_by_block(
        &self,
        distribution: &[f64],
        into: &mut [f64],
        partition: &Partition,
        flows: &mut [f64],
    ) {
        let blocks = partition.blocks();
        // Digits of automata that an event does not have are 0 in both, and those that it has are written out.
        self.multiply(distribution, into, |source, target, flow| {
            let (from, to) = (partition.of(source as Key), partition.of(target as Key));
            flows[from * blocks + to] += flow;
        });
    }

    fn block(&self, partition: &Partition, state: usize) -> usize {
        partition.of(state as Key)
    }
}
