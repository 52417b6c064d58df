//! Calls of MPI as a journal holds them: which functions there are, and what the words mean that belong to their records.
//!
//! A call is a record of kind [`Kind::Mpi`](super::layout::Kind::Mpi), whose object is the function's position in
//! [`FUNCTIONS`], and its return; each is followed by words (records of kind [`Kind::Words`](super::layout::Kind::Words),
//! two words each). What differs between implementations of MPI is gone from them: ranks, tags and the handles of
//! what is not there are the constants of this module. Other handles are as the library has them, and name things within
//! their process only.
//!
//! | class | words of the call | words of the return |
//! |---|---|---|
//! | [`Class::Begin`] | the level of threads that is asked for, where it is said | rank, ranks, handles of the world's and the own communicator, threads that the library made, the level that it grants |
//! | [`Class::Send`] | [`envelope`], bytes, communicator | the request, where it does not block or is persistent |
//! | [`Class::Receive`] | [`envelope`], bytes, communicator | the request; where it blocks, the [`envelope`] that was met |
//! | [`Class::SendReceive`] | [`envelope`] and bytes of the send and of the receive, communicator | the request; where it blocks, the envelope that was met |
//! | [`Class::Partitioned`] | [`envelope`], bytes, communicator, how many partitions | the request |
//! | [`Class::Ready`] | request, how many partitions | |
//! | [`Class::Arrived`] | request | |
//! | [`Class::Probe`] | [`envelope`], communicator | the envelope that was met |
//! | [`Class::Start`], [`Class::Free`] | requests | |
//! | [`Class::Wait`] | requests | of [`Waits::One`] and [`Waits::All`] the envelope of each; else pairs: position, envelope |
//! | [`Class::Collective`] | communicator, root, bytes given, bytes got | the request, where it does not block |
//! | [`Class::Neighbours`] | communicator, how many are sent to and how many received from; of each rank and bytes | the request, where it does not block |
//! | [`Class::Make`] | communicator, where it is made from one | the new one's handle, its members' number, that of the remote group's, all their ranks in the world |
//! | [`Class::Drop`] | communicator | |
//! | [`Class::Transfer`] | bytes; where they are put into a window or come from there, its rank, and the window | |
//! | [`Class::Epoch`] | window; where it begins, the ranks in the world that it is with | |
//! | [`Class::End`], [`Class::Span`] | | |
//!
//! A window of one-sided communication is told as a communicator of its own, with the members of the one that it is made of.
//!
//! A level of threads is its place in [`LEVELS`].
//!
//! A test or a probe that found nothing has the outcome *busy*, and as words of its return how often it was made in a row
//! and the ticks of the program's own work in between.

use core::fmt;
use core::ops::Deref;

mod functions;

pub use functions::{FUNCTIONS, position};

/// Stands for any rank or any tag.
pub const ANY: u32 = u32::MAX;

/// Stands for the rank that is nobody.
pub const NOBODY: u32 = u32::MAX - 1;

/// The levels of support for threads, from `MPI_THREAD_SINGLE` on.
pub const LEVELS: [&str; 4] = ["single", "funneled", "serialized", "multiple"];

/// The handle of a request that is none.
pub const NO_REQUEST: u64 = 0;

/// Returns a rank and a tag as one word.
pub const fn envelope(rank: u32, tag: u32) -> u64 {
    rank as u64 | (tag as u64) << 32
}

/// Returns the rank and the tag of a word.
pub const fn opened(envelope: u64) -> (u32, u32) {
    (envelope as u32, (envelope >> 32) as u32)
}

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// As the library likes.
    Standard,
    /// Over when the receive has begun.
    Synchronous,
    /// Over when the message is kept elsewhere.
    Buffered,
    /// The receive has begun.
    Ready,
}

/// How a call goes on with what it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It blocks until that is over.
    Itself,
    /// It gives a request for it.
    ByRequest,
    /// It gives a request that begins it again and again.
    Persistent,
}

/// For how many of its requests a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The only one.
    One,
    /// All.
    All,
    /// Any one.
    Any,
    /// At least one.
    Some,
}

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collects {
    /// `MPI_Barrier`
    Barrier,
    /// `MPI_Bcast`
    Bcast,
    /// `MPI_Gather`
    Gather,
    /// `MPI_Gatherv`
    Gatherv,
    /// `MPI_Scatter`
    Scatter,
    /// `MPI_Scatterv`
    Scatterv,
    /// `MPI_Allgather`
    Allgather,
    /// `MPI_Allgatherv`
    Allgatherv,
    /// `MPI_Alltoall`
    Alltoall,
    /// `MPI_Alltoallv`
    Alltoallv,
    /// `MPI_Alltoallw`
    Alltoallw,
    /// `MPI_Reduce`
    Reduce,
    /// `MPI_Allreduce`
    Allreduce,
    /// `MPI_Reduce_scatter`
    ReduceScatter,
    /// `MPI_Reduce_scatter_block`
    ReduceScatterBlock,
    /// `MPI_Scan`
    Scan,
    /// `MPI_Exscan`
    Exscan,
}

