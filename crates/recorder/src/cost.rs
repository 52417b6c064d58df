//! What recording costs, so that a reader can take it out of the program's times.

use core::arch::asm;
use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use foretrace_trace::journal::layout::{Header, Kind, REPETITIONS_RECORDED};

use crate::buffer::{STEP, erase, record, room};
use crate::section::{record_acquisition, record_release};
use crate::state::ThreadState;
use crate::{clock, message, stack, sys};

/// What recording costs, each in sixteenths of a tick; 0 if it cannot be told.
struct Costs {
    /// A record of its own.
    record: AtomicU64,
    /// A lock and its unlock in one record.
    section: AtomicU64,
    /// A lock and its unlock that are counted.
    repetition: AtomicU64,
    /// The same where several mutexes take turns.
    turn: AtomicU64,
    /// A look of a library that passes messages, which is counted.
    look: AtomicU64,
    /// A call of such a library, between its return and the next call.
    message: AtomicU64,
}

impl Costs {
    /// Returns what does not depend on a library that passes messages.
    fn of_calls(&self) -> [&AtomicU64; 4] {
        [&self.record, &self.section, &self.repetition, &self.turn]
    }
}

/// As measured by this process, or by the one that it was forked from, or by foretrace before the program ran.
static COSTS: Costs = Costs {
    record: AtomicU64::new(0),
    section: AtomicU64::new(0),
    repetition: AtomicU64::new(0),
    turn: AtomicU64::new(0),
    look: AtomicU64::new(0),
    message: AtomicU64::new(0),
};

/// What is known of what recording costs, before a process has measured anything. Zeros for what is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownCosts {
    /// What it costs a program that the library is loaded into it, and that its memory is taken down at the end, in nanoseconds.
    pub loading: u64,
    /// What it costs a program that a recorded process is copied, as `loading`.
    pub forking: u64,
    /// The clock by which the rest was measured, one of the `CLOCK_` constants of the journal's layout.
    clock: u32,
    /// What a record costs, a lock and its unlock in one record, such a pair that is counted, and one of several mutexes in turn that is, each in
    /// sixteenths of a tick.
    sixteenths: [u64; 4],
}

impl KnownCosts {
    /// Reads them as foretrace writes them: seven numbers, in this order, with commas between. `None` for anything else.
    ///
    /// ```
    /// use foretrace_recorder::KnownCosts;
    ///
    /// let known = KnownCosts::parse("250000,90000,1,85,230,70,140");
    /// assert_eq!(known.map(|known| (known.loading, known.forking)), Some((250_000, 90_000)));
    /// assert_eq!(KnownCosts::parse("250000,90000"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(',').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self {
            loading: next()?,
            forking: next()?,
            clock: u32::try_from(next()?).ok()?,
            sixteenths: [next()?, next()?, next()?, next()?],
        })
    }
}

/// What is done with one of two mutexes, number 0 and 1, that nobody else uses.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// Locks it.
    pub lock: fn(usize),
    /// Unlocks it.
    pub unlock: fn(usize),
}

/// Calls by which it is measured what they cost more when they are recorded: what records them costs, and what comes with that.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// As without a recorder.
    pub alone: Calls,
    /// The same, recorded.
    pub recorded: Calls,
}

/// Returns the address of a mutex that there is not.
fn made_up(which: usize) -> u64 {
    0x1000 * (which as u64 + 1)
}

/// Mutexes that do nothing but be recorded.
impl Default for Compared {
    fn default() -> Self {
        Self {
            alone: Calls {
                lock: |_| (),
                unlock: |_| (),
            },
            recorded: Calls {
                lock: |which| record_acquisition(Kind::MutexLock, made_up(which), 16),
                unlock: |which| record_release(Kind::MutexUnlock, made_up(which), 32).done(),
            },
        }
    }
}

/// What it costs that this process is copied, in nanoseconds.
static FORKING: AtomicU64 = AtomicU64::new(0);

/// Returns what it cost that this process began as a copy, in nanoseconds.
pub(crate) fn of_forking() -> u64 {
    FORKING.load(Ordering::Relaxed)
}

