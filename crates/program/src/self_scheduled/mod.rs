//! Loops whose iterations threads take by themselves, as by an atomic counter, which no call tells (self-scheduling).
//!
//! Threads that meet after such a loop have done as much of it each as they had the CPU: on one CPU who runs first does most. Replayed as recorded, all would
//! wait for that one, though on more CPUs all would have taken iterations until none was left.
//!
//! What tells is when they come to meet. Who has a part of its own comes when that is done, and the others still have what theirs have more, at least: on one CPU
//! they had no more of it by then, but for a slice. Who takes iterations comes when none is left, and so do all others, up to the one that they are at. So the
//! hypothesis holds where from who comes first to who comes last less time goes by, in all rounds together, than the others did more than who did least, and in a quarter
//! of the rounds much less. Only those count that did a quarter of what who did most did, at least: a single one that works, while others come to wait, says nothing.
//!
//! # Source
//!
//! `docs/models.md`, "Self-scheduling".

mod arrivals;
mod ends;
mod forks;
mod period;
mod pieces;
mod tally;

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Object, ObjectId, SiteId, ThreadId, Trace};

use self::{
    arrivals::{Arrivals, Dealt},
    tally::{Tallies, Tally},
};
use crate::{Operation, Operations, Structure, Thread};

/// What a thread did before it met others.
#[derive(Clone, Copy)]
struct Part {
    thread: usize,
    /// The operation whose work it is; where it is in pieces, the first and the last of those whose work outside of locks it is.
    first: u32,
    operation: u32,
    work: u64,
    /// All that it did since it met others before.
    all: u64,
    /// When it came, in nanoseconds.
    came: u64,
    /// Whether it waits for the others, which do not wait for it.
    waits: bool,
    /// For how long its creator worked after it had created the first of them, in nanoseconds.
    later: u64,
}

/// Where threads meet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meeting {
    /// At a barrier or a latch, by calls of these places.
    At(ObjectId, Vec<Option<SiteId>>),
    /// At their ends, those that this thread creates together to do the same.
    Ends(ThreadId, Option<SiteId>),
    /// Where this thread, which wakes them, waits for them.
    Waits(ThreadId),
}

/// Threads that share out what they do before they meet.
pub(crate) struct Crew {
    pub meeting: Meeting,
    pub threads: usize,
    pub rounds: usize,
}

impl Crew {
    fn new(meeting: Meeting, tally: &Tally) -> Self {
        Self {
            meeting,
            threads: tally.threads,
            rounds: tally.rounds,
        }
    }
}

/// What is dealt out.
#[derive(Default)]
pub(crate) struct DealtOut {
    pub crews: Vec<Crew>,
    /// The operations whose work it is: of pieces the last.
    operations: BTreeSet<u32>,
}

impl DealtOut {
    /// Returns whether it is most of what some threads do.
    pub fn is_most_of<'a>(
        &self,
        threads: impl Iterator<Item = &'a Thread>,
        operations: &Operations,
    ) -> bool {
        let (mut dealt, mut all) = (0, 0);
        let work = |position| operations.work_nanos(position);
        for thread in threads {
            let own = self.operations.range(thread.operations.clone());
            dealt += own.map(|&position| work(position)).sum::<u64>();
            all += thread.operations.clone().map(work).sum::<u64>();
        }
        2 * dealt > all
    }
}

/// Deals out anew what threads shared out by themselves.
pub(crate) fn deal_out(
    trace: &Trace,
    parts: (&[Thread], &[Object]),
    structures: &[Structure],
    operations: &mut Operations,
) -> DealtOut {
    let mut dealer = Dealer {
        operations,
        out: DealtOut::default(),
    };
    for (id, arrivals) in arrivals::collect(trace, parts, structures, dealer.operations) {
        dealer.deal_out_at(trace, (id, &arrivals), Dealt::Last);
    }
    for (meeting, rounds) in ends::collect(trace, parts.0, dealer.operations) {
        dealer.deal_out_in(rounds, &meeting, Dealt::Last);
    }
    for (meeting, rounds) in forks::collect(trace, parts, dealer.operations, Dealt::Last) {
        dealer.deal_out_in(rounds, &meeting, Dealt::Last);
    }
    dealer.out
}

