//! Work pools: threads of one start routine that take tasks from a shared queue.
//!
//! A recording freezes who took which task, and on one CPU one worker may have taken nearly all. So a pool's tasks are
//! found as *segments*, from one take to the next, which any worker can run in a replay. What a worker does before its
//! first take and from its last one on stays with it. The same holds between two barriers that all workers wait at.
//!
//! # Source
//!
//! `docs/models.md`, "Pool".

mod candidates;
mod cuts;
mod groups;
mod joins;
mod looking;
mod resize;
mod safety;

pub use joins::Join;

use std::{collections::BTreeMap, ops::Range};

use foretrace_trace::{Object, ObjectId, Operation as Call, SiteId, ThreadId, Trace};

use crate::{
    Operation, Operations, PositionSet, Program, Structure, Thread, ends::End, events::Following,
    links::Links, lower::NONE, self_scheduled::DealtOut,
};

/// Threads that take tasks from a shared queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkPool {
    /// Where the threads start.
    pub routine: SiteId,
    /// The threads that take tasks.
    pub workers: Vec<Worker>,
    /// What guards the queue.
    pub queue: Queue,
    /// The operations at which the recorded workers take tasks, as positions in
    /// [`Program::operations`](crate::Program::operations), in the order in which the recording did. What follows until the same
    /// thread's next take is a segment that any worker can run, but for the last take before each barrier.
    pub takes: Vec<u32>,
    /// The operations at which any worker takes, those that were added, too.
    pub taken_at: PositionSet,
    /// Which operation puts there what which of the takes gets, where several threads put tasks into the queue: both as positions in
    /// [`Program::operations`](crate::Program::operations), in the order of the first. Nothing where one does, whose order is always the same.
    pub puts: Vec<(u32, u32)>,
    /// Where the thread that puts the tasks there waits until they are done, though it did not have to in the recording; in order.
    pub joins: Vec<Join>,
    /// Whether the order of the tasks is known: all were there before the first was taken, or some wait for what those before them do.
    pub ordered: bool,
}

/// What guards the queue of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Mutexes, all tasks being there from the beginning.
    Mutexes(Vec<ObjectId>),
    /// A semaphore, perhaps one made of a condition variable: each token is a task.
    Tokens(ObjectId),
}

/// A thread of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The thread.
    pub thread: ThreadId,
    /// Its last take before each barrier, as a position in [`Program::operations`](crate::Program::operations), where it
    /// has one: what it does when no tasks are left.
    pub tails: Vec<Option<u32>>,
    /// Where one that helps the others finds no task and goes on with something else, in order, as positions in
    /// [`Program::operations`](crate::Program::operations); nothing for the others.
    pub leaves: Vec<u32>,
    /// Whether it was recorded.
    pub origin: Origin,
}

/// Where a worker comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was recorded.
    Recorded,
    /// It was recorded, and is left out: it ends at once.
    LeftOut,
    /// It was added beside this recorded thread.
    Added(ThreadId),
}

/// What a worker does from one take to the next before the same barrier: any worker can do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The take that it begins with, as a position in [`Program::operations`](crate::Program::operations).
    pub take: u32,
    /// How many barriers its thread had passed.
    pub epoch: u32,
    /// How many takes, also of those that found nothing, were before it in the recording.
    pub rank: u32,
}

impl WorkPool {
    /// Returns the tasks, in the order in which the recording took them.
    pub fn tasks(&self, program: &Program) -> impl Iterator<Item = Task> {
        tasks(&program.threads, &self.workers, &self.takes)
    }

    /// Returns how many tasks there are.
    pub fn task_count(&self) -> usize {
        let recorded = self.workers.iter().filter(|worker| worker.is_recorded());
        let tails: usize = recorded
            .map(|worker| worker.tails.iter().flatten().count())
            .sum();
        self.takes.len() - tails
    }

    /// Returns the work of each task, in nanoseconds, in the order in which the recording took them.
    pub fn task_work(&self, program: &Program) -> impl Iterator<Item = u64> {
        let tasks = self.tasks(program);
        tasks.map(|task| self.work_of(program, task.take))
    }

    /// Returns the thread that waits for tasks that it put into the queue.
    pub fn putter(&self, program: &Program) -> Option<ThreadId> {
        let first = self.joins.first()?.after;
        let mut threads = program.threads.iter();
        let place = threads.position(|thread| thread.operations.contains(&first))?;
        Some(ThreadId::from_index(place))
    }

    /// Returns the work of the task that begins with a take, in nanoseconds.
    pub fn work_of(&self, program: &Program, take: u32) -> u64 {
        let end = self.taken_at.first_from(take + 1).unwrap_or(take);
        (take + 1..=end)
            .map(|position| program.operations.work_nanos(position))
            .sum()
    }
}

impl Worker {
    fn is_recorded(&self) -> bool {
        !matches!(self.origin, Origin::Added(_))
    }
}

