//! Events: what threads did, one call each.

use serde::{Deserialize, Serialize};

use crate::{CallId, FileKind, IoKind, MessageId, Nanos, ObjectId, SiteId, ThreadId};

/// One event: a call, made at a time.
///
/// A call that blocked and came back is followed, in its thread, by an event with [`Operation::Return`].
///
/// A trace holds one after the other of them, so that they are packed into twenty bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
pub struct Event {
    /// When it was made, on the recording's clock, which starts at zero. The order of the events is the order in
    /// which they happened, also where two times are equal.
    pub time: Nanos,
    /// [`Self::cpu`] in nanoseconds, or [`NOT_RECORDED`].
    cpu_nanos: u64,
    /// Who did what, where, and what came of it: a position in `Trace::calls`.
    pub call: CallId,
}

/// In place of a CPU time; far above what a valid trace may hold.
const NOT_RECORDED: u64 = u64::MAX;

impl Event {
    /// Returns a call made at `time`, by which its thread had used so much CPU time.
    pub fn new(time: Nanos, cpu: Option<Nanos>, call: CallId) -> Self {
        Self {
            time,
            cpu_nanos: cpu.map_or(NOT_RECORDED, |cpu| cpu.0.min(NOT_RECORDED - 1)),
            call,
        }
    }

    /// Returns the CPU time that the thread had used by then; `None` where it was not recorded (hand-written listings).
    #[inline]
    pub fn cpu(&self) -> Option<Nanos> {
        (self.cpu_nanos != NOT_RECORDED).then_some(Nanos(self.cpu_nanos))
    }

    /// Sets the CPU time that the thread had used by then.
    pub fn set_cpu(&mut self, cpu: Option<Nanos>) {
        *self = Self::new(self.time, cpu, self.call);
    }
}

/// Who did what to which object, from where, and what came of it. Equal calls are stored once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Call {
    /// The thread that made it.
    pub thread: ThreadId,
    /// What it did.
    pub operation: Operation,
    /// What came of it. For a call that blocked, the outcome stands at its [`Operation::Return`].
    pub outcome: Outcome,
    /// The thread whose doing let a blocked call go on, where that was recorded; only at [`Operation::Return`].
    pub from: Option<ThreadId>,
    /// Where in the program the call was made, where that is known.
    pub site: Option<SiteId>,
}

impl Call {
    /// Returns whether a return that says `outcome`, and is its thread's next event, is the return of this call. Else it closes the routine
    /// of a one-time initialization, of which this call is the last: a lock that was free may be.
    pub fn is_answered_by(&self, outcome: Outcome) -> bool {
        outcome != Outcome::Chosen
            || match self.operation {
                Operation::BarrierWait(_) => true,
                Operation::Once(_) => self.outcome == Outcome::Chosen,
                _ => false,
            }
    }
}

/// What came of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// It did what it is for.
    #[default]
    Success,
    /// A try that did not get the object.
    Busy,
    /// A timed wait whose time ran out.
    TimedOut,
    /// A barrier wait that was told to be the serial thread, or a `once` whose caller ran the routine.
    Chosen,
    /// A lock that was granted although its last owner died (`EOWNERDEAD`).
    OwnerDied,
    /// It failed with this `errno`, without an effect on the object.
    Failed(u16),
}

impl Outcome {
    /// Of a failed try of an OpenMP team's semaphore, `EINPROGRESS`: what its thread did since its event before is its own, and what
    /// follows may be a piece of work that any member of the team might have done.
    pub const BEGINS: Self = Self::Failed(115);

    /// Of a wait for OpenMP tasks, `EALREADY`: it was for those that were made in the one that waits, whose thread did meanwhile also what
    /// these made. With [`Outcome::Busy`] it did only these themselves.
    pub const HELPED: Self = Self::Failed(114);

    /// Of a wait for OpenMP tasks, `EINPROGRESS`: it was for those that were made in the one that waits, and for all that these made.
    pub const WAITED_FOR_ALL: Self = Self::Failed(115);
}

