//! The journal's bytes, version 3. All numbers are little-endian.
//!
//! ```text
//! +---------------------+ 0
//! | Header, one page    |   who was recorded, when it began, how it ended
//! +---------------------+ 4096
//! | Chunk               |   a whole number of pages; ChunkHeader, then records or bytes
//! +---------------------+
//! | Chunk               |   of any thread; a thread's chunks carry consecutive sequence numbers
//! +---------------------+
//! ```
//!
//! A chunk of events is a [`ChunkHeader`] and then [`Record`]s of 24 bytes:
//!
//! ```text
//! byte 0      8        16     17        18            24
//! +----------+---------+------+---------+-------------+
//! | tsc      | object  | kind | outcome | call site   |
//! +----------+---------+------+---------+-------------+
//! ```
//!
//! The last eight bytes are stored by one instruction and last of all; a record of kind 0 is a hole: space that was
//! taken but not filled when the program was killed, or the unused end of a chunk. A kind with a second operand is
//! followed by a record of kind [`Kind::Extension`], which is filled before it; then, where call
//! stacks are recorded, by records of kind [`Kind::Stack`], likewise. Two kinds are made of records that were
//! there before: a [`Section`] of the record of a lock, a [`Repetition`] of the first of many equal sections.
//!
//! The structures hold atomics because the recorder shares them between threads through a mapping; a reader takes
//! their offsets only.

mod sections;

use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

pub use self::sections::{
    REPETITIONS_RECORDED, Repetition, SECTION_BITS, Section, acquisitions, release_of, section_tsc,
};

/// The first eight bytes of a journal.
pub const MAGIC: [u8; 8] = *b"FTJOURNL";

/// The version of this layout. What the versions before hold means the same in this one. Version 2 added [`Unread`], version 3
/// what [`Repetition`] holds beside how many there were, this one repetitions of readers-writer locks.
pub const VERSION: u32 = 4;

/// The first version of this layout.
pub const FIRST_VERSION: u32 = 1;

/// The header's bytes, and what chunks are aligned to.
pub const PAGE_BYTES: usize = 4096;

/// The extension of a journal's file name, `<pid>-<start time>-<n>.ftj`.
pub const FILE_EXTENSION: &str = "ftj";

/// The name of the file beside them in which the processes of a recording tell each other of their sockets.
pub const SOCKETS_FILE: &CStr = c"sockets";

/// The same for what they bound each other's threads to.
pub const BINDINGS_FILE: &CStr = c"bindings";

/// The longest program path kept, in bytes.
pub const PROGRAM_BYTES: usize = 1024;

/// The longest name kept of a library whose calls pass by, in bytes.
pub const BYPASSING_BYTES: usize = 256;

/// Set in [`Header::flags`] once the process has ended by itself.
pub const FLAG_CLEAN_EXIT: u64 = 1;

/// Set in [`Header::flags`] once space could not be had and recording stopped.
pub const FLAG_STOPPED: u64 = 2;

/// Set in [`Header::flags`] when the process began as a fork of a recorded one.
pub const FLAG_FORKED: u64 = 4;

/// Set in [`Header::flags`] once the program made OpenMP tasks, of which nothing is recorded but the time that they took and that somebody
/// waited for some.
pub const FLAG_TASKS: u64 = 8;

/// Set in [`Header::flags`] once threads slept so often that they may look for something in between: foretrace sees then which threads run meanwhile.
pub const FLAG_NAPS: u64 = 16;

/// Set in [`Header::flags`] where a worse clock was chosen only as it could not be found out whether the best one works: the machine was
/// so busy.
pub const FLAG_CLOCK_UNDECIDED: u64 = 32;

/// Set in [`Header::flags`] once a library was opened in a way that looks its own functions up first
/// (`RTLD_DEEPBIND`) or in another namespace (`dlmopen`), so that its calls may pass the recorder by.
pub const FLAG_BYPASSED: u64 = 1 << 16;

/// The clock is the time-stamp counter, and rseq says when the thread left its CPU.
pub const CLOCK_RSEQ: u32 = 1;

