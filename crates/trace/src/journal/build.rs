//! Builds a trace from journals: merges the threads' events and gives everything an id.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::bindings::Bindings;
use super::clock::Timescale;
use super::decode::{Decoded, Decoder};
use super::file::{Journal, JournalThread};
use super::file_locks::FileLocks;
use super::hash::FastMap;
use super::layout::{Kind, OUTCOME_OWNER_DIED, OUTCOME_PENDING, UNDONE};
use super::limits::Spins;
use super::lineage::Lineage;
use super::messages::Messages;
use super::modules::{AddressSpace, Sites};
use super::names::{outcome, program_name};
use super::objects::Objects;
use super::recent::Recent;
use super::shared::SharedMemory;
use super::tail_calls;
use super::undone::Undone;
use crate::{
    Call, CallId, Event, Nanos, Operation, Outcome, Process, ProcessId, Returns, SiteId, Thread,
    ThreadId, Trace,
};

/// The tokens beyond one that are told of an operation on a set of semaphores.
const MOST_TOKENS: u64 = 1000;

/// A process as the builder needs it.
pub(super) struct BuiltProcess {
    pub(super) space: AddressSpace,
    /// The trace's threads by number in the journal.
    pub(super) by_number: FastMap<u32, ThreadId>,
    /// The threads that had a `pthread_t`, by when they were made.
    pub(super) by_pthread: FastMap<u64, Vec<(u64, ThreadId)>>,
    /// The threads by number in the system; of several that had one, the last.
    pub(super) by_tid: FastMap<u32, ThreadId>,
}

/// A thread's stream of events, with the one that comes next.
pub(super) struct Stream<'a> {
    decoder: Decoder<'a>,
    next: Option<Decoded>,
    pub(super) process: usize,
    pub(super) thread: ThreadId,
    is_main: bool,
    /// Whether the pending call was not about anything known, so that its return is dropped too.
    dropped: bool,
    /// A call that is to be told so many times more once it is back.
    owed: Option<(Call, u64)>,
    recent: Recent,
    end: Option<End>,
}

/// The ends of threads, by time; at the process's exit the first thread's is the last. What is false comes before: what a thread gives up by
/// its end, while the process is still being taken down.
type Ends = BinaryHeap<Reverse<(u64, bool, usize, bool)>>;

/// How a thread ended whose own end was not seen.
#[derive(Clone, Copy)]
struct End {
    tsc: u64,
    cpu: Option<u64>,
    /// What taking the process down took after that, in nanoseconds.
    ending: u64,
}

impl Stream<'_> {
    /// Returns the thread's CPU time when it ended, before its process was taken down.
    fn last_cpu(&self) -> u64 {
        let (_, latest) = self.decoder.latest();
        let own = self.decoder.terminate().map(|terminate| terminate.cpu);
        let last = self.end.and_then(|end| end.cpu);
        let cpu = own.or(last.map(|cpu| self.decoder.own(cpu)));
        cpu.unwrap_or(0).max(latest)
    }

    /// Returns what it took to take the process down, where that is part of this thread's end, in nanoseconds.
    fn ending(&self) -> u64 {
        let end = self.end.filter(|_| self.decoder.terminate().is_none());
        end.map_or(0, |end| end.ending)
    }
}

/// Returns whether an event is that somebody got what another had who is dead.
fn tells_of_a_death(event: Decoded) -> bool {
    event.outcome == OUTCOME_OWNER_DIED
}

/// Builds one trace.
pub(super) struct Builder<'a> {
    pub(super) journals: &'a [Journal],
    pub(super) scale: Timescale,
    pub(super) trace: Trace,
    pub(super) processes: Vec<BuiltProcess>,
    pub(super) sites: Sites,
    pub(super) objects: Objects,
    pub(super) lineage: Lineage<'a>,
    pub(super) messages: Messages,
    /// Whether each thread did something yet, or was created.
    pub(super) begun: Vec<bool>,
    calls: FastMap<Call, CallId>,
    pub(super) unknown_threads: u64,
    /// Processes that were started and have no journal.
    pub(super) unrecorded: u64,
    pub(super) bindings: Bindings,
    pub(super) spins: Spins,
    pub(super) endless: Vec<String>,
    /// The pipes that the first program began with as its outputs.
    pub(super) outputs: BTreeSet<u64>,
    file_locks: FileLocks,
    pub(super) undone: Undone,
}

