//! Tasks. Of each is recorded when it is made, when it begins and when it is done, with a number that no other task has meanwhile: a post
//! of one iteration of a loop that stands for all of a team's tasks, a wait for it, and the post of another. Whoever waits for tasks is
//! recorded as waiting (see `openmp`); for which, a reader knows from who made them.
//!
//! A thread does tasks while it waits. What is recorded meanwhile moves the waiting call to after it, as with calls that a signal
//! handler makes; so it counts as arriving at a barrier only when it had done its last.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use foretrace_recorder::{
    Kind, OUTCOME_SUCCESS, TASK_NEEDS, TASK_WRITES, ThreadState, process, record_extended, turns,
};

use super::functions::{self, Body, Copy};
use super::region::{AtBarrier, Member, Team, aside};
use super::{pieces, recording};
use crate::hook;

/// Whether there are tasks whose ends are not seen.
static UNSEEN: AtomicU32 = AtomicU32::new(0);

/// Set in a task's flags when it depends on others.
const DEPEND: c_uint = 1 << 3;

/// What a `depend` object says of what is only read.
const DEPEND_IN: usize = 1;

/// Set in a task's flags when the library writes to the data that it was given.
const DETACH: c_uint = 1 << 13;

/// The most data that is put on a stack for a task that is run at once, where the library would copy none.
const MOST_COPIED: usize = 4096;

/// A bit for each number that some task has.
static TAKEN: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// One more than the largest number that a task may have.
pub const NUMBERS: u64 = 64 * TAKEN.len() as u64;

/// The bits of an address that a task depends on.
const ADDRESSES: u64 = (1 << 48) - 1;

/// The number of a task that was made and is not done: from 1 and below [`NUMBERS`].
#[derive(Clone, Copy)]
pub struct Number(u32);

impl Number {
    /// Takes the lowest number that is free, so that there are few different ones; `None` where none is.
    fn take() -> Option<Self> {
        for (place, word) in TAKEN.iter().enumerate() {
            let mut bits = word.load(Ordering::Relaxed);
            // 0 is nobody's.
            let kept = u64::from(place == 0);
            while bits | kept != u64::MAX {
                let bit = (bits | kept).trailing_ones();
                let with = bits | 1 << bit;
                match word.compare_exchange(bits, with, Ordering::AcqRel, Ordering::Relaxed) {
                    Ok(_) => return Some(Self(64 * place as u32 + bit)),
                    Err(now) => bits = now,
                }
            }
        }
        None
    }

    /// Returns the number as the library keeps it for us; `None` for what is none.
    pub fn of(word: u64) -> Option<Self> {
        let number = u32::try_from(word).ok()?;
        (1..NUMBERS).contains(&word).then_some(Self(number))
    }

    pub fn word(self) -> u64 {
        u64::from(self.0)
    }

    /// Records the making of a task of a team's, and gives it a number.
    pub fn make(team: Team, site: u64) -> Option<Self> {
        let number = Self::take()?;
        number.record(Kind::DoacrossPost, team, (0, site));
        Some(number)
    }

    /// Records that the task begins. Others may come first: on several CPUs they would do tasks meanwhile.
    pub fn begin(self, team: Team, site: u64) {
        turns::give_way_now();
        self.record(Kind::DoacrossWait, team, (0, site));
    }

    /// Records that the task is done, whose number another may have then.
    pub fn end(self, team: Team, site: u64) {
        self.record(Kind::DoacrossPost, team, (1, site));
        let word = &TAKEN[self.0 as usize / 64];
        word.fetch_and(!(1 << (self.0 % 64)), Ordering::AcqRel);
    }

    fn record(self, kind: Kind, team: Team, (which, site): (u64, u64)) {
        let operands = (2 * self.word() + which, 0);
        record_extended(kind, team.semaphore(), OUTCOME_SUCCESS, site, operands);
    }
}

/// Records that the task of a team's that the thread has just made reads what is there, or writes it: it waits for those that were made
/// before in the same task and write it, or also for those that read it.
pub fn needs(team: Team, address: *const c_void, writes: bool) {
    let kind = TASK_NEEDS | if writes { TASK_WRITES } else { 0 };
    let operands = (kind | address as u64 & ADDRESSES, 0);
    let object = team.semaphore();
    record_extended(Kind::DoacrossWait, object, OUTCOME_SUCCESS, 0, operands);
}

