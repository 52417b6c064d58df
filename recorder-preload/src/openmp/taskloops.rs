//! Tasks that are made of loops (`taskloop`), by GCC's library. It makes all in one call, gives each a copy of the data whose first two words are
//! the bounds of its part, and waits for them where it is not told otherwise.
//!
//! Each is recorded as any other task is (see `tasks`). A loop of so many parts that the library does them at once, one after the other, is a part
//! of what its thread does otherwise.

use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

use super::functions::{self, Body, Copy};
use super::region::{Member, Team};
use super::tasks::{Data, Number, Task, note_unseen};
use super::{barrier, recording};

/// Set in the flags when a loop whose counter has no sign counts up.
const UP: c_uint = 1 << 8;

/// Set when it is told how many iterations a part has at least, and not how many parts there are.
const GRAIN_SIZE: c_uint = 1 << 9;

/// Not set when the parts are to be done at once.
const DEFERRED: c_uint = 1 << 10;

/// Set when nobody waits for the parts.
const NO_GROUP: c_uint = 1 << 11;

/// Of more parts than so many for each member of the team, all are done at once.
const MOST_PARTS: u64 = 64;

/// What the library puts on a stack for each part that is done at once, beside its data; and the most that may be put there. Without our
/// copying it would put nothing there.
const PART_BYTES: u64 = 512;
const MOST_BYTES: u64 = 1 << 19;

/// What is put before the data of a part. The library writes the bounds.
#[repr(C)]
struct Part {
    bounds: [u64; 2],
    task: Task,
}

/// A loop whose parts are being made: what the library takes for its data. It looks for reductions in the third word.
#[repr(C)]
struct Making {
    head: [u64; 3],
    body: Body,
    offset: usize,
    team: Team,
    barrier: u64,
    site: u64,
    data: Data,
}

/// Makes the data of a part, and tells that there is such a task.
unsafe extern "C-unwind" fn copy(to: *mut c_void, making: *mut c_void) {
    // SAFETY: `make` passed it, and waits.
    let making = unsafe { &*making.cast::<Making>() };
    let part = Part {
        bounds: [0; 2],
        task: Task {
            body: making.body,
            offset: making.offset,
            barrier: making.barrier,
            number: Number::make(making.team, making.site),
        },
    };
    // SAFETY: the library made room for both, aligned as was asked.
    unsafe {
        to.cast::<Part>().write(part);
        making.data.copy_to(to.cast::<u8>().add(making.offset));
    }
}

/// Runs a part.
unsafe extern "C-unwind" fn run(part: *mut c_void) {
    // SAFETY: `copy` put both there, and the library wrote the bounds.
    unsafe {
        let Part { bounds, task } = part.cast::<Part>().read();
        let data = part.byte_add(task.offset);
        data.cast::<[u64; 2]>().write(bounds);
        task.run(data);
    }
}

/// The library's arguments for a loop.
struct Loop {
    flags: c_uint,
    /// How many parts, or iterations of a part.
    number: c_ulong,
    start: c_long,
    end: c_long,
    step: c_long,
}

impl Loop {
    /// Returns how many parts there may be.
    fn parts(&self, is_up: bool, members: u32) -> u64 {
        let (from, to, step) = if is_up {
            (self.start, self.end, self.step)
        } else {
            (self.end, self.start, self.step.wrapping_neg())
        };
        let span = to.wrapping_sub(from).cast_unsigned();
        let iterations = span.div_ceil(step.cast_unsigned().max(1));
        match (self.flags & GRAIN_SIZE != 0, self.number) {
            (true, grain) => iterations / grain.max(1),
            (false, 0) => u64::from(members),
            (false, parts) => parts.min(iterations),
        }
    }
}

/// What both functions of the library are.
type Function = unsafe fn(
    Body,
    *mut c_void,
    Option<Copy>,
    usize,
    usize,
    c_uint,
    c_ulong,
    c_int,
    c_long,
    c_long,
    c_long,
    u64,
);

