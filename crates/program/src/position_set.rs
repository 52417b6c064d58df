//! Sets of positions in which one looks for the next.

use std::ops::Range;

/// A set of positions below a bound: a bit each, and above every 64 bits one that says whether any of them is set, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionSet {
    /// From the positions' own bits up to a single word.
    levels: Vec<Vec<u64>>,
}

impl Default for PositionSet {
    fn default() -> Self {
        Self::new(0)
    }
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

    /// Adds a position.
    ///
    /// # Panics
    ///
    /// As removing one, where it is not below the bound.
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

    /// Takes a position out, if it is there.
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

    /// Returns whether a position is there; none at or above the bound is.
    #[inline]
    pub fn contains(&self, position: u32) -> bool {
        let word = self.levels[0].get(position as usize / 64);
        word.is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    /// Returns the positions within a range, the lowest first.
    pub fn within(&self, range: Range<u32>) -> impl Iterator<Item = u32> {
        let mut from = range.start;
        std::iter::from_fn(move || {
            let found = self.first_from(from).filter(|&found| found < range.end)?;
            from = found + 1;
            Some(found)
        })
    }

    /// Returns the same set with a bound that is no lower.
    #[must_use]
    pub fn with_bound(&self, bound: usize) -> Self {
        let mut set = Self::new(bound.max(64 * self.levels[0].len()));
        for position in self.within(0..u32::MAX) {
            set.insert(position);
        }
        set
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
                prop_assert_eq!(set.contains(position), expected.contains(&position));
            }
            let larger = set.with_bound(2 * bound as usize);
            for set in [set, larger] {
                let middle: Vec<u32> = set.within(bound / 3..bound / 2).collect();
                let inside: Vec<u32> = expected.range(bound / 3..bound / 2).copied().collect();
                prop_assert_eq!(middle, inside);
                prop_assert_eq!(set.within(0..u32::MAX).count(), expected.len());
                prop_assert!(!set.contains(u32::MAX));
            }
        }
    }
}
