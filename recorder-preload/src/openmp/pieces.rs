//! Loops and sections that are shared out piece by piece: whoever comes for the next piece may let others run first, so
//! that on one CPU all members of a team take some, as they would side by side.
//!
//! Which member had which piece is chance, on one CPU more than on several. So the ends of pieces are marked: what is between
//! two marks, another member might have done. A mark is a failed try of the team's semaphore, which has no effect.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_recorder::{Kind, OUTCOME_BEGINS, OUTCOME_BUSY, ThreadState, clock, record, turns};

use super::functions::{self, Function};
use super::ompt;
use super::region::{Member, Team};
use crate::hook;
use crate::jump::jump;

/// Marks that what the thread does from now on is a piece of its team's work, where what it did before is not.
pub fn begin(team: Team, site: u64) {
    record(Kind::SemTryWait, team.semaphore(), OUTCOME_BEGINS, site);
}

/// Marks that a piece of the team's work is done, and another perhaps begun.
pub fn end(team: Team, site: u64) {
    record(Kind::SemTryWait, team.semaphore(), OUTCOME_BUSY, site);
}

/// Returns in how many ticks pieces end that are marked together with those after them: two microseconds.
fn short() -> u64 {
    static TICKS: AtomicU64 = AtomicU64::new(0);
    let ticks = TICKS.load(Ordering::Relaxed);
    if ticks != 0 {
        return ticks;
    }
    let ticks = clock::ticks_in(2_000).max(1);
    TICKS.store(ticks, Ordering::Relaxed);
    ticks
}

/// The thread comes to a loop, which it has no part of yet.
fn begin_loop(site: u64) {
    let state = ThreadState::current();
    state.piece_began.set(0);
    if let Some(team) = team() {
        begin(team, site);
        state.piece_began.set(now());
    }
}

/// The thread came for its next piece, and got one or did not.
fn come_for_next(got: bool, site: u64) {
    let state = ThreadState::current();
    let began = state.piece_began.get();
    if began == 0 {
        if got {
            begin_loop(site);
        }
        return;
    }
    let now = now();
    if got && u64::from(now.wrapping_sub(began)) < short() {
        return;
    }
    state.piece_began.set(if got { now } else { 0 });
    if let Some(team) = team() {
        end(team, site);
    }
}

/// Returns the lower half of the counter; not 0.
fn now() -> u32 {
    (clock::tsc() as u32).max(1)
}

/// Returns the team that the calling thread is in, where it has other members.
fn team() -> Option<Team> {
    Member::barrier()
        .or_else(ompt::barrier)
        .and_then(Team::of_barrier)
}

/// Defines hooks for functions that hand out the next piece of a loop of GCC's library.
macro_rules! nexts {
    ($($name:ident ($from:ident, $to:ident);)*) => {
        $(
            pub unsafe extern "C-unwind" fn $name(
                $from: *mut c_void,
                $to: *mut c_void,
                site: u64,
            ) -> bool {
                // SAFETY: the program's own call.
                let call = || unsafe { functions::$name($from, $to, site) };
                next(site, call, |&got| got)
            }
        )*
    };
}

/// Hands out the next piece by `call`; `got` says whether there was one.
fn next<T>(site: u64, call: impl FnOnce() -> T, got: impl FnOnce(&T) -> bool) -> T {
    if !hook::recording() {
        return call();
    }
    turns::give_way_now();
    let result = call();
    come_for_next(got(&result), site);
    result
}

#[expect(non_snake_case, reason = "named as the library's functions are")]
pub mod gomp {
    use super::{c_void, functions, next};

    nexts! {
        GOMP_loop_dynamic_next(from, to);
        GOMP_loop_guided_next(from, to);
        GOMP_loop_nonmonotonic_dynamic_next(from, to);
        GOMP_loop_nonmonotonic_guided_next(from, to);
        GOMP_loop_ull_dynamic_next(from, to);
        GOMP_loop_ull_guided_next(from, to);
        GOMP_loop_ull_nonmonotonic_dynamic_next(from, to);
        GOMP_loop_ull_nonmonotonic_guided_next(from, to);
    }
}

pub unsafe extern "C-unwind" fn sections_next(site: u64) -> c_uint {
    // SAFETY: the program's own call.
    let call = || unsafe { functions::GOMP_sections_next(site) };
    next(site, call, |&section| section != 0)
}

/// Exports hooks for functions that hand out the next piece of a loop of LLVM's library. They have six arguments; the function that does
/// the work gets the caller's address as a seventh, on the stack.
macro_rules! dispatches {
    ($($name:ident;)*) => {
        $(
            #[doc = concat!("Stands in for the library's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// As the library's.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C-unwind" fn $name() {
                unsafe extern "C-unwind" fn work(
                    location: *mut c_void,
                    thread: c_int,
                    last: *mut c_void,
                    from: *mut c_void,
                    to: *mut c_void,
                    step: *mut c_void,
                    site: u64,
                ) -> c_int {
                    // SAFETY: the program's own call.
                    let call = || unsafe {
                        functions::$name(location, thread, last, from, to, step, site)
                    };
                    let shared = ThreadState::current().loop_is_shared.get();
                    next(site, call, |&got| got != 0 && shared)
                }
                core::arch::naked_asm!(
                    // Whoever unwinds must know of the frame.
                    ".cfi_startproc",
                    "push qword ptr [rsp]",
                    ".cfi_adjust_cfa_offset 8",
                    "call {work}",
                    "add rsp, 8",
                    ".cfi_adjust_cfa_offset -8",
                    "ret",
                    ".cfi_endproc",
                    work = sym work,
                )
            }
        )*
    };
}

dispatches! {
    __kmpc_dispatch_next_4;
    __kmpc_dispatch_next_4u;
    __kmpc_dispatch_next_8;
    __kmpc_dispatch_next_8u;
}

