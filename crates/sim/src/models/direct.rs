//! The Direct model: one list per thread, and objects that serve whoever comes first in simulated time.
//!
//! # Source
//!
//! VPPB, section 2.

use std::collections::BTreeMap;

use foretrace_program::{Action, Program, Queue};
use foretrace_schedule::WaitKind;
use foretrace_trace::{ObjectId, ObjectKind, ThreadId};

use super::{
    Model, common_culprit,
    order::{self, Order},
};
use crate::{
    Costs, Handover, Machine,
    core::{Cause, Core, Flow, Locking, Status},
    objects::{Broadcaster, Condition, First, Lightswitch, Mailbox, Mutex, Rwlock, Semaphore},
};

/// The state of every object.
pub(crate) struct Direct {
    /// That of the mutexes, with a place for every object.
    mutexes: Vec<Mutex>,
    /// That of the others.
    objects: Vec<Object>,
    mailboxes: Vec<Mailbox>,
    handover: Handover,
    /// The CPU time of getting a mutex from another CPU, in picoseconds.
    transfer: u64,
    /// Whether it takes threads time to ask the kernel to let them wait for a mutex.
    asks: bool,
    /// The CPU time of asking the kernel to wake one that waits where none does, in picoseconds.
    wakes_nobody: u64,
    /// The mutex that a thread, let go on from a condition variable, has to acquire again before it goes on; or what it gave up while it waited.
    regaining: Vec<Option<ObjectId>>,
    /// What a thread gave up for as long as it waits for something else.
    given_up: Vec<Option<ObjectId>>,
    /// Whether any does so.
    any_asides: bool,
    /// Whether tokens of semaphores that threads waited for when nobody could go on may be lent.
    lends: BTreeMap<ObjectId, bool>,
    /// The queues of pools: a token is a task.
    queues: Vec<ObjectId>,
    /// The mutex that a condition variable is used with.
    mutex_of_condition: Vec<Option<ObjectId>>,
    /// Who wakes whom, where the program uses futexes.
    wakes: Option<Order>,
    /// Who waits so, by its operation: of a pool, any worker may.
    awaiting: BTreeMap<u32, u32>,
    /// Whether any thread looked at memory until a mutex was free.
    any_spins: bool,
}

enum Object {
    Condition(Condition),
    Semaphore(Semaphore),
    Rwlock(Rwlock),
    Lightswitch(Lightswitch),
    /// A mutex, or one whose state is the engine's or nobody's.
    Other,
}

impl Model for Direct {
    fn new(program: &Program, machine: &Machine) -> Self {
        let ids = (0..).map(ObjectId::from_index);
        let objects = program
            .objects
            .iter()
            .zip(ids)
            .map(|(object, id)| match object.kind {
                _ if program.lightswitches.contains_key(&id) => {
                    Object::Lightswitch(Lightswitch::of(program.lightswitches[&id]))
                }
                ObjectKind::Cond => Object::Condition(Condition::default()),
                ObjectKind::Semaphore | ObjectKind::Queue | ObjectKind::Pipe => {
                    Object::Semaphore(Semaphore::with_tokens(object.initial.unwrap_or(0)))
                }
                ObjectKind::Rwlock => {
                    let prefers_writers = object.initial == Some(1);
                    let first = match machine.handover {
                        Handover::Barging if prefers_writers => First::Writers,
                        Handover::Barging => First::Readers,
                        Handover::FirstCome => First::Oldest,
                    };
                    Object::Rwlock(Rwlock::new(first))
                }
                ObjectKind::Mutex
                | ObjectKind::Spin
                | ObjectKind::Event
                | ObjectKind::Barrier
                | ObjectKind::Once
                | ObjectKind::Futex
                | ObjectKind::Doacross => Object::Other,
            });
        let mut mutex_of_condition = vec![None; program.objects.len()];
        let operations = &program.operations;
        let pairs = if operations.has_pairs() {
            operations.len()
        } else {
            0
        };
        for operation in 0..pairs as u32 {
            if let Action::CondWait { cond, mutex } = operations.action(operation) {
                mutex_of_condition[cond.index()] = Some(mutex);
            }
        }
        let costs = if machine.cpus > 1 {
            machine.costs
        } else {
            Costs::NONE
        };
        Self {
            wakes: operations.wakes().then(|| Order::new(program)),
            awaiting: BTreeMap::new(),
            any_spins: false,
            mutexes: program
                .objects
                .iter()
                .zip((0..).map(ObjectId::from_index))
                .map(|(object, id)| {
                    // On one CPU, trying takes as long as recorded.
                    let is_tried = machine.cpus > 1 && program.tried.contains(&id);
                    let is_spun = object.kind == ObjectKind::Spin || is_tried;
                    Mutex::new(is_spun, is_tried || object.keeps_cpus())
                })
                .collect(),
            objects: objects.collect(),
            handover: machine.handover,
            transfer: costs.lock_transfer.0,
            asks: costs.call_cost.0 > 0,
            wakes_nobody: costs.wakes_nobody().0,
            regaining: vec![None; program.threads.len()],
            given_up: vec![None; program.threads.len()],
            any_asides: machine.handover == Handover::Barging && !program.asides.is_empty(),
            lends: BTreeMap::new(),
            queues: queues(program),
            mailboxes: vec![Mailbox::default(); program.threads.len()],
            mutex_of_condition,
        }
    }

