//! Builds a trace from journals: merges the threads' events and gives everything an id.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::clock::Timescale;
use super::decode::{Decoded, Decoder};
use super::file::{Journal, JournalThread};
use super::hash::FastMap;
use super::layout::{Kind, OUTCOME_BUSY, OUTCOME_PENDING, OUTCOME_SUCCESS};
use super::modules::{AddressSpace, Sites};
use super::names::{list, object_operation, outcome, program_name, wait_operation};
use super::objects::{Objects, object_kind};
use crate::{
    Call, CallId, Event, Nanos, ObjectKind, Operation, Outcome, Process, ProcessId, Returns,
    SiteId, Thread, ThreadId, Trace, oddities::UNSEEN_ENDS,
};

/// A process as the builder needs it.
struct BuiltProcess {
    space: AddressSpace,
    /// The trace's threads by number in the journal.
    by_number: FastMap<u32, ThreadId>,
    /// The threads that had a `pthread_t`, by when they were made.
    by_pthread: FastMap<u64, Vec<(u64, ThreadId)>>,
}

/// A thread's stream of events, with the one that comes next.
struct Stream<'a> {
    decoder: Decoder<'a>,
    next: Option<Decoded>,
    process: usize,
    thread: ThreadId,
    is_main: bool,
    /// Whether the pending call was not about anything known, so that its return is dropped too.
    dropped: bool,
    end: Option<End>,
}

/// The ends of threads, by time; at the process's exit the first thread's is the last.
type Ends = BinaryHeap<Reverse<(u64, bool, usize)>>;

/// How a thread ended whose own end was not seen.
#[derive(Clone, Copy)]
struct End {
    tsc: u64,
    cpu: Option<u64>,
}

