//! Barriers whose threads poll: each arrives in a section of the mutex, and then looks until all others did.

use std::collections::BTreeMap;

use foretrace_trace::SiteId;

use super::{
    looks::{Looks, Other, Place, Run},
    plan::Plan,
};

/// Tests whether a place is one where threads wait for each other, over the whole recording, and plans what becomes of it
/// then. Returns the number of threads.
pub(super) fn test(place: Place, looks: &Looks, plan: &mut Plan) -> Option<u32> {
    let runs = looks.runs.get(&place)?;
    let others = looks.others.get(&place.0)?;
    let site = arrival_site(runs, others)?;
    // The arrivals of each thread; the k-th of all are a generation.
    let mut arrivals: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for arrival in others.iter().filter(|other| other.site == Some(site)) {
        arrivals
            .entry(arrival.thread)
            .or_default()
            .push(arrival.end);
    }
    let threads = arrivals.len();
    let generations = arrivals.values().next()?.len();
    if threads < 2 || arrivals.values().any(|list| list.len() != generations) {
        return None;
    }
    let of_generation = |k: usize| arrivals.values().map(move |list| list[k]);
    let complete: Vec<u32> = (0..generations)
        .filter_map(|k| of_generation(k).max())
        .collect();
    // Nobody arrives twice before all came once.
    let in_turn = (1..generations).all(|k| of_generation(k).all(|next| next > complete[k - 1]));
    let explained = runs.iter().all(|run| {
        let own = &arrivals.get(&run.thread).map_or(&[][..], Vec::as_slice);
        let generation = own.partition_point(|&end| end < run.first.0).checked_sub(1);
        generation.is_some_and(|k| {
            // It saw nothing before all were there, and went on after that.
            run.last.1 > complete[k] && run.failed.is_none_or(|failed| failed < complete[k])
        })
    });
    if !in_turn || !explained {
        return None;
    }
    let threads = u32::try_from(threads).ok()?;
    let barrier = plan.new_barrier(place.0, "polling", threads);
    for end in arrivals.into_values().flatten() {
        plan.arrive_after(end, barrier);
    }
    for run in runs {
        plan.only_look((run.first.0, run.last.1), place.0);
    }
    Some(threads)
}

/// Returns where the sections begin that threads are in right before they look; nothing where it is not one place.
fn arrival_site(runs: &[Run], others: &[Other]) -> Option<SiteId> {
    let mut latest: BTreeMap<u32, &Other> = BTreeMap::new();
    let mut others = others.iter().peekable();
    let mut by_begin: Vec<&Run> = runs.iter().collect();
    by_begin.sort_by_key(|run| run.first.0);
    let mut found = None;
    for run in by_begin {
        while let Some(other) = others.next_if(|other| other.end < run.first.0) {
            latest.insert(other.thread, other);
        }
        let site = latest.get(&run.thread)?.site?;
        if *found.get_or_insert(site) != site {
            return None;
        }
    }
    found
}
