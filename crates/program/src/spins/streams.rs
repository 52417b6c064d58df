//! Threads that follow another: what one does needs what the other did before, piece by piece.
//!
//! One that looks whether its neighbour has done the next piece, and does its own then, looks in vain now and then. In the recording, on one CPU, the other does many
//! pieces before this one looks again, and then this one does as many. So a wait needs no more than the first of what the other did in it; and as
//! far as the thread comes in its own work until it waits again, so far the other has to come in what it has done by then.
//!
//! Those that wait for each other, as a master and its workers, do not follow.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{SiteId, Trace};

use super::{enders::Enders, rows::Row};
use crate::shares::Shares;

/// What a thread does between two waits needs in so many pieces what the other does.
const PIECES: u64 = 8;

/// Pieces are no shorter than so many nanoseconds.
const SHORTEST: u64 = 20_000;

/// Who follows looks in vain so often at least: who did once or twice may have waited for something else, and for anybody.
const LEAST: usize = 3;

/// Who waits for so many others, at least, may wait for any.
const MANY: usize = 3;

/// What a thread needs of another before it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// Who needs it, and the CPU time that it has used by then.
    pub follower: u32,
    pub at: u64,
    /// The follower's event before which that is.
    pub event: u32,
    /// Of whom, and the CPU time that this one has to have used.
    pub leader: u32,
    pub used: u64,
}

/// Who follows whom, and what they need.
#[derive(Default)]
pub(super) struct Streams {
    /// How far the other has to come, by the event that begins the last nap of a wait.
    first: BTreeMap<u32, (u32, u64)>,
    /// What is needed between waits.
    pub needs: Vec<Need>,
}

impl Streams {
    /// Finds those of a trace, by what the threads waited for in their rows of looks, and how far all had come at those. `events` are those of each thread.
    pub fn of(
        trace: &Trace,
        events: &[Vec<u32>],
        rows: &[Vec<Row>],
        (enders, shares): (&Enders, &Shares),
    ) -> Self {
        let mut streams = Self::default();
        let followed = Followed::of(enders);
        for (follower, rows) in (0..).zip(rows) {
            let mut by_site: BTreeMap<Option<SiteId>, Vec<&Row>> = BTreeMap::new();
            for row in rows {
                by_site.entry(row.site(trace)).or_default().push(row);
            }
            for (site, rows) in by_site.into_iter().filter(|(_, rows)| rows.len() >= LEAST) {
                let Some(leader) = followed.at(follower, site) else {
                    continue;
                };
                let own = &events[follower as usize];
                for (place, row) in rows.iter().enumerate() {
                    let next = rows.get(place + 1).copied();
                    streams.add(trace, (follower, own), (leader, shares), (row, next));
                }
            }
        }
        streams.keep_to_recording(trace, events);
        streams
    }

    fn add(
        &mut self,
        trace: &Trace,
        (follower, own): (u32, &[u32]),
        (leader, shares): (u32, &Shares),
        (row, next): (&Row, Option<&Row>),
    ) {
        let used = |event: u32| shares.of(event, leader);
        let cpu = |event: u32| trace.events[event as usize].cpu().map(|cpu| cpu.0);
        let ends = row.back.and_then(|back| {
            let last = next.map_or(own.last().copied(), |next| Some(next.begin))?;
            let came = next.map_or_else(|| used(back), |next| used(next.begin))?;
            Some((used(row.look)?, used(back)?, came, cpu(back)?, cpu(last)?))
        });
        let Some((before, after, came, from, to)) = ends else {
            return;
        };
        if after <= before || to <= from {
            return;
        }
        let pieces = ((to - from) / SHORTEST).clamp(1, PIECES);
        let first = before + (after - before) / (2 * pieces);
        self.first.insert(row.end, (leader, first));
        for piece in 1..pieces {
            let part = |from: u64, to: u64| from + to.saturating_sub(from) * piece / pieces;
            let at = part(from, to);
            let event = own.partition_point(|&event| cpu(event).is_some_and(|cpu| cpu < at));
            self.needs.push(Need {
                follower,
                at,
                event: own[event],
                leader,
                used: part(first, came),
            });
        }
    }

