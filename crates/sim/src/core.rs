//! What the engine and the models share: the program, the threads' positions, time, and who is to go on.

use foretrace_program::{Action, GateId, MutexUse, Opener, Program, Waiting};
use foretrace_schedule::WaitKind;
use foretrace_trace::{ObjectId, ThreadId};

use crate::{
    Machine, Memory, SchedulerKind,
    objects::{Barriers, Gates},
    teams::{AwakeWait, Teams},
};

/// Stands for no thread.
pub(crate) const NOBODY: u32 = u32::MAX;

/// By so many operations of a thread its memory is asked for what it does: two lines of it.
pub(crate) const FETCHED_AHEAD: u32 = 16;

/// So many operations a wait consists of at most: of a condition, to give the mutex up, to be woken, and to have it again.
const MOST_OF_A_WAIT: u32 = 4;

/// Where a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Nobody created it yet.
    Unborn,
    /// It wants a CPU.
    Ready,
    /// It was given one that was idle, and is not there yet.
    Waking,
    /// It has one.
    Running,
    /// It waits for something else.
    Blocked,
    /// It is over.
    Ended,
}

/// How far a thread is with getting a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locking {
    /// It has not tried yet.
    First,
    /// It found it held, and asks the kernel to let it wait.
    Asking,
    /// It has waited, or was about to, and tries again when it runs.
    Again,
}

/// A thread during a simulation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadState {
    /// The operation it does or is about to do; a position in the program's operations.
    pub position: u32,
    /// The mutex that this operation locks or unlocks.
    pub mutex_use: MutexUse,
    pub status: Status,
    /// The CPU that it has, or had last.
    pub cpu: u32,
    /// Counts its turns on a CPU, so that what was due in an earlier one is known as stale.
    pub turn: u32,
    /// The work before its operation that is left, in picoseconds at `since`.
    pub work_left: u64,
    /// When its state began, or when its work was last brought up to date.
    pub since: u64,
    /// When its slice ends.
    pub slice_end: u64,
    /// Whether what it waited for came before it had fallen asleep.
    pub awake: bool,
    /// The operation in which it slept last.
    pub slept_at: u32,
    /// Whether it waits in its operation and looks at memory, for which it wants its CPU as for work.
    pub looks: bool,
    /// How far it is with getting the mutex of its operation.
    pub locking: Locking,
    /// For how long others emptied the caches that it has not filled again since, in picoseconds.
    pub cold: u64,
    /// How long it ran so far, brought forward when it was away for long: the fair scheduler's measure.
    pub ran: u64,
}

impl ThreadState {
    /// Returns whether it is blocked in this operation.
    pub fn is_blocked_at(&self, operation: u32) -> bool {
        self.status == Status::Blocked && self.position == operation
    }
}

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It is done.
    Next,
    /// It waits; whoever completes it calls [`Core::wake`].
    Block(WaitKind, Cause),
    /// It waits, and looks at memory meanwhile, on its CPU; whoever completes it calls [`Core::wake`], or [`Core::retry`].
    Look(WaitKind, Cause),
    /// It asks the kernel to let it wait, and tries again when the kernel has looked whether it has to.
    Ask(Cause),
    /// It need not wait, and tries again when it is back from the kernel.
    Back,
    /// The thread is over.
    End,
}

impl Flow {
    /// It waits for an object, or for none that has a number.
    pub fn block(kind: WaitKind, object: Option<u32>) -> Self {
        Self::Block(kind, Cause(object.unwrap_or(NOBODY)))
    }

    /// The same, where its thread looks at memory meanwhile, on its CPU.
    pub fn look(kind: WaitKind, object: Option<u32>) -> Self {
        Self::Look(kind, Cause(object.unwrap_or(NOBODY)))
    }

    /// Returns whether its thread keeps its CPU, and works there.
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Next | Self::Ask(_) | Self::Back)
    }
}

/// The object that an operation waits for, if any, in as few bytes as let what came of the operation fit into a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause(u32);

impl Cause {
    /// It waits for the object of this number.
    pub fn of(object: u32) -> Self {
        Self(object)
    }

