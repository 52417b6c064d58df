//! Loops whose iterations wait for each other (`ordered(n)` with `depend(sink)` and `depend(source)`, "doacross").
//!
//! An iteration says that it is done (posts), and others wait for that. Recorded are both, with the iteration, so that a wait
//! that found its iteration done on one CPU is known to need it on several. What the loop is called in the journal is the
//! team's name; the iteration's number holds which loop of the region it is of. A thread that waits spins in either library;
//! CPU time in the wait is waiting.

use core::cell::Cell;
use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_recorder::{
    Kind, OUTCOME_PENDING, OUTCOME_SUCCESS, ThreadState, process, record_extended, returned, sys,
};

use super::functions::{self, Function};
use super::ompt;
use super::region::{Member, Team};
use crate::hook;
use crate::jump::jump;

/// The most loops within each other that the iterations of are told apart.
const MOST_LOOPS: usize = 16;

/// How many arguments of a function are in registers.
const REGISTERS: usize = 6;

/// Where in an iteration's number it stands which loop of its region it is of, from 1.
const LOOP_SHIFT: u32 = 48;

/// Where in a thread's word on the loop that it is in the depth of the loop stands; below is its number in the region.
const DEPTH_SHIFT: u32 = 16;

/// How often a thread that would spin gives up its CPU first.
const YIELDS: u32 = 100;

/// The iterations that were done last, by hash: those who wait for one of them go on at once.
static DONE: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// An iteration of a loop that the calling thread is in.
#[derive(Clone, Copy)]
struct Iteration {
    /// The name of the loop's team.
    team: u64,
    number: u64,
}

impl Iteration {
    /// The one of these indices; `None` where nothing is recorded, or the thread is in no such loop.
    fn current(index: impl Fn(usize) -> i64) -> Option<Self> {
        let (team, word) = place()?;
        let depth = (word.get() >> DEPTH_SHIFT) as usize;
        if depth == 0 || depth > MOST_LOOPS {
            return None;
        }
        let bits = LOOP_SHIFT / depth as u32;
        let flat = (0..depth).fold(0_i64, |flat, dimension| {
            (flat << bits).wrapping_add(index(dimension))
        });
        let region = u64::from(word.get()) & ((1 << DEPTH_SHIFT) - 1);
        let number = flat.cast_unsigned() & ((1 << LOOP_SHIFT) - 1) | region << LOOP_SHIFT;
        Some(Self { team, number })
    }

    /// Returns what no other iteration is likely to have, nor the same one in another region.
    fn hash(self) -> u64 {
        let region = Team::of_barrier(self.team).map_or(0, Team::region);
        let word = self.team ^ self.number.rotate_left(20) ^ u64::from(region).rotate_left(40);
        word.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
    }

    fn done(self) -> &'static AtomicU64 {
        &DONE[(self.hash() >> 54) as usize % DONE.len()]
    }

    fn is_done(self) -> bool {
        self.done().load(Ordering::Acquire) == self.hash()
    }

    /// Records that it is done, and does it.
    fn post(self, site: u64, call: impl FnOnce()) {
        let operands = (self.number, 0);
        record_extended(
            Kind::DoacrossPost,
            self.team,
            OUTCOME_SUCCESS,
            site,
            operands,
        );
        call();
        self.done().store(self.hash(), Ordering::Release);
    }

    /// Waits until it is done, and records that.
    fn wait(self, site: u64, call: impl FnOnce()) {
        let operands = (self.number, 0);
        if self.is_done() {
            call();
            record_extended(
                Kind::DoacrossWait,
                self.team,
                OUTCOME_SUCCESS,
                site,
                operands,
            );
            return;
        }
        record_extended(
            Kind::DoacrossWait,
            self.team,
            OUTCOME_PENDING,
            site,
            operands,
        );
        // Whoever it waits for may need this CPU.
        for _ in 0..YIELDS {
            if self.is_done() || !process::may_yield() {
                break;
            }
            sys::sched_yield();
        }
        call();
        returned(Kind::DoacrossWait, self.team, OUTCOME_SUCCESS);
    }
}

/// The calling thread's team, and its word on the loop that it is in.
fn place() -> Option<(u64, &'static Cell<u32>)> {
    if !hook::recording() {
        return None;
    }
    let barrier = Member::barrier().or_else(ompt::barrier)?;
    let depth = Team::of_barrier(barrier)?.depth_within() as usize - 1;
    let words = &ThreadState::current().loops;
    Some((barrier, &words[depth % words.len()]))
}

/// Notes that the calling thread begins a loop with so many indices. All members of a team come to the same loops in the same
/// order.
fn begin(depth: u32) {
    if let Some((_, word)) = place() {
        let number = (word.get() + 1) & ((1 << DEPTH_SHIFT) - 1);
        let depth = depth.min(MOST_LOOPS as u32 + 1);
        word.set(number | depth << DEPTH_SHIFT);
    }
}

/// Defines hooks of functions that begin a loop: the first argument is how many indices it has.
macro_rules! loops {
    ($($name:ident $before:ident $symbol:literal;)*) => {
        $(
            extern "C" fn $before(depth: c_uint, site: u64) -> *mut c_void {
                static FUNCTION: Function = Function::new($symbol);
                begin(depth);
                FUNCTION.target(site)
            }
            jump!(first_and_caller $name, $before);
        )*
    };
}

