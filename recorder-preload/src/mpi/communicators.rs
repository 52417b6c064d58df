//! The beginning of MPI, and communicators: who their members are, in the world's numbers.

use core::ffi::c_int;

use foretrace_recorder::message;
use foretrace_trace::journal::mpi::{NOBODY, position};

use super::arguments::Arguments;
use super::library::{Service, constants};
use super::requests::with_words;
use super::{blocking, outcome};
use crate::thread;

static COMM_RANK: Service = Service::new(c"PMPI_Comm_rank");
static COMM_SIZE: Service = Service::new(c"PMPI_Comm_size");
static COMM_REMOTE_SIZE: Service = Service::new(c"PMPI_Comm_remote_size");
static COMM_TEST_INTER: Service = Service::new(c"PMPI_Comm_test_inter");
static COMM_GROUP: Service = Service::new(c"PMPI_Comm_group");
static COMM_REMOTE_GROUP: Service = Service::new(c"PMPI_Comm_remote_group");
static GROUP_TRANSLATE: Service = Service::new(c"PMPI_Group_translate_ranks");
static GROUP_FREE: Service = Service::new(c"PMPI_Group_free");

/// Asks for an `int`; -1 where that fails.
fn ask(service: &Service, communicator: usize) -> c_int {
    let mut answer: c_int = -1;
    match service.call([communicator, &raw mut answer as usize, 0, 0, 0]) {
        0 => answer,
        _ => -1,
    }
}

/// Returns the calling rank's number in a communicator.
pub fn own_rank(communicator: usize) -> u32 {
    u32::try_from(ask(&COMM_RANK, communicator)).unwrap_or(NOBODY)
}

/// Returns the number of a communicator's members.
pub fn size(communicator: usize) -> usize {
    usize::try_from(ask(&COMM_SIZE, communicator)).unwrap_or(0)
}

/// Returns the number of those that a member talks to.
pub fn peers(communicator: usize) -> usize {
    remote_size(communicator).unwrap_or_else(|| size(communicator))
}

/// Returns the number of ranks on the other side of a communicator that has two.
fn remote_size(communicator: usize) -> Option<usize> {
    if ask(&COMM_TEST_INTER, communicator) <= 0 {
        return None;
    }
    usize::try_from(ask(&COMM_REMOTE_SIZE, communicator)).ok()
}

/// Records the beginning: who this rank is.
pub fn begin(arguments: &Arguments) -> c_int {
    blocking(arguments, &[], |returned| {
        let constants = constants();
        let world = constants.comm_world;
        returned[..5].copy_from_slice(&[
            u64::from(own_rank(world)),
            size(world) as u64,
            world as u64,
            constants.comm_self as u64,
            thread::of_libraries(),
        ]);
        5
    })
}

/// Records that a communicator is given up.
pub fn drop(arguments: &Arguments) -> c_int {
    blocking(arguments, &[arguments.handle_at(0) as u64], |_| 0)
}

/// Returns where the old communicator's argument is, and the new one's.
fn places(position: u16) -> (usize, usize) {
    match position {
        position::Comm_dup_with_info
        | position::Comm_create
        | position::Cart_sub
        | position::Intercomm_merge => (0, 2),
        position::Comm_split | position::Comm_create_group => (0, 3),
        position::Comm_split_type => (0, 4),
        position::Cart_create | position::Graph_create | position::Intercomm_create => (0, 5),
        position::Dist_graph_create => (0, 8),
        position::Dist_graph_create_adjacent => (0, 9),
        position::Comm_spawn => (5, 6),
        position::Comm_spawn_multiple => (6, 7),
        _ => (0, 1),
    }
}

/// Ranks that are translated at once.
const AT_ONCE: usize = 64;

/// The words of a return that tells of a communicator.
struct Telling<'w> {
    words: &'w mut [u64],
    count: usize,
}

impl Telling<'_> {
    fn push(&mut self, word: u64) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = word;
            self.count += 1;
        }
    }

    /// Adds the ranks of a group, by their numbers in the world.
    fn push_group(&mut self, communicator: usize, service: &Service, members: usize) {
        let mut group: usize = 0;
        let mut world: usize = 0;
        service.call([communicator, &raw mut group as usize, 0, 0, 0]);
        let own = constants().comm_world;
        COMM_GROUP.call([own, &raw mut world as usize, 0, 0, 0]);
        let mut first = 0;
        while first < members {
            let count = AT_ONCE.min(members - first);
            let mut ranks: [c_int; AT_ONCE] =
                core::array::from_fn(|index| c_int::try_from(first + index).unwrap_or(c_int::MAX));
            let mut found: [c_int; AT_ONCE] = [-1; AT_ONCE];
            GROUP_TRANSLATE.call([
                group,
                count,
                ranks.as_mut_ptr() as usize,
                world,
                found.as_mut_ptr() as usize,
            ]);
            for rank in &found[..count] {
                self.push(u64::from(u32::try_from(*rank).unwrap_or(NOBODY)));
            }
            first += count;
        }
        GROUP_FREE.call([&raw mut group as usize, 0, 0, 0, 0]);
        GROUP_FREE.call([&raw mut world as usize, 0, 0, 0, 0]);
    }
}

/// Records the making of a communicator: its handle, and the ranks of its members, which only the library knows.
pub fn make(arguments: &Arguments) -> c_int {
    let (old, new) = places(arguments.position);
    let tsc = message::begin();
    let words = [arguments.handle(old) as u64];
    message::put_call(tsc, arguments.position, arguments.site, &words);
    let result = arguments.forward();
    let made = arguments.handle_at(new);
    if result != foretrace_mpi::SUCCESS || made == constants().comm_null || made == 0 {
        message::put_return(arguments.position, outcome(result), &[]);
        return result;
    }
    tell(arguments, made);
    result
}

/// Records the return with the communicator that was made.
fn tell(arguments: &Arguments, made: usize) {
    let members = size(made);
    let remote = remote_size(made);
    with_words(3 + members + remote.unwrap_or(0), |words| {
        let mut telling = Telling { words, count: 0 };
        telling.push(made as u64);
        telling.push(members as u64);
        telling.push(remote.unwrap_or(0) as u64);
        telling.push_group(made, &COMM_GROUP, members);
        if let Some(remote) = remote {
            telling.push_group(made, &COMM_REMOTE_GROUP, remote);
        }
        let words = telling.words.get(..telling.count).unwrap_or_default();
        message::put_return(arguments.position, outcome(0), words);
    });
}
