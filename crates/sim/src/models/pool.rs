//! The Pool model: as Direct, but a worker that is free takes the next task, whoever had it in the recording.
//!
//! A worker that comes to a take is given a segment, and goes on with the operations of that; where none is left, it goes
//! on with what itself did from its last take on.
//!
//! # Source
//!
//! `docs/models.md`, "Pool".

use std::collections::{BTreeSet, VecDeque};

use foretrace_program::{Action, Join, Opener, Origin, Program, Queue, Task, WorkPool};
use foretrace_schedule::WaitKind;
use foretrace_trace::{ObjectId, ThreadId};
use rustc_hash::FxHashMap;

use super::{Direct, Model};
use crate::{
    Machine,
    core::{Core, Flow, NOBODY},
};

/// Which of the tasks that are there is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TaskOrder {
    /// The one that the recording took first.
    #[default]
    Recorded,
    /// The one that the recording took last.
    Last,
    /// The one with most work.
    Longest,
}

/// The state of every object, and of every pool.
pub(crate) struct Pool {
    direct: Direct,
    pools: Vec<State>,
    /// The pools of each thread, and its place among the workers of each.
    places: Vec<Vec<Place>>,
    /// How many barriers each thread has come to.
    epochs: Vec<u32>,
    /// The take that each thread was given, as long as it has not got its lock.
    given: Vec<u32>,
    /// The threads that were added beside each.
    added: Vec<Vec<u32>>,
    /// Beside whom each thread was added: itself for one that was recorded.
    beside: Vec<u32>,
    /// Whether each thread is a worker that is left out, which only ends.
    left_out: Vec<bool>,
    /// The next operation of each thread after which it waits for a pool's tasks, and that pool.
    joins: Vec<(u32, u32)>,
    /// The pool of the task that each thread does.
    busy: Vec<Option<u32>>,
    /// How many of a thread and of those added beside it have not ended.
    not_ended: Vec<u32>,
}

/// The place of a thread among the workers of a pool.
#[derive(Clone, Copy)]
struct Place {
    pool: u32,
    worker: u32,
}

/// The state of one pool.
struct State {
    semaphore: Option<ObjectId>,
    epochs: Vec<Epoch>,
    /// What each worker does when no task is left, by epoch.
    tails: Vec<Vec<Option<u32>>>,
    /// Where each worker that helps goes on with something else, the next one last.
    leaves: Vec<Vec<u32>>,
    is_added: Vec<bool>,
    order: TaskOrder,
    /// The tasks that are put into the queue by operations of several threads, by these, with their epochs; nothing where it does not matter
    /// which puts what there.
    puts: FxHashMap<u32, (u32, Pending)>,
    tokens: u64,
    /// How many tokens were given so far.
    given: u64,
    /// Tokens for workers that are left out: nobody takes them.
    unwanted: u64,
    /// Those who wait for a token.
    waiting: VecDeque<u32>,
    /// Where who puts the tasks waits until they are done.
    joins: VecDeque<Join>,
    /// Who does so now, and how many tasks have to be done.
    joining: Option<(u32, u32)>,
    /// How many are.
    done: u32,
}

/// The tasks between two barriers.
#[derive(Default)]
struct Epoch {
    /// Those that were not there yet, in the order of the recording.
    pending: VecDeque<Pending>,
    /// Those that are there, the one to be taken next being the last: its key, and the take that it begins with.
    ready: BTreeSet<(u64, u64, u32)>,
    left: usize,
    /// How many recorded workers took a token for having no more tasks, and how many will.
    ended: u64,
    enders: u64,
    /// How many such tokens are for workers that are left out.
    unwanted: u64,
}

/// A task that was not taken yet.
#[derive(Clone, Copy)]
struct Pending {
    take: u32,
    rank: u32,
}

impl Model for Pool {
    fn new(program: &Program, machine: &Machine) -> Self {
        let threads = program.threads.len();
        let mut pool = Self {
            direct: Direct::new(program, machine),
            pools: Vec::new(),
            places: vec![Vec::new(); threads],
            epochs: vec![0; threads],
            given: vec![NOBODY; threads],
            added: vec![Vec::new(); threads],
            beside: (0..threads as u32).collect(),
            left_out: vec![false; threads],
            joins: vec![(NOBODY, 0); threads],
            busy: vec![None; threads],
            not_ended: vec![1; threads],
        };
        for work_pool in &program.pools {
            pool.add(program, work_pool);
        }
        pool
    }

