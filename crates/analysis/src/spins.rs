//! Where threads spun: asked again and again for what they did not get, in place of waiting for it.

use std::collections::HashMap;

use foretrace_trace::{Call, Nanos, Operation, Outcome, SiteId, Trace};

/// So many tries of one place that fail, with nothing else between them, are spinning.
const MANY_TRIES: u64 = 16;

/// A place where threads spun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spin {
    /// The place, where it is known.
    pub site: Option<SiteId>,
    /// The operation's name, as in text traces.
    pub operation: &'static str,
    /// The calls that did not get what they asked for.
    pub failures: u64,
    /// How often a thread spun there.
    pub times: u64,
    /// The CPU time that it took together.
    pub cpu: Nanos,
}

/// A thread's latest run of failing tries.
#[derive(Clone, Copy)]
struct Streak {
    call: Call,
    failures: u64,
    first: Nanos,
}

/// Returns the places where threads spun, those that took most CPU time first: tries that failed many times running,
/// and spin locks that were not free.
pub fn spins(trace: &Trace) -> Vec<Spin> {
    // Most programs do neither.
    let can_spin =
        |call: &Call| only_failed(call) || matches!(call.operation, Operation::SpinLock(_));
    if !trace.calls.iter().any(|call| can_spin(&one_by_one(*call))) {
        return Vec::new();
    }
    let mut table = Table::default();
    let mut streaks: Vec<Option<Streak>> = vec![None; trace.threads.len()];
    for event in &trace.events {
        let (call, Some(cpu)) = (trace.call(event), event.cpu()) else {
            continue;
        };
        let (call, times) = (&one_by_one(*call), call.operation.times());
        let streak = &mut streaks[call.thread.index()];
        let failed = only_failed(call) && !marks_work(trace, call);
        match streak {
            Some(streak) if streak.call == *call && failed => streak.failures += times,
            _ => {
                if let Some(ended) = streak.take() {
                    table.add(&ended, call, cpu);
                }
                if failed || matches!(call.operation, Operation::SpinLock(_)) {
                    *streak = Some(Streak {
                        call: *call,
                        failures: if failed { times } else { 0 },
                        first: cpu,
                    });
                }
            }
        }
    }
    let mut spins = table.spins;
    spins.sort_by_key(|spin| (std::cmp::Reverse(spin.cpu), spin.site, spin.operation));
    spins
}

/// Returns what was done each time by a call that tells of many.
fn one_by_one(call: Call) -> Call {
    match call.operation {
        Operation::TryLocks { mutex, .. } => Call {
            operation: Operation::TryLock(mutex),
            ..call
        },
        _ => call,
    }
}

/// Returns whether a try is none, but the mark of a piece of an OpenMP team's work.
fn marks_work(trace: &Trace, call: &Call) -> bool {
    let object = call.operation.object();
    object.is_some_and(|object| trace.objects[object.index()].is_of_team())
}

/// Returns whether a call was a try that failed.
fn only_failed(call: &Call) -> bool {
    call.outcome == Outcome::Busy
        && matches!(
            call.operation,
            Operation::TryLock(_)
                | Operation::SpinTryLock(_)
                | Operation::SemTryWait(_)
                | Operation::TryReadLock(_)
                | Operation::TryWriteLock(_)
        )
}

#[derive(Default)]
struct Table {
    spins: Vec<Spin>,
    by_place: HashMap<(Option<SiteId>, &'static str), usize>,
}

impl Table {
    /// Adds a streak that a call of the same thread ended, where it was spinning.
    fn add(&mut self, streak: &Streak, next: &Call, cpu: Nanos) {
        let waited = matches!(streak.call.operation, Operation::SpinLock(_))
            && next.operation == Operation::Return;
        if !waited && streak.failures < MANY_TRIES {
            return;
        }
        let place = (streak.call.site, streak.call.operation.name());
        let index = *self.by_place.entry(place).or_insert_with(|| {
            self.spins.push(Spin {
                site: place.0,
                operation: place.1,
                failures: 0,
                times: 0,
                cpu: Nanos(0),
            });
            self.spins.len() - 1
        });
        let spin = &mut self.spins[index];
        spin.failures += streak.failures.max(1);
        spin.times += 1;
        spin.cpu = spin.cpu + cpu.since(streak.first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, success};

    #[test]
    fn tries_that_fail_running_are_spinning() {
        let mut sample = Sample::new();
        let mutex = sample.mutex();
        let busy = (Operation::TryLock(mutex), Outcome::Busy);
        let mut event = |thread, time, call| {
            sample.event(thread, time, call);
            let event = sample.trace.events.last_mut().expect("it was added");
            event.set_cpu(Some(Nanos(time)));
        };
        for time in 0..20 {
            event(0, time * 10, busy);
        }
        let counted = Operation::TryLocks { mutex, count: 300 };
        event(0, 195, (counted, Outcome::Busy));
        event(0, 200, success(Operation::TryLock(mutex)));
        // A few are no spinning.
        for time in 0..3 {
            event(1, 300 + time, busy);
        }
        event(1, 400, success(Operation::Terminate));
        let found = spins(&sample.trace);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].failures, found[0].times), (320, 1));
        assert_eq!(found[0].cpu, Nanos(200));
        assert_eq!(found[0].operation, "trylock");
    }
}
