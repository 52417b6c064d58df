//! Critical sections of LLVM's library, and ordered sections of both.
//!
//! In LLVM's library a thread spins until it may enter; hence they are recorded as spin locks, in which CPU time is
//! waiting.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use foretrace_recorder::{Kind, OUTCOME_PENDING, OUTCOME_SUCCESS, ThreadState, record, returned};

use super::functions;
use super::region::Member;
use crate::hook::{self, Pending};

/// How many threads are in the sections whose addresses have this hash, or wait for one: the library hands a section over
/// to who waits. It only tells whether it is worth recording that a thread waited.
static THREADS: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

fn threads(section: u64) -> &'static AtomicU32 {
    let hash = section.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
    &THREADS[hash as usize % THREADS.len()]
}

fn enter(section: u64, site: u64, call: impl FnOnce()) {
    if !hook::recording() {
        return call();
    }
    if threads(section).fetch_add(1, Ordering::Relaxed) == 0 {
        call();
        record(Kind::SpinLock, section, OUTCOME_SUCCESS, site);
    } else {
        record(Kind::SpinLock, section, OUTCOME_PENDING, site);
        call();
        returned(Kind::SpinLock, section, OUTCOME_SUCCESS);
    }
}

pub unsafe extern "C-unwind" fn critical(
    location: *mut c_void,
    thread: c_int,
    section: *mut c_void,
    site: u64,
) {
    // SAFETY: the program's own call; so are all below.
    enter(section as u64, site, || unsafe {
        functions::__kmpc_critical(location, thread, section, site);
    });
}

pub unsafe extern "C-unwind" fn critical_with_hint(
    location: *mut c_void,
    thread: c_int,
    section: *mut c_void,
    hint: u32,
    site: u64,
) {
    // SAFETY: as above.
    enter(section as u64, site, || unsafe {
        functions::__kmpc_critical_with_hint(location, thread, section, hint, site);
    });
}

pub unsafe extern "C-unwind" fn end_critical(
    location: *mut c_void,
    thread: c_int,
    section: *mut c_void,
    site: u64,
) {
    if hook::recording() {
        record(Kind::SpinUnlock, section as u64, OUTCOME_SUCCESS, site);
        threads(section as u64).fetch_sub(1, Ordering::Relaxed);
    }
    // SAFETY: as above.
    unsafe { functions::__kmpc_end_critical(location, thread, section, site) };
}

/// Records the end of an ordered section whose beginning LLVM's library told of.
fn leave_told(site: u64) {
    let section = ThreadState::current().section.replace(0);
    if section != 0 && hook::recording() {
        record(Kind::SpinUnlock, section, OUTCOME_SUCCESS, site);
    }
}

pub unsafe extern "C-unwind" fn end_ordered(location: *mut c_void, thread: c_int, site: u64) {
    leave_told(site);
    // SAFETY: as above.
    unsafe { functions::__kmpc_end_ordered(location, thread, site) };
}

/// In GCC's library a section is the team's.
fn section_of_team(site: u64) -> Option<u64> {
    Member::barrier().filter(|_| super::recording(site))
}

pub unsafe extern "C-unwind" fn ordered_start(site: u64) {
    // SAFETY: as above.
    let call = || unsafe { functions::GOMP_ordered_start(site) };
    let Some(section) = section_of_team(site) else {
        return call();
    };
    let pending = Pending::record(Kind::MutexLock, section, site);
    call();
    pending.returned(OUTCOME_SUCCESS);
}

pub unsafe extern "C-unwind" fn ordered_end(site: u64) {
    if let Some(section) = section_of_team(site) {
        record(Kind::MutexUnlock, section, OUTCOME_SUCCESS, site);
    } else {
        leave_told(site);
    }
    // SAFETY: as above.
    unsafe { functions::GOMP_ordered_end(site) };
}
