//! Call sites by the time that calls from there waited.

use std::collections::{HashMap, HashSet};

use foretrace_trace::{Call, Nanos, ObjectId, ObjectKind, Operation, SiteId, ThreadId, Trace};

use crate::{
    calls::{Wait, for_each_call},
    constructs::Constructs,
};

/// What one place in the program called, and how long threads waited there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteContention {
    /// The place.
    pub site: SiteId,
    /// The operation's name, as in text traces.
    pub operation: &'static str,
    /// The OpenMP construct that it stands for, if it does.
    pub construct: Option<&'static str>,
    /// The kind of its objects; `None` for an operation on threads.
    pub kind: Option<ObjectKind>,
    /// The objects that were named from there, each once, in the order of their first use.
    pub objects: Vec<ObjectId>,
    /// The threads that were named from there (created, joined), each once, in that order.
    pub threads: Vec<ThreadId>,
    /// The calls.
    pub calls: u64,
    /// The calls that had to wait.
    pub blocked: u64,
    /// How long they waited together. On one CPU this includes the turns of other threads.
    pub total_wait: Nanos,
    /// The longest of the waits.
    pub longest_wait: Nanos,
    /// Of those that waited, how many never came back.
    pub never_returned: u64,
}

/// Returns the places that calls came from, one entry an operation and kind of object, those that waited longest first.
///
/// Calls whose place is not known are left out.
pub fn site_contention(trace: &Trace) -> Vec<SiteContention> {
    let mut table = Table {
        constructs: Constructs::of(trace),
        of_site: vec![Vec::new(); trace.sites.len()],
        ..Table::default()
    };
    // All calls come here, and a site may name many objects, so one lookup a call has to do.
    let mut of_call: HashMap<(SiteId, Operation), usize> = HashMap::new();
    for_each_call(trace, |complete| {
        let operation = complete.call.operation;
        let Some(site) = complete.call.site else {
            return;
        };
        let position = *of_call
            .entry((site, operation))
            .or_insert_with(|| table.name(trace, site, &complete.call));
        table.entries[position].count(operation.times(), complete.wait);
    });
    let mut entries = table.entries;
    // Stable, so that equals stay in the trace's order.
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.total_wait, entry.blocked, entry.calls)));
    entries
}

/// The entries, and how to find them.
#[derive(Default)]
struct Table {
    constructs: Constructs,
    entries: Vec<SiteContention>,
    of_site: Vec<Vec<usize>>,
    objects: HashSet<(usize, ObjectId)>,
    threads: HashSet<(usize, ThreadId)>,
}

impl Table {
    /// Finds or makes the entry of an operation, notes what the operation names, and returns the entry's position.
    fn name(&mut self, trace: &Trace, site: SiteId, call: &Call) -> usize {
        let operation = call.operation;
        let name = operation.name();
        let kind = operation
            .object()
            .map(|object| trace.objects[object.index()].kind);
        let of_site = &mut self.of_site[site.index()];
        let is_it = |entry: &SiteContention| entry.operation == name && entry.kind == kind;
        let known = of_site
            .iter()
            .copied()
            .find(|&position| is_it(&self.entries[position]));
        let position = known.unwrap_or_else(|| {
            let construct = self.constructs.construct(trace, call);
            let entry = SiteContention::new(site, (name, construct), kind);
            self.entries.push(entry);
            of_site.push(self.entries.len() - 1);
            self.entries.len() - 1
        });
        // One condition variable may come with several mutexes, and one event with several threads.
        let entry = &mut self.entries[position];
        if let Some(object) = operation.object()
            && self.objects.insert((position, object))
        {
            entry.objects.push(object);
        }
        if let Some(thread) = operation.other_thread()
            && self.threads.insert((position, thread))
        {
            entry.threads.push(thread);
        }
        position
    }
}

impl SiteContention {
    /// Returns what users call it: the construct, or the operation.
    pub fn name(&self) -> &'static str {
        self.construct.unwrap_or(self.operation)
    }

    fn new(
        site: SiteId,
        (operation, construct): (&'static str, Option<&'static str>),
        kind: Option<ObjectKind>,
    ) -> Self {
        Self {
            site,
            operation,
            construct,
            kind,
            objects: Vec::new(),
            threads: Vec::new(),
            calls: 0,
            blocked: 0,
            total_wait: Nanos(0),
            longest_wait: Nanos(0),
            never_returned: 0,
        }
    }

    fn count(&mut self, times: u64, wait: Wait) {
        self.calls = self.calls.saturating_add(times);
        let time = match wait {
            Wait::No => return,
            Wait::For(time) => time,
            Wait::Endless(time) => {
                self.never_returned += 1;
                time
            }
        };
        self.blocked += 1;
        self.total_wait = self.total_wait + time;
        self.longest_wait = self.longest_wait.max(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, success};

    #[test]
    fn waits_are_counted_at_their_sites_and_the_longest_comes_first() {
        let mut sample = Sample::new();
        let mutex = sample.mutex();
        let (quiet, busy) = (sample.site(), sample.site());
        sample.event_at(quiet, 0, 0, success(Operation::Lock(mutex)));
        sample.event_at(busy, 1, 3, success(Operation::Lock(mutex)));
        sample.event(0, 9, success(Operation::Unlock(mutex)));
        sample.event(1, 10, success(Operation::Return));
        let found = site_contention(&sample.trace);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].site, found[0].operation), (busy, "lock"));
        assert_eq!(found[0].objects, [mutex]);
        assert_eq!((found[0].calls, found[0].blocked), (1, 1));
        assert_eq!(found[0].total_wait, Nanos(7));
        assert_eq!((found[1].site, found[1].blocked), (quiet, 0));
    }

    #[test]
    fn the_objects_of_a_site_are_counted_together() {
        let mut sample = Sample::new();
        let (first, second) = (sample.mutex(), sample.mutex());
        let site = sample.site();
        for (time, mutex) in [(0, first), (2, second), (4, first)] {
            sample.event_at(site, 0, time, success(Operation::Lock(mutex)));
            sample.event(0, time + 1, success(Operation::Return));
        }
        let found = site_contention(&sample.trace);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].objects, [first, second]);
        assert_eq!((found[0].calls, found[0].blocked), (3, 3));
        assert_eq!(found[0].total_wait, Nanos(3));
        assert_eq!(found[0].longest_wait, Nanos(1));
    }

    #[test]
    fn the_operations_of_a_site_stand_apart() {
        let mut sample = Sample::new();
        let mutex = sample.mutex();
        let site = sample.site();
        sample.event_at(site, 0, 0, success(Operation::Create(ThreadId(1))));
        sample.event_at(site, 0, 1, success(Operation::Lock(mutex)));
        let found = site_contention(&sample.trace);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].threads, [ThreadId(1)]);
        assert_eq!(
            (found[0].kind, found[1].kind),
            (None, Some(ObjectKind::Mutex))
        );
    }

    #[test]
    fn a_wait_to_the_end_is_counted_where_it_began() {
        let mut sample = Sample::new();
        let (cond, mutex) = (sample.cond(), sample.mutex());
        let site = sample.site();
        sample.event_at(site, 0, 10, success(Operation::CondWait { cond, mutex }));
        sample.event(1, 50, success(Operation::Terminate));
        let found = &site_contention(&sample.trace)[0];
        assert_eq!((found.blocked, found.never_returned), (1, 1));
        assert_eq!(found.total_wait, Nanos(40));
        assert_eq!(found.objects, [cond]);
    }
}
