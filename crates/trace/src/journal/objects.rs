//! From addresses to objects: an address that was destroyed or initialized anew is another object.

use super::hash::FastMap;
use super::layout::Kind;
use super::shared::SharedMemory;
use crate::{Object, ObjectId, ObjectKind, ProcessId};

/// In place of a process: what all have in common.
const EVERYWHERE: usize = usize::MAX;

/// A process, or [`EVERYWHERE`], the kind, and the address or name.
type Key = (usize, ObjectKind, u64);

/// What is known of an address that was initialized, until it is used.
#[derive(Clone, Copy, Default)]
struct Pending {
    initial: Option<u32>,
}

/// The objects in the order in which they were first used.
#[derive(Default)]
pub(super) struct Objects {
    pub table: Vec<Object>,
    living: FastMap<Key, ObjectId>,
    pending: FastMap<Key, Pending>,
    /// The names, as hashes, that semaphores were opened by.
    opened: FastMap<Key, u64>,
    /// The processes that began as copies of others, with those.
    parents: FastMap<usize, usize>,
    counts: [u32; ObjectKind::ALL.len()],
    /// How many lives began or ended, at addresses that may have meant other objects before.
    lives: u64,
    /// The memory that is the same in several processes.
    memory: SharedMemory,
}

impl Objects {
    /// None yet, of processes that share this memory.
    pub fn sharing(memory: SharedMemory) -> Self {
        Self {
            memory,
            ..Self::default()
        }
    }

    /// Returns how many lives of objects began or ended so far: as long as that stays, an address means the same object.
    pub fn lives(&self) -> u64 {
        self.lives
    }

    fn key(&self, process: usize, kind: ObjectKind, address: u64) -> Key {
        match self.memory.name(process, address) {
            Some(name) => (EVERYWHERE, kind, name),
            None => (process, kind, address),
        }
    }

    /// Returns the object at an address.
    pub fn at(&mut self, process: usize, kind: ObjectKind, address: u64) -> ObjectId {
        let key = self.key(process, kind, address);
        if let Some(&id) = self.living.get(&key) {
            return id;
        }
        if !self.pending.contains_key(&key)
            && let Some(owner) = self.owner(process, kind, address)
        {
            let id = self.at(owner, kind, address);
            self.living.insert(key, id);
            return id;
        }
        let known = self.pending.remove(&key).unwrap_or_default();
        let count = &mut self.counts[kind as usize];
        *count += 1;
        let id = ObjectId::from_index(self.table.len());
        let mut object = Object {
            kind,
            name: format!("{} {count}", kind.name()),
            process: ProcessId(u32::try_from(process).unwrap_or(0)),
            address: Some(address),
            initial: known.initial,
        };
        if object.stands_for_tasks() {
            object.name = format!("tasks {count}");
        }
        self.table.push(object);
        self.living.insert(key, id);
        id
    }

    /// Returns the object of a name that all processes share, of which its first use may have told how it began.
    pub fn shared(
        &mut self,
        process: usize,
        kind: ObjectKind,
        name: u64,
        initial: Option<u32>,
    ) -> ObjectId {
        if !self.living.contains_key(&(EVERYWHERE, kind, name)) {
            self.initialize(EVERYWHERE, kind, name, initial);
            let id = self.at(EVERYWHERE, kind, name);
            let object = &mut self.table[id.index()];
            object.process = ProcessId::from_index(process);
            object.address = None;
        }
        self.at(EVERYWHERE, kind, name)
    }

    /// Notes that a process began as a copy of another: what that one had opened, both have.
    pub fn inherit(&mut self, child: usize, parent: usize) {
        self.lives += 1;
        self.parents.insert(child, parent);
    }

    /// Returns whether one of two processes descends from the other.
    pub fn is_line(&self, one: usize, other: usize) -> bool {
        self.descends(one, other) || self.descends(other, one)
    }

    fn descends(&self, process: usize, from: usize) -> bool {
        let parent = self.parents.get(&process);
        parent.is_some_and(|&parent| parent == from || self.descends(parent, from))
    }

    /// Returns the nearest process that a process descends from and that opened a named semaphore at this address.
    fn owner(&self, mut process: usize, kind: ObjectKind, address: u64) -> Option<usize> {
        loop {
            process = *self.parents.get(&process)?;
            if self.opened.contains_key(&(process, kind, address)) {
                return Some(process);
            }
        }
    }

    /// Notes that an object begins at an address.
    pub fn initialize(
        &mut self,
        process: usize,
        kind: ObjectKind,
        address: u64,
        initial: Option<u32>,
    ) {
        self.lives += 1;
        let key = self.key(process, kind, address);
        self.living.remove(&key);
        self.opened.remove(&key);
        self.pending.insert(key, Pending { initial });
    }

