//! Barriers.

use core::ffi::{c_int, c_uint};

use foretrace_recorder::{
    Kind, OUTCOME_CHOSEN, OUTCOME_SUCCESS, outcome_of, record, record_extended, short_turns,
};
use libc::{pthread_barrier_t, pthread_barrierattr_t};

use crate::hook::{Pending, recording};
use crate::next;

pub unsafe extern "C-unwind" fn init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    count: c_uint,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { next::pthread_barrier_init(barrier, attributes, count) };
    if result == 0 && recording() {
        let operands = (u64::from(count), 0);
        record_extended(
            Kind::BarrierInit,
            barrier as u64,
            OUTCOME_SUCCESS,
            site,
            operands,
        );
    }
    result
}

pub unsafe extern "C-unwind" fn destroy(barrier: *mut pthread_barrier_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { next::pthread_barrier_destroy(barrier) };
    // It waits for threads that are still leaving, so that it is recorded after it is done.
    if recording() {
        record(
            Kind::BarrierDestroy,
            barrier as u64,
            outcome_of(result),
            site,
        );
    }
    result
}

pub unsafe extern "C-unwind" fn wait(barrier: *mut pthread_barrier_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_barrier_wait(barrier) };
    if !recording() {
        return call();
    }
    short_turns::meet_again();
    let pending = Pending::wait(Kind::BarrierWait, barrier as u64, site);
    let result = call();
    pending.returned(match result {
        libc::PTHREAD_BARRIER_SERIAL_THREAD => OUTCOME_CHOSEN,
        result => outcome_of(result),
    });
    result
}
