//! The smallest of a fixed number of keys that keep changing.
//!
//! A binary tree over the places, each inner node the smaller of its two children: a change costs one comparison a level,
//! without branches that depend on the keys, and nothing is ever allocated.

/// Stands for no key; the others are smaller.
pub(crate) const NONE: u128 = u128::MAX >> 1;

/// A key of 127 bits for each place, or none.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    /// The root at 1, the children of node i at 2 i and 2 i + 1.
    nodes: Vec<u128>,
    /// Where the places' own nodes begin; a power of two.
    leaves: usize,
}

impl Tournament {
    /// Returns one with so many places, all without a key.
    pub fn new(places: usize) -> Self {
        let leaves = places.max(1).next_power_of_two();
        Self {
            nodes: vec![NONE; 2 * leaves],
            leaves,
        }
    }

    /// Returns how many bits the number of a place has at most.
    pub fn place_bits(&self) -> u32 {
        self.leaves.trailing_zeros()
    }

    /// Returns the smallest key, or [`NONE`].
    pub fn smallest(&self) -> u128 {
        self.nodes[1]
    }

    /// Gives a place a key, or [`NONE`].
    #[inline]
    pub fn set(&mut self, place: u32, key: u128) {
        let mut node = self.leaves + place as usize;
        let mut smallest = key;
        self.nodes[node] = smallest;
        while node > 1 {
            smallest = smaller(smallest, self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = smallest;
        }
    }

    /// Returns the smallest key but that of this place.
    #[inline]
    pub fn smallest_but(&self, place: u32) -> u128 {
        let mut node = self.leaves + place as usize;
        let mut smallest = NONE;
        while node > 1 {
            smallest = smaller(smallest, self.nodes[node ^ 1]);
            node /= 2;
        }
        smallest
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
            changes in proptest::collection::vec((any::<u32>(), proptest::option::of(0_u128..50)), 1..100),
        ) {
            let mut tree = Tournament::new(places as usize);
            let mut keys = vec![NONE; places as usize];
            for (place, key) in changes {
                let place = place % places;
                keys[place as usize] = key.unwrap_or(NONE);
                tree.set(place, keys[place as usize]);
                prop_assert_eq!(Some(tree.smallest()), keys.iter().copied().min());
                keys[place as usize] = NONE;
                prop_assert_eq!(Some(tree.smallest_but(place)), keys.iter().copied().min());
                keys[place as usize] = key.unwrap_or(NONE);
            }
        }
    }
}
