//! The engine: advances time, lets threads work and do their operations, shares out the CPUs.
//!
//! At one instant, among the threads that hold a CPU and have no work left, the highest priority does one operation;
//! then the CPUs are shared out anew; and so on until all have work or none is left. Then time moves on to the next
//! instant at which a thread's work is done, a slice ends, or a delay is over.
//!
//! # Source
//!
//! The execution rules of VPPB's figures, as `docs/models.md` states them.

mod ahead;
mod alarms;
mod leads;
mod looks;
mod slices;
mod stuck;
mod turns;

use std::{cmp::Reverse, collections::BinaryHeap};

use foretrace_program::Program;
use foretrace_schedule::{SimTime, State, WaitKind};

use self::looks::Seen;
use self::{
    alarms::{Alarm, Alarms},
    leads::Lead,
};
use crate::{
    Machine, SchedulerKind,
    admission::Admission,
    chance::{self, Chance},
    core::{Cause, Core, Flow, Locking, NOBODY, Status},
    models::Model,
    observer::Observer,
    processors::Processors,
    scheme::Overruled,
    speed::Speeds,
};

/// A simulation under way.
pub(crate) struct Engine<'p, M, O> {
    pub core: Core<'p>,
    pub model: M,
    pub observer: O,
    processors: Processors,
    machine: Machine,
    speeds: Speeds,
    /// Who may run, where only so many threads of a process may at once.
    admission: Option<Admission>,
    /// The thread that ran last on each CPU, where it costs something to run another or elsewhere.
    ran_last: Vec<u32>,
    /// The thread that does operations now, and its turn.
    operating: (u32, u32),
    /// When a running thread's work is done or its slice ends, or a delay is over.
    alarms: Alarms,
    /// Threads that hold a CPU and have no work left: by priority, or by who was there first.
    due: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Counts alarms and dues, to break ties by order.
    count: u64,
    /// What breaks them instead, where there is a seed.
    chance: Option<Chance>,
    /// The least that a ready thread of each CPU's queue ran, as the fair scheduler counts it; where there is one queue for all, of that.
    least_ran: Vec<u64>,
    /// How far each thread was ahead of others when it went to sleep.
    leads: Vec<Lead>,
    /// Until when each CPU was idle last, in picoseconds.
    idle_until: Vec<u64>,
    /// Whether threads that wake may take CPUs from others.
    hurries: bool,
    /// Whether it costs something to sleep for a mutex that is offered to whoever comes first.
    offers_cost: bool,
    /// Threads that woke and found no idle CPU.
    hurrying: Vec<u32>,
    /// How many slices have ended, since that was last looked into, at which nothing happened.
    slices_alone: u32,
    /// When each thread last lost its CPU, where caches have to be filled again after that, or CPUs that are idle ask for it.
    left_at: Vec<u64>,
    /// When each CPU was last given back.
    vacated: Vec<u64>,
    /// How many threads the current operation let go on that have to come to another CPU.
    called: u64,
    /// Whether all that is left are threads that look at memory for what will not come.
    is_stuck: bool,
    /// Waits that are over as the recording says so alone.
    pub overruled: Vec<Overruled>,
}

/// Returns who ran last on each CPU: nobody, and no list where it does not matter.
fn ran_last(machine: &Machine) -> Vec<u32> {
    let costs = &machine.costs;
    let matters = [costs.switch_cost, costs.migration, costs.socket_migration]
        .iter()
        .any(|cost| cost.0 > 0)
        || machine.memory.refill.0 > 0;
    vec![NOBODY; if matters { machine.cpus as usize } else { 0 }]
}

/// What came of an alarm.
enum Rung {
    /// Nothing that others would notice.
    Nothing,
    /// This thread can do its operation.
    Due(u32),
    /// The CPUs must be shared out anew.
    Changed,
}

/// Stands for a time that does not come.
const NEVER: u64 = u64::MAX;

