//! One-time initialization.

use core::cell::Cell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};

use foretrace_recorder::{
    Kind, OUTCOME_CHOSEN, OUTCOME_SUCCESS, ThreadState, outcome_of, record, returned,
};
use libc::pthread_once_t;

use crate::hook::{Pending, recording};
use crate::next::{self, OnceRoutine};

/// In glibc's control word: somebody runs the routine; the routine has been run.
const IN_PROGRESS: i32 = 1;
const DONE: i32 = 2;

/// A call of `pthread_once` that is under way in this thread.
struct Call {
    routine: OnceRoutine,
    control: u64,
    site: u64,
    /// Whether this thread was the one to run the routine.
    ran: Cell<bool>,
    /// The call that this one is nested in.
    outer: *const (),
}

impl Drop for Call {
    /// Also when the routine was left by an exception or a cancellation: somebody will run it anew.
    fn drop(&mut self) {
        ThreadState::current().once.set(self.outer);
        if self.ran.get() {
            returned(Kind::Once, self.control, OUTCOME_CHOSEN);
        }
    }
}

pub unsafe extern "C-unwind" fn once(
    control: *mut pthread_once_t,
    routine: OnceRoutine,
    site: u64,
) -> c_int {
    if !recording() {
        // SAFETY: the program's own call.
        return unsafe { next::pthread_once(control, routine) };
    }
    // SAFETY: the control is an aligned integer that the C library too reads atomically.
    let before = unsafe { &*control.cast::<AtomicI32>() }.load(Ordering::Acquire);
    if before & DONE != 0 {
        // SAFETY: the program's own call, which finds nothing to do.
        let result = unsafe { next::pthread_once(control, routine) };
        record(Kind::Once, control as u64, outcome_of(result), site);
        return result;
    }
    let waits =
        (before & IN_PROGRESS != 0).then(|| Pending::record(Kind::Once, control as u64, site));
    let state = ThreadState::current();
    let call = Call {
        routine,
        control: control as u64,
        site,
        ran: Cell::new(false),
        outer: state.once.get(),
    };
    state.once.set((&raw const call).cast());
    // SAFETY: the program's own call but for the routine, which runs the program's.
    let result = unsafe { next::pthread_once(control, run) };
    let ran = call.ran.get();
    drop(call);
    match waits {
        Some(pending) => pending.returned(outcome_of(result)),
        None if !ran => {
            record(Kind::Once, control as u64, OUTCOME_SUCCESS, site);
        }
        None => {}
    }
    result
}

/// Runs the routine of the innermost call: this thread was chosen.
unsafe extern "C-unwind" fn run() {
    let call: *const Call = ThreadState::current().once.get().cast();
    // SAFETY: `once` set it and waits in a frame below this one.
    let call = unsafe { &*call };
    call.ran.set(true);
    // The return is recorded by Call's drop, however the routine is left.
    record(Kind::Once, call.control, OUTCOME_CHOSEN, call.site);
    // SAFETY: the program's own routine.
    unsafe { (call.routine)() }
}