impl<'a> Builder<'a> {
    /// Begins with journals that are in the order of their beginnings.
    pub fn new(journals: &'a [Journal], source: String) -> Self {
        Self {
            journals,
            scale: Timescale::of(journals),
            trace: Trace {
                source,
                returns: Returns::Explicit,
                ..Trace::default()
            },
            processes: Vec::new(),
            sites: Sites::default(),
            objects: Objects::sharing(SharedMemory::of(journals)),
            lineage: Lineage::new(journals),
            messages: Messages::default(),
            begun: Vec::new(),
            calls: FastMap::default(),
            unknown_threads: 0,
            unrecorded: 0,
            bindings: Bindings::default(),
            spins: Spins::default(),
            endless: Vec::new(),
            outputs: BTreeSet::new(),
            file_locks: FileLocks::default(),
            undone: Undone::default(),
        }
    }

    /// Merges all events. Returns with the trace the CPU time that the recorder used.
    pub fn build(mut self) -> (Trace, Nanos) {
        let mut streams = Vec::new();
        for index in 0..self.journals.len() {
            self.add_process(index, &mut streams);
        }
        self.add_endings(&mut streams);
        self.merge(&mut streams);
        self.drop_contradicted();
        let in_launchers = self.journals.iter().map(|journal| journal.before.recorder);
        let recorder = streams.iter().map(|stream| stream.decoder.recorder_cpu());
        let recorder = recorder.chain(in_launchers);
        let recorder = Nanos(recorder.fold(0, u64::saturating_add));
        self.trace.sites = std::mem::take(&mut self.sites.table);
        self.trace.modules = std::mem::take(&mut self.sites.modules);
        self.trace.messages = std::mem::take(&mut self.messages.table);
        self.trace.communicators = std::mem::take(&mut self.messages.communicators);
        self.trace.objects = std::mem::take(&mut self.objects.table);
        tail_calls::place(&mut self.trace);
        if !self.trace.messages.is_empty() {
            self.trace.drop_unused_messages();
            self.name_ranks();
        }
        for (thread, cpu) in self.trace.threads.iter_mut().zip(self.bindings.cpus()) {
            thread.cpu = cpu;
        }
        self.warn();
        (self.trace, recorder)
    }

    /// Drops what is told of locks that cannot have been so.
    fn drop_contradicted(&mut self) {
        let contradicted = self.file_locks.contradicted();
        if contradicted.is_empty() {
            return;
        }
        let calls = &self.trace.calls;
        self.trace.events.retain(|event| {
            let object = calls[event.call.index()].operation.object();
            object.is_none_or(|object| !contradicted.contains(&object))
        });
    }

    /// Names the threads of ranks by these.
    fn name_ranks(&mut self) {
        for (process, rank, _) in self.trace.ranks() {
            let name = format!("rank{rank}");
            // A recording may hold several programs that use MPI, one after the other.
            if self.trace.thread_named(&name).is_some() {
                continue;
            }
            for thread in &mut self.trace.threads {
                if thread.process == process {
                    let own = thread.name.rsplit('/').next().unwrap_or_default();
                    let renamed = match own {
                        "main" => name.clone(),
                        own => format!("{name}/{own}"),
                    };
                    let old = std::mem::replace(&mut thread.name, renamed);
                    for endless in self.endless.iter_mut().filter(|known| **known == old) {
                        endless.clone_from(&thread.name);
                    }
                }
            }
        }
    }

