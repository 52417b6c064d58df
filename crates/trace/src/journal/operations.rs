//! From records to operations: what a record is about is looked up among threads, objects and processes.

use super::build::{Builder, Stream};
use super::decode::Decoded;
use super::layout::{COUNTER_NUMBER, EVENT_COUNTER, Kind, OUTCOME_BUSY, OUTCOME_SUCCESS};
use super::names::{object_operation, wait_operation, wake_operation};
use super::objects::object_kind;
use crate::{Call, FileKind, IoKind, Nanos, ObjectKind, Operation, ThreadId, io};

impl Builder<'_> {
    /// Takes records that tell of an object's life; returns whether this was one.
    pub fn note_life(&mut self, process: usize, event: &Decoded) -> bool {
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
                    // Of a readers-writer lock that prefers writers, and a spin lock for which threads keep their CPUs.
                    let is_marked = matches!(event.kind, Kind::RwInit | Kind::SpinInit);
                    let initial = value.filter(|&value| is_marked && value == 1);
                    objects.initialize(process, kind, address, initial);
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
    pub fn operation(&mut self, stream: &Stream<'_>, event: &Decoded) -> Option<Operation> {
        let process = stream.process;
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
            Kind::Fork if event.outcome != OUTCOME_SUCCESS => None,
            Kind::Fork => {
                let child = self.lineage.started(process, event);
                self.unrecorded += u64::from(child.is_none());
                let (index, thread) = child?;
                if self.journals[index].forked {
                    self.objects.inherit(index, process);
                }
                // What acted before cannot begin here, whatever the numbers say.
                (!self.begun[thread.index()]).then_some(Operation::Create(thread))
            }
            Kind::WaitProcess => {
                let ended = self.lineage.ended(process, event).map(Operation::Join);
                // One that only looked did not wait for a process that nobody knows.
                let waited = event.outcome != OUTCOME_SUCCESS;
                ended.or(waited.then_some(Operation::Io {
                    kind: IoKind::Process,
                    file: FileKind::None,
                }))
            }
            Kind::Sleep if event.object == 0 => Some(Operation::Sleep),
            Kind::SleepPast => {
                let since = self.scale.nanos(event.tsc.saturating_sub(event.second));
                Some(Operation::SleepPast(Nanos(
                    event.object.saturating_add(since),
                )))
            }
            Kind::Sleep => Some(Operation::SleepFor(Nanos(event.object))),
            Kind::Io => {
                let (kind, file) = io::unpack(event.second)?;
                Some(Operation::Io { kind, file })
            }
            Kind::Detach => self.thread(process, event).map(Operation::Detach),
            Kind::Cancel => self.thread(process, event).map(Operation::Cancel),
            Kind::Repetition => Some(self.repetition(process, event)),
            Kind::Bind => {
                let thread = self.bound_thread(stream, event)?;
                let cpus = event.second;
                if event.outcome == OUTCOME_SUCCESS {
                    self.bindings.bind(thread, cpus);
                }
                Some(Operation::Bind { thread, cpus })
            }
            Kind::QueueSend | Kind::QueueReceive => {
                let name = event.object;
                let queue = self.objects.shared(process, ObjectKind::Queue, name, None);
                object_operation(event.kind, queue)
            }
            // What the whole program writes to nobody in it reads.
            Kind::PipeHeld if process == 0 => {
                self.outputs.insert(event.object);
                None
            }
            Kind::PipeWrite | Kind::PipeHeld if self.outputs.contains(&event.object) => None,
            Kind::PipeWrite | Kind::PipeHeld | Kind::PipeRead | Kind::CounterMade => {
                self.pipe(process, event)
            }
            Kind::SetTake | Kind::SetGive => {
                let value = event.third.checked_sub(1);
                let value = value.and_then(|value| u32::try_from(value).ok());
                let (kind, name) = (ObjectKind::Semaphore, event.object);
                let semaphore = self.objects.shared(process, kind, name, value);
                self.undone.step(process, semaphore, event);
                object_operation(event.kind, semaphore)
            }
            kind => {
                let object = self.objects.at(process, object_kind(kind)?, event.object);
                match kind {
                    Kind::CondWait | Kind::CondTimedWait => {
                        let mutex = self.objects.at(process, ObjectKind::Mutex, event.second);
                        Some(wait_operation(kind, object, mutex))
                    }
                    Kind::FutexWake => {
                        // A program may ask for any number, and not live to see how many it was.
                        let most = self.trace.threads.len() as u64;
                        Some(wake_operation(object, event.second.min(most)))
                    }
                    Kind::DoacrossWait => Some(Operation::DoacrossWait {
                        loops: object,
                        iteration: event.second,
                    }),
                    Kind::DoacrossPost => Some(Operation::DoacrossPost {
                        loops: object,
                        iteration: event.second,
                    }),
                    kind => object_operation(kind, object),
                }
            }
        }
    }

    /// Returns what a call of MPI did, as far as it is known when it begins.
    pub fn message(
        &mut self,
        stream: &Stream<'_>,
        event: &Decoded,
        words: Vec<u64>,
    ) -> Option<Operation> {
        let place = self.trace.events.len();
        let call = (event.object, words);
        let message = self
            .messages
            .call(stream.process, stream.thread, place, call)?;
        Some(Operation::Message(message))
    }

    /// Notes that a call of MPI came back, if that is what came back: its event and earlier ones may tell more now.
    pub fn message_returned(&mut self, stream: &Stream<'_>, event: &Decoded, words: &[u64]) {
        let (process, thread) = (stream.process, stream.thread);
        for change in self
            .messages
            .came_back(process, thread, event.outcome, words)
        {
            let call = *self.trace.call(&self.trace.events[change.event]);
            let id = self.call_id(Call {
                operation: Operation::Message(change.message),
                ..call
            });
            self.trace.events[change.event].call = id;
        }
    }

    /// Returns what was done to a pipe, a connection or a counter.
    fn pipe(&mut self, process: usize, event: &Decoded) -> Option<Operation> {
        let name = match event.object {
            // Each process has its own numbers of files.
            name if name & (EVENT_COUNTER | COUNTER_NUMBER) == EVENT_COUNTER => {
                name | (process as u64) << 32
            }
            name => name,
        };
        if event.kind == Kind::CounterMade {
            self.objects.end_shared(ObjectKind::Pipe, name);
            if event.second == 0 {
                return None;
            }
        }
        let pipe = self.objects.shared(process, ObjectKind::Pipe, name, None);
        let bytes = u32::try_from(event.second).unwrap_or(u32::MAX);
        Some(if event.kind == Kind::PipeRead {
            Operation::PipeRead { pipe, bytes }
        } else {
            Operation::PipeWrite { pipe, bytes }
        })
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

    /// Returns the thread that was bound.
    fn bound_thread(&mut self, stream: &Stream<'_>, event: &Decoded) -> Option<ThreadId> {
        if event.object == 0 {
            return Some(stream.thread);
        }
        match u32::try_from(event.object) {
            // Of another process, where it is not found: that one's own affair.
            Ok(tid) => self.processes[stream.process].by_tid.get(&tid).copied(),
            Err(_) => self.thread(stream.process, event),
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
}
