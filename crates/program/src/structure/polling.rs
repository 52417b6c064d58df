//! Polling: a thread that locks a mutex, looks, and unlocks it, again and again until it sees what it waits for.
//!
//! How often it looks depends on how long it has to wait, so that a replay must not repeat it: what it waits for is the
//! section of another thread that changed what it looks at. A loop that does something useful under a lock looks the
//! same, but for one thing: on one CPU, what is waited for can only happen while the thread does not have it. So its
//! last look comes right after it got the CPU back, and while it was away another thread was in a section of the mutex.
//! Where that is so of all that a call site ever did several times in a row, and little was done between its looks, it is polling.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{Event, ObjectId, Operation as Op, Trace};

use super::{
    Pattern, Plan, Structure,
    looks::{Looks, Place, Run},
    polled_barrier,
};

/// A thread that was away for so long between two of its events did not have the CPU, in nanoseconds.
const AWAY_NANOS: u64 = 5_000;

/// As many looks in a row are made at least once where a thread polls: fewer may be chance.
const LEAST_LOOKS: u64 = 16;

/// Who uses more CPU time than this from one look to the next, on average, in nanoseconds, does something useful in between: takes tasks,
/// for instance, and goes on elsewhere when others took the last ones while it was away.
const MOST_WORK: u64 = 3_000;

/// Finds the polling of a trace and notes in the plan what becomes of it. Mutexes that condition variables are used
/// with are left to what these are.
pub(super) fn recognize(trace: &Trace, structures: &mut Vec<Structure>, plan: &mut Plan) {
    let mut places = Search::places(trace);
    // Where others did nothing meanwhile, a place does not poll; and then its sections may be what others wait for.
    let looks = loop {
        let looks = Looks::of(trace, &places);
        let unexplained = places.iter().copied().filter(|place| {
            let mut runs = looks.runs[place].iter();
            !runs.all(|run| run.failed.is_none() || looks.that_ended(run, *place).is_some())
        });
        let unexplained: BTreeSet<Place> = unexplained.collect();
        if unexplained.is_empty() {
            break looks;
        }
        places.retain(|place| !unexplained.contains(place));
    };
    for place in places {
        let pattern = match polled_barrier::test(place, &looks, plan) {
            Some(threads) => Pattern::Barrier { threads },
            None => Pattern::Polling,
        };
        let waits = || looks.runs[&place].iter().filter(|run| run.failed.is_some());
        if pattern == Pattern::Polling {
            for run in waits() {
                if let Some(release) = looks.that_ended(run, place) {
                    plan.poll((run.first.1, run.last.0), place.0, release);
                }
            }
        }
        structures.push(Structure {
            object: place.0,
            pattern: Some(pattern),
            sites: vec![place.1],
            waits: waits().count() as u64,
            given_up: 0,
        });
    }
}

impl Looks {
    /// Returns the section by which another thread did what a thread waited for: the last one before the last look, after
    /// the one before it; but if another thread saw meanwhile what it waited for at the same place, the last before that.
    fn that_ended(&self, run: &Run, place: Place) -> Option<u32> {
        let since = run.failed?;
        // A look that had to wait for the lock was let in by the last.
        let mut until = run.last.1;
        let others = self.others.get(&place.0)?;
        let others = &others[others.partition_point(|other| other.end <= since)..];
        let mut by_others = others.iter().filter(|other| other.thread != run.thread);
        let first = by_others.next().filter(|first| first.end < until)?;
        let runs = self.runs.get(&place)?;
        let mut saw = runs[runs.partition_point(|other| other.last.1 <= first.end)..].iter();
        if let Some(other) = saw.find(|other| other.thread != run.thread) {
            until = until.min(other.last.1);
        }
        let before = &others[..others.partition_point(|other| other.end < until)];
        let mut latest = before.iter().rev();
        let release = latest.find(|other| other.thread != run.thread)?;
        Some(release.end)
    }
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, Default)]
struct Doing {
    /// The place where it locked as its latest call.
    locked: Option<Place>,
    /// Where it looks again and again.
    looking: Option<Looking>,
    /// When it was last seen, and its CPU time then.
    seen: (u64, u64),
    /// Whether it was away since its last look.
    away: bool,
}

