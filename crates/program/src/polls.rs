//! Waits whose time ran out: how long they took, and which are one wait in several looks.

use foretrace_trace::{ObjectId, Operation as Op, Outcome};

use crate::lower::{Lowering, NONE};

/// A thread that waits again after a time-out did nothing of its own meanwhile if it worked less than the wait took,
/// divided by this.
const POLL_RATIO: u64 = 20;

/// What a wait is for: a condition variable and its mutex, or a futex.
type Waited = (ObjectId, Option<ObjectId>);

impl Lowering<'_> {
    /// Returns the last of the waits that a wait goes on with: one that timed out, and whose thread then only looked
    /// and waited again for the same, is the same wait. How often it looks depends on how long it has to wait, so a
    /// replay must not repeat it.
    pub fn end_of_wait(&self, begin: usize, objects: Waited) -> usize {
        let thread = self.trace.call(&self.trace.events[begin]).thread.0;
        let mut cpu = self.work.last_cpu(thread);
        let mut last = begin;
        while let Some(next) = self.next_look(last, objects, &mut cpu) {
            last = next;
        }
        last
    }

    /// Returns the wait that goes on with one by which its thread had used so much CPU time; moves that on, too.
    fn next_look(&self, wait: usize, objects: Waited, cpu: &mut u64) -> Option<usize> {
        let call = *self.trace.call(&self.trace.events[wait]);
        if self.outcome(wait, call) != Outcome::TimedOut {
            return None;
        }
        let allowed = self.recorded_delay(wait, wait) / POLL_RATIO;
        let mut worked = 0;
        // It may look at several things, each under its own mutex.
        let mut held = Vec::new();
        let mut index = self.next.after(wait);
        while index != NONE {
            worked += self.work.before(self.trace, index as usize, cpu);
            let call = self.trace.call(&self.trace.events[index as usize]);
            match call.operation {
                _ if worked > allowed => return None,
                Op::CondWait { cond, mutex } | Op::CondTimedWait { cond, mutex } => {
                    let again = (cond, Some(mutex)) == objects && held.is_empty();
                    return again.then_some(index as usize);
                }
                Op::FutexWait(futex) | Op::FutexTimedWait(futex) => {
                    let outcome = self.outcome(index as usize, *call);
                    let waited = !matches!(outcome, Outcome::Failed(_) | Outcome::Busy);
                    return ((futex, None) == objects && waited && held.is_empty())
                        .then_some(index as usize);
                }
                Op::Return => {}
                Op::Lock(mutex) | Op::Unlock(mutex) if Some(mutex) == objects.1 => {}
                Op::Lock(mutex) => held.push(mutex),
                Op::Unlock(mutex) if held.contains(&mutex) => held.retain(|&other| other != mutex),
                _ => return None,
            }
            index = self.next.after(index as usize);
        }
        None
    }

    /// Returns how long a timed-out call waited, from `begin` to the return of the event `end` (mostly the same event);
    /// or until the row before its thread's next one, since the time after that row is the thread's work.
    pub fn recorded_delay(&self, begin: usize, end: usize) -> u64 {
        let events = &self.trace.events;
        let until = match self.next.after(end) {
            NONE => events.last().map_or(0, |event| event.time.0),
            next if self.return_of(end).is_some() => events[next as usize].time.0,
            next => events[next as usize - 1].time.0,
        };
        until.saturating_sub(events[begin].time.0)
    }
}