/// What a thread did. Objects are given by position in `Trace::objects`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// Created a thread (for abstract processes: the first Activate).
    Create(ThreadId),
    /// Waited for a thread's end.
    Join(ThreadId),
    /// Gave up the right to join a thread.
    Detach(ThreadId),
    /// Asked a thread to end at its next cancellation point.
    Cancel(ThreadId),
    /// Ended.
    Terminate,
    /// Came back from the call that is this thread's previous event.
    Return,
    /// Abstract processes: activated a process, waiting until it accepts (a rendezvous).
    Send {
        /// The event.
        event: ObjectId,
        /// The process that is to accept it.
        to: ThreadId,
    },
    /// Abstract processes: waited for an event.
    Wait(ObjectId),
    /// Locked a mutex.
    Lock(ObjectId),
    /// Tried to lock a mutex.
    TryLock(ObjectId),
    /// Locked a mutex, waiting no longer than a given time.
    TimedLock(ObjectId),
    /// Unlocked a mutex.
    Unlock(ObjectId),
    /// Waited on a condition variable, giving up the mutex meanwhile.
    CondWait {
        /// The condition variable.
        cond: ObjectId,
        /// The mutex.
        mutex: ObjectId,
    },
    /// The same, no longer than a given time (`timedwait`, `clockwait`).
    CondTimedWait {
        /// The condition variable.
        cond: ObjectId,
        /// The mutex.
        mutex: ObjectId,
    },
    /// Woke one waiter of a condition variable.
    CondSignal(ObjectId),
    /// Woke every waiter of a condition variable.
    CondBroadcast(ObjectId),
    /// Took a token of a semaphore.
    SemWait(ObjectId),
    /// Tried to take a token.
    SemTryWait(ObjectId),
    /// Took a token, waiting no longer than a given time.
    SemTimedWait(ObjectId),
    /// Gave a token to a semaphore.
    SemPost(ObjectId),
    /// Locked a readers-writer lock for reading.
    ReadLock(ObjectId),
    /// Tried to lock it for reading.
    TryReadLock(ObjectId),
    /// Locked it for reading, waiting no longer than a given time.
    TimedReadLock(ObjectId),
    /// Locked it for writing.
    WriteLock(ObjectId),
    /// Tried to lock it for writing.
    TryWriteLock(ObjectId),
    /// Locked it for writing, waiting no longer than a given time.
    TimedWriteLock(ObjectId),
    /// Unlocked it, whichever way it was held.
    RwUnlock(ObjectId),
    /// Waited at a barrier; the number of threads it waits for is `Object::initial`.
    BarrierWait(ObjectId),
    /// Locked a spin lock.
    SpinLock(ObjectId),
    /// Tried to lock a spin lock.
    SpinTryLock(ObjectId),
    /// Unlocked a spin lock.
    SpinUnlock(ObjectId),
    /// Passed a one-time initialization; with [`Outcome::Chosen`] this thread runs the routine, from this event to
    /// the [`Operation::Return`] that closes it (other events of the thread may lie between).
    Once(ObjectId),
    /// Waited for a futex: until a [`Self::FutexWake`], by a system call. [`Outcome::Busy`] when its value had changed
    /// already, so that there was nothing to wait for.
    FutexWait(ObjectId),
    /// The same, no longer than a given time.
    FutexTimedWait(ObjectId),
    /// Woke threads that waited for a futex.
    FutexWake {
        /// The futex.
        futex: ObjectId,
        /// How many it woke.
        woken: u32,
    },
    /// Bound a thread, perhaps itself, to CPUs (`sched_setaffinity`, `pthread_setaffinity_np`). The recording stayed on its
    /// one CPU.
    Bind {
        /// The thread.
        thread: ThreadId,
        /// A bit for each of the first 64 CPUs.
        cpus: u64,
    },
    /// Was blocked in input or output, or waiting for something else outside the program, from this event to its
    /// [`Operation::Return`]. Calls that did not block are not recorded.
    Io {
        /// The sort of call.
        kind: IoKind,
        /// What the file was.
        file: FileKind,
    },
    /// Slept, from this event to its [`Operation::Return`]; for how long is not known.
    Sleep,
    /// Sent a message to a queue.
    QueueSend(ObjectId),
    /// Received a message from a queue.
    QueueReceive(ObjectId),
    /// Locked and unlocked a mutex many times, at the same two places, and did nothing else that is recorded, since
    /// its event before. It never had to wait. The call's site is that of the locks.
    LockSections {
        /// The mutex.
        mutex: ObjectId,
        /// How many times.
        count: u64,
        /// The CPU time for which it held the mutex, all times together.
        held: Nanos,
        /// Where the unlocks were called, where that is known.
        unlock: Option<SiteId>,
    },
    /// Tried to lock a mutex many times, at the same place, and did nothing else that is recorded, since its event
    /// before. The outcome is that of each try.
    TryLocks {
        /// The mutex.
        mutex: ObjectId,
        /// How many times.
        count: u64,
    },
    /// Called MPI, from this event to its [`Operation::Return`]: a position in `Trace::messages`.
    Message(MessageId),
    /// Waited until an iteration of a loop was done that its own depends on.
    DoacrossWait {
        /// The loops.
        loops: ObjectId,
        /// The iteration: the loop's place in its region and, in the low 48 bits, the indices.
        iteration: u64,
    },
    /// Said that an iteration is done as far as others depend on it.
    DoacrossPost {
        /// The loops.
        loops: ObjectId,
        /// The iteration.
        iteration: u64,
    },
    /// Slept, from this event to its [`Operation::Return`], after asking for so long. It came back later than that where others
    /// had the CPU.
    SleepFor(Nanos),
    /// Wrote to a pipe, a connected socket, or an `eventfd`, or connected to who listens. Where that had to wait, [`Self::Io`] follows.
    PipeWrite {
        /// The pipe.
        pipe: ObjectId,
        /// How many bytes, or how much was added; none by a program that began with the pipe as its output.
        bytes: u32,
    },
    /// Read from a pipe, a connected socket, or an `eventfd`, or accepted a connection. Where that had to wait, [`Self::Io`] precedes it.
    PipeRead {
        /// The pipe.
        pipe: ObjectId,
        /// How many bytes, or what was taken; none at the end of what is written, and where the C library read for a stream.
        bytes: u32,
    },
    /// Looked at memory again and again until it lost the CPU, and was without it until its [`Operation::Return`]. For so long it
    /// looked: that is not in its CPU time, and others had the CPU only after it.
    Spin(Nanos),
    /// Looked at memory again and again for so long, and went on by itself: that is not in its CPU time. Of no time, it lost the CPU here, in the midst of its
    /// work, while others looked.
    Linger(Nanos),
    /// Was to sleep until a moment that had passed so long ago, and went on.
    SleepPast(Nanos),
}

