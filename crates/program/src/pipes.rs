//! Pipes: whoever reads waits for what another writes.
//!
//! All that is read from a pipe and written to it is recorded, whether or not it had to wait: on one CPU the writer may be ahead
//! where on several it is not. What a read got came from certain writes; it waits for the last of them. Where each write is read by
//! one thread, whole, the pipe is a queue of messages, and whoever reads next gets the next.
//!
//! # Source
//!
//! `docs/models.md`, "Pipes".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, Operation as Op, Outcome, ProcessId, ThreadId, Trace};

use crate::{
    Action,
    events::Following,
    lower::{Lowering, NONE},
    matching::{Edge, OpRef},
    served::{self, Ends},
};

/// What is known of a recording's pipes, as far as the sweep has come.
#[derive(Default)]
pub(crate) struct Pipes {
    /// The write that holds the last byte of what each read got, both by event, in the order of the reads.
    sources: Vec<(u32, u32)>,
    /// The pipes of which each write is read by one thread, whole.
    messages: BTreeSet<ObjectId>,
    /// Of these, those that are one queue with others, each with the one that stands for all.
    queues: BTreeMap<ObjectId, ObjectId>,
    /// Reads of these that go on with what another of the same thread began, by event, in order.
    continued: Vec<u32>,
    /// How far others had come, by number, where that is what a read waits for, by event.
    awaited: BTreeMap<u32, Vec<u32>>,
    /// What is to be noted of a thread when it comes to an event: CPU times and the numbers that stand for them.
    marks: BTreeMap<u32, Vec<(u64, u32)>>,
    /// The operations that others wait for.
    releases: BTreeMap<Release, OpRef>,
    /// The reads that wait.
    reads: Vec<(OpRef, ObjectId, Release)>,
}

/// What a read waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Release {
    /// A write, by event.
    Write(u32),
    /// That a thread has come as far as it had come, by number.
    Mark(u32),
}

/// A read that had to wait for what nobody saw to be written.
struct Wait {
    pipe: ObjectId,
    thread: ThreadId,
    /// The event of the read.
    read: u32,
    /// The events of the blocked call before it, and of its return.
    began: u32,
    ended: u32,
}

/// What went through one pipe.
#[derive(Default)]
struct Flow {
    /// The processes that wrote to it, or began with it as their output.
    writers: BTreeSet<ProcessId>,
    /// The threads that wrote to it.
    writing: BTreeSet<ThreadId>,
    /// The event of each write, and how many bytes had been written by it.
    writes: Vec<(u32, u64)>,
    /// The same of the reads, and their threads.
    reads: Vec<(u32, u64, ThreadId)>,
    /// Whether more was read than had been seen to be written.
    has_other_writers: bool,
}

impl Flow {
    fn written(&self) -> u64 {
        self.writes.last().map_or(0, |&(_, bytes)| bytes)
    }

    fn read(&self) -> u64 {
        self.reads.last().map_or(0, |&(_, bytes, _)| bytes)
    }

    /// Returns the reads that go on with a write which their thread began to read; `None` where some write is read by several, or
    /// together with another.
    fn continued(&self) -> Option<Vec<u32>> {
        let mut continued = Vec::new();
        let mut ends = self.writes.iter().map(|&(_, bytes)| bytes);
        let (mut begun, mut end, mut reader) = (0, 0, None);
        for &(read, until, thread) in &self.reads {
            if begun == end {
                end = ends.next()?;
                reader = Some(thread);
            } else if reader == Some(thread) {
                continued.push(read);
            } else {
                return None;
            }
            begun = until;
            if until > end {
                return None;
            }
        }
        Some(continued)
    }

    /// Returns its ends, where each is of one thread.
    fn ends(&self) -> Option<Ends> {
        let reader = self.reads.first()?.2;
        let reads_alone = self.reads.iter().all(|&(.., thread)| thread == reader);
        let mut writing = self.writing.iter();
        let (Some(&writer), None) = (writing.next(), writing.next()) else {
            return None;
        };
        reads_alone.then_some(Ends { reader, writer })
    }

    /// Returns each read with the write that it waits for.
    fn sources(&self) -> impl Iterator<Item = (u32, u32)> {
        self.reads.iter().map(|&(read, until, _)| {
            let place = self.writes.partition_point(|&(_, bytes)| bytes < until);
            (read, self.writes[place].0)
        })
    }
}

