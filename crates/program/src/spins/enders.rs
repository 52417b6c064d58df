//! Who ended a wait of which several can have: exactly one did what its thread looked for, and it is mostly one that often does.
//!
//! Threads that look wait for a neighbour, for a master, or now for this one and now for that. In a nap in which several worked, each of them can have ended it,
//! as likely as it mostly does. How often neighbours on this side and that, or certain threads, end waits is known from all naps at a call, so that
//! those in which only one worked tell of the others (by expectation and maximization: Dempster, Laird and Rubin, 1977). Of those who do as often, it was the one
//! that worked for longer.
//!
//! Who waits until all others have come somewhere, as a master does, goes on when nobody else can: it waits for all of them.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Operation as Op, SiteId, Trace};

use super::rows::Row;
use crate::{shares::Shares, sleeps::begins_wait};

/// No more than about so many waits at a call are asked.
const ASKED: usize = 10_000;

/// After so many steps the estimate hardly changes.
const STEPS: usize = 40;

/// Whoever worked for so many nanoseconds in a nap worked in it; less is a part of that.
const WORKED: f64 = 20_000.0;

/// Nobody is less likely than one in so many, so that a wait by chance does no harm.
const LEAST_LIKELY: f64 = 1.0 / 256.0;

/// Whoever ends no more than such a part of the waits at a call may have been taken for another.
const OFTEN: f64 = 0.1;

/// If nobody else could go on at the end of so many of ten rows of a thread, it waits for all.
const MOSTLY: usize = 8;

/// Who ended waits, by the events that begin their last naps.
#[derive(Default)]
pub(super) struct Enders {
    of: BTreeMap<u32, Ender>,
    /// Whom the threads mostly wait for at each call.
    mostly: BTreeMap<(u32, Option<SiteId>), BTreeSet<u32>>,
    /// Those that wait for all.
    for_all: BTreeSet<(u32, Option<SiteId>)>,
}

/// Who ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ender {
    pub thread: u32,
    /// What it is to the one that waited: as its neighbour so far on this side or that, or as that thread. At one call.
    pub role: usize,
}

/// The last nap of a wait.
struct Nap {
    thread: u32,
    event: u32,
    /// Who worked in it, and for how many nanoseconds.
    worked: Vec<(u32, f64)>,
}

impl Enders {
    /// Finds them among the threads' rows, from the first event on that tells when turns end. `events` are those of each thread.
    pub fn of(
        trace: &Trace,
        (events, rows): (&[Vec<u32>], &[Vec<Row>]),
        shares: &Shares,
        told: u32,
    ) -> Self {
        let mut by_site: BTreeMap<Option<SiteId>, Vec<(u32, &Row)>> = BTreeMap::new();
        for (thread, rows) in (0..).zip(rows) {
            for row in rows.iter().filter(|row| row.look >= told) {
                by_site
                    .entry(row.site(trace))
                    .or_default()
                    .push((thread, row));
            }
        }
        let mut enders = Self::default();
        for (site, rows) in by_site {
            enders.note_those_for_all(trace, events, (site, &rows));
            let nap = |&(thread, row): &(u32, &Row)| Nap::of(thread, row, shares);
            let some = rows.iter().step_by(rows.len().div_ceil(ASKED));
            let some: Vec<Nap> = some.filter_map(nap).collect();
            let likely = Likely::of(&some, events.len() as u32);
            for nap in rows.iter().filter_map(nap) {
                let at = (nap.thread, site);
                if let Some(ender) = likely.ender(&nap).filter(|_| !enders.for_all.contains(&at)) {
                    enders.of.insert(nap.event, ender);
                    let mostly = enders.mostly.entry(at);
                    mostly.or_insert_with(|| likely.mostly(nap.thread));
                }
            }
        }
        enders
    }

    /// Notes which threads wait for all at a call.
    fn note_those_for_all(
        &mut self,
        trace: &Trace,
        events: &[Vec<u32>],
        (site, rows): (Option<SiteId>, &[(u32, &Row)]),
    ) {
        let mut counts: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        for &(thread, row) in rows.iter().step_by(rows.len().div_ceil(ASKED)) {
            if let Some(back) = row.back {
                let (alone, all) = counts.entry(thread).or_default();
                *alone += usize::from(is_alone(trace, events, (thread, back)));
                *all += 1;
            }
        }
        counts.retain(|_, (alone, all)| *alone * 10 >= *all * MOSTLY);
        self.for_all
            .extend(counts.into_keys().map(|thread| (thread, site)));
    }

    /// Returns who ended the wait whose last nap begins with an event; nothing where that was none alone.
    pub fn at(&self, nap: u32) -> Option<Ender> {
        self.of.get(&nap).copied()
    }

    /// Returns whom the threads mostly wait for at each call; nobody where that are all, or anybody.
    pub fn waited_for(&self) -> impl Iterator<Item = ((u32, Option<SiteId>), BTreeSet<u32>)> {
        let mostly = self.mostly.iter().map(|(&at, mostly)| (at, mostly.clone()));
        let for_all = self.for_all.iter().map(|&at| (at, BTreeSet::new()));
        mostly.chain(for_all)
    }
}

impl Nap {
    /// Of a row of looks; nothing where it is not over.
    fn of(thread: u32, row: &Row, shares: &Shares) -> Option<Self> {
        let (before, after) = shares.between(row.look, row.back?)?;
        let worked = (0..).zip(before.iter().zip(after));
        let worked = worked.map(|(other, (&before, &after))| {
            let nanos = after.saturating_sub(before);
            (other, nanos as f64)
        });
        let others = worked.filter(|&(other, nanos)| other != thread && nanos > 0.0);
        Some(Self {
            thread,
            event: row.end,
            worked: others.collect(),
        })
    }
}

