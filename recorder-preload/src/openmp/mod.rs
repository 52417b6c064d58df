//! Programs written with OpenMP and compiled by GCC, whose library (libgomp) makes its system calls itself, so that
//! none of its waiting passes by the C library.
//!
//! What they do is told in operations that there are:
//!
//! | OpenMP | recorded as |
//! |---|---|
//! | a parallel region begins | its master posts a semaphore of the team's once for each other member, which waits for it |
//! | a parallel region ends | every member waits at a barrier of the team's |
//! | a barrier, explicit or at the end of a loop, of sections or of a single that copies | the same barrier |
//! | critical sections, atomics by the library, locks | mutexes |
//!
//! A team has a name that stays the same from region to region: its master thread, and how deep in regions it was. Each
//! name has one semaphore, and one barrier for every size that its teams had. Their addresses in the journal are none
//! that objects of the program's could have.
//!
//! The threads of a team are ordinary ones, created by the library.
//!
//! Tasks count as work of the threads that did them. One that was done while its thread waited at a barrier counts before
//! that barrier.
//!
//! The library may have come with one that was opened later, for that one alone. Then every call of a hook looks for the
//! function that its caller means, which takes it a few hundred nanoseconds.
//!
//! Deliberately absent, so that a prediction knows nothing of it: who waits for a task other than at a barrier, and that
//! it was made before it began; what `ordered` and `doacross` wait for; which barriers were cancelled; which thread gets
//! which chunk of a dynamic loop (it stays as it was recorded); offloading to devices; programs from before GCC 4.9
//! (`GOMP_parallel_start`). Programs compiled by Clang use other functions; of those only the locks are seen here.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, Ordering};

use crate::hook;

pub mod barrier;
#[expect(
    non_snake_case,
    clippy::too_many_arguments,
    reason = "named as the library's functions are, and with their arguments"
)]
mod functions;
pub mod locks;
pub mod loops;
pub mod ompt;
pub mod region;
pub mod sections;
pub mod tasks;

/// Returns whether GCC's library has threads spin before they sleep, which it does unless told not to.
fn spins() -> bool {
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    match ANSWER.load(Ordering::Relaxed) {
        UNKNOWN => {
            let sleeps =
                is_set_to(c"GOMP_SPINCOUNT", b"0") || is_set_to(c"OMP_WAIT_POLICY", b"passive");
            ANSWER.store(if sleeps { NO } else { YES }, Ordering::Relaxed);
            !sleeps
        }
        answer => answer == YES,
    }
}

fn is_set_to(variable: &CStr, value: &[u8]) -> bool {
    // SAFETY: looks at the environment, as the library did when it was loaded.
    let found = unsafe { libc::getenv(variable.as_ptr()) };
    // SAFETY: a variable's value ends with a NUL.
    !found.is_null()
        && unsafe { CStr::from_ptr(found) }
            .to_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(value)
}

/// Returns whether hooks of functions are to record what LLVM's library, if it is that, tells by itself.
#[inline]
fn recording(site: u64) -> bool {
    hook::recording() && !functions::is_llvms(site)
}
