//! What operations have to do with others: mostly with none or one.

use crate::ahead;

/// For each operation a list of others, in four bytes where it has one entry at most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    /// Its only entry, or [`NONE`], or [`MANY`] and the place in `lists`.
    entries: Vec<u32>,
    /// The longer lists, one after the other: how many entries, and these.
    lists: Vec<u32>,
}

const NONE: u32 = u32::MAX;
const MANY: u32 = 1 << 31;

/// Lists that are being made.
pub(crate) struct LinksBuilder {
    links: Links,
    /// The entries of longer lists, each with its operation.
    more: Vec<(u32, u32)>,
}

impl LinksBuilder {
    /// Begins, with room for so many operations, which is used as operations get entries.
    pub fn with_room(operations: usize) -> Self {
        Self {
            links: Links {
                entries: Vec::with_capacity(operations),
                lists: Vec::new(),
            },
            more: Vec::new(),
        }
    }

    /// Adds an entry to the list of an operation.
    pub fn add(&mut self, operation: u32, other: u32) {
        self.links.fill_up(operation as usize + 1);
        let entry = &mut self.links.entries[operation as usize];
        if *entry == NONE && other < MANY {
            *entry = other;
            return;
        }
        if *entry < MANY {
            self.more.push((operation, *entry));
        }
        *entry = MANY;
        self.more.push((operation, other));
    }

    /// Returns the lists of so many operations, each in order and without what is in it twice.
    pub fn finish(mut self, operations: usize) -> Links {
        let Links { entries, lists } = &mut self.links;
        self.more.sort_unstable();
        self.more.dedup();
        for list in self.more.chunk_by(|(one, _), (other, _)| one == other) {
            entries[list[0].0 as usize] = MANY | lists.len() as u32;
            lists.push(list.len() as u32);
            lists.extend(list.iter().map(|(_, other)| other));
        }
        self.links.fill_up(operations);
        self.links
    }
}

impl Links {
    /// Adds empty lists, until there are those of so many operations.
    pub fn fill_up(&mut self, operations: usize) {
        let count = self.entries.len();
        self.entries.resize(operations.max(count), NONE);
    }

    /// Returns the list of an operation.
    #[inline]
    pub fn of(&self, operation: u32) -> &[u32] {
        match &self.entries[operation as usize] {
            &NONE => &[],
            one @ ..MANY => std::slice::from_ref(one),
            many => {
                let place = (many & !MANY) as usize;
                let begin = place + 1;
                &self.lists[begin..begin + self.lists[place] as usize]
            }
        }
    }

    /// Asks the memory for the list of an operation that is looked at soon, if there is one.
    #[inline]
    pub fn fetch(&self, operation: u32) {
        ahead::fetch(&self.entries, operation as usize);
    }

    /// Returns which operations have several entries, a bit each; nothing where none has.
    pub fn with_several(&self) -> Vec<u64> {
        if self.lists.is_empty() {
            return Vec::new();
        }
        let several = |entries: &[u32]| {
            let bits = (0..).zip(entries);
            let bits =
                bits.map(|(place, &entry)| u64::from(entry != NONE && entry >= MANY) << place);
            bits.sum()
        };
        self.entries.chunks(64).map(several).collect()
    }

    /// Returns for each operation in whose lists it is.
    pub fn reversed(&self) -> Self {
        let mut reversed = LinksBuilder::with_room(self.entries.len());
        for operation in 0..self.entries.len() as u32 {
            for &other in self.of(operation) {
                reversed.add(other, operation);
            }
        }
        reversed.finish(self.entries.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(entries: &[(u32, u32)]) -> Links {
        let mut links = LinksBuilder::with_room(4);
        for &(operation, other) in entries {
            links.add(operation, other);
        }
        links.finish(4)
    }

    #[test]
    fn lists_hold_what_was_added() {
        let far = u32::MAX - 1;
        let mut links = links(&[(0, 3), (2, 3), (2, 1), (3, far), (2, 3), (1, 1), (1, far)]);
        links.fill_up(5);
        assert_eq!(links.of(0), [3]);
        assert_eq!(links.of(1), [1, far]);
        assert_eq!(links.of(2), [1, 3]);
        assert_eq!(links.of(3), [far]);
        assert_eq!(links.of(4), []);
    }

    #[test]
    fn those_with_several_entries_are_found() {
        assert!(links(&[(0, 3), (2, 3)]).with_several().is_empty());
        let several = links(&[(0, 3), (2, 3), (2, 1), (3, 2), (3, 0)]).with_several();
        assert_eq!(several, [0b1100]);
    }

    #[test]
    fn reversed_lists_are_in_order() {
        let reversed = links(&[(3, 0), (1, 0), (2, 1)]).reversed();
        assert_eq!(reversed.of(0), [1, 3]);
        assert_eq!(reversed.of(1), [2]);
        assert_eq!(reversed.of(2), []);
    }
}