/// Returns whether nobody else could go on when a thread was back from a nap.
fn is_alone(trace: &Trace, events: &[Vec<u32>], (thread, back): (u32, u32)) -> bool {
    let waits = |own: &Vec<u32>| {
        let next = own.partition_point(|&event| event < back);
        let Some(last) = next.checked_sub(1) else {
            return true;
        };
        let operation = trace.call(&trace.events[own[last] as usize]).operation;
        operation == Op::Terminate
            || operation.is_nap()
            || operation.is_spin()
            || begins_wait(operation)
    };
    let others = (0..).zip(events).filter(|&(other, _)| other != thread);
    others.into_iter().all(|(_, own)| waits(own))
}

/// How many of the waits of threads each ends: their neighbours, by how far they are from them, or certain threads.
struct Likely {
    threads: u32,
    is_relative: bool,
    of: Vec<f64>,
}

impl Likely {
    /// Estimates them from all naps at a call.
    fn of(naps: &[Nap], threads: u32) -> Self {
        let [neighbours, certain] = [true, false].map(|is_relative| {
            let mut likely = Self {
                threads,
                is_relative,
                of: vec![1.0; 2 * threads as usize],
            };
            let fit = likely.fit(naps);
            (fit, likely)
        });
        if neighbours.0 > certain.0 {
            neighbours.1
        } else {
            certain.1
        }
    }

    fn place(&self, thread: u32, other: u32) -> usize {
        if self.is_relative {
            (self.threads + other - thread) as usize
        } else {
            other as usize
        }
    }

    /// Fits them to naps; returns how likely these are then, as a logarithm.
    fn fit(&mut self, naps: &[Nap]) -> f64 {
        let mut fit = 0.0;
        for _ in 0..STEPS {
            fit = 0.0;
            let mut ended = vec![0.0; self.of.len()];
            for nap in naps.iter().filter(|nap| !nap.worked.is_empty()) {
                let weight = |&(other, nanos): &(u32, f64)| {
                    self.of[self.place(nap.thread, other)] * (nanos / WORKED).min(1.0)
                };
                let all: f64 = nap.worked.iter().map(weight).sum();
                fit += all.ln();
                for one in &nap.worked {
                    ended[self.place(nap.thread, one.0)] += weight(one) / all;
                }
            }
            let all: f64 = ended.iter().sum();
            let likely = ended
                .into_iter()
                .map(|ended| (ended / all).max(LEAST_LIKELY));
            self.of = likely.collect();
        }
        fit
    }

    /// Returns who ends waits of a thread not by chance.
    fn mostly(&self, thread: u32) -> BTreeSet<u32> {
        let others = (0..self.threads).filter(|&other| other != thread);
        others
            .filter(|&other| self.of[self.place(thread, other)] >= OFTEN)
            .collect()
    }

    /// Returns who ended a wait, most likely.
    fn ender(&self, nap: &Nap) -> Option<Ender> {
        let weight = |&(other, nanos): &(u32, f64)| self.of[self.place(nap.thread, other)] * nanos;
        let most = nap
            .worked
            .iter()
            .max_by(|one, other| weight(one).total_cmp(&weight(other)));
        most.map(|&(thread, _)| Ender {
            thread,
            role: self.place(nap.thread, thread),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns who ended waits at one call: of these threads, when those worked in the last nap, so many microseconds.
    fn enders(naps: &[(u32, &[(u32, u32)])]) -> Vec<Option<u32>> {
        let nap = |&(thread, worked): &(u32, &[(u32, u32)])| Nap {
            thread,
            event: 0,
            worked: worked
                .iter()
                .map(|&(other, micros)| (other, f64::from(micros) * 1e3))
                .collect(),
        };
        let naps: Vec<Nap> = naps.iter().map(nap).collect();
        let likely = Likely::of(&naps, 5);
        let ender = |nap| likely.ender(nap).map(|ender| ender.thread);
        naps.iter().map(ender).collect()
    }

    #[test]
    fn a_neighbour_ended_waits_where_naps_of_others_tell_so() {
        let row = enders(&[
            (2, &[(1, 500)]),
            (3, &[(2, 700), (4, 900)]),
            (3, &[(2, 30)]),
            (4, &[(1, 900), (2, 900), (3, 500)]),
            (4, &[(3, 500)]),
        ]);
        assert_eq!(row, [1, 2, 2, 3, 3].map(Some));
        let both = enders(&[
            (1, &[(2, 500)]),
            (2, &[(1, 300)]),
            (2, &[(3, 600)]),
            (3, &[(4, 500)]),
            (3, &[(1, 500), (2, 500)]),
            (4, &[(1, 700), (3, 600)]),
        ]);
        assert_eq!(both, [2, 1, 3, 4, 2, 3].map(Some));
    }

    #[test]
    fn a_master_ended_waits_however_little_it_worked() {
        // The workers start when it has told them to, before one that naps looks again.
        let all = enders(&[
            (1, &[(0, 100), (2, 900), (3, 900)]),
            (2, &[(0, 80), (1, 900), (4, 900)]),
            (3, &[(0, 120), (4, 900)]),
            (4, &[(0, 90), (1, 900), (2, 900), (3, 900)]),
            (1, &[(0, 90), (2, 900), (4, 900)]),
        ]);
        assert_eq!(all, [Some(0); 5]);
        assert_eq!(enders(&[(1, &[])]), [None]);
    }
}
