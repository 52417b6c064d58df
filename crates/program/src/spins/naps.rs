//! Which sleeps are waits for others: between two of them their threads look whether these have come somewhere.
//!
//! A thread that paces itself, or stands for a device, sleeps by the clock, and so does one that waits for time to pass in several sleeps: its rows of
//! sleeps are alike. How often one sleeps that waits for others depends on these: now often, now once. Or it goes on when another has ended, or
//! has begun to wait.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Operation as Op, Outcome, SiteId, Trace};

use super::rows::{Row, rows};
use crate::{
    held::Awaited,
    idle::Busy,
    sleeps::{BUSY, LEAST, begins_wait},
    structure::Roles,
};

/// Fewer rows of sleeps than this do not tell whether they are alike.
const FEWEST: usize = 8;

/// Of rows that differ, those that are longer than nine of ten sleep so many times as often and as long as those that are shorter than nine of ten.
const DIFFER: u64 = 2;

/// So many rows of one call, at most, tell what ended them.
const ASKED: usize = 64;

/// Returns the calls by which threads sleep until others have come somewhere. `events` are those of each thread.
pub(super) fn sites_of_waits(
    trace: &Trace,
    events: &[Vec<u32>],
    busy: &Busy,
    what_is_taken: (&Roles, &Awaited),
) -> BTreeSet<SiteId> {
    let mut by_site: BTreeMap<SiteId, Vec<(u32, Row)>> = BTreeMap::new();
    let mut naps = BTreeMap::new();
    for (thread, own) in (0..).zip(events) {
        for row in rows(trace, own, what_is_taken, |call| !call.operation.is_spin()) {
            let site = trace.call(&trace.events[row.begin as usize]).site;
            let (Some(site), Some(_)) = (site, row.back) else {
                continue;
            };
            by_site.entry(site).or_default().push((thread, row));
            naps.insert(row.begin, site);
        }
    }
    for site in sites_of_ready_files(trace, events) {
        by_site.remove(&site);
    }
    by_site.retain(|_, rows| rows.iter().any(|(_, row)| row.count >= LEAST));
    naps.retain(|_, site| by_site.contains_key(site));
    by_site.retain(|_, rows| {
        others_work(trace, rows, busy)
            && (differ(trace, rows) || end_with_others(trace, rows, &naps, events))
    });
    by_site.into_keys().collect()
}

/// Returns the calls that waited for files of which some were ready: their threads wait for these, however often the time runs out.
fn sites_of_ready_files(trace: &Trace, events: &[Vec<u32>]) -> BTreeSet<SiteId> {
    let call = |event: u32| trace.call(&trace.events[event as usize]);
    let own = events.iter().flat_map(|own| own.windows(2));
    let ready = own.filter_map(|pair| {
        let (poll, back) = (call(pair[0]), call(pair[1]));
        let is_ready = poll.operation.is_poll()
            && back.operation == Op::Return
            && back.outcome == Outcome::Success;
        poll.site.filter(|_| is_ready)
    });
    ready.collect()
}

/// Takes each wait for files whose time ran out to last no longer than the shortest of its call: how long they were to last is not recorded, and the others
/// waited for the CPU.
pub(super) fn shorten_polls(trace: &Trace, rows: &mut [Vec<Row>]) {
    let site = |row: &Row| {
        let call = trace.call(&trace.events[row.end as usize]);
        call.site.filter(|_| call.operation.is_poll())
    };
    let mut shortest: BTreeMap<SiteId, u64> = BTreeMap::new();
    for row in rows.iter().flatten().filter(|row| row.shortest > 0) {
        if let Some(site) = site(row) {
            let shortest = shortest.entry(site).or_insert(row.shortest);
            *shortest = row.shortest.min(*shortest);
        }
    }
    for row in rows.iter_mut().flatten() {
        if let Some(shortest) = site(row).and_then(|site| shortest.get(&site)) {
            row.shortest = *shortest;
        }
    }
}

/// Returns for how long a row of sleeps lasts, in nanoseconds.
fn length(trace: &Trace, row: &Row) -> u64 {
    let time = |event: u32| trace.events[event as usize].time;
    row.back
        .map_or(0, |back| time(back).since(time(row.begin)).0)
}

/// Returns whether others work in rows of sleeps, for the better part of them.
fn others_work(trace: &Trace, rows: &[(u32, Row)], busy: &Busy) -> bool {
    let (mut slept, mut idle) = (0, 0);
    for (_, row) in rows {
        let length = length(trace, row);
        let back = row.back.unwrap_or(row.end) as usize;
        slept += length;
        idle += busy.idle(length, row.begin as usize, back);
    }
    idle <= slept / BUSY
}

/// Returns whether rows of sleeps differ, in how often and for how long their threads sleep.
fn differ(trace: &Trace, rows: &[(u32, Row)]) -> bool {
    if rows.len() < FEWEST {
        return false;
    }
    let spread = |of: &dyn Fn(&Row) -> u64| {
        let mut all: Vec<u64> = rows.iter().map(|(_, row)| of(row)).collect();
        all.sort_unstable();
        let tenth = all.len() / 10;
        (all[tenth], all[all.len() - 1 - tenth])
    };
    let (seldom, often) = spread(&|row| u64::from(row.count));
    let (short, long) = spread(&|row| length(trace, row));
    often >= seldom * DIFFER + u64::from(LEAST) / 2 && long >= short * DIFFER
}

/// Returns whether rows of sleeps mostly end after another thread has ended, or has begun to wait, since the sleeper looked last. `naps` are the events at
/// which rows of sleeps begin.
fn end_with_others(
    trace: &Trace,
    rows: &[(u32, Row)],
    naps: &BTreeMap<u32, SiteId>,
    events: &[Vec<u32>],
) -> bool {
    let rows: Vec<&(u32, Row)> = rows.iter().filter(|(_, row)| row.count >= LEAST).collect();
    let some = rows.iter().step_by(rows.len().div_ceil(ASKED).max(1));
    let asked = some.len();
    let ended = some.filter(|(thread, row)| {
        let back = row.back.unwrap_or(row.end);
        (row.end + 1..back).any(|index| {
            let event = &trace.events[index as usize];
            let call = trace.call(event);
            let own = &events[call.thread.index()];
            let next = own.partition_point(|&event| event <= index);
            let goes_on = own.get(next).is_none_or(|&next| next < back);
            call.thread.0 != *thread
                && match call.operation {
                    Op::Terminate => true,
                    _ if goes_on => false,
                    _ if naps.contains_key(&index) => true,
                    operation => {
                        begins_wait(operation)
                            && own.get(next).is_some_and(|&next| {
                                trace.call(&trace.events[next as usize]).operation == Op::Return
                            })
                    }
                }
        })
    });
    ended.count() * 2 > asked
}
