//! Which operation of a group's threads takes tasks.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use foretrace_trace::{ObjectId, SiteId, ThreadId};

use super::{
    LaidOut,
    cuts::{Sums, TakePoint, Takes, depth_after},
    groups::Group,
    looking::looks_elsewhere,
    median, safety,
};
use crate::{Action, lower::WAKING_UP};

/// As many lock sites as are tried; those that most threads use come first.
const TRIED: usize = 8;

/// A loop that is shared out at another place is one part in so many of the work, at least.
const MUCH: u64 = 20;

/// Fewer takes of each may be as many as those of the others by chance.
const LEAST_COUNTED: usize = 4;

/// What is tried first where threads do several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Token,
    Lock,
    OwnLock,
}

/// The threads that lock or take at some place, by object.
#[derive(Default)]
struct Users {
    threads: BTreeMap<ObjectId, BTreeSet<ThreadId>>,
    count: u64,
}

/// Where tasks may be taken: how often it is done there, and by whom.
type Candidate = (Kind, u64, TakePoint, BTreeSet<ThreadId>);

/// Finds where the threads of a group take tasks; says why they do not, where so.
pub(super) fn take_points(program: &LaidOut<'_>, group: &Group) -> Result<Takes, String> {
    let mut threads = group.threads.clone();
    threads.push(group.creator);
    let (sites, tokens) = users(program, &threads);
    let mut points: Vec<Candidate> = Vec::new();
    for (semaphore, users) in tokens {
        if users.threads.values().any(|users| group.shares(users)) {
            let point = TakePoint::Token(semaphore);
            points.push((Kind::Token, users.count, point, users.all()));
        }
    }
    let anywhere = anywhere(&sites);
    for (site, users) in sites {
        // One that a single thread polls is its mailbox.
        let shared = users
            .threads
            .iter()
            .filter(|(_, users)| group.shares(users));
        let mutexes: Vec<ObjectId> = shared.map(|(&mutex, _)| mutex).collect();
        let own: Vec<ObjectId> = users.threads.keys().copied().collect();
        let is_looked_into = own.iter().any(|mutex| group.shares(&anywhere[mutex]));
        let (kind, point) = if mutexes.is_empty() && own.len() > 1 && is_looked_into {
            (Kind::OwnLock, TakePoint::OwnLock(site, own))
        } else if !mutexes.is_empty() && mutexes.len() <= 2 * threads.len() {
            (Kind::Lock, TakePoint::Lock(vec![site], mutexes))
        } else {
            continue;
        };
        points.push((kind, users.count, point, users.all()));
    }
    points.sort_by_key(|(kind, count, ..)| (*kind, std::cmp::Reverse(*count)));
    points.truncate(TRIED);
    // Of several places, the one that is used most is what one would look at.
    let mut reason = None;
    for (_, _, point, users) in &points {
        // Threads of C++ all start at the same place, whatever they do. A worker looks for a task once at least.
        let workers = group.threads.iter().copied();
        let workers: Vec<ThreadId> = workers.filter(|thread| users.contains(thread)).collect();
        let mut takes = Takes::of(program, &workers, point.clone());
        let found = is_pool(program, &takes).and_then(|()| {
            takes.put_in_order(program);
            if let TakePoint::Token(semaphore) = takes.point
                && is_lock(program, &takes, semaphore)
            {
                takes.point = as_lock(program, &takes, semaphore)?;
                return is_pool(program, &takes);
            }
            looks_elsewhere(program, &takes)
        });
        match found {
            Ok(()) => return Ok(with_other_places(program, &workers, takes, &points)),
            Err(no) => {
                reason.get_or_insert(no);
            }
        }
    }
    Err(reason.unwrap_or_else(|| {
        "no lock or semaphore that two or more of them take, holding no other lock".to_owned()
    }))
}

