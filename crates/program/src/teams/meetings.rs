//! Which members of OpenMP teams are between which two meetings of their team, and what their events say about it.

use std::collections::BTreeMap;

use foretrace_trace::{
    Call, Event, Operation as Op, Outcome, ProcessId, ThreadId, Trace,
    journal::layout::{TASK_NEEDS, TASK_WRITES},
};

/// A team: its process and its name.
pub(super) type Team = (ProcessId, u64);

/// What an event says about its thread and its team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// The team's master calls a member.
    Calls,
    /// A member is called.
    Comes,
    /// What its thread did before is its own.
    Begins,
    /// What its thread did before is a piece of the team's work.
    Ends,
    /// It makes the task of this number, which no other has until that is done.
    Makes(u64),
    /// The task that it made last depends on this address, to which it writes or not.
    Needs(u64, bool),
    /// It begins the task of this number.
    Starts(u64),
    /// It is done with the task of this number.
    Finishes(u64),
    /// It waits for tasks.
    WaitsForTasks,
    /// It waits for all, so many.
    Arrives(u32),
}

/// Returns what each call of a trace says about the team whose it is.
pub(super) fn marks(trace: &Trace) -> Vec<Option<(Team, Mark)>> {
    trace.calls.iter().map(|call| mark(trace, call)).collect()
}

fn mark(trace: &Trace, call: &Call) -> Option<(Team, Mark)> {
    let object = &trace.objects[call.operation.object()?.index()];
    let (team, size) = object.team()?;
    let of_tasks = object.stands_for_tasks();
    let mark = match (call.operation, call.outcome) {
        (Op::SemPost(_), _) => Mark::Calls,
        (Op::SemWait(_), _) => Mark::Comes,
        (Op::SemTryWait(_), Outcome::Busy) => Mark::Ends,
        (Op::SemTryWait(_), Outcome::BEGINS) => Mark::Begins,
        (Op::SemTimedWait(_), _) => Mark::WaitsForTasks,
        (Op::BarrierWait(_), _) => Mark::Arrives(size),
        (Op::DoacrossWait { iteration, .. }, _) if of_tasks && iteration & TASK_NEEDS != 0 => {
            let address = iteration & !(TASK_NEEDS | TASK_WRITES);
            Mark::Needs(address, iteration & TASK_WRITES != 0)
        }
        (Op::DoacrossWait { iteration, .. }, _) if of_tasks => Mark::Starts(iteration / 2),
        (Op::DoacrossPost { iteration, .. }, _) if of_tasks && iteration % 2 == 0 => {
            Mark::Makes(iteration / 2)
        }
        (Op::DoacrossPost { iteration, .. }, _) if of_tasks => Mark::Finishes(iteration / 2),
        _ => return None,
    };
    Some(((object.process, team), mark))
}

/// The CPU time of each thread by its last event.
pub(super) struct CpuTimes(Vec<u64>);

impl CpuTimes {
    pub fn new(threads: usize) -> Self {
        Self(vec![0; threads])
    }

    /// Returns the CPU time of a thread since its event before this one, which is gone on to.
    pub fn before(&mut self, thread: ThreadId, event: &Event) -> u64 {
        let last = &mut self.0[thread.index()];
        let now = event.cpu().map_or(*last, |cpu| cpu.0.max(*last));
        now - std::mem::replace(last, now)
    }
}

/// The meetings of all teams that are not over, and what is known of each.
pub(super) struct Meetings<M> {
    teams: BTreeMap<Team, State<M>>,
    /// The team that each thread is in, and how many meetings of it there had been when it came or last arrived.
    threads: Vec<Option<(Team, u64)>>,
}

/// A team's state.
struct State<M> {
    /// How many meetings there were when its master last began to call members.
    region: u64,
    /// The number of the first meeting that is not over.
    first: u64,
    /// Those that are not over, and how many arrived.
    meetings: BTreeMap<u64, (M, u32)>,
}

impl<M: Default> Meetings<M> {
    pub fn new(threads: usize) -> Self {
        Self {
            teams: BTreeMap::new(),
            threads: vec![None; threads],
        }
    }

    /// Returns the meeting that a thread is before.
    pub fn of(&mut self, thread: ThreadId) -> Option<&mut M> {
        let (team, number) = self.threads[thread.index()]?;
        let state = self.teams.get_mut(&team)?;
        if number < state.first {
            return None;
        }
        let (meeting, _) = state.meetings.entry(number).or_default();
        Some(meeting)
    }

    /// Returns the meeting that a thread arrived at last, if that is not over.
    pub fn arrived_at(&mut self, thread: ThreadId) -> Option<&mut M> {
        let (team, number) = self.threads[thread.index()]?;
        let state = self.teams.get_mut(&team)?;
        let last = number.checked_sub(1).filter(|last| *last >= state.first)?;
        state.meetings.get_mut(&last).map(|(meeting, _)| meeting)
    }

    /// Returns whether a thread is in another team than this, as far as is known.
    pub fn is_elsewhere(&self, thread: ThreadId, team: Team) -> bool {
        self.threads[thread.index()].is_some_and(|(other, _)| other != team)
    }

    /// Follows a thread to where a mark of a team's says that it is: when it is back from a region within another, it is not known
    /// where the outer one is.
    pub fn leave(&mut self, thread: ThreadId) {
        self.threads[thread.index()] = None;
    }

    /// A master begins a region.
    pub fn begin_region(&mut self, master: ThreadId, team: Team) {
        let state = self.state(team);
        let next = state.meetings.keys().next_back().map_or(0, |last| last + 1);
        state.region = next.max(state.region + 1);
        // What was left of the region before never met.
        state.meetings.clear();
        state.first = state.region;
        let number = state.region;
        self.threads[master.index()] = Some((team, number));
    }

    /// A member comes that was called.
    pub fn come(&mut self, thread: ThreadId, team: Team) {
        let region = self.state(team).region;
        self.threads[thread.index()] = Some((team, region));
    }

    /// A thread arrives at the meeting that it is before, of so many members. Returns what is known of that if it was the last.
    pub fn arrive(&mut self, thread: ThreadId, size: u32) -> Option<M> {
        self.of(thread)?;
        let (team, number) = self.threads[thread.index()].as_mut()?;
        let (team, over) = (*team, *number);
        *number += 1;
        let state = self.teams.get_mut(&team)?;
        let (_, arrived) = state.meetings.get_mut(&over)?;
        *arrived += 1;
        if *arrived < size {
            return None;
        }
        state.first = over + 1;
        state.meetings.remove(&over).map(|(meeting, _)| meeting)
    }

    fn state(&mut self, team: Team) -> &mut State<M> {
        self.teams.entry(team).or_insert_with(|| State {
            region: 0,
            first: 0,
            meetings: BTreeMap::new(),
        })
    }
}
