//! The calls that lock-heavy traces consist of, lowered without looking for all that a call may be: locks that were free, and unlocks.

use foretrace_trace::{CallId, ObjectId, ObjectKind, Operation, Outcome, Returns, Trace};

use crate::{
    lower::{Lowering, NONE},
    matching::OpRef,
};

/// What each call does where nothing is special about its event.
pub(crate) struct PlainCalls(Vec<Option<PlainCall>>);

/// What a plain call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainCall {
    /// It acquires a mutex.
    Lock(ObjectId),
    /// It releases a mutex.
    Unlock(ObjectId),
}

impl PlainCalls {
    /// Finds the plain calls of a trace.
    pub fn of(trace: &Trace) -> Self {
        let ordered = |mutex: ObjectId| trace.objects[mutex.index()].is_ordered();
        let plain = |operation: Operation| match operation {
            Operation::Lock(mutex) | Operation::Unlock(mutex) if ordered(mutex) => None,
            // CPU time inside a spin lock is the waiting itself.
            Operation::Lock(mutex) | Operation::TryLock(mutex)
                if trace.objects[mutex.index()].kind == ObjectKind::Mutex =>
            {
                Some(PlainCall::Lock(mutex))
            }
            Operation::Unlock(mutex) => Some(PlainCall::Unlock(mutex)),
            _ => None,
        };
        let calls = trace.calls.iter().map(|call| {
            // Where returns are not recorded, nobody knows which of them waited.
            let is_plain = trace.returns == Returns::Explicit && call.outcome == Outcome::Success;
            plain(call.operation).filter(|_| is_plain)
        });
        Self(calls.collect())
    }

    /// Returns what a call does, if it is plain.
    #[inline]
    pub fn get(&self, call: CallId) -> Option<PlainCall> {
        self.0[call.index()]
    }
}

impl Lowering<'_> {
    /// Returns whether nothing is special about an event: it is its own call from begin to end, not its thread's first or last,
    /// and nothing is to be done at it on account of others.
    #[inline]
    pub fn is_plain(&self, index: usize, thread: u32) -> bool {
        let place = thread as usize;
        let waits_for_nothing = self.open[place].is_none()
            && self.taking[place].is_empty()
            && self.resumes_at[place] as usize <= index;
        let asks_for_nothing = !self.tries.are_under_way()
            && !self.sleeps.are_awaited()
            && !self.pipes.has_marks()
            && !self.roles.has(index as u32);
        waits_for_nothing
            && asks_for_nothing
            && !self.lists[place].is_empty()
            && !self.is_answered.contains(index)
            && self.next.after(index) != NONE
    }

    /// Lowers a plain event.
    #[inline]
    pub fn plain(&mut self, index: usize, thread: u32, call: PlainCall) {
        let carried = std::mem::take(&mut self.carried[thread as usize]);
        let work_nanos = self.work.take(index) + carried;
        let list = &mut self.lists[thread as usize];
        let at = OpRef {
            thread,
            index: list.len() as u32,
        };
        match call {
            PlainCall::Lock(mutex) => {
                list.push_mutex((mutex, true), work_nanos, index as u32);
                self.acquired(at, mutex, 1);
            }
            PlainCall::Unlock(mutex) => {
                list.push_mutex((mutex, false), work_nanos, index as u32);
                self.unlocked(at, mutex);
            }
        }
    }
}
