//! Threads that another wakes together, and waits for, again and again: those of a pool that does loops in parallel.

mod groups;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use foretrace_trace::{Call, Object, ObjectId, Operation as Op, SiteId, ThreadId, Trace};

use self::groups::{Group, tells_of, waits_for};
use super::{Meeting, Part, arrivals::Dealt, pieces, tally::LEAST_ROUNDS, time};
use crate::{Action, Operations, Thread};

/// Those that one wakes begin together if from the first to the last it works for no more than one part in so many of what each of them does.
const TOGETHER: u64 = 4;

/// What is less than one part in so many is little.
const LITTLE: u64 = 10;

/// One round in so many may be of another form.
const OTHER_FORM: usize = 4;

/// Rounds of one master.
type Rounds = Vec<Vec<Part>>;

/// What groups of threads do.
struct Groups<'a> {
    threads: &'a [Thread],
    operations: &'a Operations,
    /// Which work of theirs is looked at.
    dealt: Dealt,
}

/// The events at the end of what threads wait in, in order, each with the one with which its thread came.
type Waits = Vec<(u32, u32)>;

/// One time that a thread wakes others, and waits for them.
struct Round {
    /// The event by which it wakes the first, and the one by which it goes on when it need not wait any more.
    begin: u32,
    end: u32,
    /// By what it woke them.
    woken: BTreeSet<ObjectId>,
    /// What it worked from the one by which it woke the first to the one by which it woke the last, in nanoseconds.
    waking: u64,
    /// The operations of its own from then on, until it waits for them; or wakes them again, as it comes last and need not wait.
    own: Range<u32>,
    /// Whether it waits for them.
    waits: bool,
    /// What they all did.
    parts: Vec<Part>,
    /// The most that one of them did before it woke another, and that one did besides.
    late: u64,
}

/// Collects what threads do that another wakes and waits for, where it does so again and again.
pub(super) fn collect(
    trace: &Trace,
    (threads, objects): (&[Thread], &[Object]),
    operations: &Operations,
    dealt: Dealt,
) -> BTreeMap<Meeting, Rounds> {
    let all = Groups {
        threads,
        operations,
        dealt,
    };
    let mut groups = Vec::new();
    for group in groups::find((threads, objects), operations) {
        let times = all.times_of(trace, &group);
        if times.len() >= LEAST_ROUNDS {
            groups.push((group, times));
        }
    }
    let waits = all.waits_of(trace, groups.iter().map(|(group, _)| group));
    let mut rounds = BTreeMap::new();
    for (group, mut times) in groups {
        all.add_parts(trace, &group, &waits, &mut times);
        let count = times.len();
        let plain: Rounds = times.into_iter().filter_map(Round::plain).collect();
        if plain.len() >= LEAST_ROUNDS && (count - plain.len()) * OTHER_FORM <= count {
            rounds.insert(Meeting::Waits(ThreadId(group.master)), plain);
        }
    }
    rounds
}

/// Returns whether a call comes at the end of something that its thread began by another.
fn is_behind(call: &Call) -> bool {
    matches!(call.operation, Op::Return | Op::Unlock(_))
}

