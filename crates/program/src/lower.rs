//! The sweep over a trace's events, and the layout of what it finds.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use foretrace_trace::{
    Object, ObjectId, ObjectKind, Operation as Call, Outcome, Returns, ThreadId, Trace,
};

use crate::{
    Action, Delay, Due, Operation, Operations, Program, Structure,
    asked::Asked,
    deadlines::Deadlines,
    deaths::{self, LeftLocked},
    ends::{self, End},
    events::{EventSet, Following, Sweep},
    futex_locks::FutexLocks,
    held::Awaited,
    idle::Busy,
    matching::{
        ConditionLog, DoacrossLog, Edges, FutexLog, MutexLog, OpRef, RendezvousLog, RwlockLog,
        SemaphoreLog,
    },
    periods::Periods,
    pipes::Pipes,
    plain::PlainCalls,
    retries::Retries,
    sections,
    sleeps::Sleeps,
    spins::Spins,
    structure::{self, Roles},
    teams::{self, SharedOut},
    tries::Tries,
    work::Work,
};

/// Lowers a trace to a program, with the work pools that it holds where they are asked for.
pub(crate) fn lower(trace: &Trace, with_pools: bool) -> Program {
    let Some(dealt_out) = teams::deal_out(trace) else {
        return lower_events(trace, with_pools);
    };
    let mut program = lower_events(&dealt_out.trace, with_pools);
    program.operations.set_events(&dealt_out.recorded);
    program
}

fn lower_events(trace: &Trace, with_pools: bool) -> Program {
    let mut lowering = Lowering::new(trace);
    lowering.wait_for_ends_found();
    lowering.follow();
    for index in 0..trace.events.len() {
        lowering.event(index);
    }
    lowering.end();
    lowering.finish(with_pools)
}

/// No thread needs more CPU time to fall asleep and to wake up, in nanoseconds: who used more in a wait for its team spun. 14 us were
/// measured on a virtual machine, and 15 to 18 where others used its CPU meanwhile.
pub(crate) const WAKING_UP: u64 = 25_000;

/// Stands for "no event follows".
pub(crate) const NONE: u32 = u32::MAX;

/// A program under construction.
pub(crate) struct Lowering<'t> {
    pub trace: &'t Trace,
    pub work: Work,
    pub plain_calls: PlainCalls,
    /// What of it is others' than recorded.
    pub shared_out: SharedOut,
    pub busy: Busy,
    /// The CPU time of each thread since its last operation that lies before returns: going to sleep and waking up in
    /// a blocking call. It is work before the next operation.
    pub carried: Vec<u64>,
    /// The CPU time for which each thread looked again and again whether it had to wait, in the wait that it is in.
    pub looked: Vec<u64>,
    /// The event before which each thread's events are part of a wait that began already.
    pub resumes_at: Vec<u32>,
    /// The next event of the same thread.
    pub next: Rc<Following>,
    /// The events whose thread's next event is a return.
    pub is_answered: EventSet,
    /// How each thread ended.
    pub ends: Vec<End>,
    /// The mutexes that its end gave up.
    pub left_locked: LeftLocked,
    pub futex_locks: FutexLocks,
    /// The operations of each thread so far.
    pub lists: Vec<Operations>,
    pub edges: Edges,
    /// The call of each thread of which it is not known yet whether it came back.
    pub open: Vec<Option<Open>>,
    /// The one-time initializations that each thread is running, innermost last.
    pub running_once: Vec<Vec<ObjectId>>,
    pub logs: Vec<ObjectLog>,
    pub rendezvous: BTreeMap<(ThreadId, ObjectId), RendezvousLog>,
    /// The one-time initializations that some thread was seen to run.
    pub initialized: BTreeSet<ObjectId>,
    /// How many threads arrived at each barrier.
    pub arrivals: BTreeMap<ObjectId, u32>,
    pub created: BTreeSet<ThreadId>,
    pub cancelled: BTreeSet<ThreadId>,
    /// The mutexes of which a warning told already that a release is missing.
    pub contradicted: BTreeSet<ObjectId>,
    /// Threads that nobody was seen to start.
    pub late_comers: Vec<u32>,
    /// Threads that were still blocked at the end, by call.
    pub left_blocked: BTreeMap<&'static str, Vec<u32>>,
    pub delays: Vec<Delay>,
    pub warnings: Vec<String>,
    /// The ends of sections that others wait for by polling, by event.
    pub section_ends: BTreeMap<u32, OpRef>,
    /// Tries by which a thread got a lock after it had failed to.
    pub tries: Tries,
    /// Those that wait for them, with the event of the end.
    pub polls: Vec<(OpRef, u32)>,
    /// How many sections that were counted are lowered to one.
    pub sections_as_one: u64,
    /// Waits whose time ran out.
    pub retries: Retries,
    /// Until when they were to last, where that is recorded.
    pub deadlines: Deadlines,
    /// For how long they were asked to wait.
    pub asked: Asked,
    /// Waits by sleeping.
    pub sleeps: Sleeps,
    /// Waits by spinning.
    pub spins: Spins,
    /// The condition variables that somebody waits for.
    pub awaited: Awaited,
    /// Sleeps of periodic threads.
    pub periods: Periods,
    /// What went through pipes.
    pub pipes: Pipes,
    /// Tokens that each thread takes by the section that it is about to begin: known to be granted at its next event.
    pub taking: Vec<Vec<(ObjectId, OpRef)>>,
    /// What condition variables were found to be.
    pub structures: Vec<Structure>,
    /// What becomes of their events.
    pub roles: Roles,
    /// The barriers at which threads find that nothing is left, and nobody who might put something there, each with what they take from.
    pub found_nothing: BTreeMap<ObjectId, ObjectId>,
    /// The threads that take from semaphores without ever waiting for that.
    pub helpers: BTreeSet<(ObjectId, ThreadId)>,
    /// The lightswitches, each with the semaphore or mutex that its first takes.
    pub lightswitches: BTreeMap<ObjectId, ObjectId>,
    /// The trace's objects, with those condition variables changed into what they are.
    pub objects: Vec<Object>,
}

