//! Locks on files, by which processes keep each other out.

use std::ffi::OsStr;

use crate::harness::{Run, compile, record_command};

/// What is done to two parts of a file.
const PARTS: [&str; 4] = [
    "rdlock rwlock1",
    "wrlock rwlock2",
    "rwunlock rwlock1",
    "rwunlock rwlock2",
];

/// Records two processes that lock a file in one way.
fn record_locks(how: &str) -> Run {
    let program = compile("file_locks.c", &format!("file_locks_{how}"), &[]);
    let run = record_command(&program, &[how, "2", "20000"].map(OsStr::new), &[]);
    assert_eq!(run.stdout(), "done\n", "{how}");
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
    run
}

/// Returns what each process did to locks.
fn steps(run: &Run) -> Vec<Vec<String>> {
    let children = run.trace.threads[1..].iter();
    let steps = |thread: &foretrace_trace::Thread| {
        let mut lines = run.lines(&thread.name);
        lines.retain(|line| line.contains("rwlock") || line.contains("wrlock"));
        lines
    };
    children.map(steps).collect()
}

#[test]
fn locks_of_whole_files_are_told_whichever_way_they_are_given_up() {
    for how in ["flock", "close", "stream", "lockf"] {
        let expected = ["wrlock rwlock1", "rwunlock rwlock1"].repeat(6);
        assert_eq!(
            steps(&record_locks(how)),
            [&expected[..], &expected],
            "{how}"
        );
    }
    let shared = ["rdlock rwlock1", "rwunlock rwlock1"].repeat(6);
    assert_eq!(steps(&record_locks("read")), [&shared[..], &shared]);
}

#[test]
fn parts_of_a_file_that_are_locked_are_given_up_together() {
    for child in steps(&record_locks("fcntl")) {
        assert_eq!(child, PARTS.repeat(6));
    }
    // There what is left is given up by the end.
    for child in steps(&record_locks("end")) {
        assert_eq!(child, PARTS);
    }
}

#[test]
fn who_does_not_get_a_lock_of_a_file_is_told_to_have_tried() {
    for child in steps(&record_locks("try")) {
        let gained = child.iter().filter(|line| *line == "wrlock rwlock1");
        assert_eq!(gained.count(), 6);
        let given = child.iter().filter(|line| *line == "rwunlock rwlock1");
        assert_eq!(given.count(), 6);
        let others = child
            .iter()
            .filter(|line| !["wrlock rwlock1", "rwunlock rwlock1"].contains(&line.as_str()));
        for line in others {
            assert_eq!(line, "trywrlock rwlock1 busy");
        }
    }
}