    fn perform(&mut self, core: &mut Core<'_>, thread: u32) -> Flow {
        let position = core.threads[thread as usize].position;
        if self.joins[thread as usize].0 == position {
            let flow = self.perform_any(core, thread);
            return if flow == Flow::Next {
                self.join(thread)
            } else {
                flow
            };
        }
        self.perform_any(core, thread)
    }

    fn culprit(&self, core: &Core<'_>, thread: u32) -> Option<u32> {
        self.direct.culprit(core, thread)
    }
}

impl Pool {
    fn perform_any(&mut self, core: &mut Core<'_>, thread: u32) -> Flow {
        let position = core.threads[thread as usize].position;
        if self.given[thread as usize] == position {
            return self.direct.perform(core, thread);
        }
        self.given[thread as usize] = NOBODY;
        let pools = &core.program.pools;
        let mut places = self.places[thread as usize].iter();
        let place = places.find(|place| pools[place.pool as usize].taken_at.contains(position));
        if let Some(&place) = place.filter(|_| !self.left_out[thread as usize]) {
            self.is_done(core, thread);
            return if self.pools[place.pool as usize].semaphore.is_some() {
                self.take_token(core, thread, place)
            } else {
                self.take_by_lock(core, thread, place)
            };
        }
        match core.action(thread) {
            Action::Barrier(_) => {
                self.epochs[thread as usize] += 1;
                self.direct.perform(core, thread)
            }
            Action::GiveToken(id) => match self.pool_of(id) {
                Some(pool) => {
                    self.pools[pool].put(core.program, pool, position);
                    self.pools[pool].give(core, thread)
                }
                None => self.direct.perform(core, thread),
            },
            Action::Create(child) => {
                let flow = self.direct.perform(core, thread);
                core.born.extend_from_slice(&self.added[child.index()]);
                flow
            }
            Action::Terminate => {
                self.is_done(core, thread);
                self.end(core, thread)
            }
            _ => self.direct.perform(core, thread),
        }
    }

    /// A thread that did a task is done with it.
    fn is_done(&mut self, core: &mut Core<'_>, thread: u32) {
        let Some(pool) = self.busy[thread as usize].take() else {
            return;
        };
        let state = &mut self.pools[pool as usize];
        state.done += 1;
        if let Some((joining, _)) = state.joining.take_if(|(_, tasks)| *tasks <= state.done) {
            core.wake(joining, thread);
        }
    }

    /// A thread is where it waits until the tasks that it put somewhere are done.
    fn join(&mut self, thread: u32) -> Flow {
        let (_, pool) = self.joins[thread as usize];
        let state = &mut self.pools[pool as usize];
        let join = state.joins.pop_front();
        let next = state.joins.front().map_or(NOBODY, |join| join.after);
        self.joins[thread as usize].0 = next;
        match join.filter(|join| state.done < join.tasks) {
            Some(join) => {
                state.joining = Some((thread, join.tasks));
                state.block()
            }
            None => Flow::Next,
        }
    }

    /// Sets which of the tasks that are there is taken; before anything happened.
    pub fn set_order(&mut self, order: TaskOrder) {
        for pool in &mut self.pools {
            pool.order = order;
        }
    }

    fn add(&mut self, program: &Program, pool: &WorkPool) {
        let index = self.pools.len() as u32;
        for (place, worker) in (0..).zip(&pool.workers) {
            let thread = worker.thread.index();
            self.places[thread].push(Place {
                pool: index,
                worker: place,
            });
            self.left_out[thread] = worker.origin == Origin::LeftOut;
            if let Origin::Added(original) = worker.origin {
                self.added[original.index()].push(worker.thread.0);
                self.beside[thread] = original.0;
                self.not_ended[original.index()] += 1;
            }
        }
        if let (Some(putter), Some(first)) = (pool.putter(program), pool.joins.first()) {
            self.joins[putter.index()] = (first.after, index);
        }
        self.pools.push(State::new(program, pool));
    }

    fn pool_of(&self, semaphore: ObjectId) -> Option<usize> {
        self.pools
            .iter()
            .position(|pool| pool.semaphore == Some(semaphore))
    }

    /// Returns what a worker does when no task is left.
    fn tail_of(&self, place: Place, epoch: u32) -> Option<u32> {
        self.pools[place.pool as usize].tails[place.worker as usize]
            .get(epoch as usize)
            .copied()
            .flatten()
    }