impl<'p, M: Model, O: Observer> Engine<'p, M, O> {
    pub fn new(program: &'p Program, machine: &Machine, observer: O) -> Self {
        let processors = Processors::new(program, machine);
        Self {
            core: Core::new(program, machine),
            model: M::new(program, machine),
            observer,
            machine: machine.clone(),
            speeds: Speeds::new(program, machine),
            admission: machine
                .runnable_limit
                .map(|limit| Admission::new(limit, program)),
            ran_last: ran_last(machine),
            operating: (NOBODY, 0),
            alarms: Alarms::new(machine.cpus),
            due: BinaryHeap::new(),
            count: 0,
            chance: machine.seed.map(Chance::new),
            least_ran: vec![0; processors.queues()],
            leads: vec![Lead::default(); program.threads.len()],
            idle_until: vec![0; machine.cpus as usize],
            processors,
            hurries: machine.wakeup_preemption && machine.scheduler == SchedulerKind::Fair,
            offers_cost: machine.cpus > 1 && machine.costs.call_cost.0 > 0,
            hurrying: Vec::new(),
            slices_alone: 0,
            left_at: if machine.memory.refill.0 > 0 || machine.idle_balance.0 > 0 {
                vec![0; program.threads.len()]
            } else {
                Vec::new()
            },
            vacated: vec![0; machine.cpus as usize],
            called: 0,
            is_stuck: false,
            overruled: Vec::new(),
        }
    }

    /// Runs until nothing can happen any more.
    pub fn run(&mut self) {
        for (index, thread) in self.core.program.threads.iter().enumerate() {
            if !thread.created {
                self.make_ready(index as u32, NOBODY);
            }
        }
        self.share_out();
        // Those that are there from the beginning run at once; whoever comes later finds the other CPUs idle.
        self.vacated.fill(NEVER);
        loop {
            while let Some(thread) = self.next_due() {
                self.operate(thread);
            }
            if self.is_stuck || self.observer.is_cancelled() {
                return;
            }
            if !self.advance() && !self.goes_on_anyway() {
                return;
            }
        }
    }

    /// Returns the next thread that can do an operation now.
    fn next_due(&mut self) -> Option<u32> {
        while let Some(Reverse((_, thread, turn))) = self.due.pop() {
            let state = &self.core.threads[thread as usize];
            if state.status == Status::Running && state.turn == turn {
                return Some(thread);
            }
        }
        None
    }

    /// Moves time to the next alarm and handles all that ring then. Returns whether there was one.
    fn advance(&mut self) -> bool {
        self.run_ahead();
        if !self.due.is_empty() {
            return true;
        }
        if self.alarms.is_empty() {
            return false;
        }
        let now = self.alarms.next_at();
        self.core.now = now;
        self.processors.begin_instant();
        let mut changed = false;
        while let Some(alarm) = self.alarms.pop_at(now) {
            match self.ring(alarm) {
                Rung::Nothing => {}
                Rung::Changed => changed = true,
                // As mostly, nothing else happens at this instant.
                Rung::Due(thread)
                    if !changed && self.due.is_empty() && self.alarms.next_at() > now =>
                {
                    self.operate(thread);
                    return true;
                }
                Rung::Due(thread) => self.push_due(thread),
            }
        }
        if changed {
            self.share_out();
        }
        true
    }

    /// Handles an alarm.
    #[inline]
    fn ring(&mut self, alarm: Alarm) -> Rung {
        let thread = match alarm {
            Alarm::Cpu(cpu) => self.processors.occupant(cpu),
            Alarm::Tick => {
                // Threads of their own queues come first.
                self.share_out();
                self.balance();
                return Rung::Changed;
            }
            Alarm::Delay(thread) => {
                self.resume(thread, thread);
                return Rung::Changed;
            }
        };
        let Some(thread) = thread else {
            return Rung::Nothing;
        };
        if self.core.threads[thread as usize].status == Status::Waking {
            self.begin_turn(thread);
            self.settle_cores();
            return Rung::Nothing;
        }
        self.account(thread);
        let state = &self.core.threads[thread as usize];
        if state.work_left == 0 {
            return Rung::Due(thread);
        }
        if state.looks && !self.anyone_works() {
            return self.look_in_vain();
        }
        if self.end_slice(thread) {
            Rung::Changed
        } else {
            Rung::Nothing
        }
    }