    #[inline(always)]
    fn perform(&mut self, core: &mut Core<'_>, thread: u32) -> Flow {
        if let Some(mutex) = self.regaining[thread as usize] {
            return self.try_to_regain(core, thread, mutex);
        }
        let state = &mut core.threads[thread as usize];
        let Some((id, locks)) = state.mutex_use.get() else {
            return self.perform_any(core, thread);
        };
        let mutex = &mut self.mutexes[id.index()];
        let wakes_nobody = mutex.call_cost(locks, self.wakes_nobody);
        // As mostly: it is free, or nobody waits for it.
        if mutex.pass(thread, locks, state.locking) {
            state.locking = Locking::First;
            core.paid_next = wakes_nobody + mutex.come_to(state.cpu, self.transfer);
            return Flow::Next;
        }
        if !locks {
            return self.unlock(core, thread, id);
        }
        if state.locking == Locking::Asking && !mutex.lets_wait() {
            state.locking = Locking::Again;
            return Flow::Back;
        }
        self.lock(core, thread, id)
    }

    /// A token that was given went to a thread that took a later one in the recording. Whoever took it there may have to go on before others are given.
    fn lend(&mut self, core: &Core<'_>, thread: u32) -> bool {
        let Action::TakeToken(id) = core.action(thread) else {
            return false;
        };
        let program = core.program;
        if program.lightswitches.contains_key(&id) {
            return false;
        }
        let lends = self.lends.entry(id);
        let lends = *lends.or_insert_with(|| goes_one_way(program, id));
        lends && has_happened(core, thread, None) && self.semaphore(id).lend(thread)
    }

    fn culprit(&self, core: &Core<'_>, thread: u32) -> Option<u32> {
        let object = |id: ObjectId| &self.objects[id.index()];
        match core.action(thread) {
            Action::Lock(id) => self.mutexes[id.index()].holder(),
            Action::ReadLock(id) | Action::WriteLock(id) => match object(id) {
                Object::Rwlock(rwlock) => rwlock.writer(),
                _ => None,
            },
            _ => common_culprit(core, thread),
        }
    }
}

/// Returns the queues of a recording's pools. A listing by hand is replayed as it stands.
fn queues(program: &Program) -> Vec<ObjectId> {
    let queues = program.pools.iter().filter_map(|pool| match pool.queue {
        Queue::Tokens(semaphore) => Some(semaphore),
        Queue::Mutexes(_) => None,
    });
    queues.filter(|_| program.recorded).collect()
}

/// Returns whether no thread takes tokens of a semaphore and gives some, as where a token is a lock.
fn goes_one_way(program: &Program, semaphore: ObjectId) -> bool {
    program.threads.iter().all(|thread| {
        let (mut takes, mut gives) = (false, false);
        for position in thread.operations.clone() {
            let action = program.operations.action(position);
            takes |= action == Action::TakeToken(semaphore);
            gives |= action == Action::GiveToken(semaphore);
        }
        !(takes && gives)
    })
}

