//! The whole of a program.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::OnceLock,
};

use foretrace_trace::{Object, ObjectId, ObjectKind, Process, ProcessId, ThreadId, Trace};

use crate::{
    Action, Delay, GateId, NoPool, Opener, Operations, PositionSet, Structure, WorkPool,
    links::Links, lower,
};

/// Lists of operations, one per thread, and who released what to whom in the recording.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The trace it came from.
    pub source: String,
    /// Whether it was recorded, and not written down by hand.
    pub recorded: bool,
    /// The processes, as in the trace.
    pub processes: Vec<Process>,
    /// The threads, as in the trace.
    pub threads: Vec<Thread>,
    /// The objects, as in the trace, with initial tokens and barrier sizes filled in.
    pub objects: Vec<Object>,
    /// The operations of all threads, one thread after the other.
    pub operations: Operations,
    /// The releases that each acquisition waited for.
    pub(crate) requirements: Links,
    /// The acquisitions that waited for each release, once somebody asked.
    pub(crate) dependents: OnceLock<Dependents>,
    /// Delays.
    pub delays: Vec<Delay>,
    /// The progress of threads for which others wait by sleeping or spinning, one for each gate of the kind.
    pub progress: Vec<Progress>,
    /// How long, in nanoseconds, a thread that looked at memory all the time had the CPU in the recording before it lost it to another:
    /// the kernel's slice; `None` where too few did, or the recorder ended their turns.
    pub slice: Option<u64>,
    /// The mutexes that whoever wants one tries to get again and again until it has it, on its CPU.
    pub tried: BTreeSet<ObjectId>,
    /// By operation, of a try that succeeded in the recording: the token that its thread gives up while it has to wait in it, and takes again.
    pub asides: BTreeMap<u32, ObjectId>,
    /// The operations in which a thread only tried to lock a mutex, right behind the one in which it locked another: it gets both or none.
    pub pairs: PositionSet,
    /// The threads that never wait for a token of a semaphore, as they take one only where they see one, but may have taken some in the recording that
    /// others are quicker to take in a replay.
    pub helpers: BTreeSet<(ObjectId, ThreadId)>,
    /// The lightswitches, by the object that stands for each: the semaphore of which the first that has it takes a token, which the last gives back;
    /// or a mutex, likewise.
    pub lightswitches: BTreeMap<ObjectId, ObjectId>,
    /// The operations in which a thread waits for the end of a process that it found in the recording without waiting for it: where nobody else can go
    /// on, it does.
    pub found: BTreeSet<u32>,
    /// The condition variables that are waited on, and what each was found to be.
    pub structures: Vec<Structure>,
    /// Threads that take tasks from a shared queue, so that the Pool model can let any of them run any task.
    pub pools: Vec<WorkPool>,
    /// Threads of one start routine that are not replayed as a pool, and why.
    pub no_pools: Vec<NoPool>,
    /// What had to be assumed, for the user's eyes; what the trace itself warns of is not repeated.
    pub warnings: Vec<String>,
}

/// What waits for releases.
#[derive(Clone, Debug)]
pub(crate) struct Dependents {
    links: Links,
    /// The acquisitions that wait for several, a bit each.
    several: Vec<u64>,
}

/// A thread's place in a program.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// The process it belongs to.
    pub process: ProcessId,
    /// Its priority, where it has one: larger runs first.
    pub priority: Option<i32>,
    /// The CPU that it is bound to, where it is.
    pub cpu: Option<u32>,
    /// Its operations, as positions in [`Program::operations`]; the last is [`Action::Terminate`].
    pub operations: Range<u32>,
    /// Whether a thread of the program creates it; it is there from the beginning otherwise.
    pub created: bool,
    /// The thread with whose end its process ended in the recording, and with that all of its threads, where it is another one.
    pub ends_with: Option<ThreadId>,
}

/// How far a thread has to come until another goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The thread.
    pub thread: ThreadId,
    /// How the other waits for it.
    pub wait: Waiting,
}

/// How a thread waits that looks for something again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It sleeps in between.
    Sleeping,
    /// It yields in between.
    Yielding,
    /// It keeps the CPU, as long as the scheduler lets it.
    Looking,
}

