//! Readers-writer locks that programs make of a mutex and condition variables: under the mutex, a thread waits until it may begin and notes that it
//! has begun, and notes later that it is done.
//!
//! The hypothesis is about all sections of the mutex. Each thread has two in turns: one that begins something, at a call that may wait, and one at
//! another call that ends it. What is begun at some calls is never done beside anything else, what is begun at the others is done by several threads
//! at once. Whoever began to wait did so while something was done that kept it out, or, where those that share stand back for those that do not, one of these
//! waited.
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

/// So many waits, and so many times that something was done of either kind, have to tell so.
const LEAST: usize = 4;

/// What happens under the mutex, in order; by which thread, and at which call it began or begins what it is about.
struct Step {
    event: u32,
    thread: u32,
    site: SiteId,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Waits,
    Begins,
    Ends,
}

/// A section, and what it is to a readers-writer lock.
type Part<'a> = (&'a Section, Use);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Reads,
    Writes,
    Ends,
}

/// Tests the hypothesis for each mutex, plans what becomes of those for which it holds, and returns their condition variables.
pub(super) fn recognize(
    trace: &Trace,
    sections: &Sections,
    structures: &mut Vec<Structure>,
    plan: &mut Plan,
) -> BTreeSet<ObjectId> {
    let mut known = BTreeSet::new();
    for (conds, own) in sections.of_mutexes() {
        let Some((parts, prefers_writers)) = parts(trace, &own) else {
            continue;
        };
        let lock = plan.new_rwlock(conds[0], prefers_writers);
        for (section, used) in parts {
            for &(_, signal, _) in &section.signals {
                plan.silence(signal);
            }
            match used {
                Use::Reads => plan.take(section, Need::Read(lock)),
                Use::Writes => plan.take(section, Need::Write(lock)),
                Use::Ends => plan.give_at_end(section, Gift::Lock(lock)),
            }
        }
        structures.extend(conds.iter().map(|&cond| Structure {
            object: cond,
            pattern: Some(Pattern::ReadersWriter),
            sites: sections.waiting_sites(cond),
            waits: sections.waits(cond),
            given_up: 0,
        }));
        known.extend(conds);
    }
    known
}

/// Returns what each of a mutex's sections is to a readers-writer lock, and whether that lets writers in first, if they make one.
fn parts<'a>(trace: &Trace, all: &[&'a Section]) -> Option<(Vec<Part<'a>>, bool)> {
    let is_regular = |section: &&Section| {
        !section.odd && !section.ran_out && section.times == 1 && section.unlock != NONE
    };
    let waits: usize = all.iter().map(|section| section.waits.len()).sum();
    if waits < LEAST || !all.iter().all(is_regular) {
        return None;
    }
    let steps = steps(trace, all)?;
    let writing = writing(&steps)?;
    let prefers_writers = explained(&steps, &writing)?;
    let ends: BTreeSet<u32> = steps
        .iter()
        .filter(|step| step.what == What::Ends)
        .map(|step| step.event)
        .collect();
    let part = |&section: &&'a Section| {
        let writes = section.site.is_some_and(|site| writing.contains(&site));
        let used = match ends.contains(&section.unlock) {
            true => Use::Ends,
            false if writes => Use::Writes,
            false => Use::Reads,
        };
        (section, used)
    };
    Some((all.iter().map(part).collect(), prefers_writers))
}

/// Returns what happens in sections of which each thread has two in turns, at calls that belong together; `None` where that is not so.
fn steps(trace: &Trace, all: &[&Section]) -> Option<Vec<Step>> {
    let mut begun: BTreeMap<u32, SiteId> = BTreeMap::new();
    let mut end_of: BTreeMap<SiteId, SiteId> = BTreeMap::new();
    let mut steps = Vec::new();
    for section in all {
        let (thread, own) = (section.thread(trace), section.site?);
        let (site, what) = match begun.remove(&thread) {
            Some(site) if section.waits.is_empty() => {
                if *end_of.entry(site).or_insert(own) != own {
                    return None;
                }
                (site, What::Ends)
            }
            Some(_) => return None,
            None => {
                begun.insert(thread, own);
                (own, What::Begins)
            }
        };
        let mut step = |event, what| {
            steps.push(Step {
                event,
                thread,
                site,
                what,
            });
        };
        for &(wait, _) in &section.waits {
            step(wait, What::Waits);
        }
        step(section.unlock, what);
    }
    let apart = end_of.values().all(|end| !end_of.contains_key(end));
    steps.sort_by_key(|step| step.event);
    (begun.is_empty() && apart).then_some(steps)
}

/// Returns the calls at which something begins that is never done beside anything else, if something else is done by several threads at once.
fn writing(steps: &[Step]) -> Option<BTreeSet<SiteId>> {
    let mut times: BTreeMap<SiteId, usize> = BTreeMap::new();
    let mut beside: BTreeSet<SiteId> = BTreeSet::new();
    let mut active: BTreeMap<u32, SiteId> = BTreeMap::new();
    for step in steps {
        match step.what {
            What::Waits => {}
            What::Begins => {
                *times.entry(step.site).or_default() += 1;
                if !active.is_empty() {
                    beside.insert(step.site);
                    beside.extend(active.values());
                }
                active.insert(step.thread, step.site);
            }
            What::Ends => {
                active.remove(&step.thread);
            }
        }
    }
    let (reading, writing): (BTreeMap<_, _>, BTreeMap<_, _>) = times
        .into_iter()
        .partition(|(site, _)| beside.contains(site));
    let are_enough = |times: &BTreeMap<SiteId, usize>| times.values().sum::<usize>() >= LEAST;
    (are_enough(&reading) && are_enough(&writing)).then(|| writing.into_keys().collect())
}

/// Returns whether readers stand back for writers that wait, if that explains all waits.
fn explained(steps: &[Step], writing: &BTreeSet<SiteId>) -> Option<bool> {
    let mut active: BTreeMap<u32, bool> = BTreeMap::new();
    let mut kept_out: BTreeMap<u32, bool> = BTreeMap::new();
    let (mut stand_back, mut overtake) = (false, false);
    for step in steps {
        let writes = writing.contains(&step.site);
        let writer_waits = kept_out.values().any(|&writes| writes);
        match step.what {
            What::Waits => {
                let is_busy = active.values().any(|&other| writes || other);
                if !is_busy && (writes || !writer_waits) {
                    return None;
                }
                stand_back |= !is_busy;
                kept_out.insert(step.thread, writes);
            }
            What::Begins => {
                kept_out.remove(&step.thread);
                overtake |= !writes && writer_waits;
                active.insert(step.thread, writes);
            }
            What::Ends => {
                active.remove(&step.thread);
            }
        }
    }
    (!(stand_back && overtake)).then_some(stand_back)
}
