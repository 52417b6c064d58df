//! Random traces that are valid.

use std::collections::{HashMap, HashSet};

use foretrace_trace::{
    Call, CallId, CallSite, Event, ExitStatus, FileKind, IoKind, Module, ModuleId, Nanos, Object,
    ObjectId, ObjectKind, Operation, Outcome, Process, ProcessId, Recording, Returns, SiteId,
    Thread, ThreadClock, ThreadId, Trace,
};
use proptest::{collection::vec, option, prelude::*, sample::select};

/// What an event is made of; what does not fit is left out by [`Builder`].
#[derive(Clone, Debug)]
struct Raw {
    thread: usize,
    operation: usize,
    operands: (usize, usize),
    outcome: Outcome,
    from: Option<usize>,
    site: Option<usize>,
    time: u64,
    cpu: Option<u64>,
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_.-]{1,5}",
        "[a =\"#\\\\]{0,4}",
        any::<String>(),
        select(vec![
            "ok", "cpu", "priority", "mutex 1", "\r\n", "0", "\u{2028}", "\u{feff}"
        ])
        .prop_map(str::to_owned),
    ]
}

/// Differences of times: mostly small, sometimes too long for 32 bits.
fn step() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0u64..1000,
        1 => select(vec![u64::from(u32::MAX) - 1, u64::from(u32::MAX), u64::from(u32::MAX) + 1]),
        1 => 0u64..1 << 40,
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        4 => Just(Outcome::Success),
        1 => select(vec![Outcome::Busy, Outcome::TimedOut, Outcome::Chosen, Outcome::OwnerDied]),
        1 => any::<u16>().prop_map(Outcome::Failed),
    ]
}

fn raw() -> impl Strategy<Value = Raw> {
    let operands = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (
        (0usize..5, 0usize..44, operands, outcome()),
        (
            option::of(0usize..5),
            option::of(0usize..4),
            step(),
            option::of(step()),
        ),
    )
        .prop_map(
            |((thread, operation, operands, outcome), (from, site, time, cpu))| Raw {
                thread,
                operation,
                operands: (operands.0.index(1 << 16), operands.1.index(1 << 16)),
                outcome,
                from,
                site,
                time,
                cpu,
            },
        )
}

fn recording() -> impl Strategy<Value = Recording> {
    let exit = prop_oneof![
        any::<i32>().prop_map(ExitStatus::Code),
        any::<i32>().prop_map(ExitStatus::Signal)
    ];
    let clock = select(vec![
        ThreadClock::Rseq,
        ThreadClock::Counter,
        ThreadClock::SystemCall,
    ]);
    let time = || (0u64..=1 << 53).prop_map(Nanos);
    (
        (
            vec(name(), 0..4),
            name(),
            any::<u64>(),
            any::<u32>(),
            any::<u32>(),
        ),
        (
            option::of(time()),
            clock,
            time(),
            option::of(time()),
            option::of(exit),
            any::<u64>(),
            time(),
        ),
    )
        .prop_map(
            |(
                (command, version, started, cpu, cpus),
                (slice, clock, wall, cpu_time, exit, lost, recorder_cpu),
            )| {
                Recording {
                    command,
                    recorder_version: version,
                    started_unix_seconds: started,
                    cpu,
                    pretended_cpus: cpus,
                    slice,
                    clock,
                    wall,
                    cpu_time,
                    exit,
                    lost_events: lost,
                    recorder_cpu,
                }
            },
        )
}

fn process() -> impl Strategy<Value = Process> {
    let number = || option::of(any::<u32>());
    let remaps = prop_oneof![Just(0), any::<u64>()];
    (name(), number(), number(), remaps).prop_map(|(name, pid, parent_pid, remaps)| Process {
        name,
        pid,
        parent_pid,
        remaps,
    })
}