/// Builds one trace.
pub(super) struct Builder<'a> {
    journals: &'a [Journal],
    scale: Timescale,
    trace: Trace,
    processes: Vec<BuiltProcess>,
    sites: Sites,
    objects: Objects,
    calls: FastMap<Call, CallId>,
    unknown_threads: u64,
    endless: Vec<String>,
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
            objects: Objects::default(),
            calls: FastMap::default(),
            unknown_threads: 0,
            endless: Vec::new(),
        }
    }

    /// Merges all events. Returns with the trace the CPU time that the recorder used.
    pub fn build(mut self) -> (Trace, Nanos) {
        let mut streams = Vec::new();
        for index in 0..self.journals.len() {
            self.add_process(index, &mut streams);
        }
        self.merge(&mut streams);
        let recorder = streams.iter().map(|stream| stream.decoder.recorder_cpu());
        let recorder = Nanos(recorder.fold(0, u64::saturating_add));
        self.warn();
        self.trace.sites = self.sites.table;
        self.trace.modules = self.sites.modules;
        self.trace.objects = self.objects.table;
        (self.trace, recorder)
    }

    fn add_process(&mut self, index: usize, streams: &mut Vec<Stream<'a>>) {
        let journal = &self.journals[index];
        let name = program_name(&journal.program);
        self.trace.processes.push(Process {
            name: name.clone(),
            pid: Some(journal.pid),
            parent_pid: Some(journal.ppid),
        });
        let prefix = if index == 0 {
            String::new()
        } else {
            match journal.predecessors {
                0 => format!("{name}-{}/", journal.pid),
                generation => format!("{name}-{}.{generation}/", journal.pid),
            }
        };
        let mut built = BuiltProcess {
            space: AddressSpace::new(&journal.snapshots),
            by_number: FastMap::default(),
            by_pthread: FastMap::default(),
        };
        let mut others = 0;
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
            built.by_number.insert(thread.number, id);
            built
                .by_pthread
                .entry(thread.pthread)
                .or_default()
                .push((thread.tsc, id));
            streams.push(self.stream(index, journal, thread, id));
        }
        self.processes.push(built);
    }

    fn stream(
        &self,
        process: usize,
        journal: &'a Journal,
        thread: &'a JournalThread,
        id: ThreadId,
    ) -> Stream<'a> {
        let successor = self.journals[process + 1..]
            .iter()
            .find(|other| is_successor(journal, other));
        let end = match (journal.exit, successor) {
            (Some(exit), _) => Some(End {
                tsc: exit.tsc,
                cpu: journal.finals.get(&thread.tid).copied(),
            }),
            // It became another program, whose CPU time goes on from this one's.
            (None, Some(successor)) => Some(End {
                tsc: successor.start.tsc,
                cpu: None,
            }),
            (None, None) => None,
        };
        let base = if thread.tid == journal.pid {
            self.journals[..process]
                .iter()
                .filter(|other| is_successor(other, journal))
                .map(|other| main_cpu(other, self.scale))
                .sum()
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
            end,
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
            let end = ends.peek().map(|&Reverse((tsc, _, _))| tsc);
            let end_is_next = end.is_some_and(|end| event.is_none_or(|event| end < event));
            if end_is_next {
                let Some(Reverse((tsc, _, index))) = ends.pop() else {
                    return;
                };
                self.push_end(&streams[index], tsc);
                continue;
            }
            let Some(Reverse((_, index))) = heap.pop() else {
                return;
            };
            let stream = &mut streams[index];
            if let Some(event) = stream.next.take() {
                self.push(stream, event);
            }
            stream.next = stream.decoder.next();
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
            ends.push(Reverse((tsc.max(latest), stream.is_main, index)));
        } else {
            let name = &self.trace.threads[stream.thread.index()].name;
            self.endless.push(name.clone());
        }
    }

    fn push_end(&mut self, stream: &Stream<'a>, tsc: u64) {
        let (_, latest) = stream.decoder.latest();
        let own = stream.decoder.terminate().map(|terminate| terminate.cpu);
        let last = stream.end.and_then(|end| end.cpu);
        let cpu = own.or(last.map(|cpu| stream.decoder.own(cpu))).unwrap_or(0);
        let call = Call {
            thread: stream.thread,
            operation: Operation::Terminate,
            outcome: Outcome::Success,
            from: None,
            site: None,
        };
        self.push_call(call, tsc, cpu.max(latest));
    }

    fn push(&mut self, stream: &mut Stream<'a>, event: Decoded) {
        let process = stream.process;
        if self.note_life(process, &event) {
            return;
        }
        if event.kind == Kind::Return && std::mem::take(&mut stream.dropped) {
            return;
        }
        let Some(operation) = self.operation(process, &event) else {
            stream.dropped = event.outcome == OUTCOME_PENDING;
            return;
        };
        let site = self.site(process, &event);
        let call = Call {
            thread: stream.thread,
            operation,
            outcome: outcome(event.outcome),
            from: None,
            site,
        };
        self.push_call(call, event.tsc, event.cpu);
    }

    fn push_call(&mut self, call: Call, tsc: u64, cpu: u64) {
        let id = *self
            .calls
            .entry(call)
            .or_insert_with(|| self.trace.push_call(call));
        self.trace.events.push(Event {
            time: Nanos(self.scale.nanos_at(tsc)),
            cpu: Some(Nanos(cpu)),
            call: id,
        });
    }

    fn site(&mut self, process: usize, event: &Decoded) -> Option<SiteId> {
        let space = &self.processes[process].space;
        self.sites.site(process, space, event.site, event.tsc)
    }

    /// Takes records that tell of an object's life; returns whether this was one.
    fn note_life(&mut self, process: usize, event: &Decoded) -> bool {
        let Some(kind) = object_kind(event.kind) else {
            return false;
        };
        let address = event.object;
        let objects = &mut self.objects;
        let value = u32::try_from(event.second).ok();
        let succeeded = event.outcome == OUTCOME_SUCCESS;
        match event.kind {
            Kind::MutexInit | Kind::CondInit | Kind::RwInit | Kind::SpinInit => {
                if succeeded {
                    objects.initialize(process, kind, address, None);
                }
            }
            Kind::SemInit | Kind::BarrierInit => objects.initialize(process, kind, address, value),
            Kind::SemOpen => objects.open(process, address, event.third, value),
            Kind::MutexDestroy
            | Kind::CondDestroy
            | Kind::SemDestroy
            | Kind::RwDestroy
            | Kind::BarrierDestroy
            | Kind::SpinDestroy => {
                if succeeded {
                    objects.destroy(process, kind, address);
                }
            }
            _ => return false,
        }
        true
    }

    /// Returns the operation; `None` where it is about a thread that is not known.
    fn operation(&mut self, process: usize, event: &Decoded) -> Option<Operation> {
        match event.kind {
            Kind::Return => Some(Operation::Return),
            Kind::Create => {
                let number = u32::try_from(event.object).ok()?;
                let id = self.processes[process].by_number.get(&number).copied();
                id.map(Operation::Create)
            }
            Kind::Join | Kind::TryJoin | Kind::TimedJoin => {
                self.thread(process, event).map(Operation::Join)
            }
            Kind::Detach => self.thread(process, event).map(Operation::Detach),
            Kind::Cancel => self.thread(process, event).map(Operation::Cancel),
            Kind::Repetition => Some(self.repetition(process, event)),
            kind => {
                let object = self.objects.at(process, object_kind(kind)?, event.object);
                match kind {
                    Kind::CondWait | Kind::CondTimedWait => {
                        let mutex = self.objects.at(process, ObjectKind::Mutex, event.second);
                        Some(wait_operation(kind, object, mutex))
                    }
                    kind => object_operation(kind, object),
                }
            }
        }
    }

    fn repetition(&mut self, process: usize, event: &Decoded) -> Operation {
        let mutex = self.objects.at(process, ObjectKind::Mutex, event.object);
        let count = event.second;
        if event.outcome == OUTCOME_BUSY {
            return Operation::TryLocks { mutex, count };
        }
        let space = &self.processes[process].space;
        Operation::LockSections {
            mutex,
            count,
            held: Nanos(event.third),
            unlock: self
                .sites
                .site(process, space, event.release_site, event.tsc),
        }
    }

    fn thread(&mut self, process: usize, event: &Decoded) -> Option<ThreadId> {
        let found = self.processes[process]
            .by_pthread
            .get(&event.object)
            .and_then(|threads| {
                threads
                    .iter()
                    .rev()
                    .find(|&&(made, _)| made <= event.tsc)
                    .map(|&(_, id)| id)
            });
        if found.is_none() {
            self.unknown_threads += 1;
        }
        found
    }

    fn warn(&mut self) {
        let warnings = &mut self.trace.warnings;
        for journal in self.journals {
            warnings.extend(journal.damage.iter().cloned());
            let program = &journal.program;
            if journal.holes > 0 {
                warnings.push(format!(
                    "{program}: {} events were cut short and are missing",
                    journal.holes
                ));
            }
            if journal.stopped || journal.lost_events > 0 {
                warnings.push(format!(
                    "{program}: recording stopped for want of space, {} events are missing; give the recording more room",
                    journal.lost_events
                ));
            }
            if journal.has_tasks {
                warnings.push(format!(
                    "{program}: it uses OpenMP tasks: each counts where it was run, waits for them are not recorded"
                ));
            }
        }
        if !self.endless.is_empty() {
            warnings.push(format!(
                "{UNSEEN_ENDS}{} were not seen (killed, or still running): their last CPU times are those of their last events",
                list(&self.endless)
            ));
        }
        if self.unknown_threads > 0 {
            warnings.push(format!(
                "{} calls were about threads that were not seen being created, and are missing",
                self.unknown_threads
            ));
        }
    }
}

/// Returns whether a process went on as another program (by `exec`) right after a journal.
fn is_successor(journal: &Journal, other: &Journal) -> bool {
    journal.pid == other.pid
        && journal.start_ticks == other.start_ticks
        && Some(other.predecessors) == journal.predecessors.checked_add(1)
}

/// Returns the CPU time of a process's first thread at its last event, as the kernel counts it.
fn main_cpu(journal: &Journal, scale: Timescale) -> u64 {
    let Some(main) = journal
        .threads
        .iter()
        .find(|thread| thread.tid == journal.pid)
    else {
        return 0;
    };
    let mut decoder = Decoder::new(journal, main, scale, 0);
    while decoder.next().is_some() {}
    decoder.kernel_cpu()
}
