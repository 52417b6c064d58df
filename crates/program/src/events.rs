//! What is known of a trace's events before they are lowered.

use foretrace_trace::{Operation, Trace};

use crate::lower::NONE;

/// What one sweep over the events, from the last to the first, finds.
pub(crate) struct Sweep {
    /// The next event of the same thread, per event; [`NONE`] where there is none.
    pub next: Vec<u32>,
    /// The events whose thread's next event is a return.
    pub is_answered: EventSet,
    /// How many events each thread has.
    pub per_thread: Vec<u32>,
    /// Whether some event makes each call.
    pub used: Vec<bool>,
}

impl Sweep {
    pub fn new(trace: &Trace) -> Self {
        let threads = trace.threads.len();
        let mut sweep = Self {
            next: vec![NONE; trace.events.len()],
            is_answered: EventSet::none(trace.events.len()),
            per_thread: vec![0; threads],
            used: vec![false; trace.calls.len()],
        };
        // The thread of each call, and whether it is a return: all that one needs of the calls, near together.
        let calls = trace.calls.iter();
        let calls: Vec<(u32, bool)> = calls
            .map(|call| (call.thread.0, call.operation == Operation::Return))
            .collect();
        let mut following = vec![(NONE, false); threads];
        for (index, event) in trace.events.iter().enumerate().rev() {
            let (thread, is_return) = calls[event.call.index()];
            sweep.used[event.call.index()] = true;
            sweep.per_thread[thread as usize] += 1;
            let (next, answers) =
                std::mem::replace(&mut following[thread as usize], (index as u32, is_return));
            sweep.next[index] = next;
            if answers {
                sweep.is_answered.insert(index);
            }
        }
        sweep
    }
}

/// A set of events, a bit each.
pub(crate) struct EventSet {
    words: Vec<u64>,
}

impl EventSet {
    fn none(events: usize) -> Self {
        Self {
            words: vec![0; events.div_ceil(64)],
        }
    }

    fn insert(&mut self, event: usize) {
        self.words[event / 64] |= 1 << (event % 64);
    }

    pub fn contains(&self, event: usize) -> bool {
        self.words[event / 64] >> (event % 64) & 1 == 1
    }
}