/// Returns the takes of workers that take at other places in other phases, as well: each of these is a loop that they share out.
fn with_other_places(
    program: &LaidOut<'_>,
    workers: &[ThreadId],
    mut takes: Takes,
    candidates: &[Candidate],
) -> Takes {
    for (_, _, point, users) in candidates {
        let (TakePoint::Lock(places, mutexes), TakePoint::Lock(others, of_others)) =
            (&takes.point, point)
        else {
            continue;
        };
        let is_new = others.iter().all(|other| !places.contains(other));
        if !is_new || !workers.iter().all(|worker| users.contains(worker)) {
            continue;
        }
        let places = [&places[..], others].concat();
        let mut mutexes = [&mutexes[..], of_others].concat();
        mutexes.sort_unstable();
        mutexes.dedup();
        if !are_of_different_phases(program, workers, &places, &mutexes) {
            continue;
        }
        let mut more = Takes::of(program, workers, TakePoint::Lock(places, mutexes));
        let is_same_crew = more.workers.len() == takes.workers.len();
        // Who only numbers itself at the beginning, say, shares nothing out.
        let (before, now) = (takes.sums.group_task_work, more.sums.group_task_work);
        let is_loop = MUCH * now.saturating_sub(before) >= more.sums.group_work;
        if !is_same_crew || !is_loop || is_pool(program, &more).is_err() {
            continue;
        }
        more.put_in_order(program);
        let is_safe = |takes: &Takes| safety::check(program, takes).is_ok();
        if is_safe(&more) || !is_safe(&takes) {
            takes = more;
        }
    }
    takes
}

/// Returns whether between two barriers all workers lock these mutexes, holding no other lock, from the same one of the places.
fn are_of_different_phases(
    program: &LaidOut<'_>,
    workers: &[ThreadId],
    places: &[SiteId],
    mutexes: &[ObjectId],
) -> bool {
    let mut of_phases: Vec<Option<SiteId>> = Vec::new();
    for &worker in workers {
        let (mut depth, mut phase) = (0, 0);
        for (_, operation) in program.operations_of(worker) {
            match operation.action {
                Action::Barrier(_) => phase += 1,
                Action::Lock(mutex) if depth == 0 && mutexes.contains(&mutex) => {
                    let event = program.trace.events.get(operation.event as usize);
                    let site = event.and_then(|event| program.trace.call(event).site);
                    if let Some(site) = site.filter(|site| places.contains(site)) {
                        if of_phases.len() <= phase {
                            of_phases.resize(phase + 1, None);
                        }
                        if *of_phases[phase].get_or_insert(site) != site {
                            return false;
                        }
                    }
                }
                _ => {}
            }
            depth = depth_after(operation.action, depth);
        }
    }
    true
}

/// Collects who locks at which place, holding no other lock, and who takes tokens of which semaphore.
fn users(
    program: &LaidOut<'_>,
    threads: &[ThreadId],
) -> (BTreeMap<SiteId, Users>, BTreeMap<ObjectId, Users>) {
    // There are few distinct calls, and perhaps many millions of operations.
    let mut locks = vec![0_u64; program.trace.calls.len()];
    let mut taken = vec![0_u64; program.objects.len()];
    let mut tokens: BTreeMap<ObjectId, Users> = BTreeMap::new();
    for &thread in threads {
        taken.fill(0);
        let mut depth = 0;
        for (_, operation) in program.operations_of(thread) {
            match operation.action {
                Action::TakeToken(semaphore) => taken[semaphore.index()] += 1,
                Action::Lock(_) if depth == 0 => {
                    if let Some(event) = program.trace.events.get(operation.event as usize) {
                        locks[event.call.index()] += 1;
                    }
                }
                _ => {}
            }
            depth = depth_after(operation.action, depth);
        }
        for (index, &count) in taken.iter().enumerate().filter(|(_, count)| **count > 0) {
            let semaphore = ObjectId::from_index(index);
            let users = tokens.entry(semaphore).or_default();
            users.add(semaphore, thread, count);
        }
    }
    let mut sites: BTreeMap<SiteId, Users> = BTreeMap::new();
    for (call, &count) in program.trace.calls.iter().zip(&locks) {
        if let (Some(site), Some(object), 1..) = (call.site, call.operation.object(), count) {
            let users = sites.entry(site).or_default();
            users.add(object, call.thread, count);
        }
    }
    (sites, tokens)
}

