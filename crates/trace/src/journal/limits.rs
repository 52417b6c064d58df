//! What a recording cannot tell of programs that wait by other means than the C library's: warnings.

use std::collections::{BTreeMap, BTreeSet};

use super::names::list;
use crate::{ObjectKind, ProcessId, SiteId, ThreadId, Trace};

/// Fewer yields than this are not worth telling. On one CPU a spin soon ends: its yields let the thread run that it waits
/// for.
const TOLD: u64 = 10;

/// How often threads called `sched_yield` with nothing else between, by where.
#[derive(Default)]
pub(super) struct Spins {
    counts: BTreeMap<(ThreadId, Option<SiteId>), u64>,
}

impl Spins {
    /// Notes a burst of yields.
    pub fn note(&mut self, thread: ThreadId, site: Option<SiteId>, count: u64) {
        let total = self.counts.entry((thread, site)).or_default();
        *total = total.saturating_add(count);
    }

    /// Returns a warning for each place where threads spun for long.
    pub fn warnings(&self, trace: &Trace) -> Vec<String> {
        let mut places: BTreeMap<_, (u64, Vec<String>)> = BTreeMap::new();
        for (&(thread, site), &count) in &self.counts {
            if count >= TOLD && !site.is_some_and(|site| trace.is_in_transport(site)) {
                let thread = &trace.threads[thread.index()];
                let (total, names) = places.entry((thread.process, site)).or_default();
                *total = total.saturating_add(count);
                names.push(thread.name.clone());
            }
        }
        let told = places.into_iter().map(|((process, site), (total, names))| {
            let program = &trace.processes[process.index()].name;
            let site = site.map_or("an unknown place".to_owned(), |site| trace.site_text(site));
            format!(
                "{program}: {} spun by sched_yield, {total} times, at {site}: that counts as work, and whom it waits for \
                 is not known",
                list(&names)
            )
        });
        told.collect()
    }
}

/// Returns a warning for each program that waits for futexes, however many processes ran it.
pub(super) fn futexes(trace: &Trace) -> Vec<String> {
    let futexes = trace.objects.iter();
    let futexes = futexes.filter(|object| object.kind == ObjectKind::Futex);
    let using: BTreeSet<ProcessId> = futexes.map(|object| object.process).collect();
    let mut told = BTreeSet::new();
    let programs = using.into_iter().map(|process| {
        let process = &trace.processes[process.index()];
        process.name.as_str()
    });
    programs
        .filter(|&name| told.insert(name))
        .map(|name| {
            format!(
                "{name}: it waits by futexes (C++'s futures and atomics and Rust's locks and channels do), which are recorded only \
                 where a thread had to wait: locks that were free and values that were there are not known, and may hold \
                 more CPUs up"
            )
        })
        .collect()
}