    /// The thread comes to the queue's lock: which lock it is depends on what it is going to find.
    fn take_by_lock(&mut self, core: &mut Core<'_>, thread: u32, place: Place) -> Flow {
        let epoch = self.epochs[thread as usize];
        let next = self.pools[place.pool as usize].next(core.program, place.pool, epoch);
        let here = core.threads[thread as usize].position;
        let take = next.or_else(|| self.tail_of(place, epoch)).unwrap_or(here);
        core.move_to(thread, take);
        self.given[thread as usize] = take;
        self.direct.perform(core, thread)
    }

    /// The thread comes to the queue: each token is a task.
    fn take_token(&mut self, core: &mut Core<'_>, thread: u32, place: Place) -> Flow {
        let epoch = self.epochs[thread as usize];
        let tail = self.tail_of(place, epoch);
        let state = &mut self.pools[place.pool as usize];
        let is_added = state.is_added[place.worker as usize];
        if (!state.has_task(epoch) || state.epochs[epoch as usize].left == 0)
            && let Some(leave) = state.leaves[place.worker as usize].pop()
        {
            core.move_to(thread, leave);
            return Flow::Next;
        }
        if state.epochs[epoch as usize].left > 0 {
            if !state.has_task(epoch) {
                return state.wait(thread);
            }
            state.tokens -= 1;
            if let Some(take) = state.next(core.program, place.pool, epoch) {
                core.move_to(thread, take);
                self.busy[thread as usize] = Some(place.pool);
            }
            if state.epochs[epoch as usize].left == 0 {
                // What those that wait wait for now is their end.
                state.wake_all(core, thread);
            }
            return Flow::Next;
        }
        if let Some(tail) = tail {
            core.move_to(thread, tail);
        }
        let action = core.action(thread);
        if !matches!(action, Action::TakeToken(_)) {
            self.given[thread as usize] = core.threads[thread as usize].position;
            return self.perform_end(core, thread, action);
        }
        if is_added {
            // Its token would have been put there beside those of the recorded workers.
            let ended = &state.epochs[epoch as usize];
            return if ended.ended > 0 || ended.enders == 0 {
                Flow::Next
            } else {
                state.wait(thread)
            };
        }
        if state.tokens == 0 {
            return state.wait(thread);
        }
        state.tokens -= 1;
        state.end_of_worker(core, thread, epoch);
        Flow::Next
    }

    fn perform_end(&mut self, core: &mut Core<'_>, thread: u32, action: Action) -> Flow {
        if action == Action::Terminate {
            return self.end(core, thread);
        }
        self.direct.perform(core, thread)
    }

    /// A thread ends; whoever waits for a recorded worker waits for those that were added beside it, too.
    fn end(&mut self, core: &mut Core<'_>, thread: u32) -> Flow {
        let original = self.beside[thread as usize];
        let left = &mut self.not_ended[original as usize];
        *left = left.saturating_sub(1);
        if *left == 0 {
            let gate = core.program.gate_of(Opener::End(ThreadId(original)));
            core.open_gate(gate, thread);
        }
        Flow::End
    }
}

impl State {
    fn new(program: &Program, pool: &WorkPool) -> Self {
        let epochs = pool.workers.iter().map(|worker| worker.tails.len()).max();
        let mut state = Self {
            semaphore: match pool.queue {
                Queue::Tokens(semaphore) => Some(semaphore),
                Queue::Mutexes(_) => None,
            },
            epochs: (0..epochs.unwrap_or(0)).map(|_| Epoch::default()).collect(),
            tails: pool
                .workers
                .iter()
                .map(|worker| worker.tails.clone())
                .collect(),
            leaves: pool
                .workers
                .iter()
                .map(|worker| worker.leaves.iter().rev().copied().collect())
                .collect(),
            is_added: pool
                .workers
                .iter()
                .map(|worker| matches!(worker.origin, Origin::Added(_)))
                .collect(),
            order: TaskOrder::Recorded,
            puts: FxHashMap::default(),
            tokens: 0,
            given: 0,
            unwanted: 0,
            waiting: VecDeque::new(),
            joins: pool.joins.iter().copied().collect(),
            joining: None,
            done: 0,
        };
        if let Some(semaphore) = state.semaphore {
            let initial = program.objects[semaphore.index()].initial.unwrap_or(0);
            (state.tokens, state.given) = (u64::from(initial), u64::from(initial));
        }
        if let [only] = &mut state.epochs[..] {
            only.pending.reserve_exact(pool.task_count());
        }
        let puts: FxHashMap<u32, u32> = pool.puts.iter().map(|&(put, take)| (take, put)).collect();
        let knows_puts = !puts.is_empty()
            && pool
                .tasks(program)
                .all(|task| puts.contains_key(&task.take));
        for Task { take, epoch, rank } in pool.tasks(program) {
            let task = Pending { take, rank };
            state.epochs[epoch as usize].left += 1;
            if knows_puts {
                state.puts.insert(puts[&take], (epoch, task));
            } else {
                state.epochs[epoch as usize].pending.push_back(task);
            }
        }
        for worker in &pool.workers {
            for (epoch, tail) in state.epochs.iter_mut().zip(&worker.tails) {
                let takes = tail.is_some_and(|tail| {
                    matches!(program.operations.action(tail), Action::TakeToken(_))
                });
                match worker.origin {
                    Origin::Recorded => epoch.enders += u64::from(takes),
                    Origin::LeftOut => epoch.unwanted += u64::from(takes),
                    Origin::Added(_) => {}
                }
            }
        }
        state
    }

