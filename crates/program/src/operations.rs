//! Lists of operations, in the twelve bytes each that nearly all of them need.

use std::hint::select_unpredictable;

use foretrace_trace::{ObjectId, ThreadId};

use crate::{Action, GateId, Operation, ahead};

/// A list of operations.
///
/// A program has about as many operations as its trace has events, and a replay goes through them thread by thread, so
/// they are packed: what a replay reads of an operation is one word of 64 bits. The few that do not fit into one, because they
/// are about two objects or have more than four seconds of work, stand in a table of their own.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    /// From the lowest bit: the operand, the kind, whether it waited, the work (or, for [`ODD`], the place in `odd`).
    words: Vec<u64>,
    events: Vec<u32>,
    odd: Vec<(u64, Action)>,
    /// A bit for each kind that some of them are, or once were.
    kinds: u32,
}

const OPERAND_BITS: u32 = 26;
const KIND_BITS: u32 = 5;
const WAITED: u64 = 1 << (OPERAND_BITS + KIND_BITS);
const WORK_SHIFT: u32 = 32;

/// Kinds that are asked for; the two of mutexes differ in the lowest bit.
const LOCK: u32 = 6;
const UNLOCK: u32 = 7;
const WAKE: u32 = 11;
const WAIT: u32 = 17;
const POLL: u32 = 18;
const ROUSE: u32 = 19;
const LINGER: u32 = 20;
const FIND_NONE: u32 = 21;

/// The kind of operations that do not fit.
const ODD: u32 = (1 << KIND_BITS) - 1;

impl Operations {
    /// Returns an empty list with room for so many.
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self {
            words: Vec::with_capacity(count),
            events: Vec::with_capacity(count),
            odd: Vec::new(),
            kinds: 0,
        }
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns whether some of them may poll, or linger.
    pub fn polls(&self) -> bool {
        self.kinds & (1 << POLL | 1 << LINGER) != 0
    }

    /// Returns whether some of them are what it took to sleep.
    pub fn rouses(&self) -> bool {
        self.kinds >> ROUSE & 1 == 1
    }

    /// Returns whether some of them may wake those that wait for a futex.
    pub fn wakes(&self) -> bool {
        self.kinds >> WAKE & 1 == 1
    }

    /// Returns whether some of them may be waits of abstract processes.
    pub fn accepts(&self) -> bool {
        self.kinds >> WAIT & 1 == 1
    }

    /// Returns whether some of them may be about two objects.
    pub fn has_pairs(&self) -> bool {
        !self.odd.is_empty()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns an operation.
    ///
    /// # Panics
    ///
    /// As this and the following, where there are not so many.
    #[inline]
    pub fn get(&self, index: u32) -> Operation {
        let word = self.words[index as usize];
        Operation {
            work_nanos: self.work_of(word),
            action: self.action_of(word),
            event: self.events[index as usize],
            waited: word & WAITED != 0,
        }
    }

    /// Returns what an operation does.
    #[inline]
    pub fn action(&self, index: u32) -> Action {
        self.action_of(self.words[index as usize])
    }

    /// Returns which mutex an operation locks or unlocks; none for other operations, and for some that do not fit.
    #[inline]
    pub fn mutex_use(&self, index: u32) -> MutexUse {
        MutexUse::of(self.words[index as usize])
    }

    /// Returns the CPU time before an operation, in nanoseconds, and which mutex it locks or unlocks.
    #[inline]
    pub fn work_and_mutex_use(&self, index: u32) -> (u64, MutexUse) {
        let word = self.words[index as usize];
        (self.work_of(word), MutexUse::of(word))
    }

    /// Returns the CPU time before an operation, in nanoseconds.
    #[inline]
    pub fn work_nanos(&self, index: u32) -> u64 {
        self.work_of(self.words[index as usize])
    }

    /// Returns the beginning of the section of a lock that ends right before an operation, if one does; not of those before `first`.
    pub(crate) fn section_before(&self, index: u32, first: u32) -> Option<u32> {
        let end = index.checked_sub(1).filter(|&end| end >= first)?;
        let Action::Unlock(mutex) = self.action(end) else {
            return None;
        };
        let rouses = |&place: &u32| matches!(self.action(place), Action::Rouse(_));
        let begin = (first..end).rev().find(|place| !rouses(place))?;
        (self.action(begin) == Action::Lock(mutex)).then_some(begin)
    }

    /// Asks the memory for an operation that is looked at soon, if there is one.
    #[inline]
    pub fn fetch(&self, index: u32) {
        ahead::fetch(&self.words, index as usize);
    }

    /// Returns the trace's event that an operation came from.
    pub fn event(&self, index: u32) -> u32 {
        self.events[index as usize]
    }

    /// Returns whether an operation had to wait in the recording.
    pub fn waited(&self, index: u32) -> bool {
        self.words[index as usize] & WAITED != 0
    }

    /// Returns some of them, in order.
    pub fn range(&self, range: std::ops::Range<u32>) -> impl Iterator<Item = Operation> {
        range.map(|index| self.get(index))
    }

    /// Returns all of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Operation> {
        self.range(0..self.len() as u32)
    }

