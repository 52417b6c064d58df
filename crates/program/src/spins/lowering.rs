//! Lowering spins to waits for how far others have come.

use foretrace_trace::Operation as Op;

use super::{rows::Row, waiting};
use crate::{
    Action,
    lower::{Lowering, OpenKind},
    program::Waiting,
    sleeps::{GateAt, Place},
};

/// What a thread waits for that looks.
pub(super) struct Awaited {
    /// The gates that stand for how far others have to come, and the events that they open at.
    gates: Vec<GateAt>,
    /// Whether any of them worked meanwhile.
    any_worked: bool,
    /// Whether it does wait for them.
    waits: bool,
}

impl Lowering<'_> {
    /// Lowers a spin: a wait for those that worked meanwhile, until they have come as far as they had in the
    /// middle of the last time that it was off the CPU.
    pub fn spin(&mut self, row: Row, thread: u32) {
        let begin = row.begin as usize;
        let end = row.end as usize;
        let back = self.next.after(end);
        let returns = row.back.is_some();
        let naps = row.shortest > 0;
        let keeps_cpu = self.keeps_cpu(end);
        let early = self.spins.early.remove(&row.begin);
        let awaited = early.unwrap_or_else(|| self.awaited(row, thread));
        let waits = awaited.waits;
        if keeps_cpu && waits && self.trace.recording.is_none() {
            let looked = self.looked(begin, end);
            self.push_with_work(begin, thread, Action::Linger, looked);
        }
        let at = if awaited.any_worked {
            self.push(begin, thread, Action::Pass)
        } else {
            // Nobody worked: it waited for time to pass, or for something outside. Or for less than can be seen of another that looks.
            let slept = self.recorded_delay(begin, end);
            let idle = if returns && self.another_looks(begin, back, thread) {
                0
            } else {
                self.busy.idle(slept, begin, back as usize)
            };
            let delay = self.delay(idle);
            self.push(begin, thread, delay)
        };
        if returns {
            self.set_open(at, OpenKind::Other);
        }
        if waits && row.looked > 0 {
            self.push_with_work(begin, thread, Action::Linger, row.looked);
            self.spins.lingers[thread as usize] = row.looked;
        }
        self.arrive(begin, end, thread);
        if waits {
            self.sleeps.awaits.insert(back, awaited.gates);
            if naps {
                self.sleeps
                    .note_naps(thread, row.count, (back, row.shortest));
            } else {
                *self.spins.looks.entry(thread).or_default() += u64::from(row.count);
            }
        }
        self.resumes_at[thread as usize] = end as u32 + 1;
    }

    /// Lets threads that follow others need what these did, piece by piece.
    pub fn follow(&mut self) {
        for need in std::mem::take(&mut self.spins.streams.needs) {
            let event = need.event;
            let row = self.spins.row_around(need.follower, event);
            let call = self.trace.call(&self.trace.events[event as usize]);
            // What it does among its looks, and in coming back, is no piece of its work.
            if row.is_some_and(|row| row.begin < event) || call.operation == Op::Return {
                continue;
            }
            if let Some(place) = self.place_by(need.leader, need.used) {
                let gate = self.gate_in(place, Waiting::Sleeping);
                self.need_at(event, need.at, (gate, place.event));
            }
        }
    }

    /// Finds what a thread waits for that looks, from its last look in vain on: the others come on meanwhile.
    fn awaited(&mut self, row: Row, thread: u32) -> Awaited {
        let others = if row.back.is_some() {
            self.others_by_then(row, thread)
        } else {
            Vec::new()
        };
        let naps = row.shortest > 0;
        let any_worked = !others.is_empty();
        let waits = any_worked && (naps || self.spins.waits[thread as usize]);
        let end = row.end as usize;
        let gates = if !waits {
            Vec::new()
        } else if let Some(meeting) = self.spins.meetings.of(end) {
            self.gates_at(meeting, &others, (row.begin as usize, thread))
        } else {
            let wait = waiting(self.trace, row.end);
            let gate = |place: Place| (self.gate_in(place, wait), place.event);
            others.into_iter().map(gate).collect()
        };
        Awaited {
            gates,
            any_worked,
            waits,
        }
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
        if let Some(row) = self.spins.row_about_to_begin(thread, index as u32) {
            let awaited = self.awaited(row, thread);
            self.spins.early.insert(row.begin, awaited);
        }
    }

    /// Returns whether another thread looks at memory between two events, and nothing tells what for.
    fn another_looks(&self, begin: usize, back: u32, thread: u32) -> bool {
        let looks_then = (begin..back as usize).any(|event| {
            let call = self.trace.call(&self.trace.events[event]);
            call.thread.0 != thread && self.keeps_cpu(event)
        });
        let mut others = (0..self.spins.events.len() as u32).filter(|&other| other != thread);
        looks_then || others.any(|other| self.looks_still(other, begin as u32))
    }

    /// Returns whether a thread looked at memory before an event, until it lost the CPU, and had not come back by then.
    fn looks_still(&self, thread: u32, event: u32) -> bool {
        let row = self.spins.row_before(thread, event);
        row.is_some_and(|row| {
            self.keeps_cpu(row.end as usize) && row.back.is_none_or(|back| back > event)
        })
    }

    /// Returns whether a thread looked at memory there until it lost the CPU.
    pub(super) fn keeps_cpu(&self, event: usize) -> bool {
        let call = self.trace.call(&self.trace.events[event]);
        matches!(call.operation, Op::Spin(_))
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
