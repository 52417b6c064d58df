//! What the library tells: callbacks, recorded as the hooks of GCC's library record the same (see `openmp`).
//!
//! Of each region and task the library keeps one word for us: of a region its team, and the most members that there are
//! tokens for; of a task its number, by which the barrier of its team is found, or that itself if it has none.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_recorder::{
    Kind, OUTCOME_HELPED, OUTCOME_PENDING, OUTCOME_SUCCESS, OUTCOME_WAITED_FOR_ALL, ThreadState,
    process, record, returned,
};

use super::{BEGIN, Data, Endpoint};
use crate::hook::recording;
use crate::openmp::region::{self, AT_ONCE, BY_HOOK, SIZE_SHIFT, Team};
use crate::openmp::tasks::{NUMBERS, Number};
use crate::openmp::{pieces, tasks};

/// Returns the callbacks with their numbers in the interface.
pub fn callbacks() -> [(c_int, *const c_void); 9] {
    [
        (3, parallel_begin as *const c_void),
        (4, parallel_end as *const c_void),
        (5, task_create as *const c_void),
        (6, task_schedule as *const c_void),
        (7, implicit_task as *const c_void),
        (16, sync_region_wait as *const c_void),
        (18, dependences as *const c_void),
        (26, mutex_acquire as *const c_void),
        (27, mutex_acquired as *const c_void),
    ]
}

/// Set in a region's flags if it is a league of teams (`omp teams`), whose members begin on their own.
const LEAGUE: c_int = 0x4000_0000;

/// Set in an implicit task's flags if it is what a program or a team of a league begins with.
const INITIAL: c_int = 1;

/// What a task's status says when it goes on later, and when another begins or goes on in its place.
const YIELD: c_int = 2;
const SWITCH: c_int = 7;

/// Set in a task's flags if whoever makes it does it at once.
const UNDEFERRED: c_int = 0x0800_0000;

/// The kinds of synchronization that are waits for tasks, and the combination of results, which waits for nobody.
const TASKWAIT: c_int = 5;
const TASKGROUP: c_int = 6;
const REDUCTION: c_int = 7;

/// The kind of mutual exclusion that is recorded here when it begins; the others have hooks. The library tells of an end
/// when others may have gone on already, so all ends have hooks.
const ORDERED: c_int = 7;

/// Returns a word of the library's; 0 where there is none.
unsafe fn read(data: *const Data) -> u64 {
    // SAFETY: by the caller's promise null or a word.
    unsafe { data.as_ref() }.copied().unwrap_or(0)
}

/// The barrier of each task's team, by the task's number.
static BARRIERS: [AtomicU64; NUMBERS as usize] = [const { AtomicU64::new(0) }; NUMBERS as usize];

/// Returns the barrier of a task's team; 0 where there is none. `word` is the library's for the task.
fn barrier_of(word: u64) -> u64 {
    match Number::of(word) {
        Some(number) => BARRIERS[number.word() as usize].load(Ordering::Relaxed),
        None => word & !AT_ONCE,
    }
}

unsafe extern "C" fn parallel_begin(
    encountering: *const Data,
    _frame: *const c_void,
    parallel: *mut Data,
    requested: c_uint,
    flags: c_int,
    site: *const c_void,
) {
    if !recording() || flags & LEAGUE != 0 {
        return;
    }
    // SAFETY: the library's own word.
    let task = barrier_of(unsafe { read(encountering) });
    let team = Team::of_current(Team::of_barrier(task).map_or(0, Team::depth_within));
    let caller = ThreadState::current().caller.replace(0);
    let site = if caller == 0 { site as u64 } else { caller };
    team.set_site(if caller == 0 { site } else { site | BY_HOOK });
    let limit = u16::try_from(requested).unwrap_or(u16::MAX);
    if limit > 1 {
        team.begin(u32::from(limit), site);
    }
    // SAFETY: as above.
    unsafe { parallel.write(team.name() | (u64::from(limit) << SIZE_SHIFT)) };
}

unsafe extern "C" fn parallel_end(
    _parallel: *const Data,
    _encountering: *const Data,
    _flags: c_int,
    _site: *const c_void,
) {
    region::come_back();
}

unsafe extern "C" fn implicit_task(
    endpoint: Endpoint,
    parallel: *const Data,
    task: *mut Data,
    size: c_uint,
    index: c_uint,
    flags: c_int,
) {
    if endpoint != BEGIN || !recording() {
        return;
    }
    // SAFETY: the library's own word; so are all below.
    let region = unsafe { read(parallel) };
    if flags & INITIAL != 0 {
        // A member of a league begins on its own, from wherever it waited.
        region::come_back();
    }
    let Some(team) = Team::of_barrier(region) else {
        return;
    };
    if flags & INITIAL != 0 {
        if index == 0 {
            team.start(1, (region >> SIZE_SHIFT) as u32, team.site());
        }
        return;
    }
    team.begin_loops();
    if index == 0 {
        team.start(size, (region >> SIZE_SHIFT) as u32, team.site());
    } else {
        team.enter(team.site());
    }
    // SAFETY: as above.
    unsafe { task.write(team.barrier(size)) };
}