impl Waiting {
    /// Returns whether it spins.
    pub fn is_awake(self) -> bool {
        self != Self::Sleeping
    }
}

impl Program {
    /// Lowers a trace, and looks for work pools.
    pub fn from_trace(trace: &Trace) -> Self {
        lower::lower(trace, true)
    }

    /// Lowers a trace to be replayed as recorded: [`Self::pools`] and [`Self::no_pools`] stay empty, which takes less time.
    pub fn without_pools(trace: &Trace) -> Self {
        lower::lower(trace, false)
    }

    /// Returns whether any thread waits by looking at memory, on its CPU.
    pub fn looks(&self) -> bool {
        let mut progress = self.progress.iter();
        progress.any(|progress| progress.wait == Waiting::Looking)
            || !self.tried.is_empty()
            || self.objects.iter().any(Object::keeps_cpus)
    }

    /// Returns the number of series of moments until which threads sleep.
    pub fn series(&self) -> usize {
        let series = self.delays.iter().filter_map(|delay| delay.due);
        let last = series.map(|due| due.series as usize + 1).max();
        last.unwrap_or(0)
    }

    /// Returns the operations whose release this one waited for in the recording.
    #[inline]
    pub fn requirements_of(&self, operation: u32) -> &[u32] {
        self.requirements.of(operation)
    }

    /// Returns the operations that waited for the release that this one is, in order.
    #[inline]
    pub fn dependents_of(&self, operation: u32) -> &[u32] {
        self.dependents().links.of(operation)
    }

    /// Returns whether an operation waited for several releases. It need not be looked up what each waited for, which lies
    /// anywhere in memory, once one of its releases has happened and this is not so.
    #[inline]
    pub fn has_several_requirements(&self, operation: u32) -> bool {
        let several = &self.dependents().several;
        several
            .get(operation as usize / 64)
            .is_some_and(|word| word >> (operation % 64) & 1 == 1)
    }

    #[inline]
    fn dependents(&self) -> &Dependents {
        self.dependents.get_or_init(|| Dependents {
            links: self.requirements.reversed(),
            several: self.requirements.with_several(),
        })
    }

    /// Asks the memory for what an operation that is looked at soon waits for, if there is one.
    #[inline]
    pub fn fetch_requirements(&self, operation: u32) {
        self.requirements.fetch(operation);
    }

    /// Asks the memory for what waits for an operation that is looked at soon, if there is one.
    #[inline]
    pub fn fetch_dependents(&self, operation: u32) {
        if let Some(dependents) = self.dependents.get() {
            dependents.links.fetch(operation);
        }
    }

