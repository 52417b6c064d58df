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

/// So many threads at least show whether they wait alike: for one, or for their neighbours on one side or on both.
const FEWEST_ALIKE: usize = 3;
const BOTH: usize = 2;

/// Fewer naps of a thread do not tell that it waits for another than those beside it.
const TELL: usize = 4;

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
        deciders.add_alike(&naps);
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

    /// Where all threads that look at a call wait for the same one, or each for its neighbour, their naps together tell so sooner than those of each.
    fn add_alike(&mut self, naps: &BTreeMap<(Option<SiteId>, u32), Naps>) {
        let mut by_site: BTreeMap<Option<SiteId>, Vec<(u32, &Naps)>> = BTreeMap::new();
        for (&(site, thread), naps) in naps {
            by_site.entry(site).or_default().push((thread, naps));
        }
        for (site, all) in by_site {
            if all.len() < FEWEST_ALIKE {
                continue;
            }
            let threads = all[0].1.worked.len() as u32;
            let one = together(&all, threads, |_, other| other);
            let neighbours = together(&all, 2 * threads, |thread, other| threads + other - thread);
            let best = |naps: &Naps| naps.worked.iter().copied().max();
            let are_neighbours = best(&neighbours) > best(&one);
            let found = if are_neighbours { neighbours } else { one }.deciders();
            if found.is_empty() || found.len() > BOTH {
                continue;
            }
            for (thread, own) in all {
                let other = |&found: &u32| {
                    if are_neighbours {
                        (found + thread).checked_sub(threads)
                    } else {
                        Some(found)
                    }
                };
                let others = found.iter().filter_map(other);
                // Of very few naps none may have been told right.
                let often = |&other: &u32| {
                    let worked = own.worked.get(other as usize);
                    worked.is_some_and(|&worked| worked * 2 >= own.count || own.count < TELL)
                };
                let mut others: BTreeSet<u32> = others.filter(often).collect();
                if others.is_empty() {
                    // At the end of a row, or where it closes to a ring.
                    others.extend(own.mostly());
                }
                self.of.insert((thread, site), others);
            }
        }
    }

    /// Returns whom a thread waits for at a call; nothing where that is not known.
    pub fn at(&self, thread: u32, site: Option<SiteId>) -> Option<&BTreeSet<u32>> {
        let deciders = self.of.get(&(thread, site));
        deciders.filter(|deciders| !deciders.is_empty())
    }
}

/// Returns the naps of several threads as if they were one's, where `place` tells for which place among so many each of a thread's others stands.
fn together(all: &[(u32, &Naps)], places: u32, place: impl Fn(u32, u32) -> u32) -> Naps {
    let mut sum = Naps {
        count: 0,
        worked: vec![0; places as usize],
    };
    for &(thread, naps) in all {
        sum.count += naps.count;
        for (other, worked) in (0..).zip(&naps.worked) {
            sum.worked[place(thread, other) as usize] += worked;
        }
    }
    sum
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

    /// Returns whom threads wait for, by their numbers, that look at one call so often while the others worked so often.
    fn alike(naps: &[(u32, usize, &[usize])]) -> Vec<(u32, Vec<u32>)> {
        let naps = naps.iter().map(|&(thread, count, worked)| {
            let worked = worked.to_vec();
            ((None, thread), Naps { count, worked })
        });
        let mut deciders = Deciders::default();
        deciders.add_alike(&naps.collect());
        let whom = |((thread, _), others): (_, BTreeSet<u32>)| (thread, Vec::from_iter(others));
        deciders.of.into_iter().map(whom).collect()
    }

    #[test]
    fn few_naps_of_many_threads_tell_that_each_waits_for_its_neighbour() {
        let row: [(u32, usize, &[usize]); 3] = [
            (2, 4, &[0, 4, 0, 2, 3]),
            (3, 6, &[0, 3, 5, 0, 3]),
            (4, 5, &[0, 2, 2, 5, 0]),
        ];
        assert_eq!(alike(&row), [(2, vec![1]), (3, vec![2]), (4, vec![3])]);
        let mut ring = row.to_vec();
        ring.push((1, 5, &[0, 0, 1, 3, 5]));
        assert_eq!(alike(&ring)[0], (1, vec![4]), "it closes");
    }

    #[test]
    fn few_naps_of_many_threads_tell_that_all_wait_for_one() {
        let all: [(u32, usize, &[usize]); 3] = [
            (1, 6, &[6, 0, 2, 4]),
            (2, 6, &[6, 3, 0, 3]),
            (3, 6, &[6, 3, 2, 0]),
        ];
        assert_eq!(alike(&all), [(1, vec![0]), (2, vec![0]), (3, vec![0])]);
        // Whoever comes last, at a barrier.
        let all: [(u32, usize, &[usize]); 3] = [
            (1, 6, &[0, 0, 3, 5]),
            (2, 6, &[0, 4, 0, 5]),
            (3, 6, &[0, 4, 5, 0]),
        ];
        assert_eq!(alike(&all), []);
    }
}
