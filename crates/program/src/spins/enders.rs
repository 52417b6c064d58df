//! Who ended a wait of which several can have: exactly one did what its thread looked for, and it is mostly one that often does.
//!
//! Threads that look wait for a neighbour, for a master, or now for this one and now for that. In a nap in which several worked, each of them can have ended it,
//! as likely as it worked for long. How often a neighbour on this side or that, or a certain thread, can have is known from all naps at a call; so that
//! those in which only one worked tell of the others (by expectation and maximization: Dempster, Laird and Rubin, 1977).
//!
//! Who waits until all others have come somewhere, as a master does, goes on when nobody else can: it waits for all of them.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Operation as Op, SiteId, Trace};

use super::rows::Row;
use crate::{shares::Shares, sleeps::begins_wait};

/// After so many steps the estimate hardly changes.
const STEPS: usize = 40;

/// Nobody is less likely than one in so many, so that a wait by chance does no harm.
const LEAST_LIKELY: f64 = 1.0 / 256.0;

/// If nobody else could go on at the end of so many of ten rows of a thread, it waits for all.
const MOSTLY: usize = 8;

/// Who ended waits, by the events that begin their last naps.
#[derive(Default)]
pub(super) struct Enders {
    of: BTreeMap<u32, Ender>,
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
}

impl Enders {
    /// Finds them among the threads' rows, from the first event on that tells when turns end. `events` are those of each thread.
    pub fn of(
        trace: &Trace,
        (events, rows): (&[Vec<u32>], &[Vec<Row>]),
        shares: &Shares,
        told: u32,
    ) -> Self {
        let mut by_site: BTreeMap<Option<SiteId>, Vec<Nap>> = BTreeMap::new();
        let mut alone: BTreeMap<(u32, Option<SiteId>), (usize, usize)> = BTreeMap::new();
        for (thread, rows) in (0..).zip(rows) {
            for row in rows.iter().filter(|row| row.look >= told) {
                let Some(back) = row.back else {
                    continue;
                };
                let Some((before, after)) = shares.between(row.look, back) else {
                    continue;
                };
                let site = trace.call(&trace.events[row.end as usize]).site;
                let (alone, all) = alone.entry((thread, site)).or_default();
                *alone += usize::from(is_alone(trace, events, (thread, back)));
                *all += 1;
                let worked = (0..).zip(before.iter().zip(after));
                let worked = worked.map(|(other, (&before, &after))| {
                    let nanos = after.saturating_sub(before);
                    (other, nanos as f64)
                });
                let worked = worked.filter(|&(other, nanos)| other != thread && nanos > 0.0);
                by_site.entry(site).or_default().push(Nap {
                    thread,
                    event: row.end,
                    worked: worked.collect(),
                });
            }
        }
        let waits_for_all: BTreeSet<(u32, Option<SiteId>)> = alone
            .into_iter()
            .filter(|&(_, (alone, all))| alone * 10 >= all * MOSTLY)
            .map(|(key, _)| key)
            .collect();
        let mut enders = Self::default();
        for (site, naps) in by_site {
            let likely = Likely::of(&naps, events.len() as u32);
            for nap in naps {
                if waits_for_all.contains(&(nap.thread, site)) {
                    continue;
                }
                if let Some(ender) = likely.ender(&nap) {
                    enders.of.insert(nap.event, ender);
                }
            }
        }
        enders
    }

    /// Returns who ended the wait whose last nap begins with an event; nothing where that was none alone.
    pub fn at(&self, nap: u32) -> Option<Ender> {
        self.of.get(&nap).copied()
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

/// How likely each is to end a wait of a thread: its neighbours, by how far they are from it, or certain threads.
struct Likely {
    threads: u32,
    is_relative: bool,
    of: Vec<f64>,
}

impl Likely {
    /// Estimates it from all naps at a call.
    fn of(naps: &[Nap], threads: u32) -> Self {
        let both = [true, false].map(|is_relative| {
            let mut likely = Self {
                threads,
                is_relative,
                of: vec![1.0; 2 * threads as usize],
            };
            let fit = likely.fit(naps);
            (fit, likely)
        });
        let [(relative, neighbours), (absolute, certain)] = both;
        if relative > absolute {
            neighbours
        } else {
            certain
        }
    }

    fn place(&self, thread: u32, other: u32) -> usize {
        if self.is_relative {
            (self.threads + other - thread) as usize
        } else {
            other as usize
        }
    }

    /// Fits it to naps; returns how likely these are then, as a logarithm.
    fn fit(&mut self, naps: &[Nap]) -> f64 {
        let mut fit = 0.0;
        for _ in 0..STEPS {
            fit = 0.0;
            let mut sum = vec![0.0; self.of.len()];
            for nap in naps.iter().filter(|nap| !nap.worked.is_empty()) {
                let worked: f64 = nap.worked.iter().map(|&(_, nanos)| nanos).sum();
                let weight =
                    |&(other, nanos): &(u32, f64)| self.of[self.place(nap.thread, other)] * nanos;
                let all: f64 = nap.worked.iter().map(weight).sum();
                fit += (all / worked).ln();
                for one in &nap.worked {
                    sum[self.place(nap.thread, one.0)] += weight(one) / all;
                }
            }
            let all: f64 = sum.iter().sum();
            let likely = sum.into_iter().map(|sum| (sum / all).max(LEAST_LIKELY));
            self.of = likely.collect();
        }
        fit
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
