//! Streaks: sections of few locks, one after the other and nothing else, which are counted in place of being recorded one by one.
//!
//! Programs that poll lock what they look at, see that nothing has changed and go on, up to tens of millions of times a second; and mostly
//! it is a handful of mutexes that a thread does so with, in turn. Reading the counter takes most of the time that it takes to
//! record such a section. So where sections follow each other quickly it is read for one in seven of them, see [`Repetition`].
//!
//! What a streak holds is found in the journal alone: each mutex of it has a record that says what its sections are, and behind it one with the counts,
//! which is changed by one instruction at a time. A signal handler that records something moves the cursor, which ends the streak; an
//! instruction that counts after that still tells what its thread did.

use core::arch::asm;
use core::cell::Cell;
use core::sync::atomic::Ordering;

use foretrace_trace::journal::layout::{
    Kind, OUTCOME_SUCCESS, RECORD_BYTES, REPETITIONS_RECORDED, Repetition, SECTION_BITS, Section,
    pack_tail, release_of,
};

use crate::buffer::{STEP, fill};
use crate::chunk::LARGEST_CHUNK_BYTES;
use crate::clock;
use crate::section::record_at;
use crate::state::ThreadState;

/// As many mutexes, or places where they are locked, take part in a streak; each further one begins another.
const MOST_MEMBERS: usize = 4;

/// How many ticks lie between sections that follow each other quickly, at most: some microseconds.
const QUICK: u64 = 1 << 13;

/// How many ticks a section holds its mutex at most that is one of few in turn: less than half a microsecond. Of longer ones it is told when each was.
const SHORT: u64 = 1 << 10;

/// How many ticks a streak of several mutexes lasts at most, since nobody knows in it when each was locked: about a tenth of a millisecond.
const LONGEST: u64 = 1 << 18;

/// What is recorded between the sections of those that otherwise follow each other quickly counts as so many that do not.
const INTERRUPTION: u32 = 8;

/// After one that is unlike those before, so many are not compared. With the next one, which is, that is no multiple of two, three or four: of so few that take
/// turns, another one is compared each time.
const UNLIKE: u32 = 22;

/// Sections that follow each other quickly are believed to go on doing so for as many of others, at most.
const MOST_CREDIT: u32 = 2 * REPETITIONS_RECORDED;

/// What a thread's present streak is, and which sections it did last.
#[derive(Debug)]
pub(crate) struct Streak {
    /// Where the cursor stands while nothing else is recorded.
    end: Cell<u64>,
    /// The first record of it.
    start: Cell<u64>,
    /// The counts of the section of it that was done last, or has begun.
    counts: Cell<u64>,
    /// Of the sections that the thread did last, each once: a number of 16 bits that tells most of them apart; 0 for none.
    marks: Cell<u64>,
    /// Where the latest record of each of these is in the chunk, in records from its beginning. Those from `start` on are counted.
    places: Cell<u64>,
    /// The counter when it was last read for a section.
    latest: Cell<u64>,
    /// How many were counted, of this and earlier streaks.
    counted: Cell<u32>,
    /// How many of them until the counter was last read.
    timed: Cell<u32>,
    /// When so many were counted, the next one is recorded, and the counter read at its ends, before it is counted.
    due: Cell<u32>,
    /// How many more sections were like one of the few before, and followed it quickly, than were not.
    credit: Cell<u32>,
    /// How many sections more are recorded without being compared.
    unlike: Cell<u32>,
}

/// The bits of a mark, and of a place.
const LANE: u32 = u64::BITS / MOST_MEMBERS as u32;

/// A chunk has no more records than a place can tell.
const _: () = assert!(LARGEST_CHUNK_BYTES / RECORD_BYTES < 1 << LANE);

/// One in each lane.
const ONES: u64 = u64::MAX / ((1 << LANE) - 1);

/// A section that a thread has just done.
#[derive(Clone, Copy)]
pub(crate) struct Done {
    /// The record of its acquisition, the last one.
    pub at: u64,
    /// The counter at its release.
    pub tsc: u64,
    /// For how long it was held, and where it was given up.
    pub section: Section,
    /// The words of its record.
    pub words: (u64, u64),
    /// Whether nothing was recorded between the section before and this one.
    pub follows: bool,
    /// How many equal ones came right before.
    pub times: u32,
}

impl Streak {
    /// Forgets it: the records are elsewhere now.
    pub fn forget(&self) {
        self.end.set(0);
        self.start.set(0);
        self.counts.set(0);
        self.marks.set(0);
    }

    /// Forgets also how quickly sections follow each other.
    pub fn begin_anew(&self) {
        self.forget();
        self.credit.set(0);
    }

