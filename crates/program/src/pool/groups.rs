//! Threads of one start routine that one thread created and did not join in between, and that thread itself; with those that they
//! created there themselves.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{SiteId, ThreadId};

use super::LaidOut;
use crate::{Action, Opener};

/// Threads that may be a pool.
pub(super) struct Group {
    pub routine: SiteId,
    /// At least one.
    pub threads: Vec<ThreadId>,
    /// Who created the first of them, and may do the same as they do: many programs create one thread less than they need, and call the
    /// start routine themselves.
    pub creator: ThreadId,
}

impl Group {
    /// Returns whether threads that use something share it: two of the group, or one and the creator.
    pub fn shares(&self, users: &BTreeSet<ThreadId>) -> bool {
        users.len() >= 2 && self.threads.iter().any(|thread| users.contains(thread))
    }
}

/// Threads of one start routine and creator that are there together, as far as one knows.
#[derive(Default)]
struct Generation {
    threads: Vec<ThreadId>,
    /// Whether some were joined: who is created now is of the next generation.
    joined: bool,
}

/// Returns the groups of threads, those of a single one, too.
pub(super) fn groups(program: &LaidOut<'_>) -> Vec<Group> {
    let mut groups = Vec::new();
    if program
        .trace
        .threads
        .iter()
        .all(|thread| thread.start_routine.is_none())
    {
        return groups;
    }
    for creator in (0..program.threads.len()).map(ThreadId::from_index) {
        let mut generations: BTreeMap<SiteId, Generation> = BTreeMap::new();
        let routine = |thread: ThreadId| program.trace.threads[thread.index()].start_routine;
        let mut mine = BTreeSet::new();
        for (_, operation) in program.operations_of(creator) {
            match operation.action {
                Action::Create(child) => {
                    let Some(routine) = routine(child) else {
                        continue;
                    };
                    let generation = generations.entry(routine).or_default();
                    if generation.joined {
                        keep(&mut groups, creator, routine, std::mem::take(generation));
                    }
                    generation.threads.push(child);
                    mine.insert(child);
                }
                Action::Await(gate) => {
                    if let Opener::End(child) = gate.opener(program.threads.len())
                        && mine.contains(&child)
                        && let Some(routine) = routine(child)
                        && let Some(generation) = generations.get_mut(&routine)
                    {
                        generation.joined |= generation.threads.contains(&child);
                    }
                }
                _ => {}
            }
        }
        for (routine, generation) in generations {
            keep(&mut groups, creator, routine, generation);
        }
    }
    join_creators(groups)
}

/// Joins threads with those that created them, where these start at the same place themselves: the first of a pool's threads may
/// create the others.
fn join_creators(groups: Vec<Group>) -> Vec<Group> {
    let mut joined: Vec<Group> = Vec::new();
    // Who creates comes before those that are created, and so do their groups.
    for group in groups {
        let of_creator = joined
            .iter_mut()
            .find(|other| other.routine == group.routine && other.threads.contains(&group.creator));
        match of_creator {
            Some(other) => other.threads.extend(group.threads),
            None => joined.push(group),
        }
    }
    joined
}

fn keep(groups: &mut Vec<Group>, creator: ThreadId, routine: SiteId, generation: Generation) {
    if !generation.threads.is_empty() {
        groups.push(Group {
            routine,
            threads: generation.threads,
            creator,
        });
    }
}
