//! Futexes, by the C library's `syscall`: the slow paths of C++'s and Rust's own synchronization. What goes through
//! without the kernel is not seen here, and cannot be.

use core::ffi::{c_int, c_long};

use foretrace_recorder::{Kind, OUTCOME_SUCCESS, Slot, outcome_of, record_extended};
use libc::timespec;

use crate::confine::SYSCALL;
use crate::hook::{Pending, recording};
use crate::yields;

/// Commands that the `libc` crate does not name.
const FUTEX_LOCK_PI2: c_int = 13;

/// The arguments of one futex call, as `syscall` got them.
#[derive(Clone, Copy)]
struct Call {
    futex: u64,
    operation: c_long,
    value: c_long,
    /// A timeout or, for some commands, a second value.
    timeout: *const timespec,
    second_futex: u64,
    third_value: c_long,
}

impl Call {
    /// Makes the call.
    fn make(self) -> c_long {
        type Function = unsafe extern "C-unwind" fn(
            c_long,
            u64,
            c_long,
            c_long,
            *const timespec,
            u64,
            c_long,
        ) -> c_long;
        // SAFETY: `syscall` takes a number and six arguments of one register each.
        let function =
            unsafe { core::mem::transmute::<*mut core::ffi::c_void, Function>(SYSCALL.address()) };
        // SAFETY: the program's own call.
        unsafe {
            function(
                libc::SYS_futex,
                self.futex,
                self.operation,
                self.value,
                self.timeout,
                self.second_futex,
                self.third_value,
            )
        }
    }

    fn command(self) -> c_int {
        self.operation as c_int & libc::FUTEX_CMD_MASK
    }
}

/// Stands in for `syscall(SYS_futex, ...)`.
pub unsafe extern "C-unwind" fn futex(
    site: u64,
    futex: u64,
    operation: c_long,
    value: c_long,
    timeout: *const timespec,
    second_futex: u64,
    third_value: c_long,
) -> c_long {
    let call = Call {
        futex,
        operation,
        value,
        timeout,
        second_futex,
        third_value,
    };
    if !recording() {
        return call.make();
    }
    match call.command() {
        libc::FUTEX_WAIT
        | libc::FUTEX_WAIT_BITSET
        | libc::FUTEX_LOCK_PI
        | FUTEX_LOCK_PI2
        | libc::FUTEX_WAIT_REQUEUE_PI => wait(call, site),
        libc::FUTEX_WAKE
        | libc::FUTEX_WAKE_BITSET
        | libc::FUTEX_REQUEUE
        | libc::FUTEX_CMP_REQUEUE
        | libc::FUTEX_CMP_REQUEUE_PI
        | libc::FUTEX_UNLOCK_PI => wake(call, site),
        libc::FUTEX_WAKE_OP => wake_two(call, site),
        _ => call.make(),
    }
}

/// Records a wait: always as a call and a return, since only the kernel knows whether there is anything to wait for.
fn wait(call: Call, site: u64) -> c_long {
    let kind = if call.timeout.is_null() {
        Kind::FutexWait
    } else {
        Kind::FutexTimedWait
    };
    let pending = Pending::wait(kind, call.futex, site);
    let result = call.make();
    pending.returned(outcome(error_of(result)));
    yields::came_back();
    result
}

/// Records a wake-up before it is done, with how many threads it may wake, and then how many it woke: the program may
/// end before this thread gets to say so. Those that were only moved to another futex count too.
fn wake(call: Call, site: u64) -> c_long {
    let asked = match call.command() {
        // It says nothing of how many wait, and wakes the first of them.
        libc::FUTEX_UNLOCK_PI => 1,
        _ => call.value.cast_unsigned(),
    };
    let slot = record_wake(call.futex, asked, site);
    let result = call.make();
    if result < 0 {
        slot.set_outcome(outcome(error_of(result)));
    } else if call.command() != libc::FUTEX_UNLOCK_PI {
        slot.set_second(result.cast_unsigned());
    }
    result
}

/// Records a wake-up of two futexes at once, of which the kernel tells the sum.
fn wake_two(call: Call, site: u64) -> c_long {
    let first = record_wake(call.futex, call.value.cast_unsigned(), site);
    let second = record_wake(call.second_futex, call.timeout as u64, site);
    let result = call.make();
    if result < 0 {
        first.set_outcome(outcome(error_of(result)));
        second.set_outcome(outcome(error_of(result)));
    } else {
        let of_first = result.min(call.value);
        first.set_second(of_first.cast_unsigned());
        second.set_second((result - of_first).cast_unsigned());
    }
    result
}

fn record_wake(futex: u64, woken: u64, site: u64) -> Slot {
    let operands = (woken, 0);
    record_extended(Kind::FutexWake, futex, OUTCOME_SUCCESS, site, operands)
}

/// Returns the outcome of a call that ended with an error, or with 0.
fn outcome(error: c_int) -> u8 {
    match error {
        // The futex's value is no longer the one to wait for.
        libc::EAGAIN => outcome_of(libc::EBUSY),
        error => outcome_of(error),
    }
}

/// Returns the error of a system call that returned `result`.
fn error_of(result: c_long) -> c_int {
    if result == -1 {
        // SAFETY: the address of this thread's own.
        unsafe { *libc::__errno_location() }
    } else {
        0
    }
}
