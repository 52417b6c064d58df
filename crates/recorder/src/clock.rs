//! The thread CPU clock.
//!
//! Reading a thread's CPU time is a system call, and at every event that would cost more than most events do. So the
//! recorder stores the time-stamp counter, and now and then a pair (counter, CPU time). Between two events in which
//! the thread kept its CPU, counter and CPU time advance together, and the reader computes one from the other. What
//! remains is to notice that the thread did *not* keep its CPU.
//!
//! The kernel notices it for us: a thread may register a descriptor of a restartable sequence (rseq), and whenever
//! the thread is preempted, blocks, migrates or takes a signal outside that sequence, the kernel clears the pointer
//! to it. Ours describes code that never runs; a pointer that still stands says that nothing happened.
//!
//! Where rseq is missing or behaves otherwise (Linux 6.19 no longer cleared the pointer of a thread that resumed on
//! the same CPU) there are two other clocks, each worse and sure; [`choose`] tries them out.

use core::arch::{asm, global_asm};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use foretrace_trace::journal::layout;

use crate::state::ThreadState;
use crate::sys;

global_asm!(
    // The sequence: one instruction that never runs, and an abort handler behind the signature that glibc
    // registered with.
    ".pushsection .text.foretrace_rseq,\"ax\",@progbits",
    "foretrace_rseq_start:",
    "nop",
    "foretrace_rseq_end:",
    ".long 0x53053053",
    "foretrace_rseq_abort:",
    "ud2",
    ".popsection",
    // Its descriptor: version, flags, start, length, abort handler.
    ".pushsection .data.rel.ro.foretrace_rseq,\"aw\",@progbits",
    ".balign 32",
    ".globl foretrace_rseq_descriptor",
    ".hidden foretrace_rseq_descriptor",
    "foretrace_rseq_descriptor:",
    ".long 0, 0",
    ".quad foretrace_rseq_start",
    ".quad foretrace_rseq_end - foretrace_rseq_start",
    ".quad foretrace_rseq_abort",
    ".popsection",
);

/// Where the pointer lies in the kernel's `struct rseq`.
const POINTER_OFFSET: u64 = 8;

/// How often a pair of readings is tried before a disturbed one is taken.
const ATTEMPTS: u32 = 4;

/// Which clock is used: one of the `CLOCK_` constants of the layout, 0 before [`choose`].
static KIND: AtomicU32 = AtomicU32::new(0);

/// Where the word to test lies, from the thread pointer: rseq's pointer, or a word that is always zero.
static WORD_OFFSET: AtomicU64 = AtomicU64::new(0);

/// How far apart two events may be, in ticks, for the counter alone to be trusted between them.
static TRUSTED_TICKS: AtomicU64 = AtomicU64::new(0);

/// Whether nobody could tell if the best clock works.
static UNDECIDED: AtomicBool = AtomicBool::new(false);

