//! CPU time of processes that their own records do not tell: what they used before as other programs, and while they were taken down.

use std::collections::HashMap;

use super::clock::Timescale;
use super::decode::Decoder;
use super::file::{Before, Journal, Stamp};
use super::layout::{Kind, OUTCOME_PENDING};
use super::lineage::{by_number, is_successor};
use crate::Nanos;

/// What whoever started a process was told of it when it had ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Its number.
    pub pid: u32,
    /// Its CPU time and that of the processes that it had waited for.
    pub cpu: Nanos,
}

/// Says of each process what it used before as other programs, and drops those that did nothing but become another one: `env`, `nice`, a
/// shell's child before its `exec`. Their CPU time is that of the program that they became, but for what the recorder used of it.
///
/// The journals are in the order of their beginnings.
pub(super) fn follow_programs(journals: &mut Vec<Journal>) {
    let scale = Timescale::of(journals);
    let mut launchers = vec![false; journals.len()];
    let of_process = by_number(journals, |journal| journal.pid);
    for index in 0..journals.len() {
        let (earlier, later) = journals.split_at_mut(index);
        let journal = &mut later[0];
        let others = of_process[&journal.pid].iter().copied().rev();
        let mut before = others.skip_while(|&other| other >= index);
        let Some(predecessor) = before.find(|&other| is_successor(&earlier[other], journal)) else {
            continue;
        };
        let other = &earlier[predecessor];
        journal.before = after(other, scale);
        if is_idle(other) {
            launchers[predecessor] = true;
            journal.follows = other.follows;
        }
    }
    let mut launchers = launchers.into_iter();
    journals.retain(|_| !launchers.next().unwrap_or_default());
}

/// Returns whether no thread of a process did more than exist.
fn is_idle(journal: &Journal) -> bool {
    journal.threads.iter().all(|thread| !thread.has_events)
}

/// Returns what the first thread of another program has used when a process becomes that, as the kernel counts it: up to the last event of
/// the thread that went on as it, which need not have been the first one.
fn after(journal: &Journal, scale: Timescale) -> Before {
    let Before { cpu, recorder } = journal.before;
    let mut went_on = None;
    for thread in &journal.threads {
        let is_main = thread.tid == journal.pid;
        let base = if is_main { cpu } else { 0 };
        let mut decoder = Decoder::new(journal, thread, scale, base);
        let became = decoder.by_ref().last();
        let became = became.filter(|event| event.kind == Kind::Exec);
        // Of several that set out to, the last; the first thread where none was seen to.
        let when = became.map(|event| event.tsc);
        let is_later = went_on.as_ref().is_none_or(|(latest, _)| when > *latest);
        if (is_main || when.is_some()) && is_later {
            went_on = Some((when, decoder));
        }
    }
    let Some((_, decoder)) = went_on else {
        return journal.before;
    };
    if is_idle(journal) {
        let used = decoder.recorder_cpu();
        return Before {
            cpu: cpu + used,
            recorder: recorder + used,
        };
    }
    Before {
        cpu: decoder.kernel_cpu(),
        recorder: 0,
    }
}

