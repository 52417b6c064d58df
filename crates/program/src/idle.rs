//! How long the recorded CPU had nothing to do.
//!
//! A thread that is blocked in a read from a pipe waits for whoever writes, and that may be a thread of the same recording.
//! On one CPU the writer's work lies within the wait; on several it would not. What surely came from outside is the time
//! in which nobody who was recorded ran.

use foretrace_trace::{FileKind, IoKind, Operation, Outcome, Trace};

/// The CPU time that all threads together had used at the time of each event.
///
/// Between two of its events, a thread's CPU time is taken to grow evenly: whatever keeps a thread from running is an event.
pub(crate) struct Busy {
    at: Vec<u64>,
}

impl Busy {
    /// Adds up a recording's CPU times; nothing for a trace that has none, or in which no thread waited so.
    #[expect(
        clippy::cast_sign_loss,
        reason = "no less than zero by the line itself"
    )]
    pub fn of(trace: &Trace, next: &[u32]) -> Self {
        let waits = |operation| matches!(operation, Operation::Io { .. });
        let has_waits = trace.calls.iter().any(|call| waits(call.operation));
        if !has_waits || trace.events.iter().any(|event| event.cpu.is_none()) {
            return Self { at: Vec::new() };
        }
        let mut at = Vec::with_capacity(trace.events.len());
        // What each thread uses in a nanosecond at present.
        let mut shares = vec![0.0; trace.threads.len()];
        let mut begun = vec![false; trace.threads.len()];
        let (mut time, mut used, mut share) = (0, 0.0, 0.0);
        for (index, event) in trace.events.iter().enumerate() {
            used += share * event.time.0.saturating_sub(time) as f64;
            time = event.time.0;
            let own = event.cpu.unwrap_or_default().0;
            let thread = trace.call(event).thread.index();
            if !std::mem::replace(&mut begun[thread], true) {
                used += own as f64;
            }
            let following = trace.events.get(next[index] as usize);
            let (passes, grows) = following.map_or((0, 0), |following| {
                (
                    following.time.0 - time,
                    following.cpu.unwrap_or_default().0.saturating_sub(own),
                )
            });
            let new = if passes == 0 {
                used += grows as f64;
                0.0
            } else {
                grows as f64 / passes as f64
            };
            share += new - std::mem::replace(&mut shares[thread], new);
            at.push(used.max(0.0).round() as u64);
        }
        Self { at }
    }

    /// Returns how much of a time between two events nobody used; all of it where that is not known.
    pub fn idle(&self, length: u64, begin: usize, end: usize) -> u64 {
        let (Some(&before), Some(&after)) = (self.at.get(begin), self.at.get(end)) else {
            return length;
        };
        length.saturating_sub(after.saturating_sub(before))
    }
}

/// Returns whether a thread of the recording may be what a blocked call waited for. Disks, clocks and people are none.
pub(crate) fn may_wait_for_others(operation: Operation, outcome: Outcome) -> bool {
    let Operation::Io { kind, file } = operation else {
        return false;
    };
    match kind {
        IoKind::Sync => false,
        IoKind::Read | IoKind::Write | IoKind::Copy => matches!(
            file,
            FileKind::Pipe | FileKind::Socket | FileKind::Event | FileKind::Epoll | FileKind::None
        ),
        _ => outcome != Outcome::TimedOut,
    }
}
