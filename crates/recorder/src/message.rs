//! Calls of a library that passes messages: a call, its return, and words that belong to them.
//!
//! What the library itself does meanwhile is not the program's: between [`enter`] and [`leave`] hooks record nothing for
//! the thread, by the same means as in a child of `vfork`. A call that may block is recorded before it is made; one that
//! does not, after it, with the counter from before.

use core::sync::atomic::Ordering;

use foretrace_trace::journal::layout::{Kind, OUTCOME_BUSY, OUTCOME_PENDING, Record, pack_tail};

use crate::buffer::{self, STEP, Slot, fill};
use crate::state::ThreadState;
use crate::{clock, process, stack, vfork};

/// Between two tries of a burst lies no more than so many ticks of the program's own: about two microseconds.
const BURST_TICKS: u64 = 6_000;

/// Words beyond so many need not lie in one chunk with their record.
const WORDS_TOGETHER: usize = 32;

/// Says that the library begins to work for the calling thread. May be nested.
pub fn enter() {
    vfork::enter(Slot(0));
}

/// Says that the library is done.
pub fn leave() {
    vfork::leave();
}

/// Returns whether a library works for the calling thread.
#[inline]
pub fn is_inside() -> bool {
    ThreadState::current().vforks.get() != 0
}

/// Makes the calling thread one of the library's own, which records nothing from its beginning to its end.
pub fn stay_inside() {
    enter();
}

/// Returns the counter, at which the thread's CPU time is known.
#[inline]
pub fn begin() -> u64 {
    let state = ThreadState::current();
    buffer::now(state)
}

/// Records a call that began at a counter's value.
pub fn put_call(tsc: u64, function: u16, site: u64, words: &[u64]) {
    let state = ThreadState::current();
    let mut callers = [0; stack::MOST_FRAMES];
    let found = match stack::depth() {
        0 => 0,
        depth => stack::walk(state, &mut callers[..depth]),
    };
    let callers = &callers[..found];
    let tail = pack_tail(Kind::Mpi, OUTCOME_PENDING, site);
    put(state, (tsc, u64::from(function), tail), words, callers);
    if found > 0 && clock::undisturbed() {
        let spent = clock::tsc().wrapping_sub(tsc);
        buffer::put(state, Kind::Overhead, tsc, 0, spent);
    }
}

/// Records that the call came back.
pub fn put_return(function: u16, outcome: u8, words: &[u64]) {
    let state = ThreadState::current();
    let tsc = buffer::now(state);
    let tail = pack_tail(Kind::Return, outcome, Kind::Mpi as u64);
    put(state, (tsc, u64::from(function), tail), words, &[]);
}

/// Records a try that found nothing; or, where it is one more of a burst, counts it. Returns whether it was one more.
pub fn put_failed_try(tsc: u64, function: u16, site: u64, words: &[u64]) -> bool {
    let state = ThreadState::current();
    let what = site << 16 | u64::from(function);
    let last = state.tries.get();
    let again = last != 0
        && last + 2 * STEP == state.cursor.get()
        && state.tried.get() == what
        && tsc.wrapping_sub(state.last_try.get()) < BURST_TICKS;
    if again {
        count(state, last);
    } else {
        put_call(tsc, function, site, words);
        begin_tries(state, function);
        state.tried.set(what);
    }
    state.last_try.set(clock::tsc());
    again
}

/// Records the return of the first try: the CPU time, the return, and the count behind it.
fn begin_tries(state: &ThreadState, function: u16) {
    state.tries.set(0);
    buffer::synchronize(state);
    let Some(at) = buffer::room(state, 2) else {
        process::lose();
        return;
    };
    buffer::fill(at + STEP, 0, 1, pack_tail(Kind::Words, 0, 1));
    let tail = pack_tail(Kind::Return, OUTCOME_BUSY, Kind::Mpi as u64);
    fill(at, clock::tsc(), u64::from(function), tail);
    state.tries.set(at);
}

/// Counts one more try into the return at a place. Before it stands the CPU time, which is brought up to date where the
/// thread was disturbed.
fn count(state: &ThreadState, at: u64) {
    let record = |at: u64| {
        // SAFETY: records that this thread made, in the chunk that it holds.
        unsafe { &*(at as *const Record) }
    };
    let relaxed = Ordering::Relaxed;
    if !clock::undisturbed() {
        let sync = record(at - STEP);
        if sync.tail.load(relaxed) as u8 == Kind::Sync as u8
            && let Some(pair) = clock::synchronize(state).pair
        {
            sync.object.store(pair.cpu_nanos, relaxed);
            sync.tsc.store(pair.tsc, relaxed);
        }
    }
    record(at).tsc.store(clock::tsc(), relaxed);
    let words = record(at + STEP);
    words.object.store(words.object.load(relaxed) + 1, relaxed);
}

/// Puts a record, its words and its callers into the chunk.
fn put(state: &ThreadState, (tsc, object, tail): (u64, u64, u64), words: &[u64], callers: &[u64]) {
    let (near, far) = words.split_at(words.len().min(WORDS_TOGETHER));
    let records = 1 + near.len().div_ceil(2) + callers.len().div_ceil(2);
    let Some(at) = buffer::room(state, records as u64) else {
        process::lose();
        return;
    };
    let mut place = at + STEP;
    let mut left = words.len();
    for pair in near.chunks(2) {
        fill_words(place, pair, left);
        left -= pair.len();
        place += STEP;
    }
    for pair in callers.chunks(2) {
        let outer = pair.get(1).copied().unwrap_or(0);
        fill(place, outer, pair[0], pack_tail(Kind::Stack, 0, 0));
        place += STEP;
    }
    fill(at, tsc, object, tail);
    for pair in far.chunks(2) {
        let Some(place) = buffer::room(state, 1) else {
            process::lose();
            return;
        };
        fill_words(place, pair, left);
        left -= pair.len();
    }
}

fn fill_words(at: u64, pair: &[u64], left: usize) {
    let second = pair.get(1).copied().unwrap_or(0);
    fill(at, second, pair[0], pack_tail(Kind::Words, 0, left as u64));
}
