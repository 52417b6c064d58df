//! Which threads one wakes, and who tells that they are done.

use std::collections::BTreeSet;

use foretrace_trace::{Object, ObjectId};

use super::super::tally::LEAST_ROUNDS;
use crate::{Action, Operations, Thread};

/// A thread that wakes others, and those that it wakes, be it through others of them.
pub(super) struct Group {
    pub master: u32,
    pub members: BTreeSet<u32>,
    /// What the members wait for.
    pub begins: BTreeSet<ObjectId>,
    /// What nobody but the members tells of.
    pub ends: BTreeSet<ObjectId>,
}

/// Returns the groups of a program's threads.
pub(super) fn find(
    (threads, objects): (&[Thread], &[Object]),
    operations: &Operations,
) -> Vec<Group> {
    let tellers = Tellers::of((threads, objects), operations);
    let masters = 0..threads.len() as u32;
    masters
        .filter_map(|master| tellers.group_of(master))
        .collect()
}

/// Returns what an action waits for that another thread tells.
pub(super) fn waits_for(action: Action) -> Option<ObjectId> {
    match action {
        Action::TakeToken(object) | Action::AwaitWake(object) => Some(object),
        Action::CondWait { cond, .. } => Some(cond),
        _ => None,
    }
}

/// Returns what an action tells others of.
pub(super) fn tells_of(action: Action) -> Option<ObjectId> {
    match action {
        Action::GiveToken(object) | Action::Wake(object) | Action::Signal(object) => Some(object),
        Action::Broadcast { cond, .. } => Some(cond),
        _ => None,
    }
}

/// Who tells whom that it may go on.
struct Tellers {
    /// Who tells something of each object, in order.
    by_object: Vec<Vec<u32>>,
    /// Who had to wait until it was told so, in order, and how often.
    waiting: Vec<Vec<(u32, usize)>>,
    /// What each thread tells something of.
    told: Vec<BTreeSet<ObjectId>>,
}

impl Tellers {
    fn of((threads, objects): (&[Thread], &[Object]), operations: &Operations) -> Self {
        let mut tellers = Self {
            by_object: vec![Vec::new(); objects.len()],
            waiting: vec![Vec::new(); objects.len()],
            told: vec![BTreeSet::new(); threads.len()],
        };
        for (number, thread) in (0..).zip(threads) {
            for position in thread.operations.clone() {
                let action = operations.action(position);
                if let Some(object) = tells_of(action) {
                    let by = &mut tellers.by_object[object.index()];
                    if by.last() != Some(&number) {
                        by.push(number);
                        tellers.told[number as usize].insert(object);
                    }
                } else if let Some(object) = waits_for(action)
                    && (operations.waited(position) || matches!(action, Action::CondWait { .. }))
                    && !objects[object.index()].is_of_team()
                {
                    let waiting = &mut tellers.waiting[object.index()];
                    match waiting.last_mut() {
                        Some((last, times)) if *last == number => *times += 1,
                        _ => waiting.push((number, 1)),
                    }
                }
            }
        }
        tellers
    }

    /// Returns those that a thread wakes, if nobody else does but they themselves, where they wait again and again.
    fn group_of(&self, master: u32) -> Option<Group> {
        let mut group = Group {
            master,
            members: BTreeSet::new(),
            begins: BTreeSet::new(),
            ends: BTreeSet::new(),
        };
        let again = |&&(_, times): &&(u32, usize)| 2 * times >= LEAST_ROUNDS;
        let mut to_do = vec![master];
        while let Some(teller) = to_do.pop() {
            for &object in &self.told[teller as usize] {
                let waiting = self.waiting[object.index()].iter().filter(again);
                let waiting: Vec<u32> = waiting.map(|&(thread, _)| thread).collect();
                let is_of_group =
                    |by: &u32| *by == master || waiting.contains(by) || group.members.contains(by);
                let is_told_by_group = self.by_object[object.index()].iter().all(is_of_group);
                if waiting.is_empty() || waiting.contains(&master) || !is_told_by_group {
                    continue;
                }
                group.begins.insert(object);
                for thread in waiting {
                    if group.members.insert(thread) {
                        to_do.push(thread);
                    }
                }
            }
        }
        let told = group.members.iter();
        let told = told.flat_map(|&member| &self.told[member as usize]);
        let by_members = |object: &&ObjectId| {
            let mut by = self.by_object[object.index()].iter();
            by.all(|teller| group.members.contains(teller))
        };
        group.ends = told.filter(by_members).copied().collect();
        (!group.ends.is_empty()).then_some(group)
    }
}
