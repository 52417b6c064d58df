//! How far in their work others had come when a thread could go on that looked for something: they were seen at its looks only.

use std::collections::BTreeMap;

use foretrace_trace::{Operation as Op, SiteId, Trace};

use super::{Spins, rows::Row, stretches::Stretch};
use crate::{
    lower::Lowering,
    sleeps::{Place, WORKS},
};

/// A nap tells when in it its thread could have gone on, if another worked no more in it than one part in so many of what that does from one
/// wait to the next.
const TELLING: u64 = 5;

/// So many of these tell where others mostly come to in their work when a thread may go on.
const ENOUGH: usize = 5;

/// Where it is told when turns end, they tell so if they differ by no more than such a part of the work. Else those who wait themselves have just done what
/// the other waits for.
const ALIKE: f64 = 0.2;

impl Spins {
    /// Returns where in their work those who end waits are then, by the naps that tell: those in which they did not come far.
    pub(super) fn parts(&self, trace: &Trace) -> BTreeMap<(Option<SiteId>, usize), f64> {
        let mut told: BTreeMap<(Option<SiteId>, usize), Vec<f64>> = BTreeMap::new();
        for row in self.rows.iter().flatten() {
            let Some((ender, back)) = self.enders.at(row.end).zip(row.back) else {
                continue;
            };
            let used = |event| self.shares.of(event, ender.thread);
            let Some((from, to)) = used(row.look).zip(used(back)) else {
                continue;
            };
            if let Some(part) = self.told_part(trace, ender.thread, (from, to)) {
                told.entry((row.site(trace), ender.role))
                    .or_default()
                    .push(part);
            }
        }
        let middle = |(what, mut parts): (_, Vec<f64>)| {
            parts.sort_unstable_by(f64::total_cmp);
            let at = |quarters: usize| parts[(parts.len() - 1) * quarters / 4];
            let is_alike = parts.len() >= ENOUGH && at(3) - at(1) <= ALIKE;
            is_alike.then(|| (what, at(2)))
        };
        told.into_iter().filter_map(middle).collect()
    }

    /// Returns the naps of a thread that tell where in its work another was when the thread could go on, and which part of it that had done.
    pub(super) fn telling(&self, trace: &Trace, thread: usize) -> Vec<(u32, f64)> {
        let rows = self.rows[thread].iter();
        rows.filter_map(|row| {
            let (end, back) = (row.look, row.back?);
            let others = (0..self.events.len()).filter(|&other| other != thread);
            let worked = |other: usize| {
                let of = |event| self.shares.of(event, other as u32);
                Some((other, of(end)?, of(back)?))
            };
            let (other, from, to) = others
                .filter_map(worked)
                .max_by_key(|&(other, from, to)| (to.saturating_sub(from), other))?;
            let part = self.told_part(trace, other as u32, (from, to))?;
            (to > from).then_some((end, part))
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
        let is_told = self.is_told(nap);
        let differ = nearest[ENOUGH - 1] - nearest[0] > ALIKE;
        (!is_told || !differ).then(|| nearest[ENOUGH / 2])
    }

    /// Returns which part of its work another had done in the middle of what it worked in a nap, where that was little beside it.
    fn told_part(&self, trace: &Trace, other: u32, (from, to): (u64, u64)) -> Option<f64> {
        let stretch = Stretch::at(trace, self.events_of(other as usize), from)?;
        let tells = to.saturating_sub(from).saturating_mul(TELLING) <= stretch.length();
        tells.then(|| stretch.part(u64::midpoint(from, to)))
    }
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

impl Lowering<'_> {
    /// Returns how far those had come that worked in a spin, by the middle of the last time that it was off the CPU.
    pub(super) fn others_by_then(&self, row: Row, spinner: u32) -> Vec<Place> {
        let time = |event: usize| self.trace.events[event].time.0;
        let (begin, end) = (row.begin.min(row.look) as usize, row.end as usize);
        let keeps_cpu = self.keeps_cpu(end);
        let is_told = self.spins.is_told(row.look);
        let meeting = self.spins.meetings.of(end);
        let (end, back) = meeting.unwrap_or_else(|| {
            let nap = (row.look, self.next.after(end));
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
                other.used = if meeting.is_some() {
                    u64::midpoint(other.used, other.then)
                } else {
                    self.likely(spinner, end as u32, other)
                };
            }
        }
        if meeting.is_none()
            && let Some((one, used)) = self.one_by_then(row)
        {
            others.retain(|other| other.thread == one);
            for other in &mut others {
                other.used = used;
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
                if keeps_cpu || is_told {
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
        let ends = (stretch.end() <= other.then).then(|| stretch.end());
        let usual = self.spins.usual(spinner, nap).map(|part| stretch.cpu(part));
        let usual = usual.or(ends);
        usual
            .unwrap_or(middle)
            .clamp(other.used, other.then.max(other.used))
    }

    /// Returns the one that ended a wait, where one did, and how far it had come by then: where in its work it mostly ends waits; else half as far as it came
    /// in the last nap. Who follows another needs no more than the first of that.
    fn one_by_then(&self, row: Row) -> Option<(u32, u64)> {
        if let Some(followed) = self.spins.streams.first(row.end) {
            return Some(followed);
        }
        let ender = self.spins.enders.at(row.end)?;
        let used = |event| self.spins.shares.of(event, ender.thread);
        let (from, to) = (used(row.look)?, used(row.back?)?);
        let site = row.site(self.trace);
        let own = self.spins.events_of(ender.thread as usize);
        let stretch = |cpu| Stretch::at(self.trace, own, cpu);
        let part = self.spins.parts.get(&(site, ender.role));
        let at = part.zip(stretch(from)).map(|(&part, first)| {
            let at = first.cpu(part);
            if at > from || first.end() >= to {
                return at;
            }
            // It had been there already: the next time.
            stretch(first.end()).map_or(first.end(), |next| next.cpu(part))
        });
        let at = at.unwrap_or(u64::midpoint(from, to));
        Some((ender.thread, at.clamp(from, to.max(from))))
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
    pub(super) fn place_by(&self, thread: u32, cpu: u64) -> Option<Place> {
        let own = &self.spins.events[thread as usize];
        let used = |event: u32| self.trace.events[event as usize].cpu();
        let next = own.partition_point(|&event| used(event).is_some_and(|used| used.0 < cpu));
        let mut event = *own.get(next)?;
        // Where that is one of several looks, it came to the first; within a call that took some time, to that.
        let row = self.spins.row_around(thread, event);
        if let Some(row) = row.filter(|row| row.begin < event) {
            return Some(Place {
                event: row.begin,
                cpu,
                is_within: false,
            });
        }
        let call = self.trace.call(&self.trace.events[event as usize]);
        let is_within = call.operation != Op::Return;
        if !is_within {
            event = *own.get(next.checked_sub(1)?)?;
        }
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
        let next = own.partition_point(|&event| events[event as usize].time.0 <= time);
        let last = *own.get(next.checked_sub(1)?)?;
        if call(last).operation == Op::Terminate {
            return Some(at(last, false));
        }
        let following = *own.get(next)?;
        // Where it is in one of several looks, it came to the first.
        if let Some(row) = self.spins.row_around(thread, last) {
            return Some(at(row.begin, false));
        }
        if call(following).operation != Op::Return {
            return Some(at(following, true));
        }
        Some(at(last, false))
    }
}
