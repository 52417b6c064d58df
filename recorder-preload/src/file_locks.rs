//! Locks on files.

use core::ffi::{c_int, c_long, c_short, c_void};

use foretrace_recorder::IoKind::Lock;
use foretrace_recorder::blocking::Target::File;
use foretrace_recorder::file_locks::{self, Family};
use foretrace_recorder::{
    Kind, Late, OUTCOME_BUSY, OUTCOME_SUCCESS, process, record_extended, sys,
};
use libc::off_t;

use crate::blocking::{self, errno, next_functions};
use crate::closing;
use crate::hook::recording;
use crate::lent;
use crate::next::Next;

next_functions! {
    flock(fd: c_int, operation: c_int) -> c_int;
    lockf(fd: c_int, operation: c_int, bytes: off_t) -> c_int;
    lockf64(fd: c_int, operation: c_int, bytes: off_t) -> c_int;
}

/// What is done to a lock, on which part of a file: where it begins and how long it is, 0 for all the rest.
#[derive(Clone, Copy)]
struct Step {
    kind: Kind,
    family: Family,
    part: (u64, u64),
}

impl Step {
    fn record(self, fd: c_int, outcome: u8, site: u64) -> Option<Late> {
        let name = file_locks::name(fd, self.family)?;
        Some(record_extended(self.kind, name, outcome, site, self.part).for_later())
    }

    /// Makes the call, and records what it did.
    fn make(step: Option<Self>, fd: c_int, site: u64, call: impl FnOnce() -> c_int) -> c_int {
        let Some(step) = step.filter(|_| recording()) else {
            return call();
        };
        if step.kind == Kind::FileUnlock {
            step.record(fd, OUTCOME_SUCCESS, site);
            if step.family == Family::Whole {
                file_locks::unlocked(fd);
            }
            return call();
        }
        let result = blocking::call(File(Lock, fd), site, call);
        if result == 0 {
            file_locks::locked(fd, step.family);
            step.record(fd, OUTCOME_SUCCESS, site);
        } else if matches!(errno(), libc::EAGAIN | libc::EACCES) {
            step.record(fd, OUTCOME_BUSY, site);
        }
        result
    }
}

pub unsafe extern "C-unwind" fn flock(fd: c_int, operation: c_int, site: u64) -> c_int {
    let kind = match operation & !libc::LOCK_NB {
        libc::LOCK_SH => Some(Kind::FileReadLock),
        libc::LOCK_EX => Some(Kind::FileWriteLock),
        libc::LOCK_UN => Some(Kind::FileUnlock),
        _ => None,
    };
    let step = kind.map(|kind| Step {
        kind,
        family: Family::Whole,
        part: (0, 0),
    });
    // SAFETY: the program's own call.
    Step::make(step, fd, site, || unsafe { next::flock(fd, operation) })
}

/// Returns what `lockf` does: its parts begin, or end, where the file is being read or written.
fn step_from_here(fd: c_int, operation: c_int, bytes: off_t) -> Option<Step> {
    let kind = match operation {
        libc::F_LOCK | libc::F_TLOCK => Kind::FileWriteLock,
        libc::F_ULOCK => Kind::FileUnlock,
        _ => return None,
    };
    part(fd, kind, (libc::SEEK_CUR, 0, bytes))
}

/// Returns a step about a part of a file that is given as `fcntl` takes it: from where it is counted, where it begins, how long it is.
fn part(fd: c_int, kind: Kind, (whence, start, bytes): (c_int, off_t, off_t)) -> Option<Step> {
    if !recording() || process::confined() {
        return None;
    }
    let from = match whence {
        libc::SEEK_SET => 0,
        libc::SEEK_CUR => sys::position(sys::Fd(fd)).ok()?,
        _ => sys::stat(sys::Fd(fd)).ok()?.st_size,
    };
    let begin = from.checked_add(start)?.checked_add(bytes.min(0))?;
    Some(Step {
        kind,
        family: Family::Part,
        part: (u64::try_from(begin).ok()?, bytes.unsigned_abs()),
    })
}

pub unsafe extern "C-unwind" fn lockf(
    fd: c_int,
    operation: c_int,
    bytes: off_t,
    site: u64,
) -> c_int {
    let step = step_from_here(fd, operation, bytes);
    // SAFETY: the program's own call.
    let call = || unsafe { next::lockf(fd, operation, bytes) };
    Step::make(step, fd, site, call)
}

pub unsafe extern "C-unwind" fn lockf64(
    fd: c_int,
    operation: c_int,
    bytes: off_t,
    site: u64,
) -> c_int {
    let step = step_from_here(fd, operation, bytes);
    // SAFETY: the program's own call.
    let call = || unsafe { next::lockf64(fd, operation, bytes) };
    Step::make(step, fd, site, call)
}

static FCNTL: Next = Next::new(c"fcntl", None);
static FCNTL64: Next = Next::new(c"fcntl64", None);

/// What `fcntl` is once its third argument, of whichever type, is taken as what stands in its register.
type Fcntl = unsafe extern "C-unwind" fn(c_int, c_int, c_long) -> c_int;

unsafe fn control(next: &Next, fd: c_int, command: c_int, argument: c_long, site: u64) -> c_int {
    // SAFETY: the function of that name, which takes its third argument as any other does.
    let next = unsafe { core::mem::transmute::<*mut c_void, Fcntl>(next.address()) };
    // SAFETY: the program's own call.
    let call = || unsafe { next(fd, command, argument) };
    let step = match command {
        libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            if !recording() {
                return call();
            }
            // SAFETY: numbers, which any bytes are.
            unsafe { lent::value(argument as *const libc::flock) }
                .and_then(|lock| step_of(fd, &lock))
        }
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            return closing::copied(fd, call());
        }
        _ => return call(),
    };
    Step::make(step, fd, site, call)
}

fn step_of(fd: c_int, lock: &libc::flock) -> Option<Step> {
    const READ: c_short = libc::F_RDLCK as c_short;
    const WRITE: c_short = libc::F_WRLCK as c_short;
    const NONE: c_short = libc::F_UNLCK as c_short;
    let kind = match lock.l_type {
        READ => Kind::FileReadLock,
        WRITE => Kind::FileWriteLock,
        NONE => Kind::FileUnlock,
        _ => return None,
    };
    part(fd, kind, (lock.l_whence.into(), lock.l_start, lock.l_len))
}

pub unsafe extern "C-unwind" fn fcntl(
    fd: c_int,
    command: c_int,
    argument: c_long,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { control(&FCNTL, fd, command, argument, site) }
}

pub unsafe extern "C-unwind" fn fcntl64(
    fd: c_int,
    command: c_int,
    argument: c_long,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { control(&FCNTL64, fd, command, argument, site) }
}

/// Makes the call that closes a file, and records that its locks are given up by it.
pub fn close_by<T>(fd: c_int, site: u64, call: impl FnOnce() -> T) -> T {
    let closing = file_locks::closing(fd).filter(|_| recording());
    let Some(closing) = closing else {
        return call();
    };
    let given = [Family::Whole, Family::Part].map(|family| {
        let step = Step {
            kind: Kind::FileUnlock,
            family,
            part: (0, 0),
        };
        let is_given = closing.families[family as usize];
        is_given.then(|| step.record(fd, OUTCOME_SUCCESS, site))
    });
    let result = call();
    // Whoever waits may go on before the call is back.
    if let [Some(Some(whole)), _] = given
        && closing.is_kept()
    {
        whole.set_outcome(OUTCOME_BUSY);
    }
    result
}
