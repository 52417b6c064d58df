//! Waits whose time ran out: how long they took, and which are one wait in several looks.

use foretrace_trace::{Call, Nanos, ObjectId, Operation as Op, Outcome, SiteId, TIMER_SLACK};

use crate::{
    held::Held,
    lower::{Lowering, NONE},
};

/// A thread that waits again after a time-out did nothing of its own meanwhile if it worked less than the wait took,
/// divided by this.
pub(crate) const POLL_RATIO: u64 = 20;

/// Of as many looks one may use what they may, where those before it used less.
const MOST_SHARES: u64 = 4;

/// A thread that spins uses no more CPU time than this from one nap to the next, in nanoseconds: else it does something else.
pub(crate) const SPIN: u64 = 50_000;

/// What a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// A condition variable; with its mutex.
    Condition(ObjectId, ObjectId),
    /// A futex.
    Futex(ObjectId),
    /// Time to pass, at a place in the program.
    Asleep(Option<SiteId>),
}

/// A thread that waits in several looks, as far as it has come.
pub(crate) struct Looks {
    /// The CPU time that it had used by its last event.
    cpu: u64,
    /// How much it may use until it waits again, in nanoseconds. What looks did not use is left for those that follow, since now and
    /// then one takes long: a page was missing, or another program had the CPU.
    allowed: u64,
}

impl Looks {
    /// Begins with a thread that had used so much CPU time when it began to wait.
    pub fn after(cpu: u64) -> Self {
        Self { cpu, allowed: 0 }
    }
}

impl Lowering<'_> {
    /// Returns the last of the waits that a wait goes on with: one that timed out, and whose thread then only looked
    /// and waited again for the same, is the same wait. How often it looks depends on how long it has to wait, so a
    /// replay must not repeat it.
    pub fn end_of_wait(&self, begin: usize, waited: Waited) -> usize {
        let thread = self.trace.call(&self.trace.events[begin]).thread.0;
        let mut looks = Looks::after(self.work.last_cpu(thread));
        let mut last = begin;
        while let Some(next) = self.next_look(last, waited, &mut looks) {
            last = next;
        }
        last
    }

    /// Returns the wait that goes on with another, and goes on to that.
    pub fn next_look(&self, wait: usize, waited: Waited, looks: &mut Looks) -> Option<usize> {
        let call = *self.trace.call(&self.trace.events[wait]);
        let outcome = self.outcome(wait, call);
        let by_time = match waited {
            Waited::Asleep(_) => call.operation.is_sleep(outcome),
            Waited::Condition(..) | Waited::Futex(_) => outcome == Outcome::TimedOut,
        };
        if !by_time {
            return None;
        }
        let own = match waited {
            Waited::Condition(_, mutex) => Some(mutex),
            Waited::Futex(_) | Waited::Asleep(_) => None,
        };
        let share = self.recorded_delay(wait, wait) / POLL_RATIO;
        looks.allowed = (looks.allowed + share).min(MOST_SHARES * share);
        let spins = call.operation.is_spin();
        if spins {
            looks.allowed = SPIN;
        }
        let mut worked = 0;
        let mut held = Held::default();
        let mut index = self.next.after(wait);
        while index != NONE {
            worked += self.work.before(self.trace, index as usize, &mut looks.cpu);
            let call = self.trace.call(&self.trace.events[index as usize]);
            if spins && index == self.next.after(wait) {
                // What falling asleep and waking up takes is not the program's.
                worked = 0;
            }
            let is_own = match call.operation {
                Op::Lock(mutex) | Op::Unlock(mutex) => Some(mutex) == own,
                _ => false,
            };
            let waits_again = self.waits_for(index as usize, *call) == Some(waited);
            match call.operation {
                _ if worked > looks.allowed => return None,
                // What it goes on with is known to be something else.
                _ if (is_own || waits_again) && self.roles.of(index).is_some() => return None,
                _ if is_own => {}
                _ if waits_again => {
                    looks.allowed -= worked;
                    return held.is_nothing().then_some(index as usize);
                }
                _ => {
                    let waited = self.is_answered.contains(index as usize);
                    let role = self.roles.of(index);
                    if !held.passes(call, waited, role, &self.awaited) {
                        looks.allowed -= worked;
                        return None;
                    }
                }
            }
            index = self.next.after(index as usize);
        }
        None
    }

    /// Returns what a call waits for, if it is a wait that may be one of several looks.
    fn waits_for(&self, index: usize, call: Call) -> Option<Waited> {
        let outcome = self.outcome(index, call);
        match call.operation {
            Op::CondWait { cond, mutex } | Op::CondTimedWait { cond, mutex } => {
                Some(Waited::Condition(cond, mutex))
            }
            Op::FutexWait(futex) | Op::FutexTimedWait(futex) => {
                let failed = matches!(outcome, Outcome::Failed(_) | Outcome::Busy);
                (!failed).then_some(Waited::Futex(futex))
            }
            operation if operation.is_sleep(outcome) => Some(Waited::Asleep(call.site)),
            _ => None,
        }
    }

    /// Returns for how long a call was gone by itself that may have waited for a CPU as well: of a wait whose time ran out, for how long such waits
    /// of its place last.
    pub fn gone_by_itself(&self, (begin, end): (usize, usize)) -> u64 {
        let call = *self.trace.call(&self.trace.events[end]);
        let recorded = self.recorded_delay(begin, end);
        if begin == end && self.outcome(end, call) == Outcome::TimedOut {
            if let Some(moment) = self.deadlines.moment(end as u32) {
                let asked = moment.saturating_sub(self.trace.events[end].time.0);
                return recorded.min(asked.saturating_add(TIMER_SLACK));
            }
            return self.asked.of_wait(call.site, recorded);
        }
        call.gone_by_itself(Nanos(recorded)).0
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
