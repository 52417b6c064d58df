//! The smallest of a fixed number of keys that keep changing.
//!
//! A binary tree over the places, each inner node the smaller of its two children: a change costs one comparison a level,
//! without branches that depend on the keys, and nothing is ever allocated.

/// Stands for no key; the others are smaller.
pub(crate) const NONE: u128 = u128::MAX >> 1;

/// As many lower bits of a key only order those that are alike.
pub(crate) const ORDER_BITS: u32 = 63;

/// A key of 127 bits for each place, or none.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    /// The root at 1, the children of node i at 2 i and 2 i + 1.
    nodes: Vec<u128>,
}

impl Tournament {
    /// Returns one with so many places, all without a key.
    pub fn new(places: usize) -> Self {
        Self {
            nodes: vec![NONE; 2 * places.max(1).next_power_of_two()],
        }
    }

    /// Returns how many bits the number of a place has at most.
    pub fn place_bits(&self) -> u32 {
        self.leaves().trailing_zeros()
    }

    /// Returns where the places' own nodes begin; a power of two.
    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Returns the smallest key, or [`NONE`].
    #[inline]
    pub fn smallest(&self) -> u128 {
        self.nodes[1]
    }

    /// Gives a place a key, or [`NONE`].
    #[inline]
    pub fn set(&mut self, place: u32, key: u128) {
        let mut node = self.leaves() + place as usize;
        let mut smallest = key;
        self.nodes[node] = smallest;
        while node > 1 {
            smallest = smaller(smallest, self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = smallest;
        }
    }

    /// Returns whether the smallest key, which is that of this place, surely is the only one of its kind: all others differ
    /// above [`ORDER_BITS`]. Where they differ in the bit next to these only, it may say that they do not.
    #[inline]
    pub fn is_alone(&self, place: u32) -> bool {
        // In its upper word a key differs from others where it does at all, mostly, and that is quicker to compare.
        let upper = |key: u128| (key >> 64) as u64;
        let smallest = upper(self.smallest());
        let mut node = self.leaves() + place as usize;
        while node > 1 {
            if upper(self.nodes[node ^ 1]) == smallest {
                return false;
            }
            node /= 2;
        }
        true
    }
}

/// Returns the smaller key, without a branch: which one that is no processor can predict. Written as a comparison, it
/// compiles to one.
#[inline]
fn smaller(one: u128, other: u128) -> u128 {
    let difference = one.wrapping_sub(other).cast_signed();
    let if_smaller = difference >> 127;
    other.wrapping_add((difference & if_smaller).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_smallest_key_is_the_smallest_of_all(
            places in 1_u32..40,
            changes in proptest::collection::vec((any::<u32>(), proptest::option::of((0_u128..20, 0_u128..3))), 1..100),
        ) {
            let mut tree = Tournament::new(places as usize);
            let mut keys = vec![NONE; places as usize];
            for (place, key) in changes {
                let place = place % places;
                keys[place as usize] = key.map_or(NONE, |(kind, order)| kind << ORDER_BITS | order);
                tree.set(place, keys[place as usize]);
                prop_assert_eq!(Some(tree.smallest()), keys.iter().copied().min());
                let smallest = tree.smallest();
                let of_smallest = keys.iter().position(|&key| key == smallest).unwrap_or_default();
                let near = keys.iter().filter(|&&key| key >> 64 == smallest >> 64);
                prop_assert_eq!(tree.is_alone(of_smallest as u32), near.count() == 1);
            }
        }
    }
}