/// The clock is the time-stamp counter within short intervals, the system call otherwise.
pub const CLOCK_COUNTER: u32 = 2;

/// The clock is the system call, at every event.
pub const CLOCK_SYSTEM_CALL: u32 = 3;

/// The first page of a journal.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// Byte 0: [`MAGIC`], stored last, so that a file without it was abandoned while it was made.
    pub magic: AtomicU64,
    /// Byte 8: [`VERSION`].
    pub version: AtomicU32,
    /// Byte 12: the clock, one of the `CLOCK_` constants.
    pub clock: AtomicU32,
    /// Byte 16: the process.
    pub pid: AtomicU32,
    /// Byte 20: its parent.
    pub ppid: AtomicU32,
    /// Byte 24: the time-stamp counter when recording began.
    pub start_tsc: AtomicU64,
    /// Byte 32: `CLOCK_MONOTONIC` at the same moment, in nanoseconds.
    pub start_monotonic_nanos: AtomicU64,
    /// Byte 40: `CLOCK_REALTIME` at the same moment, in nanoseconds since 1970.
    pub start_unix_nanos: AtomicU64,
    /// Byte 48: when the process was started, in clock ticks since the system booted (`/proc/PID/stat`, field 22).
    pub start_ticks: AtomicU64,
    /// Byte 56: the time-stamp counter at exit; 0 when it did not come to that.
    pub end_tsc: AtomicU64,
    /// Byte 64: `CLOCK_MONOTONIC` at the same moment, in nanoseconds.
    pub end_monotonic_nanos: AtomicU64,
    /// Byte 72: `CLOCK_PROCESS_CPUTIME_ID` at the same moment, in nanoseconds.
    pub end_cpu_nanos: AtomicU64,
    /// Byte 80: the `FLAG_` constants that apply.
    pub flags: AtomicU64,
    /// Byte 88: where the next chunk will lie.
    pub next_offset: AtomicU64,
    /// Byte 96: events that could not be stored.
    pub lost_events: AtomicU64,
    /// Byte 104: how many threads were numbered, from 0.
    pub thread_count: AtomicU32,
    /// Byte 108: the CPUs that the program was made to believe in; 0 when it was told the truth.
    pub pretended_cpus: AtomicU32,
    /// Byte 112: how many journals this process had written before (by `exec`).
    pub predecessors: AtomicU32,
    /// Byte 116: the length of the program's path.
    pub program_bytes: AtomicU32,
    /// Byte 120: what recording one event costs, in sixteenths of a tick, as measured at the beginning; 0 for
    /// unknown.
    pub record_cost: AtomicU64,
    /// Byte 128: the program's path.
    pub program: [u8; PROGRAM_BYTES],
    /// Byte 1152: what recording a lock and its unlock as one [`Section`] costs, as `record_cost`.
    pub section_cost: AtomicU64,
    /// Byte 1160: what counting a lock and its unlock into a [`Repetition`] costs, as `record_cost`.
    pub repetition_cost: AtomicU64,
    /// Byte 1168: with [`FLAG_BYPASSED`], the name that the first such library was opened by, ending with a zero where it
    /// is shorter.
    pub bypassing: [AtomicU8; BYPASSING_BYTES],
    /// Byte 1424: where room begins, in bytes from the file's beginning, that foretrace made ahead for the chunks of a program that
    /// records much, by writing zeros, which the program would have to do else; see [`Header::take_place`].
    pub room_start: AtomicU64,
    /// Byte 1432: where it ends.
    pub room_end: AtomicU64,
    /// Byte 1440: up to where more of it is being made; no more is where this is not behind `room_end`.
    pub room_claimed: AtomicU64,
    /// Byte 1448: what recording a call of MPI costs between its return and the next call, as `record_cost`; 0 before MPI has begun.
    pub message_cost: AtomicU64,
    /// Byte 1456: at exit, the CPU time of the children that were waited for, and of theirs, in nanoseconds.
    pub end_children_nanos: AtomicU64,
    /// Byte 1464: what counting a lock and its unlock costs where several mutexes take turns, as `record_cost`; 0 in older journals.
    pub turn_cost: AtomicU64,
    /// Byte 1472: how often the program gave memory back, or changed what it may do with it, while it had several threads; 0 in older journals.
    pub remaps: AtomicU64,
}

