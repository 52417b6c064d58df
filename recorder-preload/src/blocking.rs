//! What the hooks of calls that may block have in common: input and output, waiting for time, signals, processes.

use core::ffi::{c_int, c_void};

use foretrace_recorder::blocking::{self, Begun, Target};
use foretrace_recorder::{
    IoKind, Kind, OUTCOME_SUCCESS, OUTCOME_TIMED_OUT, outcome_of, pipes, record_extended,
};

use crate::hook::{CANCELLED, recording};

/// A call under way. Dropped by an unwinding (its thread was cancelled), it records that.
pub struct Pending {
    begun: Begun,
    target: Target,
    site: u64,
}

impl Pending {
    /// Begins a call.
    #[inline]
    pub fn begin(target: Target, site: u64) -> Self {
        Self {
            begun: blocking::begin(),
            target,
            site,
        }
    }

    /// Says that it came back, and records it if it blocked.
    #[inline]
    pub fn end(self, result: impl Result) {
        blocking::end(self.begun, self.target, || result.outcome(), self.site);
        core::mem::forget(self);
    }

    /// Records what it took.
    pub fn end_of_take(self, target: Target) {
        blocking::end_of_take(self.begun, target, self.site);
        core::mem::forget(self);
    }

    /// Records that it waited for a process, as [`Target::Process`] names it, and saw its end.
    pub fn end_of_process(self, pid: u32, key: u64) {
        blocking::end_of_wait(self.begun, Target::Process(pid, key), self.site);
        core::mem::forget(self);
    }

    /// Records that it saw the end of the process of this number, and would not have waited for it.
    pub fn end_of_look(self, pid: u32) {
        blocking::end_of_look(self.begun, pid, self.site);
        core::mem::forget(self);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        blocking::end(self.begun, self.target, || CANCELLED, self.site);
    }
}

/// Makes a call, and records it if it blocked.
#[inline]
pub fn call<T: Result>(target: Target, site: u64, call: impl FnOnce() -> T) -> T {
    call_then(target, site, call, || target)
}

/// Makes a call, and records it if it blocked; what it waited for is asked when it has succeeded.
#[inline]
pub fn call_then<T: Result>(
    target: Target,
    site: u64,
    call: impl FnOnce() -> T,
    waited_for: impl FnOnce() -> Target,
) -> T {
    if !recording() {
        return call();
    }
    let mut pending = Pending::begin(target, site);
    if let Target::Bytes(kind, fd, place) = target
        && let Some(name) = pipes::name(fd, kind, pending.begun.counter())
    {
        return move_through_pipe(pending, (kind, name, place), call);
    }
    let result = call();
    if blocking::nothing_happened(pending.begun) {
        core::mem::forget(pending);
        return result;
    }
    if result.outcome() == OUTCOME_SUCCESS {
        pending.target = waited_for();
    }
    let since = pending.begun.counter();
    pending.end(result);
    if let Target::Stream(IoKind::Read, stream, descriptor) = target {
        // SAFETY: the program used the stream just now.
        let fd = unsafe { descriptor(stream) };
        if let Some(name) = pipes::name(fd, IoKind::Read, since) {
            record_extended(Kind::PipeRead, name, OUTCOME_SUCCESS, site, (0, 0));
        }
    }
    result
}

/// Makes a call that reads from a pipe or a counter or writes to it, and records that and, if it blocked, the waiting.
#[inline(never)]
fn move_through_pipe<T: Result>(
    mut pending: Pending,
    (kind, name, place): (IoKind, u64, *const c_void),
    call: impl FnOnce() -> T,
) -> T {
    let site = pending.site;
    let record = |kind| record_extended(kind, name, OUTCOME_SUCCESS, site, (0, 0));
    // Who reads what is written may be seen before the call is back.
    let write = (kind == IoKind::Write).then(|| {
        let write = record(Kind::PipeWrite).for_later();
        pending.begun = blocking::begin();
        write
    });
    let result = call();
    let bytes = result.bytes().map(|bytes| {
        if !pipes::is_counter(name) || bytes != 8 {
            return bytes;
        }
        if place.is_null() {
            return 1;
        }
        // SAFETY: the kernel has read a number of eight bytes from there, or written one there.
        unsafe { place.cast::<u64>().read_unaligned() }
    });
    let outcome = result.outcome();
    if let Some(write) = write {
        match bytes {
            Some(bytes) => write.set_second(bytes),
            None => write.set_outcome(outcome),
        }
    }
    pending.end(result);
    if kind == IoKind::Read
        && let Some(bytes) = bytes
    {
        record(Kind::PipeRead).for_later().set_second(bytes);
    }
    result
}

/// What a call returns, and what that says of how it went.
pub trait Result: Copy {
    /// Returns the outcome byte.
    fn outcome(self) -> u8;

    /// Returns how many bytes were read or written; `None` where it failed, or does not tell.
    fn bytes(self) -> Option<u64> {
        None
    }
}

