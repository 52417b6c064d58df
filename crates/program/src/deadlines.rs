//! Until when waits were to last whose time ran out.
//!
//! A recording that knows it says it behind such a wait: how long ago the moment was when the wait was over. On one CPU a thread whose time has run out may
//! wait for the CPU for as long again.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said".

use std::collections::BTreeMap;

use foretrace_trace::{Operation as Op, Outcome, Trace};

use crate::lower::NONE;

/// Until when waits were to last, by event.
#[derive(Default)]
pub(crate) struct Deadlines {
    /// The moments of the waits.
    moments: BTreeMap<u32, u64>,
    /// The wait that each event is about which tells such a moment.
    waits: BTreeMap<u32, u32>,
}

impl Deadlines {
    /// Goes through a recording.
    pub fn of(trace: &Trace) -> Self {
        let mut deadlines = Self::default();
        let tells = |operation| matches!(operation, Op::SleepPast(_));
        if trace.recording.is_none() || !trace.calls.iter().any(|call| tells(call.operation)) {
            return deadlines;
        }
        let of = |event: u32| trace.call(&trace.events[event as usize]);
        // The last two events of each thread.
        let mut latest = vec![[NONE; 2]; trace.threads.len()];
        for (index, event) in (0..).zip(&trace.events) {
            let call = trace.call(event);
            let before = &mut latest[call.thread.index()];
            let [wait, back] = *before;
            if let Op::SleepPast(late) = call.operation
                && wait != NONE
                && of(back).operation == Op::Return
                && of(back).outcome == Outcome::TimedOut
                && of(wait).site == call.site
            {
                deadlines
                    .moments
                    .insert(wait, event.time.0.saturating_sub(late.0));
                deadlines.waits.insert(index, wait);
            }
            *before = [back, index];
        }
        deadlines
    }

    /// Returns the moment until which a wait was to last, if that is known.
    pub fn moment(&self, wait: u32) -> Option<u64> {
        self.moments.get(&wait).copied()
    }

    /// Returns the wait of which an event tells until when it was to last.
    pub fn wait_told_by(&self, event: u32) -> Option<u32> {
        self.waits.get(&event).copied()
    }
}