    /// Does operations of a thread, as long as nothing else can happen before its next.
    fn operate(&mut self, thread: u32) {
        loop {
            self.observer.operation(&self.core, thread);
            let flow = self.model.perform(&mut self.core, thread);
            if !(self.conclude(thread, flow) && self.goes_on(thread)) {
                return;
            }
        }
    }

    /// Does what follows from an operation. Returns whether its thread goes on with the next one, in the same turn.
    #[inline]
    fn conclude(&mut self, thread: u32, flow: Flow) -> bool {
        self.conclude_alone(thread, flow) || self.conclude_for_others(thread, flow)
    }

    /// Does what follows from an operation that lets its thread go on in its turn and is nothing to others. Returns whether it is such a one.
    #[inline(always)]
    fn conclude_alone(&mut self, thread: u32, flow: Flow) -> bool {
        match flow {
            Flow::Next if self.core.is_quiet() => self.core.advance(thread),
            Flow::Ask(cause) => self.ask(thread, cause),
            Flow::Back => self.come_back(thread),
            _ => return false,
        }
        true
    }

    /// Does what follows from an operation that makes its thread wait or lets others go on; returns what [`Self::conclude`] does.
    fn conclude_for_others(&mut self, thread: u32, flow: Flow) -> bool {
        let quiet = self.core.is_quiet();
        match flow {
            Flow::Next => self.core.advance(thread),
            Flow::Block(kind, cause) => self.block(thread, kind, cause),
            Flow::Look(kind, cause) => self.look(thread, kind, cause),
            Flow::End => self.end(thread),
            Flow::Ask(_) | Flow::Back => return true,
        }
        let turn = self.core.threads[thread as usize].turn;
        self.called = 0;
        self.operating = (thread, turn);
        if !quiet {
            self.release_others(thread);
        }
        self.share_out();
        self.operating = (NOBODY, 0);
        if flow == Flow::Next && self.called > 0 {
            let cost = self.called * self.machine.costs.wake_cost.0;
            self.core.threads[thread as usize].work_left += cost;
        }
        // Having lost its CPU and got another, it is seen to already.
        let state = &self.core.threads[thread as usize];
        flow == Flow::Next && state.turn == turn && state.status == Status::Running
    }

    /// Lets a thread that did an operation do its next work. Returns whether that is done already, because nothing
    /// else can happen before: then no alarm is needed.
    #[inline(always)]
    fn goes_on(&mut self, thread: u32) -> bool {
        let slice_end = self.core.threads[thread as usize].slice_end;
        let done = self.core.now.saturating_add(self.time_left(thread));
        if self.due.is_empty() && done < self.alarms.next_at() && done <= slice_end {
            if done > self.core.now {
                self.core.now = done;
                self.processors.begin_instant();
            }
            self.account(thread);
            return true;
        }
        self.arm(thread);
        false
    }

    fn block(&mut self, thread: u32, kind: WaitKind, cause: Cause) {
        self.leave_cpu(thread, Status::Blocked);
        let (event, now) = (self.core.event(thread), self.core.now);
        let blocked = State::Blocked(kind);
        self.observer
            .state(thread, now, blocked, cause.object(), event);
        while let Some((at, thread)) = self.core.delays.pop() {
            let order = self.next_in_order();
            self.alarms.set_delay(thread, at, order);
        }
    }

    fn end(&mut self, thread: u32) {
        self.leave_cpu(thread, Status::Ended);
        self.observer.end(thread, self.core.now);
    }

