//! From a recording of a program that uses MPI to what its ranks do.
//!
//! A rank's work is the CPU time that its threads used outside of MPI: while they wait, libraries look again and again, and that
//! is not the program's; nor is, before MPI begins, what UCX's libraries do while they are loaded. The threads of a rank are replayed as if they shared one CPU, which they did when they were recorded,
//! unless it is told how far they come otherwise.

use std::collections::{HashMap, HashSet};

use foretrace_trace::{
    Action, Collective as Call, End, Message, Operation as Event, Peer, Point, SendMode, Trace,
};

use crate::{
    ANY, Builder, Collective, Kind, Mode, Operation, Program, Threads,
    own_time::OwnTime,
    pauses::Pauses,
    requests,
    strands::Strands,
    teams::Reached,
    windows::{Fate, Windows, moved},
};

/// Picoseconds in a nanosecond.
const PICOS: u64 = 1_000;

/// Why a recording gives no program of ranks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRanks {
    /// Nobody called MPI.
    #[error("{source_name}: no rank called MPI_Init")]
    None {
        /// The trace.
        source_name: String,
    },
    /// Some ranks are missing.
    #[error(
        "{source_name}: of {ranks} ranks, {missing} {verb} not recorded; record the launcher (foretrace record -- mpirun ...), and \
         check that all ranks run the same program on this computer"
    )]
    Missing {
        /// The trace.
        source_name: String,
        /// How many there were.
        ranks: u32,
        /// Which are missing.
        missing: String,
        /// Agrees with their number.
        verb: &'static str,
    },
}

/// Returns whether a recording is of ranks that pass messages. One rank by itself is a program like others.
pub fn has_ranks(trace: &Trace) -> bool {
    let begun = trace.ranks();
    begun.iter().any(|&(_, _, ranks)| ranks > 1) || begun.is_empty() && !trace.messages.is_empty()
}

/// Returns what the ranks of a recording do.
///
/// # Errors
///
/// Where there are none, or not all.
pub fn recorded(trace: &Trace) -> Result<Program, NoRanks> {
    of_recording(trace, None)
}

/// Returns the same of ranks whose threads have several CPUs: of [`teams`](crate::teams()) that were replayed.
///
/// # Errors
///
/// As [`recorded`].
pub fn recorded_on(trace: &Trace, reached: &Reached) -> Result<Program, NoRanks> {
    of_recording(trace, Some(reached))
}

fn of_recording(trace: &Trace, reached: Option<&Reached>) -> Result<Program, NoRanks> {
    let times = reached.map_or(&[][..], |reached| &reached.times);
    let (ranks, owners) = owners(trace)?;
    let others = of_other_worlds(trace, &owners);
    let mut lowering = Lowering::new(trace, ranks, owners);
    lowering.go_by(times);
    if others > 0 {
        let (processes, are, were, they) = match others {
            1 => ("process", "is a rank", "was", "it is"),
            _ => ("processes", "are ranks", "were", "they are"),
        };
        lowering.builder.warnings.push(format!(
            "{others} {processes} {are} of another program, or {were} started by ranks (MPI_Comm_spawn): {they} left out of the \
             replay, with all messages to and from there"
        ));
    }
    for (number, event) in trace.events.iter().enumerate() {
        let time = times.get(number).copied().flatten();
        lowering.event(number as u32, event, time);
    }
    Ok(lowering.finish(reached.map(|reached| reached.cpus)).0)
}

/// Returns the same, and for each position of the program the trace's event that it comes from: of a call that call, of work
/// the call after it, or the rank's last.
///
/// # Errors
///
/// As [`recorded`].
pub fn recorded_with_calls(trace: &Trace) -> Result<(Program, Vec<u32>), NoRanks> {
    let (ranks, owners) = owners(trace)?;
    let mut lowering = Lowering::new(trace, ranks, owners);
    for (number, event) in trace.events.iter().enumerate() {
        lowering.event(number as u32, event, None);
    }
    let (program, mut calls) = lowering.finish(None);
    for (rank, of_rank) in (0..).zip(&mut calls) {
        let last = of_rank.last().copied().unwrap_or_default();
        of_rank.resize(program.range(rank).len(), last);
    }
    Ok((program, calls.concat()))
}

