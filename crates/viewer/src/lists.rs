//! The lists beside the picture: objects and call sites by how long threads waited, in the predicted run.

use std::{borrow::Cow, collections::BTreeMap};

use foretrace_gantt::picture::Picture;
use foretrace_schedule::{Lane, SimTime, State};
use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _,
};

use crate::source::{RETURN, ScheduleSource};

/// Waits for one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// How long together.
    pub total: SimTime,
    /// How long the longest.
    pub longest: SimTime,
    /// Where that one is: lane and segment.
    pub at: (usize, usize),
}

/// A call site and its waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteWaits {
    /// The site.
    pub site: u32,
    /// The operation.
    pub operation: Cow<'static, str>,
    /// Its waits.
    pub waits: Waits,
}

/// The lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// Objects that threads waited for, by their total wait, the longest first.
    pub objects: Vec<(u32, Waits)>,
    /// Call sites that threads waited at, likewise.
    pub sites: Vec<SiteWaits>,
    /// Operations in which threads waited for no object, as ranks do, likewise.
    pub operations: Vec<(Cow<'static, str>, Waits)>,
}

impl Waits {
    fn add(&mut self, length: SimTime, at: (usize, usize)) {
        self.count += 1;
        self.total = self.total + length;
        if length > self.longest {
            self.longest = length;
            self.at = at;
        }
    }

    fn add_all(&mut self, other: &Self) {
        self.count += other.count;
        self.total = self.total + other.total;
        if other.longest > self.longest {
            self.longest = other.longest;
            self.at = other.at;
        }
    }
}

/// Returns the name of the call that waited, also where the event is its return.
fn call(operation: Cow<'static, str>) -> Cow<'static, str> {
    match operation.strip_prefix(RETURN) {
        Some(call) => Cow::Owned(call.to_owned()),
        None => operation,
    }
}

/// The waits of some lanes.
#[derive(Default)]
struct Found {
    objects: BTreeMap<u32, Waits>,
    sites: BTreeMap<(u32, Cow<'static, str>), Waits>,
    operations: BTreeMap<Cow<'static, str>, Waits>,
}

impl Found {
    /// Counts the waits of a lane.
    fn of(lane: usize, of: &Lane, source: &dyn ScheduleSource) -> Self {
        let mut found = Self::default();
        for (position, segment) in of.segments.iter().enumerate() {
            let State::Blocked(kind) = segment.state else {
                continue;
            };
            let (length, at) = (segment.duration(), (lane, position));
            let event = segment.event.and_then(|event| source.event(event));
            if let Some(object) = segment.object {
                found.objects.entry(object).or_default().add(length, at);
            } else {
                let operation = event.as_ref().map(|event| call(event.operation.clone()));
                let operation = operation.unwrap_or(Cow::Borrowed(kind.name()));
                let waits = found.operations.entry(operation).or_default();
                waits.add(length, at);
            }
            if let Some(event) = event
                && let Some(site) = event.site
            {
                let waits = found.sites.entry((site, call(event.operation)));
                waits.or_default().add(length, at);
            }
        }
        found
    }

    fn add_all(&mut self, other: Self) {
        for (object, waits) in other.objects {
            self.objects.entry(object).or_default().add_all(&waits);
        }
        for (site, waits) in other.sites {
            self.sites.entry(site).or_default().add_all(&waits);
        }
        for (operation, waits) in other.operations {
            let known = self.operations.entry(operation);
            known.or_default().add_all(&waits);
        }
    }
}

impl Lists {
    /// Counts the waits of a prediction, on all CPUs.
    pub fn new(picture: &Picture, source: &dyn ScheduleSource) -> Self {
        let lanes = picture.schedule.lanes.par_iter().enumerate();
        let of_lanes: Vec<Found> = lanes
            .map(|(lane, of)| Found::of(lane, of, source))
            .collect();
        let mut found = Found::default();
        for of in of_lanes {
            found.add_all(of);
        }
        let sites = found.sites.into_iter();
        let mut lists = Self {
            objects: found.objects.into_iter().collect(),
            sites: sites
                .map(|((site, operation), waits)| SiteWaits {
                    site,
                    operation,
                    waits,
                })
                .collect(),
            operations: found.operations.into_iter().collect(),
        };
        // Stable, so that equals stay in the trace's order.
        let longest = |waits: &Waits| std::cmp::Reverse(waits.total);
        lists.objects.sort_by_key(|(_, waits)| longest(waits));
        lists.sites.sort_by_key(|site| longest(&site.waits));
        lists.operations.sort_by_key(|(_, waits)| longest(waits));
        lists
    }
}
