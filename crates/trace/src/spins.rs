//! Taking out of a trace what threads spent looking at memory again and again, where samples told that.
//!
//! On one CPU a thread that spins so keeps the CPU until its slice is over, and nobody whom it waits for can run meanwhile. How often and
//! how long it does that is a matter of that one CPU, and no work. So each turn that ended in such a loop becomes a [`Operation::Spin`],
//! from when the thread began to look until it had the CPU again, and the time that it looked is taken out of its CPU times. Of loops that go on
//! by themselves, what samples saw before an event becomes an [`Operation::Linger`] before that one. How far others had come is told by one of no time at the
//! end of each of their turns.

use std::collections::{BTreeMap, HashMap};

use crate::{Call, CallId, Event, Nanos, Operation, Outcome, SiteId, ThreadId, Trace};

/// A thread's turn on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When it began.
    pub on: Nanos,
    /// When it ended.
    pub off: Nanos,
    /// How long, at its end, the thread had looked at memory and done nothing else, when it lost the CPU.
    pub looked: Nanos,
    /// The loop that it did that in.
    pub site: Option<SiteId>,
    /// How much of its CPU time it took to see all that.
    pub seeing: Nanos,
}

impl Turn {
    /// Returns how much of it lies in a time.
    fn within(&self, from: Nanos, to: Nanos) -> Nanos {
        self.off.min(to).since(self.on.max(from))
    }

    /// Returns how much of what it took to see it belongs to a time, without that in which the thread looked at memory.
    #[expect(clippy::cast_sign_loss, reason = "no share is negative")]
    fn seeing_within(&self, from: Nanos, to: Nanos) -> Nanos {
        let worked_until = self.off.since(self.looked);
        let worked = worked_until.min(to).since(self.on.max(from));
        let all = self.off.since(self.on).0.max(1);
        Nanos((self.seeing.0 as f64 * (worked.0 as f64 / all as f64)) as u64)
    }
}

/// What was seen of threads, by their numbers in the recorded system.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The turns of each thread, in order.
    pub turns: BTreeMap<u32, Vec<Turn>>,
    /// When it waited, in order, in loops that go on by themselves after some time.
    pub waited: BTreeMap<u32, Vec<Nanos>>,
    /// The CPU time that each of these stands for.
    pub period: Nanos,
}

/// Takes the spins out of a trace's CPU times, and puts them among the events; what it took to see them is taken out, too. Returns how much
/// the spins were.
pub fn take_out(trace: &mut Trace, seen: &Seen) -> Nanos {
    if seen.turns.is_empty() && seen.waited.is_empty() {
        return Nanos(0);
    }
    let mut own: Vec<Vec<u32>> = vec![Vec::new(); trace.threads.len()];
    let mut begins = vec![Nanos(0); trace.threads.len()];
    for (number, event) in (0..).zip(&trace.events) {
        let call = trace.call(event);
        own[call.thread.index()].push(number);
        if let Operation::Create(child) = call.operation {
            begins[child.index()] = event.time;
        }
    }
    let mut found = Found {
        events: Vec::new(),
        calls: HashMap::new(),
        seen,
        others_look: seen.turns.values().flatten().any(|turn| turn.looked.0 > 0)
            || trace.calls.iter().any(|call| {
                let operation = call.operation;
                operation.is_spin() || operation.is_nap() || operation.is_poll()
            }),
    };
    let mut all = Nanos(0);
    for (thread, events) in own.iter().enumerate() {
        let tid = trace.threads[thread].tid;
        let Some((tid, turns)) = tid.and_then(|tid| seen.turns.get_key_value(&tid)) else {
            continue;
        };
        let waited = seen.waited.get(tid).map_or(&[][..], Vec::as_slice);
        let thread = ThreadId::from_index(thread);
        let began = begins[thread.index()];
        all = all + found.take_from(trace, (thread, began), events, (turns, waited));
    }
    found.put_into(trace);
    all
}