fn thread() -> impl Strategy<Value = Thread> {
    let number = || option::of(any::<u32>());
    (
        name(),
        0u32..3,
        option::weighted(0.8, -3i32..3),
        number(),
        option::of(0u32..4),
        number(),
    )
        .prop_map(|(name, process, priority, cpu, start, tid)| Thread {
            name,
            process: ProcessId(process),
            priority,
            cpu,
            start_routine: start.map(SiteId),
            tid,
        })
}

fn object() -> impl Strategy<Value = Object> {
    let plain = option::weighted(0.3, any::<u64>());
    (
        select(ObjectKind::ALL.to_vec()),
        name(),
        0u32..3,
        plain,
        option::weighted(0.3, any::<u32>()),
    )
        .prop_map(|(kind, name, process, address, initial)| Object {
            kind,
            name,
            process: ProcessId(if address.is_some() { process } else { 0 }),
            address,
            initial,
        })
}

/// Makes traces that [`foretrace_trace::validate`] accepts, their calls numbered by first use.
pub fn traces() -> impl Strategy<Value = Trace> {
    let modules = vec(
        (
            prop_oneof![
                name(),
                select(vec!["/bin/a", "/usr/bin/a", "b/"]).prop_map(str::to_owned)
            ],
            option::of(name()),
        ),
        0..3,
    );
    let sites = vec(
        (
            0usize..3,
            prop_oneof![0u64..2, any::<u64>()],
            option::of(0usize..4),
        ),
        0..4,
    );
    (
        (
            option::of(recording()),
            any::<bool>(),
            vec(process(), 0..3),
            vec(thread(), 1..5),
        ),
        (
            vec(object(), 0..8),
            modules,
            sites,
            vec(name(), 0..3),
            vec(raw(), 0..40),
        ),
    )
        .prop_map(
            |(
                (recording, explicit, processes, threads),
                (objects, modules, sites, warnings, raws),
            )| {
                let mut trace = Trace {
                    source: "random".to_owned(),
                    recording,
                    returns: if explicit {
                        Returns::Explicit
                    } else {
                        Returns::Derived
                    },
                    processes,
                    threads,
                    objects,
                    modules: modules
                        .into_iter()
                        .map(|(path, build_id)| Module { path, build_id })
                        .collect(),
                    warnings,
                    ..Trace::default()
                };
                trace.sites = sites
                    .into_iter()
                    .filter(|&(module, _, _)| module < trace.modules.len())
                    .enumerate()
                    .map(|(index, (module, offset, caller))| CallSite {
                        module: ModuleId::from_index(module),
                        offset,
                        caller: caller
                            .filter(|&caller| caller < index)
                            .map(SiteId::from_index),
                    })
                    .collect();
                mend(&mut trace);
                Builder::new(trace).build(raws)
            },
        )
}

/// Makes the tables of random parts agree.
fn mend(trace: &mut Trace) {
    if trace.processes.is_empty() {
        trace.processes.push(Process {
            name: "program".to_owned(),
            pid: None,
            parent_pid: None,
            remaps: 0,
        });
    }
    let (processes, sites) = (trace.processes.len(), trace.sites.len());
    let mut names = HashSet::new();
    for thread in &mut trace.threads {
        thread.process.0 %= processes as u32;
        thread.start_routine = thread.start_routine.filter(|site| site.index() < sites);
        while !names.insert(thread.name.clone()) {
            thread.name.push('+');
        }
    }
    if trace.threads.iter().all(|thread| thread.priority.is_some()) {
        trace
            .threads
            .sort_by_key(|thread| std::cmp::Reverse(thread.priority));
    }
    let mut names = HashSet::new();
    for object in &mut trace.objects {
        object.process.0 %= processes as u32;
        while !names.insert((object.kind, object.name.clone())) {
            object.name.push('+');
        }
    }
}

struct Builder {
    trace: Trace,
    calls: HashMap<Call, CallId>,
    began: Vec<bool>,
    ended: Vec<bool>,
    cpu: Vec<u64>,
}

