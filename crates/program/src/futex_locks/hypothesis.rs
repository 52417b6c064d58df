//! Whether futexes are a lock.
//!
//! Who waits does so while as many others have the lock as may at a time. They use no more CPU time until they wake somebody than others have the lock for;
//! never do more have it; and who lets in whom is as chance has it, and not always the same.
//!
//! How many may have it at a time is told by who has it when a thread begins to wait: those whose next call gives it up, but for some that do so unseen. So it is
//! one, if it is that now and then and one explains all, or else what it mostly is, or was seen to be.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::{ObjectId, ThreadId, Trace};

use super::{
    calls::Calls,
    candidates::{Uses, Wait, Wake},
    cpu,
};
use crate::{
    lower::WAKING_UP,
    matching::{FutexLog, OpRef},
    shares::Shares,
};

/// So many waits, and half as many threads that woke the next after having waited, have to tell so.
pub(super) const LEAST: usize = 8;

/// Two threads let each other in, whatever a futex stands for.
const LEAST_THREADS: usize = 3;

/// One in so many may be otherwise: a wake-up is recorded shortly after the lock is free.
const ODD: usize = 20;

/// So much longer than mostly a thread may have the lock that wakes the next one after it has waited.
const LONGER: u64 = 4;

/// A thread that lets in the same one in so many of ten times always does so.
const ALWAYS: usize = 9;

/// What is known of a lock.
pub(super) struct Lock {
    /// The wake-ups that threads make right after a wait: these have had the lock since then.
    pub after_waits: BTreeSet<u32>,
    /// For how much CPU time threads mostly have it, in nanoseconds.
    pub section: u64,
    /// How many have it at a time at most.
    pub permits: u32,
}

/// The times for which threads had the lock that woke another after having waited.
struct Had {
    /// From which event to which.
    sections: Vec<(u32, u32)>,
    /// The CPU times of these, from the shortest to the longest, in nanoseconds.
    works: Vec<u64>,
}

impl Had {
    fn of(trace: &Trace, waits: &[Wait], after_waits: &BTreeSet<u32>) -> Self {
        let ends = waits.iter().filter(|wait| after_waits.contains(&wait.wake));
        let mut sections: Vec<(u32, u32)> = ends.map(|wait| (wait.back, wait.wake)).collect();
        sections.sort_unstable();
        let works = sections
            .iter()
            .map(|&(from, to)| cpu(trace, to).saturating_sub(cpu(trace, from)));
        let mut works: Vec<u64> = works.collect();
        works.sort_unstable();
        Self { sections, works }
    }

    /// Returns how many others had it when each came back, in the order in which they did.
    fn beside(&self) -> Vec<usize> {
        let mut ends: Vec<u32> = Vec::new();
        let mut counts = Vec::with_capacity(self.sections.len());
        for &(from, to) in &self.sections {
            ends.retain(|&end| end > from);
            counts.push(ends.len());
            ends.push(to);
        }
        counts
    }

    /// Returns how many of those have it at an event, if one had it last for no more than `longest` events.
    fn at(&self, event: u32, longest: u32) -> usize {
        let until = self.sections.partition_point(|&(from, _)| from < event);
        let sections = self.sections[..until].iter().rev();
        let near = sections.take_while(|&&(from, _)| event - from <= longest);
        near.filter(|&&(_, to)| event < to).count()
    }
}

/// Returns what is known of the lock, if it is one.
pub(super) fn test(uses: &Uses, trace: &Trace, calls: &Calls<'_>) -> Option<Lock> {
    let threads: BTreeSet<ThreadId> = uses.waits.iter().map(|wait| wait.thread).collect();
    let after_waits = after_waits(uses, trace);
    if threads.len() < LEAST_THREADS
        || after_waits.len() < LEAST / 2
        || 2 * after_waits.len() < uses.waits.len()
    {
        return None;
    }
    let test = Test {
        uses,
        trace,
        calls,
        had: Had::of(trace, &uses.waits, &after_waits),
        after_waits,
        is_word: uses
            .waits
            .iter()
            .all(|wait| wait.futex == uses.waits[0].futex),
    };
    let permits = test.permits().find(|&permits| {
        let may_be = permits == 1 || permits < threads.len() && test.is_word;
        may_be && test.explains(permits)
    })?;
    Some(Lock {
        section: test.had.works[test.had.works.len() / 2],
        permits: permits as u32,
        after_waits: test.after_waits,
    })
}