    /// Returns the last.
    pub fn last(&self) -> Option<Operation> {
        let last = self.len().checked_sub(1)?;
        Some(self.get(last as u32))
    }

    /// Adds one.
    pub(crate) fn push(&mut self, operation: Operation) {
        let word = self.pack(&operation, None);
        self.words.push(word);
        self.events.push(operation.event);
    }

    /// Adds one that locks a mutex or unlocks it, and did not wait: what most of many programs' operations are.
    #[inline]
    pub(crate) fn push_mutex(
        &mut self,
        (mutex, locks): (ObjectId, bool),
        work_nanos: u64,
        event: u32,
    ) {
        let kind = if locks { LOCK } else { UNLOCK };
        if mutex.0 >> OPERAND_BITS == 0 && work_nanos >> WORK_SHIFT == 0 {
            self.kinds |= 1 << kind;
            self.words.push(word(work_nanos, 0, kind, mutex.0));
            self.events.push(event);
            return;
        }
        let action = if locks {
            Action::Lock(mutex)
        } else {
            Action::Unlock(mutex)
        };
        self.push(Operation {
            work_nanos,
            action,
            event,
            waited: false,
        });
    }

    /// Replaces one.
    pub(crate) fn set(&mut self, index: u32, operation: Operation) {
        let word = self.words[index as usize];
        let place = (kind_of(word) == ODD).then_some((word >> WORK_SHIFT) as usize);
        self.words[index as usize] = self.pack(&operation, place);
        self.events[index as usize] = operation.event;
    }

    /// Replaces what one does.
    pub(crate) fn set_action(&mut self, index: u32, action: Action) {
        let operation = self.get(index);
        self.set(
            index,
            Operation {
                action,
                ..operation
            },
        );
    }

    /// Replaces the event that each came from by what stands there in its place.
    pub(crate) fn set_events(&mut self, instead: &[u32]) {
        for event in &mut self.events {
            *event = instead.get(*event as usize).copied().unwrap_or(*event);
        }
    }

    /// Adds those of another list.
    pub(crate) fn append(&mut self, mut other: Self) {
        let odd_before = self.odd.len() as u64;
        if odd_before > 0 && !other.odd.is_empty() {
            for word in &mut other.words {
                if kind_of(*word) == ODD {
                    *word += odd_before << WORK_SHIFT;
                }
            }
        }
        self.kinds |= other.kinds;
        self.words.append(&mut other.words);
        self.events.append(&mut other.events);
        self.odd.append(&mut other.odd);
    }