    /// Believes that sections will follow each other quickly.
    pub fn expect_more(&self) {
        self.credit.set(MOST_CREDIT);
    }

    /// Returns a number that changes with each section that is counted.
    pub fn counted(&self) -> u32 {
        self.counted.get()
    }

    /// Returns in which lane the section is that begins so, and its latest record.
    #[inline]
    fn find(&self, chunk: u64, object: u64, tail: u64) -> Option<(u32, u64)> {
        let others = self.marks.get() ^ (mark(object, tail) * ONES);
        // The lowest of these bits is in the lowest lane that is zero.
        let zeros = others.wrapping_sub(ONES) & !others & (ONES << (LANE - 1));
        if zeros == 0 {
            return None;
        }
        let lane = zeros.trailing_zeros() / LANE * LANE;
        let place = self.places.get() >> lane & ((1 << LANE) - 1);
        let at = chunk + place * STEP;
        let record = record_at(at);
        let is_same = record.tail.load(Ordering::Relaxed) >> 8 == tail >> 8
            && is_of(record.object.load(Ordering::Relaxed), object);
        is_same.then_some((lane, at))
    }

    /// Notes the latest record of a section: in the lane that it has, or in place of the one that was noted first.
    #[inline]
    fn remember(&self, state: &ThreadState, known: Option<(u32, u64)>, done: &Done) {
        let chunk = state.chunk.get();
        let offset = done.at.wrapping_sub(chunk);
        if offset >= state.end.get().wrapping_sub(chunk) {
            // A signal handler took the next chunk meanwhile.
            return;
        }
        let place = offset / STEP;
        let places = self.places.get();
        if let Some((lane, _)) = known {
            let others = places & !(((1 << LANE) - 1) << lane);
            self.places.set(others | place << lane);
        } else {
            let mark = mark(done.object(), done.words.1);
            self.marks.set(self.marks.get() << LANE | mark);
            self.places.set(places << LANE | place);
        }
    }

    /// Returns whether a section at a moment comes soon after the one before.
    #[inline]
    fn follows_quickly(&self, tsc: u64) -> bool {
        let untimed = self.counted.get().wrapping_sub(self.timed.get());
        tsc.wrapping_sub(self.latest.get()) <= QUICK * (u64::from(untimed) + 1)
    }

    /// Returns whether it would hold too much time if it had sections of several mutexes until a moment.
    fn lasts_too_long(&self, tsc: u64) -> bool {
        let start = self.start.get();
        if start == 0 {
            return false;
        }
        let began = record_at(start).tsc.load(Ordering::Relaxed);
        tsc.wrapping_sub(began) > LONGEST
    }

    /// Returns whether a section was done right behind those of the streak, and not within one of them.
    fn goes_on(&self, done: &Done) -> bool {
        self.counts(done.at)
            .is_some_and(|counts| !is_acquired(counts))
    }

    /// Returns the counts of the section that was counted last or has begun, if nothing was recorded since.
    #[inline]
    fn counts(&self, cursor: u64) -> Option<u64> {
        let counts = self.counts.get();
        (self.end.get() == cursor && counts != 0).then_some(counts)
    }
}

impl Done {
    fn object(&self) -> u64 {
        self.words.0 & ((1 << SECTION_BITS) - 1)
    }

    fn acquisition(&self) -> Option<Kind> {
        Kind::from_byte((self.words.1 >> 8) as u8)
    }

    /// Returns whether its lock was waited for, where it was not free, for as long as that takes.
    fn is_lock(&self) -> bool {
        matches!(
            self.acquisition(),
            Some(Kind::MutexLock | Kind::ReadLock | Kind::WriteLock)
        )
    }

    /// Returns whether any number of sections like it may be told as one event.
    fn has_one_event(&self) -> bool {
        self.acquisition().and_then(release_of) == Some(Kind::MutexUnlock)
    }
}

/// Returns a number of 16 bits, not 0, that tells most sections apart.
#[inline]
fn mark(object: u64, tail: u64) -> u64 {
    let both = object.wrapping_add(tail >> 8);
    both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - LANE) | 1
}

