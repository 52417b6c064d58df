//! The buffers: one chunk of the journal for each thread, and records in it.
//!
//! A record is made in an order that no signal and no kill can spoil: first its space is taken by one instruction,
//! then it is filled, its kind last. A signal handler that records in between takes the next space; a kill in between
//! leaves a hole.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_trace::journal::layout::{Kind, OUTCOME_SUCCESS, RECORD_BYTES, Record, pack_tail};

use crate::chunk::make_room;
use crate::clock::{self, Pair};
use crate::state::ThreadState;
use crate::{file, late, maps, stack, sys, turns};

/// A record as the cursor counts it.
pub(crate) const STEP: u64 = RECORD_BYTES as u64;

/// How often counter and clock are stamped, in ticks: about a tenth of a second.
const STAMP_TICKS: u64 = 1 << 28;

/// No system call that was not disturbed takes more ticks.
const CREDIBLE_COST: u64 = 1 << 15;

/// The counter at the latest stamp.
static LAST_STAMP: OwnLine = OwnLine(AtomicU64::new(0));

/// A word that is written now and then, apart from those that every event reads.
#[repr(align(64))]
struct OwnLine(AtomicU64);

/// Where a record was put, for finishing it later; nowhere if there was no room.
#[derive(Clone, Copy, Debug)]
pub struct Slot(pub(crate) u64);

impl Slot {
    /// Returns the counter of a record made just now; 0 if there was no room.
    #[inline]
    pub fn counter(self) -> u64 {
        if self.0 == 0 {
            return 0;
        }
        // SAFETY: a record that was made just now, in a chunk that its thread holds.
        let record = unsafe { &*(self.0 as *const Record) };
        record.tsc.load(Ordering::Relaxed)
    }

    /// Returns the slot of the record at an address.
    pub(crate) fn at(address: u64) -> Self {
        Self(address)
    }

    /// Returns where the record is; 0 for nowhere.
    pub(crate) fn address(self) -> u64 {
        self.0
    }

    /// Changes the outcome of a record that was made just now, with this counter, and whose call failed after all. Where a signal
    /// handler recorded so much meanwhile that the thread gave up the chunk, nothing is changed; see [`Late`](crate::Late).
    pub fn set_outcome(self, counter: u64, outcome: u8) {
        if self.0 == 0 || !late::is_held(self.0) {
            return;
        }
        // SAFETY: the slot is a record in a chunk that its thread still holds.
        let record = unsafe { &*(self.0 as *const Record) };
        if record.tsc.load(Ordering::Relaxed) != counter {
            return;
        }
        let tail = record.tail.load(Ordering::Relaxed);
        let cleared = tail & !(0xff << 8);
        record
            .tail
            .store(cleared | (u64::from(outcome) << 8), Ordering::Relaxed);
    }
}

/// Records a call on an object. The common path: a counter, a test, an addition, three stores.
#[inline]
pub fn record(kind: Kind, object: u64, outcome: u8, site: u64) -> Slot {
    let state = ThreadState::current();
    if stack::depth() != 0 {
        return record_with_callers(state, pack_tail(kind, outcome, site), object, None);
    }
    let tsc = clock::tsc();
    if clock::undisturbed()
        && let Some(slot) = record_undisturbed(state, tsc, object, pack_tail(kind, outcome, site))
    {
        return slot;
    }
    record_slowly(state, pack_tail(kind, outcome, site), object, None)
}

/// Records a call of a thread that was found undisturbed after the counter was read; `None` when the chunk is full.
#[inline]
pub(crate) fn record_undisturbed(
    state: &ThreadState,
    tsc: u64,
    object: u64,
    tail: u64,
) -> Option<Slot> {
    let at = state.take(STEP);
    if at + STEP > state.end.get() {
        return None;
    }
    fill(at, tsc, object, tail);
    Some(Slot(at))
}

/// Records a call with a second operand, and a third.
#[inline]
pub fn record_extended(
    kind: Kind,
    object: u64,
    outcome: u8,
    site: u64,
    operands: (u64, u64),
) -> Slot {
    let state = ThreadState::current();
    if stack::depth() != 0 {
        let tail = pack_tail(kind, outcome, site);
        return record_with_callers(state, tail, object, Some(operands));
    }
    let tsc = clock::tsc();
    if clock::undisturbed() {
        let at = state.take(2 * STEP);
        if at + 2 * STEP <= state.end.get() {
            fill_extension(at + STEP, operands);
            fill(at, tsc, object, pack_tail(kind, outcome, site));
            return Slot(at);
        }
    }
    let tail = pack_tail(kind, outcome, site);
    record_slowly(state, tail, object, Some(operands))
}

