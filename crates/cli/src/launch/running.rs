//! The threads of a program and of those that it started.

use std::fs;

/// Returns the threads of a process and its descendants that run or could; without those that ended meanwhile.
pub fn runnable_threads(pid: u32) -> Vec<u32> {
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
    fn names_may_hold_anything() {
        assert_eq!(state("12 (a) S (b) R 1 2"), Some('R'));
        assert_eq!(state(""), None);
    }
}