/// Calls the library with parts of ours, or with the program's where nothing is recorded of them.
unsafe fn make(
    function: Function,
    is_up: bool,
    (body, data): (Body, Data),
    align: usize,
    priority: c_int,
    whole: &Loop,
    site: u64,
) {
    let Loop {
        flags,
        number,
        start,
        end,
        step,
    } = *whole;
    let call = |body, data, copy, bytes, align| {
        // SAFETY: the program's own call, but for the function, which runs the program's with a copy of its data.
        unsafe {
            function(
                body, data, copy, bytes, align, flags, number, priority, start, end, step, site,
            );
        }
    };
    let as_it_is = || call(body, data.place, data.copy, data.bytes, align);
    let Some(barrier) = Member::barrier().filter(|_| recording(site)) else {
        return as_it_is();
    };
    let members = Team::size_by(barrier);
    let parts = whole.parts(is_up, members);
    let at_once = flags & DEFERRED == 0 || parts > MOST_PARTS * u64::from(members);
    let Some(team) = Team::of_barrier(barrier).filter(|_| !at_once) else {
        return as_it_is();
    };
    // Both are powers of two.
    let aligned = align.max(align_of::<Part>());
    let offset = size_of::<Part>().next_multiple_of(aligned);
    let all = offset + data.bytes;
    if data.is_large() || parts * (all as u64 + PART_BYTES) > MOST_BYTES {
        note_unseen();
        return as_it_is();
    }
    let mut head = [0; 3];
    let words = (data.bytes / size_of::<u64>()).min(head.len());
    // SAFETY: the data has as many words.
    unsafe {
        head.as_mut_ptr()
            .copy_from_nonoverlapping(data.place.cast(), words);
    }
    let mut making = Making {
        head,
        body,
        offset,
        team,
        barrier,
        site,
        data,
    };
    let data = (&raw mut making).cast();
    let call = || call(run, data, Some(copy), all, aligned);
    if flags & NO_GROUP == 0 {
        barrier::wait_for_all(site, call);
    } else {
        call();
    }
}

/// Defines a hook of a function with eleven arguments, five of which are on the stack, and what it calls with the caller's address behind them.
macro_rules! hooks {
    ($($name:ident => $make:ident, $is_up:expr;)*) => {
        $(
            unsafe extern "C-unwind" fn $make(
                body: Body,
                data: *mut c_void,
                copy: Option<Copy>,
                bytes: usize,
                align: usize,
                flags: c_uint,
                number: c_ulong,
                priority: c_int,
                start: c_long,
                end: c_long,
                step: c_long,
                site: u64,
            ) {
                let data = Data { place: data, bytes, copy };
                let whole = Loop { flags, number, start, end, step };
                let is_up: fn(&Loop) -> bool = $is_up;
                let is_up = is_up(&whole);
                // SAFETY: the program's own call.
                unsafe {
                    make(functions::$name, is_up, (body, data), align, priority, &whole, site);
                }
            }

            #[doc = concat!("Stands in for the library's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// As the library's.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C-unwind" fn $name() {
                core::arch::naked_asm!(
                    // Whoever unwinds must know of the frame.
                    ".cfi_startproc",
                    // Calls want the stack aligned to 16 bytes.
                    "sub rsp, 8",
                    ".cfi_adjust_cfa_offset 8",
                    // The caller's address, then the five from above it.
                    "push qword ptr [rsp + 8]",
                    ".cfi_adjust_cfa_offset 8",
                    "push qword ptr [rsp + 56]",
                    ".cfi_adjust_cfa_offset 8",
                    "push qword ptr [rsp + 56]",
                    ".cfi_adjust_cfa_offset 8",
                    "push qword ptr [rsp + 56]",
                    ".cfi_adjust_cfa_offset 8",
                    "push qword ptr [rsp + 56]",
                    ".cfi_adjust_cfa_offset 8",
                    "push qword ptr [rsp + 56]",
                    ".cfi_adjust_cfa_offset 8",
                    "call {make}",
                    "add rsp, 56",
                    ".cfi_adjust_cfa_offset -56",
                    "ret",
                    ".cfi_endproc",
                    make = sym $make,
                )
            }
        )*
    };
}

hooks! {
    GOMP_taskloop => make_signed, |whole| whole.step > 0;
    GOMP_taskloop_ull => make_unsigned, |whole| whole.flags & UP != 0;
}
