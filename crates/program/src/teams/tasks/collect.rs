//! What a team's members did between two meetings, task by task.

use std::collections::{BTreeMap, HashMap};

use foretrace_trace::{Call, ObjectId, Operation as Op, Outcome, ThreadId, Trace};

use super::{
    super::meetings::{CpuTimes, Mark, Meetings, Team},
    ready::Runtime,
    schedule,
};

/// What is done anew: all that happened in a team between two meetings.
pub(super) struct Block {
    /// The last arrival, before which it is put.
    pub at: u32,
    /// What stands for the team's tasks.
    pub object: ObjectId,
    /// The tasks: first those of the members, which begin with the region or at the meeting before.
    pub tasks: Vec<Task>,
    /// Who does which part of which task, each after all that it needs.
    pub parts: Vec<schedule::Part>,
    /// The arrivals of the members, in the recorded order.
    pub arrivals: Vec<u32>,
}

/// A task.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// The one that it was made in; `None` of a member's own.
    pub parent: Option<usize>,
    /// The event that it begins with.
    pub begun: u32,
    pub steps: Vec<Step>,
    /// Those that have to be done before it begins.
    pub needs: Vec<usize>,
}

/// The tasks that use an address, as far as later ones that do depend on them.
#[derive(Default)]
struct Users {
    writer: Option<usize>,
    /// Those that read it since.
    readers: Vec<usize>,
}

impl Users {
    /// Adds one. Returns those that it depends on.
    fn add(&mut self, task: usize, writes: bool) -> Vec<usize> {
        if !writes {
            self.readers.push(task);
            return self.writer.into_iter().collect();
        }
        let last = self.writer.replace(task);
        let mut before = std::mem::take(&mut self.readers);
        if before.is_empty() {
            before.extend(last);
        }
        before
    }
}

/// A part of a task that its thread does in one go.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// Its events, with the CPU time before each; [`NO_EVENT`] for time that no event follows.
    pub events: Vec<(u32, u64)>,
    /// Its CPU time that is work.
    pub work: u64,
    /// What it ends with.
    pub then: Then,
}

/// In place of an event.
pub(super) const NO_EVENT: u32 = u32::MAX;

/// What a part of a task ends with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Then {
    /// It is not known yet.
    #[default]
    Unknown,
    /// Another task is made.
    Make(usize),
    /// It waits for the tasks that it made, or also for all that these made.
    Wait {
        /// The event, and its return.
        event: u32,
        back: u32,
        /// Whether for all.
        all: bool,
        /// Whether its thread does meanwhile what these made, or only those that it made.
        helps: bool,
    },
    /// The task is done.
    End,
    /// A member arrives.
    Arrive,
}

/// Returns what can be done anew, in the order of the last arrivals.
pub(super) fn blocks(
    trace: &Trace,
    marks: &[Option<(Team, Mark)>],
    runtime: Runtime,
) -> Vec<Block> {
    let mut sweep = Sweep {
        trace,
        runtime,
        meetings: Meetings::new(trace.threads.len()),
        cpu: CpuTimes::new(trace.threads.len()),
        last: vec![None; trace.threads.len()],
        blocks: Vec::new(),
    };
    for (index, event) in (0..).zip(&trace.events) {
        sweep.event(index, marks[event.call.index()]);
    }
    sweep.blocks
}

/// The way through the events.
struct Sweep<'t> {
    trace: &'t Trace,
    runtime: Runtime,
    meetings: Meetings<Meeting>,
    cpu: CpuTimes,
    /// The mark that each thread's last event was.
    last: Vec<Option<Mark>>,
    blocks: Vec<Block>,
}

/// What is known of all that happened between two meetings.
#[derive(Default)]
struct Meeting {
    /// Whether something happened that cannot be done anew.
    is_unknown: bool,
    /// What stands for the team's tasks.
    object: Option<ObjectId>,
    tasks: Vec<Task>,
    /// The tasks that were made and not begun, by number.
    made: HashMap<u64, usize>,
    /// Which of the tasks that a task made use an address.
    users: HashMap<(usize, u64), Users>,
    members: BTreeMap<ThreadId, Member>,
    arrivals: Vec<u32>,
}

/// What a member is at.
struct Member {
    /// Its own task, and those that it began since, each while the one before waits.
    stack: Vec<usize>,
    /// Whether it has just ended a task: what it does until it begins another is to look for that.
    looks: bool,
}

