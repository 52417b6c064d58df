//! The takes of a group's threads, and the segments between them.

use foretrace_trace::{ObjectId, Operation as Call, SiteId, ThreadId};

use super::{Cut, LaidOut, Origin, Queue, Segment, WorkPool, Worker};
use crate::{Action, Operation};

/// Where tasks are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TakePoint {
    /// By locking one of these mutexes from one place, holding no other lock.
    Lock(SiteId, Vec<ObjectId>),
    /// By taking a token of a semaphore.
    Token(ObjectId),
}

impl TakePoint {
    /// Returns whether an operation takes.
    fn takes(&self, program: &LaidOut<'_>, operation: &Operation, depth: u32) -> bool {
        match (self, operation.action) {
            (Self::Token(semaphore), Action::TakeToken(id)) => id == *semaphore,
            (Self::Lock(place, mutexes), Action::Lock(id)) => {
                depth == 0 && mutexes.contains(&id) && program.site(operation) == Some(*place)
            }
            _ => false,
        }
    }
}

/// What the takes of some threads come to.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub cuts: usize,
    pub segments: usize,
    /// The work of all segments.
    pub segment_work: u64,
    /// The work of the workers of the group, and that of their segments.
    pub group_work: u64,
    pub group_segment_work: u64,
    /// Their work before their first take, and from their last on, in each epoch.
    pub prologues: Vec<u64>,
    pub tails: Vec<u64>,
}

/// The takes of some threads.
pub(super) struct Takes {
    pub point: TakePoint,
    pub sums: Sums,
    pub workers: Vec<Worker>,
    pub cuts: Vec<Cut>,
    pub segments: Vec<Segment>,
    /// All takes as positions, in the order of the recording; when they are sorted.
    pub ranks: Vec<u32>,
}

impl Takes {
    /// Adds up the takes of a group and of the others that take at the same point. Most points turn out to be no pool's, and
    /// there may be millions of takes, so that these are not kept.
    pub fn add_up(program: &LaidOut<'_>, group: &[ThreadId], point: TakePoint) -> Self {
        Self::walk(program, group, point, None)
    }

    /// Collects what was added up, thread by thread.
    pub fn collect(self, program: &LaidOut<'_>, group: &[ThreadId]) -> Self {
        Self::walk(program, group, self.point, Some(self.sums))
    }

    fn walk(
        program: &LaidOut<'_>,
        group: &[ThreadId],
        point: TakePoint,
        kept: Option<Sums>,
    ) -> Self {
        let keeps = kept.is_some();
        let room = kept.unwrap_or_default();
        let mut takes = Self {
            point,
            sums: Sums::default(),
            workers: Vec::new(),
            cuts: Vec::with_capacity(room.cuts),
            segments: Vec::with_capacity(room.segments),
            ranks: Vec::new(),
        };
        for &thread in group {
            takes.add(program, thread, (true, keeps));
        }
        // Those of the same routine that are not of the group are there at other times.
        let routine = |thread: ThreadId| program.trace.threads[thread.index()].start_routine;
        let own = group.first().copied().map(routine);
        for thread in (0..program.threads.len()).map(ThreadId::from_index) {
            if own != Some(routine(thread)) {
                takes.add(program, thread, (false, keeps));
            }
        }
        takes
    }

    fn add(&mut self, program: &LaidOut<'_>, thread: ThreadId, (of_group, keeps): (bool, bool)) {
        let mut worker = Walk::default();
        let left_blocked = self.left_blocked(program, thread);
        let end = program.threads[thread.index()].operations.end;
        let mut depth = 0_u32;
        for (position, operation) in program.operations_of(thread) {
            worker.work += operation.work_nanos;
            let takes = self.point.takes(program, &operation, depth);
            if takes || left_blocked && position + 1 == end {
                let segment = worker.cut(position);
                if keeps {
                    self.cuts.push(Cut {
                        operation: position,
                        epoch: worker.epoch(),
                    });
                    self.segments.extend(segment);
                }
            }
            match operation.action {
                Action::Barrier(_) => worker.end_epoch(),
                action => depth = depth_after(action, depth),
            }
        }
        worker.end_epoch();
        if worker.cuts == 0 && !of_group {
            return;
        }
        let sums = &mut self.sums;
        if of_group {
            sums.group_work += worker.all_work;
            sums.group_segment_work += worker.segment_work;
            sums.prologues.extend(worker.prologues);
            sums.tails.extend(worker.tail_work);
        }
        sums.cuts += worker.cuts;
        sums.segments += worker.segments;
        sums.segment_work += worker.segment_work;
        self.workers.push(Worker {
            thread,
            tails: worker.tails,
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

    /// Puts the takes into the order of their positions, and the segments into that in which the recording took them.
    pub fn sort(&mut self, program: &LaidOut<'_>) {
        self.cuts.sort_unstable_by_key(|cut| cut.operation);
        let done = |position: u32| (program.done_at(position), position);
        let mut order: Vec<(u32, u32)> = self.cuts.iter().map(|cut| done(cut.operation)).collect();
        order.sort_unstable();
        for segment in &mut self.segments {
            let place = order.binary_search(&done(segment.cut));
            segment.rank = place.unwrap_or(0) as u32;
        }
        self.segments.sort_unstable_by_key(|segment| segment.rank);
        self.ranks = order.into_iter().map(|(_, position)| position).collect();
    }

    pub fn into_pool(self, routine: SiteId, ordered: bool) -> WorkPool {
        WorkPool {
            routine,
            workers: self.workers,
            queue: match self.point {
                TakePoint::Lock(_, mutexes) => Queue::Mutexes(mutexes),
                TakePoint::Token(semaphore) => Queue::Tokens(semaphore),
            },
            cuts: self.cuts,
            segments: self.segments,
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
    cuts: usize,
    segments: usize,
    segment_work: u64,
    tails: Vec<Option<u32>>,
    /// The work so far since the last cut, or since the epoch began.
    work: u64,
    all_work: u64,
    prologues: Vec<u64>,
    tail_work: Vec<u64>,
    /// The last cut of this epoch.
    last: Option<u32>,
}

impl Walk {
    fn epoch(&self) -> u32 {
        self.tails.len() as u32
    }

    /// Takes at a position; returns the segment that ends there.
    fn cut(&mut self, position: u32) -> Option<Segment> {
        let work = std::mem::take(&mut self.work);
        self.all_work += work;
        self.cuts += 1;
        let Some(cut) = self.last.replace(position) else {
            self.prologues.push(work);
            return None;
        };
        self.segments += 1;
        self.segment_work += work;
        Some(Segment {
            cut,
            epoch: self.epoch(),
            work_nanos: work,
            rank: 0,
        })
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