/// Returns the number of ranks, and of which rank each thread is.
pub(crate) fn owners(trace: &Trace) -> Result<(u32, Vec<Option<u32>>), NoRanks> {
    let begun = trace.ranks();
    let source_name = trace.source.clone();
    let Some(&(_, _, ranks)) = begun.iter().find(|(_, _, ranks)| *ranks > 1) else {
        if trace.messages.is_empty() {
            return Err(NoRanks::None { source_name });
        }
        // A listing: every thread is a rank.
        let ranks = trace.threads.len() as u32;
        return Ok((ranks, (0..ranks).map(Some).collect()));
    };
    let mut owners = HashMap::new();
    let mut found = HashSet::new();
    for (process, rank, of) in begun {
        // A recording may hold several programs one after the other; the first is meant.
        if of == ranks && rank < ranks && found.insert(rank) {
            owners.insert(process, rank);
        }
    }
    let missing = ranks as usize - found.len();
    if missing == 0 {
        let of = |thread: &foretrace_trace::Thread| owners.get(&thread.process).copied();
        return Ok((ranks, trace.threads.iter().map(of).collect()));
    }
    let of_missing = (0..ranks).filter(|rank| !found.contains(rank));
    let first: Vec<String> = of_missing.take(8).map(|rank| rank.to_string()).collect();
    let first = first.join(", ");
    Err(NoRanks::Missing {
        source_name,
        ranks,
        verb: if missing == 1 { "was" } else { "were" },
        missing: match missing {
            1 => format!("rank {first}"),
            2..=8 => format!("ranks {first}"),
            more => format!("ranks {first} and {} others", more - 8),
        },
    })
}

/// Returns how many processes use MPI and are none of the ranks.
fn of_other_worlds(trace: &Trace, owners: &[Option<u32>]) -> usize {
    let mut ours = HashSet::new();
    for (thread, owner) in trace.threads.iter().zip(owners) {
        if owner.is_some() {
            ours.insert(thread.process);
        }
    }
    let mut others: Vec<_> = trace.ranks().iter().map(|rank| rank.0).collect();
    others.sort_unstable();
    others.dedup();
    others
        .iter()
        .filter(|process| !ours.contains(process))
        .count()
}

/// Functions by which a rank reads or writes a file without waiting for others.
const FILE_ACCESSES: [&str; 12] = [
    "file_read",
    "file_read_at",
    "file_read_shared",
    "file_write",
    "file_write_at",
    "file_write_shared",
    "file_iread",
    "file_iread_at",
    "file_iread_shared",
    "file_iwrite",
    "file_iwrite_at",
    "file_iwrite_shared",
];

/// Returns the name of a call's function, without what says that it counts in 64 bits.
pub(crate) fn name_of(message: &Message) -> &str {
    let name = message.name.as_str();
    name.strip_suffix("_c").unwrap_or(name)
}

/// Returns whether a call reads or writes a file by itself. It does not look for messages meanwhile, so that the CPU time in it is what that
/// needs.
pub(crate) fn accesses_file_alone(message: &Message) -> bool {
    FILE_ACCESSES.contains(&name_of(message))
}

/// How far the threads of a rank have come, in picoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The thread that called MPI first: the rank ends when it does, whatever others still do.
    first: Option<usize>,
    /// The last event of that one, or the last call of another.
    time: u64,
    /// What of that is the rank's work already.
    worked: u64,
}

impl Progress {
    /// Goes on to a thread's event, and returns how long the rank has worked since its last call of MPI if this one is such a call.
    fn on(&mut self, thread: usize, time: u64, is_call: bool) -> u64 {
        if is_call {
            self.first.get_or_insert(thread);
        }
        if is_call || self.first == Some(thread) {
            self.time = self.time.max(time);
        }
        if !is_call {
            return 0;
        }
        self.time - std::mem::replace(&mut self.worked, self.time)
    }
}