    fn add_process(&mut self, index: usize, streams: &mut Vec<Stream<'a>>) {
        let journal = &self.journals[index];
        let name = program_name(&journal.program);
        self.trace.processes.push(Process {
            name: name.clone(),
            pid: Some(journal.pid),
            parent_pid: Some(journal.ppid),
            remaps: journal.remaps,
        });
        let prefix = self.prefix(index, &name);
        let mut built = BuiltProcess {
            space: AddressSpace::new(&journal.snapshots),
            by_number: FastMap::default(),
            by_pthread: FastMap::default(),
            by_tid: FastMap::default(),
        };
        let mut others = 0;
        let mut ids = Vec::new();
        for thread in &journal.threads {
            let is_main = thread.tid == journal.pid;
            let own_name = if is_main {
                "main".to_owned()
            } else {
                others += 1;
                format!("T{others}")
            };
            let id = ThreadId::from_index(self.trace.threads.len());
            let site = self
                .sites
                .site(index, &built.space, thread.start_routine, thread.tsc);
            self.trace.threads.push(Thread {
                name: format!("{prefix}{own_name}"),
                process: ProcessId::from_index(index),
                priority: None,
                cpu: None,
                start_routine: site,
                tid: Some(thread.tid).filter(|&tid| tid != 0),
            });
            self.bindings.push(thread.bound);
            ids.push(id);
            self.begun.push(false);
            built.by_number.insert(thread.number, id);
            built.by_tid.insert(thread.tid, id);
            built
                .by_pthread
                .entry(thread.pthread)
                .or_default()
                .push((thread.tsc, id));
            streams.push(self.stream(index, journal, thread, id));
        }
        self.lineage.set_threads(index, &ids);
        self.processes.push(built);
    }

    /// Returns what the names of a process's threads begin with. Numbers of processes are used again.
    fn prefix(&self, index: usize, name: &str) -> String {
        if index == 0 {
            return String::new();
        }
        let journal = &self.journals[index];
        let same = |other: &&Journal| {
            (other.pid, other.predecessors) == (journal.pid, journal.predecessors)
        };
        let pid = match self.journals[..index].iter().filter(same).count() {
            0 => journal.pid.to_string(),
            earlier => format!("{}~{}", journal.pid, earlier + 1),
        };
        match journal.predecessors {
            0 => format!("{name}-{pid}/"),
            generation => format!("{name}-{pid}.{generation}/"),
        }
    }

