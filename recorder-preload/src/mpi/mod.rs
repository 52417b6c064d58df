//! Programs whose processes pass messages by MPI: Open MPI, MPICH and its relatives, and the standard ABI of MPI 5.
//!
//! Every argument of an MPI function is an `int` or a pointer. So one kind of hook serves all functions: it keeps the
//! arguments as words and passes them on, whatever they are. What each function's arguments mean is known by its class.
//!
//! Both `MPI_x` and `PMPI_x` are exported: Fortran's wrappers call the one in one library and the other in another. What the
//! library calls of its own is not recorded, nor what it does with threads, locks and files: it is not the program's work.
//!
//! A name that the program's library lacks must not be exported, since programs look for some: what came with MPI 4 is hooked
//! otherwise ([`additions`]).

mod additions;
mod arguments;
mod collectives;
mod communicators;
pub mod library;
mod messages;
mod neighbours;
mod progress;
mod requests;
mod waiting;
mod windows;

use core::ffi::c_int;

use foretrace_recorder::message;
use foretrace_recorder::{OUTCOME_FAILED, OUTCOME_SUCCESS};
use foretrace_trace::journal::mpi::{Class, FUNCTIONS, position};

use crate::hook::recording;
use arguments::Arguments;

pub use additions::{hook_at_start, opening};
pub use progress::{setsid, ucp_worker_progress};

/// Exports hooks for functions of MPI.
macro_rules! export {
    ($($name:ident $profiled:ident $position:ident;)*) => {
        $(
            $crate::mpi::export!(@hook $name $position #[unsafe(no_mangle)]);
            $crate::mpi::export!(@hook $profiled $position #[unsafe(no_mangle)]);
        )*
    };
    (@hook $name:ident $position:ident $(#[$exported:meta])?) => {
        #[doc = concat!("Stands in for the library's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// As the library's.
        $(#[$exported])?
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov r11, qword ptr [rip + foretrace_thread_state@GOTTPOFF]",
                "mov qword ptr fs:[r11 + {frame}], rbp",
                "sub rsp, 8",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                ".cfi_adjust_cfa_offset 56",
                "mov edi, {position}",
                "mov rsi, rsp",
                "call {work}",
                "add rsp, 56",
                ".cfi_adjust_cfa_offset -56",
                "ret",
                ".cfi_endproc",
                frame = const foretrace_recorder::FRAME_OFFSET,
                position = const foretrace_trace::journal::mpi::position::$position,
                work = sym $crate::mpi::call,
            )
        }
    };
}

/// Makes hooks for functions that not every library has, and lists them.
macro_rules! unexported {
    ($($name:ident $position:ident;)*) => {
        #[expect(non_snake_case, reason = "named as the functions are")]
        mod hooks {
            $($crate::mpi::export!(@hook $name $position);)*
        }

        /// The functions' positions, and their hooks.
        const HOOKS: &[(u16, unsafe extern "C-unwind" fn())] = &[
            $((foretrace_trace::journal::mpi::position::$position, hooks::$name),)*
        ];
    };
}

/// The exports.
pub mod exports;

pub(crate) use {export, unexported};

/// Does what the hook of a function is for.
pub unsafe extern "C-unwind" fn call(position: u16, words: *const usize) -> c_int {
    // SAFETY: the hook's instructions put the arguments there.
    let arguments = unsafe { Arguments::new(position, words) };
    if message::is_inside() || !recording() {
        return arguments.forward();
    }
    additions::hook_in_opened();
    let Some(function) = FUNCTIONS.get(usize::from(position)) else {
        return arguments.forward();
    };
    match function.class {
        Class::Begin if arguments.position == position::Session_init => {
            communicators::begin_session(&arguments)
        }
        Class::Begin => communicators::begin(&arguments),
        Class::Send(_, ends) => messages::send(&arguments, ends),
        Class::Receive(ends) => messages::receive(&arguments, ends),
        Class::SendReceive { replaces, ends } => messages::send_receive(&arguments, replaces, ends),
        Class::Partitioned { .. } => messages::partitioned(&arguments),
        Class::Ready => messages::ready(&arguments),
        Class::Arrived => messages::arrived(&arguments),
        Class::Neighbours(sort, ends) => neighbours::exchange(&arguments, sort, ends),
        Class::Transfer {
            count,
            datatype,
            window,
        } => messages::transfer(&arguments, (count, datatype), window),
        Class::Epoch(sort) => windows::epoch(&arguments, sort),
        Class::Probe { tries, .. } => messages::probe(&arguments, tries),
        Class::Start => requests::start(&arguments),
        Class::Wait { waits, tries } => requests::wait(&arguments, waits, tries),
        Class::Free => requests::free(&arguments),
        Class::Collective(sort, ends) => collectives::collective(&arguments, sort, ends),
        Class::Make { .. } => communicators::make(&arguments),
        Class::Drop => communicators::drop(&arguments),
        Class::End | Class::Span => blocking(&arguments, &[], |_| 0),
    }
}

/// Returns the outcome byte of a call.
fn outcome(result: c_int) -> u8 {
    if result == foretrace_mpi::SUCCESS {
        OUTCOME_SUCCESS
    } else {
        OUTCOME_FAILED + libc::EIO as u8
    }
}

/// As many words as returns have whose number is known.
const MOST_RETURNED: usize = 8;

/// Makes a call that may block. `returned` fills in the words of its return, once it succeeded, and says how many.
fn blocking(
    arguments: &Arguments,
    words: &[u64],
    returned: impl FnOnce(&mut [u64; MOST_RETURNED]) -> usize,
) -> c_int {
    let tsc = message::begin();
    message::put_call(tsc, arguments.position, arguments.site, words);
    let result = waiting::complete(arguments);
    finish(arguments, result, returned);
    result
}

/// Makes a call that does not block, and records it after.
fn immediate(
    arguments: &Arguments,
    words: &[u64],
    returned: impl FnOnce(&mut [u64; MOST_RETURNED]) -> usize,
) -> c_int {
    let tsc = message::begin();
    let result = arguments.forward();
    message::put_call(tsc, arguments.position, arguments.site, words);
    finish(arguments, result, returned);
    result
}

fn finish(
    arguments: &Arguments,
    result: c_int,
    returned: impl FnOnce(&mut [u64; MOST_RETURNED]) -> usize,
) {
    let mut words = [0; MOST_RETURNED];
    let count = if result == foretrace_mpi::SUCCESS {
        returned(&mut words)
    } else {
        0
    };
    let words = words.get(..count).unwrap_or_default();
    message::put_return(arguments.position, outcome(result), words);
}
