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
const LEAST: usize = 4;

/// The calls of a mutex at which threads wait for the same condition variables.
#[derive(Default)]
struct Looks {
    conds: BTreeSet<ObjectId>,
    sites: BTreeSet<SiteId>,
}

impl Looks {
    fn has(&self, section: &Section) -> bool {
        section.site.is_some_and(|site| self.sites.contains(&site))
    }
}

/// A queue.
struct Queue<'s> {
    conds: BTreeSet<ObjectId>,
    puts: Vec<&'s Section>,
    takes: Vec<&'s Section>,
    /// Those that were waiting when the recording ended.
    unfinished: Vec<&'s Section>,
    /// What lets those of its takes go on that find nothing any more, and how many these are.
    close: Option<(&'s Section, u32)>,
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
fn looks_of(own: &[&Section]) -> Vec<Looks> {
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

/// Returns the queue from which is taken at some calls, if it is one.
fn queue<'s>(trace: &Trace, own: &[&'s Section], looks: &Looks) -> Option<Queue<'s>> {
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
    if !all.all(|section| is_regular(section)) {
        return None;
    }
    let mut puts_at: BTreeMap<SiteId, Vec<&Section>> = BTreeMap::new();
    let mut others: BTreeSet<SiteId> = BTreeSet::new();
    for section in own.iter().filter(|section| !looks.has(section)) {
        let Some(site) = section.site else {
            continue;
        };
        if threads.contains(&section.thread(trace)) || !is_regular(section) {
            others.insert(site);
        }
        if section.unlock != NONE {
            puts_at.entry(site).or_default().push(section);
        }
    }
    let candidates = puts_at.into_iter();
    let candidates = candidates.filter(|(site, _)| !others.contains(site));
    let queues = candidates.filter_map(|(_, mut puts)| {
        puts.sort_by_key(|section| section.unlock);
        let empty = waits_at_nothing(&puts, &takes)?;
        let free = &takes[puts.len()..];
        let close = match free.first() {
            Some(_) => Some(close(own, looks, last_takes(trace, free, &takes)?)?),
            None => None,
        };
        (empty >= LEAST).then_some((empty, puts, close))
    });
    // Of several the one that is behind the most waits.
    let (_, puts, close) = queues.max_by_key(|(empty, ..)| *empty)?;
    Some(Queue {
        conds: looks.conds.clone(),
        puts,
        takes,
        unfinished,
        close,
    })
}

/// Returns whether nothing happened in a section that the hypothesis is not about.
fn is_regular(section: &Section) -> bool {
    !section.odd && !section.ran_out && section.times == 1
}

/// Returns takes that find nothing any more, if each is its thread's last.
fn last_takes<'t, 's>(
    trace: &Trace,
    free: &'t [&'s Section],
    takes: &[&Section],
) -> Option<&'t [&'s Section]> {
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    for take in takes {
        last.insert(take.thread(trace), take.unlock);
    }
    let is_last = |take: &&Section| last.get(&take.thread(trace)) == Some(&take.unlock);
    free.iter().all(is_last).then_some(free)
}

/// Returns the section that lets those go on that find nothing any more, and how many these are.
fn close<'s>(own: &[&'s Section], looks: &Looks, free: &[&Section]) -> Option<(&'s Section, u32)> {
    let before = free.first()?.unlock;
    let closes = |section: &&Section| {
        let mut signals = section.signals.iter();
        section.unlock < before
            && !looks.has(section)
            && signals.any(|(cond, ..)| looks.conds.contains(cond))
    };
    let closing = own.iter().copied().filter(closes);
    let last = closing.max_by_key(|section| section.unlock)?;
    Some((last, u32::try_from(free.len()).ok()?))
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
    fn plan(&self, own: &[&Section], plan: &mut Plan) -> Option<Pattern> {
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
        for section in &self.takes {
            plan.take_to_go_on(section, Need::Tokens(object, 1));
        }
        for section in &self.unfinished {
            plan.pass(section);
        }
        for section in &self.puts {
            plan.give_at_end(section, Gift::Tokens(object, 1));
        }
        if let Some((section, count)) = self.close {
            plan.give_at_end(section, Gift::Tokens(object, count));
        }
        let pattern = Pattern::Semaphore { initial: 0 };
        plan.stays(object, pattern);
        Some(pattern)
    }
}
