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
//! | [`Class::Begin`] | | rank, ranks, handles of the world's and the own communicator, threads that the library made |
//! | [`Class::Send`] | [`envelope`], bytes, communicator | the request, where it does not block or is persistent |
//! | [`Class::Receive`] | [`envelope`], bytes, communicator | the request; where it blocks, the [`envelope`] that was met |
//! | [`Class::SendReceive`] | as of a send and of a receive: seven words with the communicator at the end | the envelope that was met |
//! | [`Class::Probe`] | [`envelope`], communicator | the envelope that was met |
//! | [`Class::Start`], [`Class::Free`] | requests | |
//! | [`Class::Wait`] | requests | of [`Waits::One`] and [`Waits::All`] the envelope of each; else pairs: position, envelope |
//! | [`Class::Collective`] | communicator, root, bytes given, bytes got | the request, where it does not block |
//! | [`Class::Make`] | communicator | the new one's handle, its members' number, that of the remote group's, all their ranks in the world |
//! | [`Class::Drop`] | communicator | |
//! | [`Class::Span`] | bytes | |
//!
//! A test or a probe that found nothing has the outcome *busy*, and as words of its return how often it was made in a row
//! and the ticks between the first and the last.

/// Stands for any rank or any tag.
pub const ANY: u32 = u32::MAX;

/// Stands for the rank that is nobody.
pub const NOBODY: u32 = u32::MAX - 1;

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
    SendReceive,
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
    /// Does something together with all of a communicator.
    Collective(Collects, Ends),
    /// Makes a communicator. Most are made by all members of an old one together.
    Make {
        /// Whether all members of the old one must call.
        together: bool,
    },
    /// Gives one up.
    Drop,
    /// Takes time, and may move data.
    Span,
}

/// A function of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name without `MPI_`.
    pub name: &'static str,
    /// What it does.
    pub class: Class,
}

macro_rules! functions {
    ($($name:ident: $class:expr,)*) => {
        /// The functions that are recorded. Their positions are part of the format: new ones are added at the end.
        pub const FUNCTIONS: &[Function] = &[
            $(Function { name: stringify!($name), class: $class },)*
        ];

        #[expect(non_camel_case_types, reason = "named as the functions are")]
        #[derive(Clone, Copy)]
        enum Position { $($name,)* }

        /// The functions' positions in [`FUNCTIONS`].
        #[expect(non_upper_case_globals, missing_docs, reason = "named as the functions are")]
        pub mod position {
            $(pub const $name: u16 = super::Position::$name as u16;)*
        }
    };
}

use Class::{
    Begin, Collective, Drop, End, Free, Make, Probe, Receive, Send, SendReceive, Span, Start, Wait,
};
use Ends::{ByRequest, Itself, Persistent};

const MAKE: Class = Make { together: true };

const fn wait(waits: Waits) -> Class {
    Wait {
        waits,
        tries: false,
    }
}

const fn test(waits: Waits) -> Class {
    Wait { waits, tries: true }
}