/// A call that blocked, or may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub operation: OpRef,
    pub kind: OpenKind,
}

/// What there is to log when an open call is found to have come back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OpenKind {
    /// The mutex is acquired.
    Lock(ObjectId),
    /// The mutex that a timed-out or cancelled wait gave up is acquired again, as deep as it was.
    Relock(ObjectId, u32),
    /// The naps are over; the mutex that they gave up is still to be acquired, as deep as it was.
    Nap(ObjectId, u32),
    /// The wait on the condition is over and its mutex held again, as deep as it was.
    Condition {
        cond: ObjectId,
        mutex: ObjectId,
        depth: u32,
    },
    /// A token was taken.
    Token(ObjectId),
    /// The lock is held for reading.
    Read(ObjectId),
    /// The lock is held for writing.
    Write(ObjectId),
    /// A futex's waiter was woken.
    Futex(ObjectId),
    /// The iteration of the loops was done.
    Doacross(ObjectId, u64),
    /// A process was activated.
    Wait(ThreadId, ObjectId),
    /// The generation that this arrival, counted from 1, belongs to was complete.
    Barrier(ObjectId, u32),
    /// Nothing.
    Other,
}

/// What happened to one object so far.
#[derive(Debug)]
pub(crate) enum ObjectLog {
    Mutex(MutexLog),
    Condition(ConditionLog),
    Semaphore(SemaphoreLog),
    Rwlock(RwlockLog),
    Futex(FutexLog),
    Doacross(DoacrossLog),
    Other,
}

impl ObjectLog {
    pub fn mutex(&mut self) -> &mut MutexLog {
        match self {
            Self::Mutex(log) => log,
            other => unreachable!("a valid trace locks mutexes only, not {other:?}"),
        }
    }

    pub fn condition(&mut self) -> &mut ConditionLog {
        match self {
            Self::Condition(log) => log,
            other => unreachable!("a valid trace signals conditions only, not {other:?}"),
        }
    }

    pub fn semaphore(&mut self) -> &mut SemaphoreLog {
        match self {
            Self::Semaphore(log) => log,
            other => unreachable!("a valid trace posts semaphores only, not {other:?}"),
        }
    }

    pub fn futex(&mut self) -> &mut FutexLog {
        match self {
            Self::Futex(log) => log,
            other => unreachable!("a valid trace wakes waiters of futexes only, not {other:?}"),
        }
    }