    #[inline(always)]
    fn leave_cpu(&mut self, thread: u32, status: Status) {
        let state = &mut self.core.threads[thread as usize];
        state.status = status;
        state.since = self.core.now;
        let cpu = state.cpu;
        self.note_lead(thread);
        self.vacate(cpu);
        let (ran, now) = (self.core.threads[thread as usize].ran, self.core.now);
        if let Some(lags) = self.processors.lags() {
            lags.sleep(thread, cpu, ran, now);
        }
        self.processors.set_runnable(thread, false, now);
        if let Some(admission) = &mut self.admission
            && let Some(next) = admission.leave(thread)
        {
            self.enqueue(next);
        }
    }

    #[inline(always)]
    fn vacate(&mut self, cpu: u32) {
        self.note_left(cpu);
        self.vacated[cpu as usize] = self.core.now;
        self.processors.vacate(cpu);
        if self.speeds.shared {
            self.speeds.note(cpu, None);
        }
    }

    /// Makes ready those that an operation woke or created.
    fn release_others(&mut self, by: u32) {
        // By their places, as none of them lets others go on: to take a list away would wait for what was just added to it.
        for place in 0..self.core.born.len() {
            let child = self.core.born[place];
            let ran = self.core.threads[by as usize].ran;
            self.core.threads[child as usize].ran = ran;
            self.observer.wake(by, child, self.core.now);
            if let Some(cpu) = self.processors.queue_of(by) {
                self.processors.set_queue(child, cpu, self.core.now);
            }
            self.make_ready(child, by);
            if self.machine.cpus > 1 {
                self.core.threads[by as usize].work_left += self.machine.costs.create_cost.0;
            }
        }
        self.core.born.clear();
        for place in 0..self.core.woken.len() {
            let (thread, waker) = self.core.woken[place];
            self.resume(thread, waker);
        }
        self.core.woken.clear();
        for place in 0..self.core.retrying.len() {
            let (thread, waker) = self.core.retrying[place];
            self.retry(thread, waker);
        }
        self.core.retrying.clear();
    }

    /// Completes the operation that a thread was blocked in.
    fn resume(&mut self, thread: u32, waker: u32) {
        self.observer.wake(waker, thread, self.core.now);
        if self.core.threads[thread as usize].looks {
            return self.sees(thread, Seen::Done);
        }
        let cost = self.waiting_cost(thread, waker);
        self.core.advance(thread);
        self.core.threads[thread as usize].work_left += cost;
        self.wake(thread, waker);
    }

    /// Lets a thread try the operation that it was blocked in again.
    #[inline(always)]
    fn retry(&mut self, thread: u32, waker: u32) {
        self.observer.wake(waker, thread, self.core.now);
        if self.core.threads[thread as usize].looks {
            return self.sees(thread, Seen::TryAgain);
        }
        let slept = self.core.threads[thread as usize].locking == Locking::Again;
        let cost = if self.offers_cost && slept && !self.core.has_waited(thread) {
            self.offered_cost(thread, waker)
        } else {
            self.waiting_cost(thread, waker)
        };
        self.core.threads[thread as usize].work_left += cost;
        self.wake(thread, waker);
    }

    /// Returns the CPU time of having waited in the current operation, where that is not within the recorded times.
    ///
    /// It takes a thread some time to fall asleep. Until then it is on its CPU, and what it waits for may come: the kernel looks
    /// once more before it lets a thread wait for a futex. Most waits for locks that are held for less are such.
    #[inline(always)]
    fn waiting_cost(&mut self, thread: u32, waker: u32) -> u64 {
        let now = self.core.now;
        let costs = &self.machine.costs;
        let falls_asleep = costs.falls_asleep().0;
        let awake_wait = self.core.awake_wait(thread);
        let state = &mut self.core.threads[thread as usize];
        let stays_awake = awake_wait.map_or(falls_asleep, |wait| wait.limit.max(falls_asleep));
        state.awake = waker != thread && now - state.since < stays_awake;
        if self.machine.cpus == 1 {
            return 0;
        }
        if state.awake {
            return awake_wait.map_or(0, |wait| wait.latency);
        }
        state.slept_at = state.position;
        if self.core.program.operations.waited(state.position) {
            return 0;
        }
        costs.block_cost.0
    }

