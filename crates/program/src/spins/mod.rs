//! Threads that look at memory again and again until others have changed it, and give up the CPU in between, or lose it.
//!
//! How often such a thread looks depends on how long the others take. While it is recorded, it takes a short nap between two looks, or keeps
//! the CPU until its slice is over, and what the others have come to meanwhile is known (`shares`). So it waits until those that worked
//! have come as far as they had between the last look that was in vain and the one that was not.
//!
//! A nap may last until the other thread waits itself, since the kernel lets nobody look who had the CPU for longer. What such a nap leaves open, those
//! near it tell that were short beside the other's work.
//!
//! Who spins for a lock waits for whoever has it, and that may be nobody on more CPUs; such waits are short beside the work. So only the
//! spins of threads that spin for long are taken for waits.
//!
//! # Source
//!
//! `docs/models.md`, "What is assumed, and said".

mod meetings;
mod stretches;

use std::collections::BTreeMap;

use foretrace_trace::{Event, Operation as Op, SiteId, Trace};

use self::{
    meetings::Meetings,
    stretches::{Stretch, returns},
};
use crate::{
    Action,
    lower::{Lowering, OpenKind},
    polls::SPIN,
    program::Waiting,
    shares::Shares,
    sleeps::{Place, Slept, WORKS},
};

/// A nap tells when in it its thread could have gone on, if another worked no more in it than one part in so many of what that does from one
/// wait to the next.
const TELLING: u64 = 5;

/// So many of these tell where others mostly come to in their work when a thread may go on.
const ENOUGH: usize = 5;

/// The naps of a thread that waits by spinning last for one part in so many of its own CPU time at least.
const LEAST_SHARE: u64 = 8;

/// The same of those that keep the CPU: who waits for whom is known more closely, and on one CPU each wait takes a slice.
const LEAST_LOOKING_SHARE: u64 = 64;

/// As many turns that ended in looking tell how long turns are.
const TURNS: usize = 8;

/// The shortest slice that a recording asks the kernel for, in nanoseconds: shorter turns were ended otherwise.
const LEAST_SLICE: u64 = 1_000_000;

/// The spins of a trace.
#[derive(Default)]
pub(crate) struct Spins {
    /// The events of each thread, where some spin, and how far all had come at those of the spins.
    events: Vec<Vec<u32>>,
    /// At which places of these each thread returned from a wait.
    returns: Vec<Vec<u32>>,
    shares: Shares,
    /// Whether each thread's spins are taken for waits.
    waits: Vec<bool>,
    /// How often each thread looked in those.
    looks: BTreeMap<u32, u64>,
    /// At which events of each thread naps began that tell where in its work another was when the thread could go on, and where that was.
    telling: Vec<Vec<(u32, f64)>>,
    /// The last naps of those that keep the CPU, by the call that looks: the event that ends each, and the one at which it began, in order.
    looking: BTreeMap<Option<SiteId>, Vec<(u32, u32)>>,
    /// The times at which threads met by looking.
    meetings: Meetings,
    /// How long the turns were that began after a look in vain and ended in another, in nanoseconds, the shortest first.
    turns: Vec<u64>,
}

impl Spins {
    /// Goes through a trace.
    pub fn of(trace: &Trace) -> Self {
        if !trace.calls.iter().any(|call| call.operation.is_spin()) {
            return Self::default();
        }
        let mut events = vec![Vec::new(); trace.threads.len()];
        for (number, event) in (0..).zip(&trace.events) {
            events[trace.call(event).thread.index()].push(number);
        }
        let waits = events.iter().map(|own| waits(trace, own)).collect();
        let mut wanted: Vec<u32> = events
            .iter()
            .flat_map(|own| ends_of_spins(trace, own))
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut turns: Vec<u64> = events.iter().flat_map(|own| turns(trace, own)).collect();
        turns.sort_unstable();
        let returns = events.iter().map(|own| returns(trace, own)).collect();
        let mut spins = Self {
            turns,
            returns,
            shares: Shares::at(trace, &events, &wanted),
            events,
            waits,
            telling: Vec::new(),
            looks: BTreeMap::new(),
            looking: BTreeMap::new(),
            meetings: Meetings::default(),
        };
        spins.looking = spins.looking(trace);
        // A listing by hand is replayed as it stands.
        let is_recorded = trace.recording.is_some();
        let sites = spins.looking.keys().copied().filter(|_| is_recorded);
        let mut meetings = Meetings::default();
        for site in sites {
            let naps = spins.looking[&site].iter().map(|&(back, end)| {
                let thread = trace.call(&trace.events[end as usize]).thread.0;
                (end, thread, spins.came_between(site, (end, back)))
            });
            meetings.add(naps, |meeting| spins.most_worked(meeting));
        }
        spins.meetings = meetings;
        let threads = 0..spins.events.len();
        spins.telling = threads.map(|thread| spins.telling(trace, thread)).collect();
        spins
    }

