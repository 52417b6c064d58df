//! Critical sections and locks: mutexes.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use foretrace_recorder::{Kind, OUTCOME_BUSY, OUTCOME_SUCCESS, record};

use super::functions;
use crate::hook::{Pending, recording};

/// What calls on a mutex are recorded as.
struct Kinds {
    init: Kind,
    destroy: Kind,
    lock: Kind,
    try_lock: Kind,
    unlock: Kind,
}

/// In GCC's library threads sleep until they get it, where it is told not to spin.
static SLEEPING: Kinds = Kinds {
    init: Kind::MutexInit,
    destroy: Kind::MutexDestroy,
    lock: Kind::MutexLock,
    try_lock: Kind::MutexTryLock,
    unlock: Kind::MutexUnlock,
};

/// In LLVM's they always spin.
static SPINNING: Kinds = Kinds {
    init: Kind::SpinInit,
    destroy: Kind::SpinDestroy,
    lock: Kind::SpinLock,
    try_lock: Kind::SpinTryLock,
    unlock: Kind::SpinUnlock,
};

fn kinds(site: u64) -> &'static Kinds {
    if functions::is_llvms(site) || super::spins() {
        &SPINNING
    } else {
        &SLEEPING
    }
}

/// How many threads are in critical sections without a name, or wait for one. The library's own lock cannot be looked at.
static UNNAMED: AtomicU32 = AtomicU32::new(0);

/// The same for atomic operations that the processor has no instruction for.
static ATOMIC: AtomicU32 = AtomicU32::new(0);

/// Records an entry. There is no try: `is_free` only tells whether it is worth recording that it waited.
fn enter(object: u64, site: u64, is_free: bool, call: impl FnOnce()) {
    if !recording() {
        return call();
    }
    let kind = kinds(site).lock;
    if is_free {
        call();
        record(kind, object, OUTCOME_SUCCESS, site);
        return;
    }
    let pending = Pending::record(kind, object, site);
    call();
    pending.returned(OUTCOME_SUCCESS);
}

fn leave(object: u64, site: u64, call: impl FnOnce()) {
    if recording() {
        record(kinds(site).unlock, object, OUTCOME_SUCCESS, site);
    }
    call();
}

/// Enters a section that has a mark of ours.
fn enter_marked(mark: &'static AtomicU32, site: u64, call: impl FnOnce()) {
    let is_free = mark.fetch_add(1, Ordering::Relaxed) == 0;
    enter(core::ptr::from_ref(mark) as u64, site, is_free, call);
}

fn leave_marked(mark: &'static AtomicU32, site: u64, call: impl FnOnce()) {
    leave(core::ptr::from_ref(mark) as u64, site, call);
    mark.fetch_sub(1, Ordering::Relaxed);
}

pub unsafe extern "C-unwind" fn critical_start(site: u64) {
    // SAFETY: the program's own call; so are all below.
    enter_marked(&UNNAMED, site, || unsafe {
        functions::GOMP_critical_start(site);
    });
}

pub unsafe extern "C-unwind" fn critical_end(site: u64) {
    // SAFETY: as above.
    leave_marked(&UNNAMED, site, || unsafe {
        functions::GOMP_critical_end(site);
    });
}

pub unsafe extern "C-unwind" fn atomic_start(site: u64) {
    // SAFETY: as above.
    enter_marked(&ATOMIC, site, || unsafe {
        functions::GOMP_atomic_start(site);
    });
}

pub unsafe extern "C-unwind" fn atomic_end(site: u64) {
    // SAFETY: as above.
    leave_marked(&ATOMIC, site, || unsafe {
        functions::GOMP_atomic_end(site);
    });
}

/// A named section's lock lies where the name is: an integer that is 0 while nobody is in it.
pub unsafe extern "C-unwind" fn critical_name_start(name: *mut *mut c_void, site: u64) {
    // SAFETY: the library reads the same integer, atomically too.
    let lock = unsafe { &*name.cast::<AtomicU32>() };
    let is_free = lock.load(Ordering::Relaxed) == 0;
    // SAFETY: as above.
    enter(name as u64, site, is_free, || unsafe {
        functions::GOMP_critical_name_start(name, site);
    });
}

