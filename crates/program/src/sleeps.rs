//! Threads that sleep, look, and sleep again, until others are done with something.
//!
//! How often such a thread sleeps depends on how long the others take, so that a replay must not repeat it. What it looks at is
//! memory, and in no recording; but when it is done with sleeping, others have come as far as they have. So it waits until those
//! that worked meanwhile have come as far again.
//!
//! A thread that paces itself, or stands for a device, sleeps as often, and for it the time itself counts. What tells the two
//! apart is what ended it: one that waits for others goes on after another has ended, or has begun to wait, since it looked
//! last; whoever stops others by the clock goes on before they do. One that waits sees what others did when its sleep is over: it goes
//! on at the next of its beats, which are as far apart as its shortest sleep is long. A thread that is ended by its process, such as one that shows
//! progress, sleeps as often as the work of the others lets it.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, Operation as Op, Outcome, ThreadId};

use crate::{
    Action, GateId, Opener, Progress, Waiting, found,
    lower::{Lowering, NONE, OpenKind},
    polls::{Looks, Waited},
};

/// Threads that sleep fewer times than this in a row are taken by their word.
pub(crate) const LEAST: u32 = 4;

/// Others have to be busy for one part in so many of the time at least.
pub(crate) const BUSY: u64 = 2;

/// A thread that worked less than one part in so many of what others did on average is none that is waited for.
pub(crate) const WORKS: u64 = 4;

/// A gate, and the event that it opens at.
pub(crate) type GateAt = (GateId, u32);

/// Waits by sleeping, as far as the sweep has come.
#[derive(Default)]
pub(crate) struct Sleeps {
    /// The gates that open when a thread comes to an event, or in the work before it.
    opens: BTreeMap<u32, Vec<Opening>>,
    /// The gates that a thread waits for when its last sleep is over, by the event of that, and the events that they open at.
    pub awaits: BTreeMap<u32, Vec<GateAt>>,
    /// The gates that a thread waits for in the work before an event, with the CPU times that it has used by then and the events that they open at.
    needs: BTreeMap<u32, Vec<(u64, GateAt)>>,
    /// How far the looks are apart, in nanoseconds, of a thread that waits so, by the event at which its last sleep is over.
    beats: BTreeMap<u32, u64>,
    /// Gates that nobody opens: their events became part of a longer wait.
    void: BTreeSet<GateId>,
    /// What each gate stands for.
    pub progress: Vec<Progress>,
    /// Until which event each thread's sleeps are known to be meant as they are.
    meant: BTreeMap<u32, u32>,
    /// How often each thread slept that is taken to have waited so.
    counts: BTreeMap<u32, u64>,
}

/// A gate that opens when its thread has come somewhere.
#[derive(Clone, Copy)]
struct Opening {
    gate: GateId,
    /// The gate that the thread itself waits for there, having opened this one.
    awaits: Option<GateId>,
    /// The CPU time that the thread has used by then, in nanoseconds; the end of time stands for the event itself.
    cpu: u64,
}

impl Sleeps {
    /// Notes that a thread waited by so many naps, the shortest so many nanoseconds long, until an event.
    pub fn note_naps(&mut self, thread: u32, count: u32, (back, shortest): (u32, u64)) {
        *self.counts.entry(thread).or_default() += u64::from(count);
        self.beats.insert(back, shortest);
    }

    /// Returns whether gates are to be opened or waited for at events to come.
    pub fn are_awaited(&self) -> bool {
        !(self.opens.is_empty() && self.awaits.is_empty() && self.needs.is_empty())
    }
}

/// Returns whether a call begins a wait for another thread, where it is not over at once.
pub(crate) fn begins_wait(operation: Op) -> bool {
    matches!(
        operation,
        Op::CondWait { .. }
            | Op::CondTimedWait { .. }
            | Op::FutexWait(_)
            | Op::FutexTimedWait(_)
            | Op::SemWait(_)
            | Op::SemTimedWait(_)
            | Op::QueueReceive(_)
            | Op::BarrierWait(_)
            | Op::Join(_)
    )
}

/// Sleeps between which a thread only looks.
#[derive(Clone, Copy)]
pub(crate) struct Slept {
    /// The last of them.
    pub end: usize,
    /// How many they are.
    pub count: u32,
    /// How long the shortest is, in nanoseconds: those that were longer waited for a CPU.
    shortest: u64,
}

