//! The CPU time that threads of a recording spent on filling caches that others had emptied.
//!
//! On one CPU, threads that take turns have one set of caches, and each finds it full of the others' data when its turn comes.
//! What it takes to fill it again is within the recorded CPU times; where each thread has a CPU of its own, it does not arise.
//! No recording tells how much it is; that share of the whole has to be measured. This module finds *where* it is: in the
//! work that a thread did after others had run.

use foretrace_trace::{Nanos, Operation, Trace};

use crate::events::{Following, Sweep};

/// A thread that was away for longer than this finds as little of its data as one that was away for so long: about as long
/// as kernels let a thread run while others wait.
const LONGEST_AWAY: u64 = 4_000_000;

/// A billionth part of a whole.
const BILLION: u128 = 1_000_000_000;

/// The most of a thread's work after others had run that is taken for refilling caches.
const MOST: u128 = BILLION * 9 / 10;

/// Takes a share of the CPU time, in billionths, out of the work that threads did after others had run on their CPU, as the
/// time that they spent on filling the caches again.
///
/// Returns, in billionths, how long that takes a thread for the time that others ran, which a replay has to add again where
/// threads take turns; zero where none did, or where CPU times are not known.
pub fn take_out_refills(trace: &mut Trace, share: u64) -> u64 {
    if share == 0 || trace.events.iter().any(|event| event.cpu().is_none()) {
        return 0;
    }
    let after_others = work_after_others(trace);
    let all: u128 = after_others.iter().map(|&nanos| u128::from(nanos)).sum();
    let mut last = vec![0; trace.threads.len()];
    let mut total = 0_u128;
    for index in 0..trace.events.len() {
        let (thread, cpu) = used(trace, index);
        total += u128::from(cpu.saturating_sub(last[thread]));
        last[thread] = cpu.max(last[thread]);
    }
    let Some(rate) = (total * u128::from(share)).checked_div(all) else {
        return 0;
    };
    let rate = rate.min(MOST);
    // Sums are cut, not parts, so that nothing is lost by rounding.
    let mut sums = vec![0_u128; trace.threads.len()];
    for (index, nanos) in after_others.into_iter().enumerate() {
        let (thread, cpu) = used(trace, index);
        sums[thread] += u128::from(nanos) * rate;
        let refills = u64::try_from(sums[thread] / BILLION).unwrap_or(u64::MAX);
        trace.events[index].set_cpu(Some(Nanos(cpu.saturating_sub(refills))));
    }
    // Others refilled caches as well while they ran: what was cut is a share of times like theirs.
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Returns, for each event, how much of its thread's CPU time since its event before came after as much of others'.
fn work_after_others(trace: &Trace) -> Vec<u64> {
    let next = Sweep::new(trace).next;
    let everybodys = cpu_time_of_all(trace, &next);
    let threads = trace.threads.len();
    let mut last: Vec<Option<(u64, u64)>> = vec![None; threads];
    let mut away = vec![0_u64; threads];
    let mut after_others = Vec::with_capacity(trace.events.len());
    for (index, &all) in everybodys.iter().enumerate() {
        let (thread, cpu) = used(trace, index);
        let (own, others) = match last[thread] {
            Some((cpu_then, all_then)) => {
                let own = cpu.saturating_sub(cpu_then);
                (own, (all - all_then).saturating_sub(own))
            }
            None => (cpu, 0),
        };
        last[thread] = Some((cpu, all));
        if let Operation::Create(child) = trace.call(&trace.events[index]).operation {
            last[child.index()].get_or_insert((0, all));
        }
        // While both ran in turns, each turn came after one of the others; at its end the thread may have been away again.
        let known = away[thread] + others;
        let part = own.min(known);
        away[thread] = (known - part).min(LONGEST_AWAY);
        after_others.push(part);
    }
    after_others
}

/// Returns the CPU time that all threads together had used at each event; between two events of its own, a thread is taken to
/// have run evenly.
fn cpu_time_of_all(trace: &Trace, next: &Following) -> Vec<u64> {
    /// Rates have so many binary digits behind the point.
    const DIGITS: u32 = 32;
    let mut first = vec![0; trace.threads.len()];
    for (index, event) in trace.events.iter().enumerate().rev() {
        first[trace.call(event).thread.index()] = index;
    }
    let mut rates = vec![0_u128; trace.threads.len()];
    let (mut rate, mut total, mut time) = (0_u128, 0_u128, 0_u64);
    let mut all = Vec::with_capacity(trace.events.len());
    for (index, event) in trace.events.iter().enumerate() {
        total += rate * u128::from(event.time.0.saturating_sub(time));
        time = event.time.0;
        let (thread, cpu) = used(trace, index);
        // A thread works from its creation on, though its first event is later.
        let created = match trace.call(event).operation {
            Operation::Create(child) if first[child.index()] > index => {
                Some((child.index(), 0, first[child.index()]))
            }
            _ => None,
        };
        let following = (thread, cpu, next.after(index) as usize);
        rate -= std::mem::take(&mut rates[thread]);
        for (thread, cpu, following) in created.into_iter().chain([following]) {
            let Some(following) = trace.events.get(following) else {
                continue;
            };
            let work = following.cpu().unwrap_or_default().0.saturating_sub(cpu);
            let passed = following.time.0.saturating_sub(event.time.0);
            match (u128::from(work) << DIGITS).checked_div(u128::from(passed)) {
                Some(own) => {
                    rate -= std::mem::replace(&mut rates[thread], own);
                    rate += own;
                }
                None => total += u128::from(work) << DIGITS,
            }
        }
        all.push(u64::try_from(total >> DIGITS).unwrap_or(u64::MAX));
    }
    all
}

/// Returns the thread of an event, and the CPU time that it had used by then.
fn used(trace: &Trace, event: usize) -> (usize, u64) {
    let event = &trace.events[event];
    let thread = trace.call(event).thread.index();
    (thread, event.cpu().unwrap_or_default().0)
}
