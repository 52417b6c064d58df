//! A program as it would be after a change of its source, so that a replay tells what the change is worth.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use foretrace_trace::ObjectId;

use crate::{Action, Operation, Program, links::LinksBuilder, pool::Queue};

impl Program {
    /// Returns the program with other CPU times before its operations, in nanoseconds: `work` is told the position of each operation, and what it
    /// takes now.
    #[must_use]
    pub fn with_work(&self, work: impl Fn(u32, u64) -> u64) -> Self {
        let mut program = self.clone();
        for position in 0..program.operations.len() as u32 {
            let operation = program.operations.get(position);
            let work_nanos = work(position, operation.work_nanos);
            if work_nanos != operation.work_nanos {
                let operation = Operation {
                    work_nanos,
                    ..operation
                };
                program.operations.set(position, operation);
            }
        }
        program
    }

    /// Returns the program in which nobody waits for another at these mutexes, spin locks and readers-writer locks, as if there were one for each
    /// thing that they protect. Those that hand out the tasks of a pool stay as they are, and, where there are pools, those of condition variables:
    /// threads do each other's tasks, so that they would need each other's locks. `None` where none is left.
    #[must_use]
    pub fn without_locks(&self, locks: &[ObjectId]) -> Option<Self> {
        let hands_out = |lock: &ObjectId| {
            let queues = self.pools.iter().map(|pool| &pool.queue);
            queues
                .into_iter()
                .any(|queue| matches!(queue, Queue::Mutexes(all) if all.contains(lock)))
        };
        let waits = self.operations.iter();
        let waits = waits.filter_map(|operation| match operation.action {
            Action::CondWait { mutex, .. } => Some(mutex),
            _ => None,
        });
        let of_conditions: BTreeSet<ObjectId> = waits.collect();
        let stays = |lock: &ObjectId| {
            hands_out(lock) || (!self.pools.is_empty() && of_conditions.contains(lock))
        };
        let locks: BTreeSet<ObjectId> = locks.iter().copied().filter(|lock| !stays(lock)).collect();
        if locks.is_empty() {
            return None;
        }
        let mut program = self.clone();
        let mut is_changed = vec![false; self.operations.len()];
        for thread in &self.threads {
            // Who waits for a condition gives up a mutex: one of its own.
            let own: BTreeMap<ObjectId, ObjectId> = locks
                .intersection(&of_conditions)
                .map(|&lock| {
                    program.objects.push(self.objects[lock.index()].clone());
                    (lock, ObjectId::from_index(program.objects.len() - 1))
                })
                .collect();
            let instead = |lock: ObjectId, action: fn(ObjectId) -> Action| {
                own.get(&lock).map_or(Action::Pass, |&own| action(own))
            };
            for position in thread.operations.clone() {
                let instead = match self.operations.action(position) {
                    Action::Lock(lock) if locks.contains(&lock) => instead(lock, Action::Lock),
                    Action::Unlock(lock) if locks.contains(&lock) => instead(lock, Action::Unlock),
                    Action::CondWait { cond, mutex } if locks.contains(&mutex) => {
                        let mutex = own[&mutex];
                        Action::CondWait { cond, mutex }
                    }
                    Action::ReadLock(lock) | Action::WriteLock(lock) | Action::RwUnlock(lock)
                        if locks.contains(&lock) =>
                    {
                        Action::Pass
                    }
                    _ => continue,
                };
                program.operations.set_action(position, instead);
                is_changed[position as usize] = !matches!(instead, Action::CondWait { .. });
            }
        }
        let mut requirements = LinksBuilder::with_room(self.operations.len());
        for position in (0..self.operations.len() as u32).filter(|&at| !is_changed[at as usize]) {
            for &release in self.requirements_of(position) {
                requirements.add(position, release);
            }
        }
        program.requirements = requirements.finish(self.operations.len());
        program.dependents = OnceLock::new();
        Some(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "foretrace-text 1\nprocess A\nprocess B\n0 A create B\n1 A lock m\n5 A unlock m\n6 B lock m\n9 B unlock m\n\
                        9 B terminate\n9 A join B\n10 A terminate\n";

    #[test]
    fn work_is_changed_where_it_is_told() {
        let program = Program::from_trace(&foretrace_testkit::trace(TEXT));
        let all = program.work_nanos();
        assert_eq!(program.with_work(|_, work| work).work_nanos(), all);
        let first = |position, work| if position == 1 { work + 7 } else { work };
        assert_eq!(program.with_work(first).work_nanos(), all + 7);
        let long = program.with_work(|_, work| work << 33);
        assert_eq!(long.work_nanos(), all << 33);
    }

    #[test]
    fn a_lock_that_is_left_out_is_not_used() {
        let program = Program::from_trace(&foretrace_testkit::trace(TEXT));
        let without = program.without_locks(&[ObjectId(0)]).unwrap();
        let locks = |program: &Program| {
            let actions = program.operations.iter();
            let actions = actions.map(|operation| operation.action);
            actions
                .filter(|action| matches!(action, Action::Lock(_) | Action::Unlock(_)))
                .count()
        };
        assert_eq!((locks(&program), locks(&without)), (4, 0));
        assert_eq!(without.work_nanos(), program.work_nanos());
    }

    #[test]
    fn who_waits_for_a_condition_has_a_mutex_of_its_own() {
        let text = "foretrace-text 1\nprocess A\nprocess B\n0 A create B\n1 A lock m\n2 A cond_wait c m\n3 B lock m\n4 B cond_signal c\n\
                    5 B unlock m\n6 A return from=B\n7 A unlock m\n8 B terminate\n9 A join B\n10 A terminate\n";
        let program = Program::without_pools(&foretrace_testkit::trace(text));
        let mutex = program.objects.iter().position(|object| object.name == "m");
        let mutex = ObjectId::from_index(mutex.unwrap());
        let without = program.without_locks(&[mutex]).unwrap();
        let uses = |id: ObjectId| {
            let of = |action: Action| match action {
                Action::Lock(of) | Action::Unlock(of) => of == id,
                Action::CondWait { mutex, .. } => mutex == id,
                _ => false,
            };
            let actions = without.operations.iter();
            actions.filter(|operation| of(operation.action)).count()
        };
        assert_eq!(uses(mutex), 0);
        let own = (program.objects.len()..without.objects.len()).map(ObjectId::from_index);
        assert!(own.map(uses).all(|uses| uses > 1));
    }
}
