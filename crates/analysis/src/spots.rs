//! Places in a program that predictions speak of: calls, and the code between two calls.

use foretrace_trace::{ObjectId, Operation, SiteId, Trace};

/// A place in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spot {
    /// Where a thread begins.
    Begin,
    /// Where a call comes from.
    Site(SiteId),
    /// Where that is not known: what is called, by its name in text traces, and with what.
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

impl Spot {
    /// Returns where an event of a trace was called; nothing for what is no call of its own, the return from one.
    pub fn of(trace: &Trace, event: u32) -> Option<Self> {
        let call = trace.call(trace.events.get(event as usize)?);
        if call.operation == Operation::Return {
            return None;
        }
        let name = || Self::Call(call.operation.name(), call.operation.object());
        Some(call.site.map_or_else(name, Self::Site))
    }
}

/// The code that a thread is in, as it goes from call to call.
pub(crate) struct Walk<'t> {
    trace: &'t Trace,
    event: Option<u32>,
    at: Spot,
}

impl<'t> Walk<'t> {
    /// Begins where a thread does.
    pub fn new(trace: &'t Trace) -> Self {
        Self {
            trace,
            event: None,
            at: Spot::Begin,
        }
    }

    /// Returns the last call.
    pub fn at(&self) -> Spot {
        self.at
    }

    /// Returns the code up to the next operation of the thread, by its event; nothing where that belongs to the last call.
    pub fn until(&self, event: u32) -> Option<Stretch> {
        let to = Spot::of(self.trace, event).unwrap_or(self.at);
        let from = self.at;
        (self.event != Some(event)).then_some(Stretch { from, to })
    }

    /// Goes on to the next operation of the thread, and returns the code in between, as [`Self::until`].
    pub fn go_to(&mut self, event: u32) -> Option<Stretch> {
        let stretch = self.until(event);
        if let Some(stretch) = stretch {
            self.at = stretch.to;
        }
        self.event = Some(event);
        stretch
    }
}