impl Header {
    /// Takes a place for a chunk of so many bytes. Returns where it begins, and whether it holds zeros; else these have to be written.
    ///
    /// The program takes a place, and then looks at the room; foretrace claims more room, and then looks at what is taken, and writes
    /// nothing if that is beyond the room. So one of the two at least notices the other, and no zeros are written over what was
    /// recorded.
    pub fn take_place(&self, bytes: u64) -> (u64, bool) {
        loop {
            let from = self.next_offset.fetch_add(bytes, Ordering::SeqCst);
            let to = from + bytes;
            // What is claimed is read first: of room that is made meanwhile, more is there then.
            let claimed = self.room_claimed.load(Ordering::SeqCst);
            let end = self.room_end.load(Ordering::SeqCst);
            let start = self.room_start.load(Ordering::SeqCst);
            if from >= start && to <= end {
                return (from, true);
            }
            if claimed <= end || to <= start || from >= claimed {
                return (from, false);
            }
            self.next_offset.fetch_max(claimed, Ordering::SeqCst);
        }
    }
}

/// Returns how many bytes of a file system of so many are left to the program: what fills the rest ends the recording, before anything that
/// the program writes there finds no room.
///
/// That is a hundredth, but no less than 8 MiB and no more than 512; of a very small one a quarter.
pub const fn room_to_leave(total: u64) -> u64 {
    const LEAST: u64 = 8 << 20;
    const MOST: u64 = 512 << 20;
    let share = total / 100;
    let share = if share < LEAST {
        LEAST
    } else if share > MOST {
        MOST
    } else {
        share
    };
    if share > total / 4 { total / 4 } else { share }
}

/// The first four bytes of a chunk.
pub const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"FTCH");

/// A chunk of a thread's records.
pub const CHUNK_EVENTS: u32 = 1;

/// A chunk that holds a copy of `/proc/self/maps` as text.
pub const CHUNK_MAPS: u32 = 2;

/// A chunk for a thread that was then not created.
pub const CHUNK_ABANDONED: u32 = 3;

/// What a chunk begins with. 96 bytes, four records.
#[repr(C)]
#[derive(Debug)]
pub struct ChunkHeader {
    /// Byte 0: [`CHUNK_MAGIC`], stored last.
    pub magic: AtomicU32,
    /// Byte 4: one of the `CHUNK_` constants.
    pub kind: AtomicU32,
    /// Byte 8: the chunk's bytes, this header included.
    pub length: AtomicU64,
    /// Byte 16: the thread's number in the process, from 0.
    pub thread: AtomicU32,
    /// Byte 20: which of the thread's chunks this is, from 0; for maps, whether this continues the one before.
    pub sequence: AtomicU32,
    /// Byte 24: the thread's number in the system; 0 until it runs.
    pub tid: AtomicU32,
    /// Byte 28: the creating thread's number plus one; 0 when it was not seen being created.
    pub creator: AtomicU32,
    /// Byte 32: the address of the thread's start routine; 0 when unknown.
    pub start_routine: AtomicU64,
    /// Byte 40: the start routine's argument.
    pub argument: AtomicU64,
    /// Byte 48: the thread's `pthread_t`; 0 until it runs.
    pub pthread: AtomicU64,
    /// Byte 56: the time-stamp counter when the chunk was made.
    pub tsc: AtomicU64,
    /// Byte 64: `CLOCK_MONOTONIC` at the same moment, in nanoseconds.
    pub monotonic_nanos: AtomicU64,
    /// Byte 72: for maps, the bytes of text that follow this header.
    pub text_bytes: AtomicU64,
    /// Byte 80: in a thread's first chunk, of the first 64 CPUs that the program believes in, those that the thread was
    /// bound to when it began; 0 for all.
    pub bound: AtomicU64,
    /// Byte 88: where the chunk begins, in bytes from the file's beginning; 0 in older journals.
    pub place: AtomicU64,
}

