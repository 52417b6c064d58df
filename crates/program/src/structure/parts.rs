//! Condition variables on which some wait for one thing and others for another.
//!
//! Who makes do with one condition variable for all that there is to wait for lets all go on whenever anything happens, and each looks whether it was
//! what it waits for. What wakes those who wait at one place for good tells which of the places that tell are about that. Each such part is tried
//! against the hypotheses as if it had a condition variable of its own; all have to hold.
//!
//! # Source
//!
//! `docs/models.md`, "Structure".

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, SiteId, Trace};

use super::{
    Pattern, Structure, counts,
    plan::Plan,
    rounds,
    sections::{Section, Uses},
    tokens,
};
use crate::lower::NONE;

/// What those are found to wait for who wait at some place.
pub(super) struct Part {
    pub pattern: Pattern,
    site: SiteId,
    waits: u64,
}

impl Part {
    /// Returns what there is to say of it.
    pub fn entry(self, cond: ObjectId) -> Structure {
        Structure {
            object: cond,
            pattern: Some(self.pattern),
            sites: vec![self.site],
            waits: self.waits,
            given_up: 0,
        }
    }
}

/// Tests each part, and plans what becomes of it if all of them are known. `takers` are threads that take from the same queue.
pub(super) fn test(
    trace: &Trace,
    uses: &Uses<'_>,
    takers: &[BTreeSet<u32>],
    plan: &mut Plan,
) -> Option<Vec<Part>> {
    let everybody_is_told = uses
        .sections
        .iter()
        .flat_map(|section| uses.signals(section))
        .all(|(_, broadcasts)| broadcasts);
    if uses.waiting.len() < 2 || uses.runs_out || !uses.bare.is_empty() || !everybody_is_told {
        return None;
    }
    // Who was woken may have got the mutex only when another had told something as well.
    let ways = [false, true].map(|last| told_at(uses, last));
    ways.into_iter()
        .flatten()
        .find_map(|told_at| explained(trace, uses, (&told_at, takers), plan))
}

/// Tests the parts by whom those who wait are told, and plans what becomes of them if all are known.
fn explained(
    trace: &Trace,
    uses: &Uses<'_>,
    (told_at, takers): (&BTreeMap<SiteId, BTreeSet<SiteId>>, &[BTreeSet<u32>]),
    plan: &mut Plan,
) -> Option<Vec<Part>> {
    let mut plan_of_parts = plan.clone();
    let mut found = Vec::new();
    for (number, (&site, signalling)) in told_at.iter().enumerate() {
        let object = if number == 0 {
            uses.cond
        } else {
            plan_of_parts.new_condition(uses.cond)
        };
        let part = part(uses, site, signalling, object);
        let pattern = tokens::test(trace, &part, &mut plan_of_parts)
            .or_else(|| rounds::test(trace, &part, &mut plan_of_parts))
            .or_else(|| counts::test(trace, &part, takers, &mut plan_of_parts))?;
        let waits = part.sections.iter().filter(|section| part.waits(section));
        let waits = waits.map(|section| section.waits.len() as u64).sum();
        found.push(Part {
            pattern,
            site,
            waits,
        });
    }
    *plan = plan_of_parts;
    Some(found)
}

/// Returns the calls that lock to tell those who wait at each call that locks to wait: what woke them for good, or what was told last before they went on. Those
/// that did neither may be about any of them. `None` where some are not told.
fn told_at(uses: &Uses<'_>, last: bool) -> Option<BTreeMap<SiteId, BTreeSet<SiteId>>> {
    let mut told: Vec<(u32, SiteId)> = Vec::new();
    for section in &uses.sections {
        let signals = uses.signals(section);
        told.extend(signals.filter_map(|(event, _)| Some((event, section.site?))));
    }
    told.sort_unstable();
    // How often what was told at one place let those go on who waited at another.
    let mut woke: BTreeMap<SiteId, BTreeMap<SiteId, usize>> = BTreeMap::new();
    for section in uses.sections.iter().filter(|section| uses.waits(section)) {
        if let (Some(waiter), Some(telling)) = (section.site, woken_by(section, &told, last)) {
            *woke.entry(telling).or_default().entry(waiter).or_default() += 1;
        }
    }
    let mut told_at: BTreeMap<SiteId, BTreeSet<SiteId>> = BTreeMap::new();
    for (&telling, waiters) in &woke {
        let most = waiters.iter().max_by_key(|&(_, count)| count)?;
        told_at.entry(*most.0).or_default().insert(telling);
    }
    let others = || {
        uses.signalling
            .iter()
            .filter(|site| !woke.contains_key(site))
    };
    for telling in told_at.values_mut() {
        telling.extend(others());
    }
    (told_at.len() == uses.waiting.len()).then_some(told_at)
}

/// Returns where it was told what ended a section's last wait, or what was told last before that was over.
fn woken_by(section: &Section, told: &[(u32, SiteId)], last: bool) -> Option<SiteId> {
    let &(wait, back) = section.waits.last()?;
    let first = told.partition_point(|&(event, _)| event < wait);
    let after = told.partition_point(|&(event, _)| event < back);
    if back == NONE || first == after {
        return None;
    }
    let (_, telling) = told[if last { after - 1 } else { first }];
    Some(telling)
}

/// Returns the uses by those that wait at one place, and by those that tell them.
fn part<'a>(
    uses: &Uses<'a>,
    site: SiteId,
    signalling: &BTreeSet<SiteId>,
    object: ObjectId,
) -> Uses<'a> {
    let mut part = Uses {
        object,
        is_part: true,
        waiting: BTreeSet::from([site]),
        signalling: signalling.clone(),
        broadcasting: signalling.clone(),
        ..uses.clone()
    };
    let concerned = |section: &&Section| {
        let other = section.site;
        other.is_some_and(|other| other == site || signalling.contains(&other))
    };
    part.sections.retain(concerned);
    part
}
