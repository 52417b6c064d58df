//! The takes of a group's threads, and the tasks between them.

use std::ops::Range;

use foretrace_trace::{ObjectId, ObjectKind, Operation as Call, SiteId, ThreadId};

use super::{Join, LaidOut, Origin, Queue, Task, WorkPool, Worker, tasks};
use crate::{Action, Opener, PositionSet, lower::NONE};

/// Where tasks are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TakePoint {
    /// By locking one of these mutexes from these places, one between two barriers, holding no other lock.
    Lock(Vec<SiteId>, Vec<ObjectId>),
    /// The same where each thread locks one of its own there, and looks under those of others, from other places, when it finds nothing.
    OwnLock(SiteId, Vec<ObjectId>),
    /// By taking a token of a semaphore.
    Token(ObjectId),
    /// By taking the one token of a semaphore at one place, which is given back as a lock is.
    LockToken(ObjectId),
}

/// Knows a take point's operations when it sees them.
struct Looker<'a> {
    program: &'a LaidOut<'a>,
    semaphore: Option<ObjectId>,
    /// Whether each object is one of the mutexes, and whether each call is made from one of the places.
    is_mutex: Vec<bool>,
    from_there: Vec<bool>,
}

impl<'a> Looker<'a> {
    fn new(program: &'a LaidOut<'_>, point: &TakePoint) -> Self {
        let (semaphore, mutexes, places) = match point {
            TakePoint::Token(semaphore) | TakePoint::LockToken(semaphore) => {
                (Some(*semaphore), &[][..], &[][..])
            }
            TakePoint::Lock(places, mutexes) => (None, &mutexes[..], &places[..]),
            TakePoint::OwnLock(place, mutexes) => (None, &mutexes[..], std::slice::from_ref(place)),
        };
        let mut is_mutex = vec![false; program.objects.len()];
        for mutex in mutexes {
            is_mutex[mutex.index()] = true;
        }
        let calls = program.trace.calls.iter();
        Self {
            program,
            semaphore,
            is_mutex,
            from_there: calls
                .map(|call| call.site.is_some_and(|site| places.contains(&site)))
                .collect(),
        }
    }

    /// Returns whether others wait until an operation is done, under a mutex, or are told by a condition variable.
    fn is_awaited(&self, action: Action) -> bool {
        match action {
            Action::Wake(id) => self.program.objects[id.index()].kind == ObjectKind::Mutex,
            Action::GiveToken(id) => {
                let recorded = self.program.trace.objects.get(id.index());
                self.semaphore != Some(id)
                    && recorded.is_some_and(|object| object.kind == ObjectKind::Cond)
            }
            _ => false,
        }
    }

    /// Returns whether those who come to a barrier find nothing to take any more.
    fn is_end(&self, barrier: ObjectId) -> bool {
        let of = self.program.found_nothing.get(&barrier);
        of.is_some() && of.copied() == self.semaphore
    }

    /// Returns whether an operation takes, or finds nothing.
    fn takes(&self, position: u32, action: Action, depth: u32) -> bool {
        match action {
            Action::TakeToken(id) | Action::FindNone(id) => self.semaphore == Some(id),
            Action::Barrier(id) => self.is_end(id),
            Action::Await(gate) => {
                let opener = gate.opener(self.program.threads.len());
                matches!(opener, Opener::Once(id) if self.semaphore == Some(id))
            }
            Action::Lock(id) if depth == 0 && self.is_mutex[id.index()] => {
                let event = self.program.operations.event(position);
                let event = self.program.trace.events.get(event as usize);
                event.is_some_and(|event| self.from_there[event.call.index()])
            }
            _ => false,
        }
    }
}

/// What the takes of some threads come to.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub takes: usize,
    pub tasks: usize,
    /// The work of all tasks.
    pub task_work: u64,
    /// The work of the workers of the group, and that of their tasks.
    pub group_work: u64,
    pub group_task_work: u64,
    /// Their work before their first take, and from their last on, in each epoch.
    pub prologues: Vec<u64>,
    pub tails: Vec<u64>,
}

/// The takes of some threads.
pub(super) struct Takes {
    pub point: TakePoint,
    pub sums: Sums,
    pub workers: Vec<Worker>,
    /// All takes, as positions.
    pub taken_at: PositionSet,
    /// The same in the order of the recording, once they are put in order.
    pub in_order: Vec<u32>,
}

