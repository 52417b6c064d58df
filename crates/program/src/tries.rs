//! Tries that failed until one succeeded: how often a thread tries depends on how long it has to wait, so that a replay must
//! not repeat it. It waits for the lock.

use foretrace_trace::{Call, ObjectId, Operation as Op, Outcome};

use crate::{
    Action,
    lower::{Lowering, NONE},
};

impl Lowering<'_> {
    /// Lowers failed tries, if the thread did nothing else until the same call got the lock, or, after many of them, any call that waits for
    /// it, as those do that look for a while before they sleep. Returns whether that is so.
    pub fn tries_until_locked(&mut self, index: usize, call: Call) -> bool {
        let Some(mutex) = tried(call) else {
            return false;
        };
        let Some(end) = self.success_after(index, call, mutex) else {
            return false;
        };
        let thread = call.thread.0;
        // The first try, and the work before it.
        self.push(index, thread, Action::Pass);
        self.resumes_at[thread as usize] = end;
        self.tried_until.insert(end);
        true
    }

    /// Where a call gets the lock after others failed: what they took was waiting.
    pub fn got_after_tries(&mut self, index: usize, call: Call) {
        if let Some(mutex) = tried(call).or_else(|| locked(call))
            && self.tried_until.remove(&(index as u32))
        {
            let poll = self.push(index, call.thread.0, Action::Poll(mutex));
            self.set_waited(poll, true);
        }
    }

    /// Returns how long a thread looked at memory before an event that is passed over, if that is among tries: those are waits, too.
    pub fn lingered_among_tries(&self, call: Call) -> u64 {
        match call.operation {
            Op::Linger(looked) => {
                let end = self.resumes_at[call.thread.index()];
                looked.0 * u64::from(self.tried_until.contains(&end))
            }
            _ => 0,
        }
    }

    fn success_after(&self, index: usize, first: Call, mutex: ObjectId) -> Option<u32> {
        let mut at = self.next.after(index);
        let (mut failures, mut is_one_call) = (failures(first), true);
        while at != NONE {
            let call = *self.trace.call(&self.trace.events[at as usize]);
            let is_tried = tried(call) == Some(mutex);
            if matches!(call.operation, Op::Linger(_)) {
                at = self.next.after(at as usize);
                continue;
            }
            is_one_call &= call.site == first.site;
            match self.outcome(at as usize, call) {
                Outcome::Busy if is_tried => {
                    failures += self::failures(call);
                    at = self.next.after(at as usize);
                }
                Outcome::Success if is_tried && is_one_call => return Some(at),
                Outcome::Success => {
                    let gets_it = is_tried || locked(call) == Some(mutex);
                    return (gets_it && failures >= LEAST).then_some(at);
                }
                _ => return None,
            }
        }
        None
    }
}

/// Fewer failures than this before a thread waits for a lock may be followed by something else that it had to do.
const LEAST: u64 = 16;

/// Returns how often a failed call failed.
fn failures(call: Call) -> u64 {
    match call.operation {
        Op::TryLocks { count, .. } => count,
        _ => 1,
    }
}

fn locked(call: Call) -> Option<ObjectId> {
    match call.operation {
        Op::Lock(mutex) | Op::TimedLock(mutex) | Op::SpinLock(mutex) => Some(mutex),
        _ => None,
    }
}

fn tried(call: Call) -> Option<ObjectId> {
    match call.operation {
        Op::TryLock(mutex) | Op::SpinTryLock(mutex) | Op::TryLocks { mutex, .. } => Some(mutex),
        _ => None,
    }
}