/// Says of each process what it used after its exit was noted, as far as whoever waited for it was told: the kernel takes its memory down,
/// and only then is it over. `first` is of the process that foretrace started, which need not be among those that were recorded.
///
/// That is no more than the time until the wait for it was over, which it may not be if children were waited for in a way that nobody saw.
pub(super) fn note_endings(journals: &mut [Journal], first: Option<ProcessUsage>) {
    let scale = Timescale::of(journals);
    if let Some(ProcessUsage { pid, cpu }) = first
        && let Some(journal) = last_of_first(journals, pid)
        && journal.exit.is_some()
    {
        journal.ending = cpu.0.saturating_sub(journal.exit_cpu);
    }
    let mut reaped: Vec<_> = journals
        .iter()
        .flat_map(|journal| {
            let parent = (journal.pid, journal.start_ticks);
            journal.reaped.iter().map(move |&child| (parent, child))
        })
        .collect();
    reaped.sort_by_key(|(_, child)| child.tsc);
    // Of those that did not end by themselves, when they began.
    let mut exits: HashMap<u32, Vec<(u64, usize)>> = HashMap::new();
    for (index, journal) in journals.iter().enumerate() {
        let last = journal.exit.unwrap_or(journal.start);
        exits
            .entry(journal.pid)
            .or_default()
            .push((last.tsc, index));
    }
    let mut of_children = HashMap::new();
    for (parent, child) in reaped {
        let before = of_children.insert(parent, child.all).unwrap_or_default();
        let ended = exits.get(&child.pid).into_iter().flatten();
        // Numbers of processes are used again.
        let latest = ended.filter(|(exit, _)| *exit < child.tsc).max();
        if let Some(&(exit, index)) = latest {
            let used = child.all.saturating_sub(before);
            if journals[index].exit.is_none() {
                journals[index].killed = Some((child.tsc, used));
                continue;
            }
            let until = scale.nanos(child.tsc - exit - 1);
            let ending = used.saturating_sub(journals[index].exit_cpu);
            journals[index].ending = ending.min(until);
        }
    }
}

/// Says when processes ended that were killed, and what their threads had used by then: what the kernel counted since the last of what
/// these recorded is of those that were not blocked.
pub(super) fn end_killed(journals: &mut [Journal]) {
    let scale = Timescale::of(journals);
    let of_process = by_number(journals, |journal| journal.pid);
    for index in 0..journals.len() {
        let journal = &journals[index];
        let Some((tsc, used)) = journal.killed else {
            continue;
        };
        let mut others = of_process[&journal.pid].iter();
        if others.any(|&other| is_successor(journal, &journals[other])) {
            continue;
        }
        let of_children = journal.reaped.iter().map(|child| child.all).max();
        let mut left = used.saturating_sub(of_children.unwrap_or(0));
        let (mut alive, mut latest) = (Vec::new(), journal.start.tsc);
        for thread in &journal.threads {
            let base = if thread.tid == journal.pid {
                journal.before.cpu
            } else {
                0
            };
            let mut decoder = Decoder::new(journal, thread, scale, base);
            let mut is_blocked = false;
            for event in decoder.by_ref() {
                is_blocked = event.outcome == OUTCOME_PENDING;
            }
            let known = decoder.kernel_cpu();
            latest = latest.max(decoder.latest().0);
            left = left.saturating_sub(known);
            if decoder.terminate().is_none() {
                alive.push((thread.tid, known, is_blocked));
            }
        }
        let working = alive.iter().filter(|&&(.., is_blocked)| !is_blocked);
        // Some of it may be that of children that were waited for in a way that nobody saw.
        let left = left.min(scale.nanos(tsc.saturating_sub(latest)));
        let each = left.checked_div(working.count() as u64).unwrap_or(0);
        let finals = alive.into_iter().map(|(tid, known, is_blocked)| {
            let more = if is_blocked { 0 } else { each };
            (tid, known + more)
        });
        let journal = &mut journals[index];
        journal.finals.extend(finals);
        // It was killed no sooner: on one CPU, others may have had that in the meantime.
        let earliest = latest + scale.ticks(each);
        journal.exit = Some(Stamp {
            tsc: earliest.min(tsc - 1),
            ..journal.latest
        });
    }
}

/// Returns the program as which the first process of a number ended. Numbers of processes are used again.
fn last_of_first(journals: &mut [Journal], pid: u32) -> Option<&mut Journal> {
    let first = journals.iter().find(|journal| journal.pid == pid)?;
    let started = first.start_ticks;
    journals
        .iter_mut()
        .filter(|journal| (journal.pid, journal.start_ticks) == (pid, started))
        .max_by_key(|journal| journal.predecessors)
}
