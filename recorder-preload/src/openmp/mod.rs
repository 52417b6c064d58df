//! Programs written with OpenMP. GCC's library (libgomp) makes its system calls itself, so that none of its waiting passes
//! by the C library; its functions have hooks. LLVM's (libomp) tells tools what it does (see `ompt`). It has GCC's
//! functions too; their hooks then leave the recording to that.
//!
//! What a program does is told in operations that there are, the same with both:
//!
//! | OpenMP | recorded as |
//! |---|---|
//! | a parallel region begins | its master posts a semaphore of the team's once for each other member, which waits for it |
//! | a parallel region ends | every member waits at a barrier of the team's |
//! | a barrier, explicit or at the end of a loop, of sections or of a single that copies | the same barrier |
//! | critical and ordered sections, atomics by the library, locks | mutexes; spin locks where the library spins |
//! | an iteration that others wait for, and their waits (`depend(source)`, `depend(sink)`) | a post and waits of that iteration |
//! | a task is made, begins, is done | a post of iteration 2n, a wait for it, a post of iteration 2n + 1 of a loop that stands for the team's tasks |
//! | a task depends on an address | a wait for an iteration that there is none of, whose number holds this |
//! | a wait for tasks | a timed wait for the semaphore that is given up, whose outcome says for which (`Outcome::HELPED`) |
//! | a piece of a loop or of sections that is dealt out; a task without a number | a failed try of the semaphore where it begins (`EINPROGRESS`) and where it ends (busy) |
//!
//! A team has a name that stays the same from region to region: its master thread, and how deep in regions it was. Each
//! name has one semaphore, and one barrier for every size that its teams had. Their addresses in the journal are none
//! that objects of the program's could have.
//!
//! The threads of a team are ordinary ones, created by the library.
//!
//! The libraries may spin, so a reader counts CPU time in these waits, and before a member takes its token, as work only where it is no
//! more than falling asleep and waking up take. Tasks are recorded where they were done, before the wait that they
//! were done in; who else might have done them is for readers to find out.
//!
//! The library may have come with one that was opened later, for that one alone. Then every call of a hook looks for the
//! function that its caller means, which takes it a few hundred nanoseconds.
//!
//! Deliberately absent, so that a prediction knows nothing of it: tasks that another thread ends (`detach`), and with GCC's library those of a
//! `taskloop` that makes very many; in LLVM's library, atomics and reductions that it locks for; which barriers were cancelled; offloading to devices; programs from before GCC 4.9
//! (`GOMP_parallel_start`); a program that LLVM's library is linked to statically, or that has a tool of its own.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, Ordering};

use foretrace_recorder::ThreadState;

use crate::hook;

pub mod barrier;
pub mod doacross;
#[expect(
    non_snake_case,
    clippy::too_many_arguments,
    reason = "named as the library's functions are, and with their arguments"
)]
mod functions;
pub mod locks;
pub mod loops;
pub mod ompt;
pub mod pieces;
pub mod region;
pub mod sections;
pub mod taskloops;
pub mod tasks;

pub use functions::is_absent;

/// An answer that is found once.
struct Answer(AtomicU8);

impl Answer {
    const NO: u8 = 1;
    const YES: u8 = 2;

    const fn unknown() -> Self {
        Self(AtomicU8::new(0))
    }

    fn get(&self, find: impl FnOnce() -> bool) -> bool {
        match self.0.load(Ordering::Relaxed) {
            Self::NO => false,
            Self::YES => true,
            _ => {
                let found = find();
                let answer = if found { Self::YES } else { Self::NO };
                self.0.store(answer, Ordering::Relaxed);
                found
            }
        }
    }
}

/// Returns whether GCC's library has threads spin before they sleep, which it does unless told not to.
fn spins() -> bool {
    static ANSWER: Answer = Answer::unknown();
    ANSWER.get(|| !is_set_to(c"GOMP_SPINCOUNT", b"0") && !is_set_to(c"OMP_WAIT_POLICY", b"passive"))
}

/// Not zero where foretrace told OpenMP's libraries to sleep while threads wait: without it they would spin, where they have CPUs.
static MADE_PASSIVE: AtomicU8 = AtomicU8::new(0);

/// Says that the libraries were told by foretrace to sleep.
pub fn note_made_passive() {
    MADE_PASSIVE.store(1, Ordering::Relaxed);
}

/// Returns whether the user told the libraries to sleep while threads wait.
fn is_told_to_sleep() -> bool {
    static ANSWER: Answer = Answer::unknown();
    let find = || !spins() || is_set_to(c"KMP_BLOCKTIME", b"0");
    MADE_PASSIVE.load(Ordering::Relaxed) == 0 && ANSWER.get(find)
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

/// Makes a call that LLVM's library tells of, and tells its callbacks the call site: to the library the hook is the caller.
fn pass<T>(site: u64, call: impl FnOnce() -> T) -> T {
    ThreadState::current().caller.set(site);
    let result = call();
    ThreadState::current().caller.set(0);
    result
}

/// Returns whether hooks of functions are to record what LLVM's library, if it is that, tells by itself.
#[inline]
fn recording(site: u64) -> bool {
    hook::recording() && !functions::is_llvms(site)
}