impl Sweep<'_> {
    fn event(&mut self, index: u32, marked: Option<(Team, Mark)>) {
        let event = &self.trace.events[index as usize];
        let call = *self.trace.call(event);
        let thread = call.thread;
        let work = self.cpu.before(thread, event);
        if let Some(meeting) = self.meetings.arrived_at(thread) {
            // It goes on before all are there, as far as is recorded.
            meeting.is_unknown = true;
        }
        let mark = marked.map(|(_, mark)| mark);
        let last = std::mem::replace(&mut self.last[thread.index()], mark);
        if let Some((team, mark)) = marked {
            if self.meetings.is_elsewhere(thread, team) {
                if let Some(meeting) = self.meetings.of(thread) {
                    meeting.is_unknown = true;
                }
                if !matches!(mark, Mark::Calls | Mark::Comes) {
                    self.meetings.leave(thread);
                }
            }
            match mark {
                Mark::Calls if last != Some(Mark::Calls) => {
                    self.meetings.begin_region(thread, team);
                    return;
                }
                // These stay where they are.
                Mark::Calls => return,
                Mark::Comes => return self.meetings.come(thread, team),
                _ => {}
            }
        }
        let Some(meeting) = self.meetings.of(thread) else {
            return;
        };
        meeting.is_unknown |= event.cpu().is_none();
        let waited = matches!(last, Some(Mark::Arrives(_) | Mark::WaitsForTasks));
        match mark {
            None if call.operation == Op::Return && waited => {
                meeting.came_back(thread, (index, work), &call, last);
            }
            Some(mark) => {
                if let (Mark::Makes(_), Some(object)) = (mark, call.operation.object()) {
                    meeting.object = Some(object);
                }
                meeting.mark(thread, (index, work), mark);
            }
            None if can_be_moved(&call) => meeting.add(thread, (index, work), work),
            None => meeting.stay(thread, (index, work)),
        }
        if let Some(Mark::Arrives(size)) = mark
            && let Some(meeting) = self.meetings.arrive(thread, size)
            && let Some(block) = meeting.into_block((index, size), self.runtime)
        {
            self.blocks.push(block);
        }
    }
}

/// Returns whether another thread can be taken to have made a call, and at another time.
fn can_be_moved(call: &Call) -> bool {
    matches!(
        call.operation,
        Op::Lock(_)
            | Op::TryLock(_)
            | Op::TimedLock(_)
            | Op::Unlock(_)
            | Op::SpinLock(_)
            | Op::SpinTryLock(_)
            | Op::SpinUnlock(_)
            | Op::ReadLock(_)
            | Op::TryReadLock(_)
            | Op::WriteLock(_)
            | Op::TryWriteLock(_)
            | Op::RwUnlock(_)
            | Op::LockSections { .. }
            | Op::TryLocks { .. }
            // A region whose team came out smaller than it might have.
            | Op::SemTryWait(_)
            | Op::Return
    )
}

impl Meeting {
    /// Returns what a thread is at, and whether it has just ended a task.
    fn member(&mut self, thread: ThreadId, index: u32) -> &mut Member {
        let tasks = &mut self.tasks;
        self.members.entry(thread).or_insert_with(|| {
            tasks.push(Task {
                parent: None,
                begun: index,
                steps: vec![Step::default()],
                needs: Vec::new(),
            });
            Member {
                stack: vec![tasks.len() - 1],
                looks: false,
            }
        })
    }

    /// Returns the part of a task that a thread is at.
    fn step(&mut self, thread: ThreadId, index: u32) -> Option<&mut Step> {
        let task = *self.member(thread, index).stack.last()?;
        self.tasks[task].steps.last_mut()
    }

    /// A thread did something in the task that it is at, of which so much was work.
    fn add(&mut self, thread: ThreadId, event: (u32, u64), work: u64) {
        self.member(thread, event.0).looks = false;
        if let Some(step) = self.step(thread, event.0) {
            step.events.push(event);
            step.work += work;
        }
    }

    /// A thread did something that has to stay where it is, and so has all that it did before.
    fn stay(&mut self, thread: ThreadId, (index, work): (u32, u64)) {
        self.add(thread, (NO_EVENT, work), work);
        let task = self.member(thread, index).stack[0];
        let is_first =
            self.tasks[task].steps.len() == 1 && self.member(thread, index).stack.len() == 1;
        self.is_unknown |= !is_first;
        if let Some(step) = self.step(thread, index).filter(|_| is_first) {
            step.events.clear();
        }
    }

    /// The part of a task that a thread is at ends, and perhaps another follows.
    fn end_step(&mut self, thread: ThreadId, index: u32, then: Then) {
        let Some(&task) = self.member(thread, index).stack.last() else {
            return;
        };
        let steps = &mut self.tasks[task].steps;
        if let Some(step) = steps.last_mut() {
            step.then = then;
        }
        if !matches!(then, Then::End | Then::Arrive) {
            steps.push(Step::default());
        }
    }

