//! Lanes: what one thread did over time.

use foretrace_trace::ProcessId;
use serde::{Deserialize, Serialize};

use crate::SimTime;

/// What a thread did over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The thread's name.
    pub name: String,
    /// The process that the thread belongs to, a position in [`crate::Schedule::processes`].
    pub process: u32,
    /// What it did, in order of time, without gaps from the thread's birth to its end. No segment is empty and no two
    /// neighbours are equal in state, CPU and object.
    pub segments: Vec<Segment>,
    /// When it ended; `None` where it never did.
    pub end: Option<SimTime>,
}

impl Lane {
    /// Returns the process as an id.
    pub fn process_id(&self) -> ProcessId {
        ProcessId(self.process)
    }
}

/// A stretch of time in which a thread did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// When it began.
    pub start: SimTime,
    /// When it ended.
    pub end: SimTime,
    /// What the thread did.
    pub state: State,
    /// The object waited for, a position in [`crate::Schedule::objects`], while blocked on one.
    pub object: Option<u32>,
    /// The trace's event that the segment waits in (blocked), or one of those that it leads to (running, ready). A thread that
    /// runs on may do many meanwhile: the lane's [`crate::Marks`] tell which one ends it.
    pub event: Option<u32>,
}

impl Segment {
    /// Returns how long it took.
    pub fn duration(&self) -> SimTime {
        self.end.since(self.start)
    }
}

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum State {
    /// Ran on this CPU.
    Running(u32),
    /// Could have run, and waited for a CPU.
    Ready,
    /// Waited for something else.
    Blocked(WaitKind),
}

/// What a blocked thread waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WaitKind {
    /// Another thread's end.
    Join,
    /// A mutex or spin lock.
    Lock,
    /// A condition variable.
    Condition,
    /// A semaphore's token.
    Semaphore,
    /// A readers-writer lock.
    Rwlock,
    /// The other threads of a barrier.
    Barrier,
    /// A one-time initialization that another thread runs.
    Once,
    /// The process that it activates (abstract processes).
    Send,
    /// Its activation (abstract processes).
    Wait,
    /// Time to pass: a sleep, or a timed wait whose time ran out in the recording.
    Timeout,
    /// Input or output, outside the program.
    Io,
}

impl WaitKind {
    /// All kinds, in the order in which legends show them.
    pub const ALL: [Self; 11] = [
        Self::Lock,
        Self::Condition,
        Self::Semaphore,
        Self::Rwlock,
        Self::Barrier,
        Self::Join,
        Self::Once,
        Self::Send,
        Self::Wait,
        Self::Timeout,
        Self::Io,
    ];

    /// Returns its name for legends and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Lock => "lock",
            Self::Condition => "condition",
            Self::Semaphore => "semaphore",
            Self::Rwlock => "rwlock",
            Self::Barrier => "barrier",
            Self::Once => "once",
            Self::Send => "send",
            Self::Wait => "wait",
            Self::Timeout => "timeout",
            Self::Io => "I/O",
        }
    }
}

/// One thread let another go on, or sent it a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wake {
    /// The lane whose doing it was.
    pub from: u32,
    /// The lane that could go on.
    pub to: u32,
    /// When it could: of a message, when it was received.
    pub at: SimTime,
    /// How long before that the other lane did it: of a message, the time from its send to its receive; else nothing.
    pub delay: SimTime,
}

impl Wake {
    /// Makes a wake that takes no time.
    pub const fn at_once(from: u32, to: u32, at: SimTime) -> Self {
        Self {
            from,
            to,
            at,
            delay: SimTime::ZERO,
        }
    }

    /// Makes a message, from its send to its receive.
    #[must_use]
    pub fn message(from: u32, sent: SimTime, to: u32, received: SimTime) -> Self {
        Self {
            from,
            to,
            at: received,
            delay: received.since(sent),
        }
    }

    /// Returns when the lane that it comes from did it.
    #[must_use]
    pub fn sent(&self) -> SimTime {
        self.at.since(self.delay)
    }

    /// Returns whether it took time on its way, as messages do.
    pub fn is_message(&self) -> bool {
        self.delay > SimTime::ZERO
    }
}
