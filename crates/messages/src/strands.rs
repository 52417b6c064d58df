//! Calls of MPI that several threads of a rank are in at the same time.
//!
//! A rank is replayed as one sequence of operations. Where one of its threads waits in MPI while others go on, what it began there is begun at
//! its call, and waited for where the thread was heard of next. In that order the recording itself came to its end, so that
//! no rank waits for one whose turn never comes.

use std::collections::HashSet;

use foretrace_trace::{Operation as Event, Trace};

use crate::Operation;

/// What a thread is in.
#[derive(Clone, Debug, Default)]
struct Call {
    /// The trace's event.
    event: u32,
    /// What ends it.
    waits: Vec<Operation>,
    /// How many requests are its own.
    requests: u32,
}

/// The calls that the threads of ranks are in.
pub(crate) struct Strands {
    /// Of each thread; nothing of those that are the only ones of their ranks to call MPI.
    calls: Vec<Option<Call>>,
    /// The first request of the first thread, and how many are each thread's.
    first_request: u32,
    requests: u32,
}

impl Strands {
    /// Finds the threads that share their rank's calls. Requests from this number on are nobody's.
    pub fn new(trace: &Trace, owners: &[Option<u32>], unused_request: u32) -> Self {
        let mut callers = HashSet::new();
        for event in &trace.events {
            let call = trace.call(event);
            if matches!(call.operation, Event::Message(_)) {
                callers.insert(call.thread.index());
            }
        }
        let of_rank = |rank| {
            callers
                .iter()
                .filter(|&&of| owners[of] == Some(rank))
                .count()
        };
        let shares = |(thread, owner): (usize, &Option<u32>)| {
            let shares = callers.contains(&thread) && owner.is_some_and(|rank| of_rank(rank) > 1);
            shares.then(Call::default)
        };
        let points = trace.messages.iter();
        let points = points.map(|message| message.action.points().count()).max();
        Self {
            calls: owners.iter().enumerate().map(shares).collect(),
            first_request: unused_request,
            requests: points.unwrap_or_default() as u32 + 1,
        }
    }

    /// Begins a thread's call, the event of this number. Returns whether what it waits for is to be told to [`later`](Self::later).
    pub fn begin(&mut self, thread: usize, event: u32) -> bool {
        let Some(call) = &mut self.calls[thread] else {
            return false;
        };
        call.event = event;
        call.requests = 0;
        true
    }

    /// Returns a request for something that a thread's call begins and ends.
    pub fn request(&mut self, thread: usize) -> u32 {
        let call = self.calls[thread].get_or_insert_default();
        let number = call.requests;
        call.requests += 1;
        self.first_request + thread as u32 * self.requests + number
    }

    /// Takes what a thread's call waits for.
    pub fn later(&mut self, thread: usize, operations: impl Iterator<Item = Operation>) {
        let call = self.calls[thread].get_or_insert_default();
        call.waits.extend(operations);
    }

    /// Ends the call that a thread is in, where it waits for something: returns its event, and what that is.
    pub fn end(&mut self, thread: usize) -> Option<(u32, Vec<Operation>)> {
        let call = self.calls[thread].as_mut()?;
        let waits = std::mem::take(&mut call.waits);
        (!waits.is_empty()).then_some((call.event, waits))
    }
}