    /// Makes room for so many more, and for no more than these.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.words.reserve_exact(count);
        self.events.reserve_exact(count);
    }

    /// Packs an operation; `place` is one in the table of those that do not fit that it may have.
    fn pack(&mut self, operation: &Operation, place: Option<usize>) -> u64 {
        let Operation {
            work_nanos, action, ..
        } = *operation;
        let waited = if operation.waited { WAITED } else { 0 };
        let kind = packed(action);
        self.kinds |= kind.map_or(0, |(kind, _)| 1 << kind);
        let fits =
            kind.filter(|&(_, operand)| operand >> OPERAND_BITS == 0 && work_nanos >> 32 == 0);
        if let Some((kind, operand)) = fits {
            return word(work_nanos, waited, kind, operand);
        }
        let place = place.unwrap_or_else(|| {
            self.odd.push((0, Action::Pass));
            self.odd.len() - 1
        });
        self.odd[place] = (work_nanos, action);
        (place as u64) << WORK_SHIFT | waited | u64::from(ODD) << OPERAND_BITS
    }

    #[inline]
    fn work_of(&self, word: u64) -> u64 {
        let upper = word >> WORK_SHIFT;
        if kind_of(word) == ODD {
            return self.odd[upper as usize].0;
        }
        upper
    }

    #[inline]
    fn action_of(&self, word: u64) -> Action {
        let operand = operand_of(word);
        let object = ObjectId(operand);
        match kind_of(word) {
            0 => Action::Pass,
            1 => Action::Create(ThreadId(operand)),
            2 => Action::Terminate,
            3 => Action::Await(GateId(operand)),
            4 => Action::Open(GateId(operand)),
            5 => Action::Delay(operand),
            LOCK => Action::Lock(object),
            UNLOCK => Action::Unlock(object),
            8 => Action::TakeToken(object),
            9 => Action::GiveToken(object),
            10 => Action::AwaitWake(object),
            WAKE => Action::Wake(object),
            12 => Action::ReadLock(object),
            13 => Action::WriteLock(object),
            14 => Action::RwUnlock(object),
            15 => Action::Barrier(object),
            16 => Action::Signal(object),
            WAIT => Action::Wait(object),
            POLL => Action::Poll(object),
            ROUSE => Action::Rouse(object),
            LINGER => Action::Linger,
            FIND_NONE => Action::FindNone(object),
            _ => self.odd[(word >> WORK_SHIFT) as usize].1,
        }
    }
}

#[inline]
fn word(work_nanos: u64, waited: u64, kind: u32, operand: u32) -> u64 {
    work_nanos << WORK_SHIFT | waited | u64::from(kind) << OPERAND_BITS | u64::from(operand)
}

#[inline]
fn kind_of(word: u64) -> u32 {
    (word as u32 >> OPERAND_BITS) & ODD
}

/// The mutex that an operation locks or unlocks, if that is what it does: four bytes, to be kept where the operation itself is too far away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MutexUse(u32);

impl MutexUse {
    /// That of an operation on no mutex.
    pub const NONE: Self = Self(u32::MAX);

    /// Set where it is unlocked.
    const UNLOCKS: u32 = 1 << 31;

    #[inline]
    fn of(word: u64) -> Self {
        let kind = kind_of(word);
        // Which of the two it is no processor can predict, so this takes no branch.
        let unlocks = kind << 31;
        let is_one = kind & !1 == LOCK;
        let mutex = operand_of(word) | unlocks;
        Self(select_unpredictable(is_one, mutex, Self::NONE.0))
    }

    /// Returns the mutex, and whether it is locked; nothing for other operations.
    #[inline]
    pub fn get(self) -> Option<(ObjectId, bool)> {
        let mutex = ObjectId(self.0 & !Self::UNLOCKS);
        (self != Self::NONE).then_some((mutex, self.0 & Self::UNLOCKS == 0))
    }
}

#[inline]
fn operand_of(word: u64) -> u32 {
    word as u32 & ((1 << OPERAND_BITS) - 1)
}

