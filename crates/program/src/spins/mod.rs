//! Threads that look at memory again and again until others have changed it, and give up the CPU in between, or lose it; or sleep in between.
//!
//! How often such a thread looks depends on how long the others take. While it is recorded, it takes a short nap between two looks, or keeps
//! the CPU until its slice is over, and what the others have come to meanwhile is known (`shares`). So it waits until the one that
//! ended its wait, or all that worked, have come as far as they had between the last look that was in vain and the one that was not.
//!
//! A nap may last until the other thread waits itself, since the kernel lets nobody look who had the CPU for longer. What such a nap leaves open, those
//! near it tell that were short beside the other's work.
//!
//! Who spins for a lock waits for whoever has it, and that may be nobody on more CPUs; such waits are short beside the work. So only the
//! spins of threads that spin for long are taken for waits.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said".

mod enders;
mod lowering;
mod meetings;
mod naps;
mod progress;
mod rows;
mod streams;
mod stretches;

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Call, Event, Operation as Op, SiteId, Trace};

use self::{
    enders::Enders,
    lowering::Awaited,
    meetings::Meetings,
    rows::{Row, rows},
    streams::Streams,
    stretches::returns,
};
use crate::{
    held::Awaited as AwaitedConds, idle::Busy, program::Waiting, shares::Shares, structure::Roles,
};

/// The naps of a thread that waits by spinning last for one part in so many of its own CPU time at least.
const LEAST_SHARE: u64 = 8;

/// The same of those that keep the CPU: who waits for whom is known more closely, and on one CPU each wait takes a slice.
const LEAST_LOOKING_SHARE: u64 = 64;

/// As many turns that ended in looking tell how long turns are.
const TURNS: usize = 8;

/// The shortest slice that a recording asks the kernel for, in nanoseconds: shorter turns were ended otherwise.
const LEAST_SLICE: u64 = 1_000_000;

/// The spins of a trace.
#[derive(Default)]
pub(crate) struct Spins {
    /// The events of each thread, where some spin, and how far all had come at those of the spins.
    events: Vec<Vec<u32>>,
    /// At which places of these each thread returned from a wait.
    returns: Vec<Vec<u32>>,
    /// The looks of each thread between which it did nothing else.
    rows: Vec<Vec<Row>>,
    shares: Shares,
    /// Whether each thread's spins are taken for waits.
    waits: Vec<bool>,
    /// From which event on it is told when turns end.
    told_from: Option<u32>,
    enders: Enders,
    /// Where in their work those who end waits at a call mostly are then, by what they are to those who wait.
    parts: BTreeMap<(Option<SiteId>, usize), f64>,
    streams: Streams,
    /// What threads wait for that were about to look when they lost the CPU, by the event at which they do.
    early: BTreeMap<u32, Awaited>,
    /// How much CPU time each thread looks in the row that is passed over that an operation tells of, in nanoseconds.
    lingers: Vec<u64>,
    /// How often each thread looked in those.
    looks: BTreeMap<u32, u64>,
    /// At which events of each thread naps began that tell where in its work another was when the thread could go on, and where that was.
    telling: Vec<Vec<(u32, f64)>>,
    /// The rows of looks that are over of those that keep the CPU, or of whom it is told when turns end, by the call that looks, in the order in which they are
    /// over.
    looking: BTreeMap<Option<SiteId>, Vec<Row>>,
    /// The times at which threads met by looking.
    meetings: Meetings,
    /// How long the turns were that began after a look in vain and ended in another, in nanoseconds, the shortest first.
    turns: Vec<u64>,
}