/// Returns the whole microseconds of a time, so that calls are alike.
fn whole(time: Nanos) -> Nanos {
    Nanos(time.0 / 1_000 * 1_000)
}

/// The spins of a trace that is under way.
struct Found<'s> {
    events: Vec<Event>,
    calls: HashMap<Call, CallId>,
    seen: &'s Seen,
    /// Whether any thread looked at memory until it lost the CPU, or slept between looks.
    others_look: bool,
}

/// What samples say is taken from the time around them, where that between two events is shorter: from that of so many samples at most.
const OWED: u64 = 8;

impl Found<'_> {
    /// Takes a thread's spins out of its CPU times; returns how much that was.
    fn take_from(
        &mut self,
        trace: &mut Trace,
        (thread, began): (ThreadId, Nanos),
        events: &[u32],
        (turns, waited): (&[Turn], &[Nanos]),
    ) -> Nanos {
        let (mut taken, mut spun, mut at) = (Nanos(0), Nanos(0), Nanos(0));
        let (mut owed, mut waited) = (Nanos(0), waited);
        let (mut last_time, mut last_cpu) = (began, Nanos(0));
        let mut turns = turns;
        let mut is_at_barrier = false;
        for &number in events {
            let event = trace.events[number as usize];
            let (time, Some(cpu)) = (event.time, event.cpu()) else {
                return spun;
            };
            // Those before the thread's event before are over.
            let over = turns.partition_point(|turn| turn.off <= last_time);
            turns = &turns[over..];
            let here = &turns[..turns.partition_point(|turn| turn.on < time)];
            let gap = Gap {
                thread,
                from: (last_time, last_cpu),
                to: (time, cpu),
            };
            let mut looked = Nanos(0);
            let operation = trace.call(&event).operation;
            // Who comes to its end from a barrier had waited there still: so do the threads of a team when the process ends.
            let is_within_call = operation == Operation::Return
                || operation == Operation::Terminate && is_at_barrier;
            is_at_barrier = matches!(operation, Operation::BarrierWait(_));
            if !is_within_call {
                (looked, at) = self.spins_in(trace, gap, here, (taken, at));
            }
            let before = waited.partition_point(|&seen| seen <= time);
            owed = owed + Nanos(before as u64 * self.seen.period.0);
            waited = &waited[before..];
            let seeing = seeing(gap, here, looked);
            let left = cpu.since(last_cpu).since(looked + seeing);
            // Within a call, and between events of one instant, there is no place for it.
            let waits = if is_within_call || time.since(last_time).0 < 2 {
                Nanos(0)
            } else {
                whole(owed.min(left))
            };
            owed = owed.since(waits).min(Nanos(OWED * self.seen.period.0));
            taken = taken + looked + seeing + waits;
            spun = spun + looked + waits;
            // No earlier than what it did before.
            at = at.max(cpu.since(taken));
            if waits.0 > 0 {
                let before = Nanos(time.0 - 1);
                self.add(
                    trace,
                    thread,
                    (before, at),
                    (Operation::Linger(waits), None),
                );
            }
            trace.events[number as usize].set_cpu(Some(at));
            (last_time, last_cpu) = (time, cpu);
        }
        spun
    }

    /// Finds the spins between two events of a thread, from whose CPU times so much was taken before, and whose CPU time was that at the
    /// first. Returns how much is to be taken more, and the CPU time at the last spin.
    fn spins_in(
        &mut self,
        trace: &mut Trace,
        gap: Gap,
        turns: &[Turn],
        (before, mut at): (Nanos, Nanos),
    ) -> (Nanos, Nanos) {
        let ((from, from_cpu), (to, to_cpu)) = (gap.from, gap.to);
        let within = turns.iter().map(|turn| turn.within(from, to));
        let all = within.fold(Nanos(0), |sum, time| sum + time);
        // Interrupts take some of a turn, which is none of the thread's CPU time.
        let own = to_cpu.since(from_cpu).min(all);
        let own_of = |time: Nanos| {
            Nanos((u128::from(time.0) * u128::from(own.0) / u128::from(all.0.max(1))) as u64)
        };
        let mut left = own;
        let (mut taken, mut seeing) = (Nanos(0), Nanos(0));
        for (place, turn) in turns.iter().enumerate() {
            left = left.since(own_of(turn.within(from, to)));
            seeing = seeing + turn.seeing_within(from, to);
            let Some(next) = turns.get(place + 1).filter(|next| next.on < to) else {
                continue;
            };
            let begin = turn.off.since(turn.looked).max(Nanos(from.0 + 1));
            let looks = turn.looked.0 > 0 && turn.off > begin && next.on > begin;
            let (begin, looked) = if looks {
                (begin, own_of(turn.off.since(begin)))
            } else {
                (turn.off, Nanos(0))
            };
            if begin <= from {
                continue;
            }
            // From the event that follows back: the turns may not be known from the event before on.
            let cpu = to_cpu.since(left + looked).max(from_cpu + taken);
            let looked = looked.min(to_cpu.since(cpu));
            let seeing = seeing.min(cpu.since(from_cpu).since(taken));
            at = at.max(cpu.since(before + taken + seeing));
            if looks {
                let spin = Operation::Spin(whole(looked));
                self.add(trace, gap.thread, (begin, at), (spin, turn.site));
                self.add(trace, gap.thread, (next.on, at), (Operation::Return, None));
            } else if self.others_look {
                // How far it had come then is known: others may have looked meanwhile.
                self.add(trace, gap.thread, (begin, at), (Operation::TURN_END, None));
            }
            taken = taken + looked;
        }
        (taken, at)
    }

    /// Adds an event of a thread, by when and with which CPU time.
    fn add(
        &mut self,
        trace: &mut Trace,
        thread: ThreadId,
        (time, cpu): (Nanos, Nanos),
        (operation, site): (Operation, Option<SiteId>),
    ) {
        let call = self.call(trace, thread, operation, site);
        self.events.push(Event::new(time, Some(cpu), call));
    }

    fn call(
        &mut self,
        trace: &mut Trace,
        thread: ThreadId,
        operation: Operation,
        site: Option<SiteId>,
    ) -> CallId {
        let call = Call {
            thread,
            operation,
            outcome: Outcome::Success,
            from: None,
            site,
        };
        *self
            .calls
            .entry(call)
            .or_insert_with(|| trace.push_call(call))
    }

    /// Puts them where they belong in time.
    fn put_into(self, trace: &mut Trace) {
        if self.events.is_empty() {
            return;
        }
        trace.events.extend(self.events);
        // Of equal times, those of one thread stand in their order, since none of its own is at that time.
        trace.events.sort_by_key(|event| event.time);
        trace.renumber_calls();
    }
}