/// Returns whether what a thread waited for in its current operation in the recording has happened, also if that is what happens now.
fn has_happened(core: &Core<'_>, thread: u32, now: Option<u32>) -> bool {
    let position = core.threads[thread as usize].position;
    let mut needed = core.program.requirements_of(position).iter();
    needed.all(|&release| {
        let other = &core.threads[order::thread_of(core.program, release) as usize];
        now == Some(release) || other.status == Status::Ended || other.position > release
    })
}

impl Direct {
    fn perform_any(&mut self, core: &mut Core<'_>, thread: u32) -> Flow {
        match core.action(thread) {
            Action::Lock(id) => self.lock(core, thread, id),
            Action::Unlock(id) => self.unlock(core, thread, id),
            Action::TakeToken(id) => {
                if let Object::Lightswitch(light) = &mut self.objects[id.index()] {
                    return match light.come_too() {
                        Some(room) => self.come_first(core, thread, (id, room)),
                        None => Flow::Next,
                    };
                }
                if self.queues.contains(&id) {
                    return self.take_task(core, thread, id);
                }
                if core.program.helpers.contains(&(id, ThreadId(thread))) {
                    self.semaphore(id).take_now();
                    return Flow::Next;
                }
                let taken = self.semaphore(id).take(thread);
                if self.any_asides {
                    return self.take_without(core, thread, (id, taken));
                }
                next_or_block(taken, WaitKind::Semaphore, id)
            }
            Action::GiveToken(id) => match &mut self.objects[id.index()] {
                Object::Lightswitch(light) => match light.go() {
                    Some(room) => self.go_last(core, thread, room),
                    None => Flow::Next,
                },
                _ => self.give(core, thread, id),
            },
            Action::AwaitWake(id) | Action::Poll(id) => {
                let operation = core.threads[thread as usize].position;
                let woken = self.wakes.as_ref();
                let woken = woken.is_none_or(|wakes| wakes.is_satisfied(core.program, operation));
                if woken {
                    return Flow::Next;
                }
                self.awaiting.insert(operation, thread);
                if core.waits_by_looking(thread, false) {
                    return Flow::look(WaitKind::Semaphore, Some(id.0));
                }
                Flow::block(WaitKind::Semaphore, Some(id.0))
            }
            Action::Wake(_) => self.wake_recorded(core, thread),
            Action::ReadLock(id) => {
                let granted = self.rwlock(id).read(thread);
                next_or_block(granted, WaitKind::Rwlock, id)
            }
            Action::WriteLock(id) => {
                let granted = self.rwlock(id).write(thread);
                next_or_block(granted, WaitKind::Rwlock, id)
            }
            Action::RwUnlock(id) => {
                let granted = self.rwlock(id).release();
                wake_all(core, thread, granted)
            }
            Action::CondWait { cond, mutex } => self.wait(core, thread, cond, mutex),
            Action::Signal(cond) => self.signal(core, thread, cond),
            Action::Broadcast { cond, woken } => self.broadcast(core, thread, cond, woken),
            Action::Send { to, event } => {
                let accepted = self.mailboxes[to.index()].send(thread, event);
                if accepted {
                    core.wake(to.0, thread);
                }
                next_or_block(accepted, WaitKind::Send, event)
            }
            Action::Wait(event) => {
                let activator = self.mailboxes[thread as usize].wait(event);
                if let Some(activator) = activator {
                    core.wake(activator, thread);
                }
                next_or_block(activator.is_some(), WaitKind::Wait, event)
            }
            action => core.perform(thread, action),
        }
    }

    /// A thread is the first that has a lightswitch, as soon as it has the token or the mutex.
    fn come_first(
        &mut self,
        core: &mut Core<'_>,
        thread: u32,
        (light, room): (ObjectId, ObjectId),
    ) -> Flow {
        let flow = self.take_or_lock(core, thread, room);
        // Whoever is handed it does not come here again.
        if (flow == Flow::Next || self.handover == Handover::FirstCome)
            && let Object::Lightswitch(light) = &mut self.objects[light.index()]
        {
            light.come();
        }
        flow
    }

