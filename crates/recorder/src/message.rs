//! Calls of a library that passes messages: a call, its return, and words that belong to them.
//!
//! What the library itself does meanwhile is not the program's: between [`enter`] and [`leave`] hooks record nothing for
//! the thread, by the same means as in a child of `vfork`. A call that may block is recorded before it is made; one that
//! does not, after it, with the counter from before.

use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_trace::journal::layout::{Kind, OUTCOME_BUSY, OUTCOME_PENDING, Record, pack_tail};

use crate::buffer::{self, STEP, Slot, fill};
use crate::state::ThreadState;
use crate::{clock, looks, process, stack, vfork};

/// Between two tries of a burst lies no more than so many ticks of the program's own: about two microseconds.
const BURST_TICKS: u64 = 6_000;

/// Where no more ticks lie from the end of a try to the next one's begin, about 30 nanoseconds, the program only looks, as far as that
/// tells. Else it works, and looks in passing.
const LOOP_TICKS: u64 = 90;

/// So many of them are the hook's.
const HOOK_TICKS: u64 = 30;

/// A look that takes longer was interrupted: about 300 nanoseconds.
const MOST_LOOK_TICKS: u64 = 900;

/// So many of a look's ticks are those of reading the counter.
const READ_TICKS: u64 = 20;

/// After so many tries in a row that found nothing, others run: a thread that does nothing but look keeps them from
/// sending what it looks for.
const IDLE_LOOKS: u16 = 32;

/// Those of a thread that works in between: it shall not change places with others all the time.
const BUSY_LOOKS: u16 = 128;

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

/// Makes a call that only tries, and must not let others run at each of many.
pub fn trying<T>(call: impl FnOnce() -> T) -> T {
    let state = ThreadState::current();
    state.trying.set(true);
    let before = clock::tsc();
    let result = call();
    let look = clock::tsc().wrapping_sub(before).min(MOST_LOOK_TICKS);
    state.look.set(look.saturating_sub(READ_TICKS) as u16);
    state.trying.set(false);
    result
}

/// Returns whether the calling thread waits in the library, so that others should run.
#[inline]
pub fn is_waiting() -> bool {
    is_inside() && !ThreadState::current().trying.get()
}

/// Records a call that began at a counter's value.
pub fn put_call(tsc: u64, function: u16, site: u64, words: &[u64]) {
    let state = ThreadState::current();
    end_row(state, what(function, site));
    put_pending(state, tsc, function, site, words);
}

/// Notes with what a row of tries ends, if the thread has one behind it.
fn end_row(state: &ThreadState, next: u64) {
    if let Some(row) = row_of_tries(state) {
        let tried = state.tried.get();
        let looks = record(row + STEP).object.load(Ordering::Relaxed);
        looks::note_end(tried, looks, next == tried);
    }
}

/// Returns the function and where it was called as one word.
fn what(function: u16, site: u64) -> u64 {
    site << 16 | u64::from(function)
}

/// Returns the return of the thread's row of tries, if it did nothing else since.
fn row_of_tries(state: &ThreadState) -> Option<u64> {
    let last = state.tries.get();
    (last != 0 && last + 2 * STEP == state.cursor.get()).then_some(last)
}

/// Records a call behind a row of tries that has been noted, if there is one.
fn put_pending(state: &ThreadState, tsc: u64, function: u16, site: u64, words: &[u64]) {
    state.looks.set(0);
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

/// Records a try that found nothing; or, where it is one more of a burst, counts it. Returns whether others should run.
pub fn put_failed_try(tsc: u64, function: u16, site: u64, words: &[u64]) -> bool {
    let state = ThreadState::current();
    let what = what(function, site);
    let apart = tsc.wrapping_sub(state.last_try.get());
    // Looks in passing take their time also where nobody has to be waited for.
    let (share, work) = if apart > LOOP_TICKS || looks::are_in_passing(what) {
        (
            1,
            apart.saturating_sub(HOOK_TICKS) + u64::from(state.look.get()),
        )
    } else {
        (BUSY_LOOKS / IDLE_LOOKS, 0)
    };
    let looks = state.looks.get() + share;
    let row = row_of_tries(state).filter(|_| state.tried.get() == what && apart < BURST_TICKS);
    if let Some(row) = row {
        count(state, row, work);
    } else {
        if what != state.tried.get() {
            end_row(state, what);
        }
        put_pending(state, tsc, function, site, words);
        begin_tries(state, function);
        state.tried.set(what);
    }
    state.last_try.set(clock::tsc());
    let is_enough = looks >= BUSY_LOOKS;
    state.looks.set(if is_enough { 0 } else { looks });
    is_enough
}

/// Notes that others may have run since the last try: that was waiting, too, and not the program's work.
pub fn let_others_run() {
    let state = ThreadState::current();
    if let Some(row) = row_of_tries(state) {
        come_back(state, row);
    }
    state.last_try.set(clock::tsc());
}

/// Records the return of the first try: the CPU time, the return, and the count behind it.
fn begin_tries(state: &ThreadState, function: u16) {
    state.tries.set(0);
    buffer::synchronize(state);
    let Some(at) = buffer::room(state, 2) else {
        process::lose();
        return;
    };
    buffer::fill(at + STEP, 0, 1, pack_tail(Kind::Words, 0, 2));
    let tail = pack_tail(Kind::Return, OUTCOME_BUSY, Kind::Mpi as u64);
    fill(at, clock::tsc(), u64::from(function), tail);
    state.tries.set(at);
}

/// Counts one more try into the return at a place, and the work before it.
fn count(state: &ThreadState, at: u64, work: u64) {
    come_back(state, at);
    let words = record(at + STEP);
    let add = |word: &AtomicU64, more| {
        word.store(word.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    };
    add(&words.object, 1);
    if work > 0 {
        add(&words.tsc, work);
    }
}

/// Returns a record that this thread made, in the chunk that it holds.
fn record(at: u64) -> &'static Record {
    // SAFETY: its chunk is mapped for as long as the thread holds it.
    unsafe { &*(at as *const Record) }
}

/// Moves the return at a place to now. Before it stands the CPU time, which is brought up to date where the thread was
/// disturbed.
fn come_back(state: &ThreadState, at: u64) {
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