impl Spins {
    /// Goes through a trace.
    pub fn of(trace: &Trace, busy: &Busy, what_is_taken: (&Roles, &AwaitedConds)) -> Self {
        let has = |is: fn(Op) -> bool| trace.calls.iter().any(|call| is(call.operation));
        let told_from = told_from(trace);
        // Without that, who did what another looks for is a guess.
        let may_nap = told_from.is_some()
            && trace.recording.is_some()
            && has(|operation| operation.is_nap() || operation.is_poll());
        if !may_nap && !has(Op::is_spin) {
            return Self::default();
        }
        let mut events = vec![Vec::new(); trace.threads.len()];
        for (number, event) in (0..).zip(&trace.events) {
            events[trace.call(event).thread.index()].push(number);
        }
        let sites = if may_nap {
            naps::sites_of_waits(trace, &events, busy, what_is_taken)
        } else {
            BTreeSet::new()
        };
        let looks = |call: &Call| {
            call.operation.is_spin() || call.site.is_some_and(|site| sites.contains(&site))
        };
        let mut rows: Vec<Vec<Row>> = events
            .iter()
            .map(|own| rows(trace, own, what_is_taken, looks))
            .collect();
        if rows.iter().all(Vec::is_empty) {
            return Self::default();
        }
        naps::shorten_polls(trace, &mut rows);
        let waits = events.iter().map(|own| waits(trace, own)).collect();
        let mut wanted: Vec<u32> = rows.iter().flatten().flat_map(Row::ends).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut turns: Vec<u64> = events.iter().flat_map(|own| turns(trace, own)).collect();
        turns.sort_unstable();
        let returns = events.iter().map(|own| returns(trace, own)).collect();
        let mut spins = Self {
            turns,
            returns,
            rows,
            shares: Shares::at(trace, &events, &wanted),
            events,
            waits,
            telling: Vec::new(),
            lingers: vec![0; trace.threads.len()],
            told_from,
            enders: Enders::default(),
            parts: BTreeMap::new(),
            streams: Streams::default(),
            early: BTreeMap::new(),
            looks: BTreeMap::new(),
            looking: BTreeMap::new(),
            meetings: Meetings::default(),
        };
        spins.looking = spins.looking(trace);
        // A listing by hand is replayed as it stands.
        let is_recorded = trace.recording.is_some();
        let sites = spins.looking.keys().copied().filter(|_| is_recorded);
        let mut meetings = Meetings::default();
        for site in sites {
            let thread = |event: u32| trace.call(&trace.events[event as usize]).thread.0;
            let rows = &spins.looking[&site];
            let naps = spins.together(rows, thread).into_iter();
            let waiting = waiting(trace, rows[0].end);
            meetings.add(naps, waiting, |meeting| spins.most_worked(meeting));
        }
        spins.meetings = meetings;
        let threads = 0..spins.events.len();
        if let Some(told) = spins.told_from {
            let looks = (&spins.events[..], &spins.rows[..]);
            spins.enders = Enders::of(trace, looks, &spins.shares, told);
            spins.parts = spins.parts(trace);
            let who_and_when = (&spins.enders, &spins.shares);
            spins.streams = Streams::of(trace, &spins.events, &spins.rows, who_and_when);
        }
        spins.telling = threads.map(|thread| spins.telling(trace, thread)).collect();
        spins
    }

    /// Returns the rows of looks that are over of those that keep the CPU, or of whom it is told when turns end, by the call that looks.
    fn looking(&self, trace: &Trace) -> BTreeMap<Option<SiteId>, Vec<Row>> {
        let mut looking: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for row in self.rows.iter().flatten().filter(|row| row.back.is_some()) {
            let call = trace.call(&trace.events[row.end as usize]);
            if matches!(call.operation, Op::Spin(_)) || self.is_told(row.end) {
                looking.entry(call.site).or_default().push(*row);
            }
        }
        for rows in looking.values_mut() {
            rows.sort_unstable_by_key(|row| row.back);
        }
        looking
    }

    /// Returns whether it is told from an event on when turns end.
    fn is_told(&self, event: u32) -> bool {
        self.told_from.is_some_and(|told| event >= told)
    }

    /// Returns what of the CPU time before an event that is passed over is not known to be looking.
    pub fn without_looks(&mut self, thread: u32, nanos: u64) -> u64 {
        let Some(lingers) = self.lingers.get_mut(thread as usize) else {
            return nanos;
        };
        let looked = nanos.min(*lingers);
        *lingers -= looked;
        nanos - looked
    }

    /// Returns the looks of a thread that an event is one of, from that on.
    pub fn row_from(&self, thread: u32, event: u32) -> Option<Row> {
        let row = *self.row_around(thread, event)?;
        Some(Row {
            begin: event,
            ..row
        })
    }

    /// Returns the looks of a thread that it was about to take at an event.
    fn row_about_to_begin(&self, thread: u32, event: u32) -> Option<Row> {
        let rows = self.rows.get(thread as usize)?;
        let next = rows.partition_point(|row| row.begin <= event);
        rows.get(next).filter(|row| row.look == event).copied()
    }

    /// Returns the looks of a thread that an event lies among.
    fn row_around(&self, thread: u32, event: u32) -> Option<&Row> {
        self.row_before(thread, event)
            .filter(|row| event <= row.end)
    }

    /// Returns the last looks of a thread that had begun by an event.
    fn row_before(&self, thread: u32, event: u32) -> Option<&Row> {
        let rows = self.rows.get(thread as usize)?;
        let after = rows.partition_point(|row| row.begin <= event);
        rows[..after].last()
    }

