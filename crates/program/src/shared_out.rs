//! Work that an OpenMP team deals out piece by piece: loops with dynamic schedules, sections, tasks.
//!
//! On one CPU, who had which piece is chance: one thread may have done all of a short loop before the others were there. On more
//! CPUs whoever is free takes the next piece. So what the members of a team did of such pieces between two meetings of all is
//! shared out anew: one piece after the other, in the recorded order, goes to whoever is free first, where each begins with what is his
//! own. It is the same for all models and machines, as if each member had a CPU for itself; on fewer CPUs, where they
//! take turns, it is as good as any.
//!
//! A piece ends where the recorder marks that, by a failed try of the team's semaphore, and begins where its thread's event before is.
//! Pieces in which anything else happens stay where they were. So do all of a meeting if more than one member waits for tasks in it: it is not
//! known which of them wait for which.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said". That whoever is free takes the next is how GCC's and LLVM's libraries deal them out.

use std::collections::BTreeMap;

use foretrace_trace::{Call, Operation as Op, Outcome, ProcessId, ThreadId, Trace};

/// The CPU times before events that are others than recorded.
#[derive(Debug, Default)]
pub(crate) struct SharedOut {
    /// By event, in order.
    changes: Vec<(u32, u64)>,
    /// How many of them were asked for.
    passed: usize,
}

/// What an event says about its thread and its team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// The team's master calls a member.
    Calls,
    /// A member is called.
    Comes,
    /// What its thread did before is its own.
    Begins,
    /// What its thread did before is a piece of the team's work.
    Ends,
    /// It waits for tasks.
    WaitsForTasks,
    /// It waits for all, so many.
    Arrives(u32),
}

/// A team: its process and its name.
type Team = (ProcessId, u64);

impl SharedOut {
    /// Shares out what the teams of a trace shared out.
    pub fn of(trace: &Trace) -> Self {
        let marks: Vec<Option<(Team, Mark)>> =
            trace.calls.iter().map(|call| mark(trace, call)).collect();
        let is_end = |mark: &Option<(Team, Mark)>| matches!(mark, Some((_, Mark::Ends)));
        if !marks.iter().any(is_end) {
            return Self::default();
        }
        let mut sweep = Sweep::new(trace);
        for (index, event) in trace.events.iter().enumerate() {
            sweep.event(trace, index as u32, marks[event.call.index()]);
        }
        let mut changes = sweep.changes;
        changes.sort_unstable();
        Self { changes, passed: 0 }
    }

    /// Returns the CPU time before an event, if it is another than recorded; events are asked for in order.
    #[inline]
    pub fn before(&mut self, event: usize) -> Option<u64> {
        let &(at, work) = self.changes.get(self.passed)?;
        (at as usize == event).then(|| {
            self.passed += 1;
            work
        })
    }
}

/// Returns what a call says about the team whose it is.
fn mark(trace: &Trace, call: &Call) -> Option<(Team, Mark)> {
    let object = &trace.objects[call.operation.object()?.index()];
    let (team, size) = object.team()?;
    let mark = match (call.operation, call.outcome) {
        (Op::SemPost(_), _) => Mark::Calls,
        (Op::SemWait(_), _) => Mark::Comes,
        (Op::SemTryWait(_), Outcome::Busy) => Mark::Ends,
        (Op::SemTryWait(_), Outcome::BEGINS) => Mark::Begins,
        (Op::SemTimedWait(_), _) => Mark::WaitsForTasks,
        (Op::BarrierWait(_), _) => Mark::Arrives(size),
        _ => return None,
    };
    Some(((object.process, team), mark))
}

/// The way through the events.
struct Sweep {
    teams: BTreeMap<Team, State>,
    threads: Vec<Standing>,
    changes: Vec<(u32, u64)>,
}

/// Where a thread stands.
#[derive(Clone, Debug, Default)]
struct Standing {
    /// Its CPU time by its last event.
    cpu: u64,
    /// The team that it is in, and how many meetings of it there had been when it came or last arrived.
    team: Option<(Team, u64)>,
    /// Its last event.
    last_event: u32,
    /// The mark that this was.
    last: Option<Mark>,
    /// Its wait for tasks, as long as it has not come back.
    waits: Option<(u32, u64)>,
}

/// A team's state.
#[derive(Default)]
struct State {
    /// How many meetings there were when its master last began to call members.
    region: u64,
    /// The number of the first meeting that is not over.
    first: u64,
    /// Those that are not over.
    meetings: BTreeMap<u64, Meeting>,
}

/// What happened between two meetings of a team.
#[derive(Debug, Default)]
struct Meeting {
    /// Whether all that its pieces are made of is known.
    is_known: bool,
    members: BTreeMap<ThreadId, Member>,
    /// The pieces, in the order in which they were done.
    pieces: Vec<Piece>,
    /// After how many pieces its waiter for tasks came back, and with how much of its own work done.
    waits: Vec<Wait>,
    waiter: Option<ThreadId>,
    arrived: u32,
}