impl Pipes {
    /// Finds out which read waits for what.
    pub fn of(trace: &Trace, next: &Following) -> Self {
        let mut pipes = Self::default();
        let reads = |operation| matches!(operation, Op::PipeRead { .. });
        if !trace.calls.iter().any(|call| reads(call.operation)) {
            return pipes;
        }
        let (flows, mut waits) = gather(trace);
        for (&pipe, flow) in &flows {
            if flow.has_other_writers {
                continue;
            }
            pipes.sources.extend(flow.sources());
            if let Some(continued) = flow.continued() {
                pipes.messages.insert(pipe);
                pipes.continued.extend(continued);
            }
        }
        let messages = pipes.messages.iter();
        let ends = messages.filter_map(|&pipe| Some((pipe, flows[&pipe].ends()?)));
        pipes.queues = served::queues(trace, &ends.collect());
        pipes.sources.sort_unstable();
        pipes.continued.sort_unstable();
        waits.retain(|wait| pipes.source(wait.read).is_none());
        if !waits.is_empty() {
            pipes.mark(trace, next, &flows, waits);
        }
        pipes
    }

    /// Marks how far those who may have written had come when each of these reads went on.
    fn mark(
        &mut self,
        trace: &Trace,
        next: &Following,
        flows: &BTreeMap<ObjectId, Flow>,
        mut waits: Vec<Wait>,
    ) {
        waits.sort_unstable_by_key(|wait| wait.ended);
        let mut waits = waits.into_iter().peekable();
        let mut threads: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
        for (index, thread) in trace.threads.iter().enumerate() {
            threads.entry(thread.process).or_default().push(index);
        }
        let mut latest = vec![NONE; trace.threads.len()];
        let mut count = 0;
        for (index, event) in (0..).zip(&trace.events) {
            while let Some(wait) = waits.next_if(|wait| wait.ended == index) {
                let writers = flows[&wait.pipe].writers.iter();
                for &thread in writers.flat_map(|process| &threads[process]) {
                    let last = latest[thread];
                    if last == NONE || thread == wait.thread.index() {
                        continue;
                    }
                    if let Some((place, cpu)) = progress(trace, next, last, &wait) {
                        self.marks.entry(place).or_default().push((cpu, count));
                        self.awaited.entry(wait.read).or_default().push(count);
                        count += 1;
                    }
                }
            }
            latest[trace.call(event).thread.index()] = index;
        }
        for marks in self.marks.values_mut() {
            marks.sort_unstable();
        }
    }

    /// Returns the event of the write that a read waits for, where it is known.
    fn source(&self, read: u32) -> Option<u32> {
        let place = self.sources.binary_search_by_key(&read, |&(read, _)| read);
        place.ok().map(|place| self.sources[place].1)
    }

    /// Returns the queue that a pipe is, alone or with others; `None` where it is none.
    fn queue(&self, pipe: ObjectId) -> Option<ObjectId> {
        let queue = self.queues.get(&pipe).copied().unwrap_or(pipe);
        self.messages.contains(&pipe).then_some(queue)
    }

    /// Returns whether something is to be noted of threads that come to events.
    pub fn has_marks(&self) -> bool {
        !self.marks.is_empty()
    }
}

/// Returns what went through each pipe, and the reads before which their threads had been blocked.
fn gather(trace: &Trace) -> (BTreeMap<ObjectId, Flow>, Vec<Wait>) {
    let mut flows: BTreeMap<ObjectId, Flow> = BTreeMap::new();
    let mut waits = Vec::new();
    // The last two events of each thread.
    let mut latest = vec![[NONE; 2]; trace.threads.len()];
    for (index, event) in (0..).zip(&trace.events) {
        let call = trace.call(event);
        let before = &mut latest[call.thread.index()];
        match call.operation {
            Op::PipeWrite { pipe, bytes } => {
                let flow = flows.entry(pipe).or_default();
                flow.writers
                    .insert(trace.threads[call.thread.index()].process);
                flow.writing.insert(call.thread);
                if moves(bytes, call.outcome) {
                    let written = flow.written() + u64::from(bytes);
                    flow.writes.push((index, written));
                }
            }
            Op::PipeRead { pipe, bytes } => {
                let flow = flows.entry(pipe).or_default();
                if moves(bytes, call.outcome) {
                    let read = flow.read() + u64::from(bytes);
                    flow.reads.push((index, read, call.thread));
                    flow.has_other_writers |= read > flow.written();
                }
                let [began, ended] = *before;
                let blocked = began != NONE && {
                    let is = |event: u32| trace.call(&trace.events[event as usize]).operation;
                    is(ended) == Op::Return && matches!(is(began), Op::Io { .. })
                };
                if blocked {
                    waits.push(Wait {
                        pipe,
                        thread: call.thread,
                        read: index,
                        began,
                        ended,
                    });
                }
            }
            _ => {}
        }
        *before = [before[1], index];
    }
    (flows, waits)
}

