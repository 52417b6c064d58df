//! Traces as a recording on one CPU leaves them, of programs that do little but synchronize.

use foretrace_trace::{
    Call, CallId, Event, Nanos, Object, ObjectId, ObjectKind, Operation, Outcome, Process,
    ProcessId, Recording, Returns, Thread, ThreadId, Trace,
};
use std::collections::HashMap;

/// What the threads synchronize with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// They lock one of 16 mutexes for 200 ns, every microsecond or so.
    Locks,
    /// In pairs, one waits on a condition variable and the other signals it.
    Conditions,
    /// All wait for all at a barrier.
    Barriers,
    /// In pairs, one waits for a token and the other gives it.
    Semaphores,
    /// All of this in turn.
    Mixed,
}

impl Variant {
    pub const ALL: [Self; 5] = [
        Self::Locks,
        Self::Conditions,
        Self::Barriers,
        Self::Semaphores,
        Self::Mixed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Locks => "locks",
            Self::Conditions => "conditions",
            Self::Barriers => "barriers",
            Self::Semaphores => "semaphores",
            Self::Mixed => "mixed",
        }
    }
}

const THREADS: u32 = 64;
const MUTEXES: u32 = 16;
const PAIRS: u32 = THREADS / 2;

/// Makes a trace of about so many events.
pub fn generate(variant: Variant, events: usize) -> Trace {
    let mut recorder = Recorder::new();
    for child in 1..THREADS {
        recorder.call(0, Operation::Create(ThreadId(child)), 10_000);
    }
    for round in 0.. {
        if recorder.trace.events.len() >= events {
            break;
        }
        let left = events - recorder.trace.events.len();
        match (variant, round % 4) {
            (Variant::Locks, _) | (Variant::Mixed, 0) => recorder.locks(round, left),
            (Variant::Conditions, _) | (Variant::Mixed, 1) => recorder.conditions(),
            (Variant::Barriers, _) | (Variant::Mixed, 2) => recorder.barrier(),
            (Variant::Semaphores | Variant::Mixed, _) => recorder.semaphores(),
        }
    }
    recorder.trace
}

struct Recorder {
    trace: Trace,
    calls: HashMap<(u32, Operation, Outcome), CallId>,
    mutexes: Vec<ObjectId>,
    conditions: Vec<(ObjectId, ObjectId)>,
    semaphores: Vec<ObjectId>,
    barrier: ObjectId,
    time: u64,
    cpu: Vec<u64>,
    random: u64,
}

impl Recorder {
    fn new() -> Self {
        let mut trace = Trace {
            source: "generated".to_owned(),
            recording: Some(Recording::default()),
            returns: Returns::Explicit,
            processes: vec![Process {
                name: "generated".to_owned(),
                pid: None,
                parent_pid: None,
                remaps: 0,
            }],
            ..Trace::default()
        };
        for index in 0..THREADS {
            trace.threads.push(Thread {
                name: format!("T{index}"),
                process: ProcessId(0),
                priority: None,
                cpu: None,
                start_routine: None,
                tid: None,
            });
        }
        let mut object = |kind: ObjectKind, initial| {
            let id = ObjectId::from_index(trace.objects.len());
            trace.objects.push(Object {
                kind,
                name: format!("{} {}", kind.name(), id.0),
                process: ProcessId(0),
                address: None,
                initial,
            });
            id
        };
        Self {
            mutexes: (0..MUTEXES)
                .map(|_| object(ObjectKind::Mutex, None))
                .collect(),
            conditions: (0..PAIRS)
                .map(|_| {
                    (
                        object(ObjectKind::Cond, None),
                        object(ObjectKind::Mutex, None),
                    )
                })
                .collect(),
            semaphores: (0..PAIRS)
                .map(|_| object(ObjectKind::Semaphore, Some(0)))
                .collect(),
            barrier: object(ObjectKind::Barrier, Some(THREADS)),
            trace,
            calls: HashMap::new(),
            time: 0,
            cpu: vec![0; THREADS as usize],
            random: 1,
        }
    }

    fn call(&mut self, thread: u32, operation: Operation, spent: u64) {
        self.outcome(thread, operation, Outcome::Success, spent);
    }

    fn outcome(&mut self, thread: u32, operation: Operation, outcome: Outcome, spent: u64) {
        let trace = &mut self.trace;
        let call = *self
            .calls
            .entry((thread, operation, outcome))
            .or_insert_with(|| {
                trace.push_call(Call {
                    thread: ThreadId(thread),
                    operation,
                    outcome,
                    from: None,
                    site: None,
                })
            });
        self.time += spent;
        self.cpu[thread as usize] += spent;
        trace.events.push(Event::new(
            Nanos(self.time),
            Some(Nanos(self.cpu[thread as usize])),
            call,
        ));
    }

    fn random(&mut self) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.random >> 32
    }

    /// Half a microsecond to one and a half.
    fn work(&mut self) -> u64 {
        500 + self.random() % 1_000
    }

    /// A slice of one thread.
    fn locks(&mut self, round: u32, left: usize) {
        let thread = round % THREADS;
        for _ in 0..left.div_ceil(2).min(50) {
            let random = self.random() % u64::from(MUTEXES);
            let mutex = self.mutexes[random as usize];
            let work = self.work();
            self.call(thread, Operation::Lock(mutex), work);
            self.call(thread, Operation::Unlock(mutex), 200);
        }
    }

    fn conditions(&mut self) {
        for pair in 0..PAIRS {
            let (waiter, signaller) = (2 * pair, 2 * pair + 1);
            let (cond, mutex) = self.conditions[pair as usize];
            let work = self.work();
            self.call(waiter, Operation::Lock(mutex), work);
            self.call(waiter, Operation::CondWait { cond, mutex }, 100);
            let work = self.work();
            self.call(signaller, Operation::Lock(mutex), work);
            self.call(signaller, Operation::CondSignal(cond), 100);
            self.call(signaller, Operation::Unlock(mutex), 100);
            self.call(waiter, Operation::Return, 1_000);
            self.call(waiter, Operation::Unlock(mutex), 100);
        }
    }

    fn barrier(&mut self) {
        let wait = Operation::BarrierWait(self.barrier);
        for thread in 0..THREADS - 1 {
            let work = self.work();
            self.call(thread, wait, work);
        }
        let work = self.work();
        self.outcome(THREADS - 1, wait, Outcome::Chosen, work);
        for thread in 0..THREADS - 1 {
            self.call(thread, Operation::Return, 1_000);
        }
    }

    fn semaphores(&mut self) {
        for pair in 0..PAIRS {
            let semaphore = self.semaphores[pair as usize];
            let work = self.work();
            self.call(2 * pair, Operation::SemWait(semaphore), work);
            let work = self.work();
            self.call(2 * pair + 1, Operation::SemPost(semaphore), work);
            self.call(2 * pair, Operation::Return, 1_000);
        }
    }
}
