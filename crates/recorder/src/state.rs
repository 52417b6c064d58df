//! What the recorder keeps for each thread.
//!
//! It lies in the static thread-local block that the dynamic linker sets up with every thread, so that reaching it is
//! one addition: no call, no allocation, also in a signal handler and in a thread's last moments. It is small, since
//! it comes out of the stack of every thread, also of one with the smallest stack there is.

use core::arch::{asm, global_asm};
use core::cell::Cell;

/// The bytes reserved for each thread.
const BYTES: usize = 192;

const _: () = assert!(size_of::<ThreadState>() <= BYTES);

global_asm!(
    ".pushsection .tbss.foretrace_thread_state,\"awT\",@nobits",
    ".balign 64",
    ".globl foretrace_thread_state",
    ".hidden foretrace_thread_state",
    ".type foretrace_thread_state, @object",
    ".size foretrace_thread_state, {bytes}",
    "foretrace_thread_state:",
    ".zero {bytes}",
    ".popsection",
    bytes = const BYTES,
);

/// One thread's part of the recorder. All zeros when the thread begins.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct ThreadState {
    /// The address of the next record. Only ever moved by one instruction, or with signals blocked.
    pub(crate) cursor: Cell<u64>,
    /// Where the current chunk ends.
    pub(crate) end: Cell<u64>,
    /// The current chunk; 0 for none.
    pub(crate) chunk: Cell<u64>,
    /// The chunk before, which a signal handler may have moved on from while a record in it was being written.
    pub(crate) previous_chunk: Cell<u64>,
    /// The thread's number plus one; 0 until it has one.
    pub(crate) number_plus_one: Cell<u32>,
    /// How many chunks it has had.
    pub(crate) sequence: Cell<u32>,
    /// The counter at the last event, for the clock without rseq.
    pub(crate) last_tsc: Cell<u64>,
    /// Always zero: what stands in for rseq's pointer when another clock is used.
    pub(crate) never_armed: Cell<u64>,
    /// The innermost `pthread_once` that this thread is in.
    pub once: Cell<*const ()>,
    /// The innermost OpenMP region that this thread is in.
    pub member: Cell<*const ()>,
    /// The barrier at the end of a region that this thread was last seen to arrive at; 0 once it was seen to go on.
    pub region_end: Cell<u64>,
    /// Whether the thread waits at a barrier of OpenMP's; it may do tasks meanwhile.
    pub at_barrier: Cell<bool>,
    /// For each depth in regions, the largest team of this thread's that the journal knows the objects of.
    pub teams: [Cell<u16>; 4],
    /// What the thread does again and again.
    pub(crate) repeated: Repeated,
}

/// The latest section, or failed try, and how often the thread did the same before.
#[derive(Debug)]
pub(crate) struct Repeated {
    /// Where its record, or that of its repetition, ends: where the cursor stands while nothing else happens.
    pub end: Cell<u64>,
    /// Its object's word.
    pub object: Cell<u64>,
    /// Its last eight bytes.
    pub tail: Cell<u64>,
    /// Where the repetition ends that counts it; 0 for none.
    pub counted_until: Cell<u64>,
    /// How many equal ones came right before.
    pub times: Cell<u32>,
}

impl Repeated {
    /// Forgets it: the records are elsewhere now.
    pub(crate) fn forget(&self) {
        self.end.set(0);
        self.counted_until.set(0);
        self.times.set(0);
    }
}

impl ThreadState {
    /// Returns the calling thread's.
    #[inline]
    pub fn current() -> &'static Self {
        let address: *const Self;
        // SAFETY: adds the block's offset, a constant set by the dynamic linker, to the thread pointer.
        unsafe {
            asm!(
                "mov {address}, qword ptr [rip + foretrace_thread_state@GOTTPOFF]",
                "add {address}, qword ptr fs:[0]",
                address = out(reg) address,
                options(pure, readonly, nostack),
            );
        }
        // SAFETY: the block is aligned, zeroed (valid for Cells of integers and pointers) and lives as long as the
        // thread; `ThreadState` is not Sync, so the reference stays in the thread.
        unsafe { &*address }
    }

    /// Takes `bytes` of the current chunk by one instruction, which a signal handler cannot divide. The space may
    /// lie past the chunk's end; then it is not there.
    #[inline]
    pub(crate) fn take(&self, bytes: u64) -> u64 {
        let mut taken = bytes;
        // SAFETY: the cursor is this thread's own; no lock prefix is needed against its own signal handlers.
        unsafe {
            asm!(
                "xadd qword ptr [{cursor}], {taken}",
                cursor = in(reg) self.cursor.as_ptr(),
                taken = inout(reg) taken,
                options(nostack),
            );
        }
        taken
    }

    /// Moves the cursor by one instruction, unless a signal handler moved it meanwhile. Returns whether it did.
    #[inline]
    pub(crate) fn move_cursor(&self, from: u64, to: u64) -> bool {
        let mut found = from;
        // SAFETY: the cursor is this thread's own; no lock prefix is needed against its own signal handlers.
        unsafe {
            asm!(
                "cmpxchg qword ptr [{cursor}], {to}",
                cursor = in(reg) self.cursor.as_ptr(),
                to = in(reg) to,
                inout("rax") found,
                options(nostack),
            );
        }
        found == from
    }

    /// Forgets chunks and number: for the thread that remains after a fork.
    pub(crate) fn reset(&self) {
        self.end.set(0);
        self.cursor.set(0);
        self.chunk.set(0);
        self.previous_chunk.set(0);
        self.number_plus_one.set(0);
        self.sequence.set(0);
        self.last_tsc.set(0);
        self.repeated.forget();
        self.region_end.set(0);
        // Another journal, which knows none.
        for largest in &self.teams {
            largest.set(0);
        }
    }
}