/// Returns who locks each mutex, at whichever place.
fn anywhere(sites: &BTreeMap<SiteId, Users>) -> BTreeMap<ObjectId, BTreeSet<ThreadId>> {
    let mut anywhere: BTreeMap<ObjectId, BTreeSet<ThreadId>> = BTreeMap::new();
    for (&mutex, users) in sites.values().flat_map(|users| &users.threads) {
        anywhere.entry(mutex).or_default().extend(users);
    }
    anywhere
}

impl Users {
    fn add(&mut self, object: ObjectId, thread: ThreadId, count: u64) {
        self.threads.entry(object).or_default().insert(thread);
        self.count += count;
    }

    /// Returns the threads, whichever of the objects they use.
    fn all(&self) -> BTreeSet<ThreadId> {
        self.threads.values().flatten().copied().collect()
    }
}

/// Says why the sums of takes are not those of a pool's, where so.
fn is_pool(program: &LaidOut<'_>, takes: &Takes) -> Result<(), String> {
    let sums = &takes.sums;
    let name = match &takes.point {
        TakePoint::Lock(_, mutexes) | TakePoint::OwnLock(_, mutexes) => match mutexes.as_slice() {
            [mutex] => program.objects[mutex.index()].name.clone(),
            several => format!("{} mutexes", several.len()),
        },
        TakePoint::Token(semaphore) | TakePoint::LockToken(semaphore) => {
            program.objects[semaphore.index()].name.clone()
        }
    };
    if sums.tasks < 2 || 2 * sums.group_task_work < sums.group_work {
        return Err(format!(
            "less than half of their CPU time lies between one take of {name} and the next"
        ));
    }
    if let TakePoint::Token(_) = takes.point {
        return if program.trace.recording.is_some() && are_counted(program, takes) {
            Err(format!(
                "each takes {name} as often as the others, and looks for no more then"
            ))
        } else {
            Ok(())
        };
    }
    // Who takes a task from a list looks first and finds nothing at last; who adds up results works first. Where tasks take
    // no longer than waking up at a barrier before the first, that tells nothing; but then threads that go from one list to
    // others are known by these.
    let half_a_task = sums.task_work / (2 * sums.tasks as u64);
    let least = match &takes.point {
        TakePoint::Lock(_, mutexes) if mutexes.len() > 1 => half_a_task.max(WAKING_UP),
        TakePoint::OwnLock(..) => half_a_task.max(WAKING_UP),
        _ => half_a_task,
    };
    // One that was interrupted says nothing about the others.
    let small = |edges: &[u64]| median(edges) < least;
    let works_first = || format!("they lock {name} after their work, not to find some");
    if !small(&sums.prologues) {
        return Err(works_first());
    }
    if !small(&sums.tails) {
        return Err(format!(
            "they never find nothing left when they lock {name}"
        ));
    }
    if goes_around(sums, least) {
        return Err(works_first());
    }
    Ok(())
}

/// Returns whether each thread takes as often as any other, and does after the last take what it does after all: each knows how often it will. Who takes
/// what is left finds out that nothing is.
fn are_counted(program: &LaidOut<'_>, takes: &Takes) -> bool {
    let workers = takes.workers.iter();
    let counts: Option<Vec<usize>> = workers
        .map(|worker| counted(program, takes, worker.thread))
        .collect();
    counts.is_some_and(|counts| {
        counts.len() >= 2
            && counts[0] >= LEAST_COUNTED
            && counts.iter().all(|count| *count == counts[0])
    })
}

