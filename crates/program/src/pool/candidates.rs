//! Which operation of a group's threads takes tasks.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, SiteId, ThreadId};

use super::{
    LaidOut,
    cuts::{TakePoint, Takes, depth_after},
    groups::Group,
};
use crate::Action;

/// As many lock sites as are tried; those that most threads use come first.
const TRIED: usize = 8;

/// The threads that lock or take at some place, by object.
#[derive(Default)]
struct Users {
    threads: BTreeMap<ObjectId, BTreeSet<ThreadId>>,
    count: u64,
}

/// Finds where the threads of a group take tasks; says why they do not, where so.
pub(super) fn take_points(program: &LaidOut<'_>, group: &Group) -> Result<Takes, String> {
    let mut sites: BTreeMap<SiteId, Users> = BTreeMap::new();
    let mut tokens: BTreeMap<ObjectId, Users> = BTreeMap::new();
    for &thread in &group.threads {
        let mut depth = 0;
        for (_, operation) in program.operations_of(thread) {
            let users = match operation.action {
                Action::TakeToken(semaphore) => Some((tokens.entry(semaphore).or_default(), semaphore)),
                Action::Lock(mutex) if depth == 0 => program
                    .site(operation)
                    .map(|site| (sites.entry(site).or_default(), mutex)),
                _ => None,
            };
            if let Some((users, object)) = users {
                users.threads.entry(object).or_default().insert(thread);
                users.count += 1;
            }
            depth = depth_after(operation.action, depth);
        }
    }
    let mut points: Vec<(bool, u64, TakePoint)> = Vec::new();
    for (semaphore, users) in tokens {
        if users.threads.values().any(|threads| threads.len() >= 2) {
            points.push((false, users.count, TakePoint::Token(semaphore)));
        }
    }
    for (site, users) in sites {
        // One that a single thread polls is its mailbox.
        let shared = users.threads.iter().filter(|(_, threads)| threads.len() >= 2);
        let mutexes: Vec<ObjectId> = shared.map(|(&mutex, _)| mutex).collect();
        if !mutexes.is_empty() && mutexes.len() <= 2 * group.threads.len() {
            points.push((true, users.count, TakePoint::Lock(site, mutexes)));
        }
    }
    points.sort_by_key(|&(locks, count, _)| (locks, std::cmp::Reverse(count)));
    let mut reason = "no lock or semaphore that two or more of them take, holding no other lock".to_owned();
    for (_, _, point) in points.into_iter().take(TRIED) {
        let takes = Takes::collect(program, &group.threads, point);
        match is_pool(program, &takes) {
            Ok(()) => return Ok(takes),
            Err(no) => reason = no,
        }
    }
    Err(reason)
}

/// Says why takes are not those of a pool, where so.
fn is_pool(program: &LaidOut<'_>, takes: &Takes) -> Result<(), String> {
    let name = match &takes.point {
        TakePoint::Lock(_, mutexes) => match mutexes.as_slice() {
            [mutex] => program.objects[mutex.index()].name.clone(),
            several => format!("{} mutexes", several.len()),
        },
        TakePoint::Token(semaphore) => program.objects[semaphore.index()].name.clone(),
    };
    let work = takes.segment_work();
    if takes.segments.len() < 2 || 2 * work < takes.group_work {
        return Err(format!(
            "less than half of their CPU time lies between one take of {name} and the next"
        ));
    }
    if let TakePoint::Token(semaphore) = takes.point {
        return if is_lock(program, takes, semaphore) {
            Err(format!("{name} is given back by whoever took it, as a lock is"))
        } else {
            Ok(())
        };
    }
    // Who takes a task from a list looks first and finds nothing at last; who adds up results works first.
    let count = takes.segments.len() as u64;
    let small = |edges: u64| {
        u128::from(edges) * 2 * u128::from(count) < u128::from(work) * u128::from(takes.edges.max(1))
    };
    if !small(takes.prologues) {
        return Err(format!("they lock {name} after their work, not to find some"));
    }
    if !small(takes.tails) {
        return Err(format!("they never find nothing left when they lock {name}"));
    }
    Ok(())
}

/// Returns whether every segment gives back the token that it took.
fn is_lock(program: &LaidOut<'_>, takes: &Takes, semaphore: ObjectId) -> bool {
    takes.segments.iter().all(|segment| {
        let after = &program.operations[segment.cut as usize + 1..];
        let mut given = 0;
        for operation in after {
            match operation.action {
                Action::GiveToken(id) if id == semaphore => given += 1,
                Action::TakeToken(id) if id == semaphore => break,
                Action::Terminate => break,
                _ => {}
            }
        }
        given == 1
    })
}