unsafe extern "C" fn sync_region_wait(
    kind: c_int,
    endpoint: Endpoint,
    parallel: *const Data,
    task: *const Data,
    site: *const c_void,
) {
    // SAFETY: the library's own word.
    let barrier = barrier_of(unsafe { read(task) });
    let Some(team) = Team::of_barrier(barrier) else {
        return;
    };
    let (kind, object, outcome) = match kind {
        REDUCTION => return,
        TASKWAIT => (Kind::SemTimedWait, team.semaphore(), OUTCOME_HELPED),
        TASKGROUP => (Kind::SemTimedWait, team.semaphore(), OUTCOME_WAITED_FOR_ALL),
        _ if Team::size_by(barrier) < 2 => return,
        _ => (Kind::BarrierWait, barrier, OUTCOME_SUCCESS),
    };
    if !recording() {
        return;
    }
    let state = ThreadState::current();
    if endpoint == BEGIN {
        let caller = state.caller.replace(0);
        let site = if caller != 0 {
            caller
        } else if site.is_null() || team.is_begun_by_hook() {
            team.site()
        } else {
            site as u64
        };
        record(kind, object, OUTCOME_PENDING, site);
        return;
    }
    if kind == Kind::BarrierWait && parallel.is_null() {
        // At the end of a region this tells only that there are no more tasks. The master is seen when it has put the
        // team away, for which it waits too; the others at the next region.
        state.region_end.set(barrier);
    } else {
        returned(kind, object, outcome);
    }
}

unsafe extern "C" fn task_create(
    encountering: *const Data,
    _frame: *const c_void,
    new: *mut Data,
    flags: c_int,
    _has_dependences: c_int,
    _site: *const c_void,
) {
    if new.is_null() || !recording() {
        return;
    }
    // SAFETY: the library's own word.
    let barrier = barrier_of(unsafe { read(encountering) });
    let Some(team) = Team::of_barrier(barrier) else {
        return;
    };
    let word = if flags & UNDEFERRED != 0 {
        barrier | AT_ONCE
    } else if let Some(number) = Number::make(team, team.site()) {
        BARRIERS[number.word() as usize].store(barrier, Ordering::Relaxed);
        number.word()
    } else {
        process::note_tasks();
        barrier
    };
    // SAFETY: as above.
    unsafe { new.write(word) };
}

/// What a task depends on.
#[repr(C)]
struct Dependence {
    address: *const c_void,
    kind: c_int,
}

/// The kinds of dependences: of what is only read, and of a loop's iterations.
const READS: c_int = 1;
const SOURCE: c_int = 5;
const SINK: c_int = 6;

/// Records what a task depends on, which was just made.
unsafe extern "C" fn dependences(task: *const Data, list: *const Dependence, count: c_int) {
    // SAFETY: the library's own word.
    let word = unsafe { read(task) };
    let Some(team) = Team::of_barrier(barrier_of(word)) else {
        return;
    };
    if Number::of(word).is_none() || !recording() || list.is_null() {
        return;
    }
    for place in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the library's list, of so many.
        let Dependence { address, kind } = unsafe { list.add(place).read() };
        if ![SOURCE, SINK].contains(&kind) {
            tasks::needs(team, address, kind != READS);
        }
    }
}

/// Records that a task begins or that one is done.
unsafe extern "C" fn task_schedule(prior: *mut Data, status: c_int, next: *mut Data) {
    if status == YIELD || !recording() {
        return;
    }
    let begins = status == SWITCH;
    let task = if begins { next } else { prior };
    // SAFETY: the library's own word.
    let word = unsafe { read(task) };
    let Some(team) = Team::of_barrier(barrier_of(word)).filter(|_| word & AT_ONCE == 0) else {
        return;
    };
    match Number::of(word) {
        Some(number) if begins => number.begin(team, team.site()),
        Some(number) => {
            number.end(team, team.site());
            // SAFETY: as above.
            unsafe { task.write(0) };
        }
        // It stays where it is done.
        None => pieces::begin(team, team.site()),
    }
}

/// Returns the address of ordered sections, which no lock in memory has: a team's, as that of what it has whatever its size is.
fn sections_of(mutex: u64) -> u64 {
    mutex & ((1 << SIZE_SHIFT) - 1) | (1 << SIZE_SHIFT)
}

unsafe extern "C" fn mutex_acquire(
    kind: c_int,
    _hint: c_uint,
    _implementation: c_uint,
    mutex: u64,
    site: *const c_void,
) {
    if kind == ORDERED && recording() {
        let sections = sections_of(mutex);
        record(Kind::SpinLock, sections, OUTCOME_PENDING, site as u64);
        ThreadState::current().section.set(sections);
    }
}

unsafe extern "C" fn mutex_acquired(kind: c_int, mutex: u64, _site: *const c_void) {
    let sections = sections_of(mutex);
    if kind == ORDERED && ThreadState::current().section.get() == sections && recording() {
        returned(Kind::SpinLock, sections, OUTCOME_SUCCESS);
    }
}
