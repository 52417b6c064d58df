//! How threads ended: by themselves, or with their process.

use std::collections::BTreeMap;

use foretrace_trace::{Nanos, Operation as Call, ProcessId, ThreadId, Trace};

use crate::{events::Following, lower::NONE};

/// How a thread ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    pub last_call: Option<Call>,
    /// Whether it may have ended because its process did.
    pub with_process: bool,
    /// The first thread of its process, in a recording, if that is another one, and none of the process went on after it.
    pub ends_with: Option<ThreadId>,
}

/// A thread's last event.
#[derive(Clone, Copy)]
struct Last {
    index: usize,
    time: Nanos,
    call: Call,
    /// The event before it, and its time.
    before: Option<(usize, Nanos)>,
}

impl Last {
    /// Returns whether it is an end of its thread that came with the end of the process, which is that of its first thread.
    ///
    /// A recording puts such ends where the process ended, or behind the last events of threads that it still had some of then.
    fn is_end_with(&self, first: &Last) -> bool {
        if self.call != Call::Terminate || first.call != Call::Terminate {
            return false;
        }
        let follows_first = first.before.is_none_or(|(index, _)| index < self.index);
        let follows_itself = self.before.is_some_and(|(_, time)| time == self.time);
        self.time == first.time && follows_first || self.time > first.time && follows_itself
    }
}

/// Returns how each thread ended.
pub(crate) fn ends(trace: &Trace, next: &Following) -> Vec<End> {
    let lasts = last_events(trace, next);
    let mut firsts = BTreeMap::new();
    for (index, thread) in trace.threads.iter().enumerate() {
        firsts.entry(thread.process).or_insert(index);
    }
    let ends_all = end_all(trace, &lasts, &firsts);
    let end_of = |(index, last): (usize, &Option<Last>)| {
        let first = firsts[&trace.threads[index].process];
        let with_process = |last: &Last| {
            first != index && lasts[first].is_some_and(|first| last.is_end_with(&first))
        };
        let ends_with = (first != index && ends_all[&trace.threads[index].process])
            .then(|| ThreadId::from_index(first));
        End {
            last_call: last.map(|last| last.call),
            with_process: last.as_ref().is_some_and(with_process),
            ends_with,
        }
    };
    lasts.iter().enumerate().map(end_of).collect()
}

/// Returns of each process whether it ended with its first thread: none of its others went on after that.
fn end_all(
    trace: &Trace,
    lasts: &[Option<Last>],
    firsts: &BTreeMap<ProcessId, usize>,
) -> BTreeMap<ProcessId, bool> {
    let ends = |&first: &usize| {
        let last = lasts[first].as_ref()?;
        (trace.recording.is_some() && last.call == Call::Terminate).then_some(last)
    };
    let mut all: BTreeMap<ProcessId, bool> = firsts
        .iter()
        .map(|(&process, first)| (process, ends(first).is_some()))
        .collect();
    for (thread, last) in trace.threads.iter().zip(lasts) {
        let goes_on = |last: &Last| {
            ends(&firsts[&thread.process])
                .is_some_and(|first| last.index > first.index && !last.is_end_with(first))
        };
        if last.as_ref().is_some_and(goes_on) {
            all.insert(thread.process, false);
        }
    }
    all
}

/// Returns each thread's last event.
fn last_events(trace: &Trace, next: &Following) -> Vec<Option<Last>> {
    let mut lasts = vec![None; trace.threads.len()];
    let mut before = vec![None; trace.threads.len()];
    for (index, event) in trace.events.iter().enumerate() {
        let following = next.after(index);
        let is_last = following == NONE;
        if is_last || next.after(following as usize) == NONE {
            let call = trace.call(event);
            let thread = call.thread.index();
            if is_last {
                lasts[thread] = Some(Last {
                    index,
                    time: event.time,
                    call: call.operation,
                    before: before[thread],
                });
            }
            before[thread] = Some((index, event.time));
        }
    }
    lasts
}
