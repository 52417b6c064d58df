//! The CPU time between events.

use foretrace_trace::{Call, Operation, Outcome, Trace};

/// How much CPU time lies before each event of a trace, found while one goes through them.
///
/// Where an event carries its thread's CPU time, that counts. Else the time since the row before belongs to the thread
/// of the later row, as the paper's one-CPU listings have it.
pub(crate) struct Work {
    /// The event that one has come to.
    event: usize,
    /// The CPU time before it that no operation has got yet, in nanoseconds.
    left: u64,
    /// The CPU time before it.
    before: u64,
    /// The CPU time of all threads together until then.
    elapsed: u64,
    /// The CPU time of all threads together before each thread's first event: when it appeared, on a clock that other
    /// load on the machine does not change.
    pub elapsed_at_birth: Vec<u64>,
    born: Vec<bool>,
    carries_cpu: Vec<bool>,
    /// The CPU time of each thread by its last event.
    last_cpu: Vec<u64>,
    /// Whether each thread's last call gave the CPU up for a time of its own; of threads without CPU times.
    sleeps: Vec<bool>,
}

impl Work {
    pub fn new(trace: &Trace) -> Self {
        let threads = trace.threads.len();
        Self {
            event: 0,
            left: 0,
            before: 0,
            elapsed: 0,
            elapsed_at_birth: vec![0; threads],
            born: vec![false; threads],
            carries_cpu: threads_with_cpu_times(trace),
            last_cpu: vec![0; threads],
            sleeps: vec![false; threads],
        }
    }

    /// Goes on to the next event.
    pub fn go_on(&mut self, trace: &Trace, event: usize) {
        let thread = trace.call(&trace.events[event]).thread.index();
        self.elapsed += self.before;
        if !std::mem::replace(&mut self.born[thread], true) {
            self.elapsed_at_birth[thread] = self.elapsed;
        }
        let mut last = self.last_cpu[thread];
        self.before = self.before(trace, event, &mut last);
        self.last_cpu[thread] = last;
        if !self.carries_cpu[thread] {
            let call = trace.call(&trace.events[event]);
            let slept = std::mem::replace(&mut self.sleeps[thread], sleeps(call));
            if slept && call.operation == Operation::Return {
                self.before = 0;
            }
        }
        self.left = self.before;
        self.event = event;
    }

    /// Returns the CPU time before the event that one has come to.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Sets the CPU time before the event that one has come to.
    pub fn set_left(&mut self, nanos: u64) {
        self.left = nanos;
    }

    /// Takes the CPU time before an event for an operation; what is before those of the past was taken then.
    pub fn take(&mut self, event: usize) -> u64 {
        if event == self.event {
            std::mem::take(&mut self.left)
        } else {
            0
        }
    }

    /// Returns the CPU time of a thread by its last event.
    pub fn last_cpu(&self, thread: u32) -> u64 {
        self.last_cpu[thread as usize]
    }

    /// Returns the CPU time before an event whose thread had used `last` by its event before, and moves that on.
    pub fn before(&self, trace: &Trace, index: usize, last: &mut u64) -> u64 {
        let event = &trace.events[index];
        if let Some(cpu) = event.cpu() {
            let spent = cpu.0.saturating_sub(*last);
            *last = cpu.0.max(*last);
            return spent;
        }
        let call = trace.call(event);
        if self.carries_cpu[call.thread.index()] || returns_by_timeout(call) {
            return 0;
        }
        let previous = index
            .checked_sub(1)
            .map_or(0, |before| trace.events[before].time.0);
        event.time.0.saturating_sub(previous)
    }
}

/// Returns whether an event is the return of a wait whose time ran out: the time before it was spent asleep.
fn returns_by_timeout(call: &Call) -> bool {
    call.operation == Operation::Return && call.outcome == Outcome::TimedOut
}

/// Returns whether a call lets time pass by itself, without the CPU.
fn sleeps(call: &Call) -> bool {
    let is_io = matches!(call.operation, Operation::Io { .. });
    is_io || call.outcome == Outcome::TimedOut || call.operation.is_sleep(call.outcome)
}

fn threads_with_cpu_times(trace: &Trace) -> Vec<bool> {
    let mut carries = vec![false; trace.threads.len()];
    for event in trace.events.iter().filter(|event| event.cpu().is_some()) {
        carries[trace.call(event).thread.index()] = true;
    }
    carries
}
