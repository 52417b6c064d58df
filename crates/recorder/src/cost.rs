//! What recording costs, so that a reader can take it out of the program's times.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_trace::journal::layout::{Header, Kind, REPETITIONS_RECORDED};

use crate::buffer::{STEP, erase, record};
use crate::section::record_release;
use crate::state::ThreadState;
use crate::{clock, sys};

/// What recording costs, each in sixteenths of a tick; 0 if it cannot be told.
struct Costs {
    /// A record of its own.
    record: AtomicU64,
    /// A lock and its unlock in one record.
    section: AtomicU64,
    /// A lock and its unlock that are counted.
    repetition: AtomicU64,
}

/// As measured by this process, or by the one that it was forked from.
static COSTS: Costs = Costs {
    record: AtomicU64::new(0),
    section: AtomicU64::new(0),
    repetition: AtomicU64::new(0),
};

/// What is recorded for each measurement.
const RECORDS: u64 = 64;

/// Measures what recording costs, unless that was done, and tells the journal. The records made for it are taken back.
pub(crate) fn note(state: &ThreadState, header: &Header) {
    let relaxed = Ordering::Relaxed;
    if COSTS.record.load(relaxed) == 0 {
        measure(state);
    }
    let costs = [
        (&header.record_cost, &COSTS.record),
        (&header.section_cost, &COSTS.section),
        (&header.repetition_cost, &COSTS.repetition),
    ];
    for (noted, measured) in costs {
        noted.store(measured.load(relaxed), relaxed);
    }
}

fn measure(state: &ThreadState) {
    let _signals = sys::block_signals();
    let start = state.cursor.get();
    if state.end.get() < start + 4 * RECORDS * STEP {
        return;
    }
    // Between the program's own instructions some of the cost is hidden; two locked additions stand for them.
    let word = AtomicU64::new(0);
    let add = || word.fetch_add(1, Ordering::SeqCst);
    let (object, lock, unlock) = (word.as_ptr() as u64, 16, 32);
    let took = |begin: &dyn Fn(), each: &dyn Fn()| {
        let used = Cell::new(start);
        let mut least = 0;
        for _ in 0..16 {
            state.repeated.forget();
            clock::synchronize(state);
            state.cursor.set(start);
            begin();
            let before = clock::tsc();
            for _ in 0..RECORDS {
                each();
            }
            let ticks = clock::tsc().wrapping_sub(before);
            // What was counted leaves its acquisition behind the cursor.
            used.set(used.get().max(state.cursor.get() + STEP));
            if clock::undisturbed() && (least == 0 || ticks < least) {
                least = ticks;
            }
        }
        state.repeated.forget();
        state.cursor.set(start);
        erase(start, used.get());
        least
    };
    let section = || {
        add();
        record(Kind::MutexLock, object, 0, lock);
        add();
        record_release(Kind::MutexUnlock, object, unlock);
    };
    let neither = took(&|| (), &|| {
        add();
        add();
    });
    let records = took(&|| (), &|| {
        add();
        record(Kind::Stamp, 0, 0, 0);
        add();
        record(Kind::Stamp, 0, 0, 0);
    });
    let sections = took(&|| (), &section);
    let repetitions = took(
        &|| {
            section();
            state.repeated.times.set(REPETITIONS_RECORDED);
        },
        &section,
    );
    let cost = |ticks: u64, calls: u64| {
        if neither == 0 || ticks == 0 {
            return 0;
        }
        ticks.saturating_sub(neither) * 16 / (RECORDS * calls)
    };
    COSTS.record.store(cost(records, 2), Ordering::Relaxed);
    COSTS.section.store(cost(sections, 1), Ordering::Relaxed);
    COSTS
        .repetition
        .store(cost(repetitions, 1), Ordering::Relaxed);
}
