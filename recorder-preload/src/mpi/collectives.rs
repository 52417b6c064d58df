//! What all ranks of a communicator do together.

use core::ffi::c_int;

use foretrace_trace::journal::mpi::{Collects, Ends, position};

use super::arguments::Arguments;
use super::blocking;
use super::communicators;
use super::library::constants;
use super::messages::{bytes, rank, with_request};

/// Where arguments are: the communicator, the root, and the request of the function that does not block, which is the last.
struct Places {
    communicator: usize,
    root: Option<usize>,
    request: usize,
}

fn places(sort: Collects) -> Places {
    let (communicator, root) = match sort {
        Collects::Barrier => (0, None),
        Collects::Bcast => (4, Some(3)),
        Collects::Reduce => (6, Some(5)),
        Collects::Allreduce
        | Collects::Scan
        | Collects::Exscan
        | Collects::ReduceScatter
        | Collects::ReduceScatterBlock => (5, None),
        Collects::Gather | Collects::Scatter => (7, Some(6)),
        Collects::Gatherv | Collects::Scatterv => (8, Some(7)),
        Collects::Allgather | Collects::Alltoall => (6, None),
        Collects::Allgatherv => (7, None),
        Collects::Alltoallv | Collects::Alltoallw => (8, None),
    };
    Places {
        communicator,
        root,
        request: communicator + 1,
    }
}

/// Returns where the request of the function that does not block is.
pub fn request_place(sort: Collects) -> usize {
    places(sort).request
}

/// Records a collective operation, with what this rank gives and gets: of all that goes to or comes from each alike, what it
/// is for one of them.
pub fn collective(arguments: &Arguments, sort: Collects, ends: Ends) -> c_int {
    let places = places(sort);
    let communicator = match arguments.position {
        // A window is a communicator of its own.
        position::Win_fence => arguments.handle(1),
        position::Win_free => arguments.handle_at(0),
        _ => arguments.handle(places.communicator),
    };
    let root = places.root.map_or(0, |root| rank(arguments.int(root)));
    let (given, got) = amounts(arguments, sort, communicator, root);
    let words = [communicator as u64, u64::from(root), given, got];
    match ends {
        Ends::Itself => blocking(arguments, &words, |_| 0),
        Ends::ByRequest => with_request(arguments, &words, places.request),
        // Before it, there is what else the library may know of.
        Ends::Persistent => with_request(arguments, &words, places.request + 1),
    }
}

/// Returns how many bytes are given and got.
fn amounts(arguments: &Arguments, sort: Collects, communicator: usize, root: u32) -> (u64, u64) {
    let in_place = |index: usize| arguments.word(index) == constants().family.in_place();
    let amount =
        |count: usize, datatype: usize| bytes(arguments.count(count), arguments.handle(datatype));
    let is_root = || communicators::own_rank(communicator) == root;
    let both = |amount: u64| (amount, amount);
    match sort {
        Collects::Barrier => (0, 0),
        Collects::Reduce | Collects::Allreduce | Collects::Scan | Collects::Exscan => {
            both(amount(2, 3))
        }
        Collects::ReduceScatter => {
            let elements = sum(arguments, 2, communicator);
            both(bytes(elements, arguments.handle(3)))
        }
        Collects::ReduceScatterBlock => {
            both(amount(2, 3) * communicators::size(communicator) as u64)
        }
        Collects::Gather | Collects::Allgather | Collects::Alltoall => {
            let theirs = in_place(0);
            both(if theirs { amount(4, 5) } else { amount(1, 2) })
        }
        Collects::Scatter => both(if is_root() {
            amount(1, 2)
        } else {
            amount(4, 5)
        }),
        Collects::Gatherv if is_root() => both(mean(arguments, 4, 6, communicator)),
        Collects::Bcast | Collects::Gatherv => both(amount(1, 2)),
        Collects::Scatterv if is_root() => both(mean(arguments, 1, 3, communicator)),
        Collects::Scatterv => both(amount(5, 6)),
        Collects::Allgatherv => both(mean(arguments, 4, 6, communicator)),
        Collects::Alltoallv => {
            let got = mean(arguments, 5, 7, communicator);
            let given = if in_place(0) {
                got
            } else {
                mean(arguments, 1, 3, communicator)
            };
            (given, got)
        }
        Collects::Alltoallw => {
            let got = mean_of_types(arguments, 5, 7, communicator);
            let given = if in_place(0) {
                got
            } else {
                mean_of_types(arguments, 1, 3, communicator)
            };
            (given, got)
        }
    }
}

/// Returns the sum of an argument's counts, one for each rank.
fn sum(arguments: &Arguments, counts: usize, communicator: usize) -> usize {
    (0..communicators::peers(communicator))
        .map(|place| arguments.count_in(counts, place))
        .sum()
}

/// Returns the mean of what the ranks get or give, one count for each.
fn mean(arguments: &Arguments, counts: usize, datatype: usize, communicator: usize) -> u64 {
    let ranks = communicators::peers(communicator).max(1) as u64;
    let all = bytes(
        sum(arguments, counts, communicator),
        arguments.handle(datatype),
    );
    all.div_ceil(ranks)
}

/// As [`mean`], with a type for each rank, too.
fn mean_of_types(arguments: &Arguments, counts: usize, types: usize, communicator: usize) -> u64 {
    let ranks = communicators::peers(communicator);
    let amount = |place| {
        let count = arguments.count_in(counts, place);
        if count == 0 {
            return 0;
        }
        bytes(count, arguments.handle_in(types, place))
    };
    let all: u64 = (0..ranks).map(amount).sum();
    all.div_ceil(ranks.max(1) as u64)
}
