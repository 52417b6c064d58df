//! Who does which task: each member of a team has a CPU for itself, and whoever waits begins what is there.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use foretrace_trace::ThreadId;

use super::{
    collect::{Task, Then},
    ready::{Ready, Runtime, Takes},
};

/// A part of a task, done by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub thread: ThreadId,
    pub task: usize,
    pub step: usize,
}

/// Deals out tasks to a crew of threads, each with a task of its own that it begins with. Returns all parts of all tasks, each after what
/// it needs; `None` where some are never done.
pub(super) fn schedule(
    tasks: &[Task],
    crew: &[(ThreadId, usize)],
    runtime: Runtime,
) -> Option<Vec<Part>> {
    let steps: usize = tasks.iter().map(|task| task.steps.len()).sum();
    let mut followers = vec![Vec::new(); tasks.len()];
    for (task, of) in tasks.iter().enumerate() {
        for &before in &of.needs {
            followers[before].push(task);
        }
    }
    let state = |task: &Task| State {
        // That it was made is one more.
        needs: task.needs.len() as u32 + 1,
        ..State::default()
    };
    let mut dealer = Dealer {
        tasks,
        followers,
        states: tasks.iter().map(state).collect(),
        hands: crew
            .iter()
            .map(|&(thread, task)| Hand {
                thread,
                stack: vec![task],
            })
            .collect(),
        ready: Ready::new(runtime, tasks.len(), crew.len()),
        idle: BTreeSet::new(),
        busy: BinaryHeap::new(),
        parts: Vec::with_capacity(steps),
    };
    for hand in 0..crew.len() {
        dealer.go_on(hand, 0);
    }
    while let Some(Reverse((now, _, hand))) = dealer.busy.pop() {
        dealer.end_step(hand, now);
    }
    (dealer.parts.len() == steps).then_some(dealer.parts)
}

struct Dealer<'a> {
    tasks: &'a [Task],
    /// Those that wait for each task's end before they begin.
    followers: Vec<Vec<usize>>,
    states: Vec<State>,
    hands: Vec<Hand>,
    /// Tasks that are made and not begun.
    ready: Ready,
    /// Those who wait and have nothing to do.
    idle: BTreeSet<usize>,
    /// When each of the others is done with its part of a task, and how many parts were begun before that.
    busy: BinaryHeap<Reverse<(u64, usize, usize)>>,
    parts: Vec<Part>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The step that is next.
    next: usize,
    /// How much of what it has to wait for before it begins has not happened.
    needs: u32,
    /// How many tasks that were made in it are not done, and how many that were made in these in turn.
    children: u32,
    descendants: u32,
    waits: Option<Then>,
}

/// A member of the team.
struct Hand {
    thread: ThreadId,
    /// The tasks that it is at, each while the one before waits.
    stack: Vec<usize>,
}

impl Dealer<'_> {
    /// A member is done with a part of a task.
    fn end_step(&mut self, hand: usize, now: u64) {
        let Some(&task) = self.hands[hand].stack.last() else {
            return;
        };
        let then = self.tasks[task].steps[self.states[task].next].then;
        self.states[task].next += 1;
        match then {
            Then::Make(made) => {
                self.states[task].children += 1;
                self.count_descendant(task, 1);
                self.meet_need(made, hand);
                self.go_on(hand, now);
                self.rouse(now);
            }
            Then::End => {
                self.hands[hand].stack.pop();
                if let Some(parent) = self.tasks[task].parent {
                    self.states[parent].children -= 1;
                    self.count_descendant(parent, -1);
                }
                for follower in std::mem::take(&mut self.followers[task]) {
                    self.meet_need(follower, hand);
                }
                self.go_on(hand, now);
                self.rouse(now);
            }
            Then::Wait { .. } | Then::Arrive => {
                self.states[task].waits = Some(then);
                self.go_on(hand, now);
            }
            Then::Unknown => {}
        }
    }

    /// Something happened, by what a member did, that a task has to wait for before it begins.
    fn meet_need(&mut self, task: usize, hand: usize) {
        let needs = &mut self.states[task].needs;
        *needs -= 1;
        if *needs == 0 {
            self.ready.add(task, self.tasks[task].parent, hand);
        }
    }

    fn count_descendant(&mut self, task: usize, change: i32) {
        let mut above = Some(task);
        while let Some(task) = above {
            let count = &mut self.states[task].descendants;
            *count = count.saturating_add_signed(change);
            above = self.tasks[task].parent;
        }
    }

    /// Lets those who had nothing to do look again.
    fn rouse(&mut self, now: u64) {
        if self.idle.is_empty() {
            return;
        }
        for hand in std::mem::take(&mut self.idle) {
            self.go_on(hand, now);
        }
    }

    /// A member goes on with its task, or begins another while that waits.
    fn go_on(&mut self, hand: usize, now: u64) {
        let Some(&task) = self.hands[hand].stack.last() else {
            return;
        };
        let state = &mut self.states[task];
        let (may_go_on, takes) = match state.waits {
            None => (true, Takes::Any),
            Some(Then::Wait { all, helps, .. }) => {
                let left = if all {
                    state.descendants
                } else {
                    state.children
                };
                let takes = if helps {
                    Takes::Descendants(task)
                } else {
                    Takes::Children(task)
                };
                (left == 0, takes)
            }
            Some(_) => (false, Takes::Any),
        };
        if may_go_on {
            state.waits = None;
            self.begin(hand, task, now);
            return;
        }
        let tasks = self.tasks;
        let is_within = |task, other| is_within(tasks, task, other);
        match self.ready.take(hand, takes, is_within) {
            Some(next) => {
                self.hands[hand].stack.push(next);
                self.begin(hand, next, now);
            }
            None => {
                self.idle.insert(hand);
            }
        }
    }

    /// A member begins the next part of a task.
    fn begin(&mut self, hand: usize, task: usize, now: u64) {
        let step = self.states[task].next;
        let part = Part {
            thread: self.hands[hand].thread,
            task,
            step,
        };
        let until = now + self.tasks[task].steps[step].work;
        self.busy.push(Reverse((until, self.parts.len(), hand)));
        self.parts.push(part);
    }
}

/// Returns whether a task was made in another, or in one that was made in that.
fn is_within(tasks: &[Task], task: usize, other: usize) -> bool {
    let mut above = tasks[task].parent;
    while let Some(task) = above {
        if task == other {
            return true;
        }
        above = tasks[task].parent;
    }
    false
}
