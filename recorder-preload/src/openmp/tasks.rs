//! Tasks. Of them is recorded when one begins and ends: a piece of its team's work, which any member might have done.
//!
//! A thread that does tasks while it waits at a barrier counts as arriving there only when it had done its last. What is recorded is a
//! call without any effect, made while another waits: that moves the waiting call to after it, as with calls that a signal handler makes.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use foretrace_recorder::{ThreadState, process, turns};

use super::functions::{self, Body, Copy};
use super::region::{Member, Team};
use super::{pieces, recording};
use crate::hook;

/// Whether there are tasks whose ends are not seen: those made of loops, and few others.
static UNSEEN: AtomicU32 = AtomicU32::new(0);

/// Whether there are tasks that wait for others, which are no pieces that anybody might do next.
static ORDERED: AtomicU32 = AtomicU32::new(0);

/// Set in a task's flags when it depends on others.
const DEPEND: c_uint = 1 << 3;

/// Set in a task's flags when the library writes to the data that it was given.
const DETACH: c_uint = 1 << 13;

/// The most data that is put on a stack for a task that is run at once, where the library would copy none.
const MOST_COPIED: usize = 4096;

/// What is put before a task's own data.
#[derive(Clone, Copy)]
#[repr(C)]
struct Task {
    body: Body,
    /// How far behind this the data is.
    offset: usize,
    /// Whether whoever makes it has to do it at once.
    at_once: bool,
}

/// A task that is being made: what the library takes for its data.
struct Making {
    task: Task,
    data: *mut c_void,
    bytes: usize,
    copy: Option<Copy>,
}

/// Calls a function that waits at a barrier.
pub fn while_waiting<T>(barrier: u64, call: impl FnOnce() -> T) -> T {
    let at_barrier = &ThreadState::current().at_barrier;
    let before = at_barrier.replace(barrier);
    ThreadState::current().piece_ended.set(false);
    let result = call();
    at_barrier.set(before);
    result
}

/// Notes that tasks wait for others.
pub fn note_order() {
    ORDERED.store(1, Ordering::Relaxed);
}

/// Marks that a task begins, unless one ended just before; `waits` says whether its thread waits for its team.
pub fn mark_begin(team: Team, waits: bool, site: u64) {
    turns::give_way_now();
    if !(waits && ThreadState::current().piece_ended.replace(false)) {
        pieces::begin(team, site);
    }
}

/// Marks that a task is done.
pub fn mark_end(team: Team, site: u64) {
    ThreadState::current().piece_ended.set(true);
    if ORDERED.load(Ordering::Relaxed) == 0 {
        pieces::end(team, site);
    } else {
        pieces::begin(team, site);
    }
}

/// Marks the end of all tasks that may have been done while the thread waited at a barrier, if there are any whose own
/// ends are not seen.
pub fn mark_unseen(barrier: u64) {
    if UNSEEN.load(Ordering::Relaxed) != 0
        && let Some(team) = Team::of_barrier(barrier)
    {
        pieces::begin(team, 0);
    }
}

/// Copies a task's data to where the library keeps it.
unsafe extern "C-unwind" fn copy(to: *mut c_void, making: *mut c_void) {
    // SAFETY: `make` passed it, and waits.
    let making = unsafe { &*making.cast::<Making>() };
    let task = making.task;
    // SAFETY: the library made room for both, aligned as was asked.
    unsafe {
        to.cast::<Task>().write(task);
        let data = to.cast::<u8>().add(task.offset);
        match making.copy {
            Some(copy) => copy(data.cast(), making.data),
            None => data.copy_from_nonoverlapping(making.data.cast(), making.bytes),
        }
    }
}