/// Looks at one place so far.
#[derive(Clone, Copy, Debug)]
struct Looking {
    place: Place,
    looks: u64,
    /// The thread's CPU time at the end of the first and the last look.
    cpu: (u64, u64),
    /// Whether the thread was away right before the last look, of which there was one only since.
    away_before_last: bool,
}

/// Looks for places where all that threads do several times in a row ends as polling does.
struct Search<'t> {
    trace: &'t Trace,
    doing: Vec<Doing>,
    /// Mutexes that condition variables are used with.
    of_conditions: BTreeSet<ObjectId>,
    /// The most looks in a row.
    most: BTreeMap<Place, u64>,
    refuted: BTreeSet<Place>,
}

impl<'t> Search<'t> {
    fn places(trace: &'t Trace) -> BTreeSet<Place> {
        let of_conditions = trace.calls.iter().filter_map(|call| match call.operation {
            Op::CondWait { mutex, .. } | Op::CondTimedWait { mutex, .. } => Some(mutex),
            _ => None,
        });
        let mut search = Self {
            trace,
            doing: vec![Doing::default(); trace.threads.len()],
            of_conditions: of_conditions.collect(),
            most: BTreeMap::new(),
            refuted: BTreeSet::new(),
        };
        for event in &trace.events {
            search.event(event);
        }
        let often = search
            .most
            .into_iter()
            .filter(|&(_, looks)| looks >= LEAST_LOOKS);
        let places: BTreeSet<Place> = often.map(|(place, _)| place).collect();
        places.difference(&search.refuted).copied().collect()
    }

    fn event(&mut self, event: &Event) {
        let call = self.trace.call(event);
        let thread = call.thread.0;
        let doing = &mut self.doing[thread as usize];
        // Listings without CPU times do not tell.
        if let Some(cpu) = event.cpu() {
            let [time, cpu] = [event.time.0, cpu.0];
            let passed = time.saturating_sub(doing.seen.0);
            let worked = cpu.saturating_sub(doing.seen.1);
            doing.away |= passed.saturating_sub(worked) > AWAY_NANOS;
            doing.seen = (time, cpu);
        }
        match (call.operation, call.site, doing.locked) {
            (Op::Lock(mutex), Some(site), None) if !self.of_conditions.contains(&mutex) => {
                doing.locked = Some((mutex, site));
            }
            // The lock had to wait.
            (Op::Return, _, Some(_)) => {}
            (Op::Unlock(mutex), _, Some(place)) if place.0 == mutex => {
                doing.locked = None;
                self.look(thread, place, 1);
            }
            (Op::LockSections { mutex, count, .. }, Some(site), None)
                if !self.of_conditions.contains(&mutex) =>
            {
                self.look(thread, (mutex, site), count);
            }
            _ => {
                doing.locked = None;
                self.end(thread);
            }
        }
    }

    fn look(&mut self, thread: u32, place: Place, count: u64) {
        let doing = &mut self.doing[thread as usize];
        let away = std::mem::take(&mut doing.away);
        let before = doing.looking.filter(|looking| looking.place == place);
        if before.is_none() {
            self.end(thread);
        }
        let doing = &mut self.doing[thread as usize];
        let now = doing.seen.1;
        doing.looking = Some(Looking {
            place,
            looks: before.map_or(0, |before| before.looks) + count,
            cpu: (before.map_or(now, |before| before.cpu.0), now),
            away_before_last: away && count == 1,
        });
    }

    /// Ends a thread's looking: it goes on with something else.
    fn end(&mut self, thread: u32) {
        let ended = self.doing[thread as usize].looking.take();
        // Of a single look, what was looked for was there already.
        let Some(ended) = ended.filter(|ended| ended.looks > 1) else {
            return;
        };
        let (first, last) = ended.cpu;
        let works = last.saturating_sub(first) / (ended.looks - 1) > MOST_WORK;
        if ended.away_before_last && !works {
            let most = self.most.entry(ended.place).or_default();
            *most = ended.looks.max(*most);
        } else {
            self.refuted.insert(ended.place);
        }
    }
}
