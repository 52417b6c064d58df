//! Sets of positions in which one looks for the next.

/// A set of positions below a bound: a bit each, and above every 64 bits one that says whether any of them is set, and so on.
pub(super) struct PositionSet {
    /// From the positions' own bits up to a single word.
    levels: Vec<Vec<u64>>,
}

impl PositionSet {
    /// Returns an empty set of positions below `bound`.
    pub fn new(bound: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = bound.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels };
            }
            words = words.div_ceil(64);
        }
    }

    pub fn insert(&mut self, position: u32) {
        let mut bit = position as usize;
        for level in &mut self.levels {
            let word = &mut level[bit / 64];
            let was_empty = *word == 0;
            *word |= 1 << (bit % 64);
            if !was_empty {
                return;
            }
            bit /= 64;
        }
    }

    pub fn remove(&mut self, position: u32) {
        let mut bit = position as usize;
        for level in &mut self.levels {
            let word = &mut level[bit / 64];
            *word &= !(1 << (bit % 64));
            if *word != 0 {
                return;
            }
            bit /= 64;
        }
    }

    /// Returns the lowest position that is not below `from`.
    pub fn first_from(&self, from: u32) -> Option<u32> {
        let mut bit = from as usize;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(bit / 64)? >> (bit % 64);
            if word != 0 {
                let mut found = bit + word.trailing_zeros() as usize;
                for lower in self.levels[..height].iter().rev() {
                    found = found * 64 + lower[found].trailing_zeros() as usize;
                }
                return Some(found as u32);
            }
            // Nothing in the rest of this word; its own bit a level up is no candidate any more.
            bit = bit / 64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_next_position_is_found_as_in_a_sorted_set(
            bound in prop_oneof![1_u32..200, 4_000_u32..300_000],
            changes in proptest::collection::vec((any::<bool>(), any::<u32>(), any::<u32>()), 1..200),
        ) {
            let mut set = PositionSet::new(bound as usize);
            let mut expected = BTreeSet::new();
            for (insert, position, from) in changes {
                let (position, from) = (position % bound, from % bound);
                if insert {
                    set.insert(position);
                    expected.insert(position);
                } else if let Some(&first) = expected.range(position..).next() {
                    set.remove(first);
                    expected.remove(&first);
                }
                prop_assert_eq!(set.first_from(from), expected.range(from..).next().copied());
            }
        }
    }
}