/// What the hypothesis is tested on.
struct Test<'a> {
    uses: &'a Uses,
    trace: &'a Trace,
    calls: &'a Calls<'a>,
    had: Had,
    after_waits: BTreeSet<u32>,
    /// Whether all wait for one futex.
    is_word: bool,
}

impl Test<'_> {
    /// Returns how many threads may have the lock at a time, the likelier number first.
    fn permits(&self) -> impl Iterator<Item = usize> {
        // How often there were so many when one began to wait.
        let times = self.holders();
        let all: usize = times.values().sum();
        let alone: usize = times.range(..=1).map(|(_, times)| times).sum();
        let mostly = times.iter().max_by_key(|&(_, times)| times);
        let mut beside = self.had.beside();
        beside.sort_unstable();
        let seen = beside.get(beside.len() * (ODD - 1) / ODD).copied();
        let several = mostly
            .map_or(1, |(&count, _)| count)
            .max(1 + seen.unwrap_or(0));
        let one = (alone * ODD >= all && several > 1).then_some(1);
        one.into_iter().chain([several])
    }

    /// Returns for how much CPU time a thread may have the lock, in nanoseconds.
    fn longest(&self) -> u64 {
        2 * self.had.works[self.had.works.len() * 9 / 10] + WAKING_UP
    }

    /// Returns the event since which a thread can have had the lock that it gives up.
    fn had_since(&self, wake: u32) -> u32 {
        let from = cpu(self.trace, wake).saturating_sub(self.longest());
        let mut first = 0;
        for event in self.calls.before(wake, &self.uses.futexes) {
            first = event;
            if cpu(self.trace, event) <= from {
                break;
            }
        }
        first
    }

    /// Returns how often so many threads had the lock when one began to wait, and gave it up by their next call.
    fn holders(&self) -> BTreeMap<usize, usize> {
        let waits = self.uses.waits.iter().chain(&self.uses.in_vain);
        let waits = waits.map(|wait| (wait.event, wait.thread, false));
        let wakes = self.uses.wakes.iter();
        let wakes = wakes.map(|wake| (wake.event, wake.thread, true));
        let mut calls: Vec<(u32, ThreadId, bool)> = waits.chain(wakes).collect();
        calls.sort_unstable_by_key(|&(event, ..)| event);
        // From the last to the first, those whose next call is a wake-up, each with since when they can have had the lock.
        let mut giving: BTreeMap<ThreadId, u32> = BTreeMap::new();
        let mut times: BTreeMap<usize, usize> = BTreeMap::new();
        for (event, thread, gives) in calls.into_iter().rev() {
            if gives {
                giving.insert(thread, self.had_since(event));
            } else {
                giving.remove(&thread);
                let have = giving.values().filter(|&&since| since < event);
                *times.entry(have.count()).or_default() += 1;
            }
        }
        times
    }

    /// Returns whether a lock that so many may have at a time explains what was recorded.
    fn explains(&self, permits: usize) -> bool {
        let beside = self.had.beside();
        let beside = beside.iter().filter(|&&others| others >= permits).count();
        let sections = self.had.sections.iter();
        let far = sections.map(|&(from, to)| to - from).max().unwrap_or(0);
        let others = self.uses.wakes.iter().filter(|wake| {
            let waited = self.after_waits.contains(&wake.event);
            !waited && self.had.at(wake.event, far) >= permits
        });
        let let_in = LetIn::of(self.uses, &self.after_waits, permits);
        let odd = beside + others.count() + self.too_long(&let_in);
        let all = self.had.sections.len() + let_in.not_waited.len();
        odd * ODD <= all && let_in.is_by_chance()
    }

    /// Returns how many of those that had not waited would have had the lock for too long.
    fn too_long(&self, let_in: &LetIn) -> usize {
        let longest = self.longest();
        let wanted: BTreeSet<u32> = let_in.not_waited.iter().map(|&(_, since)| since).collect();
        let wanted: Vec<u32> = wanted.into_iter().collect();
        let shares = Shares::at(self.trace, self.calls.by_thread(), &wanted);
        let cpu = |event: u32| cpu(self.trace, event);
        let time = |event: u32| self.trace.events[event as usize].time.0;
        let is_odd = |&&(wake, since): &&(Wake, u32)| {
            let mut before = self.calls.before(wake.event, &self.uses.futexes).peekable();
            let is_first = before.peek().is_none();
            let began = before.find(|&event| event <= since);
            let spent = match began {
                // As much as it can have used: it lost the CPU where it had the lock, and not in the middle of its work.
                Some(began) if self.is_word => cpu(began) + time(since).saturating_sub(time(began)),
                _ => shares.of(since, wake.thread.0).unwrap_or(0),
            };
            let has_it = began.is_some() || is_first;
            !has_it || cpu(wake.event).saturating_sub(spent) > longest
        };
        let_in.not_waited.iter().filter(is_odd).count()
    }
}

