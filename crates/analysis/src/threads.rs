//! The threads of a trace.

use foretrace_trace::{Nanos, Operation, ThreadId, Trace};

use crate::calls::{Wait, for_each_call};

/// What a thread did, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSummary {
    /// The thread.
    pub thread: ThreadId,
    /// Its CPU time. For a listing without CPU times, the time between rows that the listing gives it.
    pub cpu: Nanos,
    /// Its events.
    pub events: u64,
    /// Its calls that had to wait.
    pub blocked: u64,
    /// How long it waited in them.
    pub waited: Nanos,
    /// When its first event was.
    pub first: Option<Nanos>,
    /// When it ended; `None` where the trace does not say.
    pub end: Option<Nanos>,
}

/// Returns the threads, in the trace's order.
pub fn threads(trace: &Trace) -> Vec<ThreadSummary> {
    let mut threads: Vec<ThreadSummary> = (0..trace.threads.len())
        .map(|index| ThreadSummary {
            thread: ThreadId::from_index(index),
            cpu: Nanos(0),
            events: 0,
            blocked: 0,
            waited: Nanos(0),
            first: None,
            end: None,
        })
        .collect();
    let mut previous = Nanos(0);
    for event in &trace.events {
        let call = trace.call(event);
        let thread = &mut threads[call.thread.index()];
        thread.events += 1;
        thread.first.get_or_insert(event.time);
        thread.cpu = event
            .cpu()
            .unwrap_or(thread.cpu + event.time.since(previous));
        if call.operation == Operation::Terminate {
            thread.end = Some(event.time);
        }
        previous = event.time;
    }
    for_each_call(trace, |complete| {
        if let Wait::For(time) | Wait::Endless(time) = complete.wait {
            let thread = &mut threads[complete.call.thread.index()];
            thread.blocked += 1;
            thread.waited = thread.waited + time;
        }
    });
    threads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, success};

    #[test]
    fn a_listing_gives_the_time_between_rows_to_the_later_row() {
        let mut sample = Sample::new();
        sample.event(0, 3, success(Operation::Create(ThreadId(1))));
        sample.event(1, 7, success(Operation::Terminate));
        sample.event(0, 9, success(Operation::Terminate));
        let cpu: Vec<Nanos> = threads(&sample.trace).iter().map(|t| t.cpu).collect();
        assert_eq!(cpu, [Nanos(5), Nanos(4)]);
    }

    #[test]
    fn a_recording_counts_cpu_times_and_waits() {
        let mut sample = Sample::new();
        sample.event_with_cpu(0, 3, 2, Operation::Join(ThreadId(1)));
        sample.event_with_cpu(1, 50, 40, Operation::Terminate);
        sample.event_with_cpu(0, 53, 4, Operation::Return);
        let found = threads(&sample.trace);
        assert_eq!((found[0].cpu, found[0].events), (Nanos(4), 2));
        assert_eq!((found[0].blocked, found[0].waited), (1, Nanos(50)));
        assert_eq!((found[0].end, found[1].end), (None, Some(Nanos(50))));
        assert_eq!(found[1].first, Some(Nanos(50)));
    }
}