/// Counts one more of a thread's calls that come in bursts with nothing between: one record for all of a burst, with
/// their number as its second operand.
pub fn spun(kind: Kind, site: u64) {
    let state = ThreadState::current();
    let burst = state.burst.get();
    // Nothing was recorded since, so it is the latest record of the thread's chunk.
    if burst != 0 && burst + 2 * STEP == state.cursor.get() {
        // SAFETY: a record in the current chunk, with an extension.
        let extension = unsafe { &*((burst + STEP) as *const Record) };
        let count = extension.object.load(Ordering::Relaxed);
        extension.object.store(count + 1, Ordering::Relaxed);
        return;
    }
    let slot = record_extended(kind, 0, OUTCOME_SUCCESS, site, (1, 0));
    state.burst.set(slot.0);
}

/// Records that a call recorded as pending came back.
#[inline]
pub fn returned(kind: Kind, object: u64, outcome: u8) {
    clock::may_have_blocked(ThreadState::current());
    record(Kind::Return, object, outcome, kind as u64);
}

/// So far behind a record the memory is asked for what comes next. A release reads back what its acquisition wrote, and the C library's
/// unlock waits for all stores before it: either would wait for each new cache line else, which the program's own work has driven out.
const AHEAD: u64 = 192;

#[inline]
pub(crate) fn fill(at: u64, tsc: u64, object: u64, tail: u64) {
    fetch_to_write(at + AHEAD);
    // SAFETY: `at` was taken from this thread's chunk, is aligned to eight bytes and lies whole within it.
    let record = unsafe { &*(at as *const Record) };
    record.tsc.store(tsc, Ordering::Relaxed);
    record.object.store(object, Ordering::Relaxed);
    record.tail.store(tail, Ordering::Release);
}

/// Asks the memory for what is written soon; where there is none, nothing happens.
#[inline]
fn fetch_to_write(address: u64) {
    // SAFETY: a hint, which never faults. Processors that do not know it take it for no operation.
    unsafe {
        asm!("prefetchw byte ptr [{address}]", address = in(reg) address, options(nostack, preserves_flags, readonly));
    }
}

pub(crate) fn fill_extension(at: u64, (second, third): (u64, u64)) {
    fill(at, third, second, pack_tail(Kind::Extension, 0, 0));
}

/// Makes holes of the records from one address to another.
pub(crate) fn erase(start: u64, end: u64) {
    let mut at = start;
    while at < end {
        fill(at, 0, 0, 0);
        at += STEP;
    }
}

#[cold]
fn record_slowly(
    state: &ThreadState,
    tail: u64,
    object: u64,
    operands: Option<(u64, u64)>,
) -> Slot {
    if state.vforks.get() != 0 {
        return Slot(0);
    }
    record_at(state, now(state), (tail, object, operands), &[])
}

/// Records a call and where it was called from. Finding that out is counted as the recorder's own work.
#[inline(never)]
fn record_with_callers(
    state: &ThreadState,
    tail: u64,
    object: u64,
    operands: Option<(u64, u64)>,
) -> Slot {
    if state.vforks.get() != 0 {
        return Slot(0);
    }
    let tsc = now(state);
    let mut callers = [0; stack::MOST_FRAMES];
    let mut found = 0;
    // A return has no site, and is not called from anywhere.
    if tail >> 16 != 0 && tail as u8 != Kind::Return as u8 {
        found = stack::walk(state, &mut callers[..stack::depth()]);
    }
    let slot = record_at(state, tsc, (tail, object, operands), &callers[..found]);
    if slot.0 != 0 && clock::undisturbed() {
        let spent = clock::tsc().wrapping_sub(tsc);
        put(state, Kind::Overhead, tsc, 0, spent);
    }
    slot
}

/// Puts a record and what belongs to it into one stretch of the chunk.
fn record_at(
    state: &ThreadState,
    tsc: u64,
    (tail, object, operands): (u64, u64, Option<(u64, u64)>),
    callers: &[u64],
) -> Slot {
    let own = if operands.is_some() { 2 } else { 1 };
    let records = own + callers.len().div_ceil(2) as u64;
    let Some(at) = room(state, records) else {
        if let Some(header) = file::header() {
            header.lost_events.fetch_add(1, Ordering::Relaxed);
        }
        return Slot(0);
    };
    if let Some(operands) = operands {
        fill_extension(at + STEP, operands);
    }
    for (index, pair) in callers.chunks(2).enumerate() {
        let place = at + (own + index as u64) * STEP;
        let outer = pair.get(1).copied().unwrap_or(0);
        fill(place, outer, pair[0], pack_tail(Kind::Stack, 0, 0));
    }
    fill(at, tsc, object, tail);
    Slot(at)
}