    pub fn object(self) -> Option<u32> {
        (self.0 != NOBODY).then_some(self.0)
    }
}

/// What the engine and the models share.
pub(crate) struct Core<'p> {
    pub program: &'p Program,
    /// The time, in picoseconds.
    pub now: u64,
    pub threads: Vec<ThreadState>,
    pub gates: Gates,
    pub barriers: Barriers,
    /// Threads whose blocked operation completed during the current one, and by whom.
    pub woken: Vec<(u32, u32)>,
    /// Threads that may try their blocked operation again, and who made that possible.
    pub retrying: Vec<(u32, u32)>,
    /// Threads created during the current operation.
    pub born: Vec<u32>,
    /// Delays begun during the current operation: when they end, and whose they are.
    pub delays: Vec<(u64, u32)>,
    /// The CPU time of the current operation, which its thread pays with its next work, in picoseconds.
    pub paid_next: u64,
    /// When each thread's latest delay began that is no beat, in picoseconds.
    delay_began: Vec<u64>,
    /// The latest moment of each series until which threads sleep, in picoseconds.
    moments: Vec<u64>,
    /// Whether threads poll, on a machine with more CPUs than the recording's.
    polls: bool,
    /// Who waits awake.
    pub teams: Teams,
    /// Whether threads spin until others have come somewhere.
    spins: bool,
    /// How many CPUs there are.
    cpus: u32,
    scheduler: SchedulerKind,
    memory: Memory,
    /// Whether work may take another time here than in the recording.
    adjusts: bool,
}

impl<'p> Core<'p> {
    pub fn new(program: &'p Program, machine: &Machine) -> Self {
        let threads = program.threads.iter().map(|thread| ThreadState {
            position: thread.operations.start,
            mutex_use: MutexUse::NONE,
            status: Status::Unborn,
            cpu: 0,
            turn: 0,
            work_left: 0,
            since: 0,
            slice_end: u64::MAX,
            awake: false,
            // Far from any that it comes to.
            slept_at: u32::MAX / 2,
            looks: false,
            locking: Locking::First,
            cold: 0,
            ran: 0,
        });
        let mut core = Self {
            program,
            now: 0,
            threads: threads.collect(),
            gates: Gates::new(program.gate_count()),
            barriers: Barriers::new(program),
            woken: Vec::new(),
            retrying: Vec::new(),
            born: Vec::new(),
            delays: Vec::new(),
            paid_next: 0,
            delay_began: vec![0; program.threads.len()],
            moments: vec![0; program.series()],
            polls: machine.cpus > 1 && program.operations.polls(),
            teams: Teams::new(program, machine),
            spins: program
                .progress
                .iter()
                .any(|progress| progress.wait.is_awake()),
            cpus: machine.cpus,
            scheduler: machine.scheduler,
            memory: machine.memory,
            adjusts: false,
        };
        let rouses = machine.cpus > 1 && program.operations.rouses();
        core.adjusts = core.polls || rouses || machine.memory.refill.0 > 0;
        for thread in 0..core.threads.len() {
            core.load_work(thread as u32);
        }
        core
    }

    /// Returns what a thread's current operation does.
    #[inline]
    pub fn action(&self, thread: u32) -> Action {
        self.program
            .operations
            .action(self.threads[thread as usize].position)
    }

    /// Returns the trace's event of a thread's current operation.
    pub fn event(&self, thread: u32) -> u32 {
        self.program
            .operations
            .event(self.threads[thread as usize].position)
    }

    /// Completes the operation in which a thread is blocked (or will be, when the current operation is its own): it
    /// goes on with the next one.
    pub fn wake(&mut self, thread: u32, by: u32) {
        self.woken.push((thread, by));
    }

    /// Lets a blocked thread try its operation again, once it has a CPU.
    pub fn retry(&mut self, thread: u32, by: u32) {
        self.retrying.push((thread, by));
    }