/// Takes what recording costs from who knows it; what was measured by another clock does not count.
pub(crate) fn know(known: &KnownCosts, clock: u32) {
    FORKING.store(known.forking, Ordering::Relaxed);
    if known.clock == clock {
        for (cost, &known) in COSTS.of_calls().into_iter().zip(&known.sixteenths) {
            cost.store(known, Ordering::Relaxed);
        }
    }
}

/// What is recorded for each measurement.
const RECORDS: u64 = 64;

/// How often each measurement is made; the least counts.
const ROUNDS: u32 = 8;

/// So many looks are measured at once: fewer than after which others run. And as many calls.
const LOOKS: u64 = 24;

/// As many records as each of them takes at most: the call, its words, the return, and what is noted of disturbances; beside callers.
const MOST_RECORDS: u64 = 6;

/// What a look takes where that cannot be measured, in ticks.
const USUAL_LOOK: u64 = 70;

/// Returns whether it is known what recording costs.
pub(crate) fn is_known() -> bool {
    COSTS.record.load(Ordering::Relaxed) != 0
}

/// Measures what recording costs, unless that was done, and tells the journal. The records made for it are taken back.
pub(crate) fn note(state: &ThreadState, header: &Header, compared: &Compared) {
    let relaxed = Ordering::Relaxed;
    if !is_known() {
        measure(state, compared);
    }
    let costs = [
        (&header.record_cost, &COSTS.record),
        (&header.section_cost, &COSTS.section),
        (&header.repetition_cost, &COSTS.repetition),
        (&header.turn_cost, &COSTS.turn),
        (&header.message_cost, &COSTS.message),
    ];
    for (noted, measured) in costs {
        noted.store(measured.load(relaxed), relaxed);
    }
}

fn measure(state: &ThreadState, compared: &Compared) {
    let _signals = sys::block_signals();
    let start = state.cursor.get();
    if state.end.get() < start + 4 * RECORDS * STEP {
        return;
    }
    // How much of the cost shows depends on the instructions around: those that wait for nothing hide some of it. So
    // it is measured between locked additions, which hide nothing, and between work that hides much; the truth for a
    // program lies between.
    let word = AtomicU64::new(0);
    let exposed = costs_between(state, (start, compared), &|| {
        word.fetch_add(1, Ordering::SeqCst);
    });
    let product = Cell::new(3);
    let hidden = costs_between(state, (start, compared), &|| multiply(&product));
    for ((cost, exposed), hidden) in COSTS.of_calls().into_iter().zip(exposed).zip(hidden) {
        cost.store(u64::midpoint(exposed, hidden), Ordering::Relaxed);
    }
}

/// Measures what recording takes of a library that passes messages, unless that was done, by a look and a call that do nothing; and
/// tells the journal. The records made for it are taken back.
pub(crate) fn measure_messages(
    state: &ThreadState,
    header: &Header,
    look: &dyn Fn(),
    call: &dyn Fn(),
) {
    if COSTS.look.load(Ordering::Relaxed) != 0 {
        return;
    }
    let _signals = sys::block_signals();
    let callers = stack::depth().div_ceil(2) as u64;
    let Some(start) = room(state, (LOOKS + 1) * (MOST_RECORDS + callers)) else {
        return;
    };
    let begin = || {
        state.looks.set(0);
        look();
    };
    let ticks = least(state, start, &begin, (LOOKS, look));
    state.tries.set(0);
    COSTS.look.store(16 * ticks / LOOKS, Ordering::Relaxed);
    let mut gaps = 0;
    for _ in 0..ROUNDS {
        clock::synchronize(state);
        state.cursor.set(start);
        (0..=LOOKS).for_each(|_| call());
        let end = state.cursor.get();
        let found = 16 * between_calls(start, end) / LOOKS;
        if clock::undisturbed() && (gaps == 0 || found < gaps) {
            gaps = found;
        }
        erase(start, end);
    }
    state.cursor.set(start);
    COSTS.message.store(gaps, Ordering::Relaxed);
    header.message_cost.store(gaps, Ordering::Relaxed);
}