/// Returns what the last failed call left.
pub fn errno() -> c_int {
    // SAFETY: the address of this thread's own.
    unsafe { *libc::__errno_location() }
}

impl Result for c_int {
    fn outcome(self) -> u8 {
        (self as isize).outcome()
    }
}

impl Result for isize {
    fn outcome(self) -> u8 {
        if self == -1 {
            outcome_of(errno())
        } else {
            OUTCOME_SUCCESS
        }
    }

    fn bytes(self) -> Option<u64> {
        u64::try_from(self).ok()
    }
}

/// Of functions of the standard streams, that tell by a flag what went wrong; and of those that tell nothing.
impl Result for usize {
    fn outcome(self) -> u8 {
        OUTCOME_SUCCESS
    }
}

impl Result for u32 {
    fn outcome(self) -> u8 {
        OUTCOME_SUCCESS
    }
}

impl<T> Result for *mut T {
    fn outcome(self) -> u8 {
        OUTCOME_SUCCESS
    }
}

impl Result for () {
    fn outcome(self) -> u8 {
        OUTCOME_SUCCESS
    }
}

/// The number of files that are ready; none when the time ran out.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Ready(c_int);

impl Result for Ready {
    fn outcome(self) -> u8 {
        match self.0 {
            0 => OUTCOME_TIMED_OUT,
            result => result.outcome(),
        }
    }
}

/// Of functions that move the eight bytes of a counter: 0 where they did.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Counted(c_int);

impl Result for Counted {
    fn outcome(self) -> u8 {
        self.0.outcome()
    }

    fn bytes(self) -> Option<u64> {
        (self.0 == 0).then_some(8)
    }
}

/// An `errno`, 0 for success.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Errno(c_int);

impl Result for Errno {
    fn outcome(self) -> u8 {
        outcome_of(self.0)
    }
}

/// Defines functions, in a module `next`, that call the next of their name; and `look_up_all` for them.
macro_rules! next_functions {
    ($($name:ident ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        #[allow(non_snake_case, clippy::allow_attributes, reason = "named as the functions are")]
        mod next {
            use super::*;

            $(
                #[inline]
                pub unsafe fn $name($($argument: $type),*) -> $result {
                    // SAFETY: the function of that name has this type.
                    let function = unsafe {
                        core::mem::transmute::<
                            *mut core::ffi::c_void,
                            unsafe extern "C-unwind" fn($($type),*) -> $result,
                        >(table::$name())
                    };
                    // SAFETY: by the caller's promise.
                    unsafe { function($($argument),*) }
                }
            )*
        }

        #[allow(non_snake_case, clippy::allow_attributes, reason = "named as the functions are")]
        mod table {
            $($crate::next::place!(pub $name, None);)*
        }

        /// Looks the functions up, so that no hook has to later.
        pub fn look_up_all() {
            $(table::$name();)*
        }
    };
}

/// Defines hooks that make a call and record it if it blocked, each with what it waits for; and `look_up_all`.
macro_rules! hooks {
    (
        $($name:ident ($($argument:ident: $type:ty),*) -> $result:ty = $target:expr;)*
    ) => {
        $(
            pub unsafe extern "C-unwind" fn $name($($argument: $type,)* site: u64) -> $result {
                $crate::blocking::call($target, site, || {
                    // SAFETY: the program's own call.
                    unsafe { next::$name($($argument),*) }
                })
            }
        )*

        $crate::blocking::next_functions! {
            $($name($($argument: $type),*) -> $result;)*
        }
    };
}

/// Exports hooks of six or seven arguments. The function that does the work gets the caller's address as a ninth argument. Where there is no seventh and no
/// eighth, something is passed that nobody looks at.
macro_rules! export_wide {
    ($($name:ident ($($argument:ident: $type:ty),*; $($unused:ident),*) -> $result:ty;)*) => {
        $(
            #[doc = concat!("Stands in for the C library's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// As the C library's.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C-unwind" fn $name() {
                unsafe extern "C-unwind" fn work(
                    $($argument: $type,)*
                    $($unused: core::ffi::c_long,)*
                    site: u64,
                ) -> $result {
                    // SAFETY: the program's own call.
                    unsafe { super::$name($($argument,)* site) }
                }
                core::arch::naked_asm!(
                    // Whoever unwinds must know of the frame.
                    ".cfi_startproc",
                    // The caller's address, then the two from above it.
                    "push qword ptr [rsp]",
                    ".cfi_adjust_cfa_offset 8",
                    "push qword ptr [rsp + 24]",
                    ".cfi_adjust_cfa_offset 8",
                    "push qword ptr [rsp + 24]",
                    ".cfi_adjust_cfa_offset 8",
                    "call {work}",
                    "add rsp, 24",
                    ".cfi_adjust_cfa_offset -24",
                    "ret",
                    ".cfi_endproc",
                    work = sym work,
                )
            }
        )*
    };
}

pub(crate) use {export_wide, hooks, next_functions};