/// Returns the counter, having recorded the CPU time with it if the thread was disturbed.
pub(crate) fn now(state: &ThreadState) -> u64 {
    let tsc = clock::tsc();
    if state.chunk.get() != 0 && clock::undisturbed() {
        return tsc;
    }
    // The first chunk is made before the clock is read, since making it takes time.
    if state.chunk.get() == 0 {
        make_room(state, STEP);
    }
    let tsc = synchronized(state);
    if tsc.wrapping_sub(LAST_STAMP.0.load(Ordering::Relaxed)) <= STAMP_TICKS {
        return tsc;
    }
    stamp(state);
    // That may have taken long enough to lose the CPU in.
    let tsc = clock::tsc();
    if clock::undisturbed() {
        return tsc;
    }
    synchronized(state)
}

/// Returns the counter, having recorded the CPU time with it.
fn synchronized(state: &ThreadState) -> u64 {
    let now = clock::synchronize(state);
    if let Some(pair) = now.pair {
        put_pair(state, pair);
    }
    now.tsc
}

/// Records the CPU time of a thread that was disturbed. Others ran then, or may have: its turn begins anew.
pub(crate) fn put_pair(state: &ThreadState, pair: Pair) {
    turns::begin_turn(state, &pair);
    state.read_at.set(pair.tsc);
    state.unread.set(false);
    if let Some(at) = room_between(state) {
        // A reading that was disturbed on every attempt says nothing of its cost.
        let cost = if pair.cost < CREDIBLE_COST {
            pair.cost
        } else {
            0
        };
        fill(at, pair.tsc, pair.cpu_nanos, pack_tail(Kind::Sync, 0, cost));
    }
}

/// Stores the two clocks of the moment, so that a reader knows the counter's rate also of a killed program.
fn stamp(state: &ThreadState) {
    let (tsc, monotonic) = clock::stamp();
    LAST_STAMP.0.store(tsc, Ordering::Relaxed);
    if let Some(at) = room_between(state) {
        fill(at, tsc, monotonic, pack_tail(Kind::Stamp, 0, 0));
    }
    maps::refresh(state);
}

/// Records the thread's CPU time, whether or not it was disturbed.
pub(crate) fn synchronize(state: &ThreadState) -> u64 {
    if state.chunk.get() == 0 {
        make_room(state, STEP);
    }
    clock::may_have_blocked(state);
    synchronized(state)
}

/// Records with a counter read before.
pub(crate) fn put(state: &ThreadState, kind: Kind, tsc: u64, object: u64, site: u64) {
    if let Some(at) = room(state, 1) {
        fill(at, tsc, object, pack_tail(kind, 0, site));
    }
}

/// Takes room for a record that is not of a call: what the thread does again and again, it goes on doing.
fn room_between(state: &ThreadState) -> Option<u64> {
    let at = room(state, 1)?;
    if state.repeated.end.get() == at {
        state.repeated.end.set(at + STEP);
    }
    Some(at)
}

pub(crate) fn room(state: &ThreadState, records: u64) -> Option<u64> {
    let bytes = records * STEP;
    loop {
        let at = state.take(bytes);
        if at + bytes <= state.end.get() {
            return Some(at);
        }
        if !make_room(state, bytes) {
            return None;
        }
    }
}

/// Records the CPU time since `before` as the recorder's own, and so many nanoseconds beside it. There must be room.
pub(crate) fn put_overhead(state: &ThreadState, before: u64, beside: u64) {
    let spent = sys::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID).saturating_sub(before) + beside;
    let at = state.take(STEP);
    if at + STEP <= state.end.get() {
        fill(at, clock::tsc(), spent, pack_tail(Kind::Overhead, 0, 0));
    }
}

/// Does work of the recorder's that takes long, and records the CPU time that it took.
pub(crate) fn as_overhead<T>(state: &ThreadState, work: impl FnOnce() -> T) -> T {
    if state.chunk.get() != 0 && state.cursor.get() + STEP > state.end.get() {
        make_room(state, STEP);
    }
    let before = sys::clock_nanos(libc::CLOCK_THREAD_CPUTIME_ID);
    let result = work();
    if state.chunk.get() != 0 {
        put_overhead(state, before, 0);
    }
    result
}
