//! Threads that have a queue each, and look for tasks in the queues of others when theirs is empty.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, SiteId};

use super::{
    LaidOut,
    cuts::{TakePoint, Takes},
    median,
};
use crate::{Action, lower::WAKING_UP};

/// Checks that tasks lock the mutexes of queues only to look for what to do: right after their take, which found nothing, from places that
/// are there for that. So some tasks do, and others do not.
pub(super) fn looks_elsewhere(program: &LaidOut<'_>, takes: &Takes) -> Result<(), String> {
    let TakePoint::OwnLock(_, mutexes) = &takes.point else {
        return Ok(());
    };
    let places = looking_places(program, takes, mutexes);
    let (mut some_look, mut some_do_not) = (false, false);
    for task in takes.tasks(program) {
        let own = program.operations.action(task.take);
        let mut looks = false;
        for (position, action) in locks(program, takes, task.take, mutexes) {
            let place = place(program, position);
            if action == own || place.is_none_or(|place| !places.contains(&place)) {
                return Err("each takes tasks from a queue that others fill".to_owned());
            }
            looks = true;
        }
        some_look |= looks;
        some_do_not |= !looks;
    }
    if some_look && some_do_not {
        Ok(())
    } else {
        Err("each takes tasks from a queue of its own".to_owned())
    }
}

/// Returns the places from where threads lock a queue's mutex right after they took, or looked elsewhere. Of the times that some thread came
/// by a place, the one in the middle counts: to go on after others had its CPU costs caches, 15 to 40 us on a virtual machine.
fn looking_places(program: &LaidOut<'_>, takes: &Takes, mutexes: &[ObjectId]) -> BTreeSet<SiteId> {
    let mut before: BTreeMap<SiteId, Vec<u64>> = BTreeMap::new();
    for task in takes.tasks(program) {
        let mut last = task.take;
        for (position, _) in locks(program, takes, task.take, mutexes) {
            let works =
                (last + 1..=position).map(|position| program.operations.work_nanos(position));
            if let Some(place) = place(program, position) {
                before.entry(place).or_default().push(works.sum());
            }
            last = position;
        }
    }
    let looking = before
        .into_iter()
        .filter(|(_, works)| median(works) < WAKING_UP);
    looking.map(|(place, _)| place).collect()
}

/// Returns where a task locks the mutexes of queues, after its take.
fn locks<'a>(
    program: &'a LaidOut<'_>,
    takes: &Takes,
    take: u32,
    mutexes: &'a [ObjectId],
) -> impl Iterator<Item = (u32, Action)> + use<'a> {
    let after = takes.after(program, take);
    after.filter(|(_, action)| matches!(action, Action::Lock(mutex) if mutexes.contains(mutex)))
}

fn place(program: &LaidOut<'_>, position: u32) -> Option<SiteId> {
    let event = program.operations.event(position) as usize;
    let event = program.trace.events.get(event)?;
    program.trace.call(event).site
}
