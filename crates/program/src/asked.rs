//! For how long threads wait at most, by how long they waited where their time ran out.
//!
//! A recording tells how long a wait lasted, and not for how long it was asked to. On one CPU, a thread whose time has run out may wait for the
//! CPU for as long again. But it mostly gets it soon, as one that slept: where many waits of one call lasted about as long as the shortest of them,
//! that is what they were asked to. Where they differ, as those of timers do, each was asked for something else.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said".

use std::collections::BTreeMap;

use foretrace_trace::{Outcome, SiteId, Trace};

use crate::{
    events::{EventSet, Following},
    retries::has_time_outs,
};

/// Fewer waits than this of one call tell nothing.
const FEWEST: usize = 8;

/// One part in so many of the waits, and two more than the shortest, are as long as that, give or take a fourth of it and what timers and
/// switches take, in nanoseconds.
const ALIKE: usize = 8;
const LEAST_ALIKE: usize = 2;
const SLACK: u64 = 4;
const TIMER_SLACK: u64 = 100_000;

/// The shortest may be chance: of so many, one is left out.
const OUTLIERS: usize = 20;

/// For how long the waits of each call last at most.
#[derive(Default)]
pub(crate) struct Asked {
    nanos: BTreeMap<SiteId, u64>,
}

impl Asked {
    /// Goes through a recording.
    pub fn of(trace: &Trace, next: &Following, is_answered: &EventSet) -> Self {
        if trace.recording.is_none() || !has_time_outs(trace) {
            return Self::default();
        }
        let mut lasted: BTreeMap<SiteId, Vec<u64>> = BTreeMap::new();
        for (index, event) in trace.events.iter().enumerate() {
            let call = trace.call(event);
            let Some(site) = call.site.filter(|_| is_answered.contains(index)) else {
                continue;
            };
            let back = &trace.events[next.after(index) as usize];
            if trace.call(back).outcome == Outcome::TimedOut {
                let nanos = back.time.since(event.time).0;
                lasted.entry(site).or_default().push(nanos);
            }
        }
        let usual = |(site, mut lasted): (SiteId, Vec<u64>)| Some((site, usual(&mut lasted)?));
        Self {
            nanos: lasted.into_iter().filter_map(usual).collect(),
        }
    }

    /// Returns how long a wait of a call lasts whose time runs out, that lasted so long in the recording.
    pub fn of_wait(&self, site: Option<SiteId>, recorded: u64) -> u64 {
        let asked = site.and_then(|site| self.nanos.get(&site));
        asked.map_or(recorded, |&asked| recorded.min(asked))
    }
}

/// Returns how long those last that are as long as the shortest, where they are many.
fn usual(lasted: &mut [u64]) -> Option<u64> {
    lasted.sort_unstable();
    let shortest = *lasted.get(lasted.len() / OUTLIERS)?;
    let alike = *lasted.get((lasted.len() / ALIKE).max(LEAST_ALIKE))?;
    (lasted.len() >= FEWEST && alike <= shortest + shortest / SLACK + TIMER_SLACK).then_some(alike)
}

#[cfg(test)]
mod tests {
    use super::usual;

    #[test]
    fn what_many_waits_have_in_common_is_what_they_were_asked_for() {
        let micros =
            |all: &[u64]| -> Vec<u64> { all.iter().map(|lasted| lasted * 1_000).collect() };
        let constant = [900, 210, 275, 3_000, 250, 1_500, 204, 2_000];
        assert_eq!(usual(&mut micros(&constant)), Some(250_000));
        assert_eq!(usual(&mut micros(&constant[..7])), None, "too few");
        let timers = [100, 200, 300, 400, 500, 600, 700, 800];
        assert_eq!(usual(&mut micros(&timers)), None);
        assert_eq!(usual(&mut []), None);
    }
}