    /// Returns the name of an operation's call, as in text traces.
    pub fn operation_name(&self, operation: u32) -> &'static str {
        let spin = |id: ObjectId| self.objects[id.index()].kind == ObjectKind::Spin;
        let mutex = |id: ObjectId| self.objects[id.index()].kind == ObjectKind::Mutex;
        let queue = |id: ObjectId| self.objects[id.index()].kind == ObjectKind::Queue;
        let pipe = |id: ObjectId| self.objects[id.index()].kind == ObjectKind::Pipe;
        let tasks = |id: ObjectId| self.objects[id.index()].stands_for_tasks();
        let doacross = |id: ObjectId| self.objects[id.index()].kind == ObjectKind::Doacross;
        match self.operations.action(operation) {
            Action::Pass | Action::Rouse(_) | Action::FindNone(_) => "pass",
            Action::Linger => "linger",
            Action::Create(_) => "create",
            Action::Terminate => "terminate",
            Action::Await(gate) => match self.opener(gate) {
                Opener::End(_) => "join",
                Opener::Cancellation(_) => "cancelled wait",
                Opener::Once(_) => "once",
                Opener::Progress(number) if self.progress[number as usize].wait.is_awake() => {
                    "spin"
                }
                Opener::Progress(_) => "sleep",
            },
            Action::Open(gate) => match self.opener(gate) {
                Opener::End(_) => "terminate",
                Opener::Cancellation(_) => "cancel",
                Opener::Once(_) => "once",
                Opener::Progress(_) => "pass",
            },
            Action::Delay(_) => "timed wait",
            Action::Lock(id) if spin(id) => "spin_lock",
            Action::Unlock(id) if spin(id) => "spin_unlock",
            Action::Lock(_) => "lock",
            Action::Unlock(_) => "unlock",
            Action::AwaitWake(id) | Action::TakeToken(id) if pipe(id) => "pipe_read",
            Action::Wake(id) | Action::GiveToken(id) if pipe(id) => "pipe_write",
            Action::AwaitWake(id) if tasks(id) => "task_wait",
            Action::Wake(id) if tasks(id) => "task_post",
            Action::AwaitWake(id) if doacross(id) => "doacross_wait",
            Action::Wake(id) if doacross(id) => "doacross_post",
            Action::AwaitWake(id) if self.objects[id.index()].is_ordered() => "ordered",
            Action::Wake(id) if self.objects[id.index()].is_ordered() => "ordered_end",
            Action::AwaitWake(id) if mutex(id) => "cond_wait",
            Action::AwaitWake(_) => "futex_wait",
            Action::Poll(_) => "polling",
            Action::Wake(id) if mutex(id) => "unlock",
            Action::Wake(_) => "futex_wake",
            Action::TakeToken(id) if queue(id) => "queue_receive",
            Action::GiveToken(id) if queue(id) => "queue_send",
            Action::TakeToken(_) => "sem_wait",
            Action::GiveToken(_) => "sem_post",
            Action::ReadLock(_) => "rdlock",
            Action::WriteLock(_) => "wrlock",
            Action::RwUnlock(_) => "rwunlock",
            Action::Barrier(_) => "barrier_wait",
            Action::CondWait { .. } => "cond_wait",
            Action::Signal(_) => "cond_signal",
            Action::Broadcast { .. } => "cond_broadcast",
            Action::Send { .. } => "send",
            Action::Wait(_) => "wait",
        }
    }

    /// Returns the gate of an opener.
    pub fn gate_of(&self, opener: Opener) -> GateId {
        GateId::of(opener, self.threads.len())
    }

    /// Returns what opens a gate.
    pub fn opener(&self, gate: GateId) -> Opener {
        gate.opener(self.threads.len())
    }

    /// Returns the number of gates.
    pub fn gate_count(&self) -> usize {
        2 * (self.threads.len() + self.objects.len().max(self.progress.len()))
    }

    /// Returns the thread or object that a gate belongs to, by name.
    pub fn gate_name(&self, gate: GateId) -> &str {
        match self.opener(gate) {
            Opener::End(thread) | Opener::Cancellation(thread) => {
                &self.threads[thread.index()].name
            }
            Opener::Once(once) => &self.objects[once.index()].name,
            Opener::Progress(number) => {
                let thread = self.progress[number as usize].thread;
                &self.threads[thread.index()].name
            }
        }
    }

    /// Returns whether every thread carries a priority: then the priority scheduler is the natural one.
    pub fn has_priorities(&self) -> bool {
        !self.threads.is_empty() && self.threads.iter().all(|thread| thread.priority.is_some())
    }

    /// Returns the work of all threads together, in nanoseconds: T1, what one CPU needs at least.
    pub fn work_nanos(&self) -> u64 {
        self.operations
            .iter()
            .map(|operation| operation.work_nanos)
            .sum()
    }

    /// Returns the name of what an action is about, for reports.
    pub fn subject(&self, action: Action) -> Option<&str> {
        let object = |id: ObjectId| Some(self.objects[id.index()].name.as_str());
        match action {
            Action::Lock(id)
            | Action::Unlock(id)
            | Action::TakeToken(id)
            | Action::GiveToken(id)
            | Action::AwaitWake(id)
            | Action::Poll(id)
            | Action::Rouse(id)
            | Action::FindNone(id)
            | Action::Wake(id)
            | Action::ReadLock(id)
            | Action::WriteLock(id)
            | Action::RwUnlock(id)
            | Action::Barrier(id)
            | Action::CondWait { cond: id, .. }
            | Action::Signal(id)
            | Action::Broadcast { cond: id, .. }
            | Action::Send { event: id, .. }
            | Action::Wait(id) => object(id),
            Action::Create(thread) => Some(&self.threads[thread.index()].name),
            Action::Await(gate) | Action::Open(gate) => Some(self.gate_name(gate)),
            Action::Pass | Action::Linger | Action::Terminate | Action::Delay(_) => None,
        }
    }
}
