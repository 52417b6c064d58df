//! Tries that failed until one succeeded: how often a thread tries depends on how long it has to wait, so that a replay must
//! not repeat it. It waits for the lock.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Call, ObjectId, Operation as Op, Outcome, SiteId, Trace};

use crate::{
    Action, Pattern, Structure,
    lower::{Lowering, NONE},
    polls::SPIN,
};

/// Tries that failed until one succeeded, as far as the sweep has come.
#[derive(Default)]
pub(crate) struct Tries {
    /// The events at which threads that tried get the lock, and how often each failed before.
    until: BTreeMap<u32, u64>,
    /// The calls that were made again until one of them got the lock.
    repeated: BTreeSet<Option<SiteId>>,
    /// How often a thread did so for each mutex.
    waits: BTreeMap<ObjectId, u64>,
}

impl Tries {
    /// Returns whether any thread is to get a lock that it tried to get before.
    pub fn are_under_way(&self) -> bool {
        !self.until.is_empty()
    }

    /// Returns the mutexes that are got by such calls alone, where those that fail are made again.
    pub fn mutexes(&self, trace: &Trace) -> BTreeSet<ObjectId> {
        if self.repeated.is_empty() {
            return BTreeSet::new();
        }
        let (mut mutexes, mut others) = (BTreeSet::new(), BTreeSet::new());
        for call in &trace.calls {
            match call.operation {
                Op::TryLock(mutex) | Op::TryLocks { mutex, .. } => {
                    let is_repeated = self.repeated.contains(&call.site);
                    let kind = if is_repeated {
                        &mut mutexes
                    } else {
                        &mut others
                    };
                    kind.insert(mutex);
                }
                Op::Lock(mutex)
                | Op::TimedLock(mutex)
                | Op::CondWait { mutex, .. }
                | Op::CondTimedWait { mutex, .. } => {
                    others.insert(mutex);
                }
                _ => {}
            }
        }
        &mutexes - &others
    }

    /// Returns what is to be said of the mutexes that are got so.
    pub fn structures(&self, trace: &Trace, mutexes: &BTreeSet<ObjectId>) -> Vec<Structure> {
        if mutexes.is_empty() {
            return Vec::new();
        }
        let mut sites: BTreeMap<ObjectId, BTreeSet<SiteId>> = BTreeMap::new();
        for call in &trace.calls {
            if let (Some(mutex), Some(site)) = (tried(*call), call.site)
                && self.repeated.contains(&call.site)
            {
                sites.entry(mutex).or_default().insert(site);
            }
        }
        let structure = |&mutex: &ObjectId| Structure {
            object: mutex,
            pattern: Some(Pattern::Tries),
            sites: sites.get(&mutex).into_iter().flatten().copied().collect(),
            waits: self.waits.get(&mutex).copied().unwrap_or(0),
            given_up: 0,
        };
        mutexes.iter().map(structure).collect()
    }
}

impl Lowering<'_> {
    /// Lowers failed tries, if the thread did nothing else until the call that failed last got the lock, or another try after it paused, or, after many
    /// of them, any call that waits for it, as those do that look for a while before they sleep. Returns whether that is so.
    pub fn tries_until_locked(&mut self, index: usize, call: Call) -> bool {
        let Some(mutex) = tried(call) else {
            return false;
        };
        let Some((end, failures)) = self.success_after(index, call, mutex) else {
            return false;
        };
        self.note_repeated(index, end);
        *self.tries.waits.entry(mutex).or_default() += 1;
        let thread = call.thread.0;
        // The first try, and the work before it.
        self.push(index, thread, Action::Pass);
        self.resumes_at[thread as usize] = end;
        self.tries.until.insert(end, failures);
        true
    }

    /// Where a call gets the lock after others failed: what they took was waiting, unless the thread did something else in between.
    pub fn got_after_tries(&mut self, index: usize, call: Call) {
        if let Some(mutex) = tried(call).or_else(|| locked(call))
            && let Some(failures) = self.tries.until.remove(&(index as u32))
        {
            let thread = call.thread.0;
            let worked = self.work.left() + self.carried[thread as usize];
            if worked > failures.saturating_mul(SPIN) {
                self.push(index, thread, Action::Pass);
            }
            let poll = self.push(index, thread, Action::Poll(mutex));
            self.set_waited(poll, true);
        }
    }

    /// Returns how long a thread looked at memory before an event that is passed over, if that is among tries: those are waits, too.
    pub fn lingered_among_tries(&self, call: Call) -> u64 {
        match call.operation {
            Op::Linger(looked) | Op::Spin(looked) => {
                let end = self.resumes_at[call.thread.index()];
                looked.0 * u64::from(self.tries.until.contains_key(&end))
            }
            _ => 0,
        }
    }

    /// Notes that the calls that tried to get a lock, from one event to another of a thread, do so until they have it.
    fn note_repeated(&mut self, first: usize, last: u32) {
        let mut at = first;
        loop {
            let call = self.trace.call(&self.trace.events[at]);
            if tried(*call).is_some() {
                self.tries.repeated.insert(call.site);
            }
            if at as u32 >= last {
                return;
            }
            at = self.next.after(at) as usize;
        }
    }

    /// Returns the event at which a thread gets a lock that it tried to get before, and how often that failed.
    fn success_after(&self, index: usize, first: Call, mutex: ObjectId) -> Option<(u32, u64)> {
        let mut at = self.next.after(index);
        let (mut failures, mut site, mut paused) = (failures(first), first.site, false);
        while at != NONE {
            let call = *self.trace.call(&self.trace.events[at as usize]);
            let is_tried = tried(call) == Some(mutex);
            match self.outcome(at as usize, call) {
                _ if matches!(call.operation, Op::Spin(_)) => paused = true,
                _ if matches!(call.operation, Op::Linger(_) | Op::Return) => {}
                Outcome::Busy if is_tried => {
                    failures += self::failures(call);
                    site = call.site;
                }
                Outcome::Success => {
                    let gets_it = is_tried || locked(call) == Some(mutex);
                    let is_loop = is_tried && (call.site == site || paused);
                    return (gets_it && (is_loop || failures >= LEAST)).then_some((at, failures));
                }
                _ => return None,
            }
            at = self.next.after(at as usize);
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
