//! Waits that were not over when a recording ended, as in a program that came to a deadlock and was killed.

use crate::{Nanos, ObjectId, Operation, Outcome, ThreadId, Trace};

/// What the return of a wait says that the end of a recording cut off: interrupted (`EINTR`).
const INTERRUPTED: u16 = 4;

/// A wait that was not over when the recording ended, and that without a return would look as if it had got what it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Who waited.
    pub thread: ThreadId,
    /// What it had called.
    pub operation: Operation,
    /// When it had called that.
    pub since: Nanos,
    /// The event that stands for its return: what would look like an acquisition is followed by its failure.
    pub back: usize,
}

impl Unfinished {
    /// Returns the thread that holds what a thread waits for, of a mutex or a spin lock.
    ///
    /// Goes through the whole trace.
    pub fn holder(&self, trace: &Trace) -> Option<ThreadId> {
        let (Operation::Lock(lock) | Operation::TimedLock(lock) | Operation::SpinLock(lock)) =
            self.operation
        else {
            return None;
        };
        // How often each thread holds it, and what that becomes if its last call fails, or, of a wait for a condition, comes back.
        let mut held = vec![(0_i64, 0_i64, false); trace.threads.len()];
        for event in &trace.events {
            let call = trace.call(event);
            let (count, before, gave_up) = &mut held[call.thread.index()];
            let now = *count;
            let gives_up = matches!(
                call.operation,
                Operation::CondWait { mutex, .. } | Operation::CondTimedWait { mutex, .. } if mutex == lock
            );
            match call.operation {
                Operation::Return if *gave_up || call.outcome != Outcome::Success => {
                    *count = *before;
                }
                Operation::Unlock(other) | Operation::SpinUnlock(other) if other == lock => {
                    *count -= 1;
                }
                operation if takes(operation) == Some(lock) => {
                    *count += i64::from(call.outcome == Outcome::Success);
                }
                _ => *count -= i64::from(gives_up),
            }
            (*before, *gave_up) = (now, gives_up);
        }
        let other = |&thread: &usize| held[thread].0 > 0 && thread != self.thread.index();
        (0..held.len()).find(other).map(ThreadId::from_index)
    }
}

/// Returns the lock that a call takes.
fn takes(operation: Operation) -> Option<ObjectId> {
    match operation {
        Operation::Lock(lock)
        | Operation::TryLock(lock)
        | Operation::TimedLock(lock)
        | Operation::SpinLock(lock) => Some(lock),
        _ => None,
    }
}

/// Returns the waits that were not over when a recording ended, in the order of their threads. A thread that ended was in none.
pub fn unfinished(trace: &Trace) -> Vec<Unfinished> {
    // The last two events of each thread.
    let mut latest: Vec<[Option<usize>; 2]> = vec![[None; 2]; trace.threads.len()];
    for (index, event) in trace.events.iter().enumerate() {
        let events = &mut latest[trace.call(event).thread.index()];
        *events = [events[1], Some(index)];
    }
    let found = latest.iter().filter_map(|&[before, last]| {
        let (before, last) = (&trace.events[before?], last?);
        let (call, back) = (trace.call(before), trace.call(&trace.events[last]));
        let is_cut_off = back.operation == Operation::Return
            && back.outcome == Outcome::Failed(INTERRUPTED)
            && { trace.events[last].time } == { before.time };
        is_cut_off.then_some(Unfinished {
            thread: call.thread,
            operation: call.operation,
            since: before.time,
            back: last,
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads that lock two mutexes in opposite order, and never come back.
    const DEADLOCK: &str = "\
returns explicit
0 main create A
0 main create B
1 A lock x
2 B lock y
3 A lock y
3 A return failed:4
4 B lock x
4 B return failed:4
";

    fn trace(text: &str) -> Trace {
        crate::text::parse(&format!("foretrace-text 1\n{text}"), "deadlock").expect("it is a trace")
    }

    #[test]
    fn who_waits_for_a_lock_to_the_end_waits_for_who_holds_it() {
        let trace = trace(DEADLOCK);
        let found = unfinished(&trace);
        let name = |thread: ThreadId| trace.threads[thread.index()].name.as_str();
        let held = found.iter().map(|wait| {
            let holder = wait.holder(&trace).map_or("nobody", name);
            (name(wait.thread), wait.since.0, holder)
        });
        assert!(held.eq([("A", 3, "B"), ("B", 4, "A")]));
    }

    #[test]
    fn who_waits_for_a_condition_holds_nothing_meanwhile() {
        let rows = DEADLOCK.replace("2 B lock y", "2 B lock y\n2 B cond_wait c y");
        let rows = rows.replace("4 B lock x\n4 B return failed:4\n", "");
        let trace = trace(&rows);
        let found = unfinished(&trace);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].holder(&trace), None);
    }

    #[test]
    fn what_was_interrupted_and_gone_on_after_is_over() {
        let trace = trace(&(DEADLOCK.to_owned() + "5 A unlock x\n5 B unlock y\n"));
        assert_eq!(unfinished(&trace), []);
    }
}