    /// Returns whether a thread waited in its current operation in the recording.
    pub fn has_waited(&self, thread: u32) -> bool {
        let position = self.threads[thread as usize].position;
        self.program.operations.waited(position)
    }

    /// Returns whether the current operation let no other thread go on.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.woken.len() | self.retrying.len() | self.born.len() == 0
    }

    /// Returns whether the current operation let one other thread go on, which exists already.
    #[inline]
    pub fn lets_one_go_on(&self) -> bool {
        self.woken.len() + self.retrying.len() == 1 && self.born.is_empty()
    }

    /// Returns whether a thread is blocked in this operation.
    pub fn is_blocked_at(&self, thread: u32, operation: u32) -> bool {
        self.threads[thread as usize].is_blocked_at(operation)
    }

    /// Moves a thread to its next operation, whose work is now to be done.
    #[inline(always)]
    pub fn advance(&mut self, thread: u32) {
        self.threads[thread as usize].position += 1;
        self.load_work(thread);
        self.threads[thread as usize].work_left += std::mem::take(&mut self.paid_next);
    }

    /// Lets a thread do another operation than the one that it came to, without the work before that.
    #[inline]
    pub fn move_to(&mut self, thread: u32, position: u32) {
        let state = &mut self.threads[thread as usize];
        state.position = position;
        state.mutex_use = self.program.operations.mutex_use(position);
    }

    #[inline(always)]
    fn load_work(&mut self, thread: u32) {
        let state = &mut self.threads[thread as usize];
        let operations = &self.program.operations;
        let work;
        (work, state.mutex_use) = operations.work_and_mutex_use(state.position);
        operations.fetch(state.position + FETCHED_AHEAD);
        state.work_left = work.saturating_mul(1_000);
        if self.adjusts {
            self.adjust_work(thread);
        }
    }

    /// Lets a thread's work before its operation take as long as it does on this machine.
    fn adjust_work(&mut self, thread: u32) {
        let state = &mut self.threads[thread as usize];
        if self.cpus > 1 {
            let is_of_team = |object: ObjectId| self.program.objects[object.index()].is_of_team();
            let slept = state.position.wrapping_sub(state.slept_at) <= MOST_OF_A_WAIT;
            let is_crowded = self.program.threads.len() > self.cpus as usize;
            let left = state.work_left;
            state.work_left = match self.program.operations.action(state.position) {
                Action::Rouse(object) if is_of_team(object) => {
                    u64::from(!self.teams.waits_awake_at(object)) * left
                }
                // The first half of it, falling asleep, is over before the thread can be let go on; but where there are more threads than CPUs,
                // others would have used that time.
                Action::Rouse(_) if slept && is_crowded => left,
                Action::Rouse(_) if slept => left / 2,
                // Where others run meanwhile, polling takes until what they do is done.
                Action::Rouse(_) | Action::Poll(_) | Action::Linger => 0,
                _ => left,
            };
        }
        if state.cold > 0 {
            self.refill(thread);
        }
    }

    /// Lets a thread's work before its operation take longer by the time in it that goes on filling caches.
    #[cold]
    pub fn refill(&mut self, thread: u32) {
        let state = &mut self.threads[thread as usize];
        let refill = self.memory.refill_in(state.work_left, state.cold);
        state.work_left = state.work_left.saturating_add(refill);
        state.cold -= state.cold.min(state.work_left);
    }

    /// Returns how a thread stays awake that waits in its current operation, if that is one of its team's or it spins.
    #[inline(always)]
    pub fn awake_wait(&self, thread: u32) -> Option<AwakeWait> {
        if self.spins
            && let Action::Await(gate) = self.action(thread)
            && let Opener::Progress(number) = self.program.opener(gate)
        {
            return self.wait_for(number).is_awake().then_some(AwakeWait {
                limit: u64::MAX,
                latency: 0,
            });
        }
        if !self.teams.wait_awake() {
            return None;
        }
        self.teams.awake_wait(self.action(thread))
    }

    /// Returns whether this is awaited by looking at memory, on one CPU and in a listing by hand: there it looks for as long as that says, as no other
    /// comes any further meanwhile. How long threads looked while they were recorded is a matter of their turns then.
    fn has_looked(&self, gate: GateId) -> bool {
        self.cpus == 1
            && !self.program.recorded
            && matches!(self.program.opener(gate), Opener::Progress(number)
                if self.wait_for(number) == Waiting::Looking)
    }

    /// Returns how a thread waits for such progress.
    fn wait_for(&self, number: u32) -> Waiting {
        self.program.progress[number as usize].wait
    }

    /// Returns whether a thread does not give its CPU up while it waits around its current operation: it polls.
    #[inline(always)]
    pub fn has_polled(&self, thread: u32) -> bool {
        let position = self.threads[thread as usize].position;
        let is_poll = |position| {
            let action = self.program.operations.action(position);
            matches!(action, Action::Poll(_))
        };
        self.polls && (is_poll(position) || position > 0 && is_poll(position - 1))
    }

    /// Returns whether a thread that waits in its current operation looks at memory meanwhile, on its CPU, instead of sleeping: where those that
    /// want a lock do, or it polled.
    #[inline]
    pub fn waits_by_looking(&self, thread: u32, keeps_cpus: bool) -> bool {
        (keeps_cpus || self.has_polled(thread)) && self.program.recorded && self.takes_turns()
    }

    /// Returns whether those that look take turns with others. Else nobody could come anywhere while they do.
    fn takes_turns(&self) -> bool {
        self.scheduler != SchedulerKind::Priority
    }

    /// Does an action that is the same under every model.
    pub fn perform(&mut self, thread: u32, action: Action) -> Flow {
        match action {
            Action::Create(child) => {
                self.born.push(child.0);
                Flow::Next
            }
            Action::Terminate => {
                self.open_gate(self.program.gate_of(Opener::End(ThreadId(thread))), thread);
                Flow::End
            }
            Action::Open(gate) => {
                self.open_gate(gate, thread);
                Flow::Next
            }
            Action::Await(gate) => {
                if self.has_looked(gate) || self.gates.is_open_or_wait(gate, thread) {
                    return Flow::Next;
                }
                let kind = match self.program.opener(gate) {
                    Opener::End(_) | Opener::Cancellation(_) => WaitKind::Join,
                    Opener::Once(_) => WaitKind::Once,
                    Opener::Progress(number) => match self.wait_for(number) {
                        Waiting::Sleeping => WaitKind::Timeout,
                        Waiting::Looking if self.takes_turns() => {
                            return Flow::look(WaitKind::Wait, None);
                        }
                        Waiting::Yielding | Waiting::Looking => WaitKind::Wait,
                    },
                };
                Flow::block(kind, None)
            }
            Action::Delay(index) => {
                let delay = self.program.delays[index as usize];
                let mut length = delay.nanos.saturating_mul(1_000);
                let began = &mut self.delay_began[thread as usize];
                if let Some(due) = delay.due {
                    let moment = &mut self.moments[due.series as usize];
                    let since = if due.follows { *moment } else { self.now };
                    *moment = since.saturating_add(length);
                    length = moment.saturating_sub(self.now);
                    *began = self.now;
                } else if delay.is_beat && length > 0 {
                    let since = self.now - *began;
                    length = since.next_multiple_of(length) - since;
                } else {
                    *began = self.now;
                }
                self.delays.push((self.now.saturating_add(length), thread));
                let kind = if delay.is_io {
                    WaitKind::Io
                } else {
                    WaitKind::Timeout
                };
                Flow::block(kind, None)
            }
            Action::Barrier(barrier) => match self.barriers.arrive(barrier, thread) {
                Some(others) => {
                    self.woken.extend(others.map(|other| (other, thread)));
                    Flow::Next
                }
                None => Flow::block(WaitKind::Barrier, Some(barrier.0)),
            },
            // What is left says nothing to other threads.
            _ => Flow::Next,
        }
    }

    pub fn open_gate(&mut self, gate: GateId, by: u32) {
        for waiter in self.gates.open(gate) {
            self.woken.push((waiter, by));
        }
    }
}
