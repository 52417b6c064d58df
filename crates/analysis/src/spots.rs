//! Places in a program that predictions speak of: calls, and the code between two calls.

use foretrace_trace::{ObjectId, Operation, SiteId, Trace};

use crate::Constructs;

/// A place in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spot {
    /// Where a thread begins.
    Begin,
    /// Where a call comes from.
    Site(SiteId),
    /// Where that is not known: what is called, by its [name](Constructs::name), and with what.
    Call(&'static str, Option<ObjectId>),
}

/// The code of a thread from one call to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stretch {
    /// Where it begins.
    pub from: Spot,
    /// Where it ends.
    pub to: Spot,
}

/// Where the events of a trace were called.
pub struct Spots<'t> {
    trace: &'t Trace,
    /// The returns from calls, each with its call, in order.
    returns: Vec<(u32, u32)>,
    constructs: Constructs,
}

impl<'t> Spots<'t> {
    /// Goes through a trace.
    pub fn of(trace: &'t Trace) -> Self {
        let mut last: Vec<Option<u32>> = vec![None; trace.threads.len()];
        let mut returns = Vec::new();
        for (number, event) in (0..).zip(&trace.events) {
            let call = trace.call(event);
            let last = &mut last[call.thread.index()];
            match *last {
                Some(before) if call.operation == Operation::Return => {
                    returns.push((number, before));
                }
                _ => *last = Some(number),
            }
        }
        Self {
            trace,
            returns,
            constructs: Constructs::of(trace),
        }
    }

    /// Returns the trace.
    pub fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// Returns the call that an event is, or returns from.
    fn call(&self, event: u32) -> u32 {
        let found = self.returns.binary_search_by_key(&event, |(back, _)| *back);
        found.map_or(event, |place| self.returns[place].1)
    }

    /// Returns where a call was made that an event is, or returns from; nothing for an event that is not in the trace.
    pub fn at(&self, event: u32) -> Option<Spot> {
        let call = self.trace.events.get(self.call(event) as usize)?;
        let call = self.trace.call(call);
        let name = || {
            Spot::Call(
                self.constructs.name(self.trace, call),
                call.operation.object(),
            )
        };
        Some(call.site.map_or_else(name, Spot::Site))
    }
}

/// The code that a thread is in, as it goes from call to call.
pub(crate) struct Walk<'s> {
    spots: &'s Spots<'s>,
    call: Option<u32>,
    at: Spot,
}

impl<'s> Walk<'s> {
    /// Begins where a thread does.
    pub fn new(spots: &'s Spots<'s>) -> Self {
        Self {
            spots,
            call: None,
            at: Spot::Begin,
        }
    }

    /// Returns the last call.
    pub fn at(&self) -> Spot {
        self.at
    }

    /// Returns the code up to the next operation of the thread, by its event; nothing where that belongs to the last call.
    pub fn until(&self, event: u32) -> Option<Stretch> {
        let to = self.spots.at(event).unwrap_or(self.at);
        let from = self.at;
        let is_next = self.call != Some(self.spots.call(event));
        is_next.then_some(Stretch { from, to })
    }

    /// Goes on to the next operation of the thread, and returns the code in between, as [`Self::until`].
    pub fn go_to(&mut self, event: u32) -> Option<Stretch> {
        let stretch = self.until(event);
        if let Some(stretch) = stretch {
            self.at = stretch.to;
        }
        self.call = Some(self.spots.call(event));
        stretch
    }
}
