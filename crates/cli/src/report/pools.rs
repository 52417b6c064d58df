//! What is told of a program's work pools.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt::Write as _,
};

use foretrace_program::{NoPool, Program, Queue, WorkPool};
use foretrace_symbols::SourceMap;
use foretrace_trace::{ObjectId, SiteId, Trace};
use serde::Serialize;

/// As many groups of threads as an error tells of.
const MOST_GROUPS: usize = 4;

/// A work pool, as `info` tells of it.
#[derive(Debug, Serialize)]
pub struct PoolJson {
    start_routine: String,
    threads: usize,
    tasks: usize,
    /// The mutexes that tasks are taken by, or the semaphore.
    queue: Vec<String>,
    /// Whether all tasks were there before the first was taken.
    order_known: bool,
    /// How often the thread that puts the tasks waits until all are done, though it did not have to in the recording.
    joins: usize,
    #[serde(skip)]
    waits: bool,
}

impl PoolJson {
    /// Describes the pools of a program.
    pub fn all(trace: &Trace, program: &Program) -> Vec<Self> {
        let name = |object: &ObjectId| program.objects[object.index()].name.clone();
        let pool = |pool: &WorkPool| Self {
            start_routine: start(trace, pool.routine),
            threads: pool.workers.len(),
            tasks: pool.task_count(),
            queue: match &pool.queue {
                Queue::Mutexes(mutexes) => mutexes.iter().map(name).collect(),
                Queue::Tokens(semaphore) => vec![name(semaphore)],
            },
            order_known: pool.ordered,
            waits: matches!(pool.queue, Queue::Tokens(_)),
            joins: pool.joins.len(),
        };
        program.pools.iter().map(pool).collect()
    }

    /// Returns it as one line.
    pub fn text(&self) -> String {
        let queue = match self.queue.as_slice() {
            [semaphore] if self.waits => format!("waiting for {semaphore}"),
            [mutex] => format!("locking {mutex}"),
            several => format!("locking one of {} mutexes", several.len()),
        };
        let order = if self.order_known {
            ""
        } else {
            "; they come while others are done, so that their order on more CPUs is not known"
        };
        let Self {
            start_routine,
            threads,
            tasks,
            ..
        } = self;
        let joins = match self.joins {
            0 => String::new(),
            1 => "; once, who puts them there waits until all are done".to_owned(),
            times => format!("; {times} times, who puts them there waits until all are done"),
        };
        format!(
            "{threads} threads that start at {start_routine} take {tasks} tasks by {queue}{order}{joins}"
        )
    }
}

/// Warns of pools that are replayed as recorded, since not any worker can run any of their tasks.
pub fn warnings(trace: &Trace, program: &Program) -> Vec<String> {
    // A single worker has all tasks, whichever way it is replayed.
    let is_told = |group: &&NoPool| group.is_pool && group.threads > 1;
    let mut told: Vec<(String, u32)> = Vec::new();
    let mut places: HashMap<_, usize> = HashMap::new();
    for group in program.no_pools.iter().filter(is_told) {
        // Programs that make threads anew for each piece of work have many groups that are alike.
        let alike = (group.threads, group.routine, group.reason.as_str());
        match places.entry(alike) {
            Entry::Occupied(place) => told[*place.get()].1 += 1,
            Entry::Vacant(place) => {
                let text = format!(
                    "{} threads that start at {} take tasks from a queue, but are replayed as recorded, each with its own: {}",
                    group.threads,
                    start(trace, group.routine),
                    group.reason
                );
                place.insert(told.len());
                told.push((text, 1));
            }
        }
    }
    let times = |(text, times): (String, u32)| match times {
        1 => text,
        _ => format!("{times} times: {text}"),
    };
    told.into_iter().map(times).collect()
}

/// Says what was looked for where no pool can be replayed, and why it was not found.
pub fn none_found(trace: &Trace, program: &Program) -> String {
    let mut text = format!(
        "{}: holds no work pool, that is threads of one start routine that take tasks from a queue, by a lock or a \
         semaphore, with most of their work between one take and the next",
        trace.source
    );
    if program.no_pools.is_empty() {
        text += "; no two threads of it start at the same place";
    }
    for group in program.no_pools.iter().take(MOST_GROUPS) {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "; {} threads that start at {}: {}",
            group.threads,
            start(trace, group.routine),
            group.reason
        );
    }
    text
}

fn start(trace: &Trace, routine: SiteId) -> String {
    SourceMap::new(trace).routine(routine).name()
}