impl Builder {
    fn new(trace: Trace) -> Self {
        let threads = trace.threads.len();
        Self {
            trace,
            calls: HashMap::new(),
            began: vec![false; threads],
            ended: vec![false; threads],
            cpu: vec![0; threads],
        }
    }

    fn build(mut self, raws: Vec<Raw>) -> Trace {
        let mut time = 0;
        for raw in raws {
            time += raw.time;
            let thread = raw.thread % self.trace.threads.len();
            if let Some(operation) = self.operation(&raw, thread) {
                self.push(&raw, thread, operation, time);
            }
        }
        if self.trace.events.is_empty() {
            let call = Call {
                thread: ThreadId(0),
                operation: Operation::Terminate,
                outcome: Outcome::Success,
                from: None,
                site: None,
            };
            let call = self.trace.push_call(call);
            self.trace.events.push(Event::new(Nanos(time), None, call));
        }
        // What every reader of text adds, so that reading adds nothing.
        let more = foretrace_trace::warnings(&self.trace);
        self.trace.warnings.extend(more);
        self.trace
    }

    fn push(&mut self, raw: &Raw, thread: usize, operation: Operation, time: u64) {
        self.began[thread] = true;
        let trace = &mut self.trace;
        let threads = trace.threads.len();
        let call = Call {
            thread: ThreadId::from_index(thread),
            operation,
            outcome: raw.outcome,
            from: raw.from.map(|from| ThreadId::from_index(from % threads)),
            site: raw
                .site
                .filter(|&site| site < trace.sites.len())
                .map(SiteId::from_index),
        };
        let call = *self
            .calls
            .entry(call)
            .or_insert_with(|| trace.push_call(call));
        let cpu = raw.cpu.map(|cpu| {
            self.cpu[thread] += cpu;
            Nanos(self.cpu[thread])
        });
        trace.events.push(Event::new(Nanos(time), cpu, call));
    }

