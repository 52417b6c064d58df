//! What a schedule's operations were: kept with it, for those who look at it without what it was predicted from.

use serde::{Deserialize, Serialize};

use crate::{Contradiction, Marks, Schedule};

/// The operations of a schedule, and where in the source they were called; empty where that is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// When each operation was done, and the event that it came from: a position in [`Self::events`].
    pub marks: Marks,
    /// What events were, by the numbers that marks and segments give them.
    pub events: Vec<Event>,
    /// The names that events have.
    pub names: Vec<String>,
    /// The places that events were called from.
    pub sites: Vec<Site>,
    /// The start routine of each lane, where it is known.
    pub routines: Vec<Option<String>>,
}

/// What an event was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The operation: a position in [`Details::names`].
    pub name: u32,
    /// What sort of thing it is.
    pub class: EventClass,
    /// The lane that did it.
    pub lane: u32,
    /// The object, a position in the schedule's objects.
    pub object: Option<u32>,
    /// The other lane that it is about.
    pub other: Option<u32>,
    /// When it was recorded, in nanoseconds.
    pub recorded_nanos: u64,
    /// Where it was called: a position in [`Details::sites`].
    pub site: Option<u32>,
}

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The function, or the file and offset where nothing better is known.
    pub function: String,
    /// The source file and line, where they are known.
    pub line: Option<(String, u32)>,
    /// The functions that it was called through: name, and file and line.
    pub callers: Vec<(String, Option<(String, u32)>)>,
    /// Why the line is not known, and what helps.
    pub note: Option<String>,
}

/// What sort of thing an event is, as marks show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EventClass {
    /// Takes something: a lock, a token.
    Acquire,
    /// Gives something back.
    Release,
    /// Waits for a signal, a barrier, a message, a thread's end.
    Wait,
    /// Lets waiters go on.
    Signal,
    /// Creates a thread, or ends one.
    Life,
    /// Sends or receives a message.
    Message,
    /// Reads, writes, sleeps.
    Io,
    /// Anything else.
    Other,
}

impl EventClass {
    /// All classes, as legends list them.
    pub const ALL: [Self; 8] = [
        Self::Acquire,
        Self::Release,
        Self::Wait,
        Self::Signal,
        Self::Life,
        Self::Message,
        Self::Io,
        Self::Other,
    ];

    /// Returns its name for legends.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::Wait => "wait",
            Self::Signal => "signal",
            Self::Life => "create, end",
            Self::Message => "message",
            Self::Io => "I/O, sleep",
            Self::Other => "other",
        }
    }
}

impl Details {
    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that they fit a schedule: no position that points nowhere, and marks in order.
    ///
    /// # Errors
    ///
    /// The first contradiction found.
    pub fn check(&self, schedule: &Schedule) -> Result<(), Contradiction> {
        let lanes = schedule.lanes.len();
        for lane in 0..self.marks.lanes().max(self.routines.len()) {
            let marks = self.marks.lane(lane);
            let is_known = |event: &u32| (*event as usize) < self.events.len();
            if lane >= lanes
                || !marks.times.is_sorted()
                || marks.times.last().is_some_and(|last| *last > schedule.end)
                || !marks.events.iter().all(is_known)
            {
                return Err(Contradiction::Marks { lane });
            }
        }
        let within = |position: Option<u32>, of: usize| {
            position.is_none_or(|position| (position as usize) < of)
        };
        let is_sound = |event: &Event| {
            within(Some(event.name), self.names.len())
                && within(Some(event.lane), lanes)
                && within(event.object, schedule.objects.len())
                && within(event.other, lanes)
                && within(event.site, self.sites.len())
        };
        match self.events.iter().position(|event| !is_sound(event)) {
            Some(event) => Err(Contradiction::Event { event }),
            None => Ok(()),
        }
    }
}

/// An operation as the file holds it: how much later than the one before it, and its event's number after that one's. Small
/// numbers take few bytes.
pub(crate) type Step = (u64, i64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{details, two_threads_and_a_lock};

    #[test]
    fn details_that_point_nowhere_are_found() {
        let schedule = two_threads_and_a_lock();
        let after = |change: fn(&mut Details)| {
            let mut details = details();
            change(&mut details);
            details.check(&schedule)
        };
        assert_eq!(after(|_| ()), Ok(()));
        assert!(Details::default().is_empty() && Details::default().check(&schedule).is_ok());
        let event = Err(Contradiction::Event { event: 0 });
        assert_eq!(after(|details| details.events[0].name = 9), event);
        assert_eq!(after(|details| details.events[0].lane = 9), event);
        assert_eq!(after(|details| details.events[0].object = Some(9)), event);
        assert_eq!(after(|details| details.events[0].other = Some(9)), event);
        assert_eq!(after(|details| details.events[0].site = Some(9)), event);
        let marks = |details: &mut Details| details.events.clear();
        assert_eq!(after(marks), Err(Contradiction::Marks { lane: 1 }));
        let many = |details: &mut Details| details.routines = vec![None; 3];
        assert_eq!(after(many), Err(Contradiction::Marks { lane: 2 }));
    }
}