/// Defines hooks for functions with which a loop of LLVM's library begins.
macro_rules! dispatch_inits {
    ($($name:ident $before:ident $symbol:literal;)*) => {
        $(
            extern "C" fn $before(schedule: c_int, site: u64) -> *mut c_void {
                static FUNCTION: Function = Function::new($symbol);
                let state = ThreadState::current();
                state.loop_is_shared.set(is_shared(schedule));
                state.piece_began.set(0);
                FUNCTION.target(site)
            }
            jump!(third_and_caller $name, $before);
        )*
    };
}

dispatch_inits! {
    __kmpc_dispatch_init_4 before_kmpc_dispatch_init_4 c"__kmpc_dispatch_init_4";
    __kmpc_dispatch_init_4u before_kmpc_dispatch_init_4u c"__kmpc_dispatch_init_4u";
    __kmpc_dispatch_init_8 before_kmpc_dispatch_init_8 c"__kmpc_dispatch_init_8";
    __kmpc_dispatch_init_8u before_kmpc_dispatch_init_8u c"__kmpc_dispatch_init_8u";
}

/// Returns whether a schedule of LLVM's library lets whoever is free have the next piece: `dynamic`, `guided` and `trapezoidal`, whatever
/// else is said of it in higher bits. Those that are chosen when the program runs may be static.
fn is_shared(schedule: c_int) -> bool {
    matches!(schedule & 0xff, 35 | 36 | 39)
}

/// Defines hooks for functions with which a loop or sections of GCC's library begin.
macro_rules! starts {
    ($($name:ident $before:ident $symbol:literal;)*) => {
        $(
            extern "C" fn $before(site: u64) -> *mut c_void {
                static FUNCTION: Function = Function::new($symbol);
                if hook::recording() {
                    turns::give_way_now();
                    begin_loop(site);
                }
                FUNCTION.target(site)
            }
            jump!(caller $name, $before);
        )*
    };
}

starts! {
    GOMP_loop_dynamic_start before_gomp_loop_dynamic_start c"GOMP_loop_dynamic_start";
    GOMP_loop_guided_start before_gomp_loop_guided_start c"GOMP_loop_guided_start";
    GOMP_loop_nonmonotonic_dynamic_start before_gomp_loop_nonmonotonic_dynamic_start c"GOMP_loop_nonmonotonic_dynamic_start";
    GOMP_loop_nonmonotonic_guided_start before_gomp_loop_nonmonotonic_guided_start c"GOMP_loop_nonmonotonic_guided_start";
    GOMP_loop_ull_dynamic_start before_gomp_loop_ull_dynamic_start c"GOMP_loop_ull_dynamic_start";
    GOMP_loop_ull_guided_start before_gomp_loop_ull_guided_start c"GOMP_loop_ull_guided_start";
    GOMP_loop_ull_nonmonotonic_dynamic_start before_gomp_loop_ull_nonmonotonic_dynamic_start c"GOMP_loop_ull_nonmonotonic_dynamic_start";
    GOMP_loop_ull_nonmonotonic_guided_start before_gomp_loop_ull_nonmonotonic_guided_start c"GOMP_loop_ull_nonmonotonic_guided_start";
    GOMP_sections_start before_gomp_sections_start c"GOMP_sections_start";
}

/// Defines hooks for functions that hand out pieces which may not be anybody's: of ordered loops, and of those whose
/// schedule is chosen when the program runs.
macro_rules! pieces {
    ($($name:ident $before:ident $symbol:literal;)*) => {
        $(
            extern "C" fn $before(site: u64) -> *mut c_void {
                static FUNCTION: Function = Function::new($symbol);
                if hook::recording() {
                    turns::give_way_now();
                }
                FUNCTION.target(site)
            }
            jump!(caller $name, $before);
        )*
    };
}

pieces! {
    GOMP_loop_nonmonotonic_runtime_next before_gomp_loop_nonmonotonic_runtime_next c"GOMP_loop_nonmonotonic_runtime_next";
    GOMP_loop_maybe_nonmonotonic_runtime_next before_gomp_loop_maybe_nonmonotonic_runtime_next c"GOMP_loop_maybe_nonmonotonic_runtime_next";
    GOMP_loop_runtime_next before_gomp_loop_runtime_next c"GOMP_loop_runtime_next";
    GOMP_loop_ordered_dynamic_next before_gomp_loop_ordered_dynamic_next c"GOMP_loop_ordered_dynamic_next";
    GOMP_loop_ordered_guided_next before_gomp_loop_ordered_guided_next c"GOMP_loop_ordered_guided_next";
    GOMP_loop_ordered_runtime_next before_gomp_loop_ordered_runtime_next c"GOMP_loop_ordered_runtime_next";
    GOMP_loop_ull_nonmonotonic_runtime_next before_gomp_loop_ull_nonmonotonic_runtime_next c"GOMP_loop_ull_nonmonotonic_runtime_next";
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next before_gomp_loop_ull_maybe_nonmonotonic_runtime_next c"GOMP_loop_ull_maybe_nonmonotonic_runtime_next";
    GOMP_loop_ull_runtime_next before_gomp_loop_ull_runtime_next c"GOMP_loop_ull_runtime_next";
    GOMP_loop_ull_ordered_dynamic_next before_gomp_loop_ull_ordered_dynamic_next c"GOMP_loop_ull_ordered_dynamic_next";
    GOMP_loop_ull_ordered_guided_next before_gomp_loop_ull_ordered_guided_next c"GOMP_loop_ull_ordered_guided_next";
    GOMP_loop_ull_ordered_runtime_next before_gomp_loop_ull_ordered_runtime_next c"GOMP_loop_ull_ordered_runtime_next";
}