/// The same where threads take work in pieces, with sections of locks in between, but for threads that are made anew each time. What is dealt out already stays as it
/// is, and so does what threads do that `are_others`, as workers of a pool: what these take is known.
pub(crate) fn deal_out_pieces(
    trace: &Trace,
    parts: (&[Thread], &[Object]),
    structures: &[Structure],
    operations: &mut Operations,
    (out, are_others): (DealtOut, impl Fn(u32) -> bool),
) -> DealtOut {
    let known: Vec<Meeting> = out.crews.iter().map(|crew| crew.meeting.clone()).collect();
    let is_known_at = |object| {
        let mut known = known.iter();
        known.any(|meeting| matches!(meeting, Meeting::At(id, _) if *id == object))
    };
    let mut dealer = Dealer { operations, out };
    for (id, arrivals) in arrivals::collect(trace, parts, structures, dealer.operations) {
        if !is_known_at(id) && !arrivals.threads().into_iter().any(&are_others) {
            dealer.deal_out_at(trace, (id, &arrivals), Dealt::Pieces);
        }
    }
    for (meeting, rounds) in forks::collect(trace, parts, dealer.operations, Dealt::Pieces) {
        let mut parts = rounds.iter().flatten();
        if !known.contains(&meeting) && !parts.any(|part| are_others(part.thread as u32)) {
            dealer.deal_out_in(rounds, &meeting, Dealt::Pieces);
        }
    }
    dealer.out
}

/// Deals out anew what threads shared out by themselves.
struct Dealer<'a> {
    operations: &'a mut Operations,
    out: DealtOut,
}

impl Dealer<'_> {
    /// Deals out what is shared out in such rounds, but for those of which some is dealt out already.
    fn deal_out_in(&mut self, mut rounds: Vec<Vec<Part>>, meeting: &Meeting, dealt: Dealt) {
        let known = &self.out.operations;
        let is_dealt = |part: &Part| known.range(part.first..=part.operation).next().is_some();
        rounds.retain(|round| !round.iter().any(is_dealt));
        let all = |round: &Vec<Part>| round.iter().map(|part| part.all).sum();
        let work: Vec<u64> = rounds.iter().map(all).collect();
        let period = period::of(&work);
        let mut kinds = vec![Vec::new(); period];
        for (number, round) in rounds.into_iter().enumerate() {
            kinds[number % period].push(round);
        }
        for mut rounds in kinds {
            let mut tallies = Tallies::default();
            for round in &rounds {
                tallies.add(round, dealt);
            }
            let tally = tallies.of_takers();
            let Some(left) = tally.left_when_none_is() else {
                continue;
            };
            let without = tallies.leaves_waiting_out();
            for round in &mut rounds {
                round.retain(|part| !(without && part.waits));
                // Who came last may have told the one that waits for all, and is to come last again.
                round.sort_by_key(|part| part.came);
                let is_taken = match meeting {
                    Meeting::Waits(_) => tally.is_taken_by_those_woken(round),
                    _ => tally.is_taken(round),
                };
                if is_taken {
                    self.even_out(round, (0, left));
                }
            }
            self.out.crews.push(Crew::new(meeting.clone(), tally));
        }
    }

    /// The same of those that meet at a barrier or a latch.
    fn deal_out_at(&mut self, trace: &Trace, (id, arrivals): (ObjectId, &Arrivals), dealt: Dealt) {
        let (mut parts, mut places) = (Vec::new(), Vec::new());
        let kinds = kinds_of_rounds(trace, arrivals, self.operations);
        let mut tallies: BTreeMap<usize, (Vec<Option<SiteId>>, Tallies)> = BTreeMap::new();
        for (number, &kind) in kinds.iter().enumerate() {
            let operations = &*self.operations;
            if arrivals.round(number, (trace, operations, dealt), &mut parts, &mut places) {
                let (_, tallies) = tallies
                    .entry(kind)
                    .or_insert_with(|| (places.clone(), Tallies::default()));
                tallies.add(&parts, dealt);
            }
        }
        // How much is left, whether those that wait have no part, and how many rounds there were so far.
        let mut holds: BTreeMap<usize, (&Tally, u64, bool, usize)> = BTreeMap::new();
        for (&kind, (places, tallies)) in &tallies {
            let tally = tallies.of_takers();
            if let Some(left) = tally.left_when_none_is() {
                let meeting = Meeting::At(id, places.clone());
                self.out.crews.push(Crew::new(meeting, tally));
                holds.insert(kind, (tally, left, tallies.leaves_waiting_out(), 0));
            }
        }
        if holds.is_empty() {
            return;
        }
        for (number, kind) in kinds.iter().enumerate() {
            let operations = &*self.operations;
            let is_one_each =
                arrivals.round(number, (trace, operations, dealt), &mut parts, &mut places);
            if let Some((tally, left, without, count)) = holds.get_mut(kind).filter(|_| is_one_each)
            {
                parts.retain(|part| !(*without && part.waits));
                if tally.is_taken(&parts) {
                    self.even_out(&parts, (*count, *left));
                    *count += 1;
                }
            }
        }
    }

    /// Shares out a round's work so that all come at a time, but for what each still has to do when no iterations are left: from nothing up to an iteration.
    fn even_out(&mut self, round: &[Part], (number, left): (usize, u64)) {
        let threads = round.len() as u64;
        let all: u64 = round.iter().map(|part| part.work).sum();
        let iteration = (2 * left).min(all / threads);
        let ends = |place: usize| {
            let place = (place + number) as u64 % threads;
            iteration * (2 * place + 1) / (2 * threads)
        };
        let later: u64 = round.iter().map(|part| part.later).sum();
        let at_end: u64 = (0..round.len()).map(ends).sum();
        let until = (all + later).saturating_sub(at_end) / threads;
        let mut rest = all;
        for (place, part) in round.iter().enumerate() {
            let is_last = place + 1 == round.len();
            let own = until.saturating_sub(part.later) + ends(place);
            let work_nanos = if is_last { rest } else { own.min(rest) };
            rest -= work_nanos;
            self.give(part, work_nanos);
        }
    }

    /// Gives a part so much work: each of its pieces the same share of what it was.
    fn give(&mut self, part: &Part, mut work_nanos: u64) {
        self.out.operations.insert(part.operation);
        let range = part.first..=part.operation;
        let mut pieces = pieces::of(self.operations, range).unwrap_or_default();
        let last = pieces.pop().unwrap_or(part.operation);
        let all = u128::from(part.work.max(1));
        let given = u128::from(work_nanos);
        for piece in pieces {
            let share = u128::from(self.operations.work_nanos(piece)) * given / all;
            let work = u64::try_from(share).unwrap_or(u64::MAX);
            let work = work.min(work_nanos);
            self.set(piece, work);
            work_nanos -= work;
        }
        self.set(last, work_nanos);
    }

    fn set(&mut self, position: u32, work_nanos: u64) {
        let operation = self.operations.get(position);
        let operation = Operation {
            work_nanos,
            ..operation
        };
        self.operations.set(position, operation);
    }
}