    /// Puts rows of looks at one place together as far as they can have ended by the same: from the first one that is over on, those
    /// whose threads had looked in vain by then. Returns each as the event that begins its last nap, its thread, and the last look in vain and the first
    /// that was not of all of them. The rows are in the order in which they are over.
    fn together(&self, rows: &[Row], thread: impl Fn(u32) -> u32) -> Vec<(u32, u32, (u32, u32))> {
        let mut found: Vec<Option<(u32, u32)>> = vec![None; rows.len()];
        for first in 0..rows.len() {
            let Some(first_back) = rows[first].back.filter(|_| found[first].is_none()) else {
                continue;
            };
            let mut threads = BTreeSet::new();
            let later = (first..rows.len()).take(2 * self.events.len());
            let same: Vec<usize> = later
                .filter(|&place| found[place].is_none() && rows[place].look < first_back)
                .filter(|&place| threads.insert(thread(rows[place].end)))
                .collect();
            let last = same.iter().map(|&place| rows[place].look).max();
            for place in same {
                found[place] = last.map(|last| (last, first_back));
            }
        }
        let rows = rows.iter().zip(found);
        rows.filter_map(|(row, meeting)| Some((row.end, thread(row.end), meeting?)))
            .collect()
    }

    /// Returns the last look in vain, and the first that was not, of all that looked for the same as a thread whose last nap began at an event and
    /// ended with another: in between it came. Whoever looks at the same place is taken to look for the same.
    fn came_between(&self, site: Option<SiteId>, (end, back): (u32, u32)) -> (u32, u32) {
        let rows = self.looking.get(&site).map_or(&[][..], Vec::as_slice);
        let first = rows.partition_point(|row| row.back <= Some(end));
        let first_back = rows.get(first).and_then(|row| row.back);
        let Some(first_back) = first_back.filter(|&first_back| first_back <= back) else {
            return (end, back);
        };
        let same = rows[first..].iter().take(self.events.len());
        let looks = same.map(|row| row.look);
        let last = looks.filter(|&look| look < first_back).max();
        (last.map_or(end, |last| last.max(end)), first_back)
    }

    /// Returns the events of a thread, and at which places of these it returned from a wait.
    fn events_of(&self, thread: usize) -> (&[u32], &[u32]) {
        (&self.events[thread], &self.returns[thread])
    }

    /// Returns how long turns are that the scheduler ends; nothing where the recorder ended them.
    pub fn slice(&self) -> Option<u64> {
        let middle = self.turns.get(self.turns.len() / 2).copied();
        middle.filter(|&middle| self.turns.len() >= TURNS && middle >= LEAST_SLICE)
    }
}

/// Returns how a thread waits that looks with such an event.
fn waiting(trace: &Trace, look: u32) -> Waiting {
    match trace.call(&trace.events[look as usize]).operation {
        Op::Spin(_) => Waiting::Looking,
        operation if operation.is_spin() => Waiting::Yielding,
        _ => Waiting::Sleeping,
    }
}

/// Returns the first event of a trace that tells where a turn ended.
fn told_from(trace: &Trace) -> Option<u32> {
    let tells = |event: &Event| trace.call(event).operation == Op::TURN_END;
    let first = trace.events.iter().position(tells)?;
    Some(first as u32)
}

/// Returns how long the turns of a thread were that began after a look in vain and ended in another.
fn turns<'t>(trace: &'t Trace, own: &'t [u32]) -> impl Iterator<Item = u64> + 't {
    let spin = |event: u32| {
        let event = &trace.events[event as usize];
        match trace.call(event).operation {
            Op::Spin(looked) => Some((event.cpu()?, looked)),
            _ => None,
        }
    };
    own.windows(3).filter_map(move |events| {
        let &[first, _, last] = events else {
            return None;
        };
        let ((before, _), (cpu, looked)) = (spin(first)?, spin(last)?);
        Some(cpu.since(before).0 + looked.0)
    })
}

/// Returns whether a thread spins for long.
fn waits(trace: &Trace, own: &[u32]) -> bool {
    let event = |place: usize| own.get(place).map(|&event| &trace.events[event as usize]);
    let nap = |place: usize| {
        let (call, back) = (event(place)?, event(place + 1)?);
        let time = back.time.0.saturating_sub(call.time.0);
        match trace.call(call).operation {
            Op::Spin(_) => Some(time.saturating_mul(LEAST_LOOKING_SHARE)),
            operation => operation
                .is_spin()
                .then(|| time.saturating_mul(LEAST_SHARE)),
        }
    };
    let napped = (0..own.len()).filter_map(nap).fold(0, u64::saturating_add);
    let last = own.len().checked_sub(1).and_then(event);
    let used = last.and_then(Event::cpu).unwrap_or_default();
    napped >= used.0
}
