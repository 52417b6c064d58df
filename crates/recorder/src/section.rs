//! Sections: a lock and its unlock in one record.
//!
//! Most locks are given up before their thread does anything else that is recorded. Then the unlock changes the
//! lock's record instead of making one, see [`Section`]. A program that does the same again and again, as those do
//! that poll, has it counted instead of written down, see [`Repetition`].
//!
//! All this happens only while the thread is undisturbed: a signal handler that records something comes behind, since
//! its first record is one of the CPU time.

use core::sync::atomic::Ordering;

use foretrace_trace::journal::layout::{
    Kind, OUTCOME_BUSY, OUTCOME_SUCCESS, REPETITIONS_RECORDED, Record, Repetition, SECTION_BITS,
    Section, acquisitions, pack_tail, section_tsc,
};

use crate::buffer::{self, STEP, Slot, fill};
use crate::state::ThreadState;
use crate::streak::{self, Done, section_tail};
use crate::{clock, late, stack, turns, unread};

/// Where a release was recorded, for the rare one that fails.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    at: u64,
    /// The counter at it.
    tsc: u64,
}

/// Set in [`Release`] when the release was recorded together with its acquisition.
const MERGED: u64 = 1;

/// Set in [`Release`] when it was counted into a repetition.
const COUNTED: u64 = 2;

impl Release {
    fn of(slot: Slot) -> Self {
        Self {
            at: slot.address(),
            tsc: slot.counter(),
        }
    }

    /// Says that the release is done, which may have let another thread take the CPU.
    #[inline]
    pub fn done(self) {
        unread::woke(self.tsc);
    }

    /// Records that the release failed after all: what it was recorded as is taken back.
    #[cold]
    pub fn failed(self, kind: Kind, object: u64, site: u64, outcome: u8) {
        let at = self.at & !(MERGED | COUNTED);
        let state = ThreadState::current();
        if !late::is_held(at) {
            // A signal handler recorded very much meanwhile: what the release was recorded as is out of reach.
            return;
        }
        if self.at & COUNTED != 0 {
            let tail = streak::uncount(at);
            if let Some(acquisition) = Kind::from_byte(tail as u8) {
                buffer::record(acquisition, object, OUTCOME_SUCCESS, tail >> 16);
            }
        } else if self.at & MERGED != 0 {
            divide(at);
        } else {
            Slot::at(at).set_outcome(self.tsc, outcome);
            return;
        }
        state.repeated.forget();
        buffer::record(kind, object, outcome, site);
    }
}

/// Makes an acquisition of a section again.
fn divide(at: u64) {
    let record = record_at(at);
    let relaxed = Ordering::Relaxed;
    let tail = record.tail.load(relaxed);
    record
        .tail
        .store(tail & !0xffff | (tail >> 8) & 0xff, Ordering::Release);
    let object = record.object.load(relaxed) & ((1 << SECTION_BITS) - 1);
    record.object.store(object, relaxed);
    let tsc = section_tsc(record.tsc.load(relaxed), clock::tsc());
    record.tsc.store(tsc, relaxed);
}

/// Records an acquisition of what was free.
#[inline]
pub fn record_acquisition(kind: Kind, object: u64, site: u64) {
    if !streak::count_acquisition(ThreadState::current(), kind, object, site) {
        buffer::record(kind, object, OUTCOME_SUCCESS, site);
    }
}

/// Records a release that is about to be done.
#[inline]
pub fn record_release(kind: Kind, object: u64, site: u64) -> Release {
    if stack::depth() != 0 {
        // A section has no room for where it was called from.
        return Release::of(buffer::record(kind, object, OUTCOME_SUCCESS, site));
    }
    let state = ThreadState::current();
    if let Some(counts) = streak::count_release(state, kind, object, site) {
        return Release {
            at: counts | MERGED | COUNTED,
            tsc: 0,
        };
    }
    let tsc = clock::tsc();
    let cursor = state.cursor.get();
    if clock::undisturbed() {
        if turns::is_over(state, tsc) {
            state.turn_is_over.set(true);
        }
        // There is a record right before, unless the cursor stands at 0 or was moved past the chunk's end.
        if cursor.wrapping_sub(1) < state.end.get()
            && let Some(merged) = merge(state, cursor, tsc, (kind, object, site))
        {
            return merged;
        }
        if let Some(slot) = buffer::record_undisturbed(state, tsc, object, pack_tail(kind, 0, site))
        {
            return Release {
                at: slot.address(),
                tsc,
            };
        }
    }
    release_disturbed(state, cursor, (kind, object, site))
}

