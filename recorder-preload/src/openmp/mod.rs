//! Programs written with OpenMP and compiled by GCC, whose library (libgomp) makes its system calls itself, so that
//! none of its waiting passes by the C library.
//!
//! What they do is told in operations that there are:
//!
//! | OpenMP | recorded as |
//! |---|---|
//! | a parallel region begins | its master posts a semaphore of the team's once for each other member, which waits for it |
//! | a parallel region ends | every member waits at a barrier of the team's |
//! | a barrier, explicit or at the end of a loop, of sections, of a copying single | the same barrier |
//! | critical sections, atomics by the library, locks | mutexes |
//!
//! A team has a name that stays the same from region to region: its master thread, and how deep in regions it was. Each
//! name has one semaphore, and one barrier for every size that its teams had. Their addresses in the journal are none
//! that objects of the program's could have.
//!
//! The threads of a team are ordinary ones, created by the library.
//!
//! Deliberately absent, so that a prediction knows nothing of them: tasks (each counts as work of the thread that
//! did it, where it did it; nobody waits for them but at barriers inside of regions), `ordered` and `doacross`
//! (their waiting), which thread took which chunk of a dynamic loop (as it was recorded), offloading to devices, and
//! programs older than GCC 4.9 (`GOMP_parallel_start`). Programs compiled by Clang use other functions; of those only
//! the locks are seen here.

pub mod barrier;
#[expect(
    non_snake_case,
    clippy::too_many_arguments,
    reason = "named as the library's functions are, and with their arguments"
)]
mod functions;
pub mod locks;
pub mod loops;
pub mod region;
pub mod tasks;