/// Returns the wake-ups that their threads make right after a wait.
fn after_waits(uses: &Uses, trace: &Trace) -> BTreeSet<u32> {
    let ends: BTreeSet<u32> = uses.wakes.iter().map(|wake| wake.event).collect();
    let after = uses.waits.iter().filter(|wait| ends.contains(&wait.wake));
    let mut works: Vec<(u64, u32)> = after
        .map(|wait| {
            let work = cpu(trace, wait.wake).saturating_sub(cpu(trace, wait.back));
            (work, wait.wake)
        })
        .collect();
    works.sort_unstable();
    let longest = works.get(works.len() / 2).map_or(0, |&(work, _)| work);
    // Others that come much later gave the lock up to nobody, and took it again. Who wakes somebody else under it has it for longer.
    works.retain(|&(work, _)| work <= WAKING_UP.max(LONGER * longest));
    works.into_iter().map(|(_, event)| event).collect()
}

/// Who lets in whom.
#[derive(Default)]
struct LetIn {
    /// How often each thread let in each other.
    pairs: BTreeMap<ThreadId, BTreeMap<ThreadId, usize>>,
    /// The wake-ups by threads that had not waited, each with since when they had the lock at least.
    not_waited: Vec<(Wake, u32)>,
}

impl LetIn {
    fn of(uses: &Uses, after_waits: &BTreeSet<u32>, permits: usize) -> Self {
        let waits = uses.waits.iter().map(|wait| (wait, true));
        let waits = waits.chain(uses.in_vain.iter().map(|wait| (wait, false)));
        let waits = waits.map(|(&wait, goes_on)| (wait.event, Step::Wait { wait, goes_on }));
        let wakes = uses.wakes.iter();
        let wakes = wakes.map(|&wake| (wake.event, Step::Wake(wake)));
        let mut steps: Vec<(u32, Step)> = waits.chain(wakes).collect();
        steps.sort_unstable_by_key(|&(event, _)| event);
        let mut logs: BTreeMap<ObjectId, FutexLog> = BTreeMap::new();
        let mut in_vain: BTreeSet<u32> = BTreeSet::new();
        let (mut let_in, mut free_at, mut told_at) = (Self::default(), 0, 0);
        let at = |thread: ThreadId, index: u32| OpRef {
            thread: thread.0,
            index,
        };
        for (event, step) in steps {
            match step {
                Step::Wait { wait, goes_on } => {
                    let log = logs.entry(wait.futex).or_default();
                    log.wait(at(wait.thread, event), wait.back, None);
                    told_at = event;
                    if !goes_on {
                        in_vain.insert(event);
                    }
                }
                Step::Wake(wake) => {
                    let log = logs.entry(wake.futex).or_default();
                    for ended in log.wake(at(wake.thread, event), wake.woken) {
                        if !after_waits.contains(&event) {
                            // Others may have had it meanwhile, whom nobody told that one waits.
                            let_in.not_waited.push((wake, told_at.max(free_at)));
                        }
                        if !in_vain.contains(&ended.index) {
                            let of = let_in.pairs.entry(wake.thread).or_default();
                            *of.entry(ThreadId(ended.thread)).or_default() += 1;
                        }
                    }
                    // Where several have it, the others have it still.
                    if permits == 1 {
                        free_at = event;
                    }
                }
            }
        }
        let_in
    }

    /// Returns whether some thread lets in now this one and now that.
    fn is_by_chance(&self) -> bool {
        self.pairs.values().any(|others| {
            let all: usize = others.values().sum();
            let most = others.values().max().copied().unwrap_or(0);
            all >= LEAST / 2 && most * 10 < all * ALWAYS
        })
    }
}

/// What happens to a futex.
enum Step {
    /// A thread waits, and goes on after that, or waits again.
    Wait {
        wait: Wait,
        goes_on: bool,
    },
    Wake(Wake),
}