/// A collective operation with the neighbours in a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchanges {
    /// `MPI_Neighbor_allgather`
    Allgather,
    /// `MPI_Neighbor_allgatherv`
    Allgatherv,
    /// `MPI_Neighbor_alltoall`
    Alltoall,
    /// `MPI_Neighbor_alltoallv`
    Alltoallv,
    /// `MPI_Neighbor_alltoallw`
    Alltoallw,
}

/// What a function does, as far as replays care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Begins the use of MPI.
    Begin,
    /// Ends it.
    End,
    /// Sends a message.
    Send(Sends, Ends),
    /// Receives one.
    Receive(Ends),
    /// Does both.
    SendReceive {
        /// Whether what is received takes the place of what is sent.
        replaces: bool,
        /// How it goes on.
        ends: Ends,
    },
    /// Makes a persistent request for a message that comes in partitions.
    Partitioned {
        /// Whether it is sent.
        sends: bool,
    },
    /// Says that partitions may be sent.
    Ready,
    /// Looks whether a partition was received.
    Arrived,
    /// Waits for a message that can be received, or looks for one.
    Probe {
        /// Whether it only looks.
        tries: bool,
        /// Whether it takes the message off.
        takes: bool,
    },
    /// Begins what persistent requests stand for.
    Start,
    /// Waits for requests, or looks whether they are over.
    Wait {
        /// For how many.
        waits: Waits,
        /// Whether it only looks.
        tries: bool,
    },
    /// Gives up a request.
    Free,
    /// Does something together with all of a communicator, or of a window.
    Collective(Collects, Ends),
    /// Exchanges data with its neighbours in a topology, as all of the communicator do.
    Neighbours(Exchanges, Ends),
    /// Makes a communicator, or a window. Most are made by all members of an old one together.
    Make {
        /// Whether all members of the old one must call.
        together: bool,
    },
    /// Gives one up.
    Drop,
    /// Takes time.
    Span,
    /// Moves data without a call on the other side.
    Transfer {
        /// The argument that says how many elements; one, where there is none.
        count: Option<u8>,
        /// The argument that says of which type.
        datatype: u8,
        /// Where that is not a file.
        window: Option<InWindow>,
    },
    /// Begins or ends the time in which some ranks may use a window.
    Epoch(Epochs),
}

/// Moves data from or to a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InWindow {
    /// The argument that says of which rank.
    pub rank: u8,
    /// The argument that says which window.
    pub window: u8,
    /// Whether data go there.
    pub puts: bool,
    /// Whether data come from there.
    pub gets: bool,
}

/// Begins or ends the time in which some ranks may use a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epochs {
    /// Lets a group use the own part.
    Post,
    /// Begins to use the parts of a group.
    Start,
    /// Ends that.
    Complete,
    /// Waits until all have ended that may use the own part, or looks whether they have.
    Wait,
}

/// The name of a function, within the value: the recorder is loaded into every process of a recording, and for each pointer in its
/// tables the dynamic linker would have to write to them there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; LONGEST_NAME],
    length: u8,
}

/// The bytes of the longest name.
const LONGEST_NAME: usize = 31;

impl Name {
    const fn new(name: &str) -> Self {
        let name = name.as_bytes();
        let mut bytes = [0; LONGEST_NAME];
        let (place, _) = bytes.split_at_mut(name.len());
        place.copy_from_slice(name);
        Self {
            bytes,
            length: name.len() as u8,
        }
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        let name = &self.bytes[..usize::from(self.length)];
        str::from_utf8(name).unwrap_or_default()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, to)
    }
}

/// A function of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name without `MPI_`.
    pub name: Name,
    /// What it does.
    pub class: Class,
    /// Whether it counts in 64 bits: those of the names that end with `_c`.
    pub is_wide: bool,
}

impl Function {
    /// Returns whether it makes a window of one-sided communication, which is told as a communicator.
    pub fn makes_window(&self) -> bool {
        matches!(self.class, Class::Make { .. }) && self.name.starts_with("Win_")
    }
}
