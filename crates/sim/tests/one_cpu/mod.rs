//! A plain interpreter of programs on one CPU with fixed priorities: what a recording of them would be.
//!
//! It shares nothing with the simulator, so that each can be held against the other.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write as _,
};

/// One step of a thread. Threads are given by position, in order of decreasing priority; objects by name.
#[derive(Clone, Debug)]
pub enum Step {
    Work(u64),
    Create(usize),
    /// Abstract processes: activates a thread with event X.
    Send(usize),
    /// Activates the thread that is in a variable.
    SendTo(usize),
    /// Waits for event X.
    Wait,
    /// Waits for event X and puts the sender into a variable.
    WaitInto(usize),
    Lock(usize),
    Unlock(usize),
    SemWait(usize),
    SemPost(usize),
    Barrier(usize),
    /// A barrier made of a mutex and a condition variable, for as many threads as the real ones.
    CondBarrier,
    /// Puts into a queue of two places, made of a mutex and two condition variables.
    Put(usize),
    /// Takes from it.
    Take(usize),
    Read(usize),
    Write(usize),
    RwUnlock(usize),
    Join(usize),
}

/// A recorded run.
pub struct Recording {
    /// The listing, in the text form.
    pub text: String,
    /// When each thread ended.
    pub finish: Vec<u64>,
}

#[derive(Default)]
struct Thread {
    next: usize,
    born: bool,
    blocked: bool,
    ended: Option<u64>,
    /// How far it is in a step that is made of several operations.
    phase: u8,
    /// The generation of the barrier that it waits at.
    generation: u64,
}

/// A readers-writer lock: how many read, who writes, who waits (and whether to write).
#[derive(Default)]
struct Rwlock {
    readers: usize,
    writer: Option<usize>,
    queue: VecDeque<(usize, bool)>,
}

/// The places of a queue.
const PLACES: u64 = 2;

/// The mutex of the barrier that is made of one; those of queues follow.
const BARRIER_MUTEX: usize = 10;

struct Interpreter<'s> {
    programs: &'s [Vec<Step>],
    threads: Vec<Thread>,
    variables: BTreeMap<usize, usize>,
    /// Blocked activators per process, oldest first.
    activators: Vec<VecDeque<usize>>,
    mutexes: BTreeMap<usize, (Option<usize>, VecDeque<usize>)>,
    semaphores: BTreeMap<usize, (u64, VecDeque<usize>)>,
    barriers: BTreeMap<usize, Vec<usize>>,
    /// Who waits on each condition variable, oldest first, and with which mutex.
    conditions: BTreeMap<String, VecDeque<(usize, usize)>>,
    rwlocks: BTreeMap<usize, Rwlock>,
    /// What is in each queue.
    queues: BTreeMap<usize, u64>,
    arrived: usize,
    generation: u64,
    barrier_size: usize,
    text: String,
    now: u64,
}

/// Runs programs on one CPU; thread 0 is there from the beginning. `None` where they deadlock.
pub fn record(programs: &[Vec<Step>], barrier_size: usize) -> Option<Recording> {
    let mut text = String::from("foretrace-text 1\n");
    for index in 0..programs.len() {
        writeln!(text, "process T{index} priority {}", programs.len() - index).expect("a string");
    }
    let mut interpreter = Interpreter {
        programs,
        threads: programs.iter().map(|_| Thread::default()).collect(),
        variables: BTreeMap::new(),
        activators: vec![VecDeque::new(); programs.len()],
        mutexes: BTreeMap::new(),
        semaphores: BTreeMap::new(),
        barriers: BTreeMap::new(),
        conditions: BTreeMap::new(),
        rwlocks: BTreeMap::new(),
        queues: BTreeMap::new(),
        arrived: 0,
        generation: 0,
        barrier_size,
        text,
        now: 0,
    };
    interpreter.threads[0].born = true;
    while let Some(thread) = interpreter.highest() {
        interpreter.step(thread);
    }
    let finish: Option<Vec<u64>> = interpreter
        .threads
        .iter()
        .map(|thread| thread.ended)
        .collect();
    Some(Recording {
        text: interpreter.text,
        finish: finish?,
    })
}

