//! Operations: what a thread does, and the CPU time before it.

use foretrace_trace::{ObjectId, ThreadId};

/// One step of a thread: some work, then an action that takes no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The CPU time before the action, in nanoseconds.
    pub work_nanos: u64,
    /// What is done then.
    pub action: Action,
    /// The trace's event that it came from.
    pub event: u32,
    /// Whether it had to wait in the recording: what that costs is within the recorded times then.
    pub waited: bool,
}

/// What an operation does. Objects and threads are those of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing that another thread could notice: a failed try, a nested lock, a signal that woke nobody.
    Pass,
    /// Nothing that another thread could notice. Its work is what it took to fall asleep and to wake up in a wait for this object, right
    /// before: with several CPUs, nothing where the thread does not sleep there.
    Rouse(ObjectId),
    /// Nothing that another thread could notice. Its work is looking at memory for a while before the thread goes on by itself; nothing where
    /// what it looks for can come meanwhile, on another CPU.
    Linger,
    /// Nothing that another thread could notice: the thread would have taken a token of this semaphore, and found none. In the Pool model it takes
    /// one where there is one.
    FindNone(ObjectId),
    /// Creates a thread: it becomes ready, the caller goes on.
    Create(ThreadId),
    /// Ends the thread and opens its end's gate.
    Terminate,
    /// Waits until a gate is open, in every model.
    Await(GateId),
    /// Opens a gate.
    Open(GateId),
    /// Lets time pass without using a CPU; a position in [`Program::delays`](crate::Program::delays).
    Delay(u32),
    /// Acquires a mutex or spin lock.
    Lock(ObjectId),
    /// Releases a mutex or spin lock.
    Unlock(ObjectId),
    /// Takes a token of a semaphore.
    TakeToken(ObjectId),
    /// Gives a token to a semaphore.
    GiveToken(ObjectId),
    /// Waits for a wake-up of a futex, or, of a mutex, for the end of another thread's section in which it told how far it is: in
    /// every model for the one that it waited for in the recording, or was found to need.
    AwaitWake(ObjectId),
    /// Looks again and again under a mutex until a section of another thread is over: in every model until the one after which
    /// it saw what it waited for. Its work is the looking, which takes as long as it takes, but for one CPU, where it is as
    /// recorded.
    Poll(ObjectId),
    /// Wakes the waiters of a futex that it woke in the recording, now or later; or those that wait for the end of a section.
    Wake(ObjectId),
    /// Acquires a readers-writer lock for reading.
    ReadLock(ObjectId),
    /// Acquires it for writing.
    WriteLock(ObjectId),
    /// Releases it.
    RwUnlock(ObjectId),
    /// Waits at a barrier.
    Barrier(ObjectId),
    /// Releases the mutex, waits to be woken, acquires the mutex again.
    CondWait {
        /// The condition variable.
        cond: ObjectId,
        /// The mutex.
        mutex: ObjectId,
    },
    /// Wakes one waiter, now or later (one that woke nobody in the recording is [`Action::Pass`]).
    Signal(ObjectId),
    /// Wakes as many waiters as it woke in the recording, waiting until they wait.
    Broadcast {
        /// The condition variable.
        cond: ObjectId,
        /// How many threads it woke; at least one.
        woken: u32,
    },
    /// Abstract processes: activates a process and waits until it accepts.
    Send {
        /// The process.
        to: ThreadId,
        /// The event.
        event: ObjectId,
    },
    /// Abstract processes: waits to be activated by this event.
    Wait(ObjectId),
}

impl Action {
    /// Returns whether the Client-Server model cuts the thread's list before this action: acquisitions.
    pub fn opens_list(self) -> bool {
        matches!(
            self,
            Self::Lock(_)
                | Self::TakeToken(_)
                | Self::AwaitWake(_)
                | Self::Poll(_)
                | Self::ReadLock(_)
                | Self::WriteLock(_)
                | Self::CondWait { .. }
                | Self::Wait(_)
        )
    }

    /// Returns whether an acquisition may have waited for this action, which itself never waits.
    pub fn is_release(self) -> bool {
        matches!(
            self,
            Self::Unlock(_)
                | Self::GiveToken(_)
                | Self::Wake(_)
                | Self::RwUnlock(_)
                | Self::Signal(_)
                | Self::Broadcast { .. }
        )
    }

    /// Returns whether the Client-Server model may neither overtake this action nor run it early.
    pub fn is_fence(self) -> bool {
        matches!(self, Self::Barrier(_) | Self::Await(_) | Self::Terminate)
    }
}

/// A stretch of time without a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// How long it is, in nanoseconds.
    pub nanos: u64,
    /// Whether it is spent in input or output, and not asleep or in a timed wait.
    pub is_io: bool,
    /// Whether it lasts until the next whole multiple of its length since the thread's delay before began, in place of all its
    /// length: what a thread sees that looks every so often.
    pub is_beat: bool,
    /// Whether it lasts until a moment of a series, in place of all its length.
    pub due: Option<Due>,
}

/// A moment of a series: what a thread sleeps until that has something to do once in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Which series; each is of one thread.
    pub series: u32,
    /// Whether the delay's length counts from the moment before, and not from when the delay begins.
    pub follows: bool,
}

/// Something that opens once and stays open: a thread's end, a cancellation, a one-time initialization, a thread's progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateId(pub u32);

impl GateId {
    /// Returns the id as a position.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Numbers the gate of an opener, in a program of so many threads.
    pub(crate) fn of(opener: Opener, threads: usize) -> Self {
        let threads = threads as u32;
        match opener {
            Opener::End(thread) => Self(thread.0),
            Opener::Cancellation(thread) => Self(threads + thread.0),
            Opener::Once(once) => Self(2 * (threads + once.0)),
            Opener::Progress(number) => Self(2 * (threads + number) + 1),
        }
    }

    /// Returns what opens the gate: the reverse of [`Self::of`].
    pub(crate) fn opener(self, threads: usize) -> Opener {
        let threads = threads as u32;
        match self.0 {
            id if id < threads => Opener::End(ThreadId(id)),
            id if id < 2 * threads => Opener::Cancellation(ThreadId(id - threads)),
            id if (id - 2 * threads).is_multiple_of(2) => Opener::Once(ObjectId(id / 2 - threads)),
            id => Opener::Progress(id / 2 - threads),
        }
    }
}

/// What opens a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opener {
    /// A thread's end.
    End(ThreadId),
    /// A thread's cancellation.
    Cancellation(ThreadId),
    /// The end of a one-time initialization's routine.
    Once(ObjectId),
    /// A thread's having come as far as it had in the recording when another was done with sleeping: a position in
    /// [`Program::progress`](crate::Program::progress).
    Progress(u32),
}
