//! Work that a team deals out piece by piece: loops with dynamic schedules, and sections.
//!
//! On one CPU, who had which piece is chance: one thread may have done all of a short loop before the others were there. On more
//! CPUs whoever is free takes the next piece. So what the members of a team did of such pieces between two meetings of all is
//! shared out anew: one piece after the other, in the recorded order, goes to whoever is free first, where each comes to a loop with what was his
//! own before; what is behind it, such as a loop whose iterations each has his own of, comes when all pieces are dealt out. It is the same for all models and machines, as if each member had a CPU for itself; on fewer CPUs, where they
//! take turns, it is as good as any.
//!
//! A piece ends where the recorder marks that, by a failed try of the team's semaphore, and begins where its thread's event before is.
//! Pieces in which anything else happens stay where they were.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said". That whoever is free takes the next is how GCC's and LLVM's libraries deal them out.

use std::collections::BTreeMap;

use foretrace_trace::{Operation as Op, SiteId, ThreadId, Trace};

use super::meetings::{CpuTimes, Mark, Meetings, Team, marks};

/// The CPU times before events that are others than recorded.
#[derive(Debug, Default)]
pub(crate) struct SharedOut {
    /// By event, in order.
    changes: Vec<(u32, u64)>,
    /// How many of them were asked for.
    passed: usize,
}

impl SharedOut {
    /// Shares out what the teams of a trace dealt out piece by piece.
    pub fn of(trace: &Trace) -> Self {
        let marks = marks(trace);
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

/// The way through the events.
struct Sweep {
    meetings: Meetings<Meeting>,
    cpu: CpuTimes,
    threads: Vec<Standing>,
    changes: Vec<(u32, u64)>,
}

/// Where a thread stands.
#[derive(Clone, Debug, Default)]
struct Standing {
    /// Its last event.
    last_event: u32,
    /// The mark that this was.
    last: Option<Mark>,
}

/// What happened between two meetings of a team.
#[derive(Debug, Default)]
struct Meeting {
    /// Whether not all is known that its pieces are made of.
    is_unknown: bool,
    members: BTreeMap<ThreadId, Member>,
    /// The pieces, in the order in which they were done.
    pieces: Vec<Piece>,
}

/// A piece of a team's work.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The event that it began with.
    began: u32,
    /// Whose it was.
    thread: ThreadId,
    /// What it is a piece of.
    of: Loop,
    work: u64,
}

/// What is dealt out in pieces, by its place in the program and how often its thread had begun there.
type Loop = (Option<SiteId>, u32);

/// What a member of a team did between two meetings.
#[derive(Clone, Debug, Default)]
struct Member {
    /// Work that is nobody else's, since it last began a loop.
    own: u64,
    /// The loops that it had pieces of, each with its own work since the one before.
    loops: BTreeMap<Loop, u64>,
    /// The one that it began last.
    last: Option<Loop>,
    /// The events that end pieces which were its.
    ends: Vec<u32>,
    /// The event by which it came to the meeting, and the work before that.
    arrival: Option<(u32, u64)>,
}

impl Sweep {
    fn new(trace: &Trace) -> Self {
        Self {
            meetings: Meetings::new(trace.threads.len()),
            cpu: CpuTimes::new(trace.threads.len()),
            threads: vec![Standing::default(); trace.threads.len()],
            changes: Vec::new(),
        }
    }

    fn event(&mut self, trace: &Trace, index: u32, marked: Option<(Team, Mark)>) {
        let event = &trace.events[index as usize];
        let call = trace.call(event);
        let thread = call.thread;
        let work = self.cpu.before(thread, event);
        let standing = &mut self.threads[thread.index()];
        let last = std::mem::replace(&mut standing.last, marked.map(|(_, mark)| mark));
        let began = std::mem::replace(&mut standing.last_event, index);
        let Some((team, mark)) = marked else {
            // The CPU time until the return of a wait for the team is not work.
            let waited = matches!(last, Some(Mark::Arrives(_) | Mark::WaitsForTasks));
            if call.operation != Op::Return || !waited {
                self.did(thread, work, false);
            }
            return;
        };
        if self.meetings.is_elsewhere(thread, team) {
            // It is in a region within another: what it does there is no piece of the outer one.
            self.did(thread, work, true);
            if !matches!(mark, Mark::Calls | Mark::Comes) {
                self.meetings.leave(thread);
            }
        }
        match mark {
            Mark::Calls if last != Some(Mark::Calls) => self.meetings.begin_region(thread, team),
            Mark::Comes => self.meetings.come(thread, team),
            Mark::Ends => {
                let piece = Piece {
                    began,
                    thread,
                    of: self.loop_of(thread),
                    work,
                };
                // One that tasks were made or done in is none that anybody might do.
                let is_whole = matches!(last, Some(Mark::Begins | Mark::Ends | Mark::Comes));
                self.end_piece(piece, index, is_whole);
            }
            Mark::Arrives(size) => self.arrive(thread, (index, work), size),
            Mark::Begins => {
                self.did(thread, work, false);
                self.begin_loop(thread, call.site);
            }
            _ => self.did(thread, work, false),
        }
    }

