//! Threads: `pthread_create` and what is done to threads.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use foretrace_recorder::thread::{self as recorder, Routine};
use foretrace_recorder::{Kind, OUTCOME_SUCCESS, message, outcome_of, record};
use libc::{clockid_t, pthread_attr_t, pthread_t, timespec};

use crate::affinity::Attributes;
use crate::hook::{Pending, attempt, give, recording};
use crate::next;
use crate::openmp::region;

/// The rounds of destructors that glibc makes (`PTHREAD_DESTRUCTOR_ITERATIONS`).
const ROUNDS: usize = 4;

/// No key.
const NONE: u32 = u32::MAX;

/// The key whose destructor tells that a thread ends, however it ends.
static KEY: AtomicU32 = AtomicU32::new(NONE);

/// Makes the key, and watches the process's first thread.
pub fn watch_first() {
    let mut key = 0;
    // SAFETY: the key is written, the destructor is a function of ours.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(at_end)) } == 0 {
        KEY.store(key, Ordering::Relaxed);
        watch(1);
    }
}

/// Has [`at_end`] called for this thread with this round.
fn watch(round: usize) {
    let key = KEY.load(Ordering::Relaxed);
    if key != NONE {
        // SAFETY: the key was made; its value is a number that is never followed as a pointer.
        unsafe { libc::pthread_setspecific(key, round as *const c_void) };
    }
}

/// Notes a thread's end. Other destructors may still run and record after this one, so it comes again in the next
/// round, up to the last.
unsafe extern "C" fn at_end(value: *mut c_void) {
    let round = value as usize;
    region::come_back();
    recorder::end(round >= ROUNDS);
    if round < ROUNDS {
        watch(round + 1);
    }
}

/// Where a created thread begins: it takes what its creator prepared, and runs what the program wanted.
unsafe extern "C-unwind" fn trampoline(token: *mut c_void) -> *mut c_void {
    // SAFETY: `create` passed the token of a child prepared for this one thread.
    let (routine, argument) = unsafe { recorder::begin(token) };
    watch(1);
    // SAFETY: the program's own routine, with the argument that it gave.
    unsafe { routine(argument) }
}

pub unsafe extern "C-unwind" fn create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
    site: u64,
) -> c_int {
    // SAFETY: the program's own attributes.
    let on_cpu = match unsafe { Attributes::new(attributes) } {
        Ok(on_cpu) => on_cpu,
        Err(errno) => return errno,
    };
    create_with(
        routine,
        argument,
        (site, on_cpu.bound),
        |result| result,
        |routine, argument| {
            let attributes = on_cpu.or(attributes);
            // SAFETY: the program's own call, perhaps with a routine that runs the program's.
            unsafe { next::pthread_create(thread, attributes, routine, argument) }
        },
    )
}

/// A thread that a library makes for itself, while it works for a thread of the program's: what it is to run.
struct Beside {
    routine: AtomicUsize,
    argument: AtomicUsize,
}

/// As many of them as are known as such.
const MOST_BESIDE: usize = 16;

static BESIDE: [Beside; MOST_BESIDE] = [const {
    Beside {
        routine: AtomicUsize::new(0),
        argument: AtomicUsize::new(0),
    }
}; MOST_BESIDE];

/// How many there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns how many threads libraries that pass messages made for themselves.
pub fn of_libraries() -> u64 {
    COUNT.load(Ordering::Relaxed).min(MOST_BESIDE) as u64
}

/// Keeps what such a thread is to run; `None` where there are too many.
fn claim(routine: Routine, argument: *mut c_void) -> Option<*mut c_void> {
    let place = BESIDE.get(COUNT.fetch_add(1, Ordering::Relaxed))?;
    place.argument.store(argument as usize, Ordering::Relaxed);
    place.routine.store(routine as usize, Ordering::Release);
    Some(core::ptr::from_ref(place).cast_mut().cast())
}

