//! Threads that another wakes together, and waits for, again and again: those of a pool that does loops in parallel.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Call, Object, ObjectId, Operation as Op, SiteId, ThreadId, Trace};

use super::{Meeting, Part, tally::LEAST_ROUNDS, time};
use crate::{Action, Operations, Thread};

/// Those that one wakes begin together if from the first to the last it works for no more than one part in so many of what each of them does.
const TOGETHER: u64 = 4;

/// What is less than one part in so many is little.
const LITTLE: u64 = 10;

/// One round in so many may be of another form.
const OTHER_FORM: usize = 4;

/// Rounds of one master.
type Rounds = Vec<Vec<Part>>;

/// Who tells whom that it may go on.
struct Tellers<'a> {
    threads: &'a [Thread],
    operations: &'a Operations,
    /// Who tells something of each object, in order.
    by_object: Vec<Vec<u32>>,
    /// Who had to wait until it was told so, in order, and how often.
    waiting: Vec<Vec<(u32, usize)>>,
    /// What each thread tells something of.
    told: Vec<BTreeSet<ObjectId>>,
}

/// A thread that wakes others, and those that it wakes, be it through others of them.
struct Group {
    master: u32,
    members: BTreeSet<u32>,
    /// What the members wait for.
    begins: BTreeSet<ObjectId>,
    /// What nobody but the members tells of.
    ends: BTreeSet<ObjectId>,
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
    /// What it did itself.
    own: Part,
    /// What the others did.
    parts: Vec<Part>,
    /// The most that one of them did before it woke another, and that one did besides.
    late: u64,
}

/// Collects what threads do that another wakes and waits for, where it does so again and again.
pub(super) fn collect(
    trace: &Trace,
    (threads, objects): (&[Thread], &[Object]),
    operations: &Operations,
) -> BTreeMap<Meeting, Rounds> {
    let tellers = Tellers::of((threads, objects), operations);
    let masters = 0..threads.len() as u32;
    let mut groups = Vec::new();
    for group in masters.filter_map(|master| tellers.group_of(master)) {
        let times = tellers.times_of(&group);
        if times.len() >= LEAST_ROUNDS {
            groups.push((group, times));
        }
    }
    let waits = tellers.waits_of(trace, groups.iter().map(|(group, _)| group));
    let mut rounds = BTreeMap::new();
    for (group, mut times) in groups {
        tellers.add_parts(trace, &group, &waits, &mut times);
        let all = times.len();
        let plain: Rounds = times.into_iter().filter_map(Round::plain).collect();
        if plain.len() >= LEAST_ROUNDS && (all - plain.len()) * OTHER_FORM <= all {
            rounds.insert(Meeting::Waits(ThreadId(group.master)), plain);
        }
    }
    rounds
}

/// Returns whether a call comes at the end of something that its thread began by another.
fn is_behind(call: &Call) -> bool {
    matches!(call.operation, Op::Return | Op::Unlock(_))
}

/// Returns what an action waits for that another thread tells.
fn waits_for(action: Action) -> Option<ObjectId> {
    match action {
        Action::TakeToken(object) | Action::AwaitWake(object) => Some(object),
        Action::CondWait { cond, .. } => Some(cond),
        _ => None,
    }
}

/// Returns what an action tells others of.
fn tells_of(action: Action) -> Option<ObjectId> {
    match action {
        Action::GiveToken(object) | Action::Wake(object) | Action::Signal(object) => Some(object),
        Action::Broadcast { cond, .. } => Some(cond),
        _ => None,
    }
}

