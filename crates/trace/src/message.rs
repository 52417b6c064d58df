//! Calls of MPI: what ranks that pass messages did.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

/// A call of MPI, as far as replays care. Ranks are those of the world, also where the program named them otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// The function's name without `MPI_`, in small letters.
    pub name: String,
    /// What it did.
    pub action: Action,
}

/// What a call of MPI did.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Action {
    /// Began to use MPI, as this rank of so many.
    Begin {
        /// The rank.
        rank: u32,
        /// How many there are.
        ranks: u32,
    },
    /// Nothing that others notice, for a time.
    Span {
        /// The bytes that it was about; 0 where that is not known.
        bytes: u64,
    },
    /// Looked so many times in a row for something that was not there.
    Tries {
        /// How many times.
        count: u64,
    },
    /// Sent or received a message.
    Point(Point),
    /// Sent a message and received one, at the same time.
    Exchange {
        /// What it sent.
        sent: Point,
        /// What it received.
        received: Point,
    },
    /// Began several messages at once.
    Several(Vec<Point>),
    /// Waited for requests, all of them.
    Wait {
        /// The requests.
        requests: Vec<u32>,
    },
    /// Did something together with all ranks of a communicator.
    Collective(Collective),
    /// Sent and received several messages, at the same time, to their ends.
    Exchanges(Vec<Point>),
    /// Began several messages and collective operations at once.
    Together {
        /// The messages.
        points: Vec<Point>,
        /// The operations.
        collectives: Vec<Collective>,
    },
    /// As [`Self::Begin`], where it is known how many threads the program means to use.
    BeginThreaded {
        /// The rank.
        rank: u32,
        /// How many there are.
        ranks: u32,
        /// What it asked for.
        asked: ThreadLevel,
        /// What it was granted.
        granted: ThreadLevel,
        /// How many threads the library made for itself until then.
        own_threads: u32,
    },
}

/// Which threads of a rank may call MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ThreadLevel {
    /// There is only one.
    Single,
    /// The one that began.
    Funneled,
    /// All, one at a time.
    Serialized,
    /// All.
    Multiple,
}

impl ThreadLevel {
    /// All levels, from the lowest on.
    pub const ALL: [Self; 4] = [
        Self::Single,
        Self::Funneled,
        Self::Serialized,
        Self::Multiple,
    ];

    /// Returns the level at a place among all.
    pub fn from_index(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }

    /// Returns its name: that of MPI's constant behind `MPI_THREAD_`, in small letters.
    pub fn name(self) -> &'static str {
        crate::journal::mpi::LEVELS[self as usize]
    }
}

/// A message, as one of its two ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Point {
    /// Which end.
    pub end: End,
    /// The other rank.
    pub peer: Peer,
    /// The tag; `None` for a receive of any.
    pub tag: Option<u32>,
    /// The bytes: of a receive, those that there is room for.
    pub bytes: u64,
    /// The communicator: a position in [`Trace::communicators`](crate::Trace::communicators).
    pub communicator: u32,
    /// The request by which it is waited for, where the call does not block; a rank uses a number for one at a time.
    pub request: Option<u32>,
}

/// An end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum End {
    /// It is sent.
    Send(SendMode),
    /// It is received.
    Receive,
    /// It is only waited for, and stays to be received.
    Probe,
}

/// How a message is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SendMode {
    /// As the library likes.
    #[default]
    Standard,
    /// The send is over only when the receive has begun.
    Synchronous,
    /// The send does not wait for the receiver.
    Buffered,
    /// The receive has begun, says the program.
    Ready,
}

impl SendMode {
    /// Returns its name in text traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Synchronous => "synchronous",
            Self::Buffered => "buffered",
            Self::Ready => "ready",
        }
    }
}

/// The other rank of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Peer {
    /// Nobody (`MPI_PROC_NULL`): the call does nothing.
    Nobody,
    /// This rank of the world.
    Rank(u32),
    /// Anybody (`MPI_ANY_SOURCE`); and who it was, where that is known.
    Any(Option<u32>),
}

/// A collective operation, as one rank calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Collective {
    /// Which.
    pub kind: CollectiveKind,
    /// The root, as a rank of the world, where there is one.
    pub root: Option<u32>,
    /// The bytes that this rank gives: to each, where each gets something else.
    pub given: u64,
    /// The bytes that it gets: from each, where each gives something else.
    pub got: u64,
    /// The communicator: a position in [`Trace::communicators`](crate::Trace::communicators).
    pub communicator: u32,
    /// The request, where the call does not block.
    pub request: Option<u32>,
}

