//! Objects by contention.

use foretrace_trace::{Nanos, ObjectId, Operation, Outcome, Trace};

use crate::calls::{CompleteCall, Wait, for_each_call};

/// What was done with an object, and how long threads waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// The object.
    pub object: ObjectId,
    /// The calls that named it.
    pub calls: u64,
    /// Those that took it: locks granted, tokens taken, waits that came to their end.
    pub acquisitions: u64,
    /// The calls that had to wait.
    pub blocked: u64,
    /// How long they waited together. On one CPU this includes the turns of other threads.
    pub total_wait: Nanos,
    /// The longest of the waits.
    pub longest_wait: Nanos,
    /// Of those that waited, how many never came back.
    pub never_returned: u64,
}

/// Returns the objects that were used, those waited for longest first.
pub fn contention(trace: &Trace) -> Vec<Contention> {
    let mut objects: Vec<Contention> = (0..trace.objects.len())
        .map(|index| Contention {
            object: ObjectId::from_index(index),
            calls: 0,
            acquisitions: 0,
            blocked: 0,
            total_wait: Nanos(0),
            longest_wait: Nanos(0),
            never_returned: 0,
        })
        .collect();
    for_each_call(trace, |complete| {
        if let Some(object) = complete.call.operation.object() {
            objects[object.index()].count(complete);
        }
    });
    objects.retain(|object| object.calls > 0);
    // Stable, so that equals stay in the trace's order.
    objects.sort_by_key(|object| {
        std::cmp::Reverse((object.total_wait, object.blocked, object.acquisitions))
    });
    objects
}

impl Contention {
    fn count(&mut self, complete: &CompleteCall) {
        let operation = complete.call.operation;
        let times = operation.times();
        // A section is a lock and an unlock.
        let calls = if matches!(operation, Operation::LockSections { .. }) {
            2
        } else {
            1
        };
        self.calls = self.calls.saturating_add(times.saturating_mul(calls));
        let waited = match complete.wait {
            Wait::No => None,
            Wait::For(time) => Some(time),
            Wait::Endless(time) => {
                self.never_returned += 1;
                Some(time)
            }
        };
        if let Some(time) = waited {
            self.blocked += 1;
            self.total_wait = self.total_wait + time;
            self.longest_wait = self.longest_wait.max(time);
        }
        let succeeded = matches!(
            complete.outcome,
            Outcome::Success | Outcome::Chosen | Outcome::OwnerDied
        ) && !matches!(complete.wait, Wait::Endless(_));
        if succeeded && is_acquisition(operation) {
            self.acquisitions = self.acquisitions.saturating_add(times);
        }
    }
}

/// Returns whether the operation takes something from its object, rather than giving it back.
fn is_acquisition(operation: Operation) -> bool {
    !matches!(
        operation,
        Operation::Unlock(_)
            | Operation::RwUnlock(_)
            | Operation::SpinUnlock(_)
            | Operation::SemPost(_)
            | Operation::QueueSend(_)
            | Operation::PipeWrite { .. }
            | Operation::CondSignal(_)
            | Operation::CondBroadcast(_)
            | Operation::Send { .. }
            | Operation::FutexWake { .. }
            | Operation::DoacrossPost { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, success};

    #[test]
    fn waits_are_counted_at_their_object_and_the_longest_comes_first() {
        let mut sample = Sample::new();
        let quiet = sample.mutex();
        let busy = sample.mutex();
        sample.event(0, 0, success(Operation::Lock(quiet)));
        sample.event(0, 1, success(Operation::Unlock(quiet)));
        sample.event(0, 2, success(Operation::Lock(busy)));
        sample.event(1, 3, success(Operation::Lock(busy)));
        sample.event(0, 9, success(Operation::Unlock(busy)));
        sample.event(1, 10, success(Operation::Return));
        let found = contention(&sample.trace);
        assert_eq!(found[0].object, busy);
        assert_eq!((found[0].calls, found[0].acquisitions), (3, 2));
        assert_eq!((found[0].blocked, found[0].total_wait), (1, Nanos(7)));
        assert_eq!(found[1].object, quiet);
        assert_eq!((found[1].blocked, found[1].acquisitions), (0, 1));
    }

    #[test]
    fn a_try_that_failed_takes_nothing_and_unused_objects_are_left_out() {
        let mut sample = Sample::new();
        let mutex = sample.mutex();
        sample.mutex();
        sample.event(0, 0, (Operation::TryLock(mutex), Outcome::Busy));
        let found = contention(&sample.trace);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].calls, found[0].acquisitions), (1, 0));
    }

    #[test]
    fn a_timed_wait_that_ran_out_waited_but_took_nothing() {
        let mut sample = Sample::new();
        let mutex = sample.mutex();
        sample.event(0, 0, success(Operation::TimedLock(mutex)));
        sample.event(0, 5, (Operation::Return, Outcome::TimedOut));
        let found = contention(&sample.trace)[0];
        assert_eq!((found.blocked, found.acquisitions), (1, 0));
        assert_eq!(found.longest_wait, Nanos(5));
    }
}