impl Groups<'_> {
    /// Returns with what those came to wait that are in one of these groups.
    fn waits_of<'g>(&self, trace: &Trace, groups: impl Iterator<Item = &'g Group>) -> Waits {
        let threads = groups.flat_map(|group| group.members.iter().chain([&group.master]));
        let threads: BTreeSet<u32> = threads.copied().collect();
        let mut waits = Waits::new();
        for thread in threads {
            for position in self.threads[thread as usize].operations.clone() {
                let event = self.operations.event(position);
                let call = trace.events.get(event as usize);
                let is_after = call.is_some_and(|call| is_behind(trace.call(call)));
                if is_after && waits_for(self.operations.action(position)).is_some() {
                    waits.push((event, event));
                }
            }
        }
        waits.sort_unstable();
        let mut latest = vec![0; self.threads.len()];
        let mut to_fill = waits.iter_mut().peekable();
        for (number, event) in (0..).zip(&trace.events) {
            let latest = &mut latest[trace.call(event).thread.index()];
            while let Some((_, came)) = to_fill.next_if(|wait| wait.0 == number) {
                *came = *latest;
            }
            if !is_behind(trace.call(event)) {
                *latest = number;
            }
            if to_fill.peek().is_none() {
                break;
            }
        }
        waits
    }

    /// Adds what the members of a group did to the times that its master woke them.
    fn add_parts(&self, trace: &Trace, group: &Group, waits: &Waits, rounds: &mut [Round]) {
        let came = |position| {
            let event = self.operations.event(position);
            let wait = waits.binary_search_by_key(&event, |wait| wait.0);
            wait.map_or(event, |place| waits[place].1)
        };
        let site = |position| trace.call(trace.events.get(came(position) as usize)?).site;
        let longest = |_| true;
        let mut work_at: BTreeMap<Option<SiteId>, u64> = BTreeMap::new();
        for &member in &group.members {
            for stay in self.stays_of(member, group) {
                let part = self.part_of_member((member, group), stay, longest);
                *work_at.entry(site(part.part.operation)).or_default() += part.part.work;
            }
        }
        let all: u64 = work_at.values().sum();
        work_at.retain(|_, work| *work * LITTLE > all);
        for &member in &group.members {
            let does_work = |position| work_at.contains_key(&site(position));
            for stay in self.stays_of(member, group) {
                let part = self.part_of_member((member, group), stay, does_work);
                let came = came(part.part.operation);
                let behind = rounds.partition_point(|round| round.begin < came);
                let round = behind
                    .checked_sub(1)
                    .and_then(|place| rounds.get_mut(place));
                if let Some(round) = round.filter(|round| came < round.end) {
                    let came = time(trace, came);
                    round.add(Part { came, ..part.part }, part.wakes_when_done);
                }
            }
        }
        for round in rounds {
            let own = self.part_of(group.master, round.own.clone());
            round.parts.push(Part {
                came: time(trace, came(own.operation)),
                waits: true,
                ..own
            });
        }
    }

    /// Returns each time that the master of a group wakes its members, and waits for them, without what these do.
    fn times_of(&self, trace: &Trace, group: &Group) -> Vec<Round> {
        let operations = self.operations;
        let mut rounds: Vec<Round> = Vec::new();
        let (mut has_waited, mut is_over) = (true, true);
        let mut worked = 0;
        for position in self.threads[group.master as usize].operations.clone() {
            let action = operations.action(position);
            let event = operations.event(position);
            let is_begin = |object: &ObjectId| group.begins.contains(object);
            let wakes = tells_of(action).filter(is_begin);
            let waits = waits_for(action).is_some_and(|object| group.ends.contains(&object));
            worked += operations.work_nanos(position);
            match rounds.last_mut() {
                Some(round) if !has_waited => {
                    (round.end, is_over) = (event, false);
                    round.own.end = position + 1;
                    match wakes {
                        Some(object) if !round.woken.insert(object) => has_waited = true,
                        Some(_) => {
                            round.waking += worked;
                            round.own.start = position + 1;
                            worked = 0;
                        }
                        None => (has_waited, round.waits) = (waits, waits),
                    }
                }
                Some(round) if waits => (round.end, is_over) = (event, false),
                Some(round) if !is_over && round.end < event => {
                    (round.end, is_over) = (event, true);
                }
                _ => {}
            }
            if let Some(object) = wakes.filter(|_| has_waited) {
                rounds.push(Round {
                    begin: event,
                    end: event,
                    woken: BTreeSet::from([object]),
                    waking: 0,
                    own: position + 1..position + 1,
                    waits: false,
                    parts: Vec::new(),
                    late: 0,
                });
                (has_waited, worked) = (false, 0);
            }
        }
        if !has_waited {
            rounds.pop();
        }
        self.end_where_it_need_not_wait(trace, &mut rounds);
        rounds
    }

    /// Ends what a master did itself in rounds after which it need not wait where it finds that out: where at other times it locks before it waits. What it
    /// does from there until it wakes others again is no part of the round.
    fn end_where_it_need_not_wait(&self, trace: &Trace, rounds: &mut [Round]) {
        let is_lock = |&position: &u32| matches!(self.operations.action(position), Action::Lock(_));
        let site = |position| {
            let event = self.operations.event(position);
            trace.call(trace.events.get(event as usize)?).site
        };
        let waiting = rounds.iter().filter(|round| round.waits);
        let locks = waiting.filter_map(|round| round.own.clone().rev().find(is_lock));
        let comes_at: BTreeSet<Option<SiteId>> = locks.map(site).collect();
        for round in rounds.iter_mut().filter(|round| !round.waits) {
            let mut locks = round.own.clone().rev().filter(is_lock);
            if let Some(lock) = locks.find(|&lock| comes_at.contains(&site(lock))) {
                round.own.end = lock + 1;
            }
        }
    }

    /// Returns from which operation to which a member of a group is awake each time, until it waits to be woken again.
    fn stays_of(&self, member: u32, group: &Group) -> Vec<Range<u32>> {
        let range = self.threads[member as usize].operations.clone();
        let mut begin = range.start;
        let mut stays = Vec::new();
        for position in range.clone() {
            let waits = waits_for(self.operations.action(position));
            if waits.is_some_and(|object| group.begins.contains(&object)) {
                stays.push(begin..position + 1);
                begin = position + 1;
            }
        }
        if begin < range.end {
            stays.push(begin..range.end);
        }
        stays
    }

    /// Returns what a member of a group does in such a stay; operations for which `does_work` is true come before others.
    fn part_of_member(
        &self,
        (member, group): (u32, &Group),
        stay: Range<u32>,
        does_work: impl Fn(u32) -> bool,
    ) -> MembersPart {
        let tells = |position: u32| tells_of(self.operations.action(position));
        let wakes =
            |&position: &u32| tells(position).is_some_and(|object| group.begins.contains(&object));
        let mut part = MembersPart::new(member, stay.start);
        match self.dealt {
            Dealt::Last => {
                for position in stay {
                    part.add(self.operations, (position, does_work(position)));
                    part.wakes_when_done |= wakes(&position);
                }
            }
            Dealt::Pieces => {
                let ends = |&position: &u32| {
                    tells(position).is_some_and(|object| group.ends.contains(&object))
                };
                let woken = stay.clone().rev().find(wakes);
                let begin = woken.map_or(stay.start, |position| (position + 1).min(stay.end - 1));
                let done = (begin..stay.end).find(ends);
                let end = done.map_or(stay.end, |position| position + 1);
                let all = stay.map(|position| self.operations.work_nanos(position));
                part.part = self.part_of(member, begin..end);
                part.part.all = all.sum();
            }
        }
        part
    }

    /// Returns what a thread did by some operations.
    fn part_of(&self, thread: u32, operations: Range<u32>) -> Part {
        let mut part = Part::nothing(thread, operations.start);
        match self.dealt {
            Dealt::Last => {
                for position in operations {
                    let _ = part.add(self.operations, position);
                }
            }
            Dealt::Pieces => {
                let work = |position| self.operations.work_nanos(position);
                part.operation = operations.end.saturating_sub(1);
                let pieces = pieces::of(self.operations, part.first..=part.operation);
                part.work = pieces.into_iter().flatten().map(work).sum();
                part.all = operations.map(work).sum();
            }
        }
        part
    }
}

