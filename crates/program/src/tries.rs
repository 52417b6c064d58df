//! Tries that failed until one succeeded: how often a thread tries depends on how long it has to wait, so that a replay must
//! not repeat it. It waits for the lock.

use foretrace_trace::{Call, ObjectId, Operation as Op, Outcome};

use crate::{
    Action,
    lower::{Lowering, NONE},
};

impl Lowering<'_> {
    /// Lowers failed tries, if the thread did nothing else until the same call got the lock. Returns whether that is so.
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

    /// Where a call got the lock after others failed: what they took was waiting.
    pub fn got_after_tries(&mut self, index: usize, call: Call) {
        if let Some(mutex) = tried(call)
            && self.tried_until.remove(&(index as u32))
        {
            let poll = self.push(index, call.thread.0, Action::Poll(mutex));
            self.set_waited(poll, true);
        }
    }

    fn success_after(&self, index: usize, first: Call, mutex: ObjectId) -> Option<u32> {
        let mut at = self.next.after(index);
        while at != NONE {
            let call = *self.trace.call(&self.trace.events[at as usize]);
            let same = tried(call) == Some(mutex) && call.site == first.site;
            match self.outcome(at as usize, call) {
                Outcome::Busy if same => at = self.next.after(at as usize),
                Outcome::Success if same => return Some(at),
                _ => return None,
            }
        }
        None
    }
}

fn tried(call: Call) -> Option<ObjectId> {
    match call.operation {
        Op::TryLock(mutex) | Op::SpinTryLock(mutex) | Op::TryLocks { mutex, .. } => Some(mutex),
        _ => None,
    }
}
