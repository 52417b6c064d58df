//! Ranks that wait must let others run: they share one CPU.
//!
//! Libraries of MPI wait by looking again and again. Open MPI yields in between where it is told to, which `foretrace record`
//! does. MPICH with UCX never does, so that here its progress function yields where it made none; other libraries are helped
//! otherwise ([`waiting`](super::waiting)). And MPICH's launcher puts every rank
//! into a session of its own, where the scheduler takes it for a group of its own (autogroup), between which
//! `sched_yield` does not switch: the launcher is told that it did so.

use core::ffi::{c_char, c_uint, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use foretrace_recorder::message;

use crate::next::{self, Next};

/// Whether the library looked for messages through UCX.
static CALLED: AtomicBool = AtomicBool::new(false);

/// Returns whether the library has looked for messages through UCX.
pub fn was_called() -> bool {
    CALLED.load(Ordering::Relaxed)
}

static PROGRESS: Next = Next::new(c"ucp_worker_progress", None);
static SETSID: Next = Next::new(c"setsid", None);

/// Stands in for UCX's `ucp_worker_progress`.
///
/// # Safety
///
/// As UCX's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ucp_worker_progress(worker: *mut c_void) -> c_uint {
    CALLED.store(true, Ordering::Relaxed);
    let mut address = PROGRESS.address();
    if address.is_null() {
        address = super::library::symbol(c"ucp_worker_progress") as *mut c_void;
        if address.is_null() {
            return 0;
        }
    }
    // SAFETY: the function of that name has this type.
    let progress = unsafe {
        core::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn(*mut c_void) -> c_uint>(
            address,
        )
    };
    // SAFETY: the library's own call.
    let done = unsafe { progress(worker) };
    if done == 0 && message::is_waiting() {
        // SAFETY: it takes nothing.
        unsafe { next::sched_yield() };
    }
    done
}

unsafe extern "C" {
    /// The program's name without its directories.
    static program_invocation_short_name: *const c_char;
}

/// Stands in for the C library's `setsid`, and does nothing in the process that starts ranks for MPICH.
///
/// # Safety
///
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setsid() -> libc::pid_t {
    if crate::hook::recording() && starts_ranks() {
        // SAFETY: it takes nothing.
        return unsafe { libc::getpid() };
    }
    let address = SETSID.address();
    if address.is_null() {
        return -1;
    }
    // SAFETY: the function of that name has this type.
    let call = unsafe {
        core::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn() -> libc::pid_t>(address)
    };
    // SAFETY: the program's own call.
    unsafe { call() }
}

/// Returns whether this is one of the launchers of MPICH.
fn starts_ranks() -> bool {
    // SAFETY: the C library sets it before any program begins, and nobody changes it.
    let name = unsafe { program_invocation_short_name };
    if name.is_null() {
        return false;
    }
    // SAFETY: a string.
    let name = unsafe { core::ffi::CStr::from_ptr(name) }.to_bytes();
    name.starts_with(b"hydra")
}
