//! Whose work a thread waits for that looks again and again: who worked in each of its last naps, in which it came.
//!
//! In a nap in which others work by chance, these are others each time. A thread that waits for its neighbour, or for its master, finds that this one worked.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{SiteId, Trace};

use super::rows::Row;
use crate::shares::Shares;

/// So many naps of a thread tell whether the same others worked in most of them.
const FEWEST_NAPS: usize = 8;

/// These worked in so many of ten at least, and more often than the others by so many times the square root of the number of naps, which is no chance.
const MOSTLY: usize = 7;
const CLEARLY: f64 = 1.5;

/// Or they worked in all of them but one in so many, and it is less likely than this that those who come after them in that would by chance.
const MISSES: usize = 12;
const CHANCE: f64 = 0.01;

/// Who worked less in a nap than so many nanoseconds did not do what its thread waits for.
const LEAST_WORK: u64 = 1_000;

/// Whom threads wait for at calls by which they look, where that are always the same.
#[derive(Default)]
pub(super) struct Deciders {
    of: BTreeMap<(u32, Option<SiteId>), BTreeSet<u32>>,
}

/// The naps of a thread at one call, and how often each thread worked in them.
struct Naps {
    count: usize,
    worked: Vec<usize>,
}

impl Deciders {
    /// Finds them by the last naps of all threads' rows, from the first event on that tells when turns end.
    pub fn of(trace: &Trace, rows: &[Vec<Row>], shares: &Shares, told: u32) -> Self {
        let mut naps: BTreeMap<(Option<SiteId>, u32), Naps> = BTreeMap::new();
        for (thread, rows) in (0..).zip(rows) {
            for row in rows.iter().filter(|row| row.end >= told) {
                let Some((before, after)) =
                    row.back.and_then(|back| shares.between(row.look, back))
                else {
                    continue;
                };
                let site = trace.call(&trace.events[row.end as usize]).site;
                let of_thread = naps.entry((site, thread)).or_insert_with(|| Naps {
                    count: 0,
                    worked: vec![0; before.len()],
                });
                of_thread.count += 1;
                let all = before.iter().zip(after).zip(&mut of_thread.worked);
                for (other, ((before, after), worked)) in (0..).zip(all) {
                    let has_worked = after.saturating_sub(*before) >= LEAST_WORK;
                    *worked += usize::from(other != thread && has_worked);
                }
            }
        }
        let mut deciders = Self::default();
        for (&(site, thread), naps) in &naps {
            deciders.of.insert((thread, site), naps.deciders());
        }
        deciders.add_few(&naps);
        deciders
    }

    /// Where most threads wait for one other at a call, each of those does that took few naps there: for the one that worked in most of them.
    fn add_few(&mut self, naps: &BTreeMap<(Option<SiteId>, u32), Naps>) {
        let mut single: BTreeMap<Option<SiteId>, (usize, usize)> = BTreeMap::new();
        for (&(site, thread), naps) in naps {
            let is_single = self.of[&(thread, site)].len() == 1;
            let (singles, all) = single.entry(site).or_default();
            *singles += usize::from(is_single);
            *all += usize::from(naps.count >= FEWEST_NAPS);
        }
        for (&(site, thread), naps) in naps {
            let (singles, all) = single[&site];
            let mostly = naps.mostly().filter(|_| naps.count < FEWEST_NAPS);
            if let Some(other) = mostly
                && singles > 1
                && singles * 2 > all
            {
                self.of.insert((thread, site), BTreeSet::from([other]));
            }
        }
    }

    /// Returns whom a thread waits for at a call; nothing where that is not known.
    pub fn at(&self, thread: u32, site: Option<SiteId>) -> Option<&BTreeSet<u32>> {
        let deciders = self.of.get(&(thread, site));
        deciders.filter(|deciders| !deciders.is_empty())
    }
}

impl Naps {
    /// Returns who worked in most of them, clearly more often than all others.
    fn deciders(&self) -> BTreeSet<u32> {
        let mut counts: Vec<usize> = self.worked.clone();
        counts.retain(|&count| count > 0);
        if counts.len() == 1 {
            counts.push(0);
        }
        counts.sort_unstable();
        let naps = self.count as f64;
        let gap = |pair: &[usize]| (pair[1] - pair[0], pair[1]);
        let Some((gap, from)) = counts.windows(2).map(gap).max() else {
            return BTreeSet::new();
        };
        let is_clear = gap as f64 >= CLEARLY * naps.sqrt() && from * 10 >= self.count * MOSTLY;
        let by_chance = ((from - gap) as f64 / naps).powf(naps);
        let nearly_always = (self.count - from) * MISSES <= self.count && by_chance < CHANCE;
        if self.count < FEWEST_NAPS || !is_clear && !nearly_always {
            return BTreeSet::new();
        }
        let often = (0..).zip(&self.worked).filter(|&(_, &count)| count >= from);
        often.map(|(thread, _)| thread).collect()
    }

    /// Returns who worked in most of them, more often than all others.
    fn mostly(&self) -> Option<u32> {
        let (most, &count) = (0..).zip(&self.worked).max_by_key(|&(_, count)| count)?;
        let is_alone = self.worked.iter().filter(|&&other| other == count).count() == 1;
        (is_alone && count * 10 >= self.count * MOSTLY).then_some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deciders(count: usize, worked: &[usize]) -> Vec<u32> {
        let worked = worked.to_vec();
        Naps { count, worked }.deciders().into_iter().collect()
    }

    #[test]
    fn who_works_in_nearly_all_naps_is_waited_for() {
        // A neighbour, a master whose workers work in most naps, too, and two neighbours.
        assert_eq!(deciders(46, &[11, 45, 0, 22, 19]), [1]);
        assert_eq!(deciders(39, &[39, 0, 23, 29, 28]), [0]);
        assert_eq!(deciders(12, &[12, 0, 0]), [0]);
        assert_eq!(deciders(60, &[43, 45, 0, 12, 19]), [0, 1]);
    }

    #[test]
    fn nobody_is_waited_for_alone_where_the_last_one_is_another_each_time() {
        assert!(deciders(37, &[25, 30, 26, 27, 29, 0]).is_empty());
        assert!(deciders(7, &[7, 0, 1, 1]).is_empty(), "too few naps");
        assert!(deciders(9, &[]).is_empty());
    }

    #[test]
    fn of_few_naps_the_one_is_told_who_worked_in_most_of_them() {
        let mostly = |count, worked: &[usize]| {
            let worked = worked.to_vec();
            Naps { count, worked }.mostly()
        };
        assert_eq!(mostly(7, &[0, 6, 4, 4]), Some(1));
        assert_eq!(mostly(7, &[0, 4, 3, 3]), None);
        assert_eq!(mostly(3, &[3, 3]), None);
    }
}
