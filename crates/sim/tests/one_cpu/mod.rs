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
}

struct Interpreter<'s> {
    programs: &'s [Vec<Step>],
    threads: Vec<Thread>,
    variables: BTreeMap<usize, usize>,
    /// Blocked activators per process, oldest first.
    activators: Vec<VecDeque<usize>>,
    mutexes: BTreeMap<usize, (Option<usize>, VecDeque<usize>)>,
    semaphores: BTreeMap<usize, (u64, VecDeque<usize>)>,
    barriers: BTreeMap<usize, Vec<usize>>,
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
            Step::Lock(mutex) => {
                self.row(thread, &format!("lock m{mutex}"));
                let (holder, queue) = self.mutexes.entry(mutex).or_default();
                let free = holder.is_none();
                if free {
                    *holder = Some(thread);
                } else {
                    queue.push_back(thread);
                }
                free
            }
            Step::Unlock(mutex) => {
                self.row(thread, &format!("unlock m{mutex}"));
                let (holder, queue) = self.mutexes.entry(mutex).or_default();
                *holder = queue.pop_front();
                if let Some(next) = *holder {
                    self.go_on(next);
                }
                true
            }
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
        self.threads[thread].next += 1;
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