/// Returns the ticks between returns and the next calls, of calls that were recorded from a place to another.
fn between_calls(start: u64, end: u64) -> u64 {
    let (mut returned, mut all) = (None, 0);
    for at in (start..end).step_by(STEP as usize) {
        let record = message::record(at);
        let tsc = record.tsc.load(Ordering::Relaxed);
        match Kind::from_byte(record.tail.load(Ordering::Relaxed) as u8) {
            Some(Kind::Return) => returned = Some(tsc),
            Some(Kind::Mpi) => {
                all += returned
                    .take()
                    .map_or(0, |returned| tsc.wrapping_sub(returned));
            }
            _ => {}
        }
    }
    all
}

/// Returns the ticks that recording a look takes.
#[inline]
pub(crate) fn of_look() -> u64 {
    match COSTS.look.load(Ordering::Relaxed) {
        0 => USUAL_LOOK,
        measured => measured / 16,
    }
}

/// Does something so many times, again and again; returns the fewest ticks that this took, 0 where it was disturbed each time. What is
/// recorded meanwhile from a place on is taken back.
fn least(
    state: &ThreadState,
    start: u64,
    begin: &dyn Fn(),
    (times, each): (u64, &dyn Fn()),
) -> u64 {
    let mut used = start;
    let mut least = 0;
    for _ in 0..ROUNDS {
        clock::synchronize(state);
        state.cursor.set(start);
        begin();
        let before = clock::tsc();
        for _ in 0..times {
            each();
        }
        let ticks = clock::tsc().wrapping_sub(before);
        // What was counted leaves its acquisition behind the cursor.
        used = used.max(state.cursor.get() + STEP);
        if clock::undisturbed() && (least == 0 || ticks < least) {
            least = ticks;
        }
    }
    state.cursor.set(start);
    erase(start, used);
    least
}

/// Does some work in a chain of dependent instructions, which goes on from one call to the next.
fn multiply(product: &Cell<u64>) {
    let mut value = product.get();
    for _ in 0..32 {
        // SAFETY: changes a register.
        unsafe { asm!("imul {value}, {value}", value = inout(reg) value, options(nomem, nostack)) };
    }
    product.set(value);
}

/// Returns what recording costs between such work: a record, a section, a repetition, a section of one of two mutexes in turn.
fn costs_between(
    state: &ThreadState,
    (start, compared): (u64, &Compared),
    between: &dyn Fn(),
) -> [u64; 4] {
    let took = |begin: &dyn Fn(), each: &dyn Fn()| {
        let begin = || {
            state.repeated.forget();
            state.streak.begin_anew();
            begin();
        };
        let least = least(state, start, &begin, (RECORDS, each));
        state.repeated.forget();
        state.streak.begin_anew();
        least
    };
    let pair = |calls: &Calls, which| {
        between();
        (calls.lock)(which);
        between();
        (calls.unlock)(which);
    };
    let section = || pair(&compared.recorded, 0);
    let next = Cell::new(0);
    let turn = |calls: &Calls| {
        pair(calls, next.get());
        next.set(1 - next.get());
    };
    let nothing = took(&|| (), &|| {
        between();
        between();
    });
    let records = took(&|| (), &|| {
        between();
        record(Kind::Stamp, 0, 0, 0);
        between();
        record(Kind::Stamp, 0, 0, 0);
    });
    let alone = took(&|| (), &|| pair(&compared.alone, 0));
    let sections = took(&|| (), &section);
    let repetitions = took(
        &|| {
            section();
            state.repeated.times.set(REPETITIONS_RECORDED);
        },
        &section,
    );
    let in_turn_alone = took(&|| (), &|| turn(&compared.alone));
    let in_turn = took(
        &|| {
            state.streak.expect_more();
            (0..4).for_each(|_| turn(&compared.recorded));
        },
        &|| turn(&compared.recorded),
    );
    let differences = [
        (records, nothing, 2),
        (sections, alone, 1),
        (repetitions, alone, 1),
        (in_turn, in_turn_alone, 1),
    ];
    differences.map(|(ticks, without, calls)| {
        if without == 0 || ticks == 0 {
            return 0;
        }
        ticks.saturating_sub(without) * 16 / (RECORDS * calls)
    })
}