    /// Returns the last naps of those that keep the CPU, by the call that looks.
    fn looking(&self, trace: &Trace) -> BTreeMap<Option<SiteId>, Vec<(u32, u32)>> {
        let mut looking: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for own in &self.events {
            for place in last_naps(trace, own) {
                let call = trace.call(&trace.events[own[place] as usize]);
                if let (Op::Spin(_), Some(&back)) = (call.operation, own.get(place + 1)) {
                    looking
                        .entry(call.site)
                        .or_default()
                        .push((back, own[place]));
                }
            }
        }
        for naps in looking.values_mut() {
            naps.sort_unstable();
        }
        looking
    }

    /// Returns the last look in vain, and the first that was not, of all that looked for the same as a thread whose last nap began at an event and
    /// ended with another: in between it came. Whoever looks at the same place is taken to look for the same.
    fn came_between(&self, site: Option<SiteId>, (end, back): (u32, u32)) -> (u32, u32) {
        let naps = self.looking.get(&site).map_or(&[][..], Vec::as_slice);
        let first = naps.partition_point(|&(other_back, _)| other_back <= end);
        let Some(&(first_back, _)) = naps.get(first).filter(|nap| nap.0 <= back) else {
            return (end, back);
        };
        let same = naps[first..].iter().take(self.events.len());
        let looks = same.map(|&(_, other_end)| other_end);
        let last = looks.filter(|&look| look < first_back).max();
        (last.map_or(end, |last| last.max(end)), first_back)
    }

    /// Returns the events of a thread, and at which places of these it returned from a wait.
    fn events_of(&self, thread: usize) -> (&[u32], &[u32]) {
        (&self.events[thread], &self.returns[thread])
    }

    /// Returns the naps of a thread that tell where in its work another was when the thread could go on, and which part of it that had done.
    fn telling(&self, trace: &Trace, thread: usize) -> Vec<(u32, f64)> {
        let own = &self.events[thread];
        last_naps(trace, own)
            .filter_map(|place| {
                let (end, back) = (own[place], *own.get(place + 1)?);
                let others = (0..self.events.len()).filter(|&other| other != thread);
                let worked = |other: usize| {
                    let of = |event| self.shares.of(event, other as u32);
                    Some((other, of(end)?, of(back)?))
                };
                let (other, from, to) = others
                    .filter_map(worked)
                    .max_by_key(|&(other, from, to)| (to.saturating_sub(from), other))?;
                let stretch = Stretch::at(trace, self.events_of(other), from)?;
                let tells = to.saturating_sub(from).saturating_mul(TELLING) <= stretch.length();
                (to > from && tells).then(|| (end, stretch.part(u64::midpoint(from, to))))
            })
            .collect()
    }

    /// Returns which part of their work others have done when a thread may go on whose nap began at this event, by those of its naps
    /// nearest to it that tell.
    fn usual(&self, thread: u32, nap: u32) -> Option<f64> {
        let telling = &self.telling[thread as usize];
        let after = telling.partition_point(|&(event, _)| event < nap);
        let from = after
            .saturating_sub(ENOUGH / 2)
            .min(telling.len().checked_sub(ENOUGH)?);
        let mut nearest: Vec<f64> = telling[from..from + ENOUGH]
            .iter()
            .map(|&(_, part)| part)
            .collect();
        nearest.sort_unstable_by(f64::total_cmp);
        Some(nearest[ENOUGH / 2])
    }

    /// Returns how long turns are that the scheduler ends; nothing where the recorder ended them.
    pub fn slice(&self) -> Option<u64> {
        let middle = self.turns.get(self.turns.len() / 2).copied();
        middle.filter(|&middle| self.turns.len() >= TURNS && middle >= LEAST_SLICE)
    }
}

