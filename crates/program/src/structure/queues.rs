//! Queues under a mutex whose takers wait for other things, too, or each at a condition variable of its own: who puts and who takes is known by
//! how often.
//!
//! The hypothesis is about the sections of a mutex. Several threads of one start routine wait at some of its calls, and go on with what they took there: each time but
//! the last, which finds that nothing comes any more. At another call other threads put something, always before it is taken, and just as often; and where
//! a thread waits, there is sometimes nothing to take. What else may keep takers back, such as room for what they make, is not known.
//!
//! # Source
//!
//! `docs/models.md`, "Structure".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, SiteId, Trace};

use super::{
    Pattern, Structure,
    plan::{Gift, Need, Plan},
    sections::{Section, Sections},
};
use crate::lower::NONE;

/// So often a thread has to wait where there is nothing to take.
pub(super) const LEAST: usize = 4;

/// The calls of a mutex at which threads wait for the same condition variables.
#[derive(Default)]
pub(super) struct Looks {
    pub conds: BTreeSet<ObjectId>,
    sites: BTreeSet<SiteId>,
}

impl Looks {
    pub fn has(&self, section: &Section) -> bool {
        section.site.is_some_and(|site| self.sites.contains(&site))
    }
}

/// Threads of one start routine that wait at some calls for something to take.
pub(super) struct Takers<'s> {
    pub threads: BTreeSet<u32>,
    /// Where they take, or find that nothing comes any more, in order.
    pub takes: Vec<&'s Section>,
    /// Those that were waiting when the recording ended.
    pub unfinished: Vec<&'s Section>,
}

/// A queue.
pub(super) struct Queue<'s> {
    pub conds: BTreeSet<ObjectId>,
    pub puts: Vec<&'s Section>,
    pub takers: Takers<'s>,
    pub end: End<'s>,
}

/// The end of a queue.
#[derive(Default)]
pub(super) struct End<'s> {
    /// How many takes, the last ones, find nothing any more.
    takes: usize,
    /// What lets these go on.
    by: Option<&'s Section>,
}

/// Tests the hypothesis for the mutexes of condition variables that no other explains, plans what becomes of those for which it holds, and returns their
/// condition variables.
pub(super) fn recognize(
    trace: &Trace,
    sections: &Sections,
    structures: &mut [Structure],
    plan: &mut Plan,
) -> BTreeSet<ObjectId> {
    let mut known = BTreeSet::new();
    let unexplained = structures.iter().filter(|found| found.pattern.is_none());
    let unexplained: BTreeSet<ObjectId> = unexplained.map(|found| found.object).collect();
    if unexplained.is_empty() {
        return known;
    }
    for (_, own) in sections.of_mutexes() {
        let looks = looks_of(&own).into_iter();
        for looks in looks.filter(|looks| looks.conds.is_subset(&unexplained)) {
            let Some(queue) = queue(trace, &own, &looks) else {
                continue;
            };
            let pattern = queue.plan(&own, plan);
            for found in structures.iter_mut() {
                if queue.conds.contains(&found.object) {
                    found.pattern = pattern;
                }
            }
            known.extend(queue.conds);
        }
    }
    known
}

/// Returns the calls that have condition variables in common.
pub(super) fn looks_of(own: &[&Section]) -> Vec<Looks> {
    let mut all: Vec<Looks> = Vec::new();
    for section in own {
        let (Some(cond), Some(site)) = (section.waited, section.site) else {
            continue;
        };
        let has = |looks: &Looks| looks.conds.contains(&cond) || looks.sites.contains(&site);
        if all
            .iter()
            .any(|looks| looks.conds.contains(&cond) && looks.sites.contains(&site))
        {
            continue;
        }
        let (joined, mut others): (Vec<Looks>, Vec<Looks>) = all.into_iter().partition(has);
        let mut looks = Looks {
            conds: BTreeSet::from([cond]),
            sites: BTreeSet::from([site]),
        };
        for other in joined {
            looks.conds.extend(other.conds);
            looks.sites.extend(other.sites);
        }
        others.push(looks);
        all = others;
    }
    all
}

/// Returns who takes at some calls, if these are threads that do the same.
pub(super) fn takers<'s>(trace: &Trace, own: &[&'s Section], looks: &Looks) -> Option<Takers<'s>> {
    let there = own.iter().copied().filter(|section| looks.has(section));
    let (mut takes, unfinished): (Vec<&Section>, Vec<&Section>) =
        there.partition(|section| section.unlock != NONE);
    takes.sort_by_key(|section| section.unlock);
    let threads: BTreeSet<u32> = takes.iter().map(|section| section.thread(trace)).collect();
    // Threads that do different things do not take from the same queue, though they wait in the same function.
    let routine = |&thread: &u32| trace.threads[thread as usize].start_routine;
    let routines: BTreeSet<Option<SiteId>> = threads.iter().map(routine).collect();
    if threads.len() < 2 || routines.len() > 1 || routines.contains(&None) {
        return None;
    }
    let mut all = takes.iter().chain(&unfinished);
    all.all(|section| is_regular(section)).then_some(Takers {
        threads,
        takes,
        unfinished,
    })
}

