//! Futexes, by the C library's `syscall`: the slow paths of C++'s and Rust's own synchronization. What goes through
//! without the kernel is not seen here, and cannot be.

use core::ffi::{c_int, c_long};

use foretrace_recorder::{
    Kind, Late, OUTCOME_PENDING, OUTCOME_SUCCESS, outcome_of, record, record_extended, short_turns,
};
use libc::timespec;

use crate::confine::SYSCALL;
use crate::hook::{Pending, recording};
use crate::{lent, yields};

/// Commands that the `libc` crate does not name.
const FUTEX_LOCK_PI2: c_int = 13;

/// System calls that it does not name.
pub const SYS_FUTEX_WAKE: c_long = 454;
pub const SYS_FUTEX_WAIT: c_long = 455;

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
        let arguments = [
            self.futex.cast_signed(),
            self.operation,
            self.value,
            self.timeout as c_long,
            self.second_futex.cast_signed(),
            self.third_value,
        ];
        // SAFETY: the program's own call.
        unsafe { system_call(libc::SYS_futex, arguments) }
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

/// What `futex_waitv` is given for each futex.
#[repr(C)]
pub struct Waiter {
    value: u64,
    futex: u64,
    flags: u32,
    reserved: u32,
}

/// Stands in for `syscall(SYS_futex_waitv, ...)`: a wait for one of several futexes. It is recorded as a wait for the one that
/// woke the thread, which is known only then; until then for the first.
pub unsafe extern "C-unwind" fn futex_of_several(
    site: u64,
    waiters: *const Waiter,
    count: c_long,
    flags: c_long,
    timeout: *const timespec,
    clock: c_long,
) -> c_long {
    // SAFETY: the program's own call, of six arguments at most.
    let call = || unsafe {
        system_call(
            libc::SYS_futex_waitv,
            [waiters as c_long, count, flags, timeout as c_long, clock, 0],
        )
    };
    if !recording() || count <= 0 {
        return call();
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    // SAFETY: numbers, which any bytes are; the program does not change them during the call.
    let Some(waiters) = (unsafe { lent::slice(waiters, count) }) else {
        return call();
    };
    let kind = if timeout.is_null() {
        Kind::FutexWait
    } else {
        Kind::FutexTimedWait
    };
    let slot = record(kind, waiters[0].futex, OUTCOME_PENDING, site);
    let late = slot.for_later();
    let pending = Pending::of(kind, waiters[0].futex, slot);
    let result = call();
    let woken = usize::try_from(result).unwrap_or(0);
    let futex = waiters.get(woken).unwrap_or(&waiters[0]).futex;
    late.set_object(futex);
    pending.about(futex).returned(outcome(error_of(result)));
    yields::came_back();
    result
}

/// Stands in for `syscall(SYS_futex_wait, ...)`, of newer kernels.
pub unsafe extern "C-unwind" fn futex_2_wait(
    site: u64,
    futex: u64,
    value: c_long,
    mask: c_long,
    flags: c_long,
    timeout: *const timespec,
    clock: c_long,
) -> c_long {
    let arguments = [
        futex.cast_signed(),
        value,
        mask,
        flags,
        timeout as c_long,
        clock,
    ];
    // SAFETY: the program's own call.
    let call = || unsafe { system_call(SYS_FUTEX_WAIT, arguments) };
    if !recording() {
        return call();
    }
    wait_for((futex, !timeout.is_null()), site, call)
}

/// Stands in for `syscall(SYS_futex_wake, ...)`, of newer kernels.
pub unsafe extern "C-unwind" fn futex_2_wake(
    site: u64,
    futex: u64,
    mask: c_long,
    count: c_long,
    flags: c_long,
) -> c_long {
    let arguments = [futex.cast_signed(), mask, count, flags, 0, 0];
    // SAFETY: the program's own call.
    let call = || unsafe { system_call(SYS_FUTEX_WAKE, arguments) };
    if !recording() {
        return call();
    }
    let slot = record_wake(futex, count.cast_unsigned(), site);
    let result = call();
    if result < 0 {
        slot.set_outcome(outcome(error_of(result)));
    } else {
        slot.set_second(result.cast_unsigned());
    }
    result
}

/// Makes a system call as the program would.
unsafe fn system_call(number: c_long, arguments: [c_long; 6]) -> c_long {
    type Function = unsafe extern "C-unwind" fn(
        c_long,
        c_long,
        c_long,
        c_long,
        c_long,
        c_long,
        c_long,
    ) -> c_long;
    // SAFETY: `syscall` takes a number and six arguments of one register each.
    let function =
        unsafe { core::mem::transmute::<*mut core::ffi::c_void, Function>(SYSCALL.address()) };
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: by the caller's promise.
    unsafe { function(number, first, second, third, fourth, fifth, sixth) }
}

/// Records a wait: always as a call and a return, since only the kernel knows whether there is anything to wait for.
fn wait(call: Call, site: u64) -> c_long {
    wait_for((call.futex, !call.timeout.is_null()), site, || call.make())
}

fn wait_for((futex, is_timed): (u64, bool), site: u64, call: impl FnOnce() -> c_long) -> c_long {
    let kind = if is_timed {
        Kind::FutexTimedWait
    } else {
        Kind::FutexWait
    };
    let pending = Pending::wait(kind, futex, site);
    short_turns::comes_to_wait(pending.since());
    let result = call();
    pending.returned(outcome(error_of(result)));
    short_turns::goes_on();
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

fn record_wake(futex: u64, woken: u64, site: u64) -> Late {
    if woken > 1 {
        short_turns::wakes_several();
    }
    let operands = (woken, 0);
    record_extended(Kind::FutexWake, futex, OUTCOME_SUCCESS, site, operands).for_later()
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