struct Lowering<'t> {
    trace: &'t Trace,
    owners: Vec<Option<u32>>,
    builder: Builder,
    /// The program's numbers of the trace's communicators.
    communicators: Vec<Option<u16>>,
    own: OwnTime,
    pauses: Pauses,
    /// How far each rank's threads have come, where that is known.
    reached: Vec<Option<Progress>>,
    /// The CPU time of all, in picoseconds.
    work: u64,
    /// Requests, with their ranks, that nothing was begun by: waits for them are none.
    void: HashSet<(u32, u32)>,
    /// Receives whose end nobody saw, and how many of them were left out.
    unended: HashSet<(u32, u32)>,
    left_out: u64,
    /// How many more messages were sent than received.
    balance: i64,
    /// The number of the event that it is about.
    number: u32,
    strands: Strands,
    /// The thread whose call of MPI it is, where others of its rank may go on meanwhile.
    strand: Option<usize>,
    /// Of each rank's operations the trace's events that they come from.
    calls: Vec<Vec<u32>>,
    /// The request of all that a rank does to windows without their ranks; no recorded call has it.
    alone: u32,
    /// The first number of a request that no recorded call has, nor that.
    unused_request: u32,
    has_threads: bool,
    windows: Windows,
    spans: u64,
}

impl<'t> Lowering<'t> {
    fn new(trace: &'t Trace, ranks: u32, owners: Vec<Option<u32>>) -> Self {
        let mut builder = Builder::new(ranks);
        let communicators = trace
            .communicators
            .iter()
            .enumerate()
            .map(|(index, communicator)| {
                if index == 0 {
                    return Some(0);
                }
                let known = communicator.members.iter().all(|&rank| rank < ranks);
                let members = communicator.members.clone();
                known
                    .then(|| builder.communicator(communicator.name.clone(), members))
                    .flatten()
            });
        let communicators = communicators.collect();
        let windows = Windows::of(trace, |thread| owners[thread]);
        let alone = requests::first_unused(trace);
        let unused_request = alone + 1;
        Self {
            trace,
            unended: requests::unended(trace, &owners),
            left_out: 0,
            balance: 0,
            number: 0,
            strands: Strands::new(trace, &owners, unused_request),
            strand: None,
            calls: vec![Vec::new(); ranks as usize],
            owners,
            builder,
            communicators,
            own: OwnTime::new(trace, ranks),
            pauses: Pauses::new(trace, ranks),
            reached: vec![None; ranks as usize],
            work: 0,
            void: HashSet::new(),
            alone,
            unused_request,
            has_threads: false,
            windows,
            spans: 0,
        }
    }

    /// Goes by the times at which events are reached, for the ranks of which they are known.
    fn go_by(&mut self, times: &[Option<u64>]) {
        let known = self.trace.events.iter().zip(times);
        for (event, _) in known.filter(|(_, time)| time.is_some()) {
            let thread = self.trace.call(event).thread.index();
            if let Some(rank) = self.owners[thread] {
                self.reached[rank as usize] = Some(Progress::default());
            }
        }
    }

    /// Takes an event of this number, and when it is reached, where that is known.
    fn event(&mut self, number: u32, event: &foretrace_trace::Event, time: Option<u64>) {
        let call = self.trace.call(event);
        let thread = call.thread.index();
        let Some(rank) = self.owners[thread] else {
            return;
        };
        self.number = number;
        self.end_call(rank, thread);
        let used = self.own.used(self.trace, event, rank);
        let looked = self.pauses.looked(thread);
        let paused = self.pauses.before(self.trace, event, rank, used) * PICOS;
        let used = used * PICOS;
        self.work += used;
        let used = match &mut self.reached[rank as usize] {
            None => used,
            Some(progress) => {
                let is_call = matches!(call.operation, Event::Message(_));
                progress.on(thread, time.unwrap_or(0), is_call)
            }
        };
        if used > 0 {
            let work = Operation::work(used);
            let mode = if looked { Mode::Looking } else { work.mode };
            self.builder.push(rank, work.in_mode(mode));
        }
        // The times that are reached hold them already.
        if paused > 0 && self.reached[rank as usize].is_none() {
            self.builder.push(rank, Operation::pause(paused));
        }
        if let Event::Message(message) = call.operation {
            let message = &self.trace.messages[message.index()];
            self.settle_window(rank, number);
            self.strand = self.strands.begin(thread, number).then_some(thread);
            match moved(message) {
                Some(points) => self.moved(rank, number, points),
                None => self.action(rank, message),
            }
        } else if matches!(call.operation, Event::Create(_)) {
            self.has_threads = true;
        }
        self.note(rank, number);
    }

    /// Lets a thread wait for what its last call of MPI began, where others of its rank could go on meanwhile.
    fn end_call(&mut self, rank: u32, thread: usize) {
        if let Some((event, waits)) = self.strands.end(thread) {
            for wait in waits {
                self.builder.push(rank, wait);
            }
            self.note(rank, event);
        }
    }

