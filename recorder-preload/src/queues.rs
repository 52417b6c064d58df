//! Message queues, POSIX's and System V's, and System V's semaphores. Processes share them: what names them is the same
//! in all.

use core::ffi::{c_char, c_int, c_long, c_uint, c_ushort, c_void};

use foretrace_recorder::blocking::Target;
use foretrace_recorder::{
    IoKind, Kind, OUTCOME_SUCCESS, UNDONE, outcome_of, process, record, record_extended, sets, sys,
};
use libc::{mqd_t, sembuf, size_t, ssize_t, timespec};

use crate::blocking::{Pending, errno, next_functions};
use crate::hook::recording;
use crate::lent;

next_functions! {
    mq_send(queue: mqd_t, message: *const c_char, bytes: size_t, priority: c_uint) -> c_int;
    mq_timedsend(queue: mqd_t, message: *const c_char, bytes: size_t, priority: c_uint,
        until: *const timespec) -> c_int;
    mq_receive(queue: mqd_t, message: *mut c_char, bytes: size_t, priority: *mut c_uint)
        -> ssize_t;
    mq_timedreceive(queue: mqd_t, message: *mut c_char, bytes: size_t, priority: *mut c_uint,
        until: *const timespec) -> ssize_t;
    msgsnd(queue: c_int, message: *const c_void, bytes: size_t, flags: c_int) -> c_int;
    msgrcv(queue: c_int, message: *mut c_void, bytes: size_t, kind: c_long, flags: c_int)
        -> ssize_t;
    semop(set: c_int, operations: *mut sembuf, count: size_t) -> c_int;
    semtimedop(set: c_int, operations: *mut sembuf, count: size_t, timeout: *const timespec)
        -> c_int;
}

/// What is waited for where it is not a message or a token: room, or zero.
const SOMETHING: Target = Target::Other(IoKind::Queue);

/// Returns whether to record; not in a program that gave up system calls, since some are needed for it.
fn watched() -> bool {
    recording() && !process::confined()
}

/// Names a POSIX queue: by its inode, since descriptors are the process's own.
fn posix(queue: mqd_t) -> u64 {
    sys::identity(sys::Fd(queue)).map_or(0, |(_, inode)| inode << 1)
}

fn system_v(queue: c_int) -> u64 {
    u64::from(queue.cast_unsigned()) << 1 | 1
}

/// Records a message before it is sent, and that sending it blocked, if it did: the queue was full.
fn send(queue: impl Fn() -> u64, site: u64, call: impl FnOnce() -> c_int) -> c_int {
    if !watched() {
        return call();
    }
    let slot = record(Kind::QueueSend, queue(), OUTCOME_SUCCESS, site).for_later();
    let pending = Pending::begin(SOMETHING, site);
    let result = call();
    if result != 0 {
        slot.set_outcome(outcome_of(errno()));
    }
    pending.end(result);
    result
}

fn receive(queue: impl Fn() -> u64, site: u64, call: impl FnOnce() -> ssize_t) -> ssize_t {
    if !watched() {
        return call();
    }
    let pending = Pending::begin(SOMETHING, site);
    let result = call();
    if result < 0 {
        pending.end(result);
    } else {
        pending.end_of_take(Target::Take(Kind::QueueReceive, queue(), None));
    }
    result
}

pub unsafe extern "C-unwind" fn mq_send(
    queue: mqd_t,
    message: *const c_char,
    bytes: size_t,
    priority: c_uint,
    site: u64,
) -> c_int {
    send(
        || posix(queue),
        site,
        // SAFETY: the program's own call.
        || unsafe { next::mq_send(queue, message, bytes, priority) },
    )
}

pub unsafe extern "C-unwind" fn mq_timedsend(
    queue: mqd_t,
    message: *const c_char,
    bytes: size_t,
    priority: c_uint,
    until: *const timespec,
    site: u64,
) -> c_int {
    send(
        || posix(queue),
        site,
        // SAFETY: the program's own call.
        || unsafe { next::mq_timedsend(queue, message, bytes, priority, until) },
    )
}

pub unsafe extern "C-unwind" fn mq_receive(
    queue: mqd_t,
    message: *mut c_char,
    bytes: size_t,
    priority: *mut c_uint,
    site: u64,
) -> ssize_t {
    receive(
        || posix(queue),
        site,
        // SAFETY: the program's own call.
        || unsafe { next::mq_receive(queue, message, bytes, priority) },
    )
}