/// What a member of a group does from the time that it is woken until it waits to be woken again.
struct MembersPart {
    part: Part,
    /// Whether its longest work is where members mostly work.
    does_work: bool,
    /// Whether it wakes another after that.
    wakes_when_done: bool,
}

impl MembersPart {
    fn new(member: u32, operation: u32) -> Self {
        Self {
            part: Part::nothing(member, operation),
            does_work: false,
            wakes_when_done: false,
        }
    }

    /// Adds an operation.
    fn add(&mut self, operations: &Operations, (operation, does_work): (u32, bool)) {
        if does_work && !self.does_work && is_work(operations, operation) {
            // Whatever it did elsewhere.
            self.does_work = true;
            (self.part.first, self.part.operation) = (operation, operation);
            self.part.work = operations.work_nanos(operation);
            self.part.all += self.part.work;
            self.wakes_when_done = false;
        } else if does_work == self.does_work {
            self.wakes_when_done &= !self.part.add(operations, operation);
        } else {
            self.part.all += operations.work_nanos(operation);
        }
    }
}

impl Round {
    /// Adds what a member did. What it did besides, such as to find out that there is nothing to do, is little.
    fn add(&mut self, part: Part, wakes_when_done: bool) {
        if wakes_when_done {
            self.late = self.late.max(part.work);
        }
        let mut others = self.parts.iter_mut();
        let Some(own) = others.find(|other| other.thread == part.thread) else {
            self.parts.push(part);
            return;
        };
        let (longer, shorter) = if part.work > own.work {
            (part, *own)
        } else {
            (*own, part)
        };
        self.late = self.late.max(shorter.work);
        *own = Part {
            all: longer.all + shorter.all,
            ..longer
        };
    }

    /// Returns what was done in it, if it is of the form of those in which threads may share out what they do.
    fn plain(self) -> Option<Vec<Part>> {
        let others = self.parts.iter().filter(|part| !part.waits);
        let all: u64 = others.clone().map(|part| part.all).sum();
        let count = others.clone().count() as u64;
        let most = others.map(|part| part.work).max()?;
        let is_together = self.waking * TOGETHER * count <= all;
        (is_together && self.late * LITTLE <= most).then_some(self.parts)
    }
}

impl Part {
    /// Returns that of a thread that has done nothing yet.
    fn nothing(thread: u32, operation: u32) -> Self {
        Self {
            thread: thread as usize,
            first: operation,
            operation,
            work: 0,
            all: 0,
            came: 0,
            waits: false,
            later: 0,
        }
    }

    /// Adds the work of an operation, of which the longest counts; returns whether it is that so far.
    fn add(&mut self, operations: &Operations, operation: u32) -> bool {
        let work = operations.work_nanos(operation);
        let is_longest = is_work(operations, operation) && work > self.work;
        self.all += work;
        if is_longest {
            (self.first, self.operation, self.work) = (operation, operation, work);
        }
        is_longest
    }
}

/// Returns whether an operation's work may be shared out: what it takes to fall asleep and to wake up is none, nor is looking.
fn is_work(operations: &Operations, operation: u32) -> bool {
    !matches!(
        operations.action(operation),
        Action::Rouse(_) | Action::Linger
    )
}
