//! Pairs calls with their returns.

use std::collections::HashSet;

use foretrace_trace::{Call, Nanos, Operation, Outcome, Trace, unfinished};

/// A call, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompleteCall {
    /// The call.
    pub call: Call,
    /// What came of it in the end: for a call that blocked, what its return says.
    pub outcome: Outcome,
    /// Whether it waited, and how that went.
    pub wait: Wait,
}

/// Whether a call waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It went through at once, or the trace does not tell.
    No,
    /// It waited so long.
    For(Nanos),
    /// It still waited at the end of the trace, having waited so long.
    Endless(Nanos),
}

/// Calls `each` with every call of a trace, in the order in which it is known what came of them.
pub fn for_each_call(trace: &Trace, mut each: impl FnMut(&CompleteCall)) {
    let mut open: Vec<Option<(Call, Nanos)>> = vec![None; trace.threads.len()];
    let cut_off: HashSet<usize> = unfinished(trace).iter().map(|wait| wait.back).collect();
    let end = trace.events.last().map_or(Nanos(0), |event| event.time);
    let wall = trace.recording.as_ref().map(|recording| recording.wall);
    let end = wall.map_or(end, |wall| wall.max(end));
    for (index, event) in trace.events.iter().enumerate() {
        let call = *trace.call(event);
        let slot = &mut open[call.thread.index()];
        if call.operation == Operation::Return {
            if let Some((started, since)) = slot.take() {
                let mut complete = returned(started, call.outcome, event.time.since(since));
                if cut_off.contains(&index) && complete.wait != Wait::No {
                    complete.wait = Wait::Endless(end.since(since));
                }
                each(&complete);
            }
            continue;
        }
        // A thread that goes on without a return did not wait.
        if let Some((started, _)) = slot.replace((call, event.time)) {
            each(&immediate(started));
        }
    }
    for (call, since) in open.into_iter().flatten() {
        let mut last = immediate(call);
        if always_waits(call.operation) {
            last.wait = Wait::Endless(end.since(since));
        }
        each(&last);
    }
}

fn immediate(call: Call) -> CompleteCall {
    CompleteCall {
        call,
        outcome: call.outcome,
        wait: Wait::No,
    }
}

fn returned(call: Call, outcome: Outcome, time: Nanos) -> CompleteCall {
    // A return of a call that does not wait closes a one-time initialization that the thread ran itself, whose routine
    // made that call.
    let ran_routine =
        matches!(call.operation, Operation::Once(_)) && call.outcome == Outcome::Chosen;
    if ran_routine || !may_wait(call.operation) || !call.is_answered_by(outcome) {
        return immediate(call);
    }
    if outcome == Outcome::Busy {
        // A futex that there was nothing to wait for.
        return CompleteCall {
            outcome,
            ..immediate(call)
        };
    }
    CompleteCall {
        call,
        outcome,
        wait: Wait::For(time),
    }
}

/// Returns whether a thread can be kept waiting by this operation.
fn may_wait(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Join(_)
            | Operation::Send { .. }
            | Operation::Wait(_)
            | Operation::Lock(_)
            | Operation::TimedLock(_)
            | Operation::SemWait(_)
            | Operation::SemTimedWait(_)
            | Operation::ReadLock(_)
            | Operation::TimedReadLock(_)
            | Operation::WriteLock(_)
            | Operation::TimedWriteLock(_)
            | Operation::BarrierWait(_)
            | Operation::SpinLock(_)
            | Operation::Once(_)
            | Operation::QueueReceive(_)
            | Operation::DoacrossWait { .. }
    ) || always_waits(operation)
}

/// Returns whether this operation never goes through at once. Of the others, a last call without a return may have gone
/// through before the trace ended.
fn always_waits(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::CondWait { .. }
            | Operation::CondTimedWait { .. }
            | Operation::FutexWait(_)
            | Operation::FutexTimedWait(_)
            | Operation::Io { .. }
            | Operation::Sleep
            | Operation::SleepFor(_)
            | Operation::Spin(_)
            | Operation::Message(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, success};

    /// Returns whether each call of a trace waited.
    fn waits(trace: &Trace) -> Vec<Wait> {
        let mut waits = Vec::new();
        for_each_call(trace, |complete| waits.push(complete.wait));
        waits
    }

    #[test]
    fn a_call_followed_by_a_return_waited() {
        let mut sample = Sample::new();
        let mutex = sample.mutex();
        sample.event(0, 10, success(Operation::Lock(mutex)));
        sample.event(1, 20, success(Operation::Lock(mutex)));
        sample.event(0, 30, success(Operation::Unlock(mutex)));
        sample.event(1, 31, success(Operation::Return));
        let expected = [Wait::No, Wait::For(Nanos(11)), Wait::No];
        assert_eq!(waits(&sample.trace), expected);
    }

    #[test]
    fn a_lock_that_was_never_got_was_waited_for_to_the_end() {
        let mut sample = Sample::new();
        let mutex = sample.mutex();
        sample.event(0, 10, success(Operation::Lock(mutex)));
        sample.event(1, 20, success(Operation::Lock(mutex)));
        sample.event(1, 20, (Operation::Return, Outcome::Failed(4)));
        sample.event(0, 50, success(Operation::Terminate));
        let expected = [Wait::Endless(Nanos(30)), Wait::No, Wait::No];
        assert_eq!(waits(&sample.trace), expected);
    }

    #[test]
    fn running_a_one_time_initialization_is_no_wait() {
        let mut sample = Sample::new();
        let (once, mutex) = (sample.once(), sample.mutex());
        sample.event(0, 0, (Operation::Once(once), Outcome::Chosen));
        sample.event(0, 5, success(Operation::Lock(mutex)));
        sample.event(0, 6, success(Operation::Unlock(mutex)));
        sample.event(0, 9, success(Operation::Return));
        assert_eq!(waits(&sample.trace), [Wait::No; 3]);
    }

    #[test]
    fn a_condition_wait_without_a_return_goes_on_to_the_end() {
        let mut sample = Sample::new();
        let mutex = sample.mutex();
        let cond = sample.cond();
        sample.event(0, 10, success(Operation::CondWait { cond, mutex }));
        sample.event(1, 50, success(Operation::Terminate));
        assert!(waits(&sample.trace).contains(&Wait::Endless(Nanos(40))));
    }
}
