//! What recording costs, so that a reader can take it out of the program's times.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_trace::journal::layout::{Kind, RECORD_BYTES};

use crate::buffer::{erase, record};
use crate::state::ThreadState;
use crate::{clock, sys};

/// Measures what recording an event costs, in sixteenths of a tick; 0 if that cannot be told. The records made for
/// it are taken back.
pub(crate) fn measure(state: &ThreadState) -> u64 {
    const RECORDS: u64 = 64;
    const STEP: u64 = RECORD_BYTES as u64;
    let _signals = sys::block_signals();
    let start = state.cursor.get();
    if state.end.get() < start + 4 * RECORDS * STEP {
        return 0;
    }
    // Between the program's own instructions some of the cost is hidden; one locked addition stands for them.
    let word = AtomicU64::new(0);
    let used = Cell::new(start);
    let run = |with_records: bool| {
        let mut least = 0;
        for _ in 0..16 {
            clock::synchronize(state);
            state.cursor.set(start);
            let before = clock::tsc();
            for _ in 0..RECORDS {
                word.fetch_add(1, Ordering::SeqCst);
                if with_records {
                    record(Kind::Stamp, 0, 0, 0);
                }
            }
            let ticks = clock::tsc().wrapping_sub(before);
            used.set(used.get().max(state.cursor.get()));
            if clock::undisturbed() && (least == 0 || ticks < least) {
                least = ticks;
            }
        }
        least
    };
    let (without, with) = (run(false), run(true));
    state.cursor.set(start);
    erase(start, used.get());
    if without == 0 {
        return 0;
    }
    with.saturating_sub(without) * 16 / RECORDS
}
