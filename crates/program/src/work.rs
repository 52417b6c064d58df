//! The CPU time between events.

use foretrace_trace::{Call, Operation, Outcome, Trace};

/// How much CPU time lies before each event of a trace, as [`work_before_events`] finds it.
pub(crate) struct Work {
    /// Before each event, in nanoseconds.
    pub before: Vec<u64>,
    /// The CPU time of all threads together before each thread's first event: when it appeared, on a clock that other
    /// load on the machine does not change.
    pub elapsed_at_birth: Vec<u64>,
}

/// Finds the CPU time before each event.
///
/// Where an event carries its thread's CPU time, that counts. Else the time since the row before belongs to the thread
/// of the later row, as the paper's one-CPU listings have it.
pub(crate) fn work_before_events(trace: &Trace) -> Work {
    let threads = trace.threads.len();
    let mut work = Work {
        before: vec![0; trace.events.len()],
        elapsed_at_birth: vec![0; threads],
    };
    let carries_cpu = threads_with_cpu_times(trace);
    let mut last_cpu = vec![0; threads];
    let mut born = vec![false; threads];
    let mut previous_time = 0;
    let mut elapsed = 0;
    for (index, event) in trace.events.iter().enumerate() {
        let call = trace.call(event);
        let thread = call.thread.index();
        if !std::mem::replace(&mut born[thread], true) {
            work.elapsed_at_birth[thread] = elapsed;
        }
        let spent = match event.cpu {
            Some(cpu) => {
                let spent = cpu.0.saturating_sub(last_cpu[thread]);
                last_cpu[thread] = last_cpu[thread].max(cpu.0);
                spent
            }
            None if carries_cpu[thread] || returns_by_timeout(call) => 0,
            None => event.time.0.saturating_sub(previous_time),
        };
        previous_time = event.time.0;
        elapsed += spent;
        work.before[index] = spent;
    }
    work
}

/// Returns whether an event is the return of a wait whose time ran out: the time before it was spent asleep.
fn returns_by_timeout(call: &Call) -> bool {
    call.operation == Operation::Return && call.outcome == Outcome::TimedOut
}

fn threads_with_cpu_times(trace: &Trace) -> Vec<bool> {
    let mut carries = vec![false; trace.threads.len()];
    for event in trace.events.iter().filter(|event| event.cpu.is_some()) {
        carries[trace.call(event).thread.index()] = true;
    }
    carries
}