    fn stream(
        &self,
        process: usize,
        journal: &'a Journal,
        thread: &'a JournalThread,
        id: ThreadId,
    ) -> Stream<'a> {
        let successor = self.lineage.successor(process);
        let successor = successor.map(|index| &self.journals[index]);
        let end = match (journal.exit, successor) {
            (Some(exit), _) => Some(End {
                tsc: exit.tsc,
                cpu: journal.finals.get(&thread.tid).copied(),
                ending: 0,
            }),
            // It became another program, whose CPU time goes on from this one's.
            (None, Some(successor)) => Some(End {
                tsc: successor.start.tsc,
                cpu: None,
                ending: 0,
            }),
            (None, None) => None,
        };
        let base = if thread.tid == journal.pid {
            journal.before.cpu
        } else {
            0
        };
        let mut decoder = Decoder::new(journal, thread, self.scale, base);
        Stream {
            next: decoder.next(),
            decoder,
            process,
            thread: id,
            is_main: thread.tid == journal.pid,
            dropped: false,
            owed: None,
            recent: Recent::default(),
            end,
        }
    }

    /// Lets the last thread of each process take what it took to take the process down.
    fn add_endings(&self, streams: &mut [Stream<'a>]) {
        for stream in streams {
            let ending = self.journals[stream.process].ending;
            if let Some(end) = &mut stream.end
                && self.lineage.last(stream.process) == Some(stream.thread)
            {
                end.ending = ending;
            }
        }
    }

    fn merge(&mut self, streams: &mut [Stream<'a>]) {
        let mut heap: BinaryHeap<Reverse<(u64, usize)>> = streams
            .iter()
            .enumerate()
            .filter_map(|(index, stream)| Some(Reverse((stream.next?.tsc, index))))
            .collect();
        // A thread without events still ends.
        let mut ends = Ends::new();
        for (index, stream) in streams.iter().enumerate() {
            if stream.next.is_none() {
                self.schedule_end(&mut ends, stream, index);
            }
        }
        loop {
            let event = heap.peek().map(|&Reverse((tsc, _))| tsc);
            let end = ends.peek().map(|&Reverse((tsc, ..))| tsc);
            let end_is_next = end.is_some_and(|end| event.is_none_or(|event| end < event));
            if end_is_next {
                let Some(Reverse((tsc, is_main, index, is_over))) = ends.pop() else {
                    return;
                };
                let stream = &streams[index];
                let ending = stream.ending();
                if !is_over {
                    self.push_given_up(stream, tsc);
                }
                if is_over || ending == 0 {
                    self.push_end(stream, tsc);
                } else {
                    let over = tsc + self.scale.ticks(ending);
                    ends.push(Reverse((over, is_main, index, true)));
                }
                continue;
            }
            let Some(Reverse((tsc, index))) = heap.pop() else {
                return;
            };
            if streams[index].next.is_some_and(tells_of_a_death) {
                self.end_leaving(&mut ends, streams, tsc);
            }
            // On one CPU, most events are of the thread that the event before is of.
            let others = heap.peek().map_or(u64::MAX, |&Reverse((tsc, _))| tsc);
            let end = ends.peek().map_or(u64::MAX, |&Reverse((tsc, ..))| tsc);
            let stream = &mut streams[index];
            while let Some(event) = stream.next.take() {
                self.push(stream, event);
                stream.next = stream.decoder.next();
                let waits = |next: Decoded| next.tsc >= others.min(end) || tells_of_a_death(next);
                if stream.next.is_none_or(waits) {
                    break;
                }
            }
            match stream.next {
                Some(next) => heap.push(Reverse((next.tsc, index))),
                None => self.schedule_end(&mut ends, stream, index),
            }
        }
    }

    fn schedule_end(&mut self, ends: &mut Ends, stream: &Stream<'a>, index: usize) {
        let (latest, _) = stream.decoder.latest();
        let seen = stream.decoder.terminate().map(|terminate| terminate.tsc);
        if let Some(tsc) = seen.or(stream.end.map(|end| end.tsc)) {
            ends.push(Reverse((tsc.max(latest), stream.is_main, index, false)));
        } else {
            let name = &self.trace.threads[stream.thread.index()].name;
            self.endless.push(name.clone());
        }
    }

    /// Ends those that are being taken down: one that had what somebody got now is over.
    fn end_leaving(&mut self, ends: &mut Ends, streams: &[Stream<'a>], tsc: u64) {
        let (leaving, others): (Vec<_>, Vec<_>) =
            ends.drain().partition(|&Reverse((.., is_over))| is_over);
        ends.extend(others);
        for Reverse((_, _, index, _)) in leaving {
            self.push_end(&streams[index], tsc);
        }
    }

    /// Tells what a process gives up by its end, where that is the end of this thread.
    fn push_given_up(&mut self, stream: &Stream<'a>, tsc: u64) {
        if self.lineage.last(stream.process) != Some(stream.thread) {
            return;
        }
        let successor = self.lineage.successor(stream.process);
        let tokens = self.undone.end(stream.process, successor);
        let tokens = tokens.into_iter().map(Operation::SemPost);
        let locks = self.file_locks.end(stream.process);
        for operation in locks.into_iter().chain(tokens) {
            self.push_of_end(stream, operation, (tsc, stream.last_cpu()));
        }
    }

    fn push_end(&mut self, stream: &Stream<'a>, tsc: u64) {
        let became = self.lineage.became(stream.process, stream.thread);
        let begun = became.is_some_and(|next| self.begun[next.index()]);
        let at = (tsc, stream.last_cpu() + stream.ending());
        self.bindings.advance(stream.thread, at.1);
        if let Some(next) = became.filter(|_| !begun) {
            self.push_of_end(stream, Operation::Create(next), at);
        }
        self.push_of_end(stream, Operation::Terminate, at);
    }

    fn push_of_end(&mut self, stream: &Stream<'a>, operation: Operation, (tsc, cpu): (u64, u64)) {
        let call = Call {
            thread: stream.thread,
            operation,
            outcome: Outcome::Success,
            from: None,
            site: None,
        };
        self.push_call(call, tsc, cpu);
    }

    fn push(&mut self, stream: &mut Stream<'a>, event: Decoded) {
        let process = stream.process;
        if let Some(id) = stream.recent.call(&event, self.objects.lives()) {
            self.bindings.advance(stream.thread, event.cpu);
            self.push_event(id, event.tsc, event.cpu);
            return;
        }
        if self.note_life(process, &event) {
            return;
        }
        if event.kind == Kind::Yield {
            let site = self.site(process, &event, stream.decoder.addresses(event.stack));
            self.spins.note(stream.thread, site, event.second);
            return;
        }
        if event.kind == Kind::Return && std::mem::take(&mut stream.dropped) {
            return;
        }
        self.bindings.advance(stream.thread, event.cpu);
        if event.kind == Kind::Exec {
            self.lineage.becomes(process, stream.thread);
            return;
        }
        if matches!(
            event.kind,
            Kind::FileReadLock | Kind::FileWriteLock | Kind::FileUnlock
        ) {
            self.push_file_lock(stream, &event);
            return;
        }
        let words = stream.decoder.take_words(event.words);
        if event.kind == Kind::Return {
            self.message_returned(stream, &event, &words);
        }
        let operation = if event.kind == Kind::Mpi {
            self.message(stream, &event, words)
        } else {
            self.operation(stream, &event)
        };
        let Some(operation) = operation else {
            stream.dropped = event.outcome == OUTCOME_PENDING;
            return;
        };
        let site = self.site(process, &event, stream.decoder.addresses(event.stack));
        let call = Call {
            thread: stream.thread,
            operation,
            outcome: outcome(event.outcome),
            from: None,
            site,
        };
        let id = self.push_call(call, event.tsc, event.cpu);
        let until = self.processes[process].space.valid_until(event.tsc);
        stream.recent.keep(&event, id, self.objects.lives(), until);
        // The operation on a set of semaphores may move several tokens, which counts as one operation each. Where the first
        // was waited for, the others were there with it.
        let more = match event.kind {
            Kind::SetTake | Kind::SetGive => {
                let tokens = event.second & !UNDONE;
                tokens.saturating_sub(1).min(MOST_TOKENS)
            }
            _ => 0,
        };
        if more > 0 && event.outcome == OUTCOME_PENDING {
            stream.owed = Some((call, more));
            return;
        }
        let owed = stream.owed.take_if(|_| event.kind == Kind::Return);
        let (call, count) = owed.unwrap_or((call, more));
        for _ in 0..count {
            self.push_call(call, event.tsc, event.cpu);
        }
    }

    fn push_file_lock(&mut self, stream: &Stream<'_>, event: &Decoded) {
        let site = self.site(stream.process, event, stream.decoder.addresses(event.stack));
        let who = (stream.process, stream.thread);
        for step in self.file_locks.step(&mut self.objects, who, event) {
            let call = Call {
                thread: stream.thread,
                operation: step.operation,
                outcome: step.outcome,
                from: None,
                site,
            };
            self.push_call(call, event.tsc, event.cpu);
        }
    }

    fn push_call(&mut self, call: Call, tsc: u64, cpu: u64) -> CallId {
        self.begun[call.thread.index()] = true;
        if let Operation::Create(child) = call.operation {
            self.begun[child.index()] = true;
        }
        let id = self.call_id(call);
        self.push_event(id, tsc, cpu);
        id
    }

    fn push_event(&mut self, call: CallId, tsc: u64, cpu: u64) {
        let time = Nanos(self.scale.nanos_at(tsc));
        let event = Event::new(time, Some(Nanos(cpu)), call);
        self.trace.events.push(event);
    }

    /// Returns the id of a call.
    pub(super) fn call_id(&mut self, call: Call) -> CallId {
        let trace = &mut self.trace;
        *self
            .calls
            .entry(call)
            .or_insert_with(|| trace.push_call(call))
    }

    /// Returns where a call was made, the stack of callers included: those whose place is not known are left out.
    fn site(&mut self, process: usize, event: &Decoded, stack: &[u64]) -> Option<SiteId> {
        let space = &self.processes[process].space;
        let mut caller = None;
        for &address in stack.iter().rev() {
            let site = self
                .sites
                .called_from(caller, process, space, address, event.tsc);
            caller = site.or(caller);
        }
        self.sites
            .called_from(caller, process, space, event.site, event.tsc)
    }
}
