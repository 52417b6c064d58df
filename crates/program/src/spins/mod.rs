//! Threads that look at memory again and again until others have changed it, and give up the CPU in between, or lose it; or sleep in between.
//!
//! How often such a thread looks depends on how long the others take. While it is recorded, it takes a short nap between two looks, or keeps
//! the CPU until its slice is over, and what the others have come to meanwhile is known (`shares`). So it waits until those that worked
//! have come as far as they had between the last look that was in vain and the one that was not.
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
mod meetings;
mod naps;
mod rows;
mod streams;
mod stretches;

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Call, Event, Operation as Op, SiteId, Trace};

use self::{
    enders::Enders,
    meetings::Meetings,
    rows::{Row, rows},
    streams::Streams,
    stretches::{Stretch, returns},
};
use crate::{
    Action,
    idle::Busy,
    lower::{Lowering, OpenKind},
    program::Waiting,
    shares::Shares,
    sleeps::{GateAt, Place, WORKS},
};

/// A nap tells when in it its thread could have gone on, if another worked no more in it than one part in so many of what that does from one
/// wait to the next.
const TELLING: u64 = 5;

/// So many of these tell where others mostly come to in their work when a thread may go on.
const ENOUGH: usize = 5;

/// Where it is told when turns end, they tell so if they differ by no more than such a part of the work. Else those who wait themselves have just done what
/// the other waits for.
const ALIKE: f64 = 0.2;

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
    pub fn of(trace: &Trace, busy: &Busy) -> Self {
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
            naps::sites_of_waits(trace, &events, busy)
        } else {
            BTreeSet::new()
        };
        let looks = |call: &Call| {
            call.operation.is_spin() || call.site.is_some_and(|site| sites.contains(&site))
        };
        let mut rows: Vec<Vec<Row>> = events.iter().map(|own| rows(trace, own, looks)).collect();
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
        let rows = self.rows.get(thread as usize)?;
        let after = rows.partition_point(|row| row.begin <= event);
        rows[..after].last().filter(|row| event <= row.end)
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

    /// Returns where in their work those who end waits are then, by the naps that tell: those in which they did not come far.
    fn parts(&self, trace: &Trace) -> BTreeMap<(Option<SiteId>, usize), f64> {
        let mut told: BTreeMap<(Option<SiteId>, usize), Vec<f64>> = BTreeMap::new();
        for row in self.rows.iter().flatten() {
            let Some((ender, back)) = self.enders.at(row.end).zip(row.back) else {
                continue;
            };
            let used = |event| self.shares.of(event, ender.thread);
            let Some((from, to)) = used(row.look).zip(used(back)) else {
                continue;
            };
            let own = self.events_of(ender.thread as usize);
            if let Some(stretch) = Stretch::at(trace, own, from)
                && to.saturating_sub(from).saturating_mul(TELLING) <= stretch.length()
            {
                let site = trace.call(&trace.events[row.end as usize]).site;
                let part = stretch.part(u64::midpoint(from, to));
                told.entry((site, ender.role)).or_default().push(part);
            }
        }
        let middle = |(what, mut parts): (_, Vec<f64>)| {
            parts.sort_unstable_by(f64::total_cmp);
            let at = |quarters: usize| parts[(parts.len() - 1) * quarters / 4];
            let is_alike = parts.len() >= ENOUGH && at(3) - at(1) <= ALIKE;
            is_alike.then(|| (what, at(2)))
        };
        told.into_iter().filter_map(middle).collect()
    }

    /// Returns the naps of a thread that tell where in its work another was when the thread could go on, and which part of it that had done.
    fn telling(&self, trace: &Trace, thread: usize) -> Vec<(u32, f64)> {
        let rows = self.rows[thread].iter();
        rows.filter_map(|row| {
            let (end, back) = (row.look, row.back?);
            let others = (0..self.events.len()).filter(|&other| other != thread);
            let worked = |other: usize| {
                let of = |event| self.shares.of(event, other as u32);
                Some((other, of(end)?, of(back)?))
            };
            let (other, from, to) = others
                .filter_map(worked)
                .max_by_key(|&(other, from, to)| (to.saturating_sub(from), other))?;
            let stretch = Stretch::at(trace, self.events_of(other), from)?;
            let tells = to.saturating_sub(from).saturating_mul(TELLING) <= stretch.length();
            (to > from && tells).then(|| (end, stretch.part(u64::midpoint(from, to))))
        })
        .collect()
    }

    /// Returns which part of their work others have done when a thread may go on whose nap began at this event, by those of its naps
    /// nearest to it that tell.
    fn usual(&self, thread: u32, nap: u32) -> Option<f64> {
        let telling = &self.telling[thread as usize];
        let after = telling.partition_point(|&(event, _)| event < nap);
        let from = after
            .saturating_sub(ENOUGH / 2)
            .min(telling.len().checked_sub(ENOUGH)?);
        let mut nearest: Vec<f64> = telling[from..from + ENOUGH]
            .iter()
            .map(|&(_, part)| part)
            .collect();
        nearest.sort_unstable_by(f64::total_cmp);
        let is_told = self.is_told(nap);
        let differ = nearest[ENOUGH - 1] - nearest[0] > ALIKE;
        (!is_told || !differ).then(|| nearest[ENOUGH / 2])
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

/// What a thread waits for that looks.
struct Awaited {
    /// The gates that stand for how far others have to come, and the events that they open at.
    gates: Vec<GateAt>,
    /// Whether any of them worked meanwhile.
    any_worked: bool,
    /// Whether it does wait for them.
    waits: bool,
}

/// Another thread, while one spins.
struct Other {
    thread: u32,
    /// The CPU time that it had used when that began.
    before: u64,
    /// What it has to have used until the other goes on; at first, what it had when the other last looked in vain.
    used: u64,
    /// What it had used when the other was back.
    then: u64,
}

impl Other {
    /// Returns how much it worked since the other last looked in vain.
    fn worked(&self) -> u64 {
        self.then.saturating_sub(self.used)
    }
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

impl Lowering<'_> {
    /// Lowers a spin: a wait for those that worked meanwhile, until they have come as far as they had in the
    /// middle of the last time that it was off the CPU.
    pub fn spin(&mut self, row: Row, thread: u32) {
        let begin = row.begin as usize;
        let end = row.end as usize;
        let back = self.next.after(end);
        let returns = row.back.is_some();
        let naps = row.shortest > 0;
        let keeps_cpu = self.keeps_cpu(end);
        let early = self.spins.early.remove(&row.begin);
        let awaited = early.unwrap_or_else(|| self.awaited(row, thread));
        let waits = awaited.waits;
        if keeps_cpu && waits && self.trace.recording.is_none() {
            let looked = self.looked(begin, end);
            self.push_with_work(begin, thread, Action::Linger, looked);
        }
        let at = if awaited.any_worked {
            self.push(begin, thread, Action::Pass)
        } else {
            // Nobody worked: it waited for time to pass, or for something outside. Or for less than can be seen of another that looks.
            let slept = self.recorded_delay(begin, end);
            let idle = if returns && self.another_looks(begin, back, thread) {
                0
            } else {
                self.busy.idle(slept, begin, back as usize)
            };
            let delay = self.delay(idle);
            self.push(begin, thread, delay)
        };
        if returns {
            self.set_open(at, OpenKind::Other);
        }
        if waits && row.looked > 0 {
            self.push_with_work(begin, thread, Action::Linger, row.looked);
            self.spins.lingers[thread as usize] = row.looked;
        }
        self.arrive(begin, end, thread);
        if waits {
            self.sleeps.awaits.insert(back, awaited.gates);
            if naps {
                self.sleeps
                    .note_naps(thread, row.count, (back, row.shortest));
            } else {
                *self.spins.looks.entry(thread).or_default() += u64::from(row.count);
            }
        }
        self.resumes_at[thread as usize] = end as u32 + 1;
    }

    /// Lets threads that follow others need what these did, piece by piece.
    pub fn follow(&mut self) {
        for need in std::mem::take(&mut self.spins.streams.needs) {
            let event = need.event;
            let row = self.spins.row_around(need.follower, event);
            let call = self.trace.call(&self.trace.events[event as usize]);
            // What it does among its looks, and in coming back, is no piece of its work.
            if row.is_some_and(|row| row.begin < event) || call.operation == Op::Return {
                continue;
            }
            if let Some(place) = self.place_by(need.leader, need.used) {
                let gate = self.gate_in(place, Waiting::Sleeping);
                self.need_at(event, need.at, (gate, place.event));
            }
        }
    }

    /// Finds what a thread waits for that looks, from its last look in vain on: the others come on meanwhile.
    fn awaited(&mut self, row: Row, thread: u32) -> Awaited {
        let others = if row.back.is_some() {
            self.others_by_then(row, thread)
        } else {
            Vec::new()
        };
        let naps = row.shortest > 0;
        let any_worked = !others.is_empty();
        let waits = any_worked && (naps || self.spins.waits[thread as usize]);
        let end = row.end as usize;
        let gates = if !waits {
            Vec::new()
        } else if let Some(meeting) = self.spins.meetings.of(end) {
            self.gates_at(meeting, &others, (row.begin as usize, thread))
        } else {
            let wait = waiting(self.trace, row.end);
            let gate = |place: Place| (self.gate_in(place, wait), place.event);
            others.into_iter().map(gate).collect()
        };
        Awaited {
            gates,
            any_worked,
            waits,
        }
    }

    /// Returns for how long a thread looked at memory in a spin that ended with this event, in nanoseconds.
    fn looked(&self, begin: usize, end: usize) -> u64 {
        let mut looked = 0;
        let mut event = begin;
        loop {
            if let Op::Spin(time) = self.trace.call(&self.trace.events[event]).operation {
                looked += time.0;
            }
            if event >= end {
                return looked;
            }
            event = self.next.after(event) as usize;
        }
    }

    /// Lowers a spin that went on by itself: on one CPU it takes as long as it did, on more what it looks for can come meanwhile, and what the
    /// thread does then to wait for it takes as long as that needs. One of no time only tells how far the thread had come.
    pub fn linger(&mut self, index: usize, thread: u32, looked: u64) {
        self.push(index, thread, Action::Pass);
        if looked > 0 {
            self.push_with_work(index, thread, Action::Linger, looked);
        }
        if let Some(row) = self.spins.row_about_to_begin(thread, index as u32) {
            let awaited = self.awaited(row, thread);
            self.spins.early.insert(row.begin, awaited);
        }
    }

    /// Returns whether another thread looks at memory between two events, and nothing tells what for.
    fn another_looks(&self, begin: usize, back: u32, thread: u32) -> bool {
        (begin..back as usize).any(|event| {
            let call = self.trace.call(&self.trace.events[event]);
            call.thread.0 != thread && self.keeps_cpu(event)
        })
    }

    /// Returns whether a thread looked at memory there until it lost the CPU.
    fn keeps_cpu(&self, event: usize) -> bool {
        let call = self.trace.call(&self.trace.events[event]);
        matches!(call.operation, Op::Spin(_))
    }

    /// Returns how far those had come that worked in a spin, by the middle of the last time that it was off the CPU.
    fn others_by_then(&self, row: Row, spinner: u32) -> Vec<Place> {
        let time = |event: usize| self.trace.events[event].time.0;
        let (begin, end) = (row.begin.min(row.look) as usize, row.end as usize);
        let keeps_cpu = self.keeps_cpu(end);
        let is_told = self.spins.is_told(row.look);
        let meeting = self.spins.meetings.of(end);
        let (end, back) = meeting.unwrap_or_else(|| {
            let nap = (row.look, self.next.after(end));
            if !keeps_cpu {
                return nap;
            }
            let site = self.trace.call(&self.trace.events[end]).site;
            self.spins.came_between(site, nap)
        });
        let end = end as usize;
        let mut others: Vec<Other> = (0..self.spins.events.len() as u32)
            .filter(|&thread| thread != spinner)
            .filter_map(|thread| {
                let cpu = |event: u32| self.spins.shares.of(event, thread);
                Some(Other {
                    thread,
                    before: cpu(begin as u32)?,
                    used: cpu(end as u32)?,
                    then: cpu(back)?,
                })
            })
            .collect();
        let half = (time(back as usize) - time(end)) / 2;
        if meeting.is_some()
            && let Some(last) = (0..others.len()).max_by_key(|&place| others[place].worked())
        {
            // Only the last one that came lets the others go on.
            others = vec![others.swap_remove(last)];
        }
        if keeps_cpu {
            self.come_half_as_far(&mut others, (end, back));
        } else {
            for other in &mut others {
                other.used = if meeting.is_some() {
                    u64::midpoint(other.used, other.then)
                } else {
                    self.likely(spinner, end as u32, other)
                };
            }
        }
        if meeting.is_none()
            && let Some((one, used)) = self.one_by_then(row)
        {
            others.retain(|other| other.thread == one);
            for other in &mut others {
                other.used = used;
            }
        }
        others.retain(|other| other.used > other.before);
        let worked = |other: &Other| other.used - other.before;
        let all: u64 = others.iter().map(worked).sum();
        let count = others.len() as u64;
        others
            .into_iter()
            .filter(|other| worked(other).saturating_mul(WORKS * count) >= all)
            .filter_map(|other| {
                if keeps_cpu || is_told {
                    self.place_by(other.thread, other.used)
                } else {
                    self.place_at(other.thread, time(end) + half, other.used)
                }
            })
            // What others came to before the spin is past.
            .filter(|place| place.event > begin as u32)
            .collect()
    }

    /// Returns how far another had come when a thread could go on, of what it worked in the thread's last nap: half of that, or, where
    /// the kernel let the thread look too late, as far as others mostly come.
    fn likely(&self, spinner: u32, nap: u32, other: &Other) -> u64 {
        let middle = u64::midpoint(other.used, other.then);
        let own = self.spins.events_of(other.thread as usize);
        let Some(stretch) = Stretch::at(self.trace, own, other.used) else {
            return middle;
        };
        if other.worked().saturating_mul(TELLING) <= stretch.length() {
            return middle;
        }
        let ends = (stretch.end() <= other.then).then(|| stretch.end());
        let usual = self.spins.usual(spinner, nap).map(|part| stretch.cpu(part));
        let usual = usual.or(ends);
        usual
            .unwrap_or(middle)
            .clamp(other.used, other.then.max(other.used))
    }

    /// Returns the one that ended a wait, where one did, and how far it had come by then: where in its work it mostly ends waits; else half as far as it came
    /// in the last nap. Who follows another needs no more than the first of that.
    fn one_by_then(&self, row: Row) -> Option<(u32, u64)> {
        if let Some(followed) = self.spins.streams.first(row.end) {
            return Some(followed);
        }
        let ender = self.spins.enders.at(row.end)?;
        let used = |event| self.spins.shares.of(event, ender.thread);
        let (from, to) = (used(row.look)?, used(row.back?)?);
        let site = self.trace.call(&self.trace.events[row.end as usize]).site;
        let own = self.spins.events_of(ender.thread as usize);
        let stretch = |cpu| Stretch::at(self.trace, own, cpu);
        let part = self.spins.parts.get(&(site, ender.role));
        let at = part.zip(stretch(from)).map(|(&part, first)| {
            let at = first.cpu(part);
            if at > from || first.end() >= to {
                return at;
            }
            // It had been there already: the next time.
            stretch(first.end()).map_or(first.end(), |next| next.cpu(part))
        });
        let at = at.unwrap_or(u64::midpoint(from, to));
        Some((ender.thread, at.clamp(from, to.max(from))))
    }

    /// Lets others come as far as they had when half of all was done that they worked between two events, one after the other. They may have
    /// looked, too, so that half of the time says nothing.
    fn come_half_as_far(&self, others: &mut [Other], (from, to): (usize, u32)) {
        others.sort_by_key(|other| self.worked_until(other.thread, (from, to)));
        let mut left = others.iter().map(Other::worked).sum::<u64>() / 2;
        for other in others {
            let worked = other.worked().min(left);
            other.used += worked;
            left -= worked;
        }
    }

    /// Returns by which event a thread had done what it worked between two events.
    fn worked_until(&self, thread: u32, (from, to): (usize, u32)) -> u32 {
        let own = &self.spins.events[thread as usize];
        let next = own.partition_point(|&event| event < to);
        let last = next.checked_sub(1).and_then(|place| own.get(place));
        let is_over = |event: &&u32| {
            let call = self.trace.call(&self.trace.events[**event as usize]);
            **event > from as u32 && call.operation != Op::Return
        };
        last.filter(is_over).copied().unwrap_or(to)
    }

    /// Returns where a thread was when it had used so much CPU time; `None` where it never did.
    fn place_by(&self, thread: u32, cpu: u64) -> Option<Place> {
        let own = &self.spins.events[thread as usize];
        let used = |event: u32| self.trace.events[event as usize].cpu();
        let next = own.partition_point(|&event| used(event).is_some_and(|used| used.0 < cpu));
        let event = *own.get(next)?;
        // Where that is one of several looks, it came to the first.
        let row = self.spins.row_around(thread, event);
        if let Some(row) = row.filter(|row| row.begin < event) {
            return Some(Place {
                event: row.begin,
                cpu,
                is_within: false,
            });
        }
        let is_within = true;
        Some(Place {
            event,
            cpu,
            is_within,
        })
    }

    /// Returns how far a thread had come at a time, by when it had used so much CPU time; `None` where it was not there, or would never
    /// come to anything again.
    fn place_at(&self, thread: u32, time: u64, cpu: u64) -> Option<Place> {
        let events = &self.trace.events;
        let own = &self.spins.events[thread as usize];
        let call = |event: u32| self.trace.call(&events[event as usize]);
        let at = |event, is_within| Place {
            event,
            cpu,
            is_within,
        };
        let next = own.partition_point(|&event| events[event as usize].time.0 <= time);
        let last = *own.get(next.checked_sub(1)?)?;
        if call(last).operation == Op::Terminate {
            return Some(at(last, false));
        }
        let following = *own.get(next)?;
        // Where it is in one of several looks, it came to the first.
        if let Some(row) = self.spins.row_around(thread, last) {
            return Some(at(row.begin, false));
        }
        if call(following).operation != Op::Return {
            return Some(at(following, true));
        }
        Some(at(last, false))
    }

    /// Tells which threads are taken to have waited by spinning.
    pub fn tell_spins(&mut self) {
        let looks = std::mem::take(&mut self.spins.looks);
        if looks.is_empty() {
            return;
        }
        let count: u64 = looks.values().sum();
        let who = self.named(looks.into_keys().collect());
        self.warnings.push(format!(
            "{who} looked at memory again and again, {count} times without the CPU in between, while others worked: taken to wait until \
             these come as far as they had come then"
        ));
    }
}