impl Takes {
    /// Finds the takes of a group and of the others that take at the same point.
    pub fn of(program: &LaidOut<'_>, group: &[ThreadId], point: TakePoint) -> Self {
        let looker = Looker::new(program, &point);
        let mut takes = Self {
            point,
            sums: Sums::default(),
            workers: Vec::new(),
            taken_at: PositionSet::new(program.operations.len()),
            in_order: Vec::new(),
        };
        for &thread in group {
            takes.add(&looker, thread, true);
        }
        // Those of the same routine that are not of the group are there at other times.
        let routine = |thread: ThreadId| program.trace.threads[thread.index()].start_routine;
        let own = group.first().copied().map(routine);
        for thread in (0..program.threads.len()).map(ThreadId::from_index) {
            if own != Some(routine(thread)) {
                takes.add(&looker, thread, false);
            }
        }
        takes
    }

    fn add(&mut self, looker: &Looker<'_>, thread: ThreadId, of_group: bool) {
        let program = looker.program;
        let mut worker = Walk::default();
        let left_blocked = self.left_blocked(program, thread);
        let range = program.threads[thread.index()].operations.clone();
        let mut depth = 0_u32;
        // Whether others wait for something that was done since the last take: that was a task, not what the thread does at its end.
        let mut is_awaited = false;
        // Whether it has found that nothing comes any more.
        let mut at_end = false;
        for position in range.clone() {
            worker.work += program.operations.work_nanos(position);
            let action = program.operations.action(position);
            let ends_in_task = !at_end
                && (left_blocked || is_awaited && looker.semaphore.is_some() && worker.takes > 0);
            if looker.takes(position, action, depth) || ends_in_task && position + 1 == range.end {
                if let Action::FindNone(_) = action {
                    worker.leave(position);
                } else {
                    worker.take(position);
                }
                self.taken_at.insert(position);
                is_awaited = false;
                at_end = matches!(action, Action::Await(_) | Action::Barrier(_));
            }
            is_awaited |= looker.is_awaited(action);
            match action {
                Action::Barrier(barrier) if looker.is_end(barrier) => {}
                Action::Barrier(_) => worker.end_epoch(),
                action => depth = depth_after(action, depth),
            }
        }
        worker.end_epoch();
        if worker.takes == 0 && !of_group {
            return;
        }
        let sums = &mut self.sums;
        if of_group {
            sums.group_work += worker.all_work;
            sums.group_task_work += worker.task_work;
            sums.prologues.extend(worker.prologues);
            sums.tails.extend(worker.tail_work);
        }
        sums.takes += worker.takes;
        sums.tasks += worker.tasks;
        sums.task_work += worker.task_work;
        self.workers.push(Worker {
            thread,
            tails: worker.tails,
            leaves: worker.leaves,
            origin: Origin::Recorded,
        });
    }

    /// Returns whether a thread was waiting for a task, or doing one, when its process or the recording ended.
    fn left_blocked(&self, program: &LaidOut<'_>, thread: ThreadId) -> bool {
        let TakePoint::Token(semaphore) = self.point else {
            return false;
        };
        let end = program.ends[thread.index()];
        let waits = end.last_call.and_then(Call::object) == Some(semaphore);
        waits || end.with_process && program.threads[thread.index()].created
    }

    /// Puts the takes into the order in which the recording was done with them.
    pub fn put_in_order(&mut self, program: &LaidOut<'_>) {
        // Of each thread, the take that comes next, and the event by which it was done: each later than the one before.
        let nothing = (NONE, NONE);
        let after = |position: u32, end: u32| {
            let take = self.taken_at.first_from(position);
            let take = take.filter(|&take| take < end);
            take.map_or(nothing, |take| (program.done_at(take), take))
        };
        let mut next = vec![nothing; program.threads.len()];
        for worker in &self.workers {
            let Range { start, end } = program.threads[worker.thread.index()].operations;
            next[worker.thread.index()] = after(start, end);
        }
        let calls = program.trace.calls.iter();
        let threads: Vec<u32> = calls.map(|call| call.thread.0).collect();
        let mut in_order = Vec::with_capacity(self.sums.takes);
        for (index, event) in (0..).zip(&program.trace.events) {
            let thread = threads[event.call.index()] as usize;
            while next[thread].0 <= index {
                let (_, take) = next[thread];
                if !matches!(program.operations.action(take), Action::FindNone(_)) {
                    in_order.push(take);
                }
                next[thread] = after(take + 1, program.threads[thread].operations.end);
            }
        }
        self.in_order = in_order;
    }