/// A piece of a team's work.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The event that it began with.
    began: u32,
    /// Whose it was.
    thread: ThreadId,
    work: u64,
}

/// A wait for tasks that is over.
#[derive(Clone, Copy, Debug)]
struct Wait {
    /// How many pieces had been done by then.
    pieces: usize,
    /// The waiter's own work until then.
    own: u64,
    /// The event before which its share of them is done, and the work before that.
    host: (u32, u64),
}

/// What a member of a team did between two meetings.
#[derive(Clone, Debug, Default)]
struct Member {
    /// Work that is nobody else's.
    own: u64,
    /// The events that end pieces which were its.
    ends: Vec<u32>,
    /// The event by which it came to the meeting, and the work before that.
    arrival: Option<(u32, u64)>,
}

impl Sweep {
    fn new(trace: &Trace) -> Self {
        Self {
            teams: BTreeMap::new(),
            threads: vec![Standing::default(); trace.threads.len()],
            changes: Vec::new(),
        }
    }

    fn event(&mut self, trace: &Trace, index: u32, marked: Option<(Team, Mark)>) {
        let event = &trace.events[index as usize];
        let call = trace.call(event);
        let thread = call.thread;
        let standing = &mut self.threads[thread.index()];
        let work = event.cpu().map_or(0, |cpu| {
            let spent = cpu.0.saturating_sub(standing.cpu);
            standing.cpu = cpu.0.max(standing.cpu);
            spent
        });
        let last = std::mem::replace(&mut standing.last, marked.map(|(_, mark)| mark));
        let began = std::mem::replace(&mut standing.last_event, index);
        let Some((team, mark)) = marked else {
            // The CPU time until the return of a wait for the team is not work.
            let waited = matches!(last, Some(Mark::Arrives(_) | Mark::WaitsForTasks));
            if call.operation == Op::Return && waited {
                return self.came_back(thread);
            }
            self.did(thread, work, false);
            return;
        };
        if self.threads[thread.index()]
            .team
            .is_some_and(|(other, _)| other != team)
        {
            // It is in a region within another: what it does there is no piece of the outer one. When it is back, it is not known
            // where the outer one is.
            self.did(thread, work, true);
            if !matches!(mark, Mark::Calls | Mark::Comes) {
                self.threads[thread.index()].team = None;
            }
        }
        match mark {
            Mark::Calls if last != Some(Mark::Calls) => self.begin_region(thread, team),
            Mark::Calls | Mark::Begins => self.did(thread, work, false),
            Mark::Comes => {
                let region = self.teams.entry(team).or_default().region;
                self.threads[thread.index()].team = Some((team, region));
            }
            Mark::Ends => {
                let piece = Piece {
                    began,
                    thread,
                    work,
                };
                self.end_piece(piece, index, last.is_some());
            }
            Mark::WaitsForTasks => self.wait_for_tasks(thread, (index, work)),
            Mark::Arrives(size) => self.arrive(thread, (index, work), size),
        }
    }

    fn meeting(&mut self, thread: ThreadId) -> Option<&mut Meeting> {
        let (team, number) = self.threads[thread.index()].team?;
        let state = self.teams.get_mut(&team)?;
        if number < state.first {
            return None;
        }
        Some(state.meetings.entry(number).or_insert_with(|| Meeting {
            is_known: true,
            ..Meeting::default()
        }))
    }

    /// The thread did work of its own; `is_elsewhere` says whether it did it in another team.
    fn did(&mut self, thread: ThreadId, work: u64, is_elsewhere: bool) {
        if let Some(meeting) = self.meeting(thread) {
            meeting.is_known &= !is_elsewhere;
            meeting.members.entry(thread).or_default().own += work;
        }
    }

    fn begin_region(&mut self, master: ThreadId, team: Team) {
        let state = self.teams.entry(team).or_default();
        let next = state.meetings.keys().next_back().map_or(0, |last| last + 1);
        state.region = next.max(state.region + 1);
        // What was left of the region before never met.
        state.meetings.clear();
        state.first = state.region;
        let number = state.region;
        self.threads[master.index()].team = Some((team, number));
    }

    fn end_piece(&mut self, piece: Piece, index: u32, is_whole: bool) {
        if let Some(meeting) = self.meeting(piece.thread) {
            meeting.is_known &= is_whole;
            meeting.pieces.push(piece);
            let member = meeting.members.entry(piece.thread).or_default();
            member.ends.push(index);
        }
    }