/// Returns the kind and the operand of an action that has one operand at most.
fn packed(action: Action) -> Option<(u32, u32)> {
    Some(match action {
        Action::Pass => (0, 0),
        Action::Create(child) => (1, child.0),
        Action::Terminate => (2, 0),
        Action::Await(gate) => (3, gate.0),
        Action::Open(gate) => (4, gate.0),
        Action::Delay(index) => (5, index),
        Action::Lock(id) => (LOCK, id.0),
        Action::Unlock(id) => (UNLOCK, id.0),
        Action::TakeToken(id) => (8, id.0),
        Action::GiveToken(id) => (9, id.0),
        Action::AwaitWake(id) => (10, id.0),
        Action::Wake(id) => (WAKE, id.0),
        Action::ReadLock(id) => (12, id.0),
        Action::WriteLock(id) => (13, id.0),
        Action::RwUnlock(id) => (14, id.0),
        Action::Barrier(id) => (15, id.0),
        Action::Signal(id) => (16, id.0),
        Action::Wait(id) => (WAIT, id.0),
        Action::Poll(id) => (POLL, id.0),
        Action::Rouse(id) => (ROUSE, id.0),
        Action::Linger => (LINGER, 0),
        Action::FindNone(id) => (FIND_NONE, id.0),
        // What is about two things at once stands in the table.
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn action() -> impl Strategy<Value = Action> {
        let id = any::<u32>().prop_map(|id| ObjectId(id >> (id % 32)));
        (0..24_u32, id, any::<u32>()).prop_map(|(kind, id, other)| match kind {
            0 => Action::Pass,
            1 => Action::Create(ThreadId(id.0)),
            2 => Action::Terminate,
            3 => Action::Await(GateId(id.0)),
            4 => Action::Open(GateId(id.0)),
            5 => Action::Delay(id.0),
            6 => Action::Lock(id),
            7 => Action::Unlock(id),
            8 => Action::TakeToken(id),
            9 => Action::GiveToken(id),
            10 => Action::AwaitWake(id),
            11 => Action::Wake(id),
            12 => Action::ReadLock(id),
            13 => Action::WriteLock(id),
            14 => Action::RwUnlock(id),
            15 => Action::Barrier(id),
            16 => Action::Signal(id),
            17 => Action::Wait(id),
            18 => Action::Poll(id),
            19 => Action::Rouse(id),
            20 => Action::Linger,
            21 => Action::FindNone(id),
            22 => Action::Broadcast {
                cond: id,
                woken: other,
            },
            _ => Action::CondWait {
                cond: id,
                mutex: ObjectId(other),
            },
        })
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let work = any::<u64>().prop_map(|work| work >> (work % 64));
        (work, action(), any::<u32>(), any::<bool>()).prop_map(
            |(work_nanos, action, event, waited)| Operation {
                work_nanos,
                action,
                event,
                waited,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out_again(
            lists in proptest::collection::vec(proptest::collection::vec(operation(), 0..20), 1..4),
            replaced in proptest::collection::vec((any::<proptest::sample::Index>(), operation()), 0..10),
        ) {
            let mut expected: Vec<Operation> = lists.concat();
            let mut all = Operations::default();
            for list in lists {
                let mut packed = Operations::with_capacity(list.len());
                for operation in list {
                    match operation.action {
                        Action::Lock(mutex) if !operation.waited => {
                            packed.push_mutex((mutex, true), operation.work_nanos, operation.event);
                        }
                        Action::Unlock(mutex) if !operation.waited => {
                            packed.push_mutex((mutex, false), operation.work_nanos, operation.event);
                        }
                        _ => packed.push(operation),
                    }
                }
                all.append(packed);
            }
            if !expected.is_empty() {
                for (index, operation) in replaced {
                    let index = index.index(expected.len());
                    expected[index] = operation;
                    all.set(index as u32, operation);
                }
            }
            prop_assert_eq!(all.iter().collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(all.last(), expected.last().copied());
            for (index, operation) in (0..).zip(&expected) {
                prop_assert_eq!(all.action(index), operation.action);
                prop_assert_eq!(all.work_nanos(index), operation.work_nanos);
                prop_assert_eq!(all.waited(index), operation.waited);
                prop_assert_eq!(all.event(index), operation.event);
            }
        }
    }
}
