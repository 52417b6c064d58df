//! One call at a time: what it becomes, and what is logged of it.

use foretrace_trace::{Call, IoKind, ObjectId, Operation as Op, Outcome, ThreadId};

use crate::{
    Action, GateId, Opener,
    lower::{Lowering, NONE, Open, OpenKind},
    matching::{Acquired, Edge, OpRef},
};

/// The outcome of a wait that ended by its thread's cancellation: `ECANCELED`.
const CANCELLED: Outcome = Outcome::Failed(125);

/// The outcome of a call that a signal interrupted: `EINTR`.
const INTERRUPTED: Outcome = Outcome::Failed(4);

/// The number of whichever ordered section was left last: each is entered after it.
const SECTION_BEFORE: u64 = 0;

impl Lowering<'_> {
    /// Lowers one call.
    pub fn call(&mut self, index: usize, call: Call) {
        let thread = call.thread.0;
        let outcome = self.outcome(index, call);
        match call.operation {
            Op::Return => {}
            Op::Terminate => {
                self.give_up_by_end(index, thread);
                self.push(index, thread, Action::Terminate);
            }
            Op::CondWait { cond, mutex } | Op::CondTimedWait { cond, mutex }
                if outcome == CANCELLED || !matches!(outcome, Outcome::Failed(_)) =>
            {
                self.condition_wait(index, thread, (cond, mutex));
            }
            Op::FutexWait(futex) | Op::FutexTimedWait(futex)
                if !matches!(outcome, Outcome::Failed(_) | Outcome::Busy) =>
            {
                self.futex_wait(index, thread, futex);
            }
            _ if outcome == CANCELLED => {
                let until = self.until_cancelled(thread);
                self.push(index, thread, until);
                self.open_if_blocked(index, thread, OpenKind::Other);
            }
            Op::Io { .. } if self.is_told_by_a_process(index) => {
                self.push(index, thread, Action::Pass);
                self.open_if_blocked(index, thread, OpenKind::Other);
            }
            _ if outcome == Outcome::TimedOut && self.goes_on_waiting(index) => {
                self.pass_time((index, index), thread);
            }
            operation if operation.is_sleep(outcome) => self.sleep(index, thread),
            Op::Io { .. } if self.waits_for_pipe(index) => {
                self.push(index, thread, Action::Pass);
                self.open_if_blocked(index, thread, OpenKind::Other);
            }
            Op::SleepPast(_) if self.deadlines.wait_told_by(index as u32).is_some() => {
                self.carried[thread as usize] += self.work.left();
            }
            Op::SleepPast(_) => self.sleep_past(index, thread),
            Op::Linger(looked) => self.linger(index, thread, looked.0),
            Op::PipeWrite { pipe, bytes } => self.pipe_write(index, thread, pipe, bytes),
            Op::PipeRead { pipe, .. } => self.pipe_read(index, thread, pipe),
            Op::Io { .. } | Op::Sleep | Op::SleepFor(_) => self.pass_time((index, index), thread),
            _ if outcome == Outcome::Busy && self.tries_until_locked(index, call) => {}
            _ if matches!(outcome, Outcome::Failed(_) | Outcome::Busy) => {
                self.push(index, thread, Action::Pass);
                self.open_if_blocked(index, thread, OpenKind::Other);
            }
            _ if outcome == Outcome::TimedOut => self.pass_time((index, index), thread),
            Op::CondSignal(cond) => self.signal(index, thread, cond),
            Op::CondBroadcast(cond) => self.broadcast(index, thread, cond),
            Op::Lock(sections) | Op::SpinLock(sections) if self.is_ordered(sections) => {
                self.doacross_wait(index, thread, (sections, SECTION_BEFORE));
            }
            Op::Unlock(sections) | Op::SpinUnlock(sections) if self.is_ordered(sections) => {
                let post = self.push(index, thread, Action::Pass);
                self.logs[sections.index()]
                    .doacross()
                    .post(SECTION_BEFORE, post);
            }
            Op::Unlock(mutex) | Op::SpinUnlock(mutex) => self.unlock(index, thread, mutex),
            Op::SemPost(semaphore) | Op::QueueSend(semaphore) => {
                let post = self.push(index, thread, Action::GiveToken(semaphore));
                self.logs[semaphore.index()].semaphore().post(post);
            }
            Op::RwUnlock(rwlock) => {
                let release = self.push(index, thread, Action::RwUnlock(rwlock));
                self.logs[rwlock.index()].rwlock().unlock(release);
            }
            Op::FutexWake { futex, woken } => self.futex_wake(index, thread, (futex, woken)),
            Op::DoacrossWait { loops, iteration } => {
                self.doacross_wait(index, thread, (loops, iteration));
            }
            Op::DoacrossPost { loops, iteration } => {
                let post = self.push(index, thread, Action::Pass);
                self.logs[loops.index()].doacross().post(iteration, post);
            }
            Op::Once(once) => self.once(index, thread, once, outcome),
            Op::LockSections {
                mutex, count, held, ..
            } => self.sections(index, thread, mutex, (count, held.0)),
            Op::Create(_)
            | Op::Detach(_)
            | Op::Cancel(_)
            | Op::Send { .. }
            | Op::Join(_)
            | Op::Bind { .. } => {
                self.between_threads(index, thread, call.operation);
            }
            _ => {
                if self.tries.are_under_way() {
                    self.got_after_tries(index, call);
                }
                self.acquire(index, thread, call.operation);
            }
        }
    }

    /// Returns whether a lock stands for ordered sections: each is entered when the one before is left, as iterations of a loop that wait for
    /// each other.
    fn is_ordered(&self, lock: ObjectId) -> bool {
        self.trace.objects[lock.index()].is_ordered()
    }

    /// Returns what came of a call: what its return says where it has one, else what it says itself.
    pub fn outcome(&self, index: usize, call: Call) -> Outcome {
        let back = self.return_of(index).map(|back| back.outcome);
        call.outcome.with_return(back)
    }

    /// Returns the explicit return of an event's call, where one follows at once.
    pub fn return_of(&self, index: usize) -> Option<Call> {
        if !self.is_answered.contains(index) {
            return None;
        }
        let back = &self.trace.events[self.next.after(index) as usize];
        Some(*self.trace.call(back))
    }

    fn between_threads(&mut self, index: usize, thread: u32, operation: Op) {
        match operation {
            Op::Create(child) => {
                self.push(index, thread, Action::Create(child));
            }
            Op::Cancel(victim) => {
                let gate = self.gate_of(Opener::Cancellation(victim));
                self.push(index, thread, Action::Open(gate));
            }
            Op::Send { to, event } => {
                let send = self.push(index, thread, Action::Send { to, event });
                self.rendezvous.entry((to, event)).or_default().send(send);
            }
            Op::Join(child) => {
                let gate = self.gate_of(Opener::End(child));
                if self.return_of(index).is_none() && self.has_ended(child) {
                    // It did not block.
                    self.push(index, thread, Action::Await(gate));
                } else if self.is_cut_short(index) {
                    let until = self.until_cancelled(thread);
                    self.push(index, thread, until);
                } else {
                    let join = self.push(index, thread, Action::Await(gate));
                    self.set_open(join, OpenKind::Other);
                }
            }
            _ => {
                self.push(index, thread, Action::Pass);
            }
        }
    }

    /// Lowers a call that takes something and waits for it where it must.
    pub fn acquire(&mut self, index: usize, thread: u32, operation: Op) {
        let (action, kind) = match operation {
            Op::Lock(m)
            | Op::TryLock(m)
            | Op::TimedLock(m)
            | Op::SpinLock(m)
            | Op::SpinTryLock(m) => (Action::Lock(m), OpenKind::Lock(m)),
            Op::ReadLock(r) | Op::TryReadLock(r) | Op::TimedReadLock(r) => {
                (Action::ReadLock(r), OpenKind::Read(r))
            }
            Op::WriteLock(r) | Op::TryWriteLock(r) | Op::TimedWriteLock(r) => {
                (Action::WriteLock(r), OpenKind::Write(r))
            }
            Op::SemWait(s) | Op::SemTryWait(s) | Op::SemTimedWait(s) | Op::QueueReceive(s) => {
                (Action::TakeToken(s), OpenKind::Token(s))
            }
            Op::Wait(event) => (Action::Wait(event), OpenKind::Wait(ThreadId(thread), event)),
            Op::BarrierWait(barrier) => {
                let arrivals = self.arrivals.entry(barrier).or_default();
                *arrivals += 1;
                (
                    Action::Barrier(barrier),
                    OpenKind::Barrier(barrier, *arrivals),
                )
            }
            _ => (Action::Pass, OpenKind::Other),
        };
        let at = self.push(index, thread, action);
        if let OpenKind::Wait(process, event) = kind {
            self.rendezvous
                .entry((process, event))
                .or_default()
                .wait(at);
        }
        let open = Open {
            operation: at,
            kind,
        };
        let always_returns = matches!(
            kind,
            OpenKind::Other | OpenKind::Wait(..) | OpenKind::Barrier(..)
        );
        if self.is_explicit() && self.return_of(index).is_none() && !always_returns {
            // Without a return it did not block, unless it is the last that was seen of the thread.
            if self.next.after(index) != NONE || self.can_have_come_back(open) {
                self.came_back(open);
            } else {
                self.never_came_back(open);
            }
            return;
        }
        if let OpenKind::Token(semaphore) = kind
            && !self.is_explicit()
        {
            self.logs[semaphore.index()].semaphore().wait(at);
        }
        self.set_open(at, kind);
    }

    /// Logs that an open call came back.
    pub fn came_back(&mut self, open: Open) {
        let at = open.operation;
        match open.kind {
            OpenKind::Lock(mutex) => self.acquired(at, mutex, 1),
            OpenKind::Relock(mutex, depth) => self.acquired(at, mutex, depth),
            OpenKind::Condition { cond, mutex, depth } => {
                self.condition_returned(at, cond, mutex, depth);
            }
            OpenKind::Token(semaphore) if self.is_explicit() => {
                self.logs[semaphore.index()].semaphore().grant(at);
            }
            OpenKind::Token(semaphore) => self.logs[semaphore.index()].semaphore().granted(at),
            OpenKind::Read(rwlock) => {
                self.logs[rwlock.index()].rwlock().read(at, &mut self.edges);
            }
            OpenKind::Write(rwlock) => {
                self.logs[rwlock.index()]
                    .rwlock()
                    .write(at, &mut self.edges);
            }
            OpenKind::Futex(futex) => self.futex_returned(at, futex),
            OpenKind::Doacross(loops, iteration) => self.doacross_returned(at, (loops, iteration)),
            OpenKind::Wait(..) | OpenKind::Barrier(..) | OpenKind::Nap(..) | OpenKind::Other => {}
        }
    }

    /// Returns whether a call that is its thread's last event can have come back, judged by its object.
    pub fn can_have_come_back(&mut self, open: Open) -> bool {
        match open.kind {
            OpenKind::Lock(mutex) | OpenKind::Relock(mutex, _) => {
                self.logs[mutex.index()].mutex().is_free()
            }
            OpenKind::Token(semaphore) if self.is_explicit() => {
                self.logs[semaphore.index()].semaphore().has_token()
            }
            OpenKind::Token(semaphore) => !self.logs[semaphore.index()]
                .semaphore()
                .is_pending(open.operation),
            OpenKind::Barrier(barrier, arrival) => {
                let size = self.trace.objects[barrier.index()]
                    .initial
                    .unwrap_or(1)
                    .max(1);
                !self.is_explicit() || self.arrivals[&barrier] >= arrival.div_ceil(size) * size
            }
            // A join of a listing that is never answered shows as a deadlock, which it was.
            OpenKind::Other | OpenKind::Nap(..) | OpenKind::Read(_) | OpenKind::Write(_) => {
                !self.is_explicit()
            }
            OpenKind::Condition { .. } => false,
            OpenKind::Futex(futex) => self.logs[futex.index()].futex().is_woken(open.operation),
            OpenKind::Doacross(loops, iteration) => self.logs[loops.index()]
                .doacross()
                .awaited(iteration)
                .is_some(),
            OpenKind::Wait(..) => true,
        }
    }

    /// Returns whether an open call of a listing has a token that came to another first, as this one is back and that one is not.
    pub fn has_anothers_token(&mut self, open: Open) -> bool {
        match open.kind {
            OpenKind::Token(semaphore) if !self.is_explicit() => {
                self.logs[semaphore.index()].semaphore().has_unclaimed()
            }
            _ => false,
        }
    }

    /// Ends a thread where it was blocked when it was cancelled, or when the program or the recording ended.
    pub fn never_came_back(&mut self, open: Open) {
        let at = open.operation;
        let gate = self.cancellation(at.thread);
        let instead = gate.map_or(Action::Pass, Action::Await);
        let operation = self.lists[at.thread as usize].get(at.index);
        let event = operation.event as usize;
        if let Action::CondWait { mutex, .. } = operation.action {
            // Its mutex was given up all the same.
            self.set_action(at, Action::Unlock(mutex));
            self.push(event, at.thread, instead);
        } else {
            self.set_action(at, instead);
        }
        if gate.is_none() {
            let call = self.trace.call(&self.trace.events[event]).operation.name();
            self.left_blocked.entry(call).or_default().push(at.thread);
        }
    }

    pub fn acquired(&mut self, at: OpRef, mutex: ObjectId, depth: u32) {
        match self.logs[mutex.index()].mutex().acquire(at.thread) {
            Acquired::Outermost(release) => {
                self.logs[mutex.index()].mutex().reacquire(at.thread, depth);
                self.edges.extend(release.map(|release| Edge {
                    acquire: at,
                    release,
                }));
            }
            Acquired::Nested => self.set_action(at, Action::Pass),
            // The end of a robust mutex's owner is now and then seen only after the one that it let in.
            Acquired::FromHolder(_)
                if self.left_locked.values().any(|left| left.contains(&mutex)) => {}
            Acquired::FromHolder(holder) if self.contradicted.insert(mutex) => {
                let name = |thread: u32| self.trace.threads[thread as usize].name.as_str();
                let warning = format!(
                    "{} {} was acquired by {} while {} held it: a release is missing from the trace",
                    self.trace.objects[mutex.index()].kind.name(),
                    self.trace.objects[mutex.index()].name,
                    name(at.thread),
                    name(holder),
                );
                self.warnings.push(warning);
            }
            Acquired::FromHolder(_) => {}
        }
    }

    pub fn unlock(&mut self, index: usize, thread: u32, mutex: ObjectId) {
        let release = self.push(index, thread, Action::Unlock(mutex));
        self.unlocked(release, mutex);
    }

    /// Logs that a mutex was given up.
    pub fn unlocked(&mut self, release: OpRef, mutex: ObjectId) {
        if !self.logs[mutex.index()]
            .mutex()
            .unlock(release, &mut self.edges)
        {
            self.set_action(release, Action::Pass);
        }
    }

    fn once(&mut self, index: usize, thread: u32, once: ObjectId, outcome: Outcome) {
        if outcome == Outcome::Chosen {
            self.push(index, thread, Action::Pass);
            self.initialized.insert(once);
            self.running_once[thread as usize].push(once);
        } else if self.initialized.contains(&once)
            && !self.running_once[thread as usize].contains(&once)
        {
            let gate = self.gate_of(Opener::Once(once));
            self.push(index, thread, Action::Await(gate));
            self.open_if_blocked(index, thread, OpenKind::Other);
        } else {
            self.push(index, thread, Action::Pass);
            self.open_if_blocked(index, thread, OpenKind::Other);
        }
    }

    /// Ends the innermost one-time initialization that a thread runs. Returns whether there was one.
    pub fn end_of_once(&mut self, index: usize, thread: u32) -> bool {
        let ended = self.running_once[thread as usize].pop();
        if let Some(once) = ended {
            let gate = self.gate_of(Opener::Once(once));
            self.push(index, thread, Action::Open(gate));
        }
        ended.is_some()
    }

    /// Returns whether a blocked call was a wait for a process: the signal of its end ended it, and then the thread took
    /// note of that end. Shells wait so, and the join that follows is the wait.
    fn is_told_by_a_process(&self, index: usize) -> bool {
        let call = *self.trace.call(&self.trace.events[index]);
        let for_signal = matches!(
            call.operation,
            Op::Io {
                kind: IoKind::Signal,
                ..
            }
        );
        let back = self.next.after(index);
        if back == NONE || !(for_signal || self.outcome(index, call) == INTERRUPTED) {
            return false;
        }
        let next = self.next.after(back as usize);
        if next == NONE {
            return false;
        }
        let process = |thread: ThreadId| self.trace.threads[thread.index()].process;
        match self.trace.call(&self.trace.events[next as usize]).operation {
            Op::Join(other) => process(other) != process(call.thread),
            _ => false,
        }
    }

    /// Lets as much time pass as in the recording, without a CPU: a wait that timed out, a sleep, a blocked read. `end` is
    /// the last of the waits that only continued the one at `begin`.
    pub fn pass_time(&mut self, (begin, end): (usize, usize), thread: u32) {
        let call = *self.trace.call(&self.trace.events[end]);
        let mut nanos = self.gone_by_itself((begin, end));
        // One that looks again and again waits for what others do.
        let goes_on = self.goes_on_waiting(end);
        if begin != end || goes_on || call.operation.may_wait_for_threads(self.outcome(end, call)) {
            nanos = self.busy.idle(nanos, begin, self.next.after(end) as usize);
        }
        let is_io = matches!(call.operation, Op::Io { .. });
        let delay = match self.periods.due(end).filter(|_| !goes_on) {
            Some(due) => self.sleep_until(thread, due, nanos),
            None => self.delay_in(nanos, is_io),
        };
        let at = self.push(begin, thread, delay);
        if self.return_of(end).is_some() {
            self.set_open(at, OpenKind::Other);
        }
    }

    /// Returns whether the time of a wait ran out, and its thread began it again until it got what it waited for.
    pub fn goes_on_waiting(&self, index: usize) -> bool {
        let call = *self.trace.call(&self.trace.events[index]);
        self.retries.goes_on(index, &call) && self.outcome(index, call) == Outcome::TimedOut
    }

    /// Returns whether a call that always returns was cancelled: its return says so, or it has none although its
    /// thread went on.
    pub fn is_cut_short(&self, index: usize) -> bool {
        match self.return_of(index) {
            Some(back) => back.outcome == CANCELLED,
            None => self.is_explicit() && !self.is_last_call(index),
        }
    }

    /// Returns whether a thread has ended by now.
    fn has_ended(&self, thread: ThreadId) -> bool {
        let last = self.lists[thread.index()].last();
        last.is_some_and(|operation| operation.action == Action::Terminate)
    }

    /// Returns whether a thread made no further call: nothing follows, or its end.
    pub fn is_last_call(&self, index: usize) -> bool {
        self.next.is_last_call(self.trace, index)
    }

    /// Returns the gate that opens when a thread is cancelled, if it was.
    fn cancellation(&self, thread: u32) -> Option<GateId> {
        let thread = ThreadId(thread);
        let gate = self.gate_of(Opener::Cancellation(thread));
        self.cancelled.contains(&thread).then_some(gate)
    }

    /// Waits for the thread's cancellation where one was recorded, for nothing otherwise.
    pub fn until_cancelled(&self, thread: u32) -> Action {
        self.cancellation(thread)
            .map_or(Action::Pass, Action::Await)
    }

    fn gate_of(&self, opener: Opener) -> GateId {
        GateId::of(opener, self.trace.threads.len())
    }

    pub fn set_open(&mut self, operation: OpRef, kind: OpenKind) {
        self.open[operation.thread as usize] = Some(Open { operation, kind });
    }

    /// Remembers the thread's last operation as open where its explicit return follows, so that the return closes it.
    fn open_if_blocked(&mut self, index: usize, thread: u32, kind: OpenKind) {
        if self.return_of(index).is_some() {
            let last = self.lists[thread as usize].len() as u32 - 1;
            self.set_open(
                OpRef {
                    thread,
                    index: last,
                },
                kind,
            );
        }
    }
}
