//! Programs with work pools, as they would be recorded on one CPU under a scheduler with time slices.
//!
//! It shares nothing with the simulator, so that each can be held against the other.

use std::{collections::VecDeque, fmt::Write as _};

/// How the workers get their tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// From a list that is there from the beginning, by an index that a mutex guards; a barrier ends each phase.
    Index,
    /// From the creator, which posts a semaphore for each task and then once for each worker.
    Semaphore,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Pool {
    pub workers: usize,
    /// The length of each task, in nanoseconds, by phase. With a semaphore there is one phase.
    pub phases: Vec<Vec<u64>>,
    pub queue: Queue,
    /// How long a thread runs before the next one's turn, in nanoseconds.
    pub slice: u64,
}

/// The time for which the index is locked.
pub const LOCKED: u64 = 50;

/// The time that the creator needs for each task that it posts.
pub const POST: u64 = 500;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Work(u64),
    Lock,
    /// Unlocks, having taken the next task of the phase if there is one.
    Unlock,
    Barrier,
    Wait,
    Post,
    Create(usize),
    Join(usize),
    End,
}

#[derive(Default)]
struct Thread {
    steps: VecDeque<Step>,
    cpu: u64,
    phase: usize,
    /// Whether its call blocked, so that a row tells that it came back.
    blocked: bool,
    ended: bool,
}

struct Machine<'p> {
    pool: &'p Pool,
    threads: Vec<Thread>,
    ready: VecDeque<usize>,
    holder: Option<usize>,
    lockers: VecDeque<usize>,
    arrived: Vec<usize>,
    taken: usize,
    tokens: usize,
    takers: VecDeque<usize>,
    joiner: Option<usize>,
    now: u64,
    text: String,
}

/// Runs a program on one CPU and returns the recording as a text trace.
pub fn record(pool: &Pool) -> String {
    let mut text = String::from("foretrace-text 1\nreturns explicit\n");
    text += "recording command pool\nrecording exit code 0\nmodule app /bin/app\n";
    text += "thread main\n";
    for worker in 1..=pool.workers {
        writeln!(text, "thread w{worker} start=app+0x100").expect("a string");
    }
    if pool.queue == Queue::Semaphore {
        text += "semaphore s 0\n";
    }
    let mut main: VecDeque<Step> = (1..=pool.workers).map(Step::Create).collect();
    if pool.queue == Queue::Semaphore {
        for _ in 0..pool.phases[0].len() + pool.workers {
            main.extend([Step::Work(POST), Step::Post]);
        }
    }
    main.extend((1..=pool.workers).map(Step::Join));
    main.push_back(Step::End);
    let mut machine = Machine {
        pool,
        threads: (0..=pool.workers).map(|_| Thread::default()).collect(),
        ready: VecDeque::from([0]),
        holder: None,
        lockers: VecDeque::new(),
        arrived: Vec::new(),
        taken: 0,
        tokens: 0,
        takers: VecDeque::new(),
        joiner: None,
        now: 0,
        text,
    };
    machine.threads[0].steps = main;
    while let Some(thread) = machine.ready.pop_front() {
        machine.turn(thread);
    }
    assert!(
        machine.threads.iter().all(|thread| thread.ended),
        "a deadlock"
    );
    machine.text
}