/// Returns the sections that others than the takers of a queue begin at calls where nobody takes, in order.
pub(super) fn by_others<'s>(
    trace: &Trace,
    own: &[&'s Section],
    (looks, takers): (&Looks, &Takers<'_>),
) -> BTreeMap<SiteId, Vec<&'s Section>> {
    let mut by_site: BTreeMap<SiteId, Vec<&Section>> = BTreeMap::new();
    let mut not_theirs: BTreeSet<SiteId> = BTreeSet::new();
    for section in own.iter().filter(|section| !looks.has(section)) {
        let Some(site) = section.site else {
            continue;
        };
        if takers.threads.contains(&section.thread(trace)) || !is_regular(section) {
            not_theirs.insert(site);
        }
        if section.unlock != NONE {
            by_site.entry(site).or_default().push(section);
        }
    }
    by_site.retain(|site, _| !not_theirs.contains(site));
    for sections in by_site.values_mut() {
        sections.sort_by_key(|section| section.unlock);
    }
    by_site
}

/// Returns the queue from which is taken at some calls, if it is one.
fn queue<'s>(trace: &Trace, own: &[&'s Section], looks: &Looks) -> Option<Queue<'s>> {
    let who = takers(trace, own, looks)?;
    let takes = &who.takes;
    let candidates = by_others(trace, own, (looks, &who)).into_values();
    let queues = candidates.filter_map(|puts| {
        let empty = waits_at_nothing(&puts, takes)?;
        let end = end(trace, own, (looks, takes), &takes[puts.len()..])?;
        (empty >= LEAST).then_some((empty, puts, end))
    });
    // Of several the one that is behind the most waits.
    let (_, puts, end) = queues.max_by_key(|(empty, ..)| *empty)?;
    Some(Queue {
        conds: looks.conds.clone(),
        puts,
        takers: who,
        end,
    })
}

/// Returns whether nothing happened in a section that the hypothesis is not about.
fn is_regular(section: &Section) -> bool {
    !section.odd && !section.ran_out && section.times == 1
}

/// Returns the end of a queue of which some takes find nothing any more; `None` where such a take is not its thread's last, or nothing lets it go on.
pub(super) fn end<'s>(
    trace: &Trace,
    own: &[&'s Section],
    (looks, takes): (&Looks, &[&Section]),
    free: &[&Section],
) -> Option<End<'s>> {
    let Some(first) = free.first() else {
        return Some(End::default());
    };
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    for take in takes {
        last.insert(take.thread(trace), take.unlock);
    }
    let is_last = |take: &&Section| last.get(&take.thread(trace)) == Some(&take.unlock);
    if !free.iter().all(is_last) {
        return None;
    }
    let before = first.unlock;
    let closes = |section: &&Section| {
        let mut signals = section.signals.iter();
        section.unlock < before
            && !looks.has(section)
            && signals.any(|(cond, ..)| looks.conds.contains(cond))
    };
    let closing = own.iter().copied().filter(closes);
    Some(End {
        takes: free.len(),
        by: Some(closing.max_by_key(|section| section.unlock)?),
    })
}

/// Returns how often a thread began to wait where nothing was there; `None` where something was taken before it was put, or more often put than
/// taken.
fn waits_at_nothing(puts: &[&Section], takes: &[&Section]) -> Option<usize> {
    let are_there = puts.iter().zip(takes);
    if takes.len() < puts.len()
        || !are_there
            .clone()
            .all(|(put, take)| put.unlock < take.unlock)
    {
        return None;
    }
    let waits = takes.iter().flat_map(|section| &section.waits);
    let is_empty = |&&(wait, _): &&(u32, u32)| {
        let before =
            |sections: &[&Section]| sections.partition_point(|section| section.unlock < wait);
        before(puts) <= before(takes)
    };
    Some(waits.filter(is_empty).count())
}

impl Queue<'_> {
    /// Plans what becomes of its sections.
    pub fn plan(&self, own: &[&Section], plan: &mut Plan) -> Option<Pattern> {
        let &object = self.conds.first()?;
        for section in own {
            for &(_, signal, _) in section
                .signals
                .iter()
                .filter(|(cond, ..)| self.conds.contains(cond))
            {
                plan.silence(signal);
            }
        }
        let takes = &self.takers.takes;
        let (takes, last) = takes.split_at(takes.len() - self.end.takes);
        for section in takes {
            plan.give_and_take(section, Vec::new(), vec![Need::Tokens(object, 1)]);
        }
        // Who finds nothing any more takes nothing that others need.
        for section in last {
            plan.give_and_take(section, Vec::new(), vec![Need::Gate(object)]);
        }
        for section in &self.takers.unfinished {
            plan.pass(section);
        }
        for section in &self.puts {
            plan.give_at_end(section, Gift::Tokens(object, 1));
        }
        if let Some(section) = self.end.by {
            plan.give_at_end(section, Gift::Gate(object));
        }
        let pattern = Pattern::Semaphore { initial: 0 };
        plan.stays(object, pattern);
        Some(pattern)
    }
}