    /// Takes the task that is next, if any is left; this is the program's pool of that number.
    fn next(&mut self, program: &Program, pool: u32, epoch: u32) -> Option<u32> {
        let epoch = &mut self.epochs[epoch as usize];
        epoch.left = epoch.left.saturating_sub(1);
        if self.order == TaskOrder::Recorded && epoch.ready.is_empty() {
            return epoch.pending.pop_front().map(|task| task.take);
        }
        while let Some(task) = epoch.pending.front() {
            let is_there = self.semaphore.is_none() || u64::from(task.rank) < self.given;
            if !is_there && !epoch.ready.is_empty() {
                break;
            }
            epoch.ready.insert(key_of(*task, self.order, || {
                program.pools[pool as usize].work_of(program, task.take)
            }));
            epoch.pending.pop_front();
        }
        epoch.ready.pop_last().map(|(_, _, take)| take)
    }

    /// Returns whether there is a task that a worker may take.
    fn has_task(&self, epoch: u32) -> bool {
        self.tokens > 0 && (self.puts.is_empty() || !self.epochs[epoch as usize].ready.is_empty())
    }

    /// An operation puts something into the queue; this is the program's pool of that number.
    fn put(&mut self, program: &Program, pool: usize, position: u32) {
        if let Some(&(epoch, task)) = self.puts.get(&position) {
            let key = key_of(task, self.order, || {
                program.pools[pool].work_of(program, task.take)
            });
            self.epochs[epoch as usize].ready.insert(key);
        }
    }

    fn wait(&mut self, thread: u32) -> Flow {
        self.waiting.push_back(thread);
        self.block()
    }

    fn block(&self) -> Flow {
        Flow::block(
            WaitKind::Semaphore,
            self.semaphore.map(|semaphore| semaphore.0),
        )
    }

    fn give(&mut self, core: &mut Core<'_>, thread: u32) -> Flow {
        self.given += 1;
        if self.unwanted > 0 {
            self.unwanted -= 1;
            return Flow::Next;
        }
        self.tokens += 1;
        if let Some(waiter) = self.waiting.pop_front() {
            core.retry(waiter, thread);
        }
        Flow::Next
    }

    fn wake_all(&mut self, core: &mut Core<'_>, by: u32) {
        for waiter in std::mem::take(&mut self.waiting) {
            core.retry(waiter, by);
        }
    }

    /// A recorded worker took a token for having no more tasks.
    fn end_of_worker(&mut self, core: &mut Core<'_>, thread: u32, epoch: u32) {
        let ended = &mut self.epochs[epoch as usize];
        ended.ended += 1;
        let first = ended.ended == 1;
        if ended.ended == ended.enders {
            // What is there for those that are left out is not for the next tasks.
            let there = ended.unwanted.min(self.tokens);
            self.tokens -= there;
            self.unwanted += ended.unwanted - there;
        }
        if first && self.is_added.contains(&true) {
            self.wake_all(core, thread);
        }
    }
}

/// Returns by which a task is ordered among those that are there, the one to be taken next being the last.
fn key_of(task: Pending, order: TaskOrder, work: impl FnOnce() -> u64) -> (u64, u64, u32) {
    let rank = u64::from(task.rank);
    let (first, second) = match order {
        TaskOrder::Recorded => (u64::MAX - rank, 0),
        TaskOrder::Last => (rank, 0),
        TaskOrder::Longest => (work(), u64::MAX - rank),
    };
    (first, second, task.take)
}