/// Returns how long the turns of a thread were that began after a look in vain and ended in another.
fn turns<'t>(trace: &'t Trace, own: &'t [u32]) -> impl Iterator<Item = u64> + 't {
    let spin = |event: u32| {
        let event = &trace.events[event as usize];
        match trace.call(event).operation {
            Op::Spin(looked) => Some((event.cpu()?, looked)),
            _ => None,
        }
    };
    own.windows(3).filter_map(move |events| {
        let &[first, _, last] = events else {
            return None;
        };
        let ((before, _), (cpu, looked)) = (spin(first)?, spin(last)?);
        Some(cpu.since(before).0 + looked.0)
    })
}

/// Another thread, while one spins.
struct Other {
    thread: u32,
    /// The CPU time that it had used when that began.
    before: u64,
    /// What it has to have used until the other goes on; at first, what it had when the other last looked in vain.
    used: u64,
    /// What it had used when the other was back.
    then: u64,
}

impl Other {
    /// Returns how much it worked since the other last looked in vain.
    fn worked(&self) -> u64 {
        self.then.saturating_sub(self.used)
    }
}

/// Returns whether a thread spins for long.
fn waits(trace: &Trace, own: &[u32]) -> bool {
    let event = |place: usize| own.get(place).map(|&event| &trace.events[event as usize]);
    let nap = |place: usize| {
        let (call, back) = (event(place)?, event(place + 1)?);
        let time = back.time.0.saturating_sub(call.time.0);
        match trace.call(call).operation {
            Op::Spin(_) => Some(time.saturating_mul(LEAST_LOOKING_SHARE)),
            operation => operation
                .is_spin()
                .then(|| time.saturating_mul(LEAST_SHARE)),
        }
    };
    let napped = (0..own.len()).filter_map(nap).fold(0, u64::saturating_add);
    let last = own.len().checked_sub(1).and_then(event);
    let used = last.and_then(Event::cpu).unwrap_or_default();
    napped >= used.0
}

/// Returns the events of a thread at which a spin may begin, and the last nap of one, and its return.
fn ends_of_spins<'t>(trace: &'t Trace, own: &'t [u32]) -> impl Iterator<Item = u32> + 't {
    let first = |place: &usize| {
        let before = place.checked_sub(2);
        !before.is_some_and(|before| is_spin(trace, own, before) && only_looks(trace, own, before))
    };
    let firsts = (0..own.len()).filter(move |&place| is_spin(trace, own, place) && first(&place));
    let lasts = last_naps(trace, own).flat_map(|place| [place, place + 1]);
    firsts
        .chain(lasts)
        .filter_map(|place| own.get(place).copied())
}

/// Returns the last nap of each spin of a thread, as places of its events.
fn last_naps<'t>(trace: &'t Trace, own: &'t [u32]) -> impl Iterator<Item = usize> + 't {
    (0..own.len()).filter(move |&place| {
        let goes_on = is_spin(trace, own, place + 2) && only_looks(trace, own, place);
        is_spin(trace, own, place) && !goes_on
    })
}

/// Returns whether there is a nap, or a look that kept the CPU, at this place of a thread's events.
fn is_spin(trace: &Trace, own: &[u32], place: usize) -> bool {
    let event = own.get(place);
    event.is_some_and(|&event| {
        trace
            .call(&trace.events[event as usize])
            .operation
            .is_spin()
    })
}

/// Returns whether a thread does nothing but look between the nap at this place of its events and the next one.
fn only_looks(trace: &Trace, own: &[u32], nap: usize) -> bool {
    let cpu = |place: usize| {
        let event = own.get(place)?;
        trace.events[*event as usize].cpu()
    };
    let (Some(back), Some(next)) = (cpu(nap + 1), cpu(nap + 2)) else {
        return false;
    };
    next.0.saturating_sub(back.0) <= SPIN
}

