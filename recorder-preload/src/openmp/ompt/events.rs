//! What the library tells: callbacks, recorded as the hooks of GCC's library record the same (see `openmp`).
//!
//! Of each region and task the library keeps one word for us: of a region its team, and the most members that there are
//! tokens for; of a task the barrier of its team.

use core::ffi::{c_int, c_uint, c_void};

use foretrace_recorder::{
    Kind, OUTCOME_BUSY, OUTCOME_PENDING, OUTCOME_SUCCESS, ThreadState, process, record, returned,
};

use super::{BEGIN, Data, Endpoint};
use crate::hook::recording;
use crate::openmp::region::{self, AT_ONCE, BY_HOOK, SIZE_SHIFT, Team};
use crate::openmp::tasks;

/// Returns the callbacks with their numbers in the interface.
pub fn callbacks() -> [(c_int, *const c_void); 8] {
    [
        (3, parallel_begin as *const c_void),
        (4, parallel_end as *const c_void),
        (5, task_create as *const c_void),
        (6, task_schedule as *const c_void),
        (7, implicit_task as *const c_void),
        (16, sync_region_wait as *const c_void),
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
    let task = unsafe { read(encountering) };
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
            team.withdraw(1, (region >> SIZE_SHIFT) as u32, team.site());
        }
        return;
    }
    team.begin_loops();
    if index == 0 {
        team.withdraw(size, (region >> SIZE_SHIFT) as u32, team.site());
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
    let barrier = unsafe { read(task) } & !AT_ONCE;
    let Some(team) = Team::of_barrier(barrier) else {
        return;
    };
    let (kind, object) = match kind {
        REDUCTION => return,
        TASKWAIT | TASKGROUP => (Kind::SemTimedWait, team.semaphore()),
        _ if Team::size_by(barrier) < 2 => return,
        _ => (Kind::BarrierWait, barrier),
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
        state.waits.set(state.waits.get().saturating_add(1));
        state.piece_ended.set(false);
        return;
    }
    state.waits.set(state.waits.get().saturating_sub(1));
    if kind == Kind::SemTimedWait {
        returned(kind, object, OUTCOME_BUSY);
    } else if parallel.is_null() {
        // At the end of a region this tells only that there are no more tasks. The master is seen when it has put the
        // team away, for which it waits too; the others at the next region.
        state.region_end.set(barrier);
    } else {
        returned(kind, object, OUTCOME_SUCCESS);
    }
}

unsafe extern "C" fn task_create(
    encountering: *const Data,
    _frame: *const c_void,
    new: *mut Data,
    flags: c_int,
    has_dependences: c_int,
    _site: *const c_void,
) {
    if new.is_null() || !recording() {
        return;
    }
    process::note_tasks();
    if has_dependences != 0 {
        tasks::note_order();
    }
    // SAFETY: the library's own word.
    let barrier = unsafe { read(encountering) } & !AT_ONCE;
    let at_once = flags & UNDEFERRED != 0 && barrier != 0;
    // SAFETY: as above.
    unsafe { new.write(barrier | if at_once { AT_ONCE } else { 0 }) };
}

/// Marks that a task begins or that one is done.
unsafe extern "C" fn task_schedule(prior: *mut Data, status: c_int, next: *mut Data) {
    if status == YIELD || !recording() {
        return;
    }
    let begins = status == SWITCH;
    let task = if begins { next } else { prior };
    // SAFETY: the library's own word.
    let barrier = unsafe { read(task) };
    let Some(team) = Team::of_barrier(barrier).filter(|_| barrier & AT_ONCE == 0) else {
        return;
    };
    let state = ThreadState::current();
    let waits = state.waits.get();
    if !begins {
        // The task that it is in again, if it is in one, began before the wait that this one was done in.
        state.tasks.set(waits);
        tasks::mark_end(team, team.site());
    } else if waits < state.tasks.get() {
        // One that is done at once within another is a part of that.
        // SAFETY: as above.
        unsafe { task.write(barrier | AT_ONCE) };
    } else {
        tasks::mark_begin(team, waits > 0, team.site());
        state.tasks.set(waits.saturating_add(1));
    }
}

unsafe extern "C" fn mutex_acquire(
    kind: c_int,
    _hint: c_uint,
    _implementation: c_uint,
    mutex: u64,
    site: *const c_void,
) {
    if kind == ORDERED && recording() {
        record(Kind::SpinLock, mutex, OUTCOME_PENDING, site as u64);
        ThreadState::current().section.set(mutex);
    }
}

unsafe extern "C" fn mutex_acquired(kind: c_int, mutex: u64, _site: *const c_void) {
    if kind == ORDERED && ThreadState::current().section.get() == mutex && recording() {
        returned(Kind::SpinLock, mutex, OUTCOME_SUCCESS);
    }
}