/// Returns of what kind each round is. Those of a kind end by calls of the same places; and where all of these are in one function that stands for a
/// barrier, they are each so many rounds apart, as the work tells that is done before.
fn kinds_of_rounds(trace: &Trace, arrivals: &Arrivals, operations: &Operations) -> Vec<usize> {
    let (mut parts, mut places) = (Vec::new(), Vec::new());
    // Mostly a round's places are those of the one before.
    let mut known: BTreeMap<Vec<Option<SiteId>>, Vec<(usize, u64)>> = BTreeMap::new();
    for number in 0..arrivals.rounds() {
        let of = (trace, operations, Dealt::Last);
        let _ = arrivals.round(number, of, &mut parts, &mut places);
        let all = parts.iter().map(|part| part.all).sum();
        match known.get_mut(&places) {
            Some(rounds) => rounds.push((number, all)),
            None => _ = known.insert(places.clone(), vec![(number, all)]),
        }
    }
    let mut kinds = vec![0; arrivals.rounds()];
    let mut first = 0;
    for rounds in known.values() {
        let work: Vec<u64> = rounds.iter().map(|&(_, work)| work).collect();
        let period = period::of(&work);
        for (place, &(number, _)) in rounds.iter().enumerate() {
            kinds[number] = first + place % period;
        }
        first += period;
    }
    kinds
}

/// Returns when an event was, in nanoseconds.
fn time(trace: &Trace, event: u32) -> u64 {
    let event = trace.events.get(event as usize);
    event.map_or(0, |event| event.time.0)
}