    /// Returns the operation where it is possible here.
    fn operation(&mut self, raw: &Raw, thread: usize) -> Option<Operation> {
        if self.ended[thread] {
            return None;
        }
        let other = raw.operands.0 % self.trace.threads.len();
        let other_id = ThreadId::from_index(other);
        Some(match raw.operation {
            0 if !self.began[other] && other != thread => {
                // A thread is created once; to begin is what rules a second creation out here.
                self.began[other] = true;
                Operation::Create(other_id)
            }
            0 => return None,
            1 => Operation::Join(other_id),
            2 => Operation::Detach(other_id),
            3 => Operation::Cancel(other_id),
            4 => {
                self.ended[thread] = true;
                Operation::Terminate
            }
            5 => Operation::Return,
            6 => Operation::Send {
                event: self.object(ObjectKind::Event, raw.operands.1)?,
                to: other_id,
            },
            7 => Operation::CondWait {
                cond: self.object(ObjectKind::Cond, raw.operands.0)?,
                mutex: self.object(ObjectKind::Mutex, raw.operands.1)?,
            },
            8 => Operation::CondTimedWait {
                cond: self.object(ObjectKind::Cond, raw.operands.0)?,
                mutex: self.object(ObjectKind::Mutex, raw.operands.1)?,
            },
            9 => Operation::FutexWake {
                futex: self.object(ObjectKind::Futex, raw.operands.0)?,
                woken: raw.operands.1 as u32,
            },
            10 if raw.operands.0.is_multiple_of(2) => Operation::Sleep,
            10 if raw.operands.1.is_multiple_of(2) => {
                Operation::SleepPast(Nanos(raw.operands.0 as u64))
            }
            10 => Operation::SleepFor(Nanos(raw.operands.0 as u64)),
            11 => Operation::Io {
                kind: IoKind::ALL[raw.operands.0 % IoKind::ALL.len()],
                file: FileKind::ALL[raw.operands.1 % FileKind::ALL.len()],
            },
            15 => Operation::DoacrossWait {
                loops: self.object(ObjectKind::Doacross, raw.operands.0)?,
                iteration: raw.operands.1 as u64,
            },
            16 => Operation::DoacrossPost {
                loops: self.object(ObjectKind::Doacross, raw.operands.0)?,
                iteration: raw.operands.1 as u64,
            },
            17 => Operation::PipeWrite {
                pipe: self.object(ObjectKind::Pipe, raw.operands.0)?,
                bytes: raw.operands.1 as u32,
            },
            18 => Operation::PipeRead {
                pipe: self.object(ObjectKind::Pipe, raw.operands.0)?,
                bytes: raw.operands.1 as u32,
            },
            12 => Operation::Bind {
                thread: other_id,
                cpus: (raw.operands.1 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            },
            13 => Operation::LockSections {
                mutex: self.object(ObjectKind::Mutex, raw.operands.0)?,
                count: raw.operands.1 as u64,
                held: Nanos(raw.operands.1 as u64 % 1_000),
                unlock: self.site(raw.operands.0),
            },
            14 => Operation::TryLocks {
                mutex: self.object(ObjectKind::Mutex, raw.operands.0)?,
                count: raw.operands.1 as u64,
            },
            number => {
                let (kind, operation) = ON_ONE_OBJECT[(number - 15) % ON_ONE_OBJECT.len()];
                operation(self.object(kind, raw.operands.0)?)
            }
        })
    }

    fn site(&self, choice: usize) -> Option<SiteId> {
        let sites = self.trace.sites.len();
        (sites > 0).then(|| SiteId::from_index(choice % sites))
    }

    fn object(&self, kind: ObjectKind, choice: usize) -> Option<ObjectId> {
        let objects = self.trace.objects.iter().enumerate();
        let fitting: Vec<usize> = objects
            .filter(|(_, o)| o.kind == kind)
            .map(|(index, _)| index)
            .collect();
        let index = fitting.get(choice % fitting.len().max(1))?;
        Some(ObjectId::from_index(*index))
    }
}

type OnObject = fn(ObjectId) -> Operation;

const ON_ONE_OBJECT: [(ObjectKind, OnObject); 27] = [
    (ObjectKind::Event, Operation::Wait),
    (ObjectKind::Mutex, Operation::Lock),
    (ObjectKind::Mutex, Operation::TryLock),
    (ObjectKind::Mutex, Operation::TimedLock),
    (ObjectKind::Mutex, Operation::Unlock),
    (ObjectKind::Cond, Operation::CondSignal),
    (ObjectKind::Cond, Operation::CondBroadcast),
    (ObjectKind::Semaphore, Operation::SemWait),
    (ObjectKind::Semaphore, Operation::SemTryWait),
    (ObjectKind::Semaphore, Operation::SemTimedWait),
    (ObjectKind::Semaphore, Operation::SemPost),
    (ObjectKind::Rwlock, Operation::ReadLock),
    (ObjectKind::Rwlock, Operation::TryReadLock),
    (ObjectKind::Rwlock, Operation::TimedReadLock),
    (ObjectKind::Rwlock, Operation::WriteLock),
    (ObjectKind::Rwlock, Operation::TryWriteLock),
    (ObjectKind::Rwlock, Operation::TimedWriteLock),
    (ObjectKind::Rwlock, Operation::RwUnlock),
    (ObjectKind::Barrier, Operation::BarrierWait),
    (ObjectKind::Spin, Operation::SpinLock),
    (ObjectKind::Spin, Operation::SpinTryLock),
    (ObjectKind::Spin, Operation::SpinUnlock),
    (ObjectKind::Once, Operation::Once),
    (ObjectKind::Futex, Operation::FutexWait),
    (ObjectKind::Futex, Operation::FutexTimedWait),
    (ObjectKind::Queue, Operation::QueueSend),
    (ObjectKind::Queue, Operation::QueueReceive),
];
