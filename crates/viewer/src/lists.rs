//! The lists beside the picture: objects and call sites by how long threads waited, in the predicted run.

use std::{borrow::Cow, collections::BTreeMap};

use foretrace_gantt::picture::Picture;
use foretrace_schedule::{SimTime, State};
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

type ByObject = BTreeMap<u32, Waits>;
type BySite = BTreeMap<(u32, Cow<'static, str>), Waits>;

impl Lists {
    /// Counts the waits of a prediction, on all CPUs.
    pub fn new(picture: &Picture, source: &dyn ScheduleSource) -> Self {
        let of_lanes: Vec<(ByObject, BySite)> = picture
            .schedule
            .lanes
            .par_iter()
            .enumerate()
            .map(|(lane, of)| {
                let (mut objects, mut sites) = (ByObject::new(), BySite::new());
                for (position, segment) in of.segments.iter().enumerate() {
                    if !matches!(segment.state, State::Blocked(_)) {
                        continue;
                    }
                    let (length, at) = (segment.duration(), (lane, position));
                    if let Some(object) = segment.object {
                        objects.entry(object).or_default().add(length, at);
                    }
                    let event = segment.event.and_then(|event| source.event(event));
                    if let Some(event) = event
                        && let Some(site) = event.site
                    {
                        sites
                            .entry((site, call(event.operation)))
                            .or_default()
                            .add(length, at);
                    }
                }
                (objects, sites)
            })
            .collect();
        let (mut objects, mut sites) = (ByObject::new(), BySite::new());
        for (of_objects, of_sites) in &of_lanes {
            for (object, waits) in of_objects {
                objects.entry(*object).or_default().add_all(waits);
            }
            for (site, waits) in of_sites {
                sites.entry(site.clone()).or_default().add_all(waits);
            }
        }
        let mut lists = Self {
            objects: objects.into_iter().collect(),
            sites: sites
                .into_iter()
                .map(|((site, operation), waits)| SiteWaits {
                    site,
                    operation,
                    waits,
                })
                .collect(),
        };
        // Stable, so that equals stay in the trace's order.
        lists
            .objects
            .sort_by_key(|(_, waits)| std::cmp::Reverse(waits.total));
        lists
            .sites
            .sort_by_key(|site| std::cmp::Reverse(site.waits.total));
        lists
    }
}
