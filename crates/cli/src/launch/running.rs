//! The threads of a program and of those that it started.

use std::{collections::HashMap, fs, time::Duration};

/// A thread that keeps the CPU for less is no one that spins: on one CPU what it waits for does not come until it is interrupted.
const LONG: Duration = Duration::from_micros(300);

/// For how long a thread had the CPU, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ran {
    nanos: u64,
    turns: u64,
}

/// Who of the threads of a program and its descendants keeps the CPU for long once it has it.
#[derive(Debug, Default)]
pub struct LongTurns {
    /// What those had run that ran or could have when this was asked before.
    before: HashMap<u32, Ran>,
}

impl LongTurns {
    /// Returns those that run or could and, since this was asked before, kept the CPU for [`LONG`] or longer in the mean; none unless several run or
    /// could. Where the kernel does not tell how long, it may have been.
    pub fn threads(&mut self, pid: u32) -> Vec<u32> {
        let runnable = runnable_threads(pid);
        let ran = |&thread: &u32| {
            let line = fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
            Some((thread, ran(&line)?))
        };
        let now: HashMap<u32, Ran> = runnable.iter().filter_map(ran).collect();
        let before = std::mem::replace(&mut self.before, now);
        let is_long = |thread: &u32| {
            let Some(now) = self.before.get(thread) else {
                return true;
            };
            let before = before.get(thread).copied().unwrap_or_default();
            let turns = now.turns.saturating_sub(before.turns).max(1);
            u128::from(now.nanos.saturating_sub(before.nanos) / turns) >= LONG.as_nanos()
        };
        if runnable.len() < 2 {
            return Vec::new();
        }
        runnable.into_iter().filter(is_long).collect()
    }
}

/// Returns what a line tells such as `2029055 295876 47`: for how long a thread ran and waited, and how often it ran.
fn ran(line: &str) -> Option<Ran> {
    let mut numbers = line.split_whitespace().map(|word| word.parse().ok());
    Some(Ran {
        nanos: numbers.next()??,
        turns: numbers.nth(1)??,
    })
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
    fn who_works_all_the_time_keeps_the_cpu_for_long() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let works = std::thread::spawn(move || {
            while stopped.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {}
        });
        let mut turns = LongTurns::default();
        std::thread::sleep(Duration::from_millis(50));
        assert!(!turns.threads(std::process::id()).is_empty());
        drop(stop);
        works.join().expect("it ends");
        let line = ran("2029055 295876 47\n");
        assert_eq!(
            line.map(|ran| (ran.nanos, ran.turns)),
            Some((2_029_055, 47))
        );
        assert_eq!(ran("5 6"), None);
    }

    #[test]
    fn names_may_hold_anything() {
        assert_eq!(state("12 (a) S (b) R 1 2"), Some('R'));
        assert_eq!(state(""), None);
    }
}