    fn wait_for_tasks(&mut self, thread: ThreadId, (index, work): (u32, u64)) {
        let Some(meeting) = self.meeting(thread) else {
            return;
        };
        meeting.members.entry(thread).or_default().own += work;
        meeting.is_known &= meeting.waiter.is_none_or(|waiter| waiter == thread);
        meeting.waiter = Some(thread);
        let standing = &mut self.threads[thread.index()];
        standing.waits = Some((index, work));
    }

    fn came_back(&mut self, thread: ThreadId) {
        let Some(host) = self.threads[thread.index()].waits.take() else {
            return;
        };
        if let Some(meeting) = self.meeting(thread) {
            let own = meeting.members.entry(thread).or_default().own;
            let pieces = meeting.pieces.len();
            meeting.waits.push(Wait { pieces, own, host });
        }
    }

    fn arrive(&mut self, thread: ThreadId, (index, work): (u32, u64), size: u32) {
        let Some(meeting) = self.meeting(thread) else {
            return;
        };
        let member = meeting.members.entry(thread).or_default();
        member.own += work;
        member.arrival = Some((index, work));
        meeting.arrived += 1;
        let is_over = meeting.arrived == size;
        let Some((team, number)) = &mut self.threads[thread.index()].team else {
            return;
        };
        let (team, over) = (*team, *number);
        *number += 1;
        if is_over
            && let Some(state) = self.teams.get_mut(&team)
            && let Some(meeting) = state.meetings.remove(&over)
        {
            state.first = over + 1;
            meeting.share_out(&mut self.changes);
        }
    }
}

impl Meeting {
    /// Lets whoever is free first have the next piece, and notes what that changes.
    fn share_out(&self, changes: &mut Vec<(u32, u64)>) {
        if !self.is_known || self.members.len() < 2 || self.pieces.is_empty() {
            return;
        }
        let mut crew: Vec<Worker> = self
            .members
            .iter()
            .map(|(&thread, member)| Worker::new(thread, member, self.waiter == Some(thread)))
            .collect();
        let (mut done, mut since) = (0, 0);
        let is_waiter = |worker: &Worker| Some(worker.thread) == self.waiter;
        if let Some(waiter) = crew.iter().position(is_waiter) {
            let mut own_before = 0;
            for wait in &self.waits {
                crew[waiter].free_at += wait.own - own_before;
                own_before = wait.own;
                let end = deal(&mut crew, &self.pieces[done..wait.pieces], since);
                let share = std::mem::take(&mut crew[waiter].share);
                crew[waiter].shares.push((wait.host, share));
                done = wait.pieces;
                since = end.max(crew[waiter].free_at);
                crew[waiter].free_at = since;
            }
            let own = self.members[&crew[waiter].thread].own;
            crew[waiter].free_at += own - own_before;
        }
        deal(&mut crew, &self.pieces[done..], since);
        for worker in crew {
            worker.note(&self.members[&worker.thread], changes);
        }
    }
}

/// A member of a team while its pieces are dealt out.
struct Worker {
    thread: ThreadId,
    /// When it is free.
    free_at: u64,
    /// What it got since it last waited for tasks.
    share: u64,
    /// What it got until each wait for tasks, and where that is done.
    shares: Vec<((u32, u64), u64)>,
}

impl Worker {
    fn new(thread: ThreadId, member: &Member, waits: bool) -> Self {
        Self {
            thread,
            free_at: if waits { 0 } else { member.own },
            share: 0,
            shares: Vec::new(),
        }
    }

    /// Notes its work before the events that end pieces, and before those that wait.
    fn note(&self, member: &Member, changes: &mut Vec<(u32, u64)>) {
        let Some(arrival) = member.arrival else {
            return;
        };
        let mut from = 0;
        for &((host, own), share) in self.shares.iter().chain(&[(arrival, self.share)]) {
            let ends = &member.ends[from..];
            let until = ends.partition_point(|&end| end < host);
            from += until;
            match ends[..until].split_last() {
                Some((&last, others)) => {
                    changes.extend(others.iter().map(|&end| (end, 0)));
                    changes.push((last, share));
                }
                None if share > 0 => changes.push((host, own + share)),
                None => {}
            }
        }
    }
}

/// Deals out pieces that are there from some moment on, in the order in which they were begun. Returns when the last is done.
fn deal(crew: &mut [Worker], pieces: &[Piece], from: u64) -> u64 {
    let mut pieces = pieces.to_vec();
    pieces.sort_unstable_by_key(|piece| piece.began);
    let mut end = from;
    for piece in pieces {
        // Of those who are free first, whoever had it.
        let next = crew
            .iter_mut()
            .min_by_key(|worker| (worker.free_at.max(from), worker.thread != piece.thread));
        if let Some(worker) = next {
            worker.free_at = worker.free_at.max(from) + piece.work;
            worker.share += piece.work;
            end = end.max(worker.free_at);
        }
    }
    end
}