    fn begin_loop(&mut self, thread: ThreadId, site: Option<SiteId>) {
        if let Some(meeting) = self.meetings.of(thread) {
            let member = meeting.members.entry(thread).or_default();
            let before = member.loops.range((site, 0)..=(site, u32::MAX)).next_back();
            let begun = (site, before.map_or(0, |(&(_, times), _)| times + 1));
            let own = std::mem::take(&mut member.own);
            member.loops.insert(begun, own);
            member.last = Some(begun);
        }
    }

    /// The thread did work of its own; `is_elsewhere` says whether it did it in another team.
    fn did(&mut self, thread: ThreadId, work: u64, is_elsewhere: bool) {
        if let Some(meeting) = self.meetings.of(thread) {
            meeting.is_unknown |= is_elsewhere;
            meeting.members.entry(thread).or_default().own += work;
        }
    }

    /// Returns the loop that a thread began last.
    fn loop_of(&mut self, thread: ThreadId) -> Loop {
        let meeting = self.meetings.of(thread);
        let member = meeting.and_then(|meeting| meeting.members.get(&thread));
        member.and_then(|member| member.last).unwrap_or((None, 0))
    }

    fn end_piece(&mut self, piece: Piece, index: u32, is_whole: bool) {
        if let Some(meeting) = self.meetings.of(piece.thread) {
            meeting.is_unknown |= !is_whole;
            meeting.pieces.push(piece);
            let member = meeting.members.entry(piece.thread).or_default();
            member.ends.push(index);
        }
    }

    fn arrive(&mut self, thread: ThreadId, (index, work): (u32, u64), size: u32) {
        if let Some(meeting) = self.meetings.of(thread) {
            let member = meeting.members.entry(thread).or_default();
            member.own += work;
            member.arrival = Some((index, work));
        }
        if let Some(meeting) = self.meetings.arrive(thread, size) {
            meeting.share_out(&mut self.changes);
        }
    }
}

impl Meeting {
    /// Lets whoever is free first have the next piece, and notes what that changes.
    fn share_out(&self, changes: &mut Vec<(u32, u64)>) {
        // One who arrived twice, as damaged recordings and those written by hand may have it, did not arrive for another.
        let all_arrived = || self.members.values().all(|member| member.arrival.is_some());
        if self.is_unknown || self.members.len() < 2 || self.pieces.is_empty() || !all_arrived() {
            return;
        }
        let mut crew = self.crew();
        for (of, pieces) in self.loops() {
            for worker in &mut crew {
                let own = self.members[&worker.thread].loops.get(&of);
                worker.free_at += own.copied().unwrap_or(0);
            }
            for piece in pieces {
                // Of those who are free first, whoever had it.
                let key = |worker: &Worker| (worker.free_at, worker.thread != piece.thread);
                if let Some(worker) = crew.iter_mut().min_by_key(|worker| key(worker)) {
                    worker.free_at += piece.work;
                    worker.share += piece.work;
                }
            }
        }
        for worker in crew {
            worker.note(&self.members[&worker.thread], changes);
        }
    }
}

impl Meeting {
    /// Returns the members, who have nothing yet. One who had no piece did as much of its own work before, on average, as the others.
    fn crew(&self) -> Vec<Worker> {
        let began = self
            .members
            .values()
            .filter(|member| !member.loops.is_empty());
        let (mut before, mut all) = (0_u128, 0_u128);
        for member in began {
            let loops: u64 = member.loops.values().sum();
            before += u128::from(loops);
            all += u128::from(loops + member.own);
        }
        let worker = |(&thread, member): (&ThreadId, &Member)| {
            let part = (u128::from(member.own) * before).checked_div(all);
            let part = part.map_or(member.own, |part| u64::try_from(part).unwrap_or(u64::MAX));
            Worker {
                thread,
                free_at: if member.loops.is_empty() { part } else { 0 },
                share: 0,
            }
        };
        self.members.iter().map(worker).collect()
    }

    /// Returns the pieces of each loop in the order in which they were begun, in that of the loops.
    fn loops(&self) -> Vec<(Loop, Vec<Piece>)> {
        let mut loops: BTreeMap<Loop, Vec<Piece>> = BTreeMap::new();
        for piece in &self.pieces {
            loops.entry(piece.of).or_default().push(*piece);
        }
        for pieces in loops.values_mut() {
            pieces.sort_unstable_by_key(|piece| piece.began);
        }
        let mut loops: Vec<(Loop, Vec<Piece>)> = loops.into_iter().collect();
        loops.sort_by_key(|(_, pieces)| pieces[0].began);
        loops
    }
}

/// A member of a team while its pieces are dealt out.
struct Worker {
    thread: ThreadId,
    /// When it is free.
    free_at: u64,
    /// What it got.
    share: u64,
}

impl Worker {
    /// Notes its work before the events that end pieces, or before its arrival where it had none.
    fn note(&self, member: &Member, changes: &mut Vec<(u32, u64)>) {
        let Some((arrival, own)) = member.arrival else {
            return;
        };
        match member.ends.split_last() {
            Some((&last, others)) => {
                changes.extend(others.iter().map(|&end| (end, 0)));
                changes.push((last, self.share));
            }
            None if self.share > 0 => changes.push((arrival, own + self.share)),
            None => {}
        }
    }
}
