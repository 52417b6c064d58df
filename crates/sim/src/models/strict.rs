//! The Strict Sequence model: program order, and every acquisition waits for its recorded releaser. It cannot
//! deadlock.
//!
//! # Source
//!
//! VPPB, section 4.

use foretrace_program::{Action, Program};

use super::{Model, common_culprit, order};
use crate::{
    Machine,
    core::{Core, FETCHED_AHEAD, Flow},
    models::order::Order,
};

/// What has been released.
pub(crate) struct Strict {
    order: Order,
}

impl Model for Strict {
    const IS_LAST: bool = true;

    fn new(program: &Program, _machine: &Machine) -> Self {
        Self {
            order: Order::new(program),
        }
    }

    #[inline(always)]
    fn perform(&mut self, core: &mut Core<'_>, thread: u32) -> Flow {
        let operation = core.threads[thread as usize].position;
        let action = core.action(thread);
        core.program.fetch_requirements(operation + FETCHED_AHEAD);
        core.program.fetch_dependents(operation + FETCHED_AHEAD);
        match action {
            Action::CondWait { .. } => {
                self.release(core, thread, operation);
                self.acquire(core, operation, action)
            }
            Action::Wait(_) => {
                let flow = self.acquire(core, operation, action);
                if flow == Flow::Next {
                    accept(core, thread, operation);
                }
                flow
            }
            Action::Send { .. } => {
                let waits = core.program.dependents_of(operation);
                let accepted = waits
                    .iter()
                    .any(|&wait| core.is_blocked_at(self.order.thread_of(wait), wait));
                self.release(core, thread, operation);
                if accepted { Flow::Next } else { block(action) }
            }
            _ if action.opens_list() => self.acquire(core, operation, action),
            _ if action.is_release() => {
                self.release(core, thread, operation);
                Flow::Next
            }
            _ => core.perform(thread, action),
        }
    }

    fn culprit(&self, core: &Core<'_>, thread: u32) -> Option<u32> {
        common_culprit(core, thread)
    }
}

impl Strict {
    fn acquire(&self, core: &Core<'_>, operation: u32, action: Action) -> Flow {
        if self.order.is_satisfied(core.program, operation) {
            Flow::Next
        } else {
            block(action)
        }
    }

    fn release(&mut self, core: &mut Core<'_>, thread: u32, operation: u32) {
        let Core {
            program,
            threads,
            woken,
            ..
        } = core;
        let is_blocked =
            |waiter: u32, acquisition| threads[waiter as usize].is_blocked_at(acquisition);
        self.order
            .release_to(program, operation, is_blocked, |waiter, _| {
                woken.push((waiter, thread));
            });
    }
}

/// Lets the activator of a satisfied wait go on, which is blocked in its send. Releases of other kinds never block.
#[inline]
pub(crate) fn accept(core: &mut Core<'_>, thread: u32, wait: u32) {
    let program = core.program;
    if !program.operations.accepts() {
        return;
    }
    if !matches!(program.operations.action(wait), Action::Wait(_)) {
        return;
    }
    for &send in program.requirements_of(wait) {
        let activator = order::thread_of(program, send);
        if core.is_blocked_at(activator, send) {
            core.wake(activator, thread);
        }
    }
}

/// Blocks a thread in an acquisition or a send.
pub(crate) fn block(action: Action) -> Flow {
    let (kind, object) = order::wait_of(action);
    Flow::block(kind, object)
}