/// A sort of collective operation; those whose ranks may have different amounts are of the same sort as those that may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CollectiveKind {
    /// Everybody waits for everybody: `MPI_Barrier`; also the making of communicators.
    Barrier,
    /// One gives the same to all: `MPI_Bcast`.
    Bcast,
    /// One gets something from each: `MPI_Gather`, `MPI_Gatherv`.
    Gather,
    /// One gives something to each: `MPI_Scatter`, `MPI_Scatterv`.
    Scatter,
    /// Everybody gets something from each: `MPI_Allgather`, `MPI_Allgatherv`.
    Allgather,
    /// Everybody gives something else to each: `MPI_Alltoall`, `MPI_Alltoallv`, `MPI_Alltoallw`.
    Alltoall,
    /// One gets what all have together: `MPI_Reduce`.
    Reduce,
    /// Everybody gets what all have together: `MPI_Allreduce`.
    Allreduce,
    /// Everybody gets a part of what all have together: `MPI_Reduce_scatter`, `MPI_Reduce_scatter_block`.
    ReduceScatter,
    /// Everybody gets what those up to it have together: `MPI_Scan`, `MPI_Exscan`.
    Scan,
}

impl CollectiveKind {
    /// All sorts.
    pub const ALL: [Self; 10] = [
        Self::Barrier,
        Self::Bcast,
        Self::Gather,
        Self::Scatter,
        Self::Allgather,
        Self::Alltoall,
        Self::Reduce,
        Self::Allreduce,
        Self::ReduceScatter,
        Self::Scan,
    ];

    /// Returns its name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Bcast => "bcast",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Allgather => "allgather",
            Self::Alltoall => "alltoall",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::ReduceScatter => "reduce-scatter",
            Self::Scan => "scan",
        }
    }
}

/// Some ranks that have messages of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Communicator {
    /// Its name, unique in the trace; `world` is that of all ranks.
    pub name: String,
    /// Its members, as ranks of the world, in their order within it; where it has two sides, the one's and then the other's.
    pub members: Vec<u32>,
}

impl Action {
    /// Returns the messages that it is about.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        let (points, pair): (&[Point], _) = match self {
            Self::Point(point) => (std::slice::from_ref(point), None),
            Self::Exchange { sent, received } => (&[], Some([sent, received])),
            Self::Several(points) | Self::Exchanges(points) | Self::Together { points, .. } => {
                (points, None)
            }
            _ => (&[], None),
        };
        points.iter().chain(pair.into_iter().flatten())
    }

    /// Returns the collective operations that it is about.
    pub fn collectives(&self) -> impl Iterator<Item = &Collective> {
        let collectives: &[Collective] = match self {
            Self::Collective(collective) => std::slice::from_ref(collective),
            Self::Together { collectives, .. } => collectives,
            _ => &[],
        };
        collectives.iter()
    }

    /// Returns which rank of how many begins.
    pub fn begun(&self) -> Option<(u32, u32)> {
        match *self {
            Self::Begin { rank, ranks } | Self::BeginThreaded { rank, ranks, .. } => {
                Some((rank, ranks))
            }
            _ => None,
        }
    }

    /// Returns the communicators that it names.
    pub fn communicators(&self) -> impl Iterator<Item = u32> {
        let collective = self.collectives().map(|call| call.communicator);
        let points = self.points().map(|point| point.communicator);
        points.chain(collective)
    }
}

impl fmt::Display for Message {
    /// Says what the call did in a few words: `isend to 3, 800 bytes`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        for (index, point) in self.action.points().enumerate() {
            out.write_str(if index == 0 { " " } else { "; " })?;
            if index == 4 {
                return out.write_str("...");
            }
            out.write_str(match point.end {
                End::Send(_) => "to ",
                End::Receive | End::Probe => "from ",
            })?;
            match point.peer {
                Peer::Nobody => out.write_str("nobody")?,
                Peer::Rank(rank) => write!(out, "{rank}")?,
                Peer::Any(None) => out.write_str("anybody")?,
                Peer::Any(Some(rank)) => write!(out, "anybody, it was {rank}")?,
            }
            write!(out, ", {} bytes", point.bytes)?;
        }
        match &self.action {
            Action::Collective(call) => {
                if let Some(root) = call.root {
                    write!(out, " of {root}")?;
                }
                if call.given.max(call.got) > 0 {
                    write!(out, ", {} bytes", call.given.max(call.got))?;
                }
            }
            Action::Wait { requests } if requests.len() != 1 => {
                write!(out, " for {}", requests.len())?;
            }
            Action::Tries { count } => write!(out, ", {count} times in vain")?,
            Action::Begin { rank, ranks } | Action::BeginThreaded { rank, ranks, .. } => {
                write!(out, " as rank {rank} of {ranks}")?;
            }
            Action::Span { bytes } if *bytes > 0 => {
                out.write_char(' ')?;
                write!(out, "{bytes} bytes")?;
            }
            _ => {}
        }
        Ok(())
    }
}
