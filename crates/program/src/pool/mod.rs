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
mod resize;
mod safety;

use foretrace_trace::{Object, ObjectId, Operation as Call, SiteId, ThreadId, Trace};

use crate::{Operation, Operations, Thread, ends::End, events::Following, lower::NONE};

/// Threads that take tasks from a shared queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkPool {
    /// Where the threads start.
    pub routine: SiteId,
    /// The threads that take tasks.
    pub workers: Vec<Worker>,
    /// What guards the queue.
    pub queue: Queue,
    /// The operations at which workers take tasks, by position.
    pub cuts: Vec<Cut>,
    /// The segments that any worker can run, in the order in which the recording took them.
    pub segments: Vec<Segment>,
    /// Whether the order of the tasks is known: all were there before the first was taken.
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

/// An operation at which a worker takes a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its position in [`Program::operations`](crate::Program::operations).
    pub operation: u32,
    /// How many barriers its thread had passed.
    pub epoch: u32,
}

/// What a worker does from one take to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The take that it begins with, as a position in [`Program::operations`](crate::Program::operations).
    pub cut: u32,
    /// How many barriers its thread had passed.
    pub epoch: u32,
    /// Its work, in nanoseconds.
    pub work_nanos: u64,
    /// How many takes, also of those that found nothing, were before it in the recording.
    pub rank: u32,
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
    /// Semaphores whose recorded waits outnumber their tokens.
    pub short: &'a [ObjectId],
}

impl LaidOut<'_> {
    /// Returns where an operation was called from.
    pub fn site(&self, operation: &Operation) -> Option<SiteId> {
        let event = self.trace.events.get(operation.event as usize)?;
        self.trace.call(event).site
    }

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
        let no = |is_pool: bool, reason: String| NoPool {
            routine: group.routine,
            threads: group.threads.len() as u32,
            is_pool,
            reason,
        };
        match candidates::take_points(program, &group) {
            // A single thread is mostly alone with what it does.
            Err(_) if group.threads.len() < 2 => {}
            Err(reason) => found.others.push(no(false, reason)),
            Ok(take) => match safety::check(program, &take) {
                Err(reason) => found.others.push(no(true, reason)),
                Ok(ordered) => found.pools.push(take.into_pool(group.routine, ordered)),
            },
        }
    }
    found
}