impl Lowering<'_> {
    /// Lowers a spin: a wait for those that worked meanwhile, until they have come as far as they had in the
    /// middle of the last time that it was off the CPU.
    pub fn spin(&mut self, begin: usize, thread: u32) {
        let Slept { end, count, .. } = self.sleeps_on(begin);
        let back = self.next.after(end);
        let returns = self.return_of(end).is_some();
        let others = if returns {
            self.others_by_then((begin, end), thread)
        } else {
            Vec::new()
        };
        let keeps_cpu = self.keeps_cpu(end);
        let waits = !others.is_empty() && self.spins.waits[thread as usize];
        if keeps_cpu && waits && self.trace.recording.is_none() {
            let looked = self.looked(begin, end);
            self.push_with_work(begin, thread, Action::Linger, looked);
        }
        let at = if others.is_empty() {
            // Nobody worked: it waited for time to pass, or for something outside. Or for less than can be seen of another that looks.
            let slept = self.recorded_delay(begin, end);
            let idle = if returns && self.another_looks(begin, back, thread) {
                0
            } else {
                self.busy.idle(slept, begin, back as usize)
            };
            let delay = self.delay(idle);
            self.push(begin, thread, delay)
        } else {
            self.push(begin, thread, Action::Pass)
        };
        if returns {
            self.set_open(at, OpenKind::Other);
        }
        self.arrive(begin, end, thread);
        if waits {
            let wait = if keeps_cpu {
                Waiting::Looking
            } else {
                Waiting::Yielding
            };
            let gates = if let Some(meeting) = self.spins.meetings.of(end) {
                self.gates_at(meeting, &others, (begin, thread))
            } else {
                let gate = |place: Place| (self.gate_in(place, wait), place.event);
                others.into_iter().map(gate).collect()
            };
            self.sleeps.awaits.insert(back, gates);
            *self.spins.looks.entry(thread).or_default() += u64::from(count);
        }
        self.resumes_at[thread as usize] = end as u32 + 1;
    }

    /// Returns for how long a thread looked at memory in a spin that ended with this event, in nanoseconds.
    fn looked(&self, begin: usize, end: usize) -> u64 {
        let mut looked = 0;
        let mut event = begin;
        loop {
            if let Op::Spin(time) = self.trace.call(&self.trace.events[event]).operation {
                looked += time.0;
            }
            if event >= end {
                return looked;
            }
            event = self.next.after(event) as usize;
        }
    }

    /// Lowers a spin that went on by itself: on one CPU it takes as long as it did, on more what it looks for can come meanwhile, and what the
    /// thread does then to wait for it takes as long as that needs. One of no time only tells how far the thread had come.
    pub fn linger(&mut self, index: usize, thread: u32, looked: u64) {
        self.push(index, thread, Action::Pass);
        if looked > 0 {
            self.push_with_work(index, thread, Action::Linger, looked);
        }
    }

    /// Returns whether another thread looks at memory between two events, and nothing tells what for.
    fn another_looks(&self, begin: usize, back: u32, thread: u32) -> bool {
        (begin..back as usize).any(|event| {
            let call = self.trace.call(&self.trace.events[event]);
            call.thread.0 != thread && self.keeps_cpu(event)
        })
    }

    /// Returns whether a thread looked at memory there until it lost the CPU.
    fn keeps_cpu(&self, event: usize) -> bool {
        let call = self.trace.call(&self.trace.events[event]);
        matches!(call.operation, Op::Spin(_))
    }

    /// Returns how far those had come that worked in a spin, by the middle of the last time that it was off the CPU.
    fn others_by_then(&self, (begin, end): (usize, usize), spinner: u32) -> Vec<Place> {
        let time = |event: usize| self.trace.events[event].time.0;
        let keeps_cpu = self.keeps_cpu(end);
        let meeting = self.spins.meetings.of(end);
        let (end, back) = meeting.unwrap_or_else(|| {
            let nap = (end as u32, self.next.after(end));
            if !keeps_cpu {
                return nap;
            }
            let site = self.trace.call(&self.trace.events[end]).site;
            self.spins.came_between(site, nap)
        });
        let end = end as usize;
        let mut others: Vec<Other> = (0..self.spins.events.len() as u32)
            .filter(|&thread| thread != spinner)
            .filter_map(|thread| {
                let cpu = |event: u32| self.spins.shares.of(event, thread);
                Some(Other {
                    thread,
                    before: cpu(begin as u32)?,
                    used: cpu(end as u32)?,
                    then: cpu(back)?,
                })
            })
            .collect();
        let half = (time(back as usize) - time(end)) / 2;
        if meeting.is_some()
            && let Some(last) = (0..others.len()).max_by_key(|&place| others[place].worked())
        {
            // Only the last one that came lets the others go on.
            others = vec![others.swap_remove(last)];
        }
        if keeps_cpu {
            self.come_half_as_far(&mut others, (end, back));
        } else {
            for other in &mut others {
                other.used = self.likely(spinner, end as u32, other);
            }
        }
        others.retain(|other| other.used > other.before);
        let worked = |other: &Other| other.used - other.before;
        let all: u64 = others.iter().map(worked).sum();
        let count = others.len() as u64;
        others
            .into_iter()
            .filter(|other| worked(other).saturating_mul(WORKS * count) >= all)
            .filter_map(|other| {
                if keeps_cpu {
                    self.place_by(other.thread, other.used)
                } else {
                    self.place_at(other.thread, time(end) + half, other.used)
                }
            })
            // What others came to before the spin is past.
            .filter(|place| place.event > begin as u32)
            .collect()
    }

    /// Returns how far another had come when a thread could go on, of what it worked in the thread's last nap: half of that, or, where
    /// the kernel let the thread look too late, as far as others mostly come.
    fn likely(&self, spinner: u32, nap: u32, other: &Other) -> u64 {
        let middle = u64::midpoint(other.used, other.then);
        let own = self.spins.events_of(other.thread as usize);
        let Some(stretch) = Stretch::at(self.trace, own, other.used) else {
            return middle;
        };
        if other.worked().saturating_mul(TELLING) <= stretch.length() {
            return middle;
        }
        let usual = self.spins.usual(spinner, nap).map(|part| stretch.cpu(part));
        usual
            .unwrap_or(middle)
            .clamp(other.used, other.then.max(other.used))
    }

    /// Lets others come as far as they had when half of all was done that they worked between two events, one after the other. They may have
    /// looked, too, so that half of the time says nothing.
    fn come_half_as_far(&self, others: &mut [Other], (from, to): (usize, u32)) {
        others.sort_by_key(|other| self.worked_until(other.thread, (from, to)));
        let mut left = others.iter().map(Other::worked).sum::<u64>() / 2;
        for other in others {
            let worked = other.worked().min(left);
            other.used += worked;
            left -= worked;
        }
    }

    /// Returns by which event a thread had done what it worked between two events.
    fn worked_until(&self, thread: u32, (from, to): (usize, u32)) -> u32 {
        let own = &self.spins.events[thread as usize];
        let next = own.partition_point(|&event| event < to);
        let last = next.checked_sub(1).and_then(|place| own.get(place));
        let is_over = |event: &&u32| {
            let call = self.trace.call(&self.trace.events[**event as usize]);
            **event > from as u32 && call.operation != Op::Return
        };
        last.filter(is_over).copied().unwrap_or(to)
    }

    /// Returns where a thread was when it had used so much CPU time; `None` where it never did.
    fn place_by(&self, thread: u32, cpu: u64) -> Option<Place> {
        let own = &self.spins.events[thread as usize];
        let used = |event: u32| self.trace.events[event as usize].cpu();
        let next = own.partition_point(|&event| used(event).is_some_and(|used| used.0 < cpu));
        let event = *own.get(next)?;
        let is_within = true;
        Some(Place {
            event,
            cpu,
            is_within,
        })
    }

    /// Returns how far a thread had come at a time, by when it had used so much CPU time; `None` where it was not there, or would never
    /// come to anything again.
    fn place_at(&self, thread: u32, time: u64, cpu: u64) -> Option<Place> {
        let events = &self.trace.events;
        let own = &self.spins.events[thread as usize];
        let call = |event: u32| self.trace.call(&events[event as usize]);
        let at = |event, is_within| Place {
            event,
            cpu,
            is_within,
        };
        let mut next = own.partition_point(|&event| events[event as usize].time.0 <= time);
        let mut last = *own.get(next.checked_sub(1)?)?;
        if call(last).operation == Op::Terminate {
            return Some(at(last, false));
        }
        let following = *own.get(next)?;
        let spins = |place: usize| call(own[place]).operation.is_spin();
        let looks =
            next >= 2 && spins(next - 2) && spins(next) && only_looks(self.trace, own, next - 2);
        if looks {
            next -= 1;
            last = own[next - 1];
        } else if call(following).operation != Op::Return {
            return Some(at(following, true));
        }
        // It is in a call. Where that is one of several looks, it came to the first.
        while next >= 3
            && spins(next - 1)
            && spins(next - 3)
            && only_looks(self.trace, own, next - 3)
        {
            next -= 2;
            last = own[next - 1];
        }
        Some(at(last, false))
    }

    /// Tells which threads are taken to have waited by spinning.
    pub fn tell_spins(&mut self) {
        let looks = std::mem::take(&mut self.spins.looks);
        if looks.is_empty() {
            return;
        }
        let count: u64 = looks.values().sum();
        let who = self.named(looks.into_keys().collect());
        self.warnings.push(format!(
            "{who} looked at memory again and again, {count} times without the CPU in between, while others worked: taken to wait until \
             these come as far as they had come then"
        ));
    }
}
