//! Who ran when: how much CPU time each thread had used at some events of others.
//!
//! A thread's CPU time is known at its own events. In between, on one CPU, it ran while no other did. So the time between two events of a
//! recording goes to the thread of the second one as far as that used so much, and the rest to the others that had something left to do until their
//! own next events: each as it has to hurry, by what is left and how long until then. Of two threads that is exact where no other program wants that CPU.
//!
//! Where the ends of a thread's turns are told ([`Operation::TURN_END`]), it had the CPU right before its next event for as long as it
//! worked until then.

use std::collections::BTreeMap;

use foretrace_trace::{Event, Operation, Trace};

/// The CPU times of all threads at some events, in nanoseconds.
#[derive(Default)]
pub(crate) struct Shares {
    at: BTreeMap<u32, Vec<u64>>,
}

/// A thread on its way to its next event.
#[derive(Clone, Copy)]
struct Way {
    /// The CPU time that it has used.
    cpu: u64,
    /// What it will have used at that event, and when that is.
    next_cpu: u64,
    next_at: u64,
    /// Which of its events that is.
    next: usize,
    /// Whether that is a return: until then it waits, and the CPU time in it is what coming back takes.
    waits: bool,
    /// Whether the ends of its turns are told.
    is_told: bool,
    /// Whether it is there: some are still to be created.
    is_born: bool,
}

impl Way {
    fn left(&self) -> u64 {
        self.next_cpu.saturating_sub(self.cpu)
    }

    /// Returns how much it had the CPU in a time before its next event, where the ends of its turns are told.
    fn within(&self, time: u64, now: u64) -> u64 {
        let begun = self.next_at.saturating_sub(self.left()).max(now);
        (now + time).min(self.next_at).saturating_sub(begun)
    }

    /// Goes on to the event after the next one.
    fn go_on(&mut self, trace: &Trace, events: &[u32]) {
        let event = &trace.events[events[self.next] as usize];
        self.is_told |= trace.call(event).operation == Operation::TURN_END;
        self.next += 1;
        if let Some(&event) = events.get(self.next) {
            let event = &trace.events[event as usize];
            self.waits = trace.call(event).operation == Operation::Return;
            self.next_cpu = event.cpu().map_or(self.next_cpu, |cpu| cpu.0.max(self.cpu));
            self.next_at = event.time.0;
        }
    }
}

impl Shares {
    /// Finds them out at the events that are wanted, in order. `events` are those of each thread.
    pub fn at(trace: &Trace, events: &[Vec<u32>], wanted: &[u32]) -> Self {
        let start = |events: &Vec<u32>| {
            let first = events.first().map(|&event| &trace.events[event as usize]);
            Way {
                cpu: 0,
                next_cpu: first.and_then(Event::cpu).map_or(0, |cpu| cpu.0),
                next_at: first.map_or(0, |first| first.time.0),
                next: 0,
                waits: false,
                is_told: false,
                is_born: true,
            }
        };
        let mut ways: Vec<Way> = events.iter().map(start).collect();
        for call in &trace.calls {
            if let Operation::Create(child) = call.operation {
                ways[child.index()].is_born = false;
            }
        }
        let mut wanted = wanted.iter().copied().peekable();
        let mut shares = Self::default();
        let (mut now, mut looks) = (0, 0);
        for (number, event) in (0..).zip(&trace.events) {
            if wanted.peek().is_none() {
                break;
            }
            let call = trace.call(event);
            let thread = call.thread.index();
            let own = ways[thread].left();
            if let Operation::Linger(looked) = call.operation {
                looks += looked.0;
            }
            let mut left = event.time.0.saturating_sub(now).saturating_sub(own);
            // Who looked at memory until it lost the CPU had it until then.
            let looked = left.min(looks);
            (left, looks) = (left - looked, looks - looked);
            if let Operation::Spin(looked) = call.operation {
                looks += looked.0;
            }
            ways[thread].cpu += own;
            ways[thread].is_born = true;
            share_out(&mut ways, left, now);
            now = event.time.0;
            ways[thread].go_on(trace, &events[thread]);
            if let Operation::Create(child) = call.operation {
                ways[child.index()].is_born = true;
            }
            if wanted.next_if_eq(&number).is_some() {
                let cpu = ways.iter().map(|way| way.cpu);
                shares.at.insert(number, cpu.collect());
            }
        }
        shares
    }

    /// Returns the CPU time of a thread at an event that was wanted.
    pub fn of(&self, event: u32, thread: u32) -> Option<u64> {
        self.at.get(&event)?.get(thread as usize).copied()
    }

    /// Returns the CPU times of all threads at two events that were wanted.
    pub fn between(&self, from: u32, to: u32) -> Option<(&[u64], &[u64])> {
        Some((self.at.get(&from)?, self.at.get(&to)?))
    }
}