/// Naps with which a thread waited for others.
pub(crate) struct Naps {
    slept: Slept,
    /// The gates that stand for how far the others came, and the events that they open at.
    gates: Vec<GateAt>,
}

/// How far a thread has come.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The event that it came to, or the one that it was on its way to.
    pub event: u32,
    /// The CPU time that it had used, in nanoseconds.
    pub cpu: u64,
    /// Whether it was on its way.
    pub is_within: bool,
}

/// What another thread did while one slept again and again.
#[derive(Clone, Copy)]
struct Other {
    /// The CPU time that it had used when the other began, in nanoseconds.
    cpu_before: u64,
    /// The same at its last event.
    cpu: u64,
    /// Its last event meanwhile.
    last: u32,
}

impl Lowering<'_> {
    /// Lowers a sleep, or a wait for files that timed out; with those that follow it, where all of them are one wait for others.
    pub fn sleep(&mut self, begin: usize, thread: u32) {
        if let Some(row) = self.spins.row_from(thread, begin as u32) {
            return self.spin(row, thread);
        }
        let site = self.trace.call(&self.trace.events[begin]).site;
        match self.naps_for_others(begin, thread, Waited::Asleep(site)) {
            Some(naps) => self.nap(begin, thread, naps, OpenKind::Other),
            None => self.pass_time((begin, begin), thread),
        }
    }

    /// Lowers naps with which a thread waited for others.
    pub fn nap(&mut self, begin: usize, thread: u32, naps: Naps, kind: OpenKind) {
        let Naps { slept, gates } = naps;
        let end = slept.end;
        self.resumes_at[thread as usize] = end as u32 + 1;
        let back = self.next.after(end);
        let recorded = self.recorded_delay(begin, end);
        let idle = self.busy.idle(recorded, begin, back as usize);
        let delay = self.delay(idle);
        let at = self.push(begin, thread, delay);
        self.set_open(at, kind);
        self.sleeps.awaits.entry(back).or_default().extend(gates);
        // One that its process ends does not look any more.
        if slept.shortest > 0 && !self.ends[thread as usize].with_process {
            self.sleeps.beats.insert(back, slept.shortest);
        }
    }

    /// Lets waits for something else last until the processes have ended whose ends their threads found then.
    pub fn wait_for_ends_found(&mut self) {
        let ends = found::ends_waited_for(self.trace, &self.next, &self.is_answered);
        for (back, ends) in ends {
            let gates = ends.into_iter().map(|end| (self.gate_at(end), end));
            let gates: Vec<GateAt> = gates.collect();
            self.sleeps.awaits.insert(back, gates);
        }
    }

    /// Opens the gates that stand for having come to an event, and waits for those that its thread waits for before it goes on.
    pub fn reach(&mut self, index: usize, thread: u32) {
        let event = index as u32;
        let is_return = self.trace.call(&self.trace.events[index]).operation == Op::Return;
        let opens = self.sleeps.opens.remove(&event).unwrap_or_default();
        let opened = opens
            .iter()
            .map(|opening| (opening.cpu, false, Action::Open(opening.gate)));
        // Who has come there itself waits for others.
        let awaited = opens
            .iter()
            .filter_map(|opening| Some((opening.cpu, true, Action::Await(opening.awaits?))));
        let needs = self.sleeps.needs.remove(&event).unwrap_or_default();
        let needed = needs
            .into_iter()
            .filter(|&(_, gate)| self.is_to_open(gate, event));
        let needed = needed.map(|(cpu, (gate, _))| (cpu, true, Action::Await(gate)));
        let mut steps: Vec<(u64, bool, Action)> = opened.chain(awaited).chain(needed).collect();
        steps.extend(self.futex_locks.within(event, thread));
        steps.sort_by_key(|&(cpu, waits, _)| (cpu, waits));
        for (cpu, _, action) in steps {
            if cpu < u64::MAX {
                // What the thread used by then is before it, the rest behind.
                let left = self.work.left();
                let behind = self.work.last_cpu(thread).saturating_sub(cpu).min(left);
                let carried = std::mem::take(&mut self.carried[thread as usize]);
                self.work.set_left(behind);
                self.push_with_work(index, thread, action, left - behind + carried);
            } else if is_return {
                // The CPU time before a return is the call's to count.
                self.push_with_work(index, thread, action, 0);
            } else {
                self.push(index, thread, action);
            }
        }
        for gate in self.sleeps.awaits.remove(&event).unwrap_or_default() {
            if self.is_to_open(gate, event) {
                self.push_with_work(index, thread, Action::Await(gate.0), 0);
            }
        }
        if let Some(nanos) = self.sleeps.beats.remove(&event) {
            let beat = self.beat(nanos);
            self.push_with_work(index, thread, beat, 0);
        }
    }

    /// Returns whether somebody opens a gate that stands for having come to an event, and that is waited for at another.
    fn is_to_open(&self, (gate, at): GateAt, event: u32) -> bool {
        let is_void = self.sleeps.void.contains(&gate);
        !is_void && (at <= event || !self.will_pass_over(at))
    }

    /// Lets the thread of an event wait for a gate in the work before it, when it has used so much CPU time. The gate opens at another event.
    pub fn need_at(&mut self, event: u32, cpu: u64, gate: GateAt) {
        self.sleeps
            .needs
            .entry(event)
            .or_default()
            .push((cpu, gate));
    }

    /// Gives up the gates of an event that became part of a longer wait, whose end may be later than those who wait for the event.
    pub fn pass_over(&mut self, index: usize) {
        self.sleeps.needs.remove(&(index as u32));
        let opens = self.sleeps.opens.remove(&(index as u32));
        let gates = opens.into_iter().flatten().map(|opening| opening.gate);
        self.sleeps.void.extend(gates);
    }

    /// Returns whether an event to come is part of a longer wait that has begun, and whose end may be later than those who wait for the event.
    fn will_pass_over(&self, event: u32) -> bool {
        let call = self.trace.call(&self.trace.events[event as usize]);
        event < self.resumes_at[call.thread.index()]
    }

    /// Tells which threads are taken to have waited by sleeping.
    pub fn tell_sleeps(&mut self) {
        for (thread, count) in std::mem::take(&mut self.sleeps.counts) {
            let name = &self.trace.threads[thread as usize].name;
            self.warnings.push(format!(
                "{name} slept {count} times while others worked, and only looked in between: taken to wait until these come as \
                 far as they had come then"
            ));
        }
    }

    /// Returns the naps of a thread that waits for what nobody ever tells: then only the time that it sets ends its waits, and it looks for
    /// something else.
    pub fn naps_until_time(
        &mut self,
        begin: usize,
        thread: u32,
        object: ObjectId,
        waited: Waited,
    ) -> Option<Naps> {
        let call = *self.trace.call(&self.trace.events[begin]);
        let is_told = self.retries.is_told(object);
        if is_told || self.outcome(begin, call) != Outcome::TimedOut {
            return None;
        }
        self.naps_for_others(begin, thread, waited)
    }

    /// Returns the naps, from one on, with which a thread waited for others: sleeps, or waits whose time ran out.
    fn naps_for_others(&mut self, begin: usize, thread: u32, waited: Waited) -> Option<Naps> {
        let meant = self.sleeps.meant.get(&thread).copied().unwrap_or(0);
        if self.trace.recording.is_none() || (begin as u32) < meant {
            return None;
        }
        let slept = self.looks_on(begin, waited);
        let Slept { end, count, .. } = slept;
        let ends_with_process = self.ends[thread as usize].with_process;
        let others =
            (count >= LEAST || ends_with_process).then(|| self.waited_for(begin, end, thread));
        let Some(others) = others.flatten() else {
            self.sleeps.meant.insert(thread, end as u32 + 1);
            return None;
        };
        *self.sleeps.counts.entry(thread).or_default() += u64::from(count);
        let gate_at = |other| (self.gate_at(other), other);
        let gates = others.into_iter().map(gate_at).collect();
        Some(Naps { slept, gates })
    }

    /// Returns the sleeps, from one on, between which a thread only looks.
    fn looks_on(&self, begin: usize, waited: Waited) -> Slept {
        let call = self.trace.call(&self.trace.events[begin]);
        let mut looks = Looks::after(self.work.last_cpu(call.thread.0));
        let mut slept = Slept {
            end: begin,
            count: 1,
            shortest: self.sleep_of(begin),
        };
        while let Some(next) = self.next_look(slept.end, waited, &mut looks) {
            slept.end = next;
            slept.count += 1;
            slept.shortest = slept.shortest.min(self.sleep_of(next));
        }
        slept
    }

    /// Returns how long a sleep takes where its thread gets a CPU at once, in nanoseconds.
    fn sleep_of(&self, index: usize) -> u64 {
        self.gone_by_itself((index, index))
    }

    /// Returns the last events of the threads that worked while a thread slept, if it was them whom it waited for.
    fn waited_for(&self, begin: usize, end: usize, sleeper: u32) -> Option<Vec<u32>> {
        self.return_of(end)?;
        let back = self.next.after(end) as usize;
        let slept = self.recorded_delay(begin, end);
        if self.busy.idle(slept, begin, back) > slept / BUSY {
            return None;
        }
        let mut others: BTreeMap<u32, Other> = BTreeMap::new();
        for index in begin + 1..back {
            let event = &self.trace.events[index];
            let thread = self.trace.call(event).thread.0;
            if thread == sleeper {
                continue;
            }
            let cpu_before = self.work.last_cpu(thread);
            let other = others.entry(thread).or_insert(Other {
                cpu_before,
                cpu: cpu_before,
                last: 0,
            });
            other.cpu = event.cpu().map_or(other.cpu, |cpu| cpu.0);
            other.last = index as u32;
        }
        others.retain(|_, other| other.cpu > other.cpu_before);
        let worked = |other: &Other| other.cpu - other.cpu_before;
        let all: u64 = others.values().map(worked).sum();
        let count = others.len() as u64;
        // Who waits for the end of the one that sleeps is waited for, however little it worked: it told that one to end.
        let joins = |other: &Other| {
            let call = self.trace.call(&self.trace.events[other.last as usize]);
            call.operation == Op::Join(ThreadId(sleeper))
        };
        others
            .retain(|_, other| joins(other) || worked(other).saturating_mul(WORKS * count) >= all);
        let ended = self.ends[sleeper as usize].with_process
            || others
                .values()
                .any(|other| other.last > end as u32 && self.stops_at(other.last as usize, back));
        ended.then(|| others.values().map(|other| other.last).collect())
    }

    /// Returns whether an event is its thread's end, or begins a wait that was not over at another event.
    fn stops_at(&self, index: usize, then: usize) -> bool {
        let operation = self.trace.call(&self.trace.events[index]).operation;
        let next = self.next.after(index);
        let goes_on = next == NONE || next as usize <= then;
        operation == Op::Terminate
            || !goes_on && self.is_answered.contains(index) && begins_wait(operation)
    }

    /// Returns a gate that opens when the thread of an event has come to it.
    fn gate_at(&mut self, event: u32) -> GateId {
        let at = Place {
            event,
            cpu: 0,
            is_within: false,
        };
        self.gate_in(at, Waiting::Sleeping)
    }

    /// Returns a gate that opens when a thread has come somewhere.
    pub fn gate_in(&mut self, place: Place, wait: Waiting) -> GateId {
        let threads = self.trace.threads.len();
        let call = self.trace.call(&self.trace.events[place.event as usize]);
        if call.operation == Op::Terminate && !place.is_within {
            return GateId::of(Opener::End(call.thread), threads);
        }
        let gate = self.arrival_of(call.thread.0, wait);
        let cpu = if place.is_within { place.cpu } else { u64::MAX };
        let opens = self.sleeps.opens.entry(place.event).or_default();
        opens.push(Opening {
            gate,
            awaits: None,
            cpu,
        });
        gate
    }

    /// Returns a gate that opens when a thread has come somewhere, which waits there until `arrived` is open.
    pub fn meeting_in(&mut self, place: Place, wait: Waiting, arrived: GateId) -> GateId {
        let gate = self.gate_in(place, wait);
        let opens = self.sleeps.opens.get_mut(&place.event);
        let opening = opens.and_then(|opens| opens.last_mut());
        if let Some(opening) = opening.filter(|opening| opening.gate == gate) {
            opening.awaits = Some(arrived);
        }
        gate
    }

    /// Returns a gate that a thread itself opens, for one that waits in such a way until it has come there.
    pub fn arrival_of(&mut self, thread: u32, wait: Waiting) -> GateId {
        let number = self.sleeps.progress.len() as u32;
        self.sleeps.progress.push(Progress {
            thread: ThreadId(thread),
            wait,
        });
        GateId::of(Opener::Progress(number), self.trace.threads.len())
    }
}
