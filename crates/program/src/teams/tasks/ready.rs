//! Which of the tasks that are there is begun next, as GCC's and LLVM's libraries choose.
//!
//! # Source
//!
//! GCC's libgomp, `task.c` and `priority_queue.h`: all tasks of a team are in a queue, the first of which whoever waits at a barrier begins, and those made in
//! one task in another, the newest first, from which that task's thread begins some while it waits for them. LLVM's openmp, `kmp_tasking.cpp`: each thread has a queue of its own,
//! begins what it made last, and has the oldest of another's when its own is empty; what it must not begin while one of its tasks waits it leaves there.

use std::collections::VecDeque;

/// Whose library deals the tasks out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    Gcc,
    Llvm,
}

/// Which tasks a member begins while another of its own waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Any,
    /// Those that were made in this one.
    Children(usize),
    /// These, and those that were made in them.
    Descendants(usize),
}

/// The tasks that are made and not begun.
pub(super) struct Ready {
    runtime: Runtime,
    /// In GCC's library one for all; in LLVM's one for each member. The oldest are first, with their numbers.
    queues: Vec<VecDeque<(u32, usize)>>,
    /// Those of GCC's that were made in each task, the oldest first.
    children: Vec<Vec<usize>>,
    is_begun: Vec<bool>,
    count: u32,
}

impl Ready {
    /// None of so many tasks, in a team of so many members.
    pub fn new(runtime: Runtime, tasks: usize, members: usize) -> Self {
        let queues = match runtime {
            Runtime::Gcc => 1,
            Runtime::Llvm => members,
        };
        Self {
            runtime,
            queues: vec![VecDeque::new(); queues],
            children: match runtime {
                Runtime::Gcc => vec![Vec::new(); tasks],
                Runtime::Llvm => Vec::new(),
            },
            is_begun: vec![false; tasks],
            count: 0,
        }
    }

    /// Adds a task that was made in another, by a member or because of what it did.
    pub fn add(&mut self, task: usize, parent: Option<usize>, member: usize) {
        self.count += 1;
        let queue = member % self.queues.len();
        self.queues[queue].push_back((self.count, task));
        if let (Runtime::Gcc, Some(parent)) = (self.runtime, parent) {
            self.children[parent].push(task);
        }
    }

    /// Takes the task that a member begins next, if there is one that it may; `is_within` tells whether a task was made in another or its
    /// descendants.
    pub fn take(
        &mut self,
        member: usize,
        takes: Takes,
        is_within: impl Fn(usize, usize) -> bool,
    ) -> Option<usize> {
        let may = |task: usize| match takes {
            Takes::Any => true,
            Takes::Children(waiting) | Takes::Descendants(waiting) => is_within(task, waiting),
        };
        let task = match self.runtime {
            Runtime::Gcc => self.take_gccs(takes, may),
            Runtime::Llvm => self
                .take_own(member, may)
                .or_else(|| self.steal(member, may)),
        }?;
        self.is_begun[task] = true;
        Some(task)
    }

    fn take_gccs(&mut self, takes: Takes, may: impl Fn(usize) -> bool) -> Option<usize> {
        if let Takes::Children(waiting) = takes {
            loop {
                let task = self.children[waiting].pop()?;
                if !self.is_begun[task] {
                    return Some(task);
                }
            }
        }
        let queue = &mut self.queues[0];
        while queue.front().is_some_and(|&(_, task)| self.is_begun[task]) {
            queue.pop_front();
        }
        if takes == Takes::Any {
            return queue.pop_front().map(|(_, task)| task);
        }
        let mut newest = queue.iter().rev();
        newest
            .find(|&&(_, task)| !self.is_begun[task] && may(task))
            .map(|&(_, task)| task)
    }

    fn take_own(&mut self, member: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
        let queue = &mut self.queues[member];
        let &(_, newest) = queue.back().filter(|&&(_, task)| may(task))?;
        queue.pop_back();
        Some(newest)
    }

    /// Takes what was made first of all that others have.
    fn steal(&mut self, member: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
        let others = self.queues.iter().enumerate();
        let others = others.filter(|&(other, _)| other != member);
        let oldest = others.filter_map(|(other, queue)| {
            let place = queue.iter().position(|&(_, task)| may(task))?;
            Some((queue[place].0, other, place))
        });
        let (_, other, place) = oldest.min()?;
        self.queues[other].remove(place).map(|(_, task)| task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks 1 and 2 were made in 0, by the first member, and 3 in 1, by the second.
    fn ready(runtime: Runtime) -> Ready {
        let mut ready = Ready::new(runtime, 4, 2);
        for (task, parent, member) in [(1, 0, 0), (2, 0, 0), (3, 1, 1)] {
            ready.add(task, Some(parent), member);
        }
        ready
    }

    fn is_within(task: usize, other: usize) -> bool {
        other == 0 || (task, other) == (3, 1)
    }

    #[test]
    fn gccs_library_begins_the_oldest_at_a_barrier_and_the_newest_child_elsewhere() {
        let mut tasks = ready(Runtime::Gcc);
        let mut takes = |takes| tasks.take(1, takes, is_within);
        assert_eq!(takes(Takes::Children(0)), Some(2));
        assert_eq!(takes(Takes::Any), Some(1));
        assert_eq!(takes(Takes::Children(0)), None);
        assert_eq!(takes(Takes::Descendants(0)), Some(3));
        assert_eq!(takes(Takes::Any), None);
    }

    #[test]
    fn llvms_library_begins_its_own_newest_and_the_oldest_of_others() {
        let mut tasks = ready(Runtime::Llvm);
        assert_eq!(tasks.take(0, Takes::Any, is_within), Some(2));
        assert_eq!(tasks.take(1, Takes::Any, is_within), Some(3));
        assert_eq!(tasks.take(1, Takes::Any, is_within), Some(1));
        // Who waits in a task begins nothing that was not made in it.
        let mut tasks = ready(Runtime::Llvm);
        assert_eq!(tasks.take(0, Takes::Descendants(1), is_within), Some(3));
        assert_eq!(tasks.take(1, Takes::Descendants(1), is_within), None);
    }
}
