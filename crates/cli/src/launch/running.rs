//! The threads of a program and of those that it started.

use std::{collections::HashMap, fs, time::Duration};

/// A thread that gives the CPU up after less is no one that spins: on one CPU what it waits for does not come until it is interrupted.
const LONG: Duration = Duration::from_micros(300);

/// Nor is one that others interrupt so soon: those of its own program that it does not hold up. On a machine that does much else, it may be others' work.
const INTERRUPTED: Duration = Duration::from_micros(100);

/// For how long a thread had the CPU, how often it got it, and how often it gave it up itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ran {
    nanos: u64,
    turns: u64,
    waits: u64,
}

impl Ran {
    /// Asks the kernel; nothing where it does not tell, or the thread is no more.
    fn of(thread: u32) -> Option<Self> {
        let read = |file: &str| fs::read_to_string(format!("/proc/{thread}/{file}")).ok();
        let (nanos, turns) = turns(&read("schedstat")?)?;
        Some(Self {
            nanos,
            turns,
            waits: waits(&read("status")?)?,
        })
    }

    /// Returns whether it kept the CPU, since it had run so much, for [`LONG`] or longer in the mean before it gave it up, and for [`INTERRUPTED`] before
    /// it lost it.
    fn is_long_since(self, before: Self) -> bool {
        let nanos = u128::from(self.nanos.saturating_sub(before.nanos));
        let times = |now: u64, before: u64| u128::from(now.saturating_sub(before).max(1));
        nanos >= LONG.as_nanos() * times(self.waits, before.waits)
            && nanos >= INTERRUPTED.as_nanos() * times(self.turns, before.turns)
    }
}

/// Returns the CPU time and how often a thread got the CPU, in a line such as `2029055 295876 47`.
fn turns(line: &str) -> Option<(u64, u64)> {
    let mut numbers = line.split_whitespace().map(|word| word.parse().ok());
    Some((numbers.next()??, numbers.nth(1)??))
}

/// Returns how often a thread gave its CPU up, of what `/proc` tells of its status.
fn waits(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

/// Who of the threads of a program and its descendants keeps the CPU for long, unless others take it.
#[derive(Debug, Default)]
pub struct LongTurns {
    /// What those had run that ran or could have when this was asked before.
    before: HashMap<u32, Ran>,
}

impl LongTurns {
    /// Returns those that run or could and, since this was asked before, kept the CPU for [`LONG`] or longer in the mean before they gave it up, and
    /// for [`INTERRUPTED`] before they lost it; none unless several run or could. Where the kernel does not tell, it may have been longer.
    pub fn threads(&mut self, pid: u32) -> Vec<u32> {
        let runnable = runnable_threads(pid);
        let ran = |&thread: &u32| Some((thread, Ran::of(thread)?));
        let now: HashMap<u32, Ran> = runnable.iter().filter_map(ran).collect();
        let before = std::mem::replace(&mut self.before, now);
        if runnable.len() < 2 {
            return Vec::new();
        }
        let is_long = |thread: &u32| {
            let before = before.get(thread).copied().unwrap_or_default();
            let now = self.before.get(thread);
            now.is_none_or(|now| now.is_long_since(before))
        };
        runnable.into_iter().filter(is_long).collect()
    }
}

/// Returns the threads of a process and its descendants that run or could; without those that ended meanwhile.
fn runnable_threads(pid: u32) -> Vec<u32> {
    threads_that(pid, |state| state == Some('R'))
}

/// Returns all threads of a process and its descendants.
pub fn all_threads(pid: u32) -> Vec<u32> {
    threads_that(pid, |state| state.is_some())
}

/// Returns those whose state is such.
fn threads_that(pid: u32, is_wanted: impl Fn(Option<char>) -> bool) -> Vec<u32> {
    let mut found = Vec::new();
    let mut processes = vec![pid];
    while let Some(process) = processes.pop() {
        let tasks = format!("/proc/{process}/task");
        for task in fs::read_dir(&tasks).into_iter().flatten().flatten() {
            let name = task.file_name();
            let Some(thread) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let read = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
            if is_wanted(state(&read("stat"))) {
                found.push(thread);
            }
            let children = read("children");
            processes.extend(
                children
                    .split_whitespace()
                    .filter_map(|word| word.parse::<u32>().ok()),
            );
        }
    }
    found
}

/// Returns the state in a line such as `12 (a name) R 1 ...`.
fn state(line: &str) -> Option<char> {
    let (_, rest) = line.rsplit_once(") ")?;
    rest.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_is_runnable() {
        let threads = runnable_threads(std::process::id());
        assert!(!threads.is_empty());
        assert!(runnable_threads(u32::MAX).is_empty());
    }

    #[test]
    fn who_keeps_the_cpu_for_long_is_told_from_who_waits_often() {
        let ran = |nanos, waits, turns| Ran {
            nanos,
            turns,
            waits,
        };
        let is_long = |after: Ran| after.is_long_since(ran(2_000_000, 40, 90));
        assert!(
            is_long(ran(5_000_000, 50, 120)),
            "it waited after 0.3 ms, ten times"
        );
        assert!(!is_long(ran(4_900_000, 50, 120)));
        assert!(
            !is_long(ran(5_000_000, 50, 121)),
            "it was interrupted after less than 0.1 ms"
        );
        // It did not wait since, nor was it interrupted.
        assert!(is_long(ran(2_400_000, 40, 90)) && !is_long(ran(2_000_000, 40, 90)));
    }

    #[test]
    fn the_kernel_tells_what_a_thread_ran_and_how_often_it_waited() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(waits(status), Some(12));
        assert_eq!(turns("2029055 295876 47\n"), Some((2_029_055, 47)));
        assert_eq!((waits("Name:\tx\n"), turns("5 6")), (None, None));
        assert!(Ran::of(std::process::id()).is_some());
    }

    #[test]
    fn where_nobody_runs_nobody_is_looked_at() {
        assert!(LongTurns::default().threads(u32::MAX).is_empty());
    }

    #[test]
    fn names_may_hold_anything() {
        assert_eq!(state("12 (a) S (b) R 1 2"), Some('R'));
        assert_eq!(state(""), None);
    }
}