functions! {
    Init: Begin,
    Init_thread: Begin,
    Finalize: End,
    Abort: End,
    Send: Send(Sends::Standard, Itself),
    Bsend: Send(Sends::Buffered, Itself),
    Ssend: Send(Sends::Synchronous, Itself),
    Rsend: Send(Sends::Ready, Itself),
    Isend: Send(Sends::Standard, ByRequest),
    Ibsend: Send(Sends::Buffered, ByRequest),
    Issend: Send(Sends::Synchronous, ByRequest),
    Irsend: Send(Sends::Ready, ByRequest),
    Send_init: Send(Sends::Standard, Persistent),
    Bsend_init: Send(Sends::Buffered, Persistent),
    Ssend_init: Send(Sends::Synchronous, Persistent),
    Rsend_init: Send(Sends::Ready, Persistent),
    Recv: Receive(Itself),
    Irecv: Receive(ByRequest),
    Recv_init: Receive(Persistent),
    Sendrecv: SendReceive,
    Sendrecv_replace: SendReceive,
    Probe: Probe { tries: false, takes: false },
    Iprobe: Probe { tries: true, takes: false },
    Mprobe: Probe { tries: false, takes: true },
    Improbe: Probe { tries: true, takes: true },
    Mrecv: Span,
    Imrecv: Span,
    Start: Start,
    Startall: Start,
    Wait: wait(Waits::One),
    Waitall: wait(Waits::All),
    Waitany: wait(Waits::Any),
    Waitsome: wait(Waits::Some),
    Test: test(Waits::One),
    Testall: test(Waits::All),
    Testany: test(Waits::Any),
    Testsome: test(Waits::Some),
    Request_free: Free,
    Cancel: Free,
    Barrier: Collective(Collects::Barrier, Itself),
    Bcast: Collective(Collects::Bcast, Itself),
    Gather: Collective(Collects::Gather, Itself),
    Gatherv: Collective(Collects::Gatherv, Itself),
    Scatter: Collective(Collects::Scatter, Itself),
    Scatterv: Collective(Collects::Scatterv, Itself),
    Allgather: Collective(Collects::Allgather, Itself),
    Allgatherv: Collective(Collects::Allgatherv, Itself),
    Alltoall: Collective(Collects::Alltoall, Itself),
    Alltoallv: Collective(Collects::Alltoallv, Itself),
    Alltoallw: Collective(Collects::Alltoallw, Itself),
    Reduce: Collective(Collects::Reduce, Itself),
    Allreduce: Collective(Collects::Allreduce, Itself),
    Reduce_scatter: Collective(Collects::ReduceScatter, Itself),
    Reduce_scatter_block: Collective(Collects::ReduceScatterBlock, Itself),
    Scan: Collective(Collects::Scan, Itself),
    Exscan: Collective(Collects::Exscan, Itself),
    Ibarrier: Collective(Collects::Barrier, ByRequest),
    Ibcast: Collective(Collects::Bcast, ByRequest),
    Igather: Collective(Collects::Gather, ByRequest),
    Igatherv: Collective(Collects::Gatherv, ByRequest),
    Iscatter: Collective(Collects::Scatter, ByRequest),
    Iscatterv: Collective(Collects::Scatterv, ByRequest),
    Iallgather: Collective(Collects::Allgather, ByRequest),
    Iallgatherv: Collective(Collects::Allgatherv, ByRequest),
    Ialltoall: Collective(Collects::Alltoall, ByRequest),
    Ialltoallv: Collective(Collects::Alltoallv, ByRequest),
    Ialltoallw: Collective(Collects::Alltoallw, ByRequest),
    Ireduce: Collective(Collects::Reduce, ByRequest),
    Iallreduce: Collective(Collects::Allreduce, ByRequest),
    Ireduce_scatter: Collective(Collects::ReduceScatter, ByRequest),
    Ireduce_scatter_block: Collective(Collects::ReduceScatterBlock, ByRequest),
    Iscan: Collective(Collects::Scan, ByRequest),
    Iexscan: Collective(Collects::Exscan, ByRequest),
    Comm_dup: MAKE,
    Comm_dup_with_info: MAKE,
    Comm_split: MAKE,
    Comm_split_type: MAKE,
    Comm_create: MAKE,
    Comm_create_group: Make { together: false },
    Cart_create: MAKE,
    Cart_sub: MAKE,
    Graph_create: MAKE,
    Dist_graph_create: MAKE,
    Dist_graph_create_adjacent: MAKE,
    Intercomm_create: Make { together: false },
    Intercomm_merge: Make { together: false },
    Comm_spawn: Make { together: false },
    Comm_spawn_multiple: Make { together: false },
    Comm_free: Drop,
    Comm_disconnect: Drop,
    File_open: Span,
    File_close: Span,
    File_read: Span,
    File_read_all: Span,
    File_read_at: Span,
    File_read_at_all: Span,
    File_write: Span,
    File_write_all: Span,
    File_write_at: Span,
    File_write_at_all: Span,
    Win_create: Span,
    Win_allocate: Span,
    Win_allocate_shared: Span,
    Win_free: Span,
    Win_fence: Span,
    Win_lock: Span,
    Win_unlock: Span,
    Win_lock_all: Span,
    Win_unlock_all: Span,
    Win_flush: Span,
    Win_post: Span,
    Win_start: Span,
    Win_complete: Span,
    Win_wait: Span,
    Put: Span,
    Get: Span,
    Accumulate: Span,
    Get_accumulate: Span,
    Fetch_and_op: Span,
    Compare_and_swap: Span,
}