    /// Returns the tasks between takes that are put in order.
    pub fn tasks(&self, program: &LaidOut<'_>) -> impl Iterator<Item = Task> {
        tasks(program.threads, &self.workers, &self.in_order)
    }

    /// Returns what follows a take that begins a task, until the next one, with its positions.
    pub fn after<'a>(
        &self,
        program: &LaidOut<'a>,
        take: u32,
    ) -> impl Iterator<Item = (u32, Action)> + use<'a> {
        let end = self.taken_at.first_from(take + 1).unwrap_or(take);
        let operations = program.operations;
        (take + 1..end).map(|position| (position, operations.action(position)))
    }

    /// Returns which operation puts into the queue what which of the takes gets, in the order of the first, where several threads put something there: what is
    /// put there first is taken first.
    pub fn puts(&self, program: &LaidOut<'_>) -> Vec<(u32, u32)> {
        let TakePoint::Token(semaphore) = self.point else {
            return Vec::new();
        };
        let mut puts = Vec::new();
        let mut putters = 0;
        for thread in 0..program.threads.len() {
            let before = puts.len();
            let own = program.operations_of(ThreadId::from_index(thread));
            let own = own.filter(|(_, put)| put.action == Action::GiveToken(semaphore));
            puts.extend(own.map(|(position, put)| (put.event, position)));
            putters += usize::from(puts.len() > before);
        }
        let takes = self.in_order.iter().copied();
        let mut takes =
            takes.filter(|&take| program.operations.action(take) == Action::TakeToken(semaphore));
        let initial = program.objects[semaphore.index()].initial.unwrap_or(0);
        let of_initial = takes.by_ref().take(initial as usize).count();
        if putters < 2 || of_initial > 0 {
            return Vec::new();
        }
        puts.sort_unstable();
        let mut puts: Vec<(u32, u32)> = puts.into_iter().map(|(_, put)| put).zip(takes).collect();
        puts.sort_unstable();
        puts
    }

    pub fn into_pool(
        self,
        routine: SiteId,
        (joins, puts): (Vec<Join>, Vec<(u32, u32)>),
        ordered: bool,
    ) -> WorkPool {
        WorkPool {
            routine,
            workers: self.workers,
            queue: match self.point {
                TakePoint::Lock(_, mutexes) | TakePoint::OwnLock(_, mutexes) => {
                    Queue::Mutexes(mutexes)
                }
                TakePoint::LockToken(lock) => Queue::Mutexes(vec![lock]),
                TakePoint::Token(semaphore) => Queue::Tokens(semaphore),
            },
            takes: self.in_order,
            taken_at: self.taken_at,
            puts,
            joins,
            ordered,
        }
    }
}

/// Returns how many locks are held after an action.
pub(super) fn depth_after(action: Action, depth: u32) -> u32 {
    match action {
        Action::Lock(_) | Action::ReadLock(_) | Action::WriteLock(_) => depth + 1,
        Action::Unlock(_) | Action::RwUnlock(_) => depth.saturating_sub(1),
        _ => depth,
    }
}

/// One thread, from its first operation to its last.
#[derive(Default)]
struct Walk {
    takes: usize,
    tasks: usize,
    task_work: u64,
    tails: Vec<Option<u32>>,
    /// The work so far since the last take, or since the epoch began.
    work: u64,
    all_work: u64,
    prologues: Vec<u64>,
    tail_work: Vec<u64>,
    /// The last take of this epoch.
    last: Option<u32>,
    leaves: Vec<u32>,
}

impl Walk {
    /// Takes at a position.
    fn take(&mut self, position: u32) {
        let work = std::mem::take(&mut self.work);
        self.all_work += work;
        self.takes += 1;
        if self.last.replace(position).is_none() {
            self.prologues.push(work);
            return;
        }
        self.tasks += 1;
        self.task_work += work;
    }

    /// Finds no task at a position, and goes on with something else.
    fn leave(&mut self, position: u32) {
        let work = std::mem::take(&mut self.work);
        self.all_work += work;
        self.leaves.push(position);
        if self.last.take().is_some() {
            self.tasks += 1;
            self.task_work += work;
        }
    }

    fn end_epoch(&mut self) {
        let work = std::mem::take(&mut self.work);
        self.all_work += work;
        if self.last.is_some() {
            self.tail_work.push(work);
        }
        self.tails.push(self.last.take());
    }
}
