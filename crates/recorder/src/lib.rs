//! Records events of threads from inside a program: buffers, clocks, raw system calls.
//!
//! The preloaded library's hooks call [`record`] and its relatives. Everything here obeys the hooks' rules: no
//! allocation, no lock, no standard I/O, no unwinding, `errno` untouched, safe in signal handlers and in the last
//! moments of a thread.
//!
//! ```no_run
//! use foretrace_recorder::{Compared, process, record, Kind, KnownCosts, OUTCOME_SUCCESS};
//!
//! let began = process::own_cpu_nanos();
//! let costs = (&KnownCosts::default(), &Compared::default());
//! if process::start(c"/tmp/journal", 0, None, false, began, costs) {
//!     record(Kind::MutexLock, 0x1234, OUTCOME_SUCCESS, 0x5678);
//! }
//! ```
//!
//! Deliberately absent: hooks, symbol resolution, and any knowledge of what the events mean.
#![no_std]
#![expect(
    unsafe_code,
    reason = "buffers are mapped files, thread states are found by the thread pointer"
)]
#![expect(
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "system calls take and return every kind of number in the same registers"
)]
#![expect(
    clippy::cast_ptr_alignment,
    reason = "what is mapped is aligned to pages"
)]

#[cfg(test)]
extern crate std;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("the recorder knows x86_64 Linux only");

pub mod bindings;
pub mod blocking;
mod buffer;
mod chunk;
pub mod clock;
mod cost;
pub mod cpu_files;
pub mod cpu_topology;
mod file;
pub mod file_locks;
mod late;
mod looks;
pub mod maps;
mod memory_file;
pub mod message;
mod open_files;
mod outcome;
pub mod pipes;
pub mod process;
pub mod programs;
mod section;
pub mod sets;
pub mod short_turns;
pub mod sockets;
pub mod stack;
mod state;
mod streak;
pub mod sys;
pub mod thread;
pub mod turns;
mod unread;
pub mod vfork;

pub use {
    buffer::{Slot, record, record_extended, returned, spun},
    cost::{Calls, Compared, KnownCosts},
    foretrace_trace::IoKind,
    foretrace_trace::journal::layout::{
        CPU_DIRECTORY, Kind, OUTCOME_BEGINS, OUTCOME_BUSY, OUTCOME_CHOSEN, OUTCOME_FAILED,
        OUTCOME_HELPED, OUTCOME_OWNER_DIED, OUTCOME_PENDING, OUTCOME_SUCCESS, OUTCOME_TIMED_OUT,
        OUTCOME_WAITED_FOR_ALL, TASK_NEEDS, TASK_WRITES, UNDONE,
    },
    late::Late,
    outcome::outcome_of,
    section::{Release, record_acquisition, record_busy, record_release},
    state::{FRAME_OFFSET, SITES, ThreadState},
    unread::{returned_from_wait, woke},
};
