//! The smallest of a fixed number of keys that keep changing.
//!
//! A binary tree over the places, each inner node the smaller of its two children: a change costs one comparison a level,
//! without branches that depend on the keys, and nothing is ever allocated.

use std::hint::select_unpredictable;

/// Stands for no key; the others are smaller.
pub(crate) const NONE: u64 = u64::MAX;

/// A key and the place that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub key: u64,
    place: u64,
}

impl Placed {
    /// Returns the one with the smaller key, without a branch: which one that is no processor can predict.
    #[inline]
    fn smaller(self, other: Self) -> Self {
        let is_smaller = self.key < other.key;
        Self {
            key: select_unpredictable(is_smaller, self.key, other.key),
            place: select_unpredictable(is_smaller, self.place, other.place),
        }
    }

    /// Returns a place that has the key.
    #[inline]
    pub fn place(self) -> u32 {
        self.place as u32
    }
}

/// A key for each place, or none.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    /// The root at 1, the children of node i at 2 i and 2 i + 1.
    nodes: Vec<Placed>,
    /// So many times a node's place is halved on the way from a leaf to the root.
    levels: u32,
    /// The greatest key that any place ever had.
    greatest: u64,
    /// No two places have a greater key than this.
    tied_until: u64,
}

impl Tournament {
    /// Returns one with so many places, all without a key.
    pub fn new(places: usize) -> Self {
        let leaves = places.max(1).next_power_of_two();
        let nodes = (0..2 * leaves).map(|node| Placed {
            key: NONE,
            place: node as u64 & (leaves as u64 - 1),
        });
        Self {
            nodes: nodes.collect(),
            levels: leaves.ilog2(),
            greatest: 0,
            tied_until: 0,
        }
    }

    /// Returns where the places' own nodes begin; a power of two.
    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Returns the smallest key, or [`NONE`], and one of the places that have it.
    #[inline]
    pub fn smallest(&self) -> Placed {
        self.nodes[1]
    }

    /// Returns whether no other place has the smallest key.
    #[inline]
    pub fn is_alone(&self) -> bool {
        let smallest = self.smallest();
        smallest.key > self.tied_until || !self.has_tie(smallest)
    }

    /// Returns whether another place has the smallest key, too.
    fn has_tie(&self, smallest: Placed) -> bool {
        let leaf = self.leaves() + smallest.place() as usize;
        let mut ways = (0..self.levels).map(|level| leaf >> level);
        ways.any(|node| self.nodes[node ^ 1].key == smallest.key)
    }

    /// Returns the key of a place, or [`NONE`].
    pub fn key(&self, place: u32) -> u64 {
        self.nodes[self.leaves() + place as usize].key
    }

    /// Gives a place a key, or [`NONE`].
    #[inline]
    pub fn set(&mut self, place: u32, key: u64) {
        let nodes = self.nodes.as_mut_slice();
        // Of known length, a tree is climbed without a check or a loop.
        let tied = match self.levels {
            1 => climb_in::<4>(nodes, place, key),
            2 => climb_in::<8>(nodes, place, key),
            3 => climb_in::<16>(nodes, place, key),
            4 => climb_in::<32>(nodes, place, key),
            5 => climb_in::<64>(nodes, place, key),
            6 => climb_in::<128>(nodes, place, key),
            _ => climb(nodes, place, key),
        };
        if key != NONE {
            self.greatest = self.greatest.max(key);
        }
        if tied != NONE && key > self.tied_until {
            // No key on the way was greater than this one.
            self.tied_until = key.min(self.greatest);
        }
    }

    /// Calls `each` with every place that has the smallest key.
    pub fn for_each_smallest(&self, mut each: impl FnMut(u32)) {
        self.visit(1, self.smallest().key, &mut each);
    }

    fn visit(&self, node: usize, key: u64, each: &mut impl FnMut(u32)) {
        let smallest = self.nodes[node];
        if smallest.key != key {
            return;
        }
        if node >= self.leaves() {
            return each(smallest.place());
        }
        self.visit(2 * node, key, each);
        self.visit(2 * node + 1, key, each);
    }
}

/// Gives a place a key in a tree of so many nodes; returns what [`climb`] does.
#[inline(always)]
fn climb_in<const NODES: usize>(nodes: &mut [Placed], place: u32, key: u64) -> u64 {
    match <&mut [Placed; NODES]>::try_from(nodes) {
        Ok(nodes) => climb(nodes, place, key),
        Err(_) => NONE,
    }
}

/// Gives a place a key in a tree, and each node above it the smaller of its children. Returns one that two children have in common, if any have.
#[inline(always)]
fn climb(nodes: &mut [Placed], place: u32, key: u64) -> u64 {
    // A power of two less one, so that no place is beyond the nodes.
    let mask = nodes.len() - 1;
    let mut node = (nodes.len() / 2 + place as usize) & mask;
    let mut smallest = Placed {
        key,
        place: u64::from(place),
    };
    let mut tied = NONE;
    nodes[node] = smallest;
    for _ in 1..nodes.len().ilog2() {
        let other = nodes[(node ^ 1) & mask];
        tied = select_unpredictable(smallest.key == other.key, other.key, tied);
        smallest = smallest.smaller(other);
        node /= 2;
        nodes[node] = smallest;
    }
    tied
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_smallest_key_is_the_smallest_of_all(
            places in 1_u32..40,
            changes in proptest::collection::vec((any::<u32>(), proptest::option::of(0_u64..20)), 1..100),
        ) {
            let mut tree = Tournament::new(places as usize);
            let mut keys = vec![NONE; places as usize];
            for (place, key) in changes {
                let place = place % places;
                keys[place as usize] = key.unwrap_or(NONE);
                tree.set(place, keys[place as usize]);
                prop_assert_eq!(tree.key(place), keys[place as usize]);
                let smallest = tree.smallest();
                prop_assert_eq!(Some(smallest.key), keys.iter().copied().min());
                if smallest.key == NONE {
                    continue;
                }
                let have_it = |&place: &u32| keys[place as usize] == smallest.key;
                let expected: Vec<u32> = (0..places).filter(have_it).collect();
                let mut listed = Vec::new();
                tree.for_each_smallest(|place| listed.push(place));
                prop_assert_eq!(&listed, &expected);
                prop_assert!(expected.contains(&smallest.place()));
                prop_assert_eq!(tree.is_alone(), expected.len() == 1);
            }
        }
    }
}