/// Returns those of some takes, in the order of the recording, that begin a task: all but each worker's last ones before a barrier.
fn tasks(threads: &[Thread], workers: &[Worker], takes: &[u32]) -> impl Iterator<Item = Task> {
    // Where each worker's operations begin, also those of one that is left out, and the epoch that it is in.
    let start = |thread: ThreadId| match thread.index() {
        0 => 0,
        index => threads[index - 1].operations.end,
    };
    let recorded = workers.iter().filter(|worker| worker.is_recorded());
    let mut owners: Vec<(Range<u32>, usize, &Worker)> = recorded
        .map(|worker| {
            let end = threads[worker.thread.index()].operations.end;
            (start(worker.thread)..end, 0, worker)
        })
        .collect();
    owners.sort_unstable_by_key(|(range, ..)| range.start);
    let mut owner = 0;
    (0..).zip(takes).filter_map(move |(rank, &take)| {
        // On one CPU one worker takes many tasks before another does.
        if !owners[owner].0.contains(&take) {
            owner = owners.partition_point(|(range, ..)| range.end <= take);
        }
        let (_, epoch, worker) = &mut owners[owner];
        while *epoch + 1 < worker.tails.len() && worker.tails[*epoch].is_none() {
            *epoch += 1;
        }
        let task = Task {
            take,
            epoch: *epoch as u32,
            rank,
        };
        if worker.tails[*epoch] == Some(take) {
            *epoch += 1;
            return None;
        }
        Some(task)
    })
}

/// Threads that were looked at, and are not replayed as a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPool {
    /// Where the threads start.
    pub routine: SiteId,
    /// How many there are.
    pub threads: u32,
    /// Whether they are a pool, which cannot be replayed as one.
    pub is_pool: bool,
    /// Why not.
    pub reason: String,
}

/// What was found about all groups of threads.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pub pools: Vec<WorkPool>,
    pub others: Vec<NoPool>,
}

/// A program under construction, as far as it is laid out.
pub(crate) struct LaidOut<'a> {
    pub trace: &'a Trace,
    /// The next event of the same thread.
    pub next: &'a Following,
    /// How each thread ended.
    pub ends: Vec<End>,
    pub threads: &'a [Thread],
    pub objects: &'a [Object],
    pub operations: &'a Operations,
    /// The releases that each acquisition waited for.
    pub requirements: &'a Links,
    /// Semaphores whose recorded waits outnumber their tokens.
    pub short: &'a [ObjectId],
    /// The barriers at which threads find that nothing is left, and nobody who might put something there, each with what they take from.
    pub found_nothing: &'a BTreeMap<ObjectId, ObjectId>,
    /// What condition variables were found to be.
    pub structures: &'a [Structure],
    /// What threads share out by themselves.
    pub dealt_out: &'a DealtOut,
}

impl LaidOut<'_> {
    /// Returns the operations of a thread, with their positions.
    pub fn operations_of(&self, thread: ThreadId) -> impl Iterator<Item = (u32, Operation)> {
        let range = self.threads[thread.index()].operations.clone();
        range.map(|position| (position, self.operations.get(position)))
    }

    /// Returns the event by which a take was done: its call, or the return where that had to wait.
    pub fn done_at(&self, position: u32) -> u32 {
        let take = self.operations.get(position);
        // What is taken within a section is there when its lock is held, which is the operation after it then.
        let next = position + 1;
        let lock = ((next as usize) < self.operations.len()).then(|| self.operations.get(next));
        let lock = lock.filter(|lock| lock.event == take.event);
        let waited = take.waited || lock.is_some_and(|lock| lock.waited);
        let event = take.event as usize;
        let is_return = self
            .trace
            .events
            .get(event)
            .is_some_and(|event| self.trace.call(event).operation == Call::Return);
        match self.next.after(event) {
            next if waited && !is_return && next != NONE => next,
            _ => take.event,
        }
    }
}

/// Looks at all threads that start at the same place.
pub(crate) fn find(program: &LaidOut<'_>) -> Pools {
    let mut found = Pools::default();
    for group in groups::groups(program) {
        find_in(program, group, &mut found);
    }
    found
}

/// Finds the pools of a group: threads that take from different queues may start at the same place, as all of C++ do.
fn find_in(program: &LaidOut<'_>, mut group: groups::Group, found: &mut Pools) {
    let mut is_first = true;
    while !group.threads.is_empty() {
        let routine = group.routine;
        let no = |is_pool: bool, threads: usize, reason: String| NoPool {
            routine,
            threads: threads as u32,
            is_pool,
            reason,
        };
        let all = group.threads.len();
        let take = match candidates::take_points(program, &group) {
            Ok(take) => take,
            // A single thread is mostly alone with what it does.
            Err(reason) if is_first && all >= 2 => {
                found.others.push(no(false, all, reason));
                return;
            }
            Err(_) => return,
        };
        let is_worker = |thread: &ThreadId| {
            let mut workers = take.workers.iter();
            workers.any(|worker| worker.thread == *thread)
        };
        let (workers, others): (Vec<_>, Vec<_>) = group.threads.into_iter().partition(is_worker);
        if workers.is_empty() {
            return;
        }
        let threads = take.workers.iter();
        let threads = threads.map(|worker| &program.threads[worker.thread.index()]);
        match safety::check(program, &take) {
            Ok(_) if program.dealt_out.is_most_of(threads, program.operations) => {
                let reason = "most of what they do they share out without it".to_owned();
                found.others.push(no(false, workers.len(), reason));
            }
            Err(reason) => found.others.push(no(true, workers.len(), reason)),
            Ok(ordered) => {
                let joins = joins::find(program, &take);
                let puts = take.puts(program);
                found
                    .pools
                    .push(take.into_pool(routine, (joins, puts), ordered));
            }
        }
        is_first = false;
        group.threads = others;
    }
}

/// Returns the one in the middle, of an even number the lower; 0 of none.
fn median(values: &[u64]) -> u64 {
    let mut values = values.to_vec();
    let middle = values.len().saturating_sub(1) / 2;
    if values.is_empty() {
        return 0;
    }
    *values.select_nth_unstable(middle).1
}