impl Interpreter<'_> {
    fn highest(&self) -> Option<usize> {
        self.threads
            .iter()
            .position(|thread| thread.born && !thread.blocked && thread.ended.is_none())
    }

    fn row(&mut self, thread: usize, what: &str) {
        writeln!(self.text, "{} T{thread} {what}", self.now).expect("a string");
    }

    fn step(&mut self, thread: usize) {
        let Some(step) = self.programs[thread]
            .get(self.threads[thread].next)
            .cloned()
        else {
            self.row(thread, "terminate");
            self.threads[thread].ended = Some(self.now);
            for joiner in 0..self.threads.len() {
                let waits = matches!(self.programs[joiner].get(self.threads[joiner].next), Some(Step::Join(t)) if *t == thread);
                if waits && self.threads[joiner].blocked {
                    self.go_on(joiner);
                }
            }
            return;
        };
        match step {
            Step::Work(length) => {
                // Nothing but this thread's own operations changes who is ready, so work is done in one piece.
                self.now += length;
                self.threads[thread].next += 1;
            }
            other => self.operate(thread, &other),
        }
    }

    fn operate(&mut self, thread: usize, step: &Step) {
        let done = match *step {
            Step::Create(child) => {
                self.row(thread, &format!("create T{child}"));
                self.threads[child].born = true;
                true
            }
            Step::Send(to) => self.send(thread, to),
            Step::SendTo(variable) => self.send(thread, self.variables[&variable]),
            Step::Wait | Step::WaitInto(_) => self.wait(thread),
            Step::Lock(mutex) => self.lock(thread, mutex),
            Step::Unlock(mutex) => self.unlock(thread, mutex),
            Step::CondBarrier => return self.cond_barrier(thread),
            Step::Put(queue) => return self.pass(thread, queue, true),
            Step::Take(queue) => return self.pass(thread, queue, false),
            Step::Read(lock) => self.rwlock(thread, lock, false),
            Step::Write(lock) => self.rwlock(thread, lock, true),
            Step::RwUnlock(lock) => self.rwunlock(thread, lock),
            Step::SemWait(semaphore) => {
                self.row(thread, &format!("sem_wait s{semaphore}"));
                let (tokens, queue) = self.semaphores.entry(semaphore).or_default();
                let granted = *tokens > 0;
                if granted {
                    *tokens -= 1;
                } else {
                    queue.push_back(thread);
                }
                granted
            }
            Step::SemPost(semaphore) => {
                self.row(thread, &format!("sem_post s{semaphore}"));
                let (tokens, queue) = self.semaphores.entry(semaphore).or_default();
                match queue.pop_front() {
                    Some(next) => self.go_on(next),
                    None => *tokens += 1,
                }
                true
            }
            Step::Barrier(barrier) => {
                self.row(
                    thread,
                    &format!("barrier_wait b{barrier} {}", self.barrier_size),
                );
                let arrived = self.barriers.entry(barrier).or_default();
                if arrived.len() + 1 == self.barrier_size {
                    for other in std::mem::take(arrived) {
                        self.go_on(other);
                    }
                    true
                } else {
                    arrived.push(thread);
                    false
                }
            }
            Step::Join(child) => {
                self.row(thread, &format!("join T{child}"));
                self.threads[child].ended.is_some()
            }
            Step::Work(_) => unreachable!("work is no operation"),
        };
        if done {
            self.threads[thread].next += 1;
        } else {
            self.threads[thread].blocked = true;
        }
    }

    fn go_on(&mut self, thread: usize) {
        self.threads[thread].blocked = false;
        let within = matches!(
            self.programs[thread].get(self.threads[thread].next),
            Some(Step::CondBarrier | Step::Put(_) | Step::Take(_))
        );
        // A step of several operations goes on where it was.
        if !within {
            self.threads[thread].next += 1;
        }
    }

    fn lock(&mut self, thread: usize, mutex: usize) -> bool {
        self.row(thread, &format!("lock m{mutex}"));
        self.acquire(thread, mutex)
    }

    fn acquire(&mut self, thread: usize, mutex: usize) -> bool {
        let (holder, queue) = self.mutexes.entry(mutex).or_default();
        let free = holder.is_none();
        if free {
            *holder = Some(thread);
        } else {
            queue.push_back(thread);
        }
        free
    }

    fn unlock(&mut self, thread: usize, mutex: usize) -> bool {
        self.row(thread, &format!("unlock m{mutex}"));
        self.release(mutex);
        true
    }

    fn release(&mut self, mutex: usize) {
        let (holder, queue) = self.mutexes.entry(mutex).or_default();
        *holder = queue.pop_front();
        if let Some(next) = *holder {
            self.go_on(next);
        }
    }

    fn cond_wait(&mut self, thread: usize, condition: String, mutex: usize) {
        self.row(thread, &format!("cond_wait {condition} m{mutex}"));
        self.threads[thread].blocked = true;
        self.release(mutex);
        self.conditions
            .entry(condition)
            .or_default()
            .push_back((thread, mutex));
    }

    fn wake(&mut self, thread: usize, condition: &str, all: bool) {
        self.row(
            thread,
            &format!(
                "cond_{} {condition}",
                if all { "broadcast" } else { "signal" }
            ),
        );
        while let Some((woken, mutex)) = self
            .conditions
            .entry(condition.to_owned())
            .or_default()
            .pop_front()
        {
            if self.acquire(woken, mutex) {
                self.go_on(woken);
            }
            if !all {
                break;
            }
        }
    }

    fn finish_step(&mut self, thread: usize) {
        self.threads[thread].phase = 0;
        self.threads[thread].next += 1;
    }

    fn cond_barrier(&mut self, thread: usize) {
        match self.threads[thread].phase {
            0 => {
                self.threads[thread].phase = 1;
                self.threads[thread].blocked = !self.lock(thread, BARRIER_MUTEX);
            }
            1 if self.arrived + 1 == self.barrier_size => {
                self.arrived = 0;
                self.generation += 1;
                self.threads[thread].phase = 3;
                self.wake(thread, "cb", true);
            }
            1 => {
                self.arrived += 1;
                self.threads[thread].generation = self.generation;
                self.threads[thread].phase = 2;
            }
            2 if self.threads[thread].generation == self.generation => {
                self.cond_wait(thread, "cb".to_owned(), BARRIER_MUTEX);
            }
            _ => {
                self.unlock(thread, BARRIER_MUTEX);
                self.finish_step(thread);
            }
        }
    }

    /// Puts into a queue, or takes from it.
    fn pass(&mut self, thread: usize, queue: usize, puts: bool) {
        let mutex = BARRIER_MUTEX + 1 + queue;
        let content = self.queues.entry(queue).or_default();
        let ready = if puts {
            *content < PLACES
        } else {
            *content > 0
        };
        let (waits_for, tells) = if puts {
            ("room", "filled")
        } else {
            ("filled", "room")
        };
        match self.threads[thread].phase {
            0 => {
                self.threads[thread].phase = 1;
                self.threads[thread].blocked = !self.lock(thread, mutex);
            }
            1 if !ready => self.cond_wait(thread, format!("{waits_for}{queue}"), mutex),
            1 => {
                if puts {
                    *content += 1;
                } else {
                    *content -= 1;
                }
                self.threads[thread].phase = 2;
                self.wake(thread, &format!("{tells}{queue}"), false);
            }
            _ => {
                self.unlock(thread, mutex);
                self.finish_step(thread);
            }
        }
    }

    fn rwlock(&mut self, thread: usize, lock: usize, writes: bool) -> bool {
        self.row(
            thread,
            &format!("{} r{lock}", if writes { "wrlock" } else { "rdlock" }),
        );
        let rwlock = self.rwlocks.entry(lock).or_default();
        rwlock.queue.push_back((thread, writes));
        self.let_in(lock).contains(&thread)
    }

    fn rwunlock(&mut self, thread: usize, lock: usize) -> bool {
        self.row(thread, &format!("rwunlock r{lock}"));
        let rwlock = self.rwlocks.entry(lock).or_default();
        if rwlock.writer == Some(thread) {
            rwlock.writer = None;
        } else {
            rwlock.readers -= 1;
        }
        for next in self.let_in(lock) {
            self.go_on(next);
        }
        true
    }

    /// Lets those in who are first in line and may be.
    fn let_in(&mut self, lock: usize) -> Vec<usize> {
        let rwlock = self.rwlocks.entry(lock).or_default();
        let mut admitted = Vec::new();
        while let Some(&(thread, writes)) = rwlock.queue.front() {
            if rwlock.writer.is_some() || (writes && rwlock.readers > 0) {
                break;
            }
            rwlock.queue.pop_front();
            if writes {
                rwlock.writer = Some(thread);
            } else {
                rwlock.readers += 1;
            }
            admitted.push(thread);
        }
        admitted
    }

    fn send(&mut self, thread: usize, to: usize) -> bool {
        self.row(thread, &format!("send X T{to}"));
        if self.threads[to].blocked
            && let Some(step @ (Step::Wait | Step::WaitInto(_))) =
                self.programs[to].get(self.threads[to].next)
        {
            if let Step::WaitInto(variable) = *step {
                self.variables.insert(variable, thread);
            }
            self.go_on(to);
            return true;
        }
        self.activators[to].push_back(thread);
        false
    }

    fn wait(&mut self, thread: usize) -> bool {
        self.row(thread, "wait X");
        let Some(activator) = self.activators[thread].pop_front() else {
            return false;
        };
        if let Some(Step::WaitInto(variable)) = self.programs[thread].get(self.threads[thread].next)
        {
            self.variables.insert(*variable, activator);
        }
        self.go_on(activator);
        true
    }
}