impl<'a> Tellers<'a> {
    fn of((threads, objects): (&'a [Thread], &[Object]), operations: &'a Operations) -> Self {
        let mut tellers = Self {
            threads,
            operations,
            by_object: vec![Vec::new(); objects.len()],
            waiting: vec![Vec::new(); objects.len()],
            told: vec![BTreeSet::new(); threads.len()],
        };
        for (number, thread) in (0..).zip(threads) {
            for position in thread.operations.clone() {
                let action = operations.action(position);
                if let Some(object) = tells_of(action) {
                    let by = &mut tellers.by_object[object.index()];
                    if by.last() != Some(&number) {
                        by.push(number);
                        tellers.told[number as usize].insert(object);
                    }
                } else if let Some(object) = waits_for(action)
                    && (operations.waited(position) || matches!(action, Action::CondWait { .. }))
                    && !objects[object.index()].is_of_team()
                {
                    let waiting = &mut tellers.waiting[object.index()];
                    match waiting.last_mut() {
                        Some((last, times)) if *last == number => *times += 1,
                        _ => waiting.push((number, 1)),
                    }
                }
            }
        }
        tellers
    }

    /// Returns those that a thread wakes, if nobody else does but they themselves, where they wait again and again.
    fn group_of(&self, master: u32) -> Option<Group> {
        let mut group = Group {
            master,
            members: BTreeSet::new(),
            begins: BTreeSet::new(),
            ends: BTreeSet::new(),
        };
        let again = |&&(_, times): &&(u32, usize)| 2 * times >= LEAST_ROUNDS;
        let mut to_do = vec![master];
        while let Some(teller) = to_do.pop() {
            for &object in &self.told[teller as usize] {
                let waiting = self.waiting[object.index()].iter().filter(again);
                let waiting: Vec<u32> = waiting.map(|&(thread, _)| thread).collect();
                let is_of_group =
                    |by: &u32| *by == master || waiting.contains(by) || group.members.contains(by);
                let is_told_by_group = self.by_object[object.index()].iter().all(is_of_group);
                if waiting.is_empty() || waiting.contains(&master) || !is_told_by_group {
                    continue;
                }
                group.begins.insert(object);
                for thread in waiting {
                    if group.members.insert(thread) {
                        to_do.push(thread);
                    }
                }
            }
        }
        let told = group.members.iter();
        let told = told.flat_map(|&member| &self.told[member as usize]);
        let by_members = |object: &&ObjectId| {
            let mut by = self.by_object[object.index()].iter();
            by.all(|teller| group.members.contains(teller))
        };
        group.ends = told.filter(by_members).copied().collect();
        (!group.ends.is_empty()).then_some(group)
    }

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
        for round in rounds.iter_mut() {
            round.own.came = time(trace, came(round.own.operation));
        }
        let longest = |_| true;
        let mut work_at: BTreeMap<Option<SiteId>, u64> = BTreeMap::new();
        for &member in &group.members {
            for part in self.parts_of(member, group, longest) {
                *work_at.entry(site(part.part.operation)).or_default() += part.part.work;
            }
        }
        let all: u64 = work_at.values().sum();
        work_at.retain(|_, work| *work * LITTLE > all);
        for &member in &group.members {
            let does_work = |position| work_at.contains_key(&site(position));
            for part in self.parts_of(member, group, does_work) {
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
    }

    /// Returns each time that the master of a group wakes its members, and waits for them, without what these do.
    fn times_of(&self, group: &Group) -> Vec<Round> {
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
                    let _ = round.own.add(operations, position);
                    (round.end, is_over) = (event, false);
                    match wakes {
                        // Who comes last itself need not wait.
                        Some(object) if !round.woken.insert(object) => has_waited = true,
                        Some(_) => {
                            round.waking += worked;
                            round.own = Part::nothing(group.master, position);
                            worked = 0;
                        }
                        None => has_waited = waits,
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
                    own: Part::nothing(group.master, position),
                    parts: Vec::new(),
                    late: 0,
                });
                (has_waited, worked) = (false, 0);
            }
        }
        if !has_waited {
            rounds.pop();
        }
        rounds
    }

    /// Returns what a member of a group does from each time that it is woken until it waits to be woken again; operations for which `does_work`
    /// is true come before others.
    fn parts_of(
        &self,
        member: u32,
        group: &Group,
        does_work: impl Fn(u32) -> bool,
    ) -> Vec<MembersPart> {
        let operations = self.operations;
        let mut parts = Vec::new();
        let mut part = MembersPart::new(member, 0);
        for position in self.threads[member as usize].operations.clone() {
            let action = operations.action(position);
            let is_begin = |object| group.begins.contains(&object);
            part.add(operations, (position, does_work(position)));
            part.wakes_when_done |= tells_of(action).is_some_and(is_begin);
            if waits_for(action).is_some_and(is_begin) {
                let next = MembersPart::new(member, position);
                parts.push(std::mem::replace(&mut part, next));
            }
        }
        parts.push(part);
        parts
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
        let all: u64 = self.parts.iter().map(|part| part.all).sum();
        let count = self.parts.len() as u64;
        let most = self.parts.iter().map(|part| part.work).max()?;
        let is_together = self.waking * TOGETHER * count <= all;
        (is_together && self.late * LITTLE <= most).then(|| {
            let mut parts = self.parts;
            parts.push(Part {
                waits: true,
                ..self.own
            });
            parts
        })
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

/// Returns whether an operation's work may be shared out: what it takes to fall asleep and to wake up is none.
fn is_work(operations: &Operations, operation: u32) -> bool {
    !matches!(operations.action(operation), Action::Rouse(_))
}
