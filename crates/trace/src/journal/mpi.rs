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

/// A function of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name without `MPI_`.
    pub name: &'static str,
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

const fn is_wide(name: &str) -> bool {
    matches!(name.as_bytes(), [.., b'_', b'c'])
}

macro_rules! functions {
    ($($name:ident: $class:expr,)*) => {
        /// The functions that are recorded. Their positions are part of the format: new ones are added at the end.
        pub const FUNCTIONS: &[Function] = &[
            $(Function {
                name: stringify!($name),
                class: $class,
                is_wide: is_wide(stringify!($name)),
            },)*
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
    Arrived, Begin, Collective, Drop, End, Epoch, Free, Make, Neighbours, Probe, Ready, Receive,
    Send, Span, Start, Wait,
};
use Ends::{ByRequest, Itself, Persistent};

/// Makes a communicator without all members of an old one.
const MAKE_APART: Class = Make { together: false };

const fn exchange(replaces: bool, ends: Ends) -> Class {
    Class::SendReceive { replaces, ends }
}

const fn transfer(count: u8, datatype: u8) -> Class {
    Class::Transfer {
        count: Some(count),
        datatype,
        window: None,
    }
}

const fn put(window: u8) -> Class {
    Class::Transfer {
        count: Some(1),
        datatype: 2,
        window: Some(InWindow {
            rank: 3,
            window,
            puts: true,
            gets: false,
        }),
    }
}

const GET: Class = Class::Transfer {
    count: Some(1),
    datatype: 2,
    window: Some(InWindow {
        rank: 3,
        window: 7,
        puts: false,
        gets: true,
    }),
};

/// Puts what comes back as it was before.
const fn exchange_in(count: Option<u8>, datatype: u8, rank: u8, window: u8) -> Class {
    Class::Transfer {
        count,
        datatype,
        window: Some(InWindow {
            rank,
            window,
            puts: true,
            gets: true,
        }),
    }
}

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
    Sendrecv: exchange(false, Itself),
    Sendrecv_replace: exchange(true, Itself),
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
    Comm_create_group: MAKE_APART,
    Cart_create: MAKE,
    Cart_sub: MAKE,
    Graph_create: MAKE,
    Dist_graph_create: MAKE,
    Dist_graph_create_adjacent: MAKE,
    Intercomm_create: MAKE_APART,
    Intercomm_merge: MAKE_APART,
    Comm_spawn: MAKE_APART,
    Comm_spawn_multiple: MAKE_APART,
    Comm_free: Drop,
    Comm_disconnect: Drop,
    File_open: Span,
    File_close: Span,
    File_read: transfer(2, 3),
    File_read_all: transfer(2, 3),
    File_read_at: transfer(3, 4),
    File_read_at_all: transfer(3, 4),
    File_write: transfer(2, 3),
    File_write_all: transfer(2, 3),
    File_write_at: transfer(3, 4),
    File_write_at_all: transfer(3, 4),
    Win_create: MAKE,
    Win_allocate: MAKE,
    Win_allocate_shared: MAKE,
    Win_free: Collective(Collects::Barrier, Itself),
    Win_fence: Collective(Collects::Barrier, Itself),
    Win_lock: Span,
    Win_unlock: Span,
    Win_lock_all: Span,
    Win_unlock_all: Span,
    Win_flush: Span,
    Win_post: Epoch(Epochs::Post),
    Win_start: Epoch(Epochs::Start),
    Win_complete: Epoch(Epochs::Complete),
    Win_wait: Epoch(Epochs::Wait),
    Put: put(7),
    Get: GET,
    Accumulate: put(8),
    Get_accumulate: exchange_in(Some(4), 5, 6, 11),
    Fetch_and_op: exchange_in(None, 2, 3, 6),
    Compare_and_swap: exchange_in(None, 3, 4, 6),
    Neighbor_allgather: Neighbours(Exchanges::Allgather, Itself),
    Ineighbor_allgather: Neighbours(Exchanges::Allgather, ByRequest),
    Neighbor_allgatherv: Neighbours(Exchanges::Allgatherv, Itself),
    Ineighbor_allgatherv: Neighbours(Exchanges::Allgatherv, ByRequest),
    Neighbor_alltoall: Neighbours(Exchanges::Alltoall, Itself),
    Ineighbor_alltoall: Neighbours(Exchanges::Alltoall, ByRequest),
    Neighbor_alltoallv: Neighbours(Exchanges::Alltoallv, Itself),
    Ineighbor_alltoallv: Neighbours(Exchanges::Alltoallv, ByRequest),
    Neighbor_alltoallw: Neighbours(Exchanges::Alltoallw, Itself),
    Ineighbor_alltoallw: Neighbours(Exchanges::Alltoallw, ByRequest),
    Comm_idup: MAKE_APART,
    Comm_accept: MAKE_APART,
    Comm_connect: MAKE_APART,
    Comm_join: MAKE_APART,
    Comm_get_parent: MAKE_APART,
    File_iread: transfer(2, 3),
    File_iwrite: transfer(2, 3),
    File_read_shared: transfer(2, 3),
    File_write_shared: transfer(2, 3),
    File_iread_shared: transfer(2, 3),
    File_iwrite_shared: transfer(2, 3),
    File_read_ordered: transfer(2, 3),
    File_write_ordered: transfer(2, 3),
    File_iread_all: transfer(2, 3),
    File_iwrite_all: transfer(2, 3),
    File_iread_at: transfer(3, 4),
    File_iwrite_at: transfer(3, 4),
    File_iread_at_all: transfer(3, 4),
    File_iwrite_at_all: transfer(3, 4),
    File_read_all_begin: transfer(2, 3),
    File_write_all_begin: transfer(2, 3),
    File_read_ordered_begin: transfer(2, 3),
    File_write_ordered_begin: transfer(2, 3),
    File_read_at_all_begin: transfer(3, 4),
    File_write_at_all_begin: transfer(3, 4),
    File_read_all_end: Span,
    File_write_all_end: Span,
    File_read_ordered_end: Span,
    File_write_ordered_end: Span,
    File_read_at_all_end: Span,
    File_write_at_all_end: Span,
    File_sync: Span,
    Rput: put(7),
    Rget: GET,
    Raccumulate: put(8),
    Rget_accumulate: exchange_in(Some(4), 5, 6, 11),
    Win_flush_all: Span,
    Win_flush_local: Span,
    Win_flush_local_all: Span,
    Win_create_dynamic: MAKE,
    Win_attach: Span,
    Win_detach: Span,
    Win_sync: Span,
    Isendrecv: exchange(false, ByRequest),
    Isendrecv_replace: exchange(true, ByRequest),
    Barrier_init: Collective(Collects::Barrier, Persistent),
    Bcast_init: Collective(Collects::Bcast, Persistent),
    Gather_init: Collective(Collects::Gather, Persistent),
    Gatherv_init: Collective(Collects::Gatherv, Persistent),
    Scatter_init: Collective(Collects::Scatter, Persistent),
    Scatterv_init: Collective(Collects::Scatterv, Persistent),
    Allgather_init: Collective(Collects::Allgather, Persistent),
    Allgatherv_init: Collective(Collects::Allgatherv, Persistent),
    Alltoall_init: Collective(Collects::Alltoall, Persistent),
    Alltoallv_init: Collective(Collects::Alltoallv, Persistent),
    Alltoallw_init: Collective(Collects::Alltoallw, Persistent),
    Reduce_init: Collective(Collects::Reduce, Persistent),
    Allreduce_init: Collective(Collects::Allreduce, Persistent),
    Reduce_scatter_init: Collective(Collects::ReduceScatter, Persistent),
    Reduce_scatter_block_init: Collective(Collects::ReduceScatterBlock, Persistent),
    Scan_init: Collective(Collects::Scan, Persistent),
    Exscan_init: Collective(Collects::Exscan, Persistent),
    Neighbor_allgather_init: Neighbours(Exchanges::Allgather, Persistent),
    Neighbor_allgatherv_init: Neighbours(Exchanges::Allgatherv, Persistent),
    Neighbor_alltoall_init: Neighbours(Exchanges::Alltoall, Persistent),
    Neighbor_alltoallv_init: Neighbours(Exchanges::Alltoallv, Persistent),
    Neighbor_alltoallw_init: Neighbours(Exchanges::Alltoallw, Persistent),
    Comm_idup_with_info: MAKE_APART,
    Psend_init: Class::Partitioned { sends: true },
    Precv_init: Class::Partitioned { sends: false },
    Pready: Ready,
    Pready_range: Ready,
    Pready_list: Ready,
    Parrived: Arrived,
    Session_init: Begin,
    Session_finalize: End,
    Comm_create_from_group: MAKE_APART,
    Intercomm_create_from_groups: MAKE_APART,
    Send_c: Send(Sends::Standard, Itself),
    Bsend_c: Send(Sends::Buffered, Itself),
    Ssend_c: Send(Sends::Synchronous, Itself),
    Rsend_c: Send(Sends::Ready, Itself),
    Isend_c: Send(Sends::Standard, ByRequest),
    Ibsend_c: Send(Sends::Buffered, ByRequest),
    Issend_c: Send(Sends::Synchronous, ByRequest),
    Irsend_c: Send(Sends::Ready, ByRequest),
    Send_init_c: Send(Sends::Standard, Persistent),
    Bsend_init_c: Send(Sends::Buffered, Persistent),
    Ssend_init_c: Send(Sends::Synchronous, Persistent),
    Rsend_init_c: Send(Sends::Ready, Persistent),
    Recv_c: Receive(Itself),
    Irecv_c: Receive(ByRequest),
    Recv_init_c: Receive(Persistent),
    Sendrecv_c: exchange(false, Itself),
    Sendrecv_replace_c: exchange(true, Itself),
    Mrecv_c: Span,
    Imrecv_c: Span,
    Bcast_c: Collective(Collects::Bcast, Itself),
    Gather_c: Collective(Collects::Gather, Itself),
    Gatherv_c: Collective(Collects::Gatherv, Itself),
    Scatter_c: Collective(Collects::Scatter, Itself),
    Scatterv_c: Collective(Collects::Scatterv, Itself),
    Allgather_c: Collective(Collects::Allgather, Itself),
    Allgatherv_c: Collective(Collects::Allgatherv, Itself),
    Alltoall_c: Collective(Collects::Alltoall, Itself),
    Alltoallv_c: Collective(Collects::Alltoallv, Itself),
    Alltoallw_c: Collective(Collects::Alltoallw, Itself),
    Reduce_c: Collective(Collects::Reduce, Itself),
    Allreduce_c: Collective(Collects::Allreduce, Itself),
    Reduce_scatter_c: Collective(Collects::ReduceScatter, Itself),
    Reduce_scatter_block_c: Collective(Collects::ReduceScatterBlock, Itself),
    Scan_c: Collective(Collects::Scan, Itself),
    Exscan_c: Collective(Collects::Exscan, Itself),
    Ibcast_c: Collective(Collects::Bcast, ByRequest),
    Igather_c: Collective(Collects::Gather, ByRequest),
    Igatherv_c: Collective(Collects::Gatherv, ByRequest),
    Iscatter_c: Collective(Collects::Scatter, ByRequest),
    Iscatterv_c: Collective(Collects::Scatterv, ByRequest),
    Iallgather_c: Collective(Collects::Allgather, ByRequest),
    Iallgatherv_c: Collective(Collects::Allgatherv, ByRequest),
    Ialltoall_c: Collective(Collects::Alltoall, ByRequest),
    Ialltoallv_c: Collective(Collects::Alltoallv, ByRequest),
    Ialltoallw_c: Collective(Collects::Alltoallw, ByRequest),
    Ireduce_c: Collective(Collects::Reduce, ByRequest),
    Iallreduce_c: Collective(Collects::Allreduce, ByRequest),
    Ireduce_scatter_c: Collective(Collects::ReduceScatter, ByRequest),
    Ireduce_scatter_block_c: Collective(Collects::ReduceScatterBlock, ByRequest),
    Iscan_c: Collective(Collects::Scan, ByRequest),
    Iexscan_c: Collective(Collects::Exscan, ByRequest),
    File_read_c: transfer(2, 3),
    File_read_all_c: transfer(2, 3),
    File_read_at_c: transfer(3, 4),
    File_read_at_all_c: transfer(3, 4),
    File_write_c: transfer(2, 3),
    File_write_all_c: transfer(2, 3),
    File_write_at_c: transfer(3, 4),
    File_write_at_all_c: transfer(3, 4),
    Win_create_c: MAKE,
    Win_allocate_c: MAKE,
    Win_allocate_shared_c: MAKE,
    Put_c: put(7),
    Get_c: GET,
    Accumulate_c: put(8),
    Get_accumulate_c: exchange_in(Some(4), 5, 6, 11),
    Neighbor_allgather_c: Neighbours(Exchanges::Allgather, Itself),
    Ineighbor_allgather_c: Neighbours(Exchanges::Allgather, ByRequest),
    Neighbor_allgatherv_c: Neighbours(Exchanges::Allgatherv, Itself),
    Ineighbor_allgatherv_c: Neighbours(Exchanges::Allgatherv, ByRequest),
    Neighbor_alltoall_c: Neighbours(Exchanges::Alltoall, Itself),
    Ineighbor_alltoall_c: Neighbours(Exchanges::Alltoall, ByRequest),
    Neighbor_alltoallv_c: Neighbours(Exchanges::Alltoallv, Itself),
    Ineighbor_alltoallv_c: Neighbours(Exchanges::Alltoallv, ByRequest),
    Neighbor_alltoallw_c: Neighbours(Exchanges::Alltoallw, Itself),
    Ineighbor_alltoallw_c: Neighbours(Exchanges::Alltoallw, ByRequest),
    File_iread_c: transfer(2, 3),
    File_iwrite_c: transfer(2, 3),
    File_read_shared_c: transfer(2, 3),
    File_write_shared_c: transfer(2, 3),
    File_iread_shared_c: transfer(2, 3),
    File_iwrite_shared_c: transfer(2, 3),
    File_read_ordered_c: transfer(2, 3),
    File_write_ordered_c: transfer(2, 3),
    File_iread_all_c: transfer(2, 3),
    File_iwrite_all_c: transfer(2, 3),
    File_iread_at_c: transfer(3, 4),
    File_iwrite_at_c: transfer(3, 4),
    File_iread_at_all_c: transfer(3, 4),
    File_iwrite_at_all_c: transfer(3, 4),
    File_read_all_begin_c: transfer(2, 3),
    File_write_all_begin_c: transfer(2, 3),
    File_read_ordered_begin_c: transfer(2, 3),
    File_write_ordered_begin_c: transfer(2, 3),
    File_read_at_all_begin_c: transfer(3, 4),
    File_write_at_all_begin_c: transfer(3, 4),
    Rput_c: put(7),
    Rget_c: GET,
    Raccumulate_c: put(8),
    Rget_accumulate_c: exchange_in(Some(4), 5, 6, 11),
    Isendrecv_c: exchange(false, ByRequest),
    Isendrecv_replace_c: exchange(true, ByRequest),
    Bcast_init_c: Collective(Collects::Bcast, Persistent),
    Gather_init_c: Collective(Collects::Gather, Persistent),
    Gatherv_init_c: Collective(Collects::Gatherv, Persistent),
    Scatter_init_c: Collective(Collects::Scatter, Persistent),
    Scatterv_init_c: Collective(Collects::Scatterv, Persistent),
    Allgather_init_c: Collective(Collects::Allgather, Persistent),
    Allgatherv_init_c: Collective(Collects::Allgatherv, Persistent),
    Alltoall_init_c: Collective(Collects::Alltoall, Persistent),
    Alltoallv_init_c: Collective(Collects::Alltoallv, Persistent),
    Alltoallw_init_c: Collective(Collects::Alltoallw, Persistent),
    Reduce_init_c: Collective(Collects::Reduce, Persistent),
    Allreduce_init_c: Collective(Collects::Allreduce, Persistent),
    Reduce_scatter_init_c: Collective(Collects::ReduceScatter, Persistent),
    Reduce_scatter_block_init_c: Collective(Collects::ReduceScatterBlock, Persistent),
    Scan_init_c: Collective(Collects::Scan, Persistent),
    Exscan_init_c: Collective(Collects::Exscan, Persistent),
    Neighbor_allgather_init_c: Neighbours(Exchanges::Allgather, Persistent),
    Neighbor_allgatherv_init_c: Neighbours(Exchanges::Allgatherv, Persistent),
    Neighbor_alltoall_init_c: Neighbours(Exchanges::Alltoall, Persistent),
    Neighbor_alltoallv_init_c: Neighbours(Exchanges::Alltoallv, Persistent),
    Neighbor_alltoallw_init_c: Neighbours(Exchanges::Alltoallw, Persistent),
    File_set_view: Span,
    File_set_size: Span,
    File_preallocate: Span,
    File_set_info: Span,
    File_set_atomicity: Span,
    File_seek_shared: Span,
    File_delete: Span,
    Buffer_detach: Span,
    Win_test: Epoch(Epochs::Wait),
}
