//! Collective operations with the neighbours in a topology.
//!
//! They are recorded as what they are: messages to and from each neighbour.

use core::ffi::c_int;

use foretrace_mpi::Topology;
use foretrace_trace::journal::mpi::{Ends, Exchanges};

use super::arguments::Arguments;
use super::blocking;
use super::communicators::own_rank;
use super::library::{Service, constants};
use super::messages::{bytes, rank, with_request};
use super::requests::with_words;

static TOPO_TEST: Service = Service::new(c"PMPI_Topo_test");
static CARTDIM_GET: Service = Service::new(c"PMPI_Cartdim_get");
static CART_SHIFT: Service = Service::new(c"PMPI_Cart_shift");
static GRAPH_COUNT: Service = Service::new(c"PMPI_Graph_neighbors_count");
static GRAPH_NEIGHBORS: Service = Service::new(c"PMPI_Graph_neighbors");
static DIST_GRAPH_COUNT: Service = Service::new(c"PMPI_Dist_graph_neighbors_count");
static DIST_GRAPH_NEIGHBORS: Service = Service::new(c"PMPI_Dist_graph_neighbors");

/// How a communicator's ranks are neighbours, and how many this rank has.
struct Neighbours {
    communicator: usize,
    topology: Option<Topology>,
    /// How many it sends to.
    outs: usize,
    /// How many it receives from.
    ins: usize,
}

impl Neighbours {
    fn of(communicator: usize) -> Self {
        let mut sort: c_int = -1;
        TOPO_TEST.call([communicator, &raw mut sort as usize, 0, 0, 0]);
        let topology = constants().family.topology(sort);
        let (mut outs, mut ins): (c_int, c_int) = (0, 0);
        match topology {
            Some(Topology::Cartesian) => {
                CARTDIM_GET.call([communicator, &raw mut outs as usize, 0, 0, 0]);
                outs = outs.saturating_mul(2);
                ins = outs;
            }
            Some(Topology::Graph) => {
                let own = own_rank(communicator) as usize;
                GRAPH_COUNT.call([communicator, own, &raw mut outs as usize, 0, 0]);
                ins = outs;
            }
            Some(Topology::DistributedGraph) => {
                let mut weighted: c_int = 0;
                DIST_GRAPH_COUNT.call([
                    communicator,
                    &raw mut ins as usize,
                    &raw mut outs as usize,
                    &raw mut weighted as usize,
                    0,
                ]);
            }
            None => {}
        }
        let count = |count| usize::try_from(count).unwrap_or(0);
        Self {
            communicator,
            topology,
            outs: count(outs),
            ins: count(ins),
        }
    }

    /// Puts the ranks that are sent to, and then those that are received from, into every second word.
    fn put_ranks(&self, pairs: &mut [u64]) {
        let all = self.outs + self.ins;
        // Sources and their weights, destinations and theirs.
        with_words(all + 1, |room| {
            let ints = room.as_mut_ptr().cast::<c_int>();
            let at = |place: usize| {
                // SAFETY: there are two for each word.
                unsafe { ints.add(place) }
            };
            let (own, communicator) = (own_rank(self.communicator) as usize, self.communicator);
            // Where those begin that are sent to; those received from are always first.
            let first_out = match self.topology {
                Some(Topology::Cartesian) => {
                    for dimension in 0..self.outs / 2 {
                        CART_SHIFT.call([
                            communicator,
                            dimension,
                            1,
                            at(2 * dimension) as usize,
                            at(2 * dimension + 1) as usize,
                        ]);
                    }
                    0
                }
                Some(Topology::Graph) => {
                    GRAPH_NEIGHBORS.call([communicator, own, self.outs, ints as usize, 0]);
                    0
                }
                Some(Topology::DistributedGraph) => {
                    DIST_GRAPH_NEIGHBORS.call_with([
                        communicator,
                        self.ins,
                        ints as usize,
                        at(self.ins) as usize,
                        self.outs,
                        at(2 * self.ins) as usize,
                        at(2 * self.ins + self.outs) as usize,
                    ]);
                    2 * self.ins
                }
                None => return,
            };
            for (place, pair) in pairs.chunks_exact_mut(2).enumerate() {
                let place = match place.checked_sub(self.outs) {
                    None => first_out + place,
                    Some(place) => place,
                };
                // SAFETY: within the room, which is zeroed or was filled in.
                pair[0] = u64::from(rank(unsafe { at(place).read() }));
            }
        });
    }
}

/// Where the arguments of what is sent are, and of what is received; the latter four words on.
struct Places {
    communicator: usize,
    sent: Amount,
    received: Amount,
}

/// How the amount for each neighbour is said.
#[derive(Clone, Copy)]
enum Amount {
    /// The same for all: a count and a type.
    Alike(usize, usize),
    /// Counts, and one type.
    Counts(usize, usize),
    /// Counts, and as many types.
    CountsAndTypes(usize, usize),
}

impl Amount {
    /// Returns the bytes for a neighbour.
    fn of(self, arguments: &Arguments, place: usize) -> u64 {
        match self {
            Self::Alike(count, datatype) => {
                bytes(arguments.count(count), arguments.handle(datatype))
            }
            Self::Counts(counts, datatype) => bytes(
                arguments.count_in(counts, place),
                arguments.handle(datatype),
            ),
            Self::CountsAndTypes(counts, types) => bytes(
                arguments.count_in(counts, place),
                arguments.handle_in(types, place),
            ),
        }
    }
}

fn places(sort: Exchanges) -> Places {
    use Amount::{Alike, Counts, CountsAndTypes};
    let (communicator, sent, received) = match sort {
        Exchanges::Allgather | Exchanges::Alltoall => (6, Alike(1, 2), Alike(4, 5)),
        Exchanges::Allgatherv => (7, Alike(1, 2), Counts(4, 6)),
        Exchanges::Alltoallv => (8, Counts(1, 3), Counts(5, 7)),
        Exchanges::Alltoallw => (8, CountsAndTypes(1, 3), CountsAndTypes(5, 7)),
    };
    Places {
        communicator,
        sent,
        received,
    }
}

/// Returns where the request of the function that does not block is.
pub fn request_place(sort: Exchanges) -> usize {
    places(sort).communicator + 1
}

/// Records what a rank sends to its neighbours and receives from them.
pub fn exchange(arguments: &Arguments, sort: Exchanges, ends: Ends) -> c_int {
    let places = places(sort);
    let communicator = arguments.handle(places.communicator);
    let neighbours = Neighbours::of(communicator);
    let count = neighbours.outs + neighbours.ins;
    with_words(3 + 2 * count, |words| {
        if let [own, outs, ins, pairs @ ..] = words {
            *own = communicator as u64;
            *outs = neighbours.outs as u64;
            *ins = neighbours.ins as u64;
            neighbours.put_ranks(pairs);
            for (place, pair) in pairs.chunks_exact_mut(2).enumerate() {
                pair[1] = match place.checked_sub(neighbours.outs) {
                    None => places.sent.of(arguments, place),
                    Some(place) => places.received.of(arguments, place),
                };
            }
        }
        let request = places.communicator + 1;
        match ends {
            Ends::Itself => blocking(arguments, words, |_| 0),
            Ends::ByRequest => with_request(arguments, words, request),
            Ends::Persistent => with_request(arguments, words, request + 1),
        }
    })
}
