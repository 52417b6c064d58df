//! The beginning of MPI, and communicators: who their members are, in the world's numbers.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use foretrace_recorder::message;
use foretrace_trace::journal::mpi::{FUNCTIONS, Function, NOBODY, position};

use super::additions;
use super::arguments::Arguments;
use super::library::{Service, constants};
use super::requests::with_words;
use super::{blocking, outcome, requests, waiting};
use crate::thread;

static COMM_RANK: Service = Service::new(c"PMPI_Comm_rank");
static COMM_SIZE: Service = Service::new(c"PMPI_Comm_size");
static COMM_REMOTE_SIZE: Service = Service::new(c"PMPI_Comm_remote_size");
static COMM_TEST_INTER: Service = Service::new(c"PMPI_Comm_test_inter");
static COMM_GROUP: Service = Service::new(c"PMPI_Comm_group");
static COMM_REMOTE_GROUP: Service = Service::new(c"PMPI_Comm_remote_group");
static GROUP_TRANSLATE: Service = Service::new(c"PMPI_Group_translate_ranks");
static GROUP_FROM_SESSION: Service = Service::new(c"PMPI_Group_from_session_pset");
static GROUP_RANK: Service = Service::new(c"PMPI_Group_rank");
static GROUP_SIZE: Service = Service::new(c"PMPI_Group_size");
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

/// Whether the use of MPI has begun: 0 for no, 1 by a session, 2 for the world.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// The group of all ranks, where there are only sessions.
static SESSIONS_WORLD: AtomicUsize = AtomicUsize::new(0);

/// Returns a level of support for threads by its place among all.
fn level(level: c_int) -> u64 {
    let levels = constants().family.thread_levels();
    let place = levels.iter().position(|&known| known == level);
    place.unwrap_or(levels.len()) as u64
}

/// Records the beginning: who this rank is.
pub fn begin(arguments: &Arguments) -> c_int {
    additions::hook();
    let asks = arguments.position == position::Init_thread;
    let asked = [level(arguments.int(2))];
    let words = if asks { asked.as_slice() } else { &[] };
    let result = blocking(arguments, words, |returned| {
        BEGUN.store(2, Ordering::Relaxed);
        let world = constants().comm_world;
        let granted = if asks { level(arguments.int_at(3)) } else { 0 };
        let ranks = size(world);
        waiting::decide(ranks);
        begun(returned, own_rank(world), ranks, granted)
    });
    requests::measure();
    result
}

/// Fills in the words of a beginning.
fn begun(returned: &mut [u64], rank: u32, ranks: usize, granted: u64) -> usize {
    let constants = constants();
    let words = [
        u64::from(rank),
        ranks as u64,
        constants.comm_world as u64,
        constants.comm_self as u64,
        thread::of_libraries(),
        granted,
    ];
    returned[..words.len()].copy_from_slice(&words);
    words.len()
}

/// Records the beginning of a session. Where nothing has begun before, it tells who this rank is.
pub fn begin_session(arguments: &Arguments) -> c_int {
    let result = blocking(arguments, &[], |returned| {
        if BEGUN.load(Ordering::Relaxed) != 0 {
            return 0;
        }
        let mut world: usize = 0;
        let (mut rank, mut ranks): (c_int, c_int) = (-1, 0);
        let (session, name) = (arguments.handle_at(2), c"mpi://WORLD".as_ptr() as usize);
        let fine = GROUP_FROM_SESSION.call([session, name, &raw mut world as usize, 0, 0]) == 0
            && GROUP_RANK.call([world, &raw mut rank as usize, 0, 0, 0]) == 0
            && GROUP_SIZE.call([world, &raw mut ranks as usize, 0, 0, 0]) == 0;
        if !fine {
            return 0;
        }
        SESSIONS_WORLD.store(world, Ordering::Relaxed);
        BEGUN.store(1, Ordering::Relaxed);
        waiting::decide_alone();
        let ranks = usize::try_from(ranks).unwrap_or(0);
        begun(returned, u32::try_from(rank).unwrap_or(NOBODY), ranks, 0)
    });
    requests::measure();
    result
}

/// Records that a communicator is given up.
pub fn drop(arguments: &Arguments) -> c_int {
    blocking(arguments, &[arguments.handle_at(0) as u64], |_| 0)
}

