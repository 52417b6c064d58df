//! Sudden ends: whatever way a process goes, what its threads did before is there.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt as _;

use crate::harness::{Run, compile, pinned, record_command};

/// Records the program that dies in one of its ways, and checks that it dies as it does unrecorded.
fn dies(how: &str) -> Run {
    let program = compile("dies.c", &format!("dies_{how}"), &[]);
    let run = record_command(&program, &[OsStr::new(how)], &[]);
    let plain = pinned(&program)
        .arg(how)
        .output()
        .expect("env is installed");
    assert_eq!(
        run.output.status.into_raw(),
        plain.status.into_raw(),
        "{how}"
    );
    assert_eq!(run.output.stdout, plain.stdout, "{how}");
    assert_eq!(run.output.stderr, plain.stderr, "{how}");
    run
}

fn all_is_there(run: &Run) {
    for kind in ["lock mutex1", "unlock mutex1"] {
        assert_eq!(run.count(kind), 2000, "{kind}");
    }
    assert_eq!(run.count("barrier_wait"), 2);
}

#[test]
fn what_a_program_did_before_a_sudden_end_is_there() {
    for how in ["abort", "overflow", "handler", "terminated"] {
        let run = dies(how);
        all_is_there(&run);
        assert!(run.output.status.signal().is_some(), "{how}");
        let warnings = run.trace.warnings.join("\n");
        assert!(warnings.contains("the ends of "), "{how}: {warnings}");
    }
}

#[test]
fn a_program_that_ends_itself_ends_all_its_threads() {
    for how in ["exit", "_exit"] {
        let run = dies(how);
        all_is_there(&run);
        assert_eq!(run.count("terminate"), 2, "{how}");
        assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
    }
}

#[test]
fn what_a_program_did_before_it_became_another_is_there() {
    let run = dies("exec");
    all_is_there(&run);
    assert!(run.trace.processes.len() > 1);
}

/// A program that unmaps memory it never mapped dies, as it does of any library's memory; what it did is kept.
#[test]
fn a_program_that_unmaps_the_journal_keeps_what_was_recorded_before() {
    let program = compile("dies.c", "dies_unmap", &[]);
    let run = record_command(&program, &[OsStr::new("unmap")], &[]);
    assert_eq!(run.output.status.signal(), Some(libc::SIGSEGV));
    all_is_there(&run);
}