/// Notes that a section began which is counted, without recording it. Returns whether it did: not where that is due, or the section is none of the
/// thread's streak.
///
/// Where it is another one than before, the counter is read: in between, the thread may have done what all this was about.
#[inline]
pub(crate) fn count_acquisition(state: &ThreadState, kind: Kind, object: u64, site: u64) -> bool {
    let streak = &state.streak;
    let counted = streak.counted.get();
    if counted == streak.due.get() {
        return false;
    }
    let Some(before) = streak.counts(state.cursor.get()) else {
        return false;
    };
    // What is locked within another section is recorded.
    if is_acquired(before) {
        return false;
    }
    let tail = section_tail(pack_tail(kind, OUTCOME_SUCCESS, site));
    let found = streak.find(state.chunk.get(), object, tail);
    let Some((_, at)) = found.filter(|&(_, at)| at >= streak.start.get()) else {
        return false;
    };
    let counts = at + STEP;
    if counts == before {
        if !clock::undisturbed() {
            return false;
        }
    } else {
        let tsc = clock::tsc();
        if !clock::undisturbed() || !streak.follows_quickly(tsc) {
            streak.due.set(counted);
            return false;
        }
        streak.latest.set(tsc);
        streak.timed.set(counted);
        record_at(counts).tsc.store(tsc, Ordering::Relaxed);
        streak.counts.set(counts);
    }
    add_to_tail(counts, Repetition::ACQUIRED);
    true
}

/// Counts the section whose acquisition was noted last. Returns its counts; nothing where this is not its release.
#[inline]
pub(crate) fn count_release(
    state: &ThreadState,
    kind: Kind,
    object: u64,
    site: u64,
) -> Option<u64> {
    let streak = &state.streak;
    let counts = streak.counts(state.cursor.get())?;
    let record = record_at(counts - STEP);
    let word = record.object.load(Ordering::Relaxed);
    let acquired_at = record.tail.load(Ordering::Relaxed) >> 16;
    let distance = word.cast_signed() >> SECTION_BITS;
    if !is_acquired(counts)
        || !is_counted(kind)
        || !is_of(word, object)
        || acquired_at.wrapping_add_signed(distance) != site
        || !clock::undisturbed()
    {
        return None;
    }
    add_to_tail(counts, Repetition::RELEASED);
    streak.counted.set(streak.counted.get().wrapping_add(1));
    Some(counts)
}

/// Counts a section that was done just now, if it is one of many. Returns its counts; nothing where it is to be recorded, or there is no room.
#[inline]
pub(crate) fn count(state: &ThreadState, cursor: u64, done: &Done) -> Option<u64> {
    let streak = &state.streak;
    let unlike = streak.unlike.get();
    if unlike > 0 && done.times <= REPETITIONS_RECORDED {
        streak.unlike.set(unlike - 1);
        streak.latest.set(done.tsc);
        return None;
    }
    look_at(state, cursor, done)
}

#[inline(never)]
fn look_at(state: &ThreadState, cursor: u64, done: &Done) -> Option<u64> {
    let streak = &state.streak;
    let is_quick = streak.follows_quickly(done.tsc);
    streak.latest.set(done.tsc);
    let known = streak.find(state.chunk.get(), done.object(), done.words.1);
    let has_words = |at: u64| record_at(at).object.load(Ordering::Relaxed) == done.words.0;
    let alike = known.filter(|&(_, at)| has_words(at));
    let untimed = streak.counted.get().wrapping_sub(streak.timed.get());
    let credit = streak.credit.get();
    let is_short = u64::from(done.section.held) <= SHORT;
    let credit = if alike.is_some() && is_quick && is_short && done.follows {
        (credit + 1 + untimed).min(MOST_CREDIT)
    } else {
        credit.saturating_sub(INTERRUPTION)
    };
    streak.credit.set(credit);
    streak.timed.set(streak.counted.get());
    streak.due.set(streak.counted.get());
    // Of tries it is told that they are tries, unless they are very many.
    let is_many = credit >= REPETITIONS_RECORDED && is_quick && is_short && done.is_lock();
    if (is_many || done.times > REPETITIONS_RECORDED)
        && let Some(counts) = count_timed(state, cursor, (alike, is_quick), done)
    {
        let untimed = if is_quick {
            Repetition::MOST_UNTIMED
        } else {
            0
        };
        streak.due.set(streak.counted.get().wrapping_add(untimed));
        return Some(counts);
    }
    if credit == 0 {
        streak.unlike.set(UNLIKE);
    }
    streak.remember(state, known, done);
    None
}

/// Counts a section: to those like it, where there are any in the streak.
fn count_timed(
    state: &ThreadState,
    cursor: u64,
    (alike, is_quick): (Option<(u32, u64)>, bool),
    done: &Done,
) -> Option<u64> {
    let streak = &state.streak;
    // Of sections of several mutexes all follow quickly, and together they do not last long.
    let fits = is_quick && !streak.lasts_too_long(done.tsc);
    let counts = add(state, cursor, (alike, fits), done)
        .or_else(|| begin(state, cursor, (alike, fits), done))?;
    let counted = streak.counted.get().wrapping_add(1);
    streak.counted.set(counted);
    streak.timed.set(counted);
    streak.counts.set(counts);
    Some(counts)
}