    /// The last thread that has a lightswitch gives its token or mutex up.
    fn go_last(&mut self, core: &mut Core<'_>, thread: u32, room: ObjectId) -> Flow {
        if matches!(self.objects[room.index()], Object::Semaphore(_)) {
            self.give(core, thread, room)
        } else {
            self.unlock(core, thread, room)
        }
    }

    /// Takes a token, or a mutex.
    fn take_or_lock(&mut self, core: &mut Core<'_>, thread: u32, id: ObjectId) -> Flow {
        if matches!(self.objects[id.index()], Object::Semaphore(_)) {
            let taken = self.semaphore(id).take(thread);
            next_or_block(taken, WaitKind::Semaphore, id)
        } else {
            self.lock(core, thread, id)
        }
    }

    /// The thread comes to a queue of tasks: each has its own.
    fn take_task(&mut self, core: &mut Core<'_>, thread: u32, id: ObjectId) -> Flow {
        let helps = core.program.helpers.contains(&(id, ThreadId(thread)));
        if helps || has_happened(core, thread, None) {
            return Flow::Next;
        }
        self.semaphore(id).wait(thread);
        Flow::block(WaitKind::Semaphore, Some(id.0))
    }

    fn give(&mut self, core: &mut Core<'_>, thread: u32, id: ObjectId) -> Flow {
        if self.queues.contains(&id) {
            let give = core.threads[thread as usize].position;
            let let_go = self
                .semaphore(id)
                .take_out(|waiter| has_happened(core, waiter, Some(give)));
            for waiter in let_go {
                core.wake(waiter, thread);
            }
            return Flow::Next;
        }
        if self.handover == Handover::Barging {
            if let Some(next) = self.semaphore(id).offer() {
                core.retry(next, thread);
            }
            return Flow::Next;
        }
        let next = self.semaphore(id).give();
        wake_all(core, thread, next)
    }

    /// A thread took a token, or waits for it: what it only tried to get it waits for without the one that others may need meanwhile, and takes that
    /// again before it goes on.
    fn take_without(
        &mut self,
        core: &mut Core<'_>,
        thread: u32,
        (id, is_there): (ObjectId, bool),
    ) -> Flow {
        let position = core.threads[thread as usize].position;
        let given_up = self.given_up[thread as usize].take();
        match (is_there, core.program.asides.get(&position)) {
            (true, _) => {
                self.regaining[thread as usize] = given_up;
                match given_up {
                    Some(token) => self.try_to_regain(core, thread, token),
                    None => Flow::Next,
                }
            }
            (false, Some(&token)) => {
                if given_up.is_none() {
                    self.give(core, thread, token);
                }
                self.given_up[thread as usize] = Some(token);
                Flow::block(WaitKind::Semaphore, Some(id.0))
            }
            (false, None) => Flow::block(WaitKind::Semaphore, Some(id.0)),
        }
    }

    fn lock(&mut self, core: &mut Core<'_>, thread: u32, id: ObjectId) -> Flow {
        let keeps_cpus = self.mutex(id).keeps_cpus();
        if self.handover == Handover::Barging && core.waits_by_looking(thread, keeps_cpus) {
            return self.spin(core, thread, id);
        }
        let asks = self.asks && !core.has_waited(thread);
        let sleeps = self.handover == Handover::Barging;
        let transfer = self.transfer;
        let state = &mut core.threads[thread as usize];
        let mutex = self.mutex(id);
        let sleeps = sleeps && !mutex.is_spun();
        let again = if sleeps {
            Locking::Again
        } else {
            Locking::First
        };
        let before = std::mem::replace(&mut state.locking, again);
        if before == Locking::Asking && !mutex.lets_wait() {
            return Flow::Back;
        }
        if before != Locking::Asking {
            if mutex.take(thread, before == Locking::Again) {
                state.locking = Locking::First;
                core.paid_next = mutex.come_to(state.cpu, transfer);
                return Flow::Next;
            }
            if asks && sleeps {
                state.locking = Locking::Asking;
                mutex.ask();
                return Flow::Ask(Cause::of(id.0));
            }
        }
        mutex.queue(thread);
        if self.regaining[thread as usize].is_none()
            && let Some(first) = self.first_of_pair(core, thread)
        {
            self.give_up(core, thread, first);
            self.wait_without_other(thread, (id, first));
        }
        Flow::block(WaitKind::Lock, Some(id.0))
    }