    /// Notes that a rank's last operations come from an event.
    fn note(&mut self, rank: u32, event: u32) {
        let operations = self.builder.operations(rank);
        self.calls[rank as usize].resize(operations, event);
    }

    /// Adds what a call does, and lets the rank wait for it if the call does.
    fn call(&mut self, rank: u32, operation: Operation) {
        match self.strand {
            Some(thread) if operation.request == crate::BLOCKING => {
                let ends = if operation.kind == Kind::Probe {
                    operation
                } else {
                    let request = self.strands.request(thread);
                    self.builder.push(rank, operation.with_request(request));
                    Operation::wait(request)
                };
                self.strands.later(thread, std::iter::once(ends));
            }
            _ => self.builder.push(rank, operation),
        }
    }

    /// Waits for several requests at once.
    fn wait_all(&mut self, rank: u32, requests: &[u32]) {
        match self.strand {
            Some(thread) => self.strands.later(thread, Operation::waits(requests)),
            None => self.builder.wait_all(rank, requests),
        }
    }

    /// Sends and receives what is got from the rank's window and put there, or waits for what it did to those of others, where an event
    /// ends that.
    fn settle_window(&mut self, rank: u32, event: u32) {
        let Some(settlement) = self.windows.before(event) else {
            return;
        };
        if settlement.waits {
            self.builder.wait_all(rank, &[self.alone]);
        }
        if let Some(communicator) = self.communicators[settlement.communicator as usize] {
            for operation in settlement.operations() {
                self.builder.push(rank, operation.on(communicator));
            }
        }
    }

    /// Puts into a window what goes there, and asks for what comes from there.
    fn moved(&mut self, rank: u32, event: u32, points: &[Point]) {
        let puts = || points.iter().filter(|point| point.end != End::Receive);
        match (self.windows.fate(event), points.first()) {
            (Fate::Settled, _) => {
                for point in puts() {
                    self.point(rank, point);
                    // What it is received by is not a call.
                    self.balance -= 1;
                }
            }
            (
                Fate::Alone,
                Some(&Point {
                    peer: Peer::Rank(peer),
                    bytes,
                    communicator,
                    ..
                }),
            ) if let Some(communicator) = self.communicators[communicator as usize] => {
                let mode = match (puts().count(), points.len()) {
                    (0, _) => Mode::Back,
                    (1, 2..) => Mode::Both,
                    _ => Mode::Standard,
                };
                let operation = Operation::alone(peer, bytes).in_mode(mode).on(communicator);
                self.builder.push(rank, operation.with_request(self.alone));
            }
            _ => self.spans += 1,
        }
    }

    fn action(&mut self, rank: u32, message: &Message) {
        match &message.action {
            Action::Begin { .. } | Action::BeginThreaded { .. } | Action::Tries { .. } => {}
            Action::Span { bytes } => {
                // Partitions go with the last of their message.
                let is_told = accesses_file_alone(message) || message.name.starts_with("pready");
                self.spans += u64::from(*bytes > 0 && !is_told);
            }
            Action::Point(point) => self.point(rank, point),
            Action::Several(points) => {
                for point in points {
                    self.point(rank, point);
                }
            }
            Action::Exchange { sent, received } => self.exchange(rank, &[*received, *sent]),
            Action::Exchanges(points) => self.exchange(rank, points),
            Action::Together {
                points,
                collectives,
            } => {
                for point in points {
                    self.point(rank, point);
                }
                for call in collectives {
                    self.collective(rank, call);
                }
            }
            Action::Wait { requests } => {
                let mut requests = requests.clone();
                requests.retain(|&request| !self.void.remove(&(rank, request)));
                self.wait_all(rank, &requests);
            }
            Action::Collective(call) => self.collective(rank, call),
        }
    }

    /// Sends and receives at the same time, by requests of its own.
    fn exchange(&mut self, rank: u32, points: &[Point]) {
        let of = |point: &Point, number| Point {
            request: Some(number),
            ..*point
        };
        let mut waits = Vec::new();
        for (number, point) in (self.unused_request..).zip(points) {
            let number = match self.strand {
                Some(thread) => self.strands.request(thread),
                None => number,
            };
            if point.peer != Peer::Nobody {
                self.point(rank, &of(point, number));
                waits.push(number);
            }
        }
        waits.retain(|&request| !self.void.remove(&(rank, request)));
        self.wait_all(rank, &waits);
    }

