//! Futexes, and loops whose iterations wait for each other: a wait needs the wake-up that ended it in the recording.
//!
//! A wake-up that comes before its wait lets it pass: so would the program's look at the futex's value, which the
//! wake-up's thread changed before. Nobody else can take its place: what a futex stands for is not known, and a mutex's
//! waiter that got another's wake-up might not pass it on as that one did.

use foretrace_trace::{Event, ObjectId, Operation, Outcome, Trace};

use crate::{
    Action,
    lower::{Lowering, NONE, Open, OpenKind},
    matching::{Edge, OpRef, WokenBy},
    polls::Waited,
};

/// Who waits again after so much CPU time at most did nothing but look, in nanoseconds: libraries spin that long before they wait.
const AGAIN: u64 = 10_000;

/// Returns whether a thread that is back from a wait for a futex waits for it again as soon as it has looked: its next event is `after`.
pub(crate) fn waits_again(trace: &Trace, (back, after): (u32, u32), futex: ObjectId) -> bool {
    let event = |number: u32| trace.events.get(number as usize);
    let cpu = |number: u32| event(number).and_then(Event::cpu).map_or(0, |cpu| cpu.0);
    let operation = event(after).map(|event| trace.call(event).operation);
    operation == Some(Operation::FutexWait(futex)) && cpu(after) <= cpu(back) + AGAIN
}

impl Lowering<'_> {
    /// Lowers a wait that did not fail, with those that only continue it.
    pub fn futex_wait(&mut self, begin: usize, thread: u32, futex: ObjectId) {
        if let Some(naps) = self.naps_until_time(begin, thread, futex, Waited::Futex(futex)) {
            self.nap(begin, thread, naps, OpenKind::Other);
            return;
        }
        let end = self.end_of_wait(begin, Waited::Futex(futex));
        self.resumes_at[thread as usize] = end as u32 + 1;
        let call = *self.trace.call(&self.trace.events[end]);
        if self.outcome(end, call) == Outcome::TimedOut {
            self.pass_time((begin, end), thread);
            return;
        }
        let action = self.wait_for_futex(begin, thread, futex);
        let at = self.push(begin, thread, action);
        let from = self.return_of(end).and_then(|back| back.from);
        let back = self.next.after(end);
        self.logs[futex.index()]
            .futex()
            .wait(at, back, from.map(|from| from.0));
        self.set_open(at, OpenKind::Futex(futex));
    }

    /// Lowers a wake-up, which is nothing unless somebody is found to have been woken.
    pub fn futex_wake(&mut self, index: usize, thread: u32, (futex, woken): (ObjectId, u32)) {
        let action = self.futex_locks.given_up_by(thread, index as u32);
        let at = self.push(index, thread, action.unwrap_or(Action::Pass));
        for wait in self.logs[futex.index()].futex().wake(at, woken) {
            self.futex_woke(at, wait, futex);
        }
    }

    /// Logs that a wait came back.
    pub fn futex_returned(&mut self, wait: OpRef, futex: ObjectId) {
        match self.logs[futex.index()].futex().returned(wait) {
            WokenBy::Known => {}
            WokenBy::Late(wake) => self.futex_woke(wake, wait, futex),
            WokenBy::Nobody if self.takes_lock(wait) => {}
            WokenBy::Nobody => self.set_action(wait, Action::Pass),
        }
    }

    /// Returns whether a wait for a futex is one for a lock that is made of it.
    fn takes_lock(&self, wait: OpRef) -> bool {
        let action = self.action_of(wait);
        matches!(action, Action::Lock(_) | Action::TakeToken(_))
    }

    fn action_of(&self, operation: OpRef) -> Action {
        let list = &self.lists[operation.thread as usize];
        list.get(operation.index).action
    }

    /// Lowers a wait for an iteration of a loop: like a futex's it needs the one end of that iteration, whenever that comes.
    pub fn doacross_wait(
        &mut self,
        index: usize,
        thread: u32,
        (loops, iteration): (ObjectId, u64),
    ) {
        let operation = self.push(index, thread, Action::AwaitWake(loops));
        let open = Open {
            operation,
            kind: OpenKind::Doacross(loops, iteration),
        };
        if self.is_explicit() && self.return_of(index).is_none() && self.next.after(index) != NONE {
            self.came_back(open);
        } else {
            self.set_open(operation, open.kind);
        }
    }

    /// Logs that a wait for an iteration of a loop is over. One for an iteration that there is none of, or that the thread did
    /// itself, is none.
    pub fn doacross_returned(&mut self, wait: OpRef, (loops, iteration): (ObjectId, u64)) {
        let post = self.logs[loops.index()].doacross().awaited(iteration);
        match post.filter(|post| post.thread != wait.thread) {
            Some(post) => self.futex_woke(post, wait, loops),
            None => self.set_action(wait, Action::Pass),
        }
    }

    fn futex_woke(&mut self, release: OpRef, acquire: OpRef, futex: ObjectId) {
        if self.action_of(acquire) == Action::Pass {
            return;
        }
        if !self.takes_lock(acquire) {
            self.set_action(release, Action::Wake(futex));
        }
        self.edges.push(Edge { acquire, release });
    }
}