impl Machine<'_> {
    /// Runs a thread for a slice, or until it blocks.
    fn turn(&mut self, thread: usize) {
        if std::mem::take(&mut self.threads[thread].blocked) {
            self.row(thread, "return", "");
        }
        let mut left = self.pool.slice;
        while let Some(step) = self.threads[thread].steps.pop_front() {
            if let Step::Work(length) = step {
                let part = length.min(left);
                self.now += part;
                self.threads[thread].cpu += part;
                left -= part;
                if part < length {
                    self.threads[thread]
                        .steps
                        .push_front(Step::Work(length - part));
                    self.ready.push_back(thread);
                    return;
                }
            } else if !self.operate(thread, step) {
                self.threads[thread].blocked = true;
                return;
            }
        }
        self.threads[thread].ended = true;
    }

    /// Does a step. Returns whether the thread goes on at once.
    fn operate(&mut self, thread: usize, step: Step) -> bool {
        match step {
            Step::Work(_) => unreachable!("work is no operation"),
            Step::Create(child) => {
                self.row(thread, &format!("create w{child}"), "");
                self.threads[child].steps = match self.pool.queue {
                    Queue::Index => VecDeque::from([Step::Lock, Step::Work(LOCKED), Step::Unlock]),
                    Queue::Semaphore => VecDeque::from([Step::Wait]),
                };
                self.ready.push_back(child);
                true
            }
            Step::Lock => {
                self.row(thread, "lock m", " site=app+0x200");
                let free = self.holder.is_none();
                if free {
                    self.holder = Some(thread);
                } else {
                    self.lockers.push_back(thread);
                }
                free
            }
            Step::Unlock => {
                self.row(thread, "unlock m", " site=app+0x210");
                self.holder = self.lockers.pop_front();
                self.ready.extend(self.holder);
                self.take(thread);
                true
            }
            Step::Barrier => {
                self.row(thread, &format!("barrier_wait b {}", self.pool.workers), "");
                self.threads[thread].phase += 1;
                self.arrived.push(thread);
                if self.arrived.len() < self.pool.workers {
                    return false;
                }
                self.taken = 0;
                self.arrived.pop();
                self.ready.extend(std::mem::take(&mut self.arrived));
                true
            }
            Step::Wait => {
                self.row(thread, "sem_wait s", " site=app+0x300");
                let free = self.tokens > 0;
                if free {
                    self.tokens -= 1;
                } else {
                    self.takers.push_back(thread);
                }
                self.take(thread);
                free
            }
            Step::Post => {
                self.row(thread, "sem_post s", " site=app+0x310");
                match self.takers.pop_front() {
                    Some(taker) => self.ready.push_back(taker),
                    None => self.tokens += 1,
                }
                true
            }
            Step::Join(child) => {
                self.row(thread, &format!("join w{child}"), "");
                let ended = self.threads[child].ended;
                self.joiner = (!ended).then_some(child);
                ended
            }
            Step::End => {
                self.row(thread, "terminate", "");
                self.threads[thread].ended = true;
                if self.joiner == Some(thread) {
                    self.ready.push_back(0);
                }
                true
            }
        }
    }

    /// The thread gets the next task, or does what it does when there is none.
    fn take(&mut self, thread: usize) {
        let phase = self.threads[thread].phase;
        let task = self.pool.phases[phase].get(self.taken).copied();
        self.taken += 1;
        let again: &[Step] = match self.pool.queue {
            Queue::Index => &[Step::Lock, Step::Work(LOCKED), Step::Unlock],
            Queue::Semaphore => &[Step::Wait],
        };
        let steps = &mut self.threads[thread].steps;
        match task {
            Some(length) => steps.push_back(Step::Work(length)),
            None if phase + 1 < self.pool.phases.len() => steps.push_back(Step::Barrier),
            None => {
                steps.push_back(Step::End);
                return;
            }
        }
        steps.extend(again);
    }

    fn row(&mut self, thread: usize, what: &str, fields: &str) {
        let name = if thread == 0 {
            "main".to_owned()
        } else {
            format!("w{thread}")
        };
        let cpu = self.threads[thread].cpu;
        writeln!(self.text, "{} {name} {what} cpu={cpu}{fields}", self.now).expect("a string");
    }
}

/// Returns how long the program takes where a free worker takes the next task, with a CPU for each worker. One after the
/// other, workers hold the lock.
pub fn greedy(pool: &Pool, workers: usize) -> u64 {
    let mut now = 0;
    for tasks in &pool.phases {
        let mut free_at = vec![now; workers];
        let mut unlocked = now;
        let mut take = |first: &mut u64, there: u64| match pool.queue {
            Queue::Semaphore => *first = (*first).max(there),
            Queue::Index => {
                *first = (*first).max(unlocked) + LOCKED;
                unlocked = *first;
            }
        };
        for (index, task) in tasks.iter().enumerate() {
            let first = free_at.iter_mut().min().expect("there are workers");
            take(first, POST * (index as u64 + 1));
            *first += task;
        }
        free_at.sort_unstable();
        for (worker, free) in free_at.iter_mut().enumerate() {
            take(free, POST * (tasks.len() + worker + 1) as u64);
        }
        now = free_at.into_iter().max().expect("there are workers");
    }
    now
}
