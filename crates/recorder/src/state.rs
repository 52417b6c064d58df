//! What the recorder keeps for each thread.
//!
//! It lies in the static thread-local block that the dynamic linker sets up with every thread, so that reaching it is
//! one addition: no call, no allocation, also in a signal handler and in a thread's last moments. It is small, since
//! it comes out of the stack of every thread, also of one with the smallest stack there is.

use core::arch::{asm, global_asm};
use core::cell::Cell;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::streak::Streak;

/// The bytes reserved for each thread.
const BYTES: usize = 512;

/// The depths in OpenMP regions whose call sites are told apart.
pub const SITES: usize = 4;

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

/// Where in the block hooks store the frame pointer.
pub const FRAME_OFFSET: usize = offset_of!(ThreadState, frame);

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
    /// How often the thread had left its CPU because it had to wait, plus one, when the clock was last synchronized; 0
    /// when nobody asked.
    pub(crate) switches_plus_one: Cell<u64>,
    /// How many calls of `vfork` this thread is in: whoever runs with this state meanwhile is a child. See `vfork`.
    pub(crate) vforks: Cell<u32>,
    /// How many waits of any thread its turns took note of.
    pub(crate) waits_seen: Cell<u32>,
    /// What the thread's place in its chunk was before the first of them, and the chunk's end.
    pub(crate) before_vfork: Cell<(u64, u64)>,
    /// The record of the first of them.
    pub(crate) vfork_record: Cell<u64>,
    /// Where the current chunk begins in the file.
    pub(crate) place_in_file: Cell<u64>,
    /// Where the one before does.
    pub(crate) previous_place: Cell<u64>,
    /// The innermost `pthread_once` that this thread is in.
    pub once: Cell<*const ()>,
    /// The innermost OpenMP region that this thread is in.
    pub member: Cell<*const ()>,
    /// The barrier at the end of a region that this thread was last seen to arrive at; 0 once it was seen to go on.
    pub region_end: Cell<u64>,
    /// The frame pointer of the program at its latest call of a hook; stored by the hook's first instructions.
    pub(crate) frame: Cell<u64>,
    /// Where the part of the thread's own stack begins that is known to be there.
    pub(crate) stack_low: Cell<u64>,
    /// Where it ends; 0 where the own stack is not known.
    pub(crate) stack_high: Cell<u64>,
    /// The part of another stack that the thread was last found on.
    pub(crate) other_stack: Cell<(u64, u64)>,
    /// The barrier of the OpenMP team whose task the thread is at, as GCC's library has it run; 0 for none.
    pub task_barrier: Cell<u64>,
    /// Whether the loop that LLVM's library deals out to the thread goes to whoever is free.
    pub loop_is_shared: Cell<bool>,
    /// The counter's lower half when the piece of a shared loop that the thread is at was begun, or marked last; 0 outside of such
    /// loops.
    pub piece_began: Cell<u32>,
    /// Where the call was made that a hook passes on to LLVM's OpenMP library; 0 for none.
    pub caller: Cell<u64>,
    /// The `ordered` section that the thread was last seen to wait for; 0 once it left it.
    pub section: Cell<u64>,
    /// For each depth in regions, where the thread began one.
    pub region_sites: [AtomicU64; SITES],
    /// For each depth in regions, how many the thread began.
    pub regions: [AtomicU32; SITES],
    /// For each depth in regions, the largest team of this thread's that the journal knows the objects of.
    pub teams: [Cell<u16>; 4],
    /// For each depth in regions, what is known of the loop with iterations that wait for each other that the thread is in.
    pub loops: [Cell<u32>; SITES],
    /// The record of the latest burst of calls; see [`spun`](crate::spun).
    pub(crate) burst: Cell<u64>,
    /// The counter's lower half at the latest `sched_yield`.
    pub last_yield: Cell<u32>,
    /// The lower half of [`Self::place`] then.
    pub yielded_at: Cell<u32>,
    /// How many in quick succession there were.
    pub yields: Cell<u16>,
    /// Whether the kernel was asked for short turns of the thread.
    pub(crate) turns_are_short: Cell<bool>,
    /// How often it waited at barriers so far, up to [`short_turns::MEETINGS`](crate::short_turns::MEETINGS).
    pub(crate) meetings: Cell<u8>,
    /// How often any thread had woken several when this one came to wait.
    pub(crate) broadcasts: Cell<u32>,
    /// Whether several were woken while it waited last.
    pub(crate) woken_with_others: Cell<bool>,
    /// The counter when it went on then.
    pub(crate) went_on_at: Cell<u64>,
    /// How much more often than half as often as not it had little to do after that before it came to wait again.
    pub(crate) came_late: Cell<u8>,
    /// How many since the thread last waited for a futex.
    pub spared_yields: Cell<u32>,
    /// Of the first 64 CPUs that the program believes in, those that it bound this thread to; 0 where it did not. Other
    /// threads may set it.
    pub bound: AtomicU64,
    /// When its turn on the CPU began, as far as it is known.
    pub(crate) turn_began: Cell<u64>,
    /// Whether it was over when the thread last recorded that it gives something up.
    pub(crate) turn_is_over: Cell<bool>,
    /// Whether it waited since its last turn began.
    pub(crate) waited: Cell<bool>,
    /// By how many ticks its turn is longer than turns are at first.
    pub(crate) turn_extension: Cell<u32>,
    /// Its CPU time when that count changed last, or when it last waited.
    pub(crate) worked_from: Cell<u64>,
    /// The return of the latest burst of tries of a library that passes messages; 0 for none.
    pub(crate) tries: Cell<u64>,
    /// What was tried, and from where.
    pub(crate) tried: Cell<u64>,
    /// The counter when its CPU time was last read.
    pub(crate) read_at: Cell<u64>,
    /// Whether it came back from waits since, of which nobody knows the CPU time.
    pub(crate) unread: Cell<bool>,
    /// Whether the thread is in a try of a library that passes messages.
    pub(crate) trying: Cell<bool>,
    /// The counter's lower half when the latest was over.
    pub(crate) last_try: Cell<u32>,
    /// How many ticks the quicker of these take with their hooks; 0 for unknown.
    pub(crate) usual_look: Cell<u16>,
    /// How many of these found nothing since the thread did anything else or let others run.
    pub(crate) looks: Cell<u16>,
    /// Whether the thread looks a function up for the program.
    pub finds: Cell<bool>,
    /// What the thread does again and again.
    pub(crate) repeated: Repeated,
    /// The sections that are counted, not recorded.
    pub(crate) streak: Streak,
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
    /// Where the repetition of failed tries ends that counts it; 0 for none.
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

    /// Returns what another thread is bound to.
    ///
    /// # Safety
    ///
    /// `thread` is the `pthread_t` of a thread that was not joined yet and did not end detached.
    pub unsafe fn bound_of(thread: u64) -> &'static AtomicU64 {
        let pointer: u64;
        // SAFETY: reads the thread pointer, which the C library also uses as the thread's identity.
        unsafe {
            asm!("mov {pointer}, qword ptr fs:[0]", pointer = out(reg) pointer, options(pure, readonly, nostack));
        }
        let own = core::ptr::from_ref(&Self::current().bound) as u64;
        let address = thread.wrapping_add(own.wrapping_sub(pointer));
        // SAFETY: a library's static thread-local block lies at the same distance from every thread's pointer, and by
        // the caller's promise that thread's is there.
        unsafe { &*(address as *const AtomicU64) }
    }

    /// Returns whether whoever runs with this state is, or may be, a child of `vfork`.
    pub fn is_in_vfork(&self) -> bool {
        self.vforks.get() != 0
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

    /// Returns a number that changes with all that the thread records, and with what is counted in place of that.
    pub fn place(&self) -> u64 {
        let times = u64::from(self.repeated.times.get()) + u64::from(self.streak.counted());
        self.cursor.get().wrapping_add(times)
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
        self.vforks.set(0);
        self.switches_plus_one.set(0);
        self.read_at.set(0);
        self.unread.set(false);
        self.repeated.forget();
        self.streak.forget();
        self.region_end.set(0);
        self.burst.set(0);
        self.tries.set(0);
        self.caller.set(0);
        self.section.set(0);
        self.piece_began.set(0);
        // Another journal, which knows none.
        for largest in &self.teams {
            largest.set(0);
        }
    }
}
