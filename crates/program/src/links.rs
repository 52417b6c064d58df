//! What operations have to do with others: mostly with none or one.

/// For each operation a list of others, in four bytes where it has one entry at most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    /// Its only entry, or [`NONE`], or [`MANY`] and the place in `lists`.
    entries: Vec<u32>,
    lists: Vec<Vec<u32>>,
}

const NONE: u32 = u32::MAX;
const MANY: u32 = 1 << 31;

impl Links {
    /// Returns empty lists for so many operations.
    pub fn none(operations: usize) -> Self {
        Self {
            entries: vec![NONE; operations],
            lists: Vec::new(),
        }
    }

    /// Adds an empty list for one more operation.
    pub fn push_none(&mut self) {
        self.entries.push(NONE);
    }

    /// Adds an entry to the list of an operation.
    pub fn add(&mut self, operation: u32, other: u32) {
        let entry = &mut self.entries[operation as usize];
        match *entry {
            NONE if other < MANY => *entry = other,
            NONE | ..MANY => {
                let place = self.lists.len() as u32;
                let before = std::mem::replace(entry, MANY | place);
                let before = (before != NONE).then_some(before);
                self.lists.push(before.into_iter().chain([other]).collect());
            }
            many => self.lists[(many & !MANY) as usize].push(other),
        }
    }

    /// Sorts every list, and drops what is in it twice.
    pub fn sort(&mut self) {
        for list in &mut self.lists {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// Returns the list of an operation.
    #[inline]
    pub fn of(&self, operation: u32) -> &[u32] {
        match &self.entries[operation as usize] {
            &NONE => &[],
            one @ ..MANY => std::slice::from_ref(one),
            many => &self.lists[(many & !MANY) as usize],
        }
    }

    /// Returns for each operation in whose lists it is, in order.
    pub fn reversed(&self) -> Self {
        let mut reversed = Self::none(self.entries.len());
        for operation in 0..self.entries.len() as u32 {
            for &other in self.of(operation) {
                reversed.add(other, operation);
            }
        }
        reversed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_what_was_added() {
        let mut links = Links::none(4);
        for (operation, other) in [(0, 3), (2, 3), (2, 1), (2, 3), (3, u32::MAX - 1)] {
            links.add(operation, other);
        }
        links.sort();
        links.push_none();
        assert_eq!(links.of(0), [3]);
        assert_eq!(links.of(1), []);
        assert_eq!(links.of(2), [1, 3]);
        assert_eq!(links.of(3), [u32::MAX - 1]);
        assert_eq!(links.of(4), []);
    }

    #[test]
    fn reversed_lists_are_in_order() {
        let mut links = Links::none(4);
        for (operation, other) in [(3, 0), (1, 0), (2, 1)] {
            links.add(operation, other);
        }
        let reversed = links.reversed();
        assert_eq!(reversed.of(0), [1, 3]);
        assert_eq!(reversed.of(1), [2]);
        assert_eq!(reversed.of(2), []);
    }
}
