//! Lowers the events of condition variables whose structure is known, and those of polling.

use foretrace_trace::{Call, ObjectId, Operation as Op};

use crate::{
    Action, GateId, Opener, Operation,
    lower::Lowering,
    matching::{Edge, OpRef},
    structure::{Gift, Need, Role},
};

impl Lowering<'_> {
    /// Lowers an event that is part of a structure; returns whether it is one.
    pub fn plays_a_role(&mut self, index: usize, thread: u32, call: Call) -> bool {
        let Some(role) = self.roles.take(index as u32) else {
            return false;
        };
        if role == Role::LookAgain && self.trace.recording.is_some() {
            self.looked[thread as usize] += self.work.left();
            return true;
        }
        let looked = std::mem::take(&mut self.looked[thread as usize]);
        if looked > 0 {
            // How often it looks depends on how long it waits, and on other CPUs what it waits for comes meanwhile.
            self.push_with_work(index, thread, Action::Linger, looked);
        }
        match role {
            Role::Nothing | Role::LookAgain => self.carried[thread as usize] += self.work.left(),
            Role::TakeFirst(needs) => {
                self.take(index, thread, &needs, false);
                self.call(index, call);
            }
            Role::TakeAndLock { needs, mutex } => {
                // What it took to sleep is no work before that, and is over for the most part when it has the mutex.
                let slept = self.trace.recording.is_some() && call.operation == Op::Return;
                let in_wait = if slept { self.work.take(index) } else { 0 };
                self.take(index, thread, &needs, true);
                self.push_rouse(index, thread, mutex, in_wait);
                self.log_taken(thread);
                self.push(index, thread, Action::Lock(mutex));
                // As with any wait, getting the mutex back adds no edge.
                self.logs[mutex.index()].mutex().reacquire(thread, 1);
            }
            Role::After { gifts, needs } => {
                self.call(index, call);
                for gift in gifts {
                    self.give(index, thread, gift);
                }
                self.take(index, thread, &needs, false);
                self.log_taken(thread);
            }
            Role::GiveUp { mutex, gifts } => {
                self.give_up(index, thread, mutex);
                for gift in gifts {
                    self.give(index, thread, gift);
                }
            }
            Role::Arrive { barrier, mutex } => {
                self.give_up(index, thread, mutex);
                self.give(index, thread, Gift::Arrival(barrier));
            }
            Role::Give(gift) => self.give(index, thread, gift),
            // In a listing by hand no time goes on that.
            Role::Wake(_) if self.trace.recording.is_none() => {
                self.carried[thread as usize] += self.work.left();
            }
            Role::Wake(object) => self.rouse(index, thread, object),
            Role::RepeatUntil(end) => {
                self.call(index, call);
                self.resumes_at[thread as usize] = end;
            }
            Role::LookUntil(end) => {
                self.carried[thread as usize] += self.work.left();
                self.resumes_at[thread as usize] = end;
            }
            Role::Looked(mutex) => {
                let poll = self.push(index, thread, Action::Poll(mutex));
                self.set_waited(poll, true);
            }
            Role::Switch(light) => {
                self.call(index, call);
                self.by_lightswitch(thread, light);
            }
        }
        true
    }

    /// The token or mutex that a thread has just taken or given is a lightswitch's. What it waited for in the recording, or let go on, stays.
    fn by_lightswitch(&mut self, thread: u32, light: ObjectId) {
        let list = &mut self.lists[thread as usize];
        let at = list.len() as u32 - 1;
        match list.get(at).action {
            Action::TakeToken(_) | Action::Lock(_) => {
                list.set_action(at, Action::TakeToken(light));
            }
            Action::GiveToken(_) | Action::Unlock(_) => {
                list.set_action(at, Action::GiveToken(light));
            }
            _ => {}
        }
    }

    fn give_up(&mut self, index: usize, thread: u32, mutex: ObjectId) {
        let release = self.push(index, thread, Action::Unlock(mutex));
        let log = self.logs[mutex.index()].mutex();
        log.give_up(release, &mut self.edges);
    }

    fn take(&mut self, index: usize, thread: u32, needs: &[Need], waited: bool) {
        for &need in needs {
            match need {
                Need::Tokens(semaphore, count) => {
                    for _ in 0..count {
                        let token = self.push(index, thread, Action::TakeToken(semaphore));
                        self.set_waited(token, waited);
                        self.taking[thread as usize].push((semaphore, token));
                    }
                }
                Need::NoToken(semaphore) => {
                    let look = self.push(index, thread, Action::FindNone(semaphore));
                    self.set_waited(look, waited);
                }
                Need::Read(lock) | Need::Write(lock) => {
                    let action = match need {
                        Need::Read(_) => Action::ReadLock(lock),
                        _ => Action::WriteLock(lock),
                    };
                    let hold = self.push(index, thread, action);
                    self.set_waited(hold, waited);
                    self.taking[thread as usize].push((lock, hold));
                }
                Need::Gate(cond) => {
                    let gate = self.gate_of_structure(cond);
                    let pass = self.push(index, thread, Action::Await(gate));
                    self.set_waited(pass, waited);
                }
                Need::All(barrier) => {
                    let arrival = self.push(index, thread, Action::Barrier(barrier));
                    self.set_waited(arrival, waited);
                }
                Need::Looked(mutex) => {
                    let poll = self.push(index, thread, Action::Poll(mutex));
                    self.set_waited(poll, true);
                }
                Need::Light(light) => {
                    self.push(index, thread, Action::TakeToken(light));
                }
                Need::Section(mutex, release) => {
                    let poll = self.push(index, thread, Action::Poll(mutex));
                    // Whoever polls does not go to sleep.
                    self.set_waited(poll, true);
                    self.polls.push((poll, release));
                }
                Need::Step(mutex, release) => {
                    let wait = self.push(index, thread, Action::AwaitWake(mutex));
                    self.set_waited(wait, waited);
                    self.polls.push((wait, release));
                }
            }
        }
    }

    /// Logs the tokens, and the lock, of a section whose mutex is held by now.
    pub fn log_taken(&mut self, thread: u32) {
        if self.taking[thread as usize].is_empty() {
            return;
        }
        let mut taken = std::mem::take(&mut self.taking[thread as usize]);
        for (object, at) in taken.drain(..) {
            let log = &mut self.logs[object.index()];
            match self.lists[at.thread as usize].get(at.index).action {
                Action::ReadLock(_) => log.rwlock().read(at, &mut self.edges),
                Action::WriteLock(_) => log.rwlock().write(at, &mut self.edges),
                _ => log.semaphore().grant(at),
            }
        }
        self.taking[thread as usize] = taken;
    }

    fn give(&mut self, index: usize, thread: u32, gift: Gift) {
        match gift {
            Gift::Tokens(semaphore, count) => {
                for _ in 0..count {
                    let token = self.push(index, thread, Action::GiveToken(semaphore));
                    self.logs[semaphore.index()].semaphore().post(token);
                }
            }
            Gift::Lock(lock) => {
                let release = self.push(index, thread, Action::RwUnlock(lock));
                self.logs[lock.index()].rwlock().unlock(release);
            }
            Gift::Gate(cond) => {
                let gate = self.gate_of_structure(cond);
                self.push(index, thread, Action::Open(gate));
            }
            Gift::Arrival(barrier) => {
                self.push(index, thread, Action::Barrier(barrier));
            }
            Gift::Light(light) => {
                self.push(index, thread, Action::GiveToken(light));
            }
            Gift::Section(mutex) => {
                let end = self.push(index, thread, Action::Wake(mutex));
                self.section_ends.insert(index as u32, end);
            }
        }
    }

    /// Lets each thread that polls wait for the section that it waited for, which may have ended after its last look began.
    pub fn match_polls(&mut self) {
        for (poll, release) in std::mem::take(&mut self.polls) {
            match self.section_ends.get(&release) {
                Some(&release) => self.edges.push(Edge {
                    acquire: poll,
                    release,
                }),
                None => self.set_action(poll, Action::Pass),
            }
        }
    }

    fn gate_of_structure(&self, cond: ObjectId) -> GateId {
        GateId::of(Opener::Once(cond), self.trace.threads.len())
    }

    pub fn set_waited(&mut self, at: OpRef, waited: bool) {
        let list = &mut self.lists[at.thread as usize];
        let operation = list.get(at.index);
        list.set(
            at.index,
            Operation {
                waited,
                ..operation
            },
        );
    }
}