    pub fn doacross(&mut self) -> &mut DoacrossLog {
        match self {
            Self::Doacross(log) => log,
            other => unreachable!("a valid trace posts iterations of loops only, not {other:?}"),
        }
    }

    pub fn rwlock(&mut self) -> &mut RwlockLog {
        match self {
            Self::Rwlock(log) => log,
            other => {
                unreachable!("a valid trace read-locks readers-writer locks only, not {other:?}")
            }
        }
    }
}

impl<'t> Lowering<'t> {
    fn new(trace: &'t Trace) -> Self {
        let threads = trace.threads.len();
        let sweep = Sweep::new(trace);
        let (mut structures, plan) = structure::recognize(trace, &sweep);
        let mut objects = plan.objects(&trace.objects);
        let futex_locks = FutexLocks::of(trace, &sweep.next, (&mut objects, &mut structures));
        let logs = objects.iter().map(|object| match object.kind {
            _ if object.is_ordered() => ObjectLog::Doacross(DoacrossLog::default()),
            ObjectKind::Mutex | ObjectKind::Spin => ObjectLog::Mutex(MutexLog::default()),
            ObjectKind::Cond => ObjectLog::Condition(ConditionLog::default()),
            ObjectKind::Semaphore | ObjectKind::Queue | ObjectKind::Pipe => {
                ObjectLog::Semaphore(SemaphoreLog::with_tokens(object.initial.unwrap_or(0)))
            }
            ObjectKind::Rwlock => ObjectLog::Rwlock(RwlockLog::default()),
            ObjectKind::Futex => ObjectLog::Futex(FutexLog::default()),
            ObjectKind::Doacross => ObjectLog::Doacross(DoacrossLog::default()),
            ObjectKind::Event | ObjectKind::Barrier | ObjectKind::Once => ObjectLog::Other,
        });
        let Sweep {
            next,
            is_answered,
            per_thread,
            times,
        } = sweep;
        let calls = || {
            trace
                .calls
                .iter()
                .zip(&times)
                .filter(|(_, times)| **times > 0)
        };
        let calls = || calls().map(|(call, _)| call);
        let created = calls().filter_map(|call| match call.operation {
            Call::Create(child) if !matches!(call.outcome, Outcome::Failed(_)) => Some(child),
            _ => None,
        });
        let cancelled = calls().filter_map(|call| match call.operation {
            Call::Cancel(victim) => Some(victim),
            _ => None,
        });
        let busy = Busy::of(trace, &next);
        let found_nothing = plan.ends();
        let helpers = plan.helpers();
        let lightswitches = plan.lightswitches();
        let roles = plan.into_roles();
        let awaited = Awaited::of(trace);
        let deadlines = Deadlines::of(trace);
        Self {
            trace,
            spins: Spins::of(trace, &busy, (&roles, &awaited)),
            awaited,
            busy,
            periods: Periods::of(trace, &deadlines),
            deadlines,
            pipes: Pipes::of(trace, &next),
            sections_as_one: sections::as_one(trace),
            retries: Retries::of(trace, &next, &is_answered),
            asked: Asked::of(trace, &next, &is_answered),
            work: Work::new(trace),
            plain_calls: PlainCalls::of(trace),
            shared_out: SharedOut::of(trace),
            ends: ends::ends(trace, &next),
            futex_locks,
            left_locked: deaths::left_locked(trace, &next, &is_answered),
            carried: vec![0; threads],
            looked: vec![0; threads],
            resumes_at: vec![0; threads],
            next,
            is_answered,
            lists: per_thread
                .into_iter()
                .map(|events| Operations::with_capacity(events as usize))
                .collect(),
            edges: Edges::none(threads),
            open: vec![None; threads],
            running_once: vec![Vec::new(); threads],
            logs: logs.collect(),
            rendezvous: BTreeMap::new(),
            initialized: BTreeSet::new(),
            arrivals: BTreeMap::new(),
            created: created.collect(),
            cancelled: cancelled.collect(),
            contradicted: BTreeSet::new(),
            late_comers: Vec::new(),
            left_blocked: BTreeMap::new(),
            delays: Vec::new(),
            warnings: Vec::new(),
            section_ends: BTreeMap::new(),
            tries: Tries::default(),
            polls: Vec::new(),
            sleeps: Sleeps::default(),
            taking: vec![Vec::new(); threads],
            structures,
            found_nothing,
            helpers,
            lightswitches,
            roles,
            objects,
        }
    }

