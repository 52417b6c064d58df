//! How often each operation was called.

use foretrace_trace::Trace;

/// How often an operation was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationCount {
    /// The operation's name, as in text traces.
    pub operation: &'static str,
    /// The events that say so.
    pub events: u64,
    /// How often: an event may count many.
    pub times: u64,
}

/// Returns the operations that occur, the most frequent first.
pub fn operation_counts(trace: &Trace) -> Vec<OperationCount> {
    let mut of_call = vec![0_u64; trace.calls.len()];
    for event in &trace.events {
        of_call[event.call.index()] += 1;
    }
    let mut counts: Vec<OperationCount> = Vec::new();
    for (call, events) in trace.calls.iter().zip(of_call) {
        let operation = call.operation.name();
        let times = events.saturating_mul(call.operation.times());
        match counts.iter_mut().find(|count| count.operation == operation) {
            Some(count) => {
                count.events += events;
                count.times += times;
            }
            None => counts.push(OperationCount {
                operation,
                events,
                times,
            }),
        }
    }
    counts.retain(|count| count.events > 0);
    counts.sort_by_key(|count| (std::cmp::Reverse(count.events), count.operation));
    counts
}

#[cfg(test)]
mod tests {
    use foretrace_trace::Operation;

    use super::*;
    use crate::sample::{Sample, success};

    #[test]
    fn operations_are_counted_over_all_their_calls() {
        let mut sample = Sample::new();
        let (first, second) = (sample.mutex(), sample.mutex());
        sample.event(0, 0, success(Operation::Unlock(first)));
        sample.event(0, 1, success(Operation::Lock(first)));
        sample.event(1, 2, success(Operation::Lock(second)));
        let counts: Vec<_> = operation_counts(&sample.trace)
            .iter()
            .map(|count| (count.operation, count.events))
            .collect();
        assert_eq!(counts, [("lock", 2), ("unlock", 1)]);
    }
}
