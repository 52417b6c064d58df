//! Places in a program that predictions speak of: calls, and the code between two calls.

use foretrace_schedule::Segment;
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

/// Where a call is that ends a thread or a rank, which no place in its source need show.
pub const END: Spot = Spot::Call("terminate", None);

/// What an event is to the code around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A call, or part of one, or the return from it: all of the same number.
    Call(u32),
    /// The code after a call begins.
    Code,
}

/// Says of what happens in a prediction, threads' or ranks', where in the program it is. Events are those of the prediction.
pub trait Places {
    /// Returns what an event is.
    fn step(&self, event: u32) -> Step;
    /// Returns where an event's call was made; of code, where the call before it was. Nothing for an event that is not there.
    fn at(&self, event: u32) -> Option<Spot>;
    /// Returns whether it is told when code begins; else what runs after a call is code at once.
    fn tells_code(&self) -> bool;
    /// Returns whether an event could have let another go on that waited so.
    fn could_end(&self, event: u32, waited: &Segment) -> bool;
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

    /// Returns the call that an event is, or returns from.
    fn call(&self, event: u32) -> u32 {
        let found = self.returns.binary_search_by_key(&event, |(back, _)| *back);
        found.map_or(event, |place| self.returns[place].1)
    }
}

impl Places for Spots<'_> {
    fn step(&self, event: u32) -> Step {
        Step::Call(self.call(event))
    }

    fn at(&self, event: u32) -> Option<Spot> {
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

    fn tells_code(&self) -> bool {
        false
    }

    fn could_end(&self, event: u32, waited: &Segment) -> bool {
        let event = self.trace.events.get(event as usize);
        let object = event.and_then(|event| self.trace.call(event).operation.object());
        object.is_some_and(|object| Some(object.0) == waited.object)
    }
}

/// The code that a thread or a rank is in, as it goes from call to call.
pub(crate) struct Walk<'s, P: ?Sized> {
    places: &'s P,
    call: Option<u32>,
    at: Spot,
    in_code: bool,
}

impl<'s, P: Places + ?Sized> Walk<'s, P> {
    /// Begins where a thread does.
    pub fn new(places: &'s P) -> Self {
        Self {
            places,
            call: None,
            at: Spot::Begin,
            in_code: true,
        }
    }

    /// Returns the last call.
    pub fn at(&self) -> Spot {
        self.at
    }

    /// Returns the code up to the next operation, by its event; nothing where that belongs to the last call.
    pub fn until(&self, event: u32) -> Option<Stretch> {
        let is_next = match self.places.step(event) {
            Step::Call(call) => self.call != Some(call),
            Step::Code => false,
        };
        let to = self.places.at(event).unwrap_or(self.at);
        let from = self.at;
        (is_next && self.in_code).then_some(Stretch { from, to })
    }

    /// Returns the code up to the end; nothing where that belongs to the last call.
    pub fn until_end(&self) -> Option<Stretch> {
        let from = self.at;
        self.in_code.then_some(Stretch { from, to: END })
    }

    /// Goes on to the next operation, and returns the code in between, as [`Self::until`].
    pub fn go_to(&mut self, event: u32) -> Option<Stretch> {
        let stretch = self.until(event);
        match self.places.step(event) {
            Step::Call(call) => {
                self.at = self.places.at(event).unwrap_or(self.at);
                self.call = Some(call);
                self.in_code = !self.places.tells_code();
            }
            Step::Code => self.in_code = true,
        }
        stretch
    }
}