/// Where such a thread begins: nothing of it is recorded.
unsafe extern "C-unwind" fn beside(place: *mut c_void) -> *mut c_void {
    // SAFETY: `claim` returned it.
    let place = unsafe { &*place.cast::<Beside>() };
    message::stay_inside();
    let routine = place.routine.load(Ordering::Acquire);
    // SAFETY: `claim` stored a routine there.
    let routine = unsafe { core::mem::transmute::<usize, Routine>(routine) };
    // SAFETY: the library's own routine, with the argument that it gave.
    unsafe { routine(place.argument.load(Ordering::Relaxed) as *mut c_void) }
}

/// Creates a thread that is recorded by a function that takes a routine and its argument, and whose result `errno`
/// translates. The thread is told that it is bound to those of the first 64 CPUs, where they are not none.
pub fn create_with(
    routine: Routine,
    argument: *mut c_void,
    (site, bound): (u64, u64),
    errno: impl Fn(c_int) -> c_int,
    call: impl FnOnce(Routine, *mut c_void) -> c_int,
) -> c_int {
    let child = if recording() {
        recorder::prepare(routine, argument)
    } else {
        None
    };
    let Some(child) = child else {
        return match message::is_inside().then(|| claim(routine, argument)) {
            Some(Some(place)) => call(beside, place),
            _ => call(routine, argument),
        };
    };
    if bound != 0 {
        child.bind(bound);
    }
    let number = u64::from(child.number());
    let slot = record(Kind::Create, number, OUTCOME_SUCCESS, site).for_later();
    let result = call(trampoline, child.token());
    if result != 0 {
        slot.set_outcome(outcome_of(errno(result)));
        child.abandon();
    }
    result
}

/// Records a wait for a thread's end, which always counts as one that may block.
pub fn wait_for_end(
    kind: Kind,
    thread: pthread_t,
    site: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if !recording() {
        return call();
    }
    let pending = Pending::record(kind, thread, site);
    let result = call();
    pending.returned(outcome_of(result));
    result
}

pub unsafe extern "C-unwind" fn join(
    thread: pthread_t,
    result: *mut *mut c_void,
    site: u64,
) -> c_int {
    wait_for_end(Kind::Join, thread, site, || {
        // SAFETY: the program's own call.
        unsafe { next::pthread_join(thread, result) }
    })
}

pub unsafe extern "C-unwind" fn try_join(
    thread: pthread_t,
    result: *mut *mut c_void,
    site: u64,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_tryjoin_np(thread, result) };
    if !recording() {
        return call();
    }
    attempt(Kind::TryJoin, thread, site, call)
}

pub unsafe extern "C-unwind" fn timed_join(
    thread: pthread_t,
    result: *mut *mut c_void,
    until: *const timespec,
    site: u64,
) -> c_int {
    wait_for_end(Kind::TimedJoin, thread, site, || {
        // SAFETY: the program's own call.
        unsafe { next::pthread_timedjoin_np(thread, result, until) }
    })
}

pub unsafe extern "C-unwind" fn clock_join(
    thread: pthread_t,
    result: *mut *mut c_void,
    clock: clockid_t,
    until: *const timespec,
    site: u64,
) -> c_int {
    wait_for_end(Kind::TimedJoin, thread, site, || {
        // SAFETY: the program's own call.
        unsafe { next::pthread_clockjoin_np(thread, result, clock, until) }
    })
}

pub unsafe extern "C-unwind" fn detach(thread: pthread_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_detach(thread) };
    if !recording() {
        return call();
    }
    // With this the threads of a team that is no more begin their end.
    region::come_back();
    give(Kind::Detach, thread, site, call)
}

pub unsafe extern "C-unwind" fn cancel(thread: pthread_t, site: u64) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { next::pthread_cancel(thread) };
    if !recording() {
        return call();
    }
    give(Kind::Cancel, thread, site, call)
}
