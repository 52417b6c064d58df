//! Calls of a library that passes messages: a call, its return, and words that belong to them.
//!
//! What the library itself does meanwhile is not the program's: between [`enter`] and [`leave`] hooks record nothing for
//! the thread, by the same means as in a child of `vfork`. A call that may block is recorded before it is made; one that
//! does not, after it, with the counter from before.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_trace::journal::layout::{Kind, OUTCOME_BUSY, OUTCOME_PENDING, Record, pack_tail};

use crate::buffer::{self, STEP, Slot, fill};
use crate::state::ThreadState;
use crate::{clock, cost, file, looks, process, stack, vfork};

/// Between two tries of a burst lies no more than so many ticks of the program's own: about two microseconds.
const BURST_TICKS: u64 = 6_000;

/// Where no more ticks lie from the end of a try to the next one's begin, about 30 nanoseconds, the program only looks, as far as that
/// tells. Else it works, and looks in passing.
const LOOP_TICKS: u64 = 90;

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
    let result = call();
    state.trying.set(false);
    result
}

/// Measures what recording takes, by a look and a call that do nothing. What they record is taken back.
pub fn measure(look: impl Fn(), call: impl Fn()) {
    if let Some(header) = file::header() {
        let state = ThreadState::current();
        let measure = || cost::measure_messages(state, header, &look, &call);
        buffer::as_overhead(state, measure);
    }
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
    // Who has just got its CPU back finds the caches full of the others' data.
    let others_ran = !clock::undisturbed();
    let tsc = buffer::now(state);
    let tail = pack_tail(Kind::Return, outcome, Kind::Mpi as u64);
    put(state, (tsc, u64::from(function), tail), words, &[]);
    if others_ran && clock::undisturbed() {
        let spent = clock::tsc().wrapping_sub(tsc);
        buffer::put(state, Kind::Overhead, tsc, 0, spent);
    }
}

/// Records a try that found nothing; or, where it is one more of a burst, counts it. Returns whether others should run.
pub fn put_failed_try(tsc: u64, function: u16, site: u64, words: &[u64]) -> bool {
    let state = ThreadState::current();
    let what = what(function, site);
    let apart = since(tsc, &state.last_try);
    // Looks in passing take their time also where nobody has to be waited for.
    let in_passing = apart > LOOP_TICKS || looks::are_in_passing(what);
    let share = if in_passing {
        1
    } else {
        BUSY_LOOKS / IDLE_LOOKS
    };
    let looks = state.looks.get() + share;
    let row = row_of_tries(state).filter(|_| state.tried.get() == what && apart < BURST_TICKS);
    let mut now = clock::tsc();
    if let Some(row) = row {
        let work = if in_passing { worked(state, apart) } else { 0 };
        note_look(state, now.wrapping_sub(tsc));
        now = count(state, row, now, work);
    } else {
        if what != state.tried.get() {
            end_row(state, what);
        }
        put_pending(state, tsc, function, site, words);
        begin_tries(state, function);
        if state.tried.replace(what) != what {
            state.usual_look.set(0);
        }
        now = clock::tsc();
    }
    state.last_try.set(now as u32);
    let is_enough = looks >= BUSY_LOOKS;
    state.looks.set(if is_enough { 0 } else { looks });
    is_enough
}

/// Notes how long a look took together with its hook: what a quarter of them are quicker than is kept, about.
fn note_look(state: &ThreadState, ticks: u64) {
    let usual = u64::from(state.usual_look.get());
    let step = usual / 64 + 1;
    let usual = match usual {
        0 => ticks,
        _ if ticks > usual => usual + step,
        _ => usual.saturating_sub(3 * step),
    };
    state.usual_look.set(usual.min(BURST_TICKS) as u16);
}

/// Returns how many ticks the thread worked from the begin of a look to that of the next one, so many ticks after the first was over: the look,
/// and what the thread did then.
///
/// A look is taken to last as long as the quicker ones do. What others last longer the program would not wait for: ranks that take turns on one CPU
/// share its caches, so that more has to be fetched from memory than on a CPU of one's own; and hooks keep the processor from working ahead
/// meanwhile. It shows in the looks, since the counter is read before what precedes it is over.
///
/// What hooks take is known from looks that do nothing.
fn worked(state: &ThreadState, apart: u64) -> u64 {
    (apart + u64::from(state.usual_look.get())).saturating_sub(cost::of_look())
}

/// Returns the ticks since a time of which the counter's lower half is known, up to 2^32 of them.
fn since(tsc: u64, lower: &Cell<u32>) -> u64 {
    u64::from((tsc as u32).wrapping_sub(lower.get()))
}

/// Notes that others may have run since the last try: that was waiting, too, and not the program's work.
pub fn let_others_run() {
    let state = ThreadState::current();
    let now = clock::tsc();
    let now = row_of_tries(state).map_or(now, |row| come_back(state, row, now));
    state.last_try.set(now as u32);
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

/// Counts one more try into the return at a place, and the work before it. Returns the counter when it came back.
fn count(state: &ThreadState, at: u64, now: u64, work: u64) -> u64 {
    let now = come_back(state, at, now);
    let words = record(at + STEP);
    let add = |word: &AtomicU64, more| {
        word.store(word.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    };
    add(&words.object, 1);
    if work > 0 {
        add(&words.tsc, work);
    }
    now
}

/// Returns a record that this thread made, in the chunk that it holds.
pub(crate) fn record(at: u64) -> &'static Record {
    // SAFETY: its chunk is mapped for as long as the thread holds it.
    unsafe { &*(at as *const Record) }
}

/// Moves the return at a place to now, and returns when that is. Before it stands the CPU time, which is brought up to date where the
/// thread was disturbed.
fn come_back(state: &ThreadState, at: u64, mut now: u64) -> u64 {
    let relaxed = Ordering::Relaxed;
    if !clock::undisturbed() {
        let sync = record(at - STEP);
        if sync.tail.load(relaxed) as u8 == Kind::Sync as u8
            && let Some(pair) = clock::synchronize(state).pair
        {
            sync.object.store(pair.cpu_nanos, relaxed);
            sync.tsc.store(pair.tsc, relaxed);
        }
        now = clock::tsc();
    }
    record(at).tsc.store(now, relaxed);
    now
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