/// Returns the time-stamp counter.
#[inline]
pub fn tsc() -> u64 {
    // SAFETY: every x86_64 has it, and Linux leaves it readable.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[inline]
fn descriptor() -> u64 {
    let address: u64;
    // SAFETY: computes an address.
    unsafe {
        asm!(
            "lea {address}, [rip + foretrace_rseq_descriptor]",
            address = out(reg) address,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    address
}

#[inline]
fn word() -> u64 {
    let value: u64;
    // SAFETY: reads a word of this thread's static block: rseq's or our own.
    unsafe {
        asm!(
            "mov {value}, qword ptr fs:[{offset}]",
            offset = in(reg) WORD_OFFSET.load(Relaxed),
            value = out(reg) value,
            options(readonly, nostack, preserves_flags),
        );
    }
    value
}

fn set_word(value: u64) {
    // SAFETY: writes rseq's pointer, which the kernel reads; null and our descriptor are both valid. A program that
    // uses rseq sets the pointer anew at the start of each of its sequences, and none of them contains a call.
    unsafe {
        asm!(
            "mov qword ptr fs:[{offset}], {value}",
            offset = in(reg) WORD_OFFSET.load(Relaxed),
            value = in(reg) value,
            options(nostack, preserves_flags),
        );
    }
}

/// Returns whether the thread surely kept its CPU since it last synchronized. Read the counter first, then ask.
#[inline]
pub fn undisturbed() -> bool {
    word() == descriptor()
}

/// Where glibc put the thread's `struct rseq`, as its symbols `__rseq_offset` and `__rseq_size` say.
#[derive(Clone, Copy, Debug)]
pub struct RseqArea {
    /// Its distance from the thread pointer.
    pub offset: isize,
    /// Its bytes; 0 when glibc did not register it.
    pub size: u32,
}

/// Tries the clocks out, best first, and returns which one will be used.
///
/// `falls` says that the kernel is known to clear the pointer of a thread that blocked. Trying that means to sleep, which
/// takes long where other programs want the CPU: too long for each of the processes that a shell starts.
pub fn choose(area: Option<RseqArea>, falls: bool) -> u32 {
    KIND.store(layout::CLOCK_RSEQ, Relaxed);
    let works = area.is_some_and(|area| area.size > 0 && rseq_works(area, falls));
    if !works {
        let zero = ThreadState::current().never_armed.as_ptr() as u64;
        WORD_OFFSET.store(zero.wrapping_sub(thread_pointer()), Relaxed);
        let ticks = ticks_per_trusted_interval();
        TRUSTED_TICKS.store(ticks, Relaxed);
        let kind = if ticks == 0 {
            layout::CLOCK_SYSTEM_CALL
        } else {
            layout::CLOCK_COUNTER
        };
        KIND.store(kind, Relaxed);
    }
    KIND.load(Relaxed)
}

pub(crate) fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: the thread pointer's own address stands at its beginning.
    unsafe {
        asm!("mov {pointer}, qword ptr fs:[0]", pointer = out(reg) pointer, options(readonly, nostack));
    }
    pointer
}

fn rseq_works(area: RseqArea, known_to_fall: bool) -> bool {
    WORD_OFFSET.store((area.offset as u64).wrapping_add(POINTER_OFFSET), Relaxed);
    if word() != 0 {
        // Somebody else uses it, and is in the midst of it.
        return false;
    }
    // It must stand while nothing happens (a try may be disturbed by chance) and fall when the thread blocks.
    let stands = (0..100).any(|_| {
        set_word(descriptor());
        for _ in 0..100 {
            core::hint::black_box(tsc());
        }
        undisturbed()
    });
    let falls = known_to_fall || falls(sleep);
    set_word(0);
    stands && falls
}

/// What a sleep showed of the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slept {
    /// Nothing: the time was over before the thread had left its CPU.
    NotAtAll,
    /// It fell, as it must.
    Fell,
    /// It stood although the thread had waited.
    Stood,
}

/// How many sleeps must have made the pointer fall.
const SLEEPS: u32 = 3;

/// How many are tried: on a busy machine a thread may be held up, on its way to sleep, for longer than it wants to.
const TRIED: u32 = 20;

/// Returns whether the pointer falls each time that the thread sleeps.
fn falls(sleep: impl Fn(u32) -> Slept) -> bool {
    let mut fallen = 0;
    for attempt in 0..TRIED {
        // A microsecond is mostly enough, and takes least.
        let nanos = match attempt {
            0..SLEEPS => 1_000,
            SLEEPS..10 => 50_000,
            _ => 200_000,
        };
        match sleep(nanos) {
            Slept::NotAtAll => {}
            Slept::Fell => fallen += 1,
            Slept::Stood => return false,
        }
        if fallen == SLEEPS {
            return true;
        }
    }
    UNDECIDED.store(true, Relaxed);
    false
}

/// Sleeps under the clock's watch.
fn sleep(nanos: u32) -> Slept {
    let before = sys::voluntary_switches();
    set_word(descriptor());
    sys::sleep_nanos(nanos);
    let stood = undisturbed();
    // Who was only preempted meanwhile may go on to find its time over.
    match (sys::voluntary_switches() == before, stood) {
        (true, _) => Slept::NotAtAll,
        (false, false) => Slept::Fell,
        (false, true) => Slept::Stood,
    }
}

/// Returns whether a worse clock was chosen only as no sleep showed what the best one does.
pub(crate) fn is_undecided() -> bool {
    UNDECIDED.load(Relaxed)
}

/// Returns the ticks in 19 microseconds; 0 when the counter does not advance evenly.
fn ticks_per_trusted_interval() -> u64 {
    ticks_in(19_000)
}

/// Returns the ticks in so many nanoseconds; 0 when the counter does not advance evenly. Takes a while.
pub fn ticks_in(interval: u64) -> u64 {
    const MEASURED_NANOS: u64 = 100_000;
    let (start_tsc, start) = stamp();
    let (end_tsc, end) = loop {
        let (tsc, nanos) = stamp();
        if nanos >= start + MEASURED_NANOS {
            break (tsc, nanos);
        }
    };
    end_tsc.saturating_sub(start_tsc).saturating_mul(interval) / (end - start)
}

/// Returns the counter and `CLOCK_MONOTONIC` at one moment.
pub fn stamp() -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..3 {
        let before = tsc();
        let nanos = sys::clock_nanos(libc::CLOCK_MONOTONIC);
        let took = tsc().wrapping_sub(before);
        if took < best.0 {
            best = (took, before + took / 2, nanos);
        }
    }
    (best.1, best.2)
}

/// A moment at which both were known.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The counter.
    pub tsc: u64,
    /// The thread's CPU time.
    pub cpu_nanos: u64,
    /// How long asking for it took, in ticks.
    pub cost: u64,
}

/// What is known about the present moment.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The counter.
    pub tsc: u64,
    /// A pair that must be stored before an event of this moment, where one was needed.
    pub pair: Option<Pair>,
}