    /// Returns the CPU time of having slept for a mutex that is offered to whoever comes first, where the recording had no wait. The one that
    /// offers it pays, too.
    ///
    /// Who wakes one that is not yet asleep waits until it is. How long it takes to sleep and to wake is never twice the same: threads of
    /// equal pace would else meet at the same places for ever, or never.
    fn offered_cost(&mut self, thread: u32, waker: u32) -> u64 {
        let costs = &self.machine.costs;
        let block = costs.block_cost.0;
        let state = &mut self.core.threads[thread as usize];
        let waited = self.core.now - state.since;
        state.awake = false;
        state.slept_at = state.position;
        let falls_asleep = block.saturating_sub(2 * costs.looks_again().0 + waited);
        let offer = costs.offer_cost.0 + falls_asleep;
        let wakes_up = (block + costs.latency_after(SimTime(waited)).0) / 4;
        let by_chance = chance::part_of(2 * wakes_up, self.core.now, thread);
        self.core.threads[waker as usize].work_left += offer;
        (block + falls_asleep + by_chance).saturating_sub(wakes_up)
    }

    /// A thread asks the kernel to let it wait for a lock, which takes time; its CPU is busy meanwhile.
    ///
    /// Most waits for locks that are held for less than that end so.
    #[inline]
    fn ask(&mut self, thread: u32, cause: Cause) {
        let (event, now) = (self.core.event(thread), self.core.now);
        let blocked = State::Blocked(WaitKind::Lock);
        self.observer
            .state(thread, now, blocked, cause.object(), event);
        self.core.threads[thread as usize].work_left = self.machine.costs.looks_again().0;
    }

    /// The kernel sends a thread back that asked, as the lock has been given up.
    #[inline]
    fn come_back(&mut self, thread: u32) {
        let (event, now) = (self.core.event(thread), self.core.now);
        let costs = &self.machine.costs;
        let state = &mut self.core.threads[thread as usize];
        state.work_left = costs.call_cost.0 - costs.looks_again().0;
        let running = State::Running(state.cpu);
        self.observer.state(thread, now, running, None, event);
    }

    /// Makes a thread ready that waited.
    fn wake(&mut self, thread: u32, waker: u32) {
        // As mostly where there are as many CPUs as threads. It comes out as if it had become ready and the CPUs had been shared out.
        let cpu = self.core.threads[thread as usize].cpu;
        if self.core.lets_one_go_on()
            && self.admission.is_none()
            && self.processors.is_free_for_one(cpu)
        {
            self.count_in(thread, Some(cpu), self.processors.queue_of(thread));
            self.note_ready(thread);
            self.processors.give(cpu, thread);
            return self.start(thread, cpu);
        }
        self.make_ready(thread, waker);
        // On one CPU, whether a thread went on when another had let it is in the recording; by the clock it is not.
        let may_hurry = self.hurries && (self.machine.cpus > 1 || waker == thread);
        if may_hurry && !self.processors.has_room(thread) {
            self.hurrying.push(thread);
        }
    }