/// One record.
#[repr(C)]
#[derive(Debug)]
pub struct Record {
    /// Byte 0: the time-stamp counter; of an extension, its first operand.
    pub tsc: AtomicU64,
    /// Byte 8: the object's address, or what [`Kind`] says.
    pub object: AtomicU64,
    /// Byte 16: the kind; byte 17: the outcome; bytes 18 to 23: the call site, an address.
    pub tail: AtomicU64,
}

/// The bytes of a record.
pub const RECORD_BYTES: usize = 24;

const _: () = {
    assert!(size_of::<Header>() <= PAGE_BYTES);
    assert!(size_of::<ChunkHeader>() == 4 * RECORD_BYTES);
    assert!(size_of::<Record>() == RECORD_BYTES);
};

/// What a [`Kind::Return`] or [`Kind::Resume`] tells of a call after which nobody asked for the CPU time: for how long the thread
/// was not watched.
///
/// Until so many ticks before the record's `tsc` the thread had its CPU, or was in another such call, and from there on again.
/// What it used in all such calls since the latest [`Kind::Sync`] is known with the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The ticks since the thread was last watched; not 0.
    pub ticks: u64,
    /// How many of them, at the end, were the recorder's own work.
    pub own: u64,
}

/// Where [`Unread`]'s numbers begin in a call site's place, and the most that each can be.
const UNREAD_TICKS: (u32, u64) = (8, (1 << 26) - 1);
const UNREAD_OWN: (u32, u64) = (34, (1 << 14) - 1);

impl Unread {
    /// Returns what the call site's place holds of a return from this kind of call.
    #[inline]
    pub fn pack(self, kind: Kind) -> u64 {
        let ticks = self.ticks.clamp(1, UNREAD_TICKS.1) << UNREAD_TICKS.0;
        let own = self.own.min(UNREAD_OWN.1) << UNREAD_OWN.0;
        kind as u64 | ticks | own
    }

    /// Finds it in the call site's place of a return; `None` where the thread was watched, or asked for its CPU time.
    pub const fn unpack(site: u64) -> Option<Self> {
        let ticks = site >> UNREAD_TICKS.0 & UNREAD_TICKS.1;
        if ticks == 0 {
            return None;
        }
        Some(Self {
            ticks,
            own: site >> UNREAD_OWN.0 & UNREAD_OWN.1,
        })
    }
}

/// Outcome byte: done.
pub const OUTCOME_SUCCESS: u8 = 0;
/// Outcome byte: a try that did not get the object.
pub const OUTCOME_BUSY: u8 = 1;
/// Outcome byte: the time ran out.
pub const OUTCOME_TIMED_OUT: u8 = 2;
/// Outcome byte: the serial thread of a barrier, or the runner of a one-time routine.
pub const OUTCOME_CHOSEN: u8 = 3;
/// Outcome byte: granted although the last owner died.
pub const OUTCOME_OWNER_DIED: u8 = 4;
/// Outcome bytes from here on: failed with the `errno` that is the difference.
pub const OUTCOME_FAILED: u8 = 16;
/// Of a failed try of an OpenMP team's semaphore ([`crate::Outcome::BEGINS`]): what its thread did since its event before is its own.
/// With [`OUTCOME_BUSY`] it is a piece of work that any member of the team might have done.
pub const OUTCOME_BEGINS: u8 = OUTCOME_FAILED + EINPROGRESS;
/// Of a wait for OpenMP tasks ([`crate::Outcome::HELPED`]): it was for those that were made in the one that waits, whose thread did
/// meanwhile also what these made. With [`OUTCOME_BUSY`] it did only these themselves.
pub const OUTCOME_HELPED: u8 = OUTCOME_FAILED + EALREADY;
/// Of a wait for OpenMP tasks ([`crate::Outcome::WAITED_FOR_ALL`]): it was for those that were made in the one that waits, and for all that
/// these made.
pub const OUTCOME_WAITED_FOR_ALL: u8 = OUTCOME_FAILED + EINPROGRESS;
/// In the number of a [`Kind::DoacrossWait`] on what stands for an OpenMP team's tasks: it is no task's, but holds an address that the task
/// depends on which its thread made last.
pub const TASK_NEEDS: u64 = 1 << 63;
/// Beside [`TASK_NEEDS`]: the task writes there, and does not only read.
pub const TASK_WRITES: u64 = 1 << 62;
/// Beside the number of tokens of a [`Kind::SetTake`] or [`Kind::SetGive`]: the process's end undoes it.
pub const UNDONE: u64 = 1 << 32;
/// `EALREADY`.
const EALREADY: u8 = 114;
/// `EINPROGRESS`.
const EINPROGRESS: u8 = 115;
/// Outcome byte: not known yet; a [`Kind::Return`] will say.
pub const OUTCOME_PENDING: u8 = 255;