pub unsafe extern "C-unwind" fn critical_name_end(name: *mut *mut c_void, site: u64) {
    // SAFETY: as above.
    leave(name as u64, site, || unsafe {
        functions::GOMP_critical_name_end(name, site);
    });
}

/// Records a lock that is taken: as one record if a try gets it, else as a call and its return.
fn lock(lock: *mut c_void, site: u64, attempt: impl FnOnce() -> c_int, wait: impl FnOnce()) {
    if !recording() {
        return wait();
    }
    let is_mine = attempt() != 0;
    enter(lock as u64, site, is_mine, || {
        if !is_mine {
            wait();
        }
    });
}

/// Records a try, whose result is 0 if it failed.
fn test(lock: *mut c_void, site: u64, attempt: impl FnOnce() -> c_int) -> c_int {
    let result = attempt();
    if recording() {
        let outcome = if result == 0 {
            OUTCOME_BUSY
        } else {
            OUTCOME_SUCCESS
        };
        record(kinds(site).try_lock, lock as u64, outcome, site);
    }
    result
}

/// Records the beginning or the end of a lock's life.
fn note(kind: impl FnOnce(&Kinds) -> Kind, lock: *mut c_void, site: u64) {
    if recording() {
        record(kind(kinds(site)), lock as u64, OUTCOME_SUCCESS, site);
    }
}

/// Defines the hooks for one language's and one kind's locks.
macro_rules! locks {
    ($($init:ident $destroy:ident $set:ident $unset:ident $test:ident =>
        $omp_init:ident $omp_destroy:ident $omp_set:ident $omp_unset:ident $omp_test:ident;)*) => {
        use core::ffi::{c_int, c_void};

        use crate::openmp::functions;

        $(
            pub unsafe extern "C-unwind" fn $init(lock: *mut c_void, site: u64) {
                // SAFETY: the program's own call; so are all below.
                unsafe { functions::$omp_init(lock, site) };
                super::note(|kinds| kinds.init, lock, site);
            }

            pub unsafe extern "C-unwind" fn $destroy(lock: *mut c_void, site: u64) {
                super::note(|kinds| kinds.destroy, lock, site);
                // SAFETY: as above.
                unsafe { functions::$omp_destroy(lock, site) };
            }

            pub unsafe extern "C-unwind" fn $set(lock: *mut c_void, site: u64) {
                // SAFETY: as above; a try is allowed wherever a lock is.
                let attempt = || unsafe { functions::$omp_test(lock, site) };
                // SAFETY: as above.
                super::lock(lock, site, attempt, || unsafe { functions::$omp_set(lock, site) });
            }

            pub unsafe extern "C-unwind" fn $unset(lock: *mut c_void, site: u64) {
                // SAFETY: as above.
                super::leave(lock as u64, site, || unsafe { functions::$omp_unset(lock, site) });
            }

            pub unsafe extern "C-unwind" fn $test(lock: *mut c_void, site: u64) -> c_int {
                // SAFETY: as above.
                super::test(lock, site, || unsafe { functions::$omp_test(lock, site) })
            }
        )*
    };
}

/// The locks of C.
pub mod c {
    locks! {
        init destroy set unset test =>
            omp_init_lock omp_destroy_lock omp_set_lock omp_unset_lock omp_test_lock;
        init_nest destroy_nest set_nest unset_nest test_nest =>
            omp_init_nest_lock omp_destroy_nest_lock omp_set_nest_lock omp_unset_nest_lock
            omp_test_nest_lock;
    }
}

/// The locks of Fortran.
pub mod fortran {
    locks! {
        init destroy set unset test =>
            omp_init_lock_ omp_destroy_lock_ omp_set_lock_ omp_unset_lock_ omp_test_lock_;
        init_nest destroy_nest set_nest unset_nest test_nest =>
            omp_init_nest_lock_ omp_destroy_nest_lock_ omp_set_nest_lock_ omp_unset_nest_lock_
            omp_test_nest_lock_;
    }
}