/// Runs a task.
unsafe extern "C-unwind" fn run(task: *mut c_void) {
    // SAFETY: `copy` put it there.
    let Task {
        body,
        offset,
        at_once,
    } = unsafe { task.cast::<Task>().read() };
    let state = ThreadState::current();
    let (waits_at, outer) = (state.at_barrier.get(), state.tasks.get());
    let waits = waits_at != 0;
    // One that is done at once within another is a part of that.
    let is_piece = !at_once && (waits || outer == 0) && hook::recording();
    let barrier = if waits {
        Some(waits_at)
    } else {
        Member::barrier()
    };
    let team = barrier.filter(|_| is_piece).and_then(Team::of_barrier);
    let site = body as usize as u64;
    if let Some(team) = team {
        mark_begin(team, waits, site);
        state.at_barrier.set(0);
        state.tasks.set(1);
    }
    // SAFETY: the program's own function, with its data behind.
    unsafe { body(task.cast::<u8>().add(offset).cast()) };
    if let Some(team) = team {
        state.at_barrier.set(waits_at);
        state.tasks.set(outer);
        mark_end(team, site);
    }
}

/// `GOMP_task`, whose caller's address comes last.
unsafe extern "C-unwind" fn make(
    body: Body,
    data: *mut c_void,
    copy_data: Option<Copy>,
    bytes: usize,
    align: usize,
    deferred: bool,
    flags: c_uint,
    depend: *mut c_void,
    priority: c_int,
    detach: *mut c_void,
    site: u64,
) {
    let recording = recording(site);
    if recording {
        process::note_tasks();
    }
    let is_large = copy_data.is_none() && bytes > MOST_COPIED;
    if !recording || is_large || flags & DETACH != 0 {
        UNSEEN.store(1, Ordering::Relaxed);
        // SAFETY: the program's own call.
        unsafe {
            functions::GOMP_task(
                body, data, copy_data, bytes, align, deferred, flags, depend, priority, detach,
                site,
            );
        }
        return;
    }
    // Both are powers of two.
    let align = align.max(align_of::<Task>());
    let offset = size_of::<Task>().next_multiple_of(align);
    if flags & DEPEND != 0 {
        note_order();
    }
    let mut making = Making {
        task: Task {
            body,
            offset,
            at_once: !deferred,
        },
        data,
        bytes,
        copy: copy_data,
    };
    let data = (&raw mut making).cast();
    let bytes = bytes + offset;
    // SAFETY: the program's own call, but for the function, which runs the program's with a copy of its data.
    unsafe {
        functions::GOMP_task(
            run,
            data,
            Some(copy),
            bytes,
            align,
            deferred,
            flags,
            depend,
            priority,
            detach,
            site,
        );
    }
}

/// Stands in for the library's `GOMP_task`. It has ten arguments, four of which are on the stack.
///
/// # Safety
///
/// As the library's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn GOMP_task() {
    core::arch::naked_asm!(
        // Whoever unwinds must know of the frame.
        ".cfi_startproc",
        // The caller's address, then the four from above it.
        "push qword ptr [rsp]",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 40]",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 40]",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 40]",
        ".cfi_adjust_cfa_offset 8",
        "push qword ptr [rsp + 40]",
        ".cfi_adjust_cfa_offset 8",
        "call {make}",
        "add rsp, 40",
        ".cfi_adjust_cfa_offset -40",
        "ret",
        ".cfi_endproc",
        make = sym make,
    )
}

/// Defines a hook that notes that there are tasks and jumps to the library's function, with all arguments as they were.
macro_rules! loops {
    ($($name:ident => $before:ident, $address:ident;)*) => {
        $(
            extern "C" fn $before(site: u64) -> *mut c_void {
                if recording(site) {
                    process::note_tasks();
                    UNSEEN.store(1, Ordering::Relaxed);
                }
                functions::$address(site)
            }

            crate::jump::jump!(caller $name, $before);
        )*
    };
}

loops! {
    GOMP_taskloop => before_taskloop, taskloop;
    GOMP_taskloop_ull => before_taskloop_ull, taskloop_ull;
}