    fn mark(&mut self, thread: ThreadId, (index, work): (u32, u64), mark: Mark) {
        match mark {
            Mark::Makes(number) => {
                self.add(thread, (index, work), work);
                let parent = self.member(thread, index).stack.last().copied();
                let made = self.tasks.len();
                self.tasks.push(Task {
                    parent,
                    begun: 0,
                    steps: vec![Step::default()],
                    needs: Vec::new(),
                });
                self.is_unknown |= self.made.insert(number, made).is_some();
                self.end_step(thread, index, Then::Make(made));
            }
            Mark::Needs(address, writes) => {
                self.add(thread, (index, work), work);
                self.need(thread, index, (address, writes));
            }
            Mark::Starts(number) => self.start(thread, (index, work), number),
            Mark::Finishes(_) => {
                self.add(thread, (index, work), work);
                self.end_step(thread, index, Then::End);
                let member = self.member(thread, index);
                member.looks = true;
                // What a member began with ends with its arrival.
                if member.stack.len() < 2 {
                    self.is_unknown = true;
                } else {
                    member.stack.pop();
                }
            }
            Mark::WaitsForTasks => {
                self.add(thread, (NO_EVENT, work), work);
                let then = Then::Wait {
                    event: index,
                    back: index,
                    all: false,
                    helps: false,
                };
                self.end_step(thread, index, then);
            }
            Mark::Arrives(_) => {
                self.add(thread, (NO_EVENT, work), work);
                self.is_unknown |= self.member(thread, index).stack.len() != 1;
                self.end_step(thread, index, Then::Arrive);
                self.arrivals.push(index);
            }
            Mark::Begins | Mark::Ends | Mark::Calls | Mark::Comes => {
                self.add(thread, (index, work), work);
            }
        }
    }

    /// The task that a thread made last depends on others that the same task made.
    fn need(&mut self, thread: ThreadId, index: u32, (address, writes): (u64, bool)) {
        let Some(&parent) = self.member(thread, index).stack.last() else {
            return;
        };
        let mut steps = self.tasks[parent].steps.iter().rev();
        let made = steps.find_map(|step| match step.then {
            Then::Make(made) => Some(made),
            _ => None,
        });
        let Some(made) = made else {
            self.is_unknown = true;
            return;
        };
        let users = self.users.entry((parent, address)).or_default();
        let before = users.add(made, writes);
        let needs = &mut self.tasks[made].needs;
        needs.extend(before.into_iter().filter(|&before| before != made));
        needs.sort_unstable();
        needs.dedup();
    }

    /// A thread begins a task, which it or another made. What it did before belongs to the task that it was at, unless it looked for
    /// this one.
    fn start(&mut self, thread: ThreadId, (index, work): (u32, u64), number: u64) {
        let Some(task) = self.made.remove(&number) else {
            self.is_unknown = true;
            return;
        };
        let before = if self.member(thread, index).looks {
            work
        } else {
            self.add(thread, (NO_EVENT, work), work);
            0
        };
        self.tasks[task].begun = index;
        self.member(thread, index).stack.push(task);
        self.add(thread, (index, before), before);
    }

    /// A thread came back from a wait for its team, which was no work; its outcome says for which tasks it waited.
    fn came_back(
        &mut self,
        thread: ThreadId,
        event: (u32, u64),
        call: &Call,
        waited: Option<Mark>,
    ) {
        if waited != Some(Mark::WaitsForTasks) {
            // It stays what follows its arrival.
            self.add(thread, event, 0);
            return;
        }
        let Some(&task) = self.member(thread, event.0).stack.last() else {
            return;
        };
        let steps = &mut self.tasks[task].steps;
        let waiting = steps.len().checked_sub(2).map(|last| &mut steps[last].then);
        if let Some(Then::Wait {
            all, back, helps, ..
        }) = waiting
        {
            *back = event.0;
            *all = call.outcome == Outcome::WAITED_FOR_ALL;
            *helps = *all || call.outcome == Outcome::HELPED;
        }
    }

    /// Lets whoever is free do the tasks, the last arrival being this one; `None` where it is not known how.
    fn into_block(self, (at, size): (u32, u32), runtime: Runtime) -> Option<Block> {
        let has_tasks = self.tasks.len() > self.members.len();
        let all_began = self.made.is_empty();
        if self.is_unknown || !has_tasks || !all_began || self.members.len() != size as usize {
            return None;
        }
        let crew: Vec<(ThreadId, usize)> = self
            .members
            .iter()
            .map(|(&thread, member)| (thread, member.stack[0]))
            .collect();
        let parts = schedule::schedule(&self.tasks, &crew, runtime)?;
        Some(Block {
            at,
            object: self.object?,
            tasks: self.tasks,
            parts,
            arrivals: self.arrivals,
        })
    }
}
