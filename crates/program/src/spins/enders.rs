//! Who ended a wait of which several can have: exactly one did what its thread looked for, and it is mostly one that often does.
//!
//! Threads that look wait for a neighbour, for a master, or now for this one and now for that. Each of those ends so many of the naps
//! in which it works: where several worked, each can have ended the wait, as likely as it mostly does. How often neighbours
//! on this side and that, or certain threads, do so is known from all waits at a call, so that naps in which only one worked tell of the others (by expectation
//! and maximization: Dempster, Laird and Rubin, 1977); who often works while others look in vain ends few waits.
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

/// Whoever worked is taken to have ended so many waits more, so that none is impossible.
const AT_LEAST: f64 = 1.0 / 64.0;

/// If nobody else could go on at the end of so many of ten rows of a thread, it waits for all.
const MOSTLY: usize = 8;

/// Who ended waits, by the events that begin their last naps.
#[derive(Default)]
pub(super) struct Enders {
    of: BTreeMap<u32, Ender>,
    /// Whose waits at a call each thread ended, and how many.
    counts: BTreeMap<(u32, Option<SiteId>), BTreeMap<u32, usize>>,
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
    /// Who worked in it, and how much.
    worked: Vec<(u32, f64)>,
    /// In how many naps of the whole wait each worked, at most.
    in_all: Vec<(u32, f64)>,
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
                let site = trace.call(&trace.events[row.end as usize]).site;
                by_site.entry(site).or_default().push((thread, row));
            }
        }
        let mut enders = Self::default();
        for (site, rows) in by_site {
            enders.note_those_for_all(trace, events, (site, &rows));
            let nap = |&(thread, row): &(u32, &Row)| Nap::of(thread, row, shares);
            let some = rows.iter().step_by(rows.len().div_ceil(ASKED));
            let some: Vec<Nap> = some.filter_map(nap).collect();
            let rates = Rates::of(&some, events.len() as u32);
            for nap in rows.iter().filter_map(nap) {
                let at = (nap.thread, site);
                if let Some(ender) = rates.ender(&nap).filter(|_| !enders.for_all.contains(&at)) {
                    enders.of.insert(nap.event, ender);
                    let counts = enders.counts.entry(at).or_default();
                    *counts.entry(ender.thread).or_default() += 1;
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
        for &(thread, row) in rows {
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
}

/// One that ended no more than one in so many of a thread's waits at a call may have been taken for another.
const SELDOM: usize = 5;

impl Enders {
    /// Returns whom the threads wait for at each call; nobody where that are all.
    pub fn waited_for(&self) -> impl Iterator<Item = ((u32, Option<SiteId>), BTreeSet<u32>)> {
        let known = self.counts.iter().map(|(&at, counts)| {
            let all: usize = counts.values().sum();
            let often = counts.iter().filter(|&(_, count)| count * SELDOM > all);
            (at, often.map(|(&other, _)| other).collect())
        });
        let for_all = self.for_all.iter().map(|&at| (at, BTreeSet::new()));
        known.chain(for_all)
    }
}

impl Nap {
    /// Of a row of looks; nothing where it is not over.
    fn of(thread: u32, row: &Row, shares: &Shares) -> Option<Self> {
        let begin = row.begin.min(row.look);
        let worked = worked_between(shares, (row.look, row.back?), (thread, 1))?;
        let before = worked_between(shares, (begin, row.look), (thread, row.count - 1))?;
        Some(Self {
            thread,
            event: row.end,
            in_all: before.into_iter().chain(worked.iter().copied()).collect(),
            worked,
        })
    }
}

/// Returns who else worked between two events, in how many of so many naps at most.
fn worked_between(
    shares: &Shares,
    (from, to): (u32, u32),
    (thread, naps): (u32, u32),
) -> Option<Vec<(u32, f64)>> {
    let (before, after) = shares.between(from, to)?;
    let worked = (0..).zip(before.iter().zip(after));
    let worked = worked.map(|(other, (&before, &after))| {
        let nanos = after.saturating_sub(before);
        (other, (nanos as f64 / WORKED).min(f64::from(naps)))
    });
    let others = worked.filter(|&(other, worked)| other != thread && worked > 0.0);
    Some(others.collect())
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

/// How many of the naps of a thread in which each works it ends: its neighbours, by how far they are from it, or certain threads.
struct Rates {
    threads: u32,
    is_relative: bool,
    of: Vec<f64>,
}

impl Rates {
    /// Estimates them from all naps at a call.
    fn of(naps: &[Nap], threads: u32) -> Self {
        let [neighbours, certain] = [true, false].map(|is_relative| {
            let mut rates = Self {
                threads,
                is_relative,
                of: vec![1.0; 2 * threads as usize],
            };
            let fit = rates.fit(naps);
            (fit, rates)
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
        let mut worked = vec![0.0; self.of.len()];
        for nap in naps {
            for &(other, naps) in &nap.in_all {
                worked[self.place(nap.thread, other)] += naps;
            }
        }
        let mut fit = 0.0;
        for _ in 0..STEPS {
            fit = 0.0;
            let mut ended = vec![AT_LEAST; self.of.len()];
            for nap in naps.iter().filter(|nap| !nap.worked.is_empty()) {
                let all: f64 = nap.worked.iter().map(|one| self.weight(nap, one)).sum();
                fit += all.ln();
                for one in &nap.worked {
                    ended[self.place(nap.thread, one.0)] += self.weight(nap, one) / all;
                }
            }
            let rates = ended.iter().zip(&worked);
            self.of = rates
                .map(|(ended, worked)| ended / (worked + AT_LEAST))
                .collect();
        }
        fit
    }

    /// Returns how likely one who worked in a nap ended it, beside the others.
    fn weight(&self, nap: &Nap, &(other, worked): &(u32, f64)) -> f64 {
        self.of[self.place(nap.thread, other)] * worked
    }

    /// Returns who ended a wait, most likely.
    fn ender(&self, nap: &Nap) -> Option<Ender> {
        let most = nap
            .worked
            .iter()
            .max_by(|one, other| self.weight(nap, one).total_cmp(&self.weight(nap, other)));
        most.map(|&(thread, _)| Ender {
            thread,
            role: self.place(nap.thread, thread),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns who ended waits at one call: of these threads, when those worked in the last nap and those before.
    fn enders(naps: &[(u32, &[u32], &[u32])]) -> Vec<Option<u32>> {
        let all = |threads: &[u32]| threads.iter().map(|&thread| (thread, 1.0)).collect();
        let nap = |&(thread, worked, before): &(u32, &[u32], &[u32])| Nap {
            thread,
            event: 0,
            worked: all(worked),
            in_all: all(&[before, worked].concat()),
        };
        let naps: Vec<Nap> = naps.iter().map(nap).collect();
        let rates = Rates::of(&naps, 5);
        let ender = |nap| rates.ender(nap).map(|ender| ender.thread);
        naps.iter().map(ender).collect()
    }

    #[test]
    fn a_neighbour_ended_waits_where_naps_of_others_tell_so() {
        let row = enders(&[
            (2, &[1], &[]),
            (3, &[2, 4], &[1]),
            (3, &[2], &[4]),
            (4, &[1, 2, 3], &[1, 2]),
            (4, &[3], &[1]),
        ]);
        assert_eq!(row, [1, 2, 2, 3, 3].map(Some));
        let both = enders(&[
            (1, &[2], &[3]),
            (2, &[1], &[4]),
            (2, &[3], &[]),
            (3, &[4], &[1]),
            (3, &[1, 2], &[1]),
            (4, &[1, 3], &[2, 1]),
        ]);
        assert_eq!(both, [2, 1, 3, 4, 2, 3].map(Some));
    }

    #[test]
    fn who_works_while_others_look_in_vain_ends_few_waits() {
        // The workers start when the master has told them to, before one that naps looks again.
        let all = enders(&[
            (1, &[0, 2, 3], &[2, 3, 4]),
            (2, &[0, 1, 4], &[1, 4]),
            (3, &[0, 4], &[1, 2]),
            (4, &[0, 1, 2, 3], &[2, 3]),
        ]);
        assert_eq!(all, [Some(0); 4]);
        assert_eq!(enders(&[(1, &[], &[2])]), [None]);
    }
}
