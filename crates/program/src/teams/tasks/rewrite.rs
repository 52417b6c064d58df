//! A trace as it would have been recorded if other members of a team had done the tasks.

use std::collections::{BTreeSet, HashMap};

use foretrace_trace::{
    Call, CallId, Event, Nanos, ObjectId, Operation as Op, Outcome, ThreadId, Trace,
};

use super::{
    super::meetings::{CpuTimes, Mark, Team},
    DealtOut,
    collect::{Block, NO_EVENT, Then},
    schedule::Part,
};

/// Writes a trace anew, with these blocks of events done as is said there.
pub(super) fn rewrite(trace: &Trace, marks: &[Option<(Team, Mark)>], blocks: &[Block]) -> DealtOut {
    let mut writer = Writer {
        trace,
        marks,
        calls: trace.calls.clone(),
        known: HashMap::new(),
        cpu: vec![0; trace.threads.len()],
        events: Vec::with_capacity(trace.events.len()),
        recorded: Vec::with_capacity(trace.events.len()),
        free: BTreeSet::new(),
        most: 0,
    };
    let is_moved = moved(trace, blocks);
    let mut blocks = blocks.iter().peekable();
    let mut cpu = CpuTimes::new(trace.threads.len());
    for (index, event) in (0..).zip(&trace.events) {
        if let Some(block) = blocks.next_if(|block| block.at == index) {
            writer.block(block);
        }
        let work = cpu.before(trace.call(event).thread, event);
        if !is_moved[index as usize] {
            writer.as_recorded(index, work);
        }
    }
    let Writer {
        calls,
        events,
        recorded,
        ..
    } = writer;
    DealtOut {
        trace: Trace {
            calls,
            events,
            ..trace.clone()
        },
        recorded,
    }
}

/// Returns of each event whether it is in a block.
fn moved(trace: &Trace, blocks: &[Block]) -> Vec<bool> {
    let mut is_moved = vec![false; trace.events.len()];
    for block in blocks {
        let steps = block.tasks.iter().flat_map(|task| &task.steps);
        for step in steps {
            for &(event, _) in step.events.iter().filter(|(event, _)| *event != NO_EVENT) {
                is_moved[event as usize] = true;
            }
            if let Then::Wait { event, back, .. } = step.then {
                is_moved[event as usize] = true;
                is_moved[back as usize] = true;
            }
        }
        for &arrival in &block.arrivals {
            is_moved[arrival as usize] = true;
        }
    }
    is_moved
}

struct Writer<'a> {
    trace: &'a Trace,
    marks: &'a [Option<(Team, Mark)>],
    calls: Vec<Call>,
    /// Calls that were added.
    known: HashMap<Call, CallId>,
    /// The CPU time of each thread so far.
    cpu: Vec<u64>,
    events: Vec<Event>,
    recorded: Vec<u32>,
    /// Numbers below `most` that no task of a block has.
    free: BTreeSet<u64>,
    most: u64,
}