    fn event(&mut self, index: usize) {
        self.work.go_on(self.trace, index);
        if let Some(nanos) = self.shared_out.before(index) {
            self.work.set_left(nanos);
        }
        let event = &self.trace.events[index];
        let call = self.trace.call(event);
        let thread = call.thread.0;
        if let Some(plain) = self.plain_calls.get(event.call)
            && self.is_plain(index, thread)
        {
            self.plain(index, thread, plain);
            self.give_up_by_end(index, thread);
            return;
        }
        let call = *call;
        if (index as u32) < self.resumes_at[thread as usize] {
            if self.sleeps.are_awaited() {
                self.pass_over(index);
            }
            let worked = self.spins.without_looks(thread, self.work.left());
            let worked = worked + self.lingered_among_tries(call);
            match self.open[thread as usize] {
                Some(open) if self.works_in_wait(open) => self.work_before(open.operation, worked),
                _ => self.carried[thread as usize] += worked,
            }
            return;
        }
        if self.lists[thread as usize].is_empty() {
            self.delay_late_comer(index, thread);
        }
        let open = self.open[thread as usize].take();
        let rouses_at = self.waited_for_team(call.operation, open);
        if rouses_at.is_some() && (self.work.left() > WAKING_UP || call.operation != Call::Return) {
            self.work.set_left(0);
        }
        if let Some(open) = open {
            let is_back = call.operation != Call::Terminate
                || self.can_have_come_back(open)
                || self.has_anothers_token(open);
            if is_back {
                self.came_back(open);
            } else {
                self.never_came_back(open);
            }
        }
        self.log_taken(thread);
        if self.sleeps.are_awaited() || self.futex_locks.has_any() {
            self.reach(index, thread);
        }
        if self.pipes.has_marks() {
            self.come_by_marks(index, thread);
        }
        if self.plays_a_role(index, thread, call) {
            return;
        }
        match (call.operation, rouses_at) {
            (Call::Return, Some(object)) => self.rouse(index, thread, object),
            (Call::Return, None) => match self.slept_for(call, open) {
                Some(object) => self.rouse(index, thread, object),
                None => self.returned(index, thread, open),
            },
            _ => self.call(index, call),
        }
        self.give_up_by_end(index, thread);
    }

    /// Notes that the CPU time before an event, if any, went on falling asleep and waking up, in a wait for an object.
    pub fn rouse(&mut self, index: usize, thread: u32, object: ObjectId) {
        let work = self.work.take(index);
        self.push_rouse(index, thread, object, work);
    }

    /// The same of so many nanoseconds.
    pub fn push_rouse(&mut self, index: usize, thread: u32, object: ObjectId, nanos: u64) {
        if nanos > 0 {
            self.push_with_work(index, thread, Action::Rouse(object), nanos);
        }
    }

    /// Returns the object of a wait that is over with this return, and in which a thread does nothing but sleep. What it reads from a file,
    /// it needs its CPU for.
    fn slept_for(&self, call: foretrace_trace::Call, open: Option<Open>) -> Option<ObjectId> {
        let open = open.filter(|open| !matches!(open.kind, OpenKind::Nap(..)))?;
        if self.trace.recording.is_none() || call.outcome != Outcome::Success {
            return None;
        }
        let waited_in = self.call_of(open.operation);
        match waited_in.operation {
            Call::Lock(object)
            | Call::ReadLock(object)
            | Call::WriteLock(object)
            | Call::SemWait(object)
            | Call::BarrierWait(object)
            | Call::FutexWait(object)
            | Call::CondWait { cond: object, .. }
            | Call::CondTimedWait { cond: object, .. } => Some(object),
            _ => None,
        }
    }

    /// Returns the call that an operation came from.
    fn call_of(&self, OpRef { thread, index }: OpRef) -> &foretrace_trace::Call {
        let event = self.lists[thread as usize].event(index);
        self.trace.call(&self.trace.events[event as usize])
    }

    /// Handles a return: of an open call, or else of the routine of a one-time initialization.
    fn returned(&mut self, index: usize, thread: u32, open: Option<Open>) {
        match open.map(|open| open.kind) {
            None if self.end_of_once(index, thread) => {}
            // CPU time inside a spin lock is the waiting itself.
            Some(OpenKind::Lock(lock))
                if self.trace.objects[lock.index()].kind == ObjectKind::Spin => {}
            Some(OpenKind::Nap(mutex, depth)) => {
                self.relock_after_naps(index, thread, (mutex, depth));
            }
            _ => self.carried[thread as usize] += self.work.left(),
        }
    }

