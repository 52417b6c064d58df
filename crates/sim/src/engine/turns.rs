//! Turns on CPUs: who gets which, what that costs, and how far a thread's work gets in them.

use foretrace_schedule::{SimTime, State};

use super::Engine;
use crate::{
    SchedulerKind,
    core::{NOBODY, Status},
    models::Model,
    observer::Observer,
    processors::Change,
};

impl<M: Model, O: Observer> Engine<'_, M, O> {
    /// Gives the CPUs to those that are to have them.
    #[inline(always)]
    pub(super) fn share_out(&mut self) {
        if self.processors.may_change() {
            self.fill_cpus();
        }
        if self.speeds.shared {
            self.settle_cores();
        }
        if !self.hurrying.is_empty() {
            self.hurry();
        }
        self.set_tick();
    }

    /// Lets those that wait for CPUs have them, as far as they get them now.
    fn fill_cpus(&mut self) {
        let now = self.core.now;
        while self.processors.may_change() {
            let threads = &self.core.threads;
            let last_cpu = |thread: u32| threads[thread as usize].cpu;
            let change = self.processors.next_change(last_cpu);
            let by_lot = || {
                let (vacated, left_at) = (&self.vacated, &self.left_at);
                self.processors.change_by_lot(vacated, left_at, now)
            };
            match change.or_else(by_lot) {
                Some(Change::Start(thread, cpu)) => self.start(thread, cpu),
                Some(Change::Preempt { loser, winner, cpu }) => {
                    if self.core.threads[loser as usize].status == Status::Running {
                        self.account(loser);
                    }
                    self.alarms.cancel(cpu);
                    self.note_ready(loser);
                    if let Some(left_at) = self.left_at.get_mut(loser as usize) {
                        *left_at = now;
                    }
                    self.vacated[cpu as usize] = now;
                    self.start(winner, cpu);
                }
                None => return,
            }
        }
    }

    /// Sets the clock to tick, if that is when idle CPUs take threads from others; it need not tick otherwise.
    fn set_tick(&mut self) {
        let now = self.core.now;
        if !self.processors.waits_for_tick() {
            return self.alarms.set_tick(None);
        }
        let tick = self.machine.idle_balance.0;
        self.alarms
            .set_tick((now + 1).checked_next_multiple_of(tick));
    }

    /// Lets idle CPUs take threads from others.
    pub(super) fn balance(&mut self) {
        while let Some(Change::Start(thread, cpu)) =
            self.processors.change_at_tick(&self.left_at, self.core.now)
        {
            self.start(thread, cpu);
        }
    }

    /// Lets threads that woke have the CPUs that they ran on last, or that of the one that woke them, where those that run there
    /// ran for longer.
    fn hurry(&mut self) {
        let (waker, _) = self.operating;
        while let Some(thread) = self.hurrying.pop() {
            let state = &self.core.threads[thread as usize];
            if state.status != Status::Ready {
                continue;
            }
            let of_waker = self.core.threads.get(waker as usize).map(|state| state.cpu);
            let cpus = match self.processors.queue_of(thread) {
                Some(cpu) => [Some(cpu), None],
                None => [Some(state.cpu), of_waker],
            };
            let cpus = cpus.into_iter().flatten();
            let mut stops = cpus.filter_map(|cpu| Some((cpu, self.gives_way(cpu, thread)?)));
            let Some((cpu, other)) = stops.next() else {
                continue;
            };
            let now = self.core.now;
            self.core.threads[other as usize].slice_end = now;
            // The one that does an operation looks at the end of its slice after that.
            if other == waker {
                continue;
            }
            self.set_alarm(now, cpu);
            if of_waker.is_some() {
                self.called += 1;
                self.core.threads[thread as usize].work_left += self.machine.costs.preempt_cost.0;
            }
        }
    }

    /// Returns the thread that runs on a CPU if it has to give way to one that woke.
    fn gives_way(&self, cpu: u32, to: u32) -> Option<u32> {
        let now = self.core.now;
        let other = self.processors.occupant(cpu)?;
        let state = &self.core.threads[other as usize];
        let stops = state.status == Status::Running
            && state.slice_end > now
            && state.ran + (now - state.since) > self.core.threads[to as usize].ran
            && self.processors.may_run(to, cpu);
        stops.then_some(other)
    }

    /// Notes that who ran so much, as the fair scheduler counts it, was the one that ran least of those who wanted a CPU.
    #[inline(always)]
    pub(super) fn note_least(&mut self, cpu: u32, ran: u64) {
        let queue = (cpu as usize).min(self.least_ran.len() - 1);
        self.least_ran[queue] = ran.max(self.least_ran[queue]);
    }

    /// A thread is of another CPU's queue: among those there it ran as much more or less than others as it did among those that it leaves.
    #[inline(always)]
    pub(super) fn move_to_queue(&mut self, thread: u32, to: u32) {
        let Some(from) = self.processors.queue_of(thread).filter(|&from| from != to) else {
            return;
        };
        self.processors.set_queue(thread, to, self.core.now);
        let [from_least, to_least] = [from, to].map(|cpu| self.least_ran[cpu as usize]);
        let ran = &mut self.core.threads[thread as usize].ran;
        *ran = (to_least + ran.saturating_sub(from_least))
            .saturating_sub(from_least.saturating_sub(*ran));
        self.place(thread, to);
    }

    /// Lets threads that share their cores or the memory with more or fewer others than before go on as fast as they can now.
    pub(super) fn settle_cores(&mut self) {
        if !self.speeds.shared {
            return;
        }
        while let Some(cpus) = self.speeds.next_changed() {
            let threads: Vec<u32> = cpus
                .iter()
                .filter_map(|&cpu| self.processors.occupant(cpu))
                .filter(|&thread| {
                    let state = &self.core.threads[thread as usize];
                    state.status == Status::Running && (thread, state.turn) != self.operating
                })
                .collect();
            for &thread in &threads {
                self.account(thread);
            }
            self.speeds.settle(&cpus);
            for thread in threads {
                let state = &mut self.core.threads[thread as usize];
                // One that has no work left is due, or rings now.
                if state.work_left > 0 {
                    state.turn = state.turn.wrapping_add(1);
                    self.arm(thread);
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn start(&mut self, thread: u32, cpu: u32) {
        self.move_to_queue(thread, cpu);
        if let Some(lags) = self.processors.lags() {
            lags.begin_turn(cpu);
        }
        if !self.ran_last.is_empty() {
            self.charge_for_place(thread, cpu);
        }
        let polled = self.core.has_polled(thread);
        let state = &mut self.core.threads[thread as usize];
        let awake = std::mem::take(&mut state.awake) || state.looks;
        state.cpu = cpu;
        state.turn = state.turn.wrapping_add(1);
        // What it costs to take turns on one CPU is within the recorded times.
        let was_idle = self.vacated[cpu as usize] != self.core.now;
        if was_idle {
            self.idle_until[cpu as usize] = self.core.now;
        }
        let vacated = self.vacated[cpu as usize];
        // One that nobody had yet was idle for long.
        let idle = SimTime(self.core.now.checked_sub(vacated).unwrap_or(u64::MAX));
        let latency = self.machine.costs.latency_after(idle).0;
        if !was_idle || self.machine.cpus == 1 || polled || awake {
            return self.begin_turn(thread);
        }
        self.called += 1;
        if latency == 0 {
            return self.begin_turn(thread);
        }
        state.status = Status::Waking;
        self.set_alarm(self.core.now.saturating_add(latency), cpu);
    }

    /// Lets a thread pay for running where another ran last, or elsewhere than before.
    fn charge_for_place(&mut self, thread: u32, cpu: u32) {
        let costs = self.machine.costs;
        let ran_here = std::mem::replace(&mut self.ran_last[cpu as usize], thread);
        let state = &mut self.core.threads[thread as usize];
        if ran_here != thread && ran_here != NOBODY {
            state.work_left += costs.switch_cost.0;
        }
        let ran_before = state.turn > 0;
        if self.machine.memory.refill.0 > 0
            && ran_before
            && (ran_here != thread || state.cpu != cpu)
            && let Some(left_at) = self.left_at.get(thread as usize)
        {
            let away = self.core.now - left_at;
            state.cold = state.cold.saturating_add(away).min(self.machine.slice.0);
            self.core.refill(thread);
        }
        let state = &mut self.core.threads[thread as usize];
        if ran_before && state.cpu != cpu {
            let processor = |cpu: u32| self.machine.processors.get(cpu as usize);
            state.work_left += match (processor(state.cpu), processor(cpu)) {
                (Some(from), Some(to)) if from.socket != to.socket => costs.socket_migration.0,
                // What a core holds, all its CPUs use.
                (Some(from), Some(to)) if from.core == to.core => 0,
                _ => costs.migration.0,
            };
        }
    }

    /// Notes that the thread on a CPU loses it now.
    #[inline(always)]
    pub(super) fn note_left(&mut self, cpu: u32) {
        if let Some(thread) = self.processors.occupant(cpu)
            && let Some(left_at) = self.left_at.get_mut(thread as usize)
        {
            *left_at = self.core.now;
        }
    }

    /// A thread runs on the CPU that it was given, and works there.
    #[inline(always)]
    pub(super) fn begin_turn(&mut self, thread: u32) {
        self.take_turn(thread);
        self.arm(thread);
    }

    /// A thread runs on the CPU that it was given.
    #[inline(always)]
    pub(super) fn take_turn(&mut self, thread: u32) {
        let now = self.core.now;
        let slice_end = match self.machine.scheduler {
            SchedulerKind::Priority => u64::MAX,
            SchedulerKind::Fair | SchedulerKind::RoundRobin => {
                now.saturating_add(self.machine.slice.0)
            }
        };
        let state = &mut self.core.threads[thread as usize];
        state.status = Status::Running;
        let cpu = state.cpu;
        state.since = now;
        state.slice_end = slice_end;
        let ran = state.ran;
        self.note_least(cpu, ran);
        let state = &self.core.threads[thread as usize];
        if !state.looks {
            let event = self.core.event(thread);
            self.observer
                .state(thread, now, State::Running(cpu), None, event);
        }
        if self.speeds.shared {
            self.speeds.note(cpu, Some(thread));
        }
    }

    /// Brings a running thread's remaining work up to date.
    #[inline]
    pub(super) fn account(&mut self, thread: u32) {
        let now = self.core.now;
        let state = &mut self.core.threads[thread as usize];
        let ran = now - state.since;
        state.since = now;
        state.ran += ran;
        let done = if self.speeds.all_one {
            ran
        } else {
            self.speeds
                .work_done(thread, state.cpu, ran, state.work_left)
        };
        state.work_left = state.work_left.saturating_sub(done);
    }

    /// Returns how long a running thread needs for its work.
    #[inline]
    pub(super) fn time_left(&self, thread: u32) -> u64 {
        let state = &self.core.threads[thread as usize];
        if self.speeds.all_one {
            state.work_left
        } else {
            self.speeds.time_for(thread, state.cpu, state.work_left)
        }
    }

    /// Sets the alarm of a running thread, or notes that it can do its operation now.
    #[inline(always)]
    pub(super) fn arm(&mut self, thread: u32) {
        let state = &self.core.threads[thread as usize];
        if state.work_left == 0 {
            return self.push_due(thread);
        }
        let (slice_end, cpu) = (state.slice_end, state.cpu);
        let done = self.core.now.saturating_add(self.time_left(thread));
        self.set_alarm(done.min(slice_end), cpu);
    }
}