    fn point(&mut self, rank: u32, point: &Point) {
        let Some(communicator) = self.communicators[point.communicator as usize] else {
            self.spans += 1;
            self.nothing(rank, point);
            return;
        };
        let (peer, recorded) = match point.peer {
            Peer::Nobody => return self.nothing(rank, point),
            Peer::Rank(peer) => (peer, None),
            Peer::Any(recorded) => (ANY, recorded),
        };
        if point
            .request
            .is_some_and(|request| self.unended.contains(&(self.number, request)))
        {
            self.left_out += 1;
            return;
        }
        match point.end {
            End::Receive => self.balance -= 1,
            End::Send(_) => self.balance += 1,
            End::Probe => {}
        }
        let tag = point.tag.unwrap_or(ANY);
        let operation = match point.end {
            End::Send(mode) => Operation::send(peer, tag, point.bytes).in_mode(match mode {
                SendMode::Standard | SendMode::Ready => Mode::Standard,
                SendMode::Synchronous => Mode::Synchronous,
                SendMode::Buffered => Mode::Buffered,
            }),
            End::Receive | End::Probe => {
                let value = match point.peer {
                    Peer::Any(_) => recorded.map_or(u64::from(ANY), u64::from),
                    _ => point.bytes,
                };
                let receive = Operation::receive(peer, tag, value);
                if point.end == End::Probe {
                    Operation {
                        kind: Kind::Probe,
                        ..receive
                    }
                } else {
                    receive
                }
            }
        };
        let operation = operation.on(communicator);
        let request = point.request.unwrap_or(crate::BLOCKING);
        self.call(rank, operation.with_request(request));
    }

    /// A message to or from nobody: its request, where it has one, is over when it begins.
    fn nothing(&mut self, rank: u32, point: &Point) {
        if let Some(request) = point.request {
            self.void.insert((rank, request));
        }
    }

    fn collective(&mut self, rank: u32, call: &Call) {
        let Some(communicator) = self.communicators[call.communicator as usize] else {
            self.spans += 1;
            return;
        };
        let collective = Collective {
            kind: call.kind,
            root: call.root.unwrap_or(0),
            sent: call.given,
            received: call.got,
            work: 0,
        };
        let request = call.request.unwrap_or(crate::BLOCKING);
        let operation = self
            .builder
            .collective_call(communicator, request, collective);
        self.call(rank, operation);
    }

    /// Returns the program, and of each rank's operations the trace's events that they come from.
    fn finish(mut self, cpus: Option<u32>) -> (Program, Vec<Vec<u32>>) {
        for thread in 0..self.owners.len() {
            if let Some(rank) = self.owners[thread] {
                self.end_call(rank, thread);
            }
        }
        for (rank, reached) in (0..).zip(&self.reached) {
            if let Some(progress) = reached {
                let left = progress.time - progress.worked;
                self.builder.push(rank, Operation::work(left));
            }
        }
        if self.has_threads && cpus.is_none() {
            self.builder.warnings.push(
                "ranks have threads: those of a rank share its one CPU in the replay, as they did when they were recorded \
                 (--cpus-per-rank gives them more)"
                    .to_owned(),
            );
        }
        if self.spans > 0 {
            self.builder.warnings.push(format!(
                "{} calls of MPI move data in ways that are not replayed (into windows and from there with nothing that ends it, files that all \
                 access together, both sides of an intercommunicator): they take no time",
                self.spans
            ));
        }
        let recorded = if self.trace.recording.is_some() {
            self.balance
        } else {
            0
        };
        let unreceived = u64::try_from(recorded).unwrap_or_default();
        self.builder.remark(
            self.left_out,
            "receive was begun whose end its rank never saw: it is left out of the replay",
            "receives were begun whose ends their ranks never saw: they are left out of the replay",
        );
        self.builder.remark(
            unreceived,
            "message was sent that nobody received, in the replay as in the recording",
            "messages were sent that nobody received, in the replay as in the recording",
        );
        self.builder
            .warnings
            .extend(self.trace.warnings.iter().cloned());
        let program = self.builder.finish(self.trace.source.clone());
        let program = Program {
            threads: cpus.map(|cpus| Threads {
                cpus,
                work: self.work,
            }),
            unreceived,
            ..program
        };
        (program, self.calls)
    }
}