loops! {
    GOMP_loop_doacross_static_start before_static c"GOMP_loop_doacross_static_start";
    GOMP_loop_doacross_dynamic_start before_dynamic c"GOMP_loop_doacross_dynamic_start";
    GOMP_loop_doacross_guided_start before_guided c"GOMP_loop_doacross_guided_start";
    GOMP_loop_doacross_runtime_start before_runtime c"GOMP_loop_doacross_runtime_start";
    GOMP_loop_doacross_start before_any c"GOMP_loop_doacross_start";
    GOMP_loop_ull_doacross_static_start before_ull_static c"GOMP_loop_ull_doacross_static_start";
    GOMP_loop_ull_doacross_dynamic_start before_ull_dynamic c"GOMP_loop_ull_doacross_dynamic_start";
    GOMP_loop_ull_doacross_guided_start before_ull_guided c"GOMP_loop_ull_doacross_guided_start";
    GOMP_loop_ull_doacross_runtime_start before_ull_runtime c"GOMP_loop_ull_doacross_runtime_start";
    GOMP_loop_ull_doacross_start before_ull_any c"GOMP_loop_ull_doacross_start";
}

/// Records that the iteration of these indices is done.
unsafe fn post(indices: *const i64, site: u64, call: impl FnOnce()) {
    // SAFETY: by the caller's promise there are as many as the loop has.
    match Iteration::current(|dimension| unsafe { indices.add(dimension).read() }) {
        Some(iteration) => iteration.post(site, call),
        None => call(),
    }
}

pub unsafe extern "C-unwind" fn gomp_post(indices: *const i64, site: u64) {
    // SAFETY: the program's own call; so are all below.
    unsafe {
        post(indices, site, || {
            functions::GOMP_doacross_post(indices, site);
        });
    };
}

pub unsafe extern "C-unwind" fn gomp_post_ull(indices: *const i64, site: u64) {
    // SAFETY: as above.
    unsafe {
        post(indices, site, || {
            functions::GOMP_doacross_ull_post(indices, site);
        });
    };
}

pub unsafe extern "C-unwind" fn kmpc_init(
    location: *mut c_void,
    thread: c_int,
    depth: c_int,
    dimensions: *mut c_void,
    site: u64,
) {
    begin(u32::try_from(depth).unwrap_or(0));
    // SAFETY: as above.
    unsafe { functions::__kmpc_doacross_init(location, thread, depth, dimensions, site) };
}

pub unsafe extern "C-unwind" fn kmpc_post(
    location: *mut c_void,
    thread: c_int,
    indices: *const i64,
    site: u64,
) {
    // SAFETY: as above.
    unsafe {
        post(indices, site, || {
            functions::__kmpc_doacross_post(location, thread, indices, site);
        });
    }
}

pub unsafe extern "C-unwind" fn kmpc_wait(
    location: *mut c_void,
    thread: c_int,
    indices: *const i64,
    site: u64,
) {
    // SAFETY: as above.
    let call = || unsafe { functions::__kmpc_doacross_wait(location, thread, indices, site) };
    // SAFETY: there are as many as the loop has.
    match Iteration::current(|dimension| unsafe { indices.add(dimension).read() }) {
        Some(iteration) => iteration.wait(site, call),
        None => call(),
    }
}

/// Any number of arguments, as a function finds them: the first in registers, which were saved, the others on the stack.
type Wait = unsafe extern "C-unwind" fn(
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
);

unsafe fn wait(function: &'static Function, saved: *const i64, stack: *const i64, site: u64) {
    let index = |dimension: usize| {
        // SAFETY: by the caller's promise the first are saved. How many there are on the stack only the library knows if we do
        // not; above them lie the frames of the callers.
        unsafe {
            if dimension < REGISTERS {
                saved.add(dimension).read()
            } else {
                stack.add(dimension - REGISTERS).read()
            }
        }
    };
    let address = function.target(site);
    // SAFETY: the function takes as many as there are, and does not look at more.
    let function = unsafe { core::mem::transmute::<*mut c_void, Wait>(address) };
    let all: [i64; MOST_LOOPS] = core::array::from_fn(index);
    // SAFETY: as above.
    let call = || unsafe {
        function(
            all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8], all[9],
            all[10], all[11], all[12], all[13], all[14], all[15],
        );
    };
    match Iteration::current(index) {
        Some(iteration) => iteration.wait(site, call),
        None => call(),
    }
}

/// Defines hooks of functions that wait for the iteration whose indices are their arguments, however many.
macro_rules! waits {
    ($($name:ident $work:ident $symbol:literal;)*) => {
        $(
            unsafe extern "C-unwind" fn $work(saved: *const i64, stack: *const i64, site: u64) {
                static FUNCTION: Function = Function::new($symbol);
                // SAFETY: as the hook below passes them.
                unsafe { wait(&FUNCTION, saved, stack, site) };
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
                    "push r9",
                    ".cfi_adjust_cfa_offset 8",
                    "push r8",
                    ".cfi_adjust_cfa_offset 8",
                    "push rcx",
                    ".cfi_adjust_cfa_offset 8",
                    "push rdx",
                    ".cfi_adjust_cfa_offset 8",
                    "push rsi",
                    ".cfi_adjust_cfa_offset 8",
                    "push rdi",
                    ".cfi_adjust_cfa_offset 8",
                    "mov rdi, rsp",
                    // The caller's address, and above it the arguments that are not in registers.
                    "mov rdx, qword ptr [rsp + 48]",
                    "lea rsi, [rsp + 56]",
                    "sub rsp, 8",
                    ".cfi_adjust_cfa_offset 8",
                    "call {work}",
                    "add rsp, 56",
                    ".cfi_adjust_cfa_offset -56",
                    "ret",
                    ".cfi_endproc",
                    work = sym $work,
                )
            }
        )*
    };
}

waits! {
    GOMP_doacross_wait gomp_wait c"GOMP_doacross_wait";
    GOMP_doacross_ull_wait gomp_wait_ull c"GOMP_doacross_ull_wait";
}
