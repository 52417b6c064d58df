//! Synchronization objects.

use serde::{Deserialize, Serialize};

use crate::ProcessId;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectKind {
    /// An event of the abstract processes that `send` and `wait` (Activate and `Wait_for` in the paper).
    Event,
    /// A mutual-exclusion lock.
    Mutex,
    /// A condition variable.
    Cond,
    /// A counting semaphore.
    Semaphore,
    /// A readers-writer lock.
    Rwlock,
    /// A barrier.
    Barrier,
    /// A spin lock.
    Spin,
    /// The control of a one-time initialization.
    Once,
    /// An integer in memory that threads wait for and wake each other by, through system calls: what C++'s and
    /// Rust's own synchronization is made of.
    Futex,
    /// A message queue.
    Queue,
    /// The loops of an OpenMP team whose iterations wait for each other.
    Doacross,
    /// A pipe, named or not; one direction of two connected sockets; those who connect to one; or a counter of the kernel's (`eventfd`).
    Pipe,
}

impl ObjectKind {
    /// All kinds, in the order of their bytes in files.
    pub const ALL: [Self; 12] = [
        Self::Event,
        Self::Mutex,
        Self::Cond,
        Self::Semaphore,
        Self::Rwlock,
        Self::Barrier,
        Self::Spin,
        Self::Once,
        Self::Futex,
        Self::Queue,
        Self::Doacross,
        Self::Pipe,
    ];

    /// Returns the name used in text traces and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Mutex => "mutex",
            Self::Cond => "cond",
            Self::Semaphore => "semaphore",
            Self::Rwlock => "rwlock",
            Self::Barrier => "barrier",
            Self::Spin => "spin",
            Self::Once => "once",
            Self::Futex => "futex",
            Self::Queue => "queue",
            Self::Doacross => "doacross",
            Self::Pipe => "pipe",
        }
    }
}

/// A synchronization object. An address that was freed and used again is another object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its name, unique among the objects of its kind; recorded objects are named by kind and number.
    pub name: String,
    /// The process that it lives in.
    pub process: ProcessId,
    /// Where it lay in memory, where that is known.
    pub address: Option<u64>,
    /// The tokens a semaphore began with, or the number of threads that a barrier waits for, where that is known; 1 of a readers-writer lock whose
    /// readers wait for writers that wait, and of a spin lock for which whoever waits never gives up its CPU.
    pub initial: Option<u32>,
}

/// The first address that no object in a program's memory has.
const FIRST_OF_TEAMS: u64 = 1 << SIZE_SHIFT;

/// Where in the address of a team's object the team's size stands, above the team's name.
const SIZE_SHIFT: u32 = 48;

/// Set in the addresses of teams that were told by the user to sleep where they wait.
const SLEEPING: u64 = 1 << 63;

impl Object {
    /// Returns whether it is a barrier of an OpenMP team's, or the semaphore that its regions begin with. The recorder gives these
    /// addresses that no program's objects have. In a call on one, a thread waits, or does what is marked by events that
    /// lie before the call.
    pub fn is_of_team(&self) -> bool {
        self.address
            .is_some_and(|address| address >= FIRST_OF_TEAMS)
    }

    /// Returns whether it is of an OpenMP team's whose threads may spin where they wait, if the library thinks that better: nobody told
    /// them to sleep.
    pub fn is_of_spinning_team(&self) -> bool {
        self.is_of_team() && self.address.is_some_and(|address| address & SLEEPING == 0)
    }

    /// Returns whether it stands for all tasks of an OpenMP team: a post of an even iteration says that the task of half that number was
    /// made, a wait for it that the task begins, and a post of the next iteration that it is done.
    pub fn stands_for_tasks(&self) -> bool {
        self.kind == ObjectKind::Doacross && self.team().is_some_and(|(_, size)| size == 1)
    }

    /// Returns whether it is a spin lock for which whoever waits never gives up its CPU.
    pub fn keeps_cpus(&self) -> bool {
        self.kind == ObjectKind::Spin && self.initial == Some(1)
    }

    /// Returns whether it stands for the ordered sections of an OpenMP team's loops, which are entered in the order of the iterations.
    pub fn is_ordered(&self) -> bool {
        matches!(self.kind, ObjectKind::Mutex | ObjectKind::Spin) && self.is_of_team()
    }

    /// Returns the OpenMP team that it is of, as a number, and how many threads that has when it uses it; 1 for what it has
    /// whatever its size is.
    pub fn team(&self) -> Option<(u64, u32)> {
        let address = self.address.filter(|_| self.is_of_team())?;
        let name = address & (FIRST_OF_TEAMS - 1);
        Some((name, ((address & !SLEEPING) >> SIZE_SHIFT) as u32))
    }
}
