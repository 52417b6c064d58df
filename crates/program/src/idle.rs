//! When everybody who was recorded waited.
//!
//! A thread that is blocked in a read from a pipe waits for whoever writes, and that may be a thread of the same recording;
//! so does one that waits for a short time, looks, and waits again.
//! On one CPU the writer's work lies within the wait; on several it would not. What surely came from outside is the time
//! in which no recorded thread could have run.

use foretrace_trace::{Event, Operation, Trace};

use crate::{events::Following, retries::has_time_outs};

/// A thread that works less than one part in so many while it seems to work is waiting in a way that was not recorded.
const LEAST_SHARE: u64 = 64;

/// The time, up to each event, in which some thread could run: it ran, or another or another program had the CPU.
#[derive(Default)]
pub(crate) struct Busy {
    nanos: Vec<u64>,
}

impl Busy {
    /// Goes through a recording; learns nothing from a trace without CPU times, or in which no thread waited so.
    pub fn of(trace: &Trace, next: &Following) -> Self {
        let waits = |operation| {
            matches!(
                operation,
                Operation::Io { .. }
                    | Operation::Sleep
                    | Operation::SleepFor(_)
                    | Operation::Spin(_)
            )
        };
        let has_waits =
            trace.calls.iter().any(|call| waits(call.operation)) || has_time_outs(trace);
        if !has_waits || trace.events.iter().any(|event| event.cpu().is_none()) {
            return Self::default();
        }
        let mut first = vec![None; trace.threads.len()];
        for event in trace.events.iter().rev() {
            first[trace.call(event).thread.index()] = Some(event);
        }
        let mut nanos = Vec::with_capacity(trace.events.len());
        let mut runs = vec![false; trace.threads.len()];
        let (mut running, mut busy, mut time) = (0_usize, 0, 0);
        for (index, event) in trace.events.iter().enumerate() {
            if running > 0 {
                busy += event.time.0.saturating_sub(time);
            }
            time = event.time.0;
            nanos.push(busy);
            let call = trace.call(event);
            let mut set = |thread: usize, now: bool| {
                let before = std::mem::replace(&mut runs[thread], now);
                running = running + usize::from(now) - usize::from(before);
            };
            set(call.thread.index(), works_after(trace, index, next));
            if let Operation::Create(child) = call.operation
                && let Some(first) = first[child.index()]
            {
                set(child.index(), works_between(event, 0, first));
            }
        }
        Self { nanos }
    }

    /// Returns how much of a time between two events everybody waited; all of it where that is not known.
    pub fn idle(&self, length: u64, begin: usize, end: usize) -> u64 {
        let (Some(&before), Some(&after)) = (self.nanos.get(begin), self.nanos.get(end)) else {
            return length;
        };
        length.saturating_sub(after - before)
    }
}

/// Returns whether a thread could run between an event and its next one.
fn works_after(trace: &Trace, index: usize, next: &Following) -> bool {
    let event = &trace.events[index];
    let Some(following) = trace.events.get(next.after(index) as usize) else {
        return false;
    };
    if trace.call(following).operation == Operation::Return {
        return false;
    }
    works_between(event, cpu(event), following)
}

/// Returns whether a thread, which had used so much CPU time by an event, worked until its own that follows.
fn works_between(event: &Event, used: u64, following: &Event) -> bool {
    let worked = cpu(following).saturating_sub(used);
    worked.saturating_mul(LEAST_SHARE) >= following.time.0.saturating_sub(event.time.0)
}

fn cpu(event: &Event) -> u64 {
    event.cpu().unwrap_or_default().0
}
