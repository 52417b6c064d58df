//! The product of a distribution with one event's tensor product: nested loops over vectors in place.

use crate::model::Part;

/// What an event does.
#[derive(Debug, Default)]
pub(crate) struct Product {
    /// The automata that are not written out, outermost first; where nothing is shuffled, neighbours are joined.
    pub dims: Vec<Dim>,
    pub terms: Vec<Term>,
    /// Automata that are multiplied one after the other, by position in `dims`.
    pub modes: Vec<Mode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dim {
    pub size: usize,
    pub stride: usize,
    pub table_stride: usize,
}

/// One combination of arcs of the automata that are written out.
#[derive(Debug)]
pub(crate) struct Term {
    pub source: usize,
    pub target: usize,
    pub factor: f64,
    pub table: Option<usize>,
}

/// The matrix of an event in one automaton.
#[derive(Debug)]
pub(crate) struct Mode {
    pub dim: usize,
    pub arcs: Vec<(usize, usize, f64)>,
}

/// Makes the matrix of an event in an automaton that is shuffled.
pub(crate) fn mode(part: &Part, dim: usize) -> Mode {
    let mut arcs = Vec::new();
    for (from, of) in part.arcs.iter().enumerate() {
        for arc in of {
            let probability = arc.probability.constant().unwrap_or(0.0);
            arcs.push((from, usize::from(arc.to), probability));
        }
    }
    Mode { dim, arcs }
}

/// Joins loops that lie in each other without a gap.
pub(crate) fn joined(dims: &[Dim]) -> Vec<Dim> {
    let mut loops: Vec<Dim> = Vec::new();
    for dim in dims {
        match loops.last_mut() {
            Some(outer)
                if outer.stride == dim.stride * dim.size
                    && outer.table_stride == dim.table_stride * dim.size =>
            {
                *outer = Dim {
                    size: outer.size * dim.size,
                    ..*dim
                };
            }
            _ => loops.push(*dim),
        }
    }
    loops
}

/// Visits all positions of nested loops, with offset and table entry.
pub(crate) fn walk(dims: &[Dim], mut visit: impl FnMut(usize, usize, &[usize])) {
    let mut position = vec![0; dims.len()];
    let (mut offset, mut entry) = (0, 0);
    loop {
        visit(offset, entry, &position);
        let mut dim = dims.len();
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            let this = &dims[dim];
            position[dim] += 1;
            offset += this.stride;
            entry += this.table_stride;
            if position[dim] < this.size {
                break;
            }
            offset -= this.stride * this.size;
            entry -= this.table_stride * this.size;
            position[dim] = 0;
        }
    }
}

/// Adds a term of an event of which everything is written out: its part of the distribution, shifted. Returns its sum.
pub(crate) fn shift(
    product: &Product,
    term: &Term,
    table: Option<&[f64]>,
    x: &[f64],
    y: &mut [f64],
) -> f64 {
    let mut sum = 0.0;
    let one = Dim {
        size: 1,
        stride: 1,
        table_stride: 0,
    };
    let (inner, outer) = product
        .dims
        .split_last()
        .map_or((&one, &[][..]), |(i, o)| (i, o));
    walk(outer, |offset, entry, _| {
        let (mut from, mut to) = (term.source + offset, term.target + offset);
        match table {
            None => {
                for _ in 0..inner.size {
                    let flow = term.factor * x[from];
                    y[to] += flow;
                    sum += flow;
                    from += inner.stride;
                    to += inner.stride;
                }
            }
            Some(table) => {
                let mut entry = entry;
                for _ in 0..inner.size {
                    let flow = term.factor * table[entry] * x[from];
                    y[to] += flow;
                    sum += flow;
                    from += inner.stride;
                    to += inner.stride;
                    entry += inner.table_stride;
                }
            }
        }
    });
    sum
}

/// Adds a term of which some automata are multiplied one after the other. Returns its sum.
pub(crate) fn shuffle(
    product: &Product,
    term: &Term,
    table: Option<&[f64]>,
    x: &[f64],
    y: &mut [f64],
    (part, turned): (&mut Vec<f64>, &mut Vec<f64>),
) -> f64 {
    part.clear();
    walk(&product.dims, |offset, entry, _| {
        part.push(term.factor * table.map_or(1.0, |table| table[entry]) * x[term.source + offset]);
    });
    for mode in &product.modes {
        let size = product.dims[mode.dim].size;
        let right: usize = product.dims[mode.dim + 1..]
            .iter()
            .map(|dim| dim.size)
            .product();
        turned.clear();
        turned.resize(part.len(), 0.0);
        for left in (0..part.len()).step_by(size * right) {
            for &(from, to, probability) in &mode.arcs {
                let source = &part[left + from * right..][..right];
                let target = &mut turned[left + to * right..][..right];
                for (target, source) in target.iter_mut().zip(source) {
                    *target += probability * source;
                }
            }
        }
        std::mem::swap(part, turned);
    }
    let mut sum = 0.0;
    let mut values = part.iter();
    walk(&product.dims, |offset, _, _| {
        let flow = values.next().copied().unwrap_or(0.0);
        y[term.target + offset] += flow;
        sum += flow;
    });
    sum
}
