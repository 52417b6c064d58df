//! Waits on condition variables: what they become, and what woke them.

use foretrace_trace::{ObjectId, Outcome};

use crate::{
    Action, Operation,
    lower::{Lowering, Open, OpenKind},
    matching::{Edge, OpRef, Waiter, WokenBy},
    polls::Waited,
};

impl Lowering<'_> {
    /// Lowers a wait, with those that only continue it.
    pub fn condition_wait(&mut self, index: usize, thread: u32, objects: (ObjectId, ObjectId)) {
        let (cond, mutex) = objects;
        let begin = index;
        if let Some(naps) =
            self.naps_until_time(begin, thread, cond, Waited::Condition(cond, mutex))
        {
            let at = self.push(begin, thread, Action::Unlock(mutex));
            let depth = self.logs[mutex.index()]
                .mutex()
                .give_up(at, &mut self.edges);
            self.nap(begin, thread, naps, OpenKind::Nap(mutex, depth));
            return;
        }
        // One that lasts until a moment that its thread reckoned is not gone on with by the next.
        let due = self.periods.due(begin);
        let index = match due {
            Some(_) => begin,
            None => self.end_of_wait(begin, Waited::Condition(cond, mutex)),
        };
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
                back: self.next.after(index),
                from,
            };
            self.logs[cond.index()].condition().wait(waiter);
            self.set_open(at, OpenKind::Condition { cond, mutex, depth });
        } else {
            let meanwhile = if timed_out {
                let mut nanos = self.gone_by_itself((begin, index));
                let goes_on = due.is_none() && (begin != index || self.goes_on_waiting(index));
                if goes_on {
                    // One that looks again and again waits for what others do.
                    nanos = self
                        .busy
                        .idle(nanos, begin, self.next.after(index) as usize);
                }
                match due {
                    Some(due) => self.sleep_until(thread, due, nanos),
                    None => self.delay(nanos),
                }
            } else {
                self.until_cancelled(thread)
            };
            self.push(begin, thread, meanwhile);
            let relock = self.push(begin, thread, Action::Lock(mutex));
            self.set_open(relock, OpenKind::Relock(mutex, depth));
        }
    }

    /// Returns whether a thread that waits again and again did what it did in between while others had not come yet.
    pub fn works_in_wait(&self, open: Open) -> bool {
        let waits = matches!(open.kind, OpenKind::Condition { .. } | OpenKind::Futex(_));
        waits && self.trace.recording.is_some()
    }

    /// Adds work before a wait, and before its thread locks the mutex for that: where it is over, the thread goes on at once.
    pub fn work_before(&mut self, wait: OpRef, nanos: u64) {
        let list = &mut self.lists[wait.thread as usize];
        let before = wait
            .index
            .checked_sub(1)
            .map(|index| list.get(index).action);
        let at = match (list.get(wait.index).action, before) {
            (Action::CondWait { mutex, .. }, Some(Action::Lock(locked))) if mutex == locked => {
                wait.index - 1
            }
            _ => wait.index,
        };
        let operation = list.get(at);
        list.set(
            at,
            Operation {
                work_nanos: operation.work_nanos + nanos,
                ..operation
            },
        );
    }

    /// Takes the mutex again that a thread gave up for naps, once those are over that it napped for.
    pub fn relock_after_naps(
        &mut self,
        index: usize,
        thread: u32,
        (mutex, depth): (ObjectId, u32),
    ) {
        let relock = self.push(index, thread, Action::Lock(mutex));
        self.set_waited(relock, true);
        self.acquired(relock, mutex, depth);
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
                let event = self.lists[wait.thread as usize].event(wait.index) as usize;
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
}
