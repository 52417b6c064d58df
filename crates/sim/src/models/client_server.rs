//! The Client-Server model: a thread is a set of short lists, each opened by an acquisition that waits for its
//! recorded releaser; lists may run out of order.
//!
//! A list runs to its end. Then the lowest list whose opening is satisfied runs; where there is none, the thread
//! waits for one. Barriers and joins are fences: all lists before them run first, none after them runs early.
//!
//! # Source
//!
//! VPPB, section 3; the fences and the release half of a condition wait: `docs/models.md`.

use foretrace_program::{Action, PositionSet, Program};

use super::{Model, common_culprit, strict};
use crate::{
    Machine,
    core::{Core, FETCHED_AHEAD, Flow},
    models::order::Order,
};

/// What has been released, and which lists have run.
pub(crate) struct ClientServer {
    order: Order,
    /// The lists whose opening is satisfied and that have not run, of all threads; but for the lowest of each.
    available: PositionSet,
    threads: Vec<Lists>,
}

/// Stands for no list.
const NONE: u32 = u32::MAX;

/// The lists of one thread. A list is named by its opening operation.
struct Lists {
    /// The first operation of the present stretch of lists.
    start: u32,
    /// The fence that ends it; an operation.
    fence: u32,
    /// The lists before that fence that have not run.
    left: u32,
    /// Whether the thread waits for a list.
    idle: bool,
    /// The lowest of those whose opening is satisfied and that have not run. Mostly it is the only one.
    lowest: u32,
    /// How many more there are.
    more: u32,
}

impl Lists {
    fn none() -> Self {
        Self {
            start: 0,
            fence: 0,
            left: 0,
            idle: false,
            lowest: NONE,
            more: 0,
        }
    }

    /// Notes a list whose opening is satisfied.
    fn insert(&mut self, available: &mut PositionSet, opening: u32) {
        let higher = self.lowest.max(opening);
        self.lowest = self.lowest.min(opening);
        if higher != NONE {
            available.insert(higher);
            self.more += 1;
        }
    }

    /// Takes out the lowest list before the fence whose opening is satisfied.
    fn take(&mut self, available: &mut PositionSet) -> Option<u32> {
        let opening = self.lowest;
        if opening >= self.fence {
            return None;
        }
        self.lowest = NONE;
        if self.more > 0
            && let Some(next) = available.first_from(opening)
        {
            available.remove(next);
            self.more -= 1;
            self.lowest = next;
        }
        Some(opening)
    }
}

impl Model for ClientServer {
    fn new(program: &Program, _machine: &Machine) -> Self {
        let mut model = Self {
            order: Order::new(program),
            available: PositionSet::new(program.operations.len()),
            threads: Vec::new(),
        };
        for thread in &program.threads {
            let mut lists = Lists::none();
            let start = thread.operations.start;
            Self::open_stretch(program, &mut model.available, &mut lists, start);
            model.threads.push(lists);
        }
        model
    }

    #[inline(always)]
    fn perform(&mut self, core: &mut Core<'_>, thread: u32) -> Flow {
        let operation = core.threads[thread as usize].position;
        core.program.fetch_dependents(operation + FETCHED_AHEAD);
        match core.threads[thread as usize].mutex_use.get() {
            Some((_, true)) => self.next_list(core, thread),
            Some((_, false)) => {
                self.release(core, thread, operation);
                Flow::Next
            }
            None => self.perform_any(core, thread, operation),
        }
    }

    fn culprit(&self, core: &Core<'_>, thread: u32) -> Option<u32> {
        common_culprit(core, thread)
    }
}

impl ClientServer {
    fn perform_any(&mut self, core: &mut Core<'_>, thread: u32, operation: u32) -> Flow {
        let action = core.action(thread);
        match action {
            _ if action.opens_list() => {
                if let Action::CondWait { .. } = action {
                    self.release(core, thread, operation);
                }
                self.next_list(core, thread)
            }
            _ if action.is_fence() => self.next_list(core, thread),
            Action::Send { .. } => {
                let accepted = self.release(core, thread, operation);
                if accepted {
                    Flow::Next
                } else {
                    strict::block(action)
                }
            }
            _ if action.is_release() => {
                self.release(core, thread, operation);
                Flow::Next
            }
            _ => core.perform(thread, action),
        }
    }

    /// Begins the stretch of lists from an operation to the next fence. Lists that need nothing are available.
    fn open_stretch(program: &Program, available: &mut PositionSet, lists: &mut Lists, from: u32) {
        lists.start = from;
        lists.left = 0;
        for operation in from.. {
            let action = program.operations.action(operation);
            if action.is_fence() {
                lists.fence = operation;
                return;
            }
            if action.opens_list() {
                lists.left += 1;
                if program.requirements_of(operation).is_empty() {
                    lists.insert(available, operation);
                }
            }
        }
    }

    /// At the end of a list: runs the lowest that may run, or the fence when all before it have run.
    #[inline(always)]
    fn next_list(&mut self, core: &mut Core<'_>, thread: u32) -> Flow {
        let lists = &mut self.threads[thread as usize];
        if lists.left == 0 {
            let fence = lists.fence;
            core.move_to(thread, fence);
            let action = core.program.operations.action(fence);
            if action != Action::Terminate {
                Self::open_stretch(core.program, &mut self.available, lists, fence + 1);
            }
            return core.perform(thread, action);
        }
        if let Some(opening) = lists.take(&mut self.available) {
            lists.left -= 1;
            core.move_to(thread, opening);
            strict::accept(core, thread, opening);
            return Flow::Next;
        }
        lists.idle = true;
        let operation = self.awaited_list(core, thread);
        core.move_to(thread, operation);
        strict::block(core.program.operations.action(operation))
    }

    /// Returns the list that an idle thread is shown to wait for: the one that follows where it stands, or, where a
    /// fence does, the lowest of its stretch that is not satisfied. A stretch ends at its fence once, so that is looked for
    /// once.
    fn awaited_list(&self, core: &Core<'_>, thread: u32) -> u32 {
        let position = core.threads[thread as usize].position;
        let operations = &core.program.operations;
        if !operations.action(position).is_fence() {
            return position;
        }
        let start = self.threads[thread as usize].start;
        let waits = |&operation: &u32| {
            operations.action(operation).opens_list()
                && !self.order.is_satisfied(core.program, operation)
        };
        (start..position).find(waits).unwrap_or(position)
    }

    /// A release happens. Lists that it makes available run at once where their thread waits for one; returns whether
    /// that was so.
    fn release(&mut self, core: &mut Core<'_>, thread: u32, operation: u32) -> bool {
        let Self {
            order,
            available,
            threads,
        } = self;
        let mut taken = false;
        order.release(core.program, operation, |waiter, opening| {
            core.program.operations.fetch(opening);
            let lists = &mut threads[waiter as usize];
            if lists.idle && opening < lists.fence {
                lists.idle = false;
                lists.left -= 1;
                core.move_to(waiter, opening);
                core.wake(waiter, thread);
                taken = true;
            } else {
                lists.insert(available, opening);
            }
        });
        taken
    }
}