pub unsafe extern "C-unwind" fn mq_timedreceive(
    queue: mqd_t,
    message: *mut c_char,
    bytes: size_t,
    priority: *mut c_uint,
    until: *const timespec,
    site: u64,
) -> ssize_t {
    receive(
        || posix(queue),
        site,
        // SAFETY: the program's own call.
        || unsafe { next::mq_timedreceive(queue, message, bytes, priority, until) },
    )
}

pub unsafe extern "C-unwind" fn msgsnd(
    queue: c_int,
    message: *const c_void,
    bytes: size_t,
    flags: c_int,
    site: u64,
) -> c_int {
    send(
        || system_v(queue),
        site,
        // SAFETY: the program's own call.
        || unsafe { next::msgsnd(queue, message, bytes, flags) },
    )
}

/// The flag that says to leave the message there.
const MSG_COPY: c_int = 0o40000;

pub unsafe extern "C-unwind" fn msgrcv(
    queue: c_int,
    message: *mut c_void,
    bytes: size_t,
    kind: c_long,
    flags: c_int,
    site: u64,
) -> ssize_t {
    // SAFETY: the program's own call.
    let call = || unsafe { next::msgrcv(queue, message, bytes, kind, flags) };
    if flags & MSG_COPY != 0 {
        return call();
    }
    receive(|| system_v(queue), site, call)
}

/// One operation on a set of semaphores.
#[derive(Clone, Copy)]
struct Step {
    kind: Kind,
    semaphore: u64,
    /// How many, with what tells that the process's end undoes it.
    tokens: u64,
}

/// Returns what an operation does; `None` where it waits for zero.
fn step(set: c_int, operation: sembuf) -> Option<Step> {
    let kind = match operation.sem_op {
        0 => return None,
        1.. => Kind::SetGive,
        _ => Kind::SetTake,
    };
    let number: c_ushort = operation.sem_num;
    let is_undone = c_int::from(operation.sem_flg) & libc::SEM_UNDO != 0;
    let undone = if is_undone { UNDONE } else { 0 };
    Some(Step {
        kind,
        semaphore: u64::from(set.cast_unsigned()) << 16 | u64::from(number),
        tokens: u64::from(operation.sem_op.unsigned_abs()) | undone,
    })
}

impl Step {
    /// Returns the operands, with the semaphore's value where this process sees it for the first time.
    fn operands(self) -> (u64, u64) {
        (self.tokens, sets::value_at_first_sight(self.semaphore))
    }

    fn record(self, operands: (u64, u64), site: u64) {
        record_extended(self.kind, self.semaphore, OUTCOME_SUCCESS, site, operands);
    }
}

/// Records what operations on a set give before they are done, where that is all they do; and else all of it after.
unsafe fn operate(
    set: c_int,
    operations: *mut sembuf,
    count: size_t,
    site: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if !watched() || count > MOST_STEPS {
        return call();
    }
    // SAFETY: numbers, which any bytes are; nobody changes them during the call.
    let Some(operations) = (unsafe { lent::slice(operations, count) }) else {
        return call();
    };
    let steps = operations
        .iter()
        .filter_map(|&operation| step(set, operation));
    let mut operands = [(0, 0); MOST_STEPS];
    for (place, step) in operands.iter_mut().zip(steps.clone()) {
        *place = step.operands();
    }
    let steps = || steps.clone().zip(operands);
    let only_gives = steps().all(|(step, _)| step.kind == Kind::SetGive);
    if only_gives {
        for (step, operands) in steps() {
            step.record(operands, site);
        }
    }
    let pending = Pending::begin(SOMETHING, site);
    let result = call();
    let mut takes = steps().filter(|(step, _)| step.kind == Kind::SetTake);
    match takes.next() {
        Some((first, operands)) if result == 0 => {
            let (kind, semaphore) = (first.kind, first.semaphore);
            pending.end_of_take(Target::Take(kind, semaphore, Some(operands)));
            let gives = steps().filter(|(step, _)| step.kind == Kind::SetGive);
            for (step, operands) in takes.chain(gives) {
                step.record(operands, site);
            }
        }
        _ => pending.end(result),
    }
    result
}

/// Arrays beyond this are not looked at.
const MOST_STEPS: usize = 16;

pub unsafe extern "C-unwind" fn semop(
    set: c_int,
    operations: *mut sembuf,
    count: size_t,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call, and its operations.
    unsafe {
        operate(set, operations, count, site, || {
            next::semop(set, operations, count)
        })
    }
}

pub unsafe extern "C-unwind" fn semtimedop(
    set: c_int,
    operations: *mut sembuf,
    count: size_t,
    timeout: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call, and its operations.
    unsafe {
        operate(set, operations, count, site, || {
            next::semtimedop(set, operations, count, timeout)
        })
    }
}
