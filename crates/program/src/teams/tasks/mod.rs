//! Tasks: a team's members do those that are there whenever they wait, and wait for those that they need.
//!
//! On one CPU, who did which task is chance, and a wait for tasks waits for nobody when its thread did them all itself. So what
//! the members of a team did between two meetings of all is taken apart (`collect`), the tasks are dealt out anew to whoever is
//! free, as if each member had a CPU for itself (`schedule`), each the one that its library would choose (`ready`), and the trace is written as if it had been recorded so (`rewrite`): a task
//! waits until it was made, and who waits for tasks waits for their ends. Every model replays that.
//!
//! Where tasks do anything else than to compute, to lock, and to make and to wait for tasks, all stays as it was recorded.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said". OpenMP 5.2, section 12.9, "Task Scheduling": where threads may begin other tasks, and
//! that one which waits in a task begins only what was made in that.

mod collect;
mod ready;
mod rewrite;
mod schedule;

use foretrace_trace::{Call, Outcome, Trace};

use self::ready::Runtime;
use super::meetings::{Mark, marks};

/// A trace whose teams' tasks are dealt out anew.
pub(crate) struct DealtOut {
    /// The trace.
    pub trace: Trace,
    /// The recorded event that each of its events is, or stands for.
    pub recorded: Vec<u32>,
}

/// Deals out the tasks of a trace's teams; `None` where there are none.
pub(crate) fn deal_out(trace: &Trace) -> Option<DealtOut> {
    let marks = marks(trace);
    let makes = |mark: &Option<_>| matches!(mark, Some((_, Mark::Makes(_))));
    if !marks.iter().any(makes) {
        return None;
    }
    let helps = |call: &Call| call.outcome == Outcome::HELPED;
    let runtime = if trace.calls.iter().any(helps) {
        Runtime::Llvm
    } else {
        Runtime::Gcc
    };
    let blocks = collect::blocks(trace, &marks, runtime);
    (!blocks.is_empty()).then(|| rewrite::rewrite(trace, &marks, &blocks))
}