    fn make_ready(&mut self, thread: u32, waker: u32) {
        let cpu_of = |thread: u32| {
            let state = self.core.threads.get(thread as usize);
            state.filter(|state| state.turn > 0).map(|state| state.cpu)
        };
        let cpus = (cpu_of(thread), cpu_of(waker));
        let now = self.core.now;
        let lags = self.processors.lags();
        let stays = lags.is_some_and(|lags| lags.is_queued(thread, now));
        let queue = match cpus.0.filter(|_| stays) {
            Some(own) => Some(own),
            None => self.processors.choose_queue(thread, cpus, now),
        };
        if let Some(cpu) = queue {
            self.move_to_queue(thread, cpu);
        }
        self.count_in(thread, cpus.0, queue);
        if self.admission.is_some() {
            let key = self.key(thread);
            let admitted = self
                .admission
                .as_mut()
                .is_some_and(|a| a.admit(thread, key));
            if !admitted {
                return self.note_ready(thread);
            }
        }
        self.set_ready(thread);
    }

    /// A thread wants a CPU that ran on one before, if at all, and is to wait in the queue of one, if each has its own.
    #[inline(always)]
    fn count_in(&mut self, thread: u32, slept_at: Option<u32>, waits_at: Option<u32>) {
        self.processors.set_runnable(thread, true, self.core.now);
        let ran = if let (Some(slept_at), Some(waits_at)) = (slept_at, waits_at) {
            self.ran_with_lead(thread, [slept_at, waits_at])
        } else {
            let least = self.least_ran[waits_at.unwrap_or(0) as usize];
            let credit = least.saturating_sub(self.machine.slice.0);
            self.core.threads[thread as usize].ran.max(credit)
        };
        self.core.threads[thread as usize].ran = ran;
        self.place(thread, waits_at.unwrap_or(0));
    }

    /// A thread comes to a CPU's queue, or wakes there.
    #[inline(always)]
    fn place(&mut self, thread: u32, cpu: u32) {
        let (ran, now) = (self.core.threads[thread as usize].ran, self.core.now);
        if let Some(lags) = self.processors.lags() {
            lags.place(thread, cpu, ran, now);
        }
    }

    #[inline(always)]
    fn set_ready(&mut self, thread: u32) {
        self.note_ready(thread);
        self.enqueue(thread);
    }

    fn enqueue(&mut self, thread: u32) {
        let key = self.key(thread);
        self.processors.enqueue(thread, key);
    }

    /// Returns what a thread that wants a CPU is ordered by: the smallest first.
    fn key(&self, thread: u32) -> u64 {
        match self.machine.scheduler {
            SchedulerKind::Priority | SchedulerKind::RoundRobin => {
                u64::from(self.processors.rank(thread))
            }
            SchedulerKind::Fair => self.core.threads[thread as usize].ran,
        }
    }

    #[inline(always)]
    fn note_ready(&mut self, thread: u32) {
        let state = &mut self.core.threads[thread as usize];
        state.status = Status::Ready;
        state.since = self.core.now;
        if state.looks {
            return;
        }
        let event = self.core.event(thread);
        self.observer
            .state(thread, self.core.now, State::Ready, None, event);
    }

    /// Returns a number that comes behind those before it in an order of which nothing else decides; by chance, where that
    /// is asked for.
    fn next_in_order(&mut self) -> u64 {
        self.count += 1;
        match &mut self.chance {
            Some(chance) => chance.bits(40),
            None => self.count,
        }
    }

    #[inline(always)]
    fn push_due(&mut self, thread: u32) {
        let order = self.next_in_order();
        let key = match self.machine.scheduler {
            SchedulerKind::Priority => u64::from(self.processors.rank(thread)),
            SchedulerKind::Fair => order,
            SchedulerKind::RoundRobin => u64::from(self.processors.rank(thread)) << 40 | order,
        };
        let turn = self.core.threads[thread as usize].turn;
        self.due.push(Reverse((key, thread, turn)));
    }

    /// Sets the alarm of a thread that has a CPU.
    #[inline(always)]
    fn set_alarm(&mut self, at: u64, cpu: u32) {
        let order = self.next_in_order();
        self.alarms.set(cpu, at, order);
    }

    /// Returns who could let a blocked thread go on, where that is known.
    pub fn culprit(&self, thread: u32) -> Option<u32> {
        self.model.culprit(&self.core, thread)
    }
}