/// Records a release that must stand alone, since its thread was disturbed while it held the lock.
#[cold]
fn release_disturbed(
    state: &ThreadState,
    cursor: u64,
    (kind, object, site): (Kind, u64, u64),
) -> Release {
    // What the thread does again and again, it did once more.
    let repeated = &state.repeated;
    let again =
        cursor != 0 && repeated.end.get() == cursor - STEP && cursor <= state.end.get() && {
            let acquisition = record_at(cursor - STEP).tail.load(Ordering::Relaxed);
            let section = Section::new(object, (acquisition >> 16, site), 1);
            repeated.tail.get() == section_tail(acquisition)
                && section.is_some_and(|section| section.object(object) == repeated.object.get())
        };
    if again {
        repeated.end.set(cursor);
    }
    let slot = buffer::record(kind, object, OUTCOME_SUCCESS, site);
    if again && repeated.end.get() == slot.address() {
        repeated.end.set(slot.address() + STEP);
    }
    Release::of(slot)
}

#[inline]
pub(crate) fn record_at(at: u64) -> &'static Record {
    // SAFETY: the callers' places lie in the thread's chunk: a record right before the cursor, or the chunk's header.
    unsafe { &*(at as *const Record) }
}

#[inline]
fn merge(
    state: &ThreadState,
    cursor: u64,
    tsc: u64,
    (kind, object, site): (Kind, u64, u64),
) -> Option<Release> {
    let (first, last) = acquisitions(kind)?;
    let at = cursor - STEP;
    let record = record_at(at);
    let acquisition = record.tail.load(Ordering::Relaxed);
    // The outcome, in the second byte, is 0 too.
    let is_acquisition =
        (acquisition & 0xffff).wrapping_sub(first as u64) <= last as u64 - first as u64;
    if !is_acquisition || record.object.load(Ordering::Relaxed) != object {
        return None;
    }
    let began = record.tsc.load(Ordering::Relaxed);
    let held = tsc.wrapping_sub(began);
    let section = Section::new(object, (acquisition >> 16, site), held)?;
    let word = section.object(object);
    let tail = section_tail(acquisition);
    let times = again(state, at, word, tail);
    let done = Done {
        at,
        tsc,
        section,
        words: (word, tail),
        follows: state.repeated.end.get() == at,
        times,
    };
    if streak::is_counted(kind)
        && let Some(counts) = streak::count(state, cursor, &done)
    {
        return Some(Release {
            at: counts | MERGED | COUNTED,
            tsc,
        });
    }
    record.tsc.store(section.tsc(began), Ordering::Relaxed);
    record.object.store(word, Ordering::Relaxed);
    record.tail.store(tail, Ordering::Release);
    state.repeated.end.set(cursor);
    Some(Release {
        at: at | MERGED,
        tsc,
    })
}

/// Notes what the thread does, at the place where its record stands or would stand. Returns how often it did the same
/// right before.
#[inline]
fn again(state: &ThreadState, at: u64, object: u64, tail: u64) -> u32 {
    let repeated = &state.repeated;
    let same =
        repeated.end.get() == at && repeated.object.get() == object && repeated.tail.get() == tail;
    let times = if same {
        repeated.times.get().saturating_add(1)
    } else {
        repeated.object.set(object);
        repeated.tail.set(tail);
        0
    };
    repeated.times.set(times);
    times
}

/// Records a try that did not get its object; or, when the thread does nothing else, counts it.
pub fn record_busy(kind: Kind, object: u64, site: u64) {
    if stack::depth() != 0 {
        buffer::record(kind, object, OUTCOME_BUSY, site);
        return;
    }
    let state = ThreadState::current();
    let tsc = clock::tsc();
    let tail = pack_tail(kind, OUTCOME_BUSY, site);
    let repeated = &state.repeated;
    let undisturbed = clock::undisturbed();
    let cursor = state.cursor.get();
    let fits = object >> SECTION_BITS == 0;
    if undisturbed && again(state, cursor, object, tail) > REPETITIONS_RECORDED && fits {
        if repeated.counted_until.get() == cursor {
            let counts = record_at(cursor - STEP);
            let count = counts.tail.load(Ordering::Relaxed) + Repetition::COUNTED;
            counts.tail.store(count, Ordering::Relaxed);
            counts.tsc.store(tsc, Ordering::Relaxed);
            return;
        }
        let end = cursor + 2 * STEP;
        if end <= state.end.get() && state.move_cursor(cursor, end) {
            fill(cursor + STEP, tsc, 0, Repetition::tail(1));
            fill(cursor, tsc, object, tail & !0xff | Kind::Repetition as u64);
            repeated.counted_until.set(end);
            repeated.end.set(end);
            return;
        }
    }
    if undisturbed && let Some(slot) = buffer::record_undisturbed(state, tsc, object, tail) {
        repeated.end.set(slot.address() + STEP);
        return;
    }
    let slot = buffer::record(kind, object, OUTCOME_BUSY, site);
    if !undisturbed {
        again(state, slot.address(), object, tail);
    }
    repeated.end.set(slot.address() + STEP);
}
