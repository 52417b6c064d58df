//! Meetings of threads that look at memory: a barrier that spins. Whoever comes last lets all others go on, in a replay another than in the recording.

use std::collections::{BTreeMap, BTreeSet};

use super::Spins;
use crate::{
    Action, GateId, Waiting,
    lower::Lowering,
    sleeps::{GateAt, Place},
};

/// Of those that meet, each waits for so many others at most by itself, and for the rest by the one that came last.
const MOST_OTHERS: usize = 16;

/// Of so many at most, all but one or two look.
const FEW: usize = 8;

/// A time at which threads met: the last look in vain, and the first that was not.
pub(super) type Meeting = (u32, u32);

/// The times at which all met that look at one place.
#[derive(Default)]
pub(super) struct Meetings {
    /// Who looked then, and did not come last.
    looked: BTreeMap<Meeting, BTreeSet<u32>>,
    /// How those wait who look.
    waiting: BTreeMap<Meeting, Waiting>,
    /// Which of these each last nap was of, by the event that begins it.
    by_nap: BTreeMap<u32, Meeting>,
    /// The gates that open when a thread comes to one.
    arrivals: BTreeMap<(Meeting, u32), GateId>,
}

impl Meetings {
    /// Adds the times at which threads met, where a call looks whether all have come that look there: of most naps all but one looked, and that one,
    /// which worked meanwhile, looks there at other times. `naps` are the last ones at that call, as the event that begins each, its thread, and what
    /// others came to in it; `waiting` is how they wait there, and `most_worked` tells which of all threads worked most between two events.
    pub fn add(
        &mut self,
        naps: impl Iterator<Item = (u32, u32, Meeting)>,
        waiting: Waiting,
        most_worked: impl Fn(Meeting) -> Option<u32>,
    ) {
        let mut looked = BTreeMap::<Meeting, BTreeSet<u32>>::new();
        let (mut members, mut by_nap) = (BTreeSet::new(), BTreeMap::new());
        for (nap, thread, meeting) in naps {
            members.insert(thread);
            // The last one may have looked in vain before it came on.
            if most_worked(meeting) != Some(thread) {
                looked.entry(meeting).or_default().insert(thread);
                by_nap.insert(nap, meeting);
            }
        }
        // Who comes right before the last one may go on before it takes a nap; of many, many do.
        let enough = match members.len() {
            few @ ..=FEW => few.saturating_sub(1 + few / FEW),
            many => many / 2,
        };
        let is_one = |&(&meeting, looked): &(&Meeting, &BTreeSet<u32>)| {
            let is_member = most_worked(meeting).is_some_and(|last| members.contains(&last));
            is_member && looked.len() >= enough
        };
        let naps = |(_, looked): (&Meeting, &BTreeSet<u32>)| looked.len();
        let met: usize = looked.iter().filter(is_one).map(naps).sum();
        let all: usize = looked.iter().map(naps).sum();
        if members.len() > 1 && met * 4 >= all * 3 {
            let meetings = looked.keys().map(|&meeting| (meeting, waiting));
            self.waiting.extend(meetings);
            self.looked.append(&mut looked);
            self.by_nap.append(&mut by_nap);
        }
    }

    /// Returns the meeting that a thread waited for in the nap that began with an event.
    pub fn of(&self, nap: usize) -> Option<Meeting> {
        self.by_nap.get(&(nap as u32)).copied()
    }

    /// Returns how those wait for a meeting who look.
    fn waiting(&self, meeting: Meeting) -> Waiting {
        let known = self.waiting.get(&meeting);
        known.copied().unwrap_or(Waiting::Looking)
    }
}

impl Spins {
    /// Returns which thread worked most between two events.
    pub(super) fn most_worked(&self, (from, to): Meeting) -> Option<u32> {
        let worked = |thread: u32| {
            let of = |event| self.shares.of(event, thread).unwrap_or(0);
            of(to).saturating_sub(of(from))
        };
        (0..self.events.len() as u32).max_by_key(|&thread| worked(thread))
    }
}

impl Lowering<'_> {
    /// Opens the gates of the meetings that a thread comes to with a spin that begins and ends with these events.
    pub(super) fn arrive(&mut self, begin: usize, end: usize, thread: u32) {
        if self.spins.meetings.by_nap.is_empty() {
            return;
        }
        let mut event = begin;
        while event <= end {
            if let Some(meeting) = self.spins.meetings.of(event) {
                let arrived = self.arrival_at(meeting, thread);
                self.push_with_work(begin, thread, Action::Open(arrived), 0);
            }
            event = self.next.after(event) as usize;
        }
    }

    /// Returns the gates that a thread waits for at a meeting, and the events that they open at: those of `others`, which let it go on in the recording,
    /// and of all that looked as well.
    pub(super) fn gates_at(
        &mut self,
        meeting: Meeting,
        others: &[Place],
        (begin, thread): (usize, u32),
    ) -> Vec<GateAt> {
        let arrived = self.arrival_at(meeting, thread);
        let waiting = self.spins.meetings.waiting(meeting);
        let mut gates = Vec::new();
        for &place in others {
            let gate = self.meeting_in(place, waiting, arrived);
            gates.push((gate, place.event));
        }
        for other in self.others_at(meeting, thread) {
            gates.push((self.arrival_at(meeting, other), begin as u32));
        }
        gates
    }

    /// Returns the gate that opens when a thread comes to a meeting.
    fn arrival_at(&mut self, meeting: Meeting, thread: u32) -> GateId {
        if let Some(&gate) = self.spins.meetings.arrivals.get(&(meeting, thread)) {
            return gate;
        }
        let waiting = self.spins.meetings.waiting(meeting);
        let gate = self.arrival_of(thread, waiting);
        self.spins.meetings.arrivals.insert((meeting, thread), gate);
        gate
    }

    /// Returns who else looks at a meeting, where they are not too many.
    fn others_at(&self, meeting: Meeting, thread: u32) -> Vec<u32> {
        let looked = self.spins.meetings.looked.get(&meeting);
        let others = looked.into_iter().flatten().copied();
        let others = others.filter(|&other| other != thread && self.spins.waits[other as usize]);
        others.take(MOST_OTHERS).collect()
    }
}