    /// Returns the object of a team where the CPU time before an event is time that its thread waited in an OpenMP library, perhaps
    /// spinning: in a call on that object, or until it took the token that a region begins with. The tasks
    /// that it did meanwhile end with events of their own.
    fn waited_for_team(&self, operation: Call, open: Option<Open>) -> Option<ObjectId> {
        let waited_in = match (operation, open) {
            (Call::Return | Call::Terminate, Some(open)) => {
                self.call_of(open.operation).operation.object()
            }
            (Call::SemWait(semaphore), _) => Some(semaphore),
            _ => None,
        };
        waited_in.filter(|object| self.trace.objects[object.index()].is_of_team())
    }

    /// Delays a thread of a recording that nobody was seen to create (of another process, or made by a raw system
    /// call) until what was recorded before it is done, for want of better knowledge. The first thread of all was
    /// there from the beginning, however late its first event is.
    fn delay_late_comer(&mut self, index: usize, thread: u32) {
        let elapsed = self.work.elapsed_at_birth[thread as usize];
        let known = thread == 0 || self.created.contains(&ThreadId(thread));
        if self.trace.recording.is_none() || elapsed == 0 || known {
            return;
        }
        // The delay precedes the work of the first event.
        let delay = self.delay(elapsed);
        self.push_with_work(index, thread, delay, 0);
        self.late_comers.push(thread);
    }

    /// Adds an operation to a thread; the first of an event carries the event's work.
    #[inline]
    pub fn push(&mut self, event: usize, thread: u32, action: Action) -> OpRef {
        let work = self.work.take(event) + std::mem::take(&mut self.carried[thread as usize]);
        self.push_with_work(event, thread, action, work)
    }

    #[inline]
    pub fn push_with_work(
        &mut self,
        event: usize,
        thread: u32,
        action: Action,
        work_nanos: u64,
    ) -> OpRef {
        let waited = self.is_answered.contains(event);
        let list = &mut self.lists[thread as usize];
        list.push(Operation {
            work_nanos,
            action,
            event: event as u32,
            waited,
        });
        OpRef {
            thread,
            index: list.len() as u32 - 1,
        }
    }

    /// Makes a delay of so many nanoseconds.
    pub fn delay(&mut self, nanos: u64) -> Action {
        self.delay_in(nanos, false)
    }

    /// Makes a delay of so many nanoseconds, spent in input or output or not.
    pub fn delay_in(&mut self, nanos: u64, is_io: bool) -> Action {
        self.add_delay(Delay {
            nanos,
            is_io,
            is_beat: false,
            due: None,
        })
    }

    /// Makes a delay that lasts until the thread's next beat of so many nanoseconds.
    pub fn beat(&mut self, nanos: u64) -> Action {
        self.add_delay(Delay {
            nanos,
            is_io: false,
            is_beat: true,
            due: None,
        })
    }

    /// Makes a delay of so many nanoseconds until a moment of a series.
    pub fn delay_until(&mut self, due: Due, nanos: u64) -> Action {
        self.add_delay(Delay {
            nanos,
            is_io: false,
            is_beat: false,
            due: Some(due),
        })
    }

    fn add_delay(&mut self, delay: Delay) -> Action {
        self.delays.push(delay);
        Action::Delay(self.delays.len() as u32 - 1)
    }

    /// Replaces what an operation does.
    pub fn set_action(&mut self, at: OpRef, action: Action) {
        self.lists[at.thread as usize].set_action(at.index, action);
    }

    /// Returns whether calls that blocked are followed by an explicit return.
    pub fn is_explicit(&self) -> bool {
        self.trace.returns == Returns::Explicit
    }

    /// Closes what is still open after the last event: what can have come back did, the rest never does.
    fn end(&mut self) {
        self.match_polls();
        self.match_pipes();
        for thread in 0..self.lists.len() {
            let Some(open) = self.open[thread].take() else {
                continue;
            };
            if self.can_have_come_back(open) {
                self.came_back(open);
            } else {
                self.never_came_back(open);
            }
        }
    }
}