/// Gives a time to those that have something left, as they have to hurry from now on.
fn share_out(ways: &mut [Way], mut time: u64, now: u64) {
    if time == 0 {
        return;
    }
    let length = time;
    for way in ways
        .iter_mut()
        .filter(|way| way.is_told && way.is_born && !way.waits)
    {
        let had = way.within(length, now).min(time);
        way.cpu += had;
        time -= had;
    }
    let hurry = |way: &Way| {
        let left = if way.waits || way.is_told || !way.is_born {
            0
        } else {
            way.left()
        };
        left as f64 / way.next_at.saturating_sub(now).max(1) as f64
    };
    let all: f64 = ways.iter().map(hurry).sum();
    if all <= 0.0 {
        return;
    }
    for way in ways {
        #[expect(clippy::cast_sign_loss, reason = "no share is negative")]
        let share = (time as f64 * (hurry(way) / all)).round() as u64;
        way.cpu += share.min(way.left());
    }
}

#[cfg(test)]
mod tests {
    use foretrace_trace::text;

    use super::*;

    #[test]
    fn who_ran_while_another_slept_is_known() {
        // A and B share the CPU for 100 us, of which B has 30; then B sleeps for 50, and again they share it.
        let listing = "foretrace-text 1\nunit 1us\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0\n0 A return cpu=0\n\
                       100 B sleep cpu=30\n150 B return cpu=31\n300 A terminate cpu=199\n320 B terminate cpu=121\n";
        let trace = text::parse(listing, "test").expect("it is well formed");
        let mut events = vec![Vec::new(); 2];
        for (number, event) in (0..).zip(&trace.events) {
            events[trace.call(event).thread.index()].push(number);
        }
        let shares = Shares::at(&trace, &events, &[2, 3]);
        let micros = |event| shares.of(event, 0).map(|cpu| cpu / 1_000);
        assert_eq!((micros(2), micros(3)), (Some(70), Some(119)));
        assert_eq!((shares.of(3, 1), shares.of(4, 1)), (Some(31_000), None));
    }

    #[test]
    fn who_is_still_to_be_created_does_not_run() {
        // A runs until 30, then another program; at 100 A creates B, which has as much to do until 130.
        let listing = "foretrace-text 1\nunit 1us\nreturns explicit\nprocess A\nprocess B\ncond x\n30 A cond_signal x cpu=30\n\
                       100 A create B cpu=30\n130 B terminate cpu=30\n140 A terminate cpu=40\n";
        let trace = text::parse(listing, "test").expect("it is well formed");
        let shares = Shares::at(&trace, &[vec![0, 1, 3], vec![2]], &[1, 2]);
        let of_b = |event| shares.of(event, 1).map(|cpu| cpu / 1_000);
        assert_eq!((of_b(1), of_b(2)), (Some(0), Some(30)));
    }

    #[test]
    fn nobody_else_runs_while_a_thread_looks_at_memory() {
        // After 100 us of its own B looks for 300; A runs from 400 to 500.
        let listing = "foretrace-text 1\nunit 1us\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0\n\
                       100 B spin looked=300 cpu=100\n500 B return cpu=100\n1000 A terminate cpu=900\n1000 B terminate cpu=200\n";
        let trace = text::parse(listing, "test").expect("it is well formed");
        let events = vec![vec![0, 3], vec![1, 2, 4]];
        let shares = Shares::at(&trace, &events, &[1, 2]);
        let of_other = |event| shares.of(event, 0).map(|cpu| cpu / 1_000);
        assert_eq!((of_other(1), of_other(2)), (Some(0), Some(100)));
    }

    #[test]
    fn where_the_ends_of_turns_are_told_a_thread_ran_right_before_them() {
        // A and B share the CPU with another program: from 0 to 100 A has 60 and from 300 to 400 again; B sleeps from 100 on.
        let listing = "foretrace-text 1\nunit 1us\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0\n\
                       60 A linger looked=0 cpu=60\n100 B sleep cpu=10\n200 B return cpu=11\n210 B sleep cpu=12\n\
                       400 A linger looked=0 cpu=160\n410 B return cpu=13\n500 A terminate cpu=200\n520 B terminate cpu=20\n";
        let trace = text::parse(listing, "test").expect("it is well formed");
        let events = vec![vec![0, 1, 5, 7], vec![2, 3, 4, 6, 8]];
        let shares = Shares::at(&trace, &events, &[3, 6]);
        let of_a = |event| shares.of(event, 0).map(|cpu| cpu / 1_000);
        assert_eq!((of_a(3), of_a(6)), (Some(60), Some(160)));
    }
}
