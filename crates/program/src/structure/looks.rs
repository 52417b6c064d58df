//! What threads do under mutexes that are polled: looks, in runs at one place, and sections that do more.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, Operation as Op, SiteId, Trace};

/// Where a thread looks: the mutex, and the call that locks it.
pub(super) type Place = (ObjectId, SiteId);

/// Looks of a thread at one place, with nothing else between them. After the last it went on: it saw what it waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub thread: u32,
    /// The first event of the first look, and its last.
    pub first: (u32, u32),
    /// The end of the last look but one, which saw nothing yet; nothing where there was only one.
    pub failed: Option<u32>,
    /// The first event of the last look, and its last.
    pub last: (u32, u32),
}

/// A section that does more than look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Other {
    /// The event that ends it.
    pub end: u32,
    pub thread: u32,
    pub site: Option<SiteId>,
}

/// The looks at some places, and the other sections of their mutexes, both in the order in which they ended.
pub(super) struct Looks {
    pub runs: BTreeMap<Place, Vec<Run>>,
    pub others: BTreeMap<ObjectId, Vec<Other>>,
}

impl Looks {
    pub fn of(trace: &Trace, places: &BTreeSet<Place>) -> Self {
        let mut collector = Collector {
            looks: Self {
                runs: places.iter().map(|&place| (place, Vec::new())).collect(),
                others: places
                    .iter()
                    .map(|&(mutex, _)| (mutex, Vec::new()))
                    .collect(),
            },
            locked: vec![None; trace.threads.len()],
            looking: vec![None; trace.threads.len()],
        };
        if !places.is_empty() {
            for index in 0..trace.events.len() as u32 {
                collector.event(trace, index);
            }
        }
        for runs in collector.looks.runs.values_mut() {
            runs.sort_by_key(|run| run.last.1);
        }
        collector.looks
    }
}

struct Collector {
    looks: Looks,
    /// The latest lock of each thread of a mutex that is polled: the mutex, the call and the event.
    locked: Vec<Option<(ObjectId, Option<SiteId>, u32)>>,
    /// What each thread looks at.
    looking: Vec<Option<(Place, Run)>>,
}

impl Collector {
    fn event(&mut self, trace: &Trace, index: u32) {
        let call = trace.call(&trace.events[index as usize]);
        let thread = call.thread.0;
        match call.operation {
            Op::Lock(mutex) | Op::TryLock(mutex) | Op::TimedLock(mutex)
                if self.looks.others.contains_key(&mutex) =>
            {
                let place = call.site.map(|site| (mutex, site));
                let goes_on = self.looking[thread as usize].map(|(place, _)| place);
                if place.is_none() || goes_on != place {
                    self.end_run(thread);
                }
                self.locked[thread as usize] = Some((mutex, call.site, index));
            }
            // The lock had to wait.
            Op::Return if self.locked[thread as usize].is_some() => {}
            Op::Unlock(mutex) => {
                let locked = self.locked[thread as usize].take();
                match locked.filter(|&(locked, ..)| locked == mutex) {
                    Some((_, site, first)) => self.section(thread, (mutex, site), (first, index)),
                    None => self.end_run(thread),
                }
            }
            Op::LockSections { mutex, .. } if self.looks.others.contains_key(&mutex) => {
                self.section(thread, (mutex, call.site), (index, index));
            }
            _ => {
                self.locked[thread as usize] = None;
                self.end_run(thread);
            }
        }
    }

    fn section(
        &mut self,
        thread: u32,
        (mutex, site): (ObjectId, Option<SiteId>),
        events: (u32, u32),
    ) {
        let place = site.map(|site| (mutex, site));
        let place = place.filter(|place| self.looks.runs.contains_key(place));
        let Some(place) = place else {
            self.end_run(thread);
            let others = self.looks.others.entry(mutex).or_default();
            others.push(Other {
                end: events.1,
                thread,
                site,
            });
            return;
        };
        match &mut self.looking[thread as usize] {
            Some((same, run)) if *same == place => {
                run.failed = Some(run.last.1);
                run.last = events;
            }
            _ => {
                self.end_run(thread);
                let run = Run {
                    thread,
                    first: events,
                    failed: None,
                    last: events,
                };
                self.looking[thread as usize] = Some((place, run));
            }
        }
    }

    fn end_run(&mut self, thread: u32) {
        if let Some((place, run)) = self.looking[thread as usize].take()
            && let Some(runs) = self.looks.runs.get_mut(&place)
        {
            runs.push(run);
        }
    }
}