    /// Notes that the object at an address is no more.
    pub fn destroy(&mut self, process: usize, kind: ObjectKind, address: u64) {
        self.lives += 1;
        let key = self.key(process, kind, address);
        self.living.remove(&key);
        self.pending.remove(&key);
        self.opened.remove(&key);
    }

    /// Notes that the object of a name that all processes share is no more.
    pub fn end_shared(&mut self, kind: ObjectKind, name: u64) {
        self.destroy(EVERYWHERE, kind, name);
    }

    /// Notes that a named semaphore was opened; opening it again finds the same one.
    pub fn open(&mut self, process: usize, address: u64, name: u64, value: Option<u32>) {
        let kind = ObjectKind::Semaphore;
        let key = self.key(process, kind, address);
        if self.opened.get(&key) == Some(&name) {
            return;
        }
        self.initialize(process, kind, address, value);
        self.opened.insert(key, name);
    }
}

/// Returns what a kind of record is about; `None` for threads and the journal's own records.
pub(super) fn object_kind(kind: Kind) -> Option<ObjectKind> {
    match kind as u8 {
        20..30 => Some(ObjectKind::Mutex),
        30..40 => Some(ObjectKind::Cond),
        40..50 => Some(ObjectKind::Semaphore),
        50..60 => Some(ObjectKind::Rwlock),
        60..70 => Some(ObjectKind::Barrier),
        70..80 => Some(ObjectKind::Spin),
        80..90 => Some(ObjectKind::Once),
        90..93 => Some(ObjectKind::Futex),
        96..98 => Some(ObjectKind::Doacross),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_initialized_again_is_another_object() {
        let mut objects = Objects::default();
        objects.initialize(0, ObjectKind::Semaphore, 64, Some(2));
        let first = objects.at(0, ObjectKind::Semaphore, 64);
        assert_eq!(objects.at(0, ObjectKind::Semaphore, 64), first);
        objects.destroy(0, ObjectKind::Semaphore, 64);
        let second = objects.at(0, ObjectKind::Semaphore, 64);
        let elsewhere = objects.at(1, ObjectKind::Semaphore, 64);
        assert!(first != second && second != elsewhere);
        let names: Vec<&str> = objects
            .table
            .iter()
            .map(|object| object.name.as_str())
            .collect();
        assert_eq!(names, ["semaphore 1", "semaphore 2", "semaphore 3"]);
        assert_eq!(objects.table[0].initial, Some(2));
        assert_eq!(objects.table[1].initial, None);
    }

    #[test]
    fn a_named_semaphore_opened_twice_is_one_object() {
        let mut objects = Objects::default();
        objects.open(0, 64, 1, Some(3));
        let first = objects.at(0, ObjectKind::Semaphore, 64);
        objects.open(0, 64, 1, Some(0));
        assert_eq!(objects.at(0, ObjectKind::Semaphore, 64), first);
        objects.open(0, 64, 2, Some(0));
        assert_ne!(objects.at(0, ObjectKind::Semaphore, 64), first);
    }

    #[test]
    fn an_object_in_shared_memory_is_that_of_all_processes() {
        let memory = SharedMemory::of_maps(&[
            "1000-3000 rw-s 00000000 00:01 7 /dev/zero (deleted)\n",
            "5000-7000 rw-s 00000000 00:01 7 /dev/zero (deleted)\n",
        ]);
        let mut objects = Objects::sharing(memory);
        let kind = ObjectKind::Semaphore;
        objects.initialize(0, kind, 0x1010, Some(3));
        let first = objects.at(0, kind, 0x1010);
        assert_eq!(objects.at(1, kind, 0x5010), first);
        assert_eq!(objects.table[first.index()].initial, Some(3));
        assert_ne!(objects.at(1, ObjectKind::Mutex, 0x5010), first);
        assert_ne!(objects.at(1, kind, 0x1010), first);
        objects.destroy(1, kind, 0x5010);
        assert_ne!(objects.at(0, kind, 0x1010), first);
    }

    #[test]
    fn a_semaphore_that_a_parent_opened_is_its_childs_too() {
        let kind = ObjectKind::Semaphore;
        let mut objects = Objects::default();
        objects.open(0, 64, 1, Some(3));
        objects.initialize(0, kind, 128, Some(1));
        objects.inherit(1, 0);
        objects.inherit(2, 1);
        let of_grandchild = objects.at(2, kind, 64);
        assert_eq!(objects.at(0, kind, 64), of_grandchild);
        assert_ne!(objects.at(1, kind, 128), objects.at(0, kind, 128));
        assert_ne!(objects.at(3, kind, 64), of_grandchild);
    }
}