/// Returns how often a thread takes that ends by itself and does what it does for each when it has taken the last; `None` where it does not.
fn counted(program: &LaidOut<'_>, takes: &Takes, thread: ThreadId) -> Option<usize> {
    let range = program.threads[thread.index()].operations.clone();
    let places = std::iter::successors(takes.taken_at.first_from(range.start), |take| {
        takes.taken_at.first_from(take + 1)
    });
    let places: Vec<u32> = places.take_while(|take| *take < range.end).collect();
    let &[.., before, last] = &places[..] else {
        return None;
    };
    let is_token = |take: u32| matches!(program.operations.action(take), Action::TakeToken(_));
    let noticed = |range: Range<u32>| -> Vec<Action> {
        let actions = range.map(|position| program.operations.action(position));
        actions
            .filter(|action| {
                !matches!(
                    action,
                    Action::Pass
                        | Action::Rouse(_)
                        | Action::Linger
                        | Action::Delay(_)
                        | Action::Terminate
                )
            })
            .collect()
    };
    let (task, tail) = (noticed(before + 1..last), noticed(last + 1..range.end));
    let works = (last + 1..range.end).map(|position| program.operations.work_nanos(position));
    // A token that says that nothing is left is taken, too, with nothing done then.
    let works = works.sum::<u64>() > WAKING_UP;
    let goes_on = if works {
        task.starts_with(&tail)
    } else {
        task == tail && !tail.is_empty()
    };
    let ends_by_itself = !program.ends[thread.index()].with_process;
    (ends_by_itself && goes_on && places.iter().all(|&take| is_token(take))).then_some(places.len())
}

/// Returns whether what workers do before their first take and from their last on is about one task together, as where each does the same again and again and
/// locks in between. Where it is chance how long that takes, either may be short for most of a few.
fn goes_around(sums: &Sums, least: u64) -> bool {
    let edges = sums.prologues.iter().zip(&sums.tails);
    let mut edges: Vec<u64> = edges.map(|(before, after)| before + after).collect();
    edges.sort_unstable();
    // One that was interrupted says nothing about the others.
    edges.pop();
    let all: u64 = edges.iter().sum();
    all >= least * edges.len().max(1) as u64
}

/// Returns the take point where every task gives back its token, as a lock is: whoever has it takes what is guarded by it, if it is one token
/// that is only taken there. Says that it is not, where so.
fn as_lock(program: &LaidOut<'_>, takes: &Takes, semaphore: ObjectId) -> Result<TakePoint, String> {
    let object = &program.objects[semaphore.index()];
    let structure = program.structures.iter();
    let structure = structure.filter(|structure| structure.object == semaphore);
    let mut places: BTreeSet<SiteId> = structure
        .flat_map(|structure| &structure.sites)
        .copied()
        .collect();
    if places.is_empty() {
        let calls = takes.in_order.iter().filter_map(|&take| {
            let event = program
                .trace
                .events
                .get(program.operations.event(take) as usize)?;
            program.trace.call(event).site
        });
        places.extend(calls);
    }
    let takes_all = takes.in_order.len() == takes_of(program, semaphore);
    if object.initial == Some(1) && places.len() == 1 && takes_all {
        return Ok(TakePoint::LockToken(semaphore));
    }
    Err(format!(
        "{} is given back by whoever took it, as a lock is",
        object.name
    ))
}

/// Returns how often tokens of a semaphore are taken.
fn takes_of(program: &LaidOut<'_>, semaphore: ObjectId) -> usize {
    let operations = program.operations.iter();
    operations
        .filter(|operation| operation.action == Action::TakeToken(semaphore))
        .count()
}

/// Returns whether every task gives back the token that it took.
fn is_lock(program: &LaidOut<'_>, takes: &Takes, semaphore: ObjectId) -> bool {
    takes.tasks(program).all(|task| {
        let given = takes.after(program, task.take);
        given
            .filter(|(_, action)| *action == Action::GiveToken(semaphore))
            .count()
            == 1
    })
}