/// Counts a section to those like it that the streak has, if there are any and, beside others, it fits; and takes its record back.
fn add(
    state: &ThreadState,
    cursor: u64,
    (alike, fits): (Option<(u32, u64)>, bool),
    done: &Done,
) -> Option<u64> {
    let streak = &state.streak;
    let (_, at) = alike.filter(|&(_, at)| at >= streak.start.get() && streak.goes_on(done))?;
    let has_others = streak.end.get() - streak.start.get() > 2 * STEP;
    if (has_others || !done.has_one_event()) && !fits {
        return None;
    }
    let counts = record_at(at + STEP);
    let relaxed = Ordering::Relaxed;
    let mut held = counts.object.load(relaxed);
    let mut tail = counts.tail.load(relaxed);
    if Repetition::timed(tail) == Repetition::MOST_TIMED {
        // What was so far counts for half as much from now on.
        held /= 2;
        tail -= Repetition::TIMED * (Repetition::MOST_TIMED / 2 + 1);
    }
    counts
        .object
        .store(held + u64::from(done.section.held), relaxed);
    counts
        .tail
        .store(tail + Repetition::COUNTED + Repetition::TIMED, relaxed);
    counts.tsc.store(done.tsc, relaxed);
    record_at(done.at)
        .tail
        .store(Repetition::NOTHING, Ordering::Release);
    // Where a signal handler recorded behind it, the place is left to nobody.
    state.move_cursor(cursor, done.at);
    state.repeated.end.set(done.at);
    Some(at + STEP)
}

/// Makes the record of a section the first of a repetition, whose counts come behind; it joins those of the streak where it fits.
fn begin(
    state: &ThreadState,
    cursor: u64,
    (alike, fits): (Option<(u32, u64)>, bool),
    done: &Done,
) -> Option<u64> {
    let streak = &state.streak;
    let end = cursor + STEP;
    if end > state.end.get() || !state.move_cursor(cursor, end) {
        return None;
    }
    let members = (streak.end.get() - streak.start.get()) / (2 * STEP);
    let joins = fits && streak.goes_on(done) && members < MOST_MEMBERS as u64;
    let joined = if joins { Repetition::JOINED } else { 0 };
    let tail = Repetition::tail(1) + Repetition::TIMED + joined;
    fill(cursor, done.tsc, u64::from(done.section.held), tail);
    let record = record_at(done.at);
    record.object.store(done.words.0, Ordering::Relaxed);
    let tail = done.words.1 & !0xff | Kind::Repetition as u64;
    record.tail.store(tail, Ordering::Release);
    if !joins {
        streak.start.set(done.at);
    }
    streak.end.set(end);
    streak.remember(state, alike, done);
    state.repeated.end.set(end);
    Some(cursor)
}

/// Takes the latest one out of those counted again. Returns the last eight bytes of its acquisition.
pub(crate) fn uncount(counts: u64) -> u64 {
    add_to_tail(counts, Repetition::COUNTED.wrapping_neg());
    let tail = record_at(counts - STEP).tail.load(Ordering::Relaxed);
    tail & !0xffff | (tail >> 8) & 0xff
}

/// Returns the last eight bytes of the section that an acquisition with these begins.
#[inline]
pub(crate) fn section_tail(acquisition: u64) -> u64 {
    acquisition & !0xffff | (acquisition & 0xff) << 8 | Kind::Section as u64
}

/// Returns whether sections are counted that this release ends.
#[inline]
pub(crate) fn is_counted(release: Kind) -> bool {
    matches!(release, Kind::MutexUnlock | Kind::RwUnlock)
}

/// Returns whether a section's word names an object.
#[inline]
fn is_of(word: u64, object: u64) -> bool {
    (word ^ object) << (u64::BITS - SECTION_BITS) == 0
}

#[inline]
fn is_acquired(counts: u64) -> bool {
    record_at(counts).tail.load(Ordering::Relaxed) & Repetition::ACQUIRED != 0
}

/// Adds to the last eight bytes of a record by one instruction.
#[inline]
fn add_to_tail(at: u64, number: u64) {
    // SAFETY: a record of the thread's own chunk, which nobody else writes to.
    unsafe {
        asm!(
            "add qword ptr [{tail}], {number}",
            tail = in(reg) record_at(at).tail.as_ptr(),
            number = in(reg) number,
            options(nostack),
        );
    }
}