    /// Returns the mutex that a thread has just locked, where it needs another with it, which it only tried to lock in the recording.
    fn first_of_pair(&self, core: &Core<'_>, thread: u32) -> Option<ObjectId> {
        let position = core.threads[thread as usize].position;
        let is_pair = self.handover == Handover::Barging && core.program.pairs.contains(position);
        match core.program.operations.action(position.checked_sub(1)?) {
            Action::Lock(first) if is_pair => Some(first),
            _ => None,
        }
    }

    /// A thread that needs two mutexes waits for one, and does not have the other meanwhile.
    fn wait_without_other(&mut self, thread: u32, (wanted, other): (ObjectId, ObjectId)) {
        self.regaining[thread as usize] = Some(wanted);
        self.given_up[thread as usize] = Some(other);
    }

    /// A thread that needs two mutexes has got one that it waited for, and takes the other, too, or waits for that without the first.
    fn lock_other(
        &mut self,
        core: &mut Core<'_>,
        thread: u32,
        (has, other): (ObjectId, ObjectId),
    ) -> Flow {
        self.wait_without_other(thread, (other, has));
        let flow = self.lock(core, thread, other);
        if flow == Flow::Next {
            self.regaining[thread as usize] = None;
            self.given_up[thread as usize] = None;
        } else {
            self.give_up(core, thread, has);
        }
        flow
    }

    /// Takes a mutex for a thread that looks at memory, on its CPU, until it is free.
    fn spin(&mut self, core: &mut Core<'_>, thread: u32, id: ObjectId) -> Flow {
        let cpu = core.threads[thread as usize].cpu;
        let transfer = self.transfer;
        let mutex = self.mutex(id);
        if mutex.take(thread, false) {
            core.paid_next = mutex.come_to(cpu, transfer);
            return Flow::Next;
        }
        mutex.queue_awake(thread);
        self.any_spins = true;
        Flow::look(WaitKind::Lock, Some(id.0))
    }

    fn unlock(&mut self, core: &mut Core<'_>, thread: u32, id: ObjectId) -> Flow {
        if self.give_up(core, thread, id) {
            core.paid_next += self.wakes_nobody;
        }
        Flow::Next
    }

    /// Hands a mutex over, or lets whoever comes first have it: of those that sleep one is woken, and whoever is about to finds out by itself.
    /// Returns whether the kernel is asked to wake one, and there is none.
    fn give_up(&mut self, core: &mut Core<'_>, by: u32, id: ObjectId) -> bool {
        let barging = self.handover == Handover::Barging;
        let mutex = self.mutex(id);
        if !barging {
            let next = mutex.release();
            wake_all(core, by, next);
            return false;
        }
        let calls = mutex.offer();
        if self.any_spins {
            // All that look see that it is free, and one comes first.
            let looking = self
                .mutex(id)
                .take_if(|thread| core.threads[thread as usize].looks);
            for thread in looking {
                core.retry(thread, by);
            }
        }
        let first = self.mutex(id).take_first();
        if let Some(first) = first {
            core.retry(first, by);
        }
        calls && first.is_none()
    }

    /// Wakes those that wait for this wake-up; the others need not wait any more.
    fn wake_recorded(&mut self, core: &mut Core<'_>, thread: u32) -> Flow {
        let operation = core.threads[thread as usize].position;
        if let Some(wakes) = &mut self.wakes {
            wakes.release(core.program, operation, |_, wait| {
                if let Some(waiter) = self.awaiting.remove(&wait) {
                    core.wake(waiter, thread);
                }
            });
        }
        Flow::Next
    }

