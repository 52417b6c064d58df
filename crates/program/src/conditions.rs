//! Waits on condition variables: what they become, and what woke them.

use foretrace_trace::{ObjectId, Operation as Op, Outcome};

use crate::{
    Action,
    lower::{Lowering, NONE, Open, OpenKind},
    matching::{Edge, OpRef, Waiter, WokenBy},
};

/// A thread that waits again after a time-out did nothing of its own meanwhile if it worked less than the wait took,
/// divided by this.
const POLL_RATIO: u64 = 20;

impl Lowering<'_> {
    /// Lowers a wait, with those that only continue it.
    pub fn condition_wait(&mut self, index: usize, thread: u32, objects: (ObjectId, ObjectId)) {
        let (cond, mutex) = objects;
        let begin = index;
        let index = self.end_of_wait(begin, objects);
        self.resumes_at[thread as usize] = index as u32 + 1;
        let call = *self.trace.call(&self.trace.events[index]);
        let timed_out = self.outcome(index, call) == Outcome::TimedOut;
        let cut_short = self.is_cut_short(index);
        let never =
            self.is_explicit() && self.return_of(index).is_none() && self.is_last_call(index);
        let waits = !timed_out && !cut_short;
        let action = if waits {
            Action::CondWait { cond, mutex }
        } else {
            Action::Unlock(mutex)
        };
        let at = self.push(begin, thread, action);
        let depth = self.logs[mutex.index()]
            .mutex()
            .give_up(at, &mut self.edges);
        if never {
            let kind = OpenKind::Other;
            self.never_came_back(Open {
                operation: at,
                kind,
            });
        } else if waits {
            let back = self.return_of(index);
            let from = back.and_then(|back| back.from).map(|from| from.0);
            let waiter = Waiter {
                wait: at,
                mutex,
                back: self.next[index],
                from,
            };
            self.logs[cond.index()].condition().wait(waiter);
            self.set_open(at, OpenKind::Condition { cond, mutex, depth });
        } else {
            let meanwhile = if timed_out {
                let nanos = self.recorded_delay(begin, index);
                self.delay(nanos)
            } else {
                self.until_cancelled(thread)
            };
            self.push(begin, thread, meanwhile);
            let relock = self.push(begin, thread, Action::Lock(mutex));
            self.set_open(relock, OpenKind::Relock(mutex, depth));
        }
    }

    pub fn condition_returned(&mut self, wait: OpRef, cond: ObjectId, mutex: ObjectId, depth: u32) {
        let woken_by = self.logs[cond.index()].condition().returned(wait);
        self.logs[mutex.index()]
            .mutex()
            .reacquire(wait.thread, depth);
        match woken_by {
            WokenBy::Known => {}
            WokenBy::Late(signal) => {
                self.set_action(signal, Action::Signal(cond));
                self.edges.push(Edge {
                    acquire: wait,
                    release: signal,
                });
            }
            WokenBy::Nobody => {
                let event = self.lists[wait.thread as usize][wait.index as usize].event as usize;
                self.set_action(wait, Action::Unlock(mutex));
                self.push(event, wait.thread, Action::Lock(mutex));
            }
        }
    }

    pub fn signal(&mut self, index: usize, thread: u32, cond: ObjectId) {
        let signal = self.push(index, thread, Action::Pass);
        if let Some(waiter) = self.logs[cond.index()].condition().signal(signal) {
            self.set_action(signal, Action::Signal(cond));
            self.woke(signal, waiter);
        }
    }

    pub fn broadcast(&mut self, index: usize, thread: u32, cond: ObjectId) {
        let broadcast = self.push(index, thread, Action::Pass);
        let woken = self.logs[cond.index()].condition().broadcast();
        if !woken.is_empty() {
            self.set_action(
                broadcast,
                Action::Broadcast {
                    cond,
                    woken: woken.len() as u32,
                },
            );
        }
        for waiter in woken {
            self.woke(broadcast, waiter);
        }
    }

    fn woke(&mut self, release: OpRef, waiter: Waiter) {
        self.edges.push(Edge {
            acquire: waiter.wait,
            release,
        });
        self.logs[waiter.mutex.index()]
            .mutex()
            .require_next_release(release.thread, waiter.wait);
    }

    /// Returns the last of the waits that a wait goes on with: one that timed out, and whose thread then only looked
    /// and waited again for the same, is the same wait. How often it looks depends on how long it has to wait, so a
    /// replay must not repeat it.
    fn end_of_wait(&self, begin: usize, objects: (ObjectId, ObjectId)) -> usize {
        let mut last = begin;
        while let Some(next) = self.next_look(last, objects) {
            last = next;
        }
        last
    }

    fn next_look(&self, wait: usize, objects: (ObjectId, ObjectId)) -> Option<usize> {
        let call = *self.trace.call(&self.trace.events[wait]);
        if self.outcome(wait, call) != Outcome::TimedOut {
            return None;
        }
        let allowed = self.recorded_delay(wait, wait) / POLL_RATIO;
        let mut worked = 0;
        let mut index = self.next[wait];
        while index != NONE {
            worked += self.work.before[index as usize];
            let call = self.trace.call(&self.trace.events[index as usize]);
            match call.operation {
                _ if worked > allowed => return None,
                Op::CondWait { cond, mutex } | Op::CondTimedWait { cond, mutex } => {
                    return ((cond, mutex) == objects).then_some(index as usize);
                }
                Op::Return => {}
                Op::Lock(mutex) | Op::Unlock(mutex) if mutex == objects.1 => {}
                _ => return None,
            }
            index = self.next[index as usize];
        }
        None
    }

    /// Returns how long a timed-out call waited, from `begin` to the return of the event `end` (mostly the same event);
    /// or until the row before its thread's next one, since the time after that row is the thread's work.
    pub fn recorded_delay(&self, begin: usize, end: usize) -> u64 {
        let events = &self.trace.events;
        let until = match self.next[end] {
            NONE => events.last().map_or(0, |event| event.time.0),
            next if self.return_of(end).is_some() => events[next as usize].time.0,
            next => events[next as usize - 1].time.0,
        };
        until.saturating_sub(events[begin].time.0)
    }
}