impl Writer<'_> {
    /// Writes an event as it was recorded, with the CPU time before it.
    fn as_recorded(&mut self, index: u32, work: u64) {
        let event = &self.trace.events[index as usize];
        let thread = self.trace.call(event).thread;
        self.cpu[thread.index()] += work;
        let cpu = event.cpu().map(|_| Nanos(self.cpu[thread.index()]));
        self.events.push(Event::new(event.time, cpu, event.call));
        self.recorded.push(index);
    }

    /// Writes an event of a block, which is at that time and another call now.
    fn event(&mut self, (index, time): (u32, Nanos), call: Call) {
        let event = &self.trace.events[index as usize];
        let id = if call == *self.trace.call(event) {
            event.call
        } else {
            let calls = &mut self.calls;
            *self.known.entry(call).or_insert_with(|| {
                calls.push(call);
                CallId::from_index(calls.len() - 1)
            })
        };
        let cpu = Nanos(self.cpu[call.thread.index()]);
        self.events.push(Event::new(time, Some(cpu), id));
        self.recorded.push(index);
    }

    /// Writes that a thread waits for the end of a task, at an event of its own.
    fn wait(
        &mut self,
        (index, time): (u32, Nanos),
        (thread, loops): (ThreadId, ObjectId),
        number: u64,
    ) {
        let wait = Call {
            thread,
            operation: Op::DoacrossWait {
                loops,
                iteration: 2 * number + 1,
            },
            outcome: Outcome::Success,
            ..*self.trace.call(&self.trace.events[index as usize])
        };
        self.event((index, time), wait);
    }

    fn block(&mut self, block: &Block) {
        let time = self.trace.events[block.at as usize].time;
        let call = |index: u32| *self.trace.call(&self.trace.events[index as usize]);
        let mut numbers = vec![0; block.tasks.len()];
        // The tasks that each made and did not wait for yet.
        let mut made: Vec<Vec<usize>> = vec![Vec::new(); block.tasks.len()];
        let mut is_waited_for = vec![false; block.tasks.len()];
        self.free.clear();
        self.most = 0;
        for &Part { thread, task, step } in &block.parts {
            let steps = &block.tasks[task].steps;
            if let Some(before) = step.checked_sub(1)
                && let Then::Wait { event, all, .. } = steps[before].then
            {
                for waited in waited_for(&mut made, task, all) {
                    self.wait((event, time), (thread, block.object), numbers[waited]);
                    self.free.insert(numbers[waited]);
                    is_waited_for[waited] = true;
                }
            }
            if step == 0 {
                let begun = block.tasks[task].begun;
                let needs = block.tasks[task].needs.iter();
                // The number of one that is done, as its maker knows, may be another's.
                for &before in needs.filter(|before| !is_waited_for[**before]) {
                    self.wait((begun, time), (thread, block.object), numbers[before]);
                }
            }
            let step = &steps[step];
            if let Then::Make(child) = step.then {
                made[task].push(child);
                numbers[child] = self.free.pop_first().unwrap_or_else(|| {
                    self.most += 1;
                    self.most
                });
            }
            for &(event, work) in &step.events {
                self.cpu[thread.index()] += work;
                if event == NO_EVENT {
                    continue;
                }
                let recorded = call(event);
                let mark = self.marks[self.trace.events[event as usize].call.index()];
                let number = match (mark.map(|(_, mark)| mark), step.then) {
                    (Some(Mark::Makes(_)), Then::Make(child)) => Some(2 * numbers[child]),
                    (Some(Mark::Starts(_)), _) => Some(2 * numbers[task]),
                    (Some(Mark::Finishes(_)), _) => Some(2 * numbers[task] + 1),
                    _ => None,
                };
                let moved = Call {
                    thread,
                    operation: number.map_or(recorded.operation, |number| {
                        with_number(recorded.operation, number)
                    }),
                    ..recorded
                };
                self.event((event, time), moved);
            }
        }
        for &arrival in &block.arrivals {
            self.event((arrival, time), call(arrival));
        }
    }
}

/// Returns a mark of a task with another number.
fn with_number(operation: Op, number: u64) -> Op {
    match operation {
        Op::DoacrossPost { loops, .. } => Op::DoacrossPost {
            loops,
            iteration: number,
        },
        Op::DoacrossWait { loops, .. } => Op::DoacrossWait {
            loops,
            iteration: number,
        },
        other => other,
    }
}

/// Takes out the tasks that one made, or also all that these made, which it waits for.
fn waited_for(made: &mut [Vec<usize>], task: usize, all: bool) -> Vec<usize> {
    let mut waited = std::mem::take(&mut made[task]);
    let mut next = 0;
    while all && next < waited.len() {
        let more = std::mem::take(&mut made[waited[next]]);
        waited.extend(more);
        next += 1;
    }
    waited
}