/// The directory, among the journals, that shows the CPUs which a program is made to believe in as `/sys/devices/system/cpu` would.
pub const CPU_DIRECTORY: &str = "cpus";

/// Packs the last eight bytes of a record.
#[inline]
pub const fn pack_tail(kind: Kind, outcome: u8, site: u64) -> u64 {
    (kind as u64) | ((outcome as u64) << 8) | (site << 16)
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $byte:literal,)*) => {
        /// What a record tells. The byte values are part of the format and never change.
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $name = $byte,)*
        }

        impl Kind {
            /// Returns the kind of a byte; `None` for a hole and for bytes of no meaning.
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $($byte => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

/// Marks what names an `eventfd`: no inode is so large.
pub const EVENT_COUNTER: u64 = 1 << 63;

/// Beside [`EVENT_COUNTER`]: the number is the kernel's, which all processes share, and not the file's.
pub const COUNTER_NUMBER: u64 = 1 << 61;

/// Marks what names one direction of two sockets that are connected, or those who connect to one, beside a number that all agree on.
pub const SOCKET: u64 = 1 << 62;

kinds! {
    /// The thread's CPU time at `tsc`: `object` nanoseconds. The call site's place holds what asking for it cost, in
    /// ticks, half of it before `tsc`.
    Sync = 1,
    /// The second operand of the record before: `object`, and `tsc` where it has a third.
    Extension = 2,
    /// Came back from a call on `object`; the call site's place holds the call's kind and, above it, what [`Unread`] packs, or 0.
    Return = 3,
    /// `CLOCK_MONOTONIC` at `tsc`: `object` nanoseconds.
    Stamp = 4,
    /// The thread ends; the last one counts.
    Terminate = 5,
    /// At exit: the CPU time, `object` nanoseconds, of the thread whose number in the system is in the call site's
    /// place; the last one counts.
    Final = 6,
    /// The recorder itself used `object` nanoseconds of the thread's CPU time, before this record, and as many ticks
    /// as the call site's place holds.
    Overhead = 7,
    /// Belongs to the call before it: where that was called from, two return addresses from the inside out, `object`
    /// and `tsc`; zero for none. Several may follow each other.
    Stack = 8,
    /// The thread has its CPU again, which it lost in the call before, or in a blocking one that is not recorded. The call site's
    /// place holds this kind and, above it, what [`Unread`] packs.
    Resume = 9,
    /// `pthread_create`; `object` is the new thread's number.
    Create = 10,
    /// `pthread_join`; `object` is a `pthread_t`.
    Join = 11,
    /// `pthread_tryjoin_np`.
    TryJoin = 12,
    /// `pthread_timedjoin_np`, `pthread_clockjoin_np`.
    TimedJoin = 13,
    /// `pthread_detach`.
    Detach = 14,
    /// `pthread_cancel`.
    Cancel = 15,
    /// `pthread_mutex_init`.
    MutexInit = 20,
    /// `pthread_mutex_destroy`.
    MutexDestroy = 21,
    /// `pthread_mutex_lock`.
    MutexLock = 22,
    /// `pthread_mutex_trylock`.
    MutexTryLock = 23,
    /// `pthread_mutex_timedlock`, `pthread_mutex_clocklock`.
    MutexTimedLock = 24,
    /// `pthread_mutex_unlock`.
    MutexUnlock = 25,
    /// An acquisition of a lock and its release, in one record: see [`Section`].
    Section = 26,
    /// Many equal sections, or many failed tries, one after the other: see [`Repetition`].
    Repetition = 27,
    /// `pthread_cond_init`.
    CondInit = 30,
    /// `pthread_cond_destroy`.
    CondDestroy = 31,
    /// `pthread_cond_wait`; the extension names the mutex.
    CondWait = 32,
    /// `pthread_cond_timedwait`, `pthread_cond_clockwait`; the extension names the mutex.
    CondTimedWait = 33,
    /// `pthread_cond_signal`.
    CondSignal = 34,
    /// `pthread_cond_broadcast`.
    CondBroadcast = 35,
    /// `sem_init`; the extension holds the value.
    SemInit = 40,
    /// `sem_destroy`.
    SemDestroy = 41,
    /// `sem_open`; the extension holds the value found and, in `tsc`, a hash of the name.
    SemOpen = 42,
    /// `sem_wait`.
    SemWait = 43,
    /// `sem_trywait`.
    SemTryWait = 44,
    /// `sem_timedwait`, `sem_clockwait`.
    SemTimedWait = 45,
    /// `sem_post`.
    SemPost = 46,
    /// `pthread_rwlock_init`; the extension, where there is one, holds 1: readers wait for writers that wait.
    RwInit = 50,
    /// `pthread_rwlock_destroy`.
    RwDestroy = 51,
    /// `pthread_rwlock_rdlock`.
    ReadLock = 52,
    /// `pthread_rwlock_tryrdlock`.
    TryReadLock = 53,
    /// `pthread_rwlock_timedrdlock`, `pthread_rwlock_clockrdlock`.
    TimedReadLock = 54,
    /// `pthread_rwlock_wrlock`.
    WriteLock = 55,
    /// `pthread_rwlock_trywrlock`.
    TryWriteLock = 56,
    /// `pthread_rwlock_timedwrlock`, `pthread_rwlock_clockwrlock`.
    TimedWriteLock = 57,
    /// `pthread_rwlock_unlock`.
    RwUnlock = 58,
    /// `pthread_barrier_init`; the extension holds the count.
    BarrierInit = 60,
    /// `pthread_barrier_destroy`.
    BarrierDestroy = 61,
    /// `pthread_barrier_wait`.
    BarrierWait = 62,
    /// `pthread_spin_init`; the extension holds 1: whoever waits never gives up its CPU. Spin locks of OpenMP's libraries have none.
    SpinInit = 70,
    /// `pthread_spin_destroy`.
    SpinDestroy = 71,
    /// `pthread_spin_lock`.
    SpinLock = 72,
    /// `pthread_spin_trylock`.
    SpinTryLock = 73,
    /// `pthread_spin_unlock`.
    SpinUnlock = 74,
    /// `pthread_once`; pending when the caller runs the routine, or waits for the one who does.
    Once = 80,
    /// A wait for a futex by a system call: `FUTEX_WAIT`, `FUTEX_WAIT_BITSET`, `FUTEX_LOCK_PI` without a timeout.
    /// Always pending; its return is [`OUTCOME_BUSY`] when the futex did not hold the value that would make it wait.
    FutexWait = 90,
    /// The same with a timeout.
    FutexTimedWait = 91,
    /// A wake-up of a futex's waiters; the extension holds how many were woken, or moved to wait elsewhere. Where the
    /// program ended before that was known it holds how many it may have been.
    FutexWake = 92,
    /// A burst of `sched_yield` with no other event between; the extension holds how many.
    Yield = 95,
    /// Waited for an iteration of a loop; `object` is the team's barrier, the extension holds the iteration's number.
    DoacrossWait = 96,
    /// Said that an iteration is done, before it is said; the operands as of [`Kind::DoacrossWait`].
    DoacrossPost = 97,
    /// `sched_setaffinity`, `pthread_setaffinity_np`: bound a thread to CPUs, in belief; it stays on the recording's one.
    /// `object` is 0 for the calling thread, below 2^32 the number of a thread in the system, else a `pthread_t`; the
    /// extension holds the set's first 64 CPUs.
    Bind = 120,
    /// A process was started: `fork`, `vfork`, `posix_spawn`, recorded before it is done. `object` is its number, filled in
    /// after. Of `system` and `popen`, which do not tell it, it is 0, and the extension holds what the record of the wait
    /// for it holds too: 0 or the stream.
    Fork = 100,
    /// The process is about to become another program; the last one may have.
    Exec = 101,
    /// Waited for a process's end: `object` is its number, or 0 and the extension what that of [`Kind::Fork`] holds.
    WaitProcess = 102,
    /// Follows the return of a wait for a process's end: `object` is its number, 0 where that is not known, and the call site's place
    /// holds the CPU time of all children that were waited for until then, and of theirs, in microseconds.
    Reaped = 103,
    /// Was blocked by input or output; recorded after it, and only then. `object` is the file's inode, the extension
    /// holds what [`io::pack`](crate::io::pack) packs and, in `tsc`, the file's device; 0 of a pipe.
    Io = 105,
    /// Slept; recorded after it. `object` is how many nanoseconds it was to be, or 0 where that is not known.
    Sleep = 106,
    /// Was to sleep until a moment of a clock that had passed, and did not: `object` is how many nanoseconds before
    /// that clock was looked at, when the counter was what the extension holds.
    SleepPast = 107,
    /// `mq_send`, `msgsnd`; `object` is twice a POSIX queue's inode, or twice a System V queue's number plus one.
    QueueSend = 110,
    /// `mq_receive`, `msgrcv`; recorded after it.
    QueueReceive = 111,
    /// `semop` took tokens; recorded after it. `object` is the set's number and, in the low 16 bits, the semaphore's; the
    /// extension holds how many, with [`UNDONE`] where the process's end gives them back, and, in `tsc`, the value before plus one,
    /// where it was asked for.
    SetTake = 112,
    /// `semop` gave tokens; the operands as of [`Kind::SetTake`].
    SetGive = 113,
    /// Wrote to a pipe, a connected socket or an `eventfd`, or connected to who listens, recorded before it; `object` is the pipe's
    /// inode, or [`SOCKET`] and a number, or [`EVENT_COUNTER`] and the number of the file or of the counter; the extension holds how many bytes
    /// it was, how much was added, or 1.
    PipeWrite = 114,
    /// Read from a pipe, recorded after it; the operands as of [`Kind::PipeWrite`].
    PipeRead = 115,
    /// The program began with a pipe as its output; `object` is the pipe's inode.
    PipeHeld = 116,
    /// Locked a file for reading, or tried to, recorded after it; `object` names the file and the family of its locks, the extension
    /// holds where the part begins and, in `tsc`, how long it is, 0 for all the rest.
    FileReadLock = 117,
    /// Locked a file for writing, or tried to; the operands as of [`Kind::FileReadLock`].
    FileWriteLock = 118,
    /// Gave up what locks there were on a part of a file, recorded before it; the operands as of [`Kind::FileReadLock`].
    FileUnlock = 119,
    /// An `eventfd` was made; the operands as of [`Kind::PipeWrite`]. Who had such a number before is no more.
    CounterMade = 121,
    /// A call of MPI; `object` is the function's position in [`FUNCTIONS`](super::mpi::FUNCTIONS). Always pending. Words follow it,
    /// and its return.
    Mpi = 130,
    /// Belongs to the call or return before it: two words more, `object` and `tsc`. The call site's place holds how many there
    /// are from here on.
    Words = 131,
}