/// What is between two events of a thread: their times, and its CPU times by them.
#[derive(Clone, Copy)]
struct Gap {
    thread: ThreadId,
    from: (Nanos, Nanos),
    to: (Nanos, Nanos),
}

/// Returns how much of a thread's CPU time between two events it took to see what it did, without what it looked.
fn seeing(gap: Gap, turns: &[Turn], looked: Nanos) -> Nanos {
    let ((from, from_cpu), (to, to_cpu)) = (gap.from, gap.to);
    let seeing = turns.iter().map(|turn| turn.seeing_within(from, to));
    let all = seeing.fold(Nanos(0), |sum, time| sum + time);
    all.min(to_cpu.since(from_cpu).since(looked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    const MICRO: u64 = 1_000;

    fn turn(on: u64, off: u64, looked: u64) -> Turn {
        Turn {
            on: Nanos(on * MICRO),
            off: Nanos(off * MICRO),
            looked: Nanos(looked * MICRO),
            site: None,
            seeing: Nanos(0),
        }
    }

    #[test]
    fn turns_that_ended_in_a_loop_are_spins() {
        // B works from 100 to 150, looks until 400 and, after A, from 700 to 1,000; at 1,500 it goes on.
        let listing = "foretrace-text 1\nunit 1us\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0\n\
                       2000 A terminate cpu=1200\n2100 B terminate cpu=700\n";
        let mut trace = text::parse(listing, "test").expect("it is well formed");
        trace.threads[1].tid = Some(7);
        let turns = vec![
            turn(100, 400, 250),
            turn(700, 1_000, 300),
            turn(1_500, 1_600, 0),
        ];
        let seen = Seen {
            turns: BTreeMap::from([(7, turns)]),
            ..Seen::default()
        };
        let taken = take_out(&mut trace, &seen);
        assert_eq!(taken, Nanos(550 * MICRO));
        crate::validate(&trace).expect("it is still in order");
        let told: Vec<(u64, &str, u64)> = trace
            .events
            .iter()
            .map(|event| {
                let name = trace.call(event).operation.name();
                let cpu = event.cpu().unwrap_or_default().0 / MICRO;
                (event.time.0 / MICRO, name, cpu)
            })
            .collect();
        let expected = [
            (0, "create", 0),
            (150, "spin", 50),
            (700, "return", 50),
            (700, "spin", 50),
            (1_500, "return", 50),
            (2_000, "terminate", 1_200),
            (2_100, "terminate", 150),
        ];
        assert_eq!(told, expected);
        let again = text::to_text(&trace).and_then(|text| text::parse(&text, "again"));
        let again = again.expect("it can be written down");
        assert_eq!(again.events.len(), trace.events.len());
    }

    #[test]
    fn how_far_others_had_come_is_told_where_any_looks() {
        let listing = "foretrace-text 1\nunit 1us\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0\n\
                       2000 A terminate cpu=1200\n2100 B terminate cpu=700\n";
        let told = |looked| {
            let mut trace = text::parse(listing, "test").expect("it is well formed");
            (trace.threads[0].tid, trace.threads[1].tid) = (Some(6), Some(7));
            let of_a = vec![
                turn(400, 700, 0),
                turn(1_000, 1_500, 0),
                turn(1_600, 2_000, 0),
            ];
            let of_b = vec![turn(0, 400, looked), turn(1_500, 1_600, 0)];
            let seen = Seen {
                turns: BTreeMap::from([(6, of_a), (7, of_b)]),
                ..Seen::default()
            };
            take_out(&mut trace, &seen);
            let marks = trace
                .events
                .iter()
                .filter(|event| trace.call(event).operation == Operation::TURN_END);
            let mark = |event: &Event| Some((event.time.0 / MICRO, event.cpu()?.0 / MICRO));
            marks.filter_map(mark).collect::<Vec<_>>()
        };
        assert_eq!(told(300), [(700, 300), (1_500, 800)]);
        assert_eq!(told(0), []);
    }

    #[test]
    fn what_samples_saw_of_waits_that_ended_by_themselves_is_taken_out() {
        let listing = "foretrace-text 1\nunit 1us\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0\n\
                       500 B lock m cpu=400\n600 B unlock m cpu=500\n1600 B lock m cpu=1500\n1700 B unlock m cpu=1600\n\
                       2000 A terminate cpu=10\n2100 B terminate cpu=1800\n";
        let mut trace = text::parse(listing, "test").expect("it is well formed");
        trace.threads[1].tid = Some(7);
        let seen = Seen {
            turns: BTreeMap::from([(7, vec![turn(100, 2_100, 0)])]),
            waited: BTreeMap::from([(
                7,
                [450, 550, 700, 900].map(|at| Nanos(at * MICRO)).to_vec(),
            )]),
            period: Nanos(250 * MICRO),
        };
        assert_eq!(take_out(&mut trace, &seen), Nanos(1_000 * MICRO));
        let own = trace
            .events
            .iter()
            .filter(|event| trace.call(event).thread.0 == 1);
        let cpu: Vec<u64> = own
            .filter_map(|event| Some(event.cpu()?.0 / MICRO))
            .collect();
        // Before the second event there are 100 us of the 250 that its sample stands for; the rest is taken behind it.
        assert_eq!(cpu, [150, 150, 150, 150, 500, 500, 600, 800]);
        crate::validate(&trace).expect("it is still in order");
        let lingered = trace.calls.iter().filter_map(|call| match call.operation {
            Operation::Linger(time) => Some(time.0 / MICRO),
            _ => None,
        });
        assert_eq!(lingered.collect::<Vec<_>>(), [250, 100, 650]);
    }

    #[test]
    fn who_ends_with_the_process_at_a_barrier_has_come_no_further() {
        let listing = "foretrace-text 1\nunit 1us\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0\n\
                       500 B barrier_wait b 2 cpu=500\n1000 A terminate cpu=10\n1000 B terminate cpu=600\n";
        let mut trace = text::parse(listing, "test").expect("it is well formed");
        trace.threads[1].tid = Some(7);
        let turns = vec![turn(0, 200, 100), turn(300, 600, 0), turn(900, 920, 0)];
        let seen = Seen {
            turns: BTreeMap::from([(7, turns)]),
            ..Seen::default()
        };
        take_out(&mut trace, &seen);
        let names = trace.events.iter().map(|event| trace.call(event));
        let own = names.filter(|call| call.thread.0 == 1);
        let told: Vec<&str> = own.map(|call| call.operation.name()).collect();
        assert_eq!(told, ["spin", "return", "barrier_wait", "terminate"]);
    }

    #[test]
    fn what_interrupts_take_of_turns_is_shared_out() {
        // The turns are a tenth longer than the CPU time that the thread had.
        let listing = "foretrace-text 1\nunit 1us\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0\n\
                       2000 A terminate cpu=10\n2100 B terminate cpu=1000\n";
        let mut trace = text::parse(listing, "test").expect("it is well formed");
        trace.threads[1].tid = Some(7);
        let turns = vec![
            turn(0, 550, 440),
            turn(1_000, 1_440, 220),
            turn(1_600, 1_710, 0),
        ];
        let seen = Seen {
            turns: BTreeMap::from([(7, turns)]),
            ..Seen::default()
        };
        assert_eq!(take_out(&mut trace, &seen), Nanos(600 * MICRO));
        let own = trace.events.iter().filter(|event| {
            let call = trace.call(event);
            call.thread.0 == 1 && call.operation.is_spin()
        });
        let cpu = own.filter_map(|event| Some(event.cpu()?.0 / MICRO));
        assert_eq!(cpu.collect::<Vec<_>>(), [100, 300]);
    }

    #[test]
    fn what_is_within_a_call_that_blocks_stays() {
        let listing = "foretrace-text 1\nunit 1us\nreturns explicit\nprocess A\nprocess B\n0 A create B cpu=0\n\
                       100 B barrier_wait b 2 cpu=100\n900 B return cpu=500\n1000 A terminate cpu=10\n1000 B terminate cpu=600\n";
        let mut trace = text::parse(listing, "test").expect("it is well formed");
        trace.threads[1].tid = Some(7);
        let before = trace.clone();
        let turns = vec![turn(0, 400, 300), turn(800, 1_000, 0)];
        let mut seen = Seen {
            turns: BTreeMap::from([(7, turns)]),
            ..Seen::default()
        };
        assert_eq!(take_out(&mut trace, &seen), Nanos(0));
        assert_eq!(trace.events, before.events);
        // A tenth of what it did not look went on seeing it.
        for (turn, seeing) in seen.turns.values_mut().flatten().zip([40, 20]) {
            turn.seeing = Nanos(seeing * MICRO);
        }
        assert_eq!(take_out(&mut trace, &seen), Nanos(0));
        let last = trace.events.last().and_then(Event::cpu);
        assert_eq!(last, Some(Nanos(570 * MICRO)));
    }
}
