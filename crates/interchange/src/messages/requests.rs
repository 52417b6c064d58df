//! Requests of formats that have no names for them: a wait is for what was begun with the same partner and tag.

use std::{
    collections::{BTreeMap, VecDeque},
    hash::Hash,
};

/// The open requests of a rank.
#[derive(Clone, Debug)]
pub(super) struct Requests<K> {
    open: BTreeMap<K, VecDeque<u32>>,
    free: Vec<u32>,
    next: u32,
}

impl<K> Default for Requests<K> {
    fn default() -> Self {
        Self {
            open: BTreeMap::new(),
            free: Vec::new(),
            next: 0,
        }
    }
}

impl<K: Ord + Hash> Requests<K> {
    /// Begins one, and returns its number.
    pub fn begin(&mut self, key: K) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.open.entry(key).or_default().push_back(number);
        number
    }

    /// Ends the oldest of a key.
    pub fn end(&mut self, key: &K) -> Option<u32> {
        let queue = self.open.get_mut(key)?;
        let number = queue.pop_front()?;
        self.free.push(number);
        Some(number)
    }

    /// Ends all that are open.
    pub fn end_all(&mut self) -> Vec<u32> {
        let mut all: Vec<u32> = self.open.values_mut().flat_map(std::mem::take).collect();
        self.open.clear();
        all.sort_unstable();
        self.free.extend(&all);
        all
    }
}
