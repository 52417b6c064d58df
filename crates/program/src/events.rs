//! What is known of a trace's events before they are lowered.

use std::rc::Rc;

use foretrace_trace::{Operation, Outcome, Trace};

use crate::lower::NONE;

/// What one sweep over the events, from the last to the first, finds.
pub(crate) struct Sweep {
    /// The next event of the same thread.
    pub next: Rc<Following>,
    /// The events whose thread's next event is their return.
    pub is_answered: EventSet,
    /// How many events each thread has.
    pub per_thread: Vec<u32>,
    /// How many events make each call.
    pub times: Vec<u32>,
}

/// What an event says to the one before it in its thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// It is no return.
    None,
    /// It is a return.
    Plain,
    /// It is one that says that the thread was chosen.
    Chosen,
}

impl Sweep {
    pub fn new(trace: &Trace) -> Self {
        let threads = trace.threads.len();
        let mut next = Following::none(trace.events.len());
        let mut is_answered = EventSet::none(trace.events.len());
        let mut per_thread = vec![0; threads];
        let mut times = vec![0; trace.calls.len()];
        // The thread of each call, and how it answers and may be answered: all that one needs of the calls, near together.
        let calls = trace.calls.iter();
        let calls: Vec<(u32, Answer, bool)> = calls
            .map(|call| {
                let answer = match (call.operation, call.outcome) {
                    (Operation::Return, Outcome::Chosen) => Answer::Chosen,
                    (Operation::Return, _) => Answer::Plain,
                    _ => Answer::None,
                };
                let takes_chosen = call.is_answered_by(Outcome::Chosen);
                (call.thread.0, answer, takes_chosen)
            })
            .collect();
        let mut following = vec![(NONE, Answer::None); threads];
        for (index, event) in trace.events.iter().enumerate().rev() {
            let (thread, own, takes_chosen) = calls[event.call.index()];
            times[event.call.index()] += 1;
            per_thread[thread as usize] += 1;
            let (after, answer) =
                std::mem::replace(&mut following[thread as usize], (index as u32, own));
            next.set_from_last(index, after);
            if answer == Answer::Plain || answer == Answer::Chosen && takes_chosen {
                is_answered.insert(index);
            }
        }
        next.far.reverse();
        Self {
            next: Rc::new(next),
            is_answered,
            per_thread,
            times,
        }
    }
}

/// The event that follows each event, in two bytes where it is not far away.
pub(crate) struct Following {
    /// How many events later it is; [`NOTHING`] or [`FAR`] else.
    steps: Vec<u16>,
    /// Those that are far away, by event.
    far: Vec<(u32, u32)>,
}

const NOTHING: u16 = 0;
const FAR: u16 = u16::MAX;

impl Following {
    fn none(events: usize) -> Self {
        Self {
            steps: vec![NOTHING; events],
            far: Vec::new(),
        }
    }

    /// Sets what follows an event, of each event after those behind it.
    fn set_from_last(&mut self, event: usize, next: u32) {
        if next == NONE {
            return;
        }
        let steps = u16::try_from(next as usize - event).unwrap_or(FAR);
        self.steps[event] = steps;
        if steps == FAR {
            self.far.push((event as u32, next));
        }
    }

    /// Returns whether an event's thread made no further call: nothing follows, or its end.
    pub fn is_last_call(&self, trace: &Trace, event: usize) -> bool {
        let next = trace.events.get(self.after(event) as usize);
        next.is_none_or(|next| trace.call(next).operation == Operation::Terminate)
    }

    /// Returns the event that follows an event; [`NONE`] where there is none, or no such event.
    #[inline]
    pub fn after(&self, event: usize) -> u32 {
        match self.steps.get(event) {
            None | Some(&NOTHING) => NONE,
            Some(&FAR) => {
                let place = self
                    .far
                    .binary_search_by_key(&event, |&(event, _)| event as usize);
                place.map_or(NONE, |place| self.far[place].1)
            }
            Some(&steps) => event as u32 + u32::from(steps),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_is_found_however_far_it_is() {
        let mut following = Following::none(200_000);
        let pairs = [
            (7, 199_999),
            (8, 9),
            (9, 65_543),
            (10, 65_545),
            (11, 65_547),
        ];
        for (event, next) in pairs.into_iter().rev() {
            following.set_from_last(event, next);
        }
        following.far.reverse();
        for (event, next) in pairs {
            assert_eq!(following.after(event), next);
        }
        assert_eq!(
            (following.after(12), following.after(200_000)),
            (NONE, NONE)
        );
    }
}