/// Returns how far a thread, whose last event then is given, had come when a wait ended: the event before which it stood, and its CPU
/// time; `None` where it did nothing since the wait began, or CPU times are not known.
fn progress(trace: &Trace, next: &Following, last: u32, wait: &Wait) -> Option<(u32, u64)> {
    let before = &trace.events[last as usize];
    let cpu = before.cpu()?.0;
    let place = next.after(last as usize);
    let after = trace.events.get(place as usize);
    let after = after.filter(|after| trace.call(after).operation != Op::Return);
    let Some(after) = after else {
        // It had ended, or was blocked itself.
        return (last > wait.began).then_some((last, cpu));
    };
    let all = after.time.0.saturating_sub(before.time.0);
    let passed = trace.events[wait.ended as usize]
        .time
        .0
        .saturating_sub(before.time.0);
    let worked = u128::from(after.cpu()?.0.saturating_sub(cpu)) * u128::from(passed.min(all));
    let worked = worked.checked_div(u128::from(all)).unwrap_or(0);
    Some((place, cpu + u64::try_from(worked).unwrap_or(0)))
}

/// Returns whether a call moved something.
fn moves(bytes: u32, outcome: Outcome) -> bool {
    bytes > 0 && outcome == Outcome::Success
}

impl Lowering<'_> {
    /// Lowers what was written to a pipe.
    pub fn pipe_write(&mut self, index: usize, thread: u32, pipe: ObjectId, bytes: u32) {
        let outcome = self.trace.call(&self.trace.events[index]).outcome;
        if moves(bytes, outcome)
            && let Some(queue) = self.pipes.queue(pipe)
        {
            let post = self.push(index, thread, Action::GiveToken(queue));
            self.logs[queue.index()].semaphore().post(post);
            return;
        }
        let write = self.push(index, thread, Action::Pass);
        self.pipes
            .releases
            .insert(Release::Write(index as u32), write);
    }

    /// Lowers what was read from a pipe.
    pub fn pipe_read(&mut self, index: usize, thread: u32, pipe: ObjectId) {
        let event = index as u32;
        let Some(write) = self.pipes.source(event) else {
            let read = self.push(index, thread, Action::Pass);
            for mark in self.pipes.awaited.remove(&event).unwrap_or_default() {
                self.pipes.reads.push((read, pipe, Release::Mark(mark)));
            }
            return;
        };
        if let Some(queue) = self.pipes.queue(pipe) {
            if self.pipes.continued.binary_search(&event).is_ok() {
                self.push(index, thread, Action::Pass);
            } else {
                self.acquire(index, thread, Op::QueueReceive(queue));
            }
            return;
        }
        let read = self.push(index, thread, Action::Pass);
        let writer = self.trace.call(&self.trace.events[write as usize]).thread;
        if writer.0 != thread {
            self.pipes.reads.push((read, pipe, Release::Write(write)));
        }
    }

    /// Notes how far a thread has come that is about to come to an event.
    pub fn come_by_marks(&mut self, index: usize, thread: u32) {
        let marks = self.pipes.marks.remove(&(index as u32));
        for (cpu, number) in marks.unwrap_or_default() {
            let until = self.work.last_cpu(thread);
            let left = self.work.left();
            let work = left.saturating_sub(until.saturating_sub(cpu));
            self.work.set_left(left - work);
            let carried = std::mem::take(&mut self.carried[thread as usize]);
            let mark = self.push_with_work(index, thread, Action::Pass, work + carried);
            self.pipes.releases.insert(Release::Mark(number), mark);
        }
    }

    /// Returns whether a blocked call was a wait for what another thread wrote to a pipe meanwhile, which its thread read then.
    pub fn waits_for_pipe(&self, index: usize) -> bool {
        let back = self.next.after(index);
        if back == NONE {
            return false;
        }
        let read = self.next.after(back as usize);
        let write = self.pipes.source(read);
        write.is_some_and(|write| write as usize > index) || self.pipes.awaited.contains_key(&read)
    }

    /// Lets the reads wait for what they need.
    pub fn match_pipes(&mut self) {
        for (acquire, pipe, release) in std::mem::take(&mut self.pipes.reads) {
            if let Some(&release) = self.pipes.releases.get(&release) {
                self.set_action(acquire, Action::AwaitWake(pipe));
                self.set_action(release, Action::Wake(pipe));
                self.edges.push(Edge { acquire, release });
            }
        }
    }
}
