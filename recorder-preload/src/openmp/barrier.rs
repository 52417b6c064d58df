//! Barriers inside of regions, which are also at the end of what a team shares out, and waits for tasks.

use core::ffi::c_void;

use foretrace_recorder::{Kind, OUTCOME_BUSY, OUTCOME_SUCCESS, OUTCOME_WAITED_FOR_ALL};

use super::region::{AtBarrier, Member, Team, aside};
use super::{functions, pass, recording, tasks};
use crate::hook::Pending;

/// Records a wait at the team's barrier, and what `outcome` says of its result.
fn wait<T>(site: u64, call: impl FnOnce() -> T, outcome: impl FnOnce(&T) -> u8) -> T {
    let Some(barrier) = Member::barrier().filter(|_| recording(site)) else {
        return pass(site, call);
    };
    wait_in((Kind::BarrierWait, barrier), barrier, site, call, outcome)
}

/// Records a wait at the team's barrier that has no result.
fn wait_plainly<T>(site: u64, call: impl FnOnce() -> T) -> T {
    let Some(barrier) = Member::barrier().filter(|_| recording(site)) else {
        return pass(site, call);
    };
    let Some(here) = AtBarrier::next() else {
        let recorded_as = (Kind::BarrierWait, barrier);
        return wait_in(recorded_as, barrier, site, call, |_| OUTCOME_SUCCESS);
    };
    let pending = Pending::record(Kind::BarrierWait, barrier, site);
    let (result, is_over) = here.during(call);
    tasks::mark_unseen(barrier);
    if is_over {
        pending.was_over();
    } else {
        pending.returned(OUTCOME_SUCCESS);
    }
    result
}

/// Records a wait for all tasks that are made in a call, and for those that these make.
pub fn wait_for_all(site: u64, call: impl FnOnce()) {
    wait_for_tasks(site, OUTCOME_WAITED_FOR_ALL, call);
}

/// Records a wait for tasks, as one that is given up. Its outcome says for which.
fn wait_for_tasks(site: u64, outcome: u8, call: impl FnOnce()) {
    let Some(barrier) = Member::barrier().filter(|_| recording(site)) else {
        return pass(site, call);
    };
    let semaphore = Team::of_barrier(barrier).map_or(0, Team::semaphore);
    let recorded_as = (Kind::SemTimedWait, semaphore);
    wait_in(recorded_as, barrier, site, call, |()| outcome);
}

fn wait_in<T>(
    (kind, object): (Kind, u64),
    barrier: u64,
    site: u64,
    call: impl FnOnce() -> T,
    outcome: impl FnOnce(&T) -> u8,
) -> T {
    let pending = Pending::record(kind, object, site);
    let result = aside(core::ptr::null(), call);
    tasks::mark_unseen(barrier);
    pending.returned(outcome(&result));
    result
}

/// Defines hooks of functions without arguments: those that always wait, and those that may be cancelled.
///
/// Where cancellation is on, the latter are not recorded: of a cancelled barrier some may have been let through and
/// others not, whatever they are told, and a replay would wait for those who never come.
macro_rules! barriers {
    (always { $($name:ident => $next:ident;)* } or_cancelled { $($cancel:ident => $cancelled:ident;)* }) => {
        $(
            pub unsafe extern "C-unwind" fn $name(site: u64) {
                // SAFETY: the program's own call.
                wait_plainly(site, || unsafe { functions::$next(site) });
            }
        )*
        $(
            pub unsafe extern "C-unwind" fn $cancel(site: u64) -> bool {
                // SAFETY: the program's own call.
                let call = || unsafe { functions::$cancelled(site) };
                // SAFETY: looks at a setting.
                if unsafe { functions::omp_get_cancellation(site) } != 0 {
                    return call();
                }
                wait_plainly(site, call)
            }
        )*
    };
}

barriers! {
    always {
    barrier => GOMP_barrier;
    loop_end => GOMP_loop_end;
    sections_end => GOMP_sections_end;
    }
    or_cancelled {
    barrier_cancel => GOMP_barrier_cancel;
    loop_end_cancel => GOMP_loop_end_cancel;
    sections_end_cancel => GOMP_sections_end_cancel;
    }
}

pub unsafe extern "C-unwind" fn taskwait(site: u64) {
    // SAFETY: the program's own call.
    wait_for_tasks(site, OUTCOME_BUSY, || unsafe {
        functions::GOMP_taskwait(site);
    });
}

pub unsafe extern "C-unwind" fn taskgroup_end(site: u64) {
    // SAFETY: the program's own call.
    let call = || unsafe { functions::GOMP_taskgroup_end(site) };
    wait_for_all(site, call);
}

/// The first thread to come here is sent on at once, and waits when it has something to copy; the others wait for it.
pub unsafe extern "C-unwind" fn single_copy_start(site: u64) -> usize {
    // SAFETY: the program's own call.
    let call = || unsafe { functions::GOMP_single_copy_start(site) };
    wait(site, call, |&data| {
        if data == 0 {
            OUTCOME_BUSY
        } else {
            OUTCOME_SUCCESS
        }
    })
}

pub unsafe extern "C-unwind" fn single_copy_end(data: *mut c_void, site: u64) {
    // SAFETY: the program's own call.
    let call = || unsafe { functions::GOMP_single_copy_end(data, site) };
    wait(site, call, |()| OUTCOME_SUCCESS);
}

pub unsafe extern "C-unwind" fn reduction_end(cancelled: bool, site: u64) {
    // SAFETY: the program's own call.
    let call = || unsafe { functions::GOMP_workshare_task_reduction_unregister(cancelled, site) };
    if cancelled {
        return call();
    }
    wait(site, call, |()| OUTCOME_SUCCESS);
}