/// Reads the clock when the thread was, or may have been, disturbed.
#[cold]
pub fn synchronize(state: &ThreadState) -> Now {
    if notices() {
        // What was known holds for the time that the clock watched, and that ends here.
        state.switches_plus_one.set(0);
    }
    match KIND.load(Relaxed) {
        layout::CLOCK_RSEQ => synchronize_rseq(),
        layout::CLOCK_COUNTER => synchronize_counter(state),
        _ => pair_with(|| {}, || true),
    }
}

fn synchronize_rseq() -> Now {
    let mut reading = pair_with(|| set_word(descriptor()), undisturbed);
    if !undisturbed() {
        // Something disturbs every system call: a debugger or strace. Watch from the reading's end on, else each event
        // would ask again, at a cost that stops such a program.
        set_word(descriptor());
        reading.tsc = tsc();
        if let Some(pair) = &mut reading.pair {
            pair.tsc = reading.tsc;
        }
    }
    reading
}

fn synchronize_counter(state: &ThreadState) -> Now {
    let now = tsc();
    let since = now.wrapping_sub(state.last_tsc.get());
    if since < TRUSTED_TICKS.load(Relaxed) {
        state.last_tsc.set(now);
        return Now {
            tsc: now,
            pair: None,
        };
    }
    // A reading that took much longer than the call takes was itself interrupted.
    let limit = TRUSTED_TICKS.load(Relaxed) / 12;
    let begun = core::cell::Cell::new(0);
    let reading = pair_with(
        || begun.set(tsc()),
        || tsc().wrapping_sub(begun.get()) < limit,
    );
    state.last_tsc.set(reading.tsc);
    reading
}

fn pair_with(begin: impl Fn(), good: impl Fn() -> bool) -> Now {
    let mut attempt = 0;
    loop {
        begin();
        let before = tsc();
        let cpu_nanos = sys::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
        let after = tsc();
        attempt += 1;
        if good() || attempt == ATTEMPTS {
            let cost = after.wrapping_sub(before);
            let tsc = before + cost / 2;
            return Now {
                tsc: after,
                pair: Some(Pair {
                    tsc,
                    cpu_nanos,
                    cost,
                }),
            };
        }
    }
}

/// Returns whether the clock notices by itself that the thread left its CPU.
#[inline]
pub fn notices() -> bool {
    KIND.load(Relaxed) == layout::CLOCK_RSEQ
}

/// Watches the thread from now on, and returns the counter. Only for a clock that notices.
pub(crate) fn watch() -> u64 {
    set_word(descriptor());
    tsc()
}

/// Returns whether so little time has passed since a reading of the counter that the thread will hardly have blocked: a
/// few microseconds.
pub fn is_recent(since: u64) -> bool {
    tsc().wrapping_sub(since) < TRUSTED_TICKS.load(Relaxed) / 4
}

/// Says that the thread may have blocked, for clocks that cannot tell by themselves.
#[inline]
pub fn may_have_blocked(state: &ThreadState) {
    state.last_tsc.set(0);
    state.switches_plus_one.set(0);
    state.waited.set(true);
}

/// Forgets what was known about this thread's past: after a fork, whose child begins with no CPU time.
pub fn forget(state: &ThreadState) {
    state.last_tsc.set(0);
    if notices() {
        set_word(0);
    }
}

/// Finds glibc's rseq area by its symbols, through a function like `dlsym`.
pub fn rseq_area(symbol: impl Fn(&core::ffi::CStr) -> *mut c_void) -> Option<RseqArea> {
    let offset = symbol(c"__rseq_offset").cast::<isize>();
    let size = symbol(c"__rseq_size").cast::<u32>();
    if offset.is_null() || size.is_null() {
        return None;
    }
    Some(RseqArea {
        // SAFETY: glibc exports it as a constant ptrdiff_t.
        offset: unsafe { *offset },
        // SAFETY: glibc exports it as a constant unsigned int.
        size: unsafe { *size },
    })
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    /// Returns whether the pointer is found to fall where sleeps show this, and the last again and again, and how many were tried.
    fn tried(shown: &[Slept]) -> (bool, usize) {
        let count = Cell::new(0);
        let found = falls(|_| {
            let number = count.replace(count.get() + 1);
            shown[number.min(shown.len() - 1)]
        });
        (found, count.get())
    }

    #[test]
    fn sleeps_that_were_over_at_once_tell_nothing_of_the_clock() {
        use Slept::{Fell, NotAtAll, Stood};
        assert_eq!(tried(&[Fell]), (true, 3));
        assert_eq!(tried(&[NotAtAll, Fell, NotAtAll, Fell]), (true, 5));
        assert_eq!(tried(&[NotAtAll, NotAtAll, NotAtAll, Fell]), (true, 6));
        assert_eq!(tried(&[Fell, Fell, Stood]), (false, 3));
        assert!(!is_undecided());
        assert_eq!(tried(&[NotAtAll]), (false, 20));
        assert!(is_undecided());
    }
}
