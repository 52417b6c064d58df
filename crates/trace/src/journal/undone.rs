//! What processes took of System V's semaphores and give back by their ends (`SEM_UNDO`).

use std::collections::BTreeMap;

use super::decode::Decoded;
use super::layout::{Kind, UNDONE};
use crate::ObjectId;

/// By process and semaphore, how many tokens its end gives back, as far as the journals have been read. Below 0: how many it takes,
/// which nobody waits for.
#[derive(Default)]
pub(super) struct Undone {
    owed: BTreeMap<(usize, ObjectId), i64>,
}

impl Undone {
    /// Takes a record of what a process took or gave.
    pub fn step(&mut self, process: usize, semaphore: ObjectId, event: &Decoded) {
        if event.second & UNDONE == 0 {
            return;
        }
        let tokens = i64::try_from(event.second & !UNDONE).unwrap_or(0);
        let owed = self.owed.entry((process, semaphore)).or_default();
        *owed += if event.kind == Kind::SetTake {
            tokens
        } else {
            -tokens
        };
    }

    /// Returns the semaphores that a process gives a token by its end, once for each; it does not end if it becomes another program.
    pub fn end(&mut self, process: usize, successor: Option<usize>) -> Vec<ObjectId> {
        let own = |&(owner, _): &(usize, ObjectId), _: &mut i64| owner == process;
        let own: Vec<_> = self.owed.extract_if(.., own).collect();
        if let Some(successor) = successor {
            let inherited = own.into_iter();
            let inherited = inherited.map(|((_, semaphore), owed)| ((successor, semaphore), owed));
            self.owed.extend(inherited);
            return Vec::new();
        }
        let tokens = own.into_iter().flat_map(|((_, semaphore), owed)| {
            let count = usize::try_from(owed).unwrap_or(0);
            std::iter::repeat_n(semaphore, count)
        });
        tokens.collect()
    }
}