    /// Releases the mutex, and waits unless a signal is there; may complete the broadcast that is first in line.
    fn wait(&mut self, core: &mut Core<'_>, thread: u32, cond: ObjectId, mutex: ObjectId) -> Flow {
        self.give_up(core, thread, mutex);
        if self.condition(cond).wait(thread, mutex) {
            let free = self.mutex(mutex).acquire(thread);
            if !free && self.handover == Handover::Barging {
                self.regaining[thread as usize] = Some(mutex);
            }
            return next_or_block(free, WaitKind::Lock, mutex);
        }
        if let Some((broadcaster, woken)) = self.condition(cond).met_broadcast() {
            match broadcaster.mutex {
                Some(given_up) => self.regain(core, thread, broadcaster.thread, given_up),
                None => core.wake(broadcaster.thread, thread),
            }
            self.regain_all(core, broadcaster.thread, woken);
        }
        Flow::block(WaitKind::Condition, Some(cond.0))
    }

    fn signal(&mut self, core: &mut Core<'_>, thread: u32, cond: ObjectId) -> Flow {
        let woken = self.condition(cond).signal();
        self.regain_all(core, thread, woken);
        Flow::Next
    }

    /// Wakes as many as the recording did. Where too few wait yet, the broadcaster waits for them, giving up the
    /// mutex meanwhile: in the recording they had come before it.
    fn broadcast(&mut self, core: &mut Core<'_>, thread: u32, cond: ObjectId, count: u32) -> Flow {
        if let Some(woken) = self.condition(cond).broadcast(count) {
            self.regain_all(core, thread, woken);
            return Flow::Next;
        }
        let held = self.mutex_of_condition[cond.index()]
            .filter(|&mutex| self.mutex(mutex).holder() == Some(thread));
        if let Some(mutex) = held {
            self.give_up(core, thread, mutex);
        }
        self.condition(cond).queue_broadcast(Broadcaster {
            thread,
            woken: count,
            mutex: held,
        });
        Flow::block(WaitKind::Condition, Some(cond.0))
    }

    fn regain_all(
        &mut self,
        core: &mut Core<'_>,
        by: u32,
        woken: impl IntoIterator<Item = (u32, ObjectId)>,
    ) {
        for (thread, mutex) in woken {
            self.regain(core, by, thread, mutex);
        }
    }

    /// Lets a woken thread acquire its mutex again; it goes on when it has it.
    fn regain(&mut self, core: &mut Core<'_>, by: u32, thread: u32, mutex: ObjectId) {
        if self.handover == Handover::Barging {
            // It finds out itself whether it gets the mutex, when it runs.
            self.regaining[thread as usize] = Some(mutex);
            core.retry(thread, by);
            return;
        }
        if self.mutex(mutex).acquire(thread) {
            core.wake(thread, by);
        }
    }

    fn try_to_regain(&mut self, core: &mut Core<'_>, thread: u32, id: ObjectId) -> Flow {
        let flow = self.take_or_lock(core, thread, id);
        if flow != Flow::Next {
            return flow;
        }
        self.regaining[thread as usize] = None;
        match self.given_up[thread as usize].take() {
            Some(other) => self.lock_other(core, thread, (id, other)),
            None => flow,
        }
    }

    fn mutex(&mut self, id: ObjectId) -> &mut Mutex {
        &mut self.mutexes[id.index()]
    }

    fn condition(&mut self, id: ObjectId) -> &mut Condition {
        match &mut self.objects[id.index()] {
            Object::Condition(condition) => condition,
            _ => unreachable!("a program signals conditions only"),
        }
    }

    fn semaphore(&mut self, id: ObjectId) -> &mut Semaphore {
        match &mut self.objects[id.index()] {
            Object::Semaphore(semaphore) => semaphore,
            _ => unreachable!("a program posts semaphores only"),
        }
    }

    fn rwlock(&mut self, id: ObjectId) -> &mut Rwlock {
        match &mut self.objects[id.index()] {
            Object::Rwlock(rwlock) => rwlock,
            _ => unreachable!("a program read-locks readers-writer locks only"),
        }
    }
}

fn next_or_block(done: bool, kind: WaitKind, object: ObjectId) -> Flow {
    if done {
        Flow::Next
    } else {
        Flow::block(kind, Some(object.0))
    }
}

fn wake_all(core: &mut Core<'_>, by: u32, threads: impl IntoIterator<Item = u32>) -> Flow {
    for thread in threads {
        core.wake(thread, by);
    }
    Flow::Next
}