    /// Needs no more of others than they had done in the recording.
    fn keep_to_recording(&mut self, trace: &Trace, events: &[Vec<u32>]) {
        let mut wanted: Vec<u32> = self.needs.iter().map(|need| need.event).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let shares = Shares::at(trace, events, &wanted);
        for need in &mut self.needs {
            if let Some(done) = shares.of(need.event, need.leader) {
                need.used = need.used.min(done);
            }
        }
    }

    /// Returns whom a thread follows whose last nap of a wait begins with an event, and how far that one has to come.
    pub fn first(&self, nap: u32) -> Option<(u32, u64)> {
        self.first.get(&nap).copied()
    }
}

/// Whom each thread waits for, where that is one other that does not wait for it in turn.
struct Followed {
    of: BTreeMap<(u32, Option<SiteId>), u32>,
}

impl Followed {
    fn of(enders: &Enders) -> Self {
        let mut all: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let (mut of, mut for_all) = (BTreeMap::new(), BTreeSet::new());
        for ((thread, site), waited_for) in enders.waited_for() {
            if waited_for.is_empty() {
                for_all.insert(thread);
            }
            if waited_for.len() == 1
                && let Some(&other) = waited_for.first()
            {
                of.insert((thread, site), other);
            }
            all.entry(thread).or_default().extend(waited_for);
        }
        of.retain(|&(thread, _), other| !is_mutual(&all, &for_all, (thread, *other)));
        Self { of }
    }

    fn at(&self, thread: u32, site: Option<SiteId>) -> Option<u32> {
        self.of.get(&(thread, site)).copied()
    }
}

/// Returns whether another thread may wait in turn for one that waits for it, directly or not, given whom all wait for, and who waits for all.
fn is_mutual(
    all: &BTreeMap<u32, BTreeSet<u32>>,
    for_all: &BTreeSet<u32>,
    (thread, other): (u32, u32),
) -> bool {
    let reached = waited_for(all, other);
    // Who waits for many waits for anybody, as a master does, though one of them may seldom have ended a wait.
    let threads: BTreeSet<&u32> = all.keys().chain(all.values().flatten()).collect();
    let many = (threads.len() / 2).max(MANY);
    let is_master = |thread: &u32| all.get(thread).is_some_and(|others| others.len() >= many);
    reached.contains(&thread) || !reached.is_disjoint(for_all) || reached.iter().any(is_master)
}

/// Returns a thread, for whom it waits, for whom these wait, and so on.
fn waited_for(all: &BTreeMap<u32, BTreeSet<u32>>, thread: u32) -> BTreeSet<u32> {
    let mut reached = BTreeSet::from([thread]);
    let mut left = vec![thread];
    while let Some(thread) = left.pop() {
        let further = all.get(&thread).into_iter().flatten();
        left.extend(further.copied().filter(|&other| reached.insert(other)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_wait_for_each_other_do_not_follow() {
        let of = |pairs: &[(u32, u32)]| {
            let mut all: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
            for &(thread, other) in pairs {
                all.entry(thread).or_default().insert(other);
            }
            all
        };
        let follows =
            |all: &[(u32, u32)], pair: (u32, u32)| !is_mutual(&of(all), &BTreeSet::new(), pair);
        assert!(follows(&[(3, 2), (2, 1)], (3, 2)));
        assert!(!follows(&[(3, 2), (2, 1), (1, 3)], (3, 2)));
        // A master waits for any of its workers, though the fourth seldom was the one.
        assert!(!follows(&[(0, 1), (0, 2), (0, 3), (4, 0)], (4, 0)));
        assert!(follows(&[(2, 1), (2, 0), (3, 2)], (3, 2)));
        assert!(is_mutual(&of(&[(3, 2)]), &BTreeSet::from([2]), (3, 2)));
    }
}