/// Returns where the old communicator's argument is, where there is one, and the new one's.
fn places(position: u16) -> (Option<usize>, usize) {
    match position {
        position::Comm_get_parent => (None, 0),
        position::Comm_join => (None, 1),
        position::Comm_create_from_group => (None, 4),
        position::Intercomm_create_from_groups => (None, 7),
        position::Comm_dup_with_info
        | position::Comm_idup_with_info
        | position::Comm_create
        | position::Cart_sub
        | position::Intercomm_merge => (Some(0), 2),
        position::Comm_split | position::Comm_create_group => (Some(0), 3),
        position::Comm_split_type => (Some(0), 4),
        position::Cart_create | position::Graph_create | position::Intercomm_create => (Some(0), 5),
        position::Dist_graph_create => (Some(0), 8),
        position::Dist_graph_create_adjacent => (Some(0), 9),
        position::Comm_accept | position::Comm_connect => (Some(3), 4),
        position::Win_create | position::Win_create_c => (Some(4), 5),
        position::Win_allocate
        | position::Win_allocate_c
        | position::Win_allocate_shared
        | position::Win_allocate_shared_c => (Some(3), 5),
        position::Win_create_dynamic => (Some(1), 2),
        position::Comm_spawn => (Some(5), 6),
        position::Comm_spawn_multiple => (Some(6), 7),
        _ => (Some(0), 1),
    }
}

/// Ranks that are translated at once.
const AT_ONCE: usize = 64;

/// The words of a return that tells of a communicator.
struct Telling<'w> {
    words: &'w mut [u64],
    count: usize,
}

/// Fills in the ranks of a group's members, by their numbers in the world, behind words that stand there already. Returns
/// how many words there are then.
pub fn tell_group(words: &mut [u64], count: usize, group: usize, members: usize) -> usize {
    let mut telling = Telling { words, count };
    telling.push_members(group, members);
    telling.count
}

/// Returns the number of a group's members.
pub fn group_size(group: usize) -> usize {
    usize::try_from(ask(&GROUP_SIZE, group)).unwrap_or(0)
}

impl Telling<'_> {
    fn push(&mut self, word: u64) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = word;
            self.count += 1;
        }
    }

    /// Adds the ranks of a communicator's group, by their numbers in the world.
    fn push_group(&mut self, communicator: usize, service: &Service, members: usize) {
        let mut group: usize = 0;
        service.call([communicator, &raw mut group as usize, 0, 0, 0]);
        self.push_members(group, members);
        GROUP_FREE.call([&raw mut group as usize, 0, 0, 0, 0]);
    }

    fn push_members(&mut self, group: usize, members: usize) {
        let mut world = SESSIONS_WORLD.load(Ordering::Relaxed);
        let has_world = BEGUN.load(Ordering::Relaxed) == 2;
        if has_world {
            let own = constants().comm_world;
            COMM_GROUP.call([own, &raw mut world as usize, 0, 0, 0]);
        }
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
        if has_world {
            GROUP_FREE.call([&raw mut world as usize, 0, 0, 0, 0]);
        }
    }
}

/// Records the making of a communicator or a window: its handle, and the ranks of its members, which only the library knows.
pub fn make(arguments: &Arguments) -> c_int {
    let (old, new) = places(arguments.position);
    let old = old.map(|old| arguments.handle(old));
    let tsc = message::begin();
    let words = [old.unwrap_or(0) as u64];
    let words = words.get(..usize::from(old.is_some())).unwrap_or_default();
    message::put_call(tsc, arguments.position, arguments.site, words);
    let result = arguments.forward();
    let made = arguments.handle_at(new);
    if result != foretrace_mpi::SUCCESS || made == constants().comm_null || made == 0 {
        message::put_return(arguments.position, outcome(result), &[]);
        return result;
    }
    let function = FUNCTIONS.get(usize::from(arguments.position));
    let is_window = function.is_some_and(Function::makes_window);
    let like = match arguments.position {
        // It may not be asked before its request is over, but has the same members.
        position::Comm_idup | position::Comm_idup_with_info => old.unwrap_or(made),
        // A window has the members of the communicator that it is made of, and cannot be asked for them as one.
        _ if is_window => old.unwrap_or(made),
        _ => made,
    };
    tell(arguments, made, like);
    result
}

/// Records the return with the communicator that was made, and the members of one that has the same.
fn tell(arguments: &Arguments, made: usize, like: usize) {
    let members = size(like);
    let remote = remote_size(like);
    with_words(3 + members + remote.unwrap_or(0), |words| {
        let mut telling = Telling { words, count: 0 };
        telling.push(made as u64);
        telling.push(members as u64);
        telling.push(remote.unwrap_or(0) as u64);
        telling.push_group(like, &COMM_GROUP, members);
        if let Some(remote) = remote {
            telling.push_group(like, &COMM_REMOTE_GROUP, remote);
        }
        let words = telling.words.get(..telling.count).unwrap_or_default();
        message::put_return(arguments.position, outcome(0), words);
    });
}