/// What is put before a task's own data.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Task {
    pub body: Body,
    /// How far behind the beginning of what the library keeps the data is.
    pub offset: usize,
    /// The barrier of its team; 0 if nothing is recorded of it: then it is part of what its thread does otherwise.
    pub barrier: u64,
    /// Without one it is no task that any other thread may be taken to do.
    pub number: Option<Number>,
}

impl Task {
    /// Runs the task.
    ///
    /// # Safety
    ///
    /// The data is what the program's function takes.
    pub unsafe fn run(self, data: *mut c_void) {
        // SAFETY: by the caller's promise.
        let call = || unsafe { (self.body)(data) };
        let Some(team) = Team::of_barrier(self.barrier).filter(|_| hook::recording()) else {
            return call();
        };
        // A site is behind its call, so the first of the function's own addresses tells nothing of it.
        let site = self.body as usize as u64 + 1;
        AtBarrier::leave_if_passed();
        match self.number {
            Some(number) => number.begin(team, site),
            None => pieces::begin(team, site),
        }
        let outer = ThreadState::current().task_barrier.replace(self.barrier);
        aside(core::ptr::null(), call);
        ThreadState::current().task_barrier.set(outer);
        match self.number {
            Some(number) => number.end(team, site),
            None => pieces::begin(team, site),
        }
    }
}

/// The data of tasks that are made.
pub struct Data {
    pub place: *mut c_void,
    pub bytes: usize,
    pub copy: Option<Copy>,
}

impl Data {
    /// Returns whether the library copies the data itself, and it is more than is put on a stack for a task that is run at once.
    pub fn is_large(&self) -> bool {
        self.copy.is_none() && self.bytes > MOST_COPIED
    }

    /// Copies the data, as the library would.
    ///
    /// # Safety
    ///
    /// There is room for it, aligned as the program asked.
    pub unsafe fn copy_to(&self, to: *mut u8) {
        // SAFETY: by the caller's promise, and the program's.
        unsafe {
            match self.copy {
                Some(copy) => copy(to.cast(), self.place),
                None => to.copy_from_nonoverlapping(self.place.cast(), self.bytes),
            }
        }
    }
}

/// A task that is being made: what the library takes for its data.
struct Making {
    task: Task,
    data: Data,
}

/// Notes that there are tasks whose ends are not seen.
pub fn note_unseen() {
    process::note_tasks();
    UNSEEN.store(1, Ordering::Relaxed);
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
        making.data.copy_to(to.cast::<u8>().add(task.offset));
    }
}

/// Runs a task.
unsafe extern "C-unwind" fn run(task: *mut c_void) {
    // SAFETY: `copy` put both there.
    unsafe {
        let place = task.cast::<u8>();
        let task = task.cast::<Task>().read();
        task.run(place.add(task.offset).cast());
    }
}

/// Records what a task depends on: as libgomp's `gomp_task_handle_depend` reads it, how many there are, how many of them are written to,
/// and the addresses, those first; or 0, and the same with more kinds.
unsafe fn record_needs(team: Team, list: *const *const c_void) {
    // SAFETY: by the caller's promise it is one; so is all that follows.
    let word = |place: usize| unsafe { *list.add(place) };
    let count = |place: usize| word(place) as usize;
    let (first, all, written, plain) = if count(0) == 0 {
        let written = count(2) + count(3);
        (5, count(1), written, written + count(4))
    } else {
        (2, count(0), count(1), count(0))
    };
    for place in 0..plain.min(all) {
        needs(team, word(first + place), place < written);
    }
    for place in plain..all {
        // An object that holds an address and what is done there.
        let object: *const *const c_void = word(first + place).cast();
        // SAFETY: as above.
        let (address, kind) = unsafe { (*object, *object.add(1) as usize) };
        needs(team, address, kind != DEPEND_IN);
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
    let own = Data {
        place: data,
        bytes,
        copy: copy_data,
    };
    if !recording || own.is_large() || flags & DETACH != 0 {
        if recording {
            note_unseen();
        }
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
    // One that has to be done at once is a part of what makes it.
    let barrier = Member::barrier().filter(|_| deferred).unwrap_or(0);
    let team = Team::of_barrier(barrier);
    let number = team.and_then(|team| Number::make(team, site));
    if let Some(team) = team.filter(|_| number.is_some() && flags & DEPEND != 0) {
        // SAFETY: the program's own list.
        unsafe { record_needs(team, depend.cast()) };
    }
    let mut making = Making {
        task: Task {
            body,
            offset,
            barrier,
            number,
        },
        data: own,
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
