//! Locks on files: which parts of which files are locked by whom, so that what gives up several, or is a process's end, is told of
//! each.
//!
//! A lock may be given up in ways that nobody sees: by `dup2` onto its file, or when the last of several processes that have the file
//! open closes it. Where somebody gets a lock that others seem to hold it was; of such a file's locks nothing is told.

use std::collections::{BTreeMap, BTreeSet};

use super::decode::Decoded;
use super::layout::{Kind, OUTCOME_SUCCESS};
use super::objects::Objects;
use crate::{ObjectId, ObjectKind, Operation, Outcome, ThreadId};

/// A lock that somebody holds.
#[derive(Clone, Copy)]
struct Held {
    owner: Owner,
    /// Where the part begins and how long it is, 0 for all the rest.
    part: (u64, u64),
    object: ObjectId,
    writes: bool,
}

/// Who holds a lock: of the whole file its opener, taken to be the thread; of a part its process.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Owner {
    process: usize,
    thread: Option<ThreadId>,
}

/// What a record of a file's locks tells.
pub(super) struct Step {
    pub operation: Operation,
    pub outcome: Outcome,
}

impl Step {
    fn done(operation: Operation) -> Self {
        Self {
            operation,
            outcome: Outcome::Success,
        }
    }
}

/// The locks that are held, as far as the journals have been read.
#[derive(Default)]
pub(super) struct FileLocks {
    /// By file.
    held: BTreeMap<u64, Vec<Held>>,
    /// The objects of which somebody got what another seemed to hold.
    contradicted: BTreeSet<ObjectId>,
}

impl FileLocks {
    /// Takes a record of a thread, and returns what it tells.
    pub fn step(
        &mut self,
        objects: &mut Objects,
        (process, thread): (usize, ThreadId),
        event: &Decoded,
    ) -> Vec<Step> {
        let part = (event.second, event.third);
        let held = self.held.entry(event.object).or_default();
        if event.kind == Kind::FileUnlock && event.outcome != OUTCOME_SUCCESS {
            // The file was closed, and a copy of it keeps the lock.
            return Vec::new();
        }
        if event.kind == Kind::FileUnlock {
            let ends = |(start, length): (u64, u64)| match length {
                0 => u64::MAX,
                length => start.saturating_add(length),
            };
            let is_within = |lock: &Held| part.0 <= lock.part.0 && ends(lock.part) <= ends(part);
            let is_of_part = event.object & 1 != 0;
            let is_processes_own = |lock: &Held| lock.owner.process == process;
            let has_none = !held.iter().any(is_processes_own);
            let is_given_up = |lock: &Held| {
                // A lock of the whole belongs to the open file, which a process has in common with those that it descends from.
                let is_own = is_processes_own(lock)
                    || has_none && !is_of_part && objects.is_line(process, lock.owner.process);
                is_own && is_within(lock)
            };
            // Where several threads opened a file each gives up its own.
            let own = |lock: &Held| lock.owner.thread == Some(thread);
            let has_own = held.iter().any(|lock| own(lock) && is_given_up(lock));
            let given = held.extract_if(.., |lock| is_given_up(lock) && (!has_own || own(lock)));
            return given
                .map(|lock| Step::done(Operation::RwUnlock(lock.object)))
                .collect();
        }
        let writes = event.kind == Kind::FileWriteLock;
        let name = event.object
            ^ part.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ part.1.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        let object = objects.shared(process, ObjectKind::Rwlock, name, None);
        if event.outcome != OUTCOME_SUCCESS {
            let operation = if writes {
                Operation::TryWriteLock(object)
            } else {
                Operation::TryReadLock(object)
            };
            return vec![Step {
                operation,
                outcome: Outcome::Busy,
            }];
        }
        let is_of_part = event.object & 1 != 0;
        let owner = Owner {
            process,
            thread: (!is_of_part).then_some(thread),
        };
        let mut steps = Vec::new();
        let is_same = |lock: &Held| lock.owner == owner && lock.part == part;
        if let Some(place) = held.iter().position(is_same) {
            if held[place].writes == writes {
                return steps;
            }
            held.swap_remove(place);
            steps.push(Step::done(Operation::RwUnlock(object)));
        }
        let keeps_out = |lock: &Held| lock.part == part && (writes || lock.writes);
        if held.iter().any(keeps_out) {
            self.contradicted.insert(object);
        }
        held.push(Held {
            owner,
            part,
            object,
            writes,
        });
        steps.push(Step::done(if writes {
            Operation::WriteLock(object)
        } else {
            Operation::ReadLock(object)
        }));
        steps
    }

    /// Returns what a process gives up by its end.
    pub fn end(&mut self, process: usize) -> Vec<Operation> {
        let mut given = Vec::new();
        for held in self.held.values_mut() {
            let own = held.extract_if(.., |lock| lock.owner.process == process);
            given.extend(own.map(|lock| Operation::RwUnlock(lock.object)));
        }
        given
    }

    /// Returns the objects of which nothing is to be told.
    pub fn contradicted(&self) -> &BTreeSet<ObjectId> {
        &self.contradicted
    }
}