impl Operation {
    /// Returns the name used in text traces, tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::Join(_) => "join",
            Self::Detach(_) => "detach",
            Self::Cancel(_) => "cancel",
            Self::Terminate => "terminate",
            Self::Return => "return",
            Self::Send { .. } => "send",
            Self::Wait(_) => "wait",
            Self::Lock(_) => "lock",
            Self::TryLock(_) => "trylock",
            Self::TimedLock(_) => "timedlock",
            Self::Unlock(_) => "unlock",
            Self::CondWait { .. } => "cond_wait",
            Self::CondTimedWait { .. } => "cond_timedwait",
            Self::CondSignal(_) => "cond_signal",
            Self::CondBroadcast(_) => "cond_broadcast",
            Self::SemWait(_) => "sem_wait",
            Self::SemTryWait(_) => "sem_trywait",
            Self::SemTimedWait(_) => "sem_timedwait",
            Self::SemPost(_) => "sem_post",
            Self::ReadLock(_) => "rdlock",
            Self::TryReadLock(_) => "tryrdlock",
            Self::TimedReadLock(_) => "timedrdlock",
            Self::WriteLock(_) => "wrlock",
            Self::TryWriteLock(_) => "trywrlock",
            Self::TimedWriteLock(_) => "timedwrlock",
            Self::RwUnlock(_) => "rwunlock",
            Self::BarrierWait(_) => "barrier_wait",
            Self::SpinLock(_) => "spin_lock",
            Self::SpinTryLock(_) => "spin_trylock",
            Self::SpinUnlock(_) => "spin_unlock",
            Self::Once(_) => "once",
            Self::FutexWait(_) => "futex_wait",
            Self::FutexTimedWait(_) => "futex_timedwait",
            Self::FutexWake { .. } => "futex_wake",
            Self::Bind { .. } => "bind",
            Self::Io { .. } => "io",
            Self::Sleep | Self::SleepFor(_) | Self::SleepPast(_) => "sleep",
            Self::QueueSend(_) => "queue_send",
            Self::QueueReceive(_) => "queue_receive",
            Self::LockSections { .. } => "lock_sections",
            Self::TryLocks { .. } => "trylocks",
            Self::Message(_) => "message",
            Self::DoacrossWait { .. } => "doacross_wait",
            Self::DoacrossPost { .. } => "doacross_post",
            Self::PipeWrite { .. } => "pipe_write",
            Self::PipeRead { .. } => "pipe_read",
            Self::Spin(_) => "spin",
            Self::Linger(_) => "linger",
        }
    }

    /// Returns the object that the operation is about; of a condition wait, the condition variable.
    pub fn object(self) -> Option<ObjectId> {
        match self {
            Self::Create(_)
            | Self::Join(_)
            | Self::Detach(_)
            | Self::Cancel(_)
            | Self::Terminate
            | Self::Return
            | Self::Bind { .. }
            | Self::Io { .. }
            | Self::Sleep
            | Self::SleepFor(_)
            | Self::SleepPast(_)
            | Self::Spin(_)
            | Self::Linger(_)
            | Self::Message(_) => None,
            Self::Send { event: object, .. }
            | Self::Wait(object)
            | Self::Lock(object)
            | Self::TryLock(object)
            | Self::TimedLock(object)
            | Self::Unlock(object)
            | Self::CondWait { cond: object, .. }
            | Self::CondTimedWait { cond: object, .. }
            | Self::CondSignal(object)
            | Self::CondBroadcast(object)
            | Self::SemWait(object)
            | Self::SemTryWait(object)
            | Self::SemTimedWait(object)
            | Self::SemPost(object)
            | Self::ReadLock(object)
            | Self::TryReadLock(object)
            | Self::TimedReadLock(object)
            | Self::WriteLock(object)
            | Self::TryWriteLock(object)
            | Self::TimedWriteLock(object)
            | Self::RwUnlock(object)
            | Self::BarrierWait(object)
            | Self::SpinLock(object)
            | Self::SpinTryLock(object)
            | Self::SpinUnlock(object)
            | Self::Once(object)
            | Self::FutexWait(object)
            | Self::FutexTimedWait(object)
            | Self::FutexWake { futex: object, .. }
            | Self::QueueSend(object)
            | Self::QueueReceive(object)
            | Self::LockSections { mutex: object, .. }
            | Self::TryLocks { mutex: object, .. }
            | Self::DoacrossWait { loops: object, .. }
            | Self::DoacrossPost { loops: object, .. }
            | Self::PipeWrite { pipe: object, .. }
            | Self::PipeRead { pipe: object, .. } => Some(object),
        }
    }

    /// Returns how many times an event says that the operation was done.
    pub fn times(self) -> u64 {
        match self {
            Self::LockSections { count, .. } | Self::TryLocks { count, .. } => count,
            _ => 1,
        }
    }

    /// Returns the other thread that the operation is about.
    pub fn other_thread(self) -> Option<ThreadId> {
        match self {
            Self::Create(thread)
            | Self::Join(thread)
            | Self::Detach(thread)
            | Self::Cancel(thread)
            | Self::Send { to: thread, .. }
            | Self::Bind { thread, .. } => Some(thread),
            _ => None,
        }
    }
}
