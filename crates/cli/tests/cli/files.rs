//! Files that are missing, in the way, or not to be written.

use std::{fs, process::Stdio};

use crate::environment::TestEnvironment;

const LISTING: &str = "foretrace-text 1\nprocess A\n5 A terminate\n";

#[test]
fn a_missing_trace_is_named_once_with_the_reason() {
    let environment = TestEnvironment::new();
    for arguments in [
        &["info", "gone.ftrace"][..],
        &["predict", "gone.ftrace"],
        &["export", "gone.ftrace", "--format", "text"],
        &[
            "import",
            "gone.ftrace",
            "--format",
            "text",
            "-o",
            "new.ftrace",
        ],
    ] {
        let text = environment.run(arguments);
        assert!(text.contains("\nexit code: 1\n"), "{text}");
        assert_eq!(text.matches("No such file").count(), 1, "{text}");
        assert!(text.contains("foretrace: "), "{text}");
    }
    assert!(environment.files().is_empty());
}

#[test]
fn a_place_that_may_not_be_written_is_told_before_the_program_runs() {
    let environment = TestEnvironment::new();
    // Nobody makes files in there, not even the superuser.
    let output = environment
        .command(&["record", "-o", "/sys/out.ftrace", "--", "echo", "it ran"])
        .output()
        .expect("foretrace was built");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("name a file elsewhere with -o"), "{said}");
    assert!(output.stdout.is_empty(), "it did not run");
}

#[test]
fn an_output_file_in_the_way_is_not_overwritten() {
    let environment = TestEnvironment::new();
    environment.file("old.ftrace", "precious", 0o644);
    environment.file("case.txt", LISTING, 0o644);
    fs::create_dir(environment.path("new.ftrace.journal")).expect("it is new");
    fs::create_dir(environment.path("directory")).expect("it is new");
    let mut all = String::new();
    for arguments in [
        &["record", "-o", "old.ftrace", "--", "true"][..],
        &["record", "-o", "new.ftrace", "--", "true"],
        &["record", "-o", "directory", "--", "true"],
        &["record", "--force", "-o", "/dev/full", "--", "true"],
        &["record", "-o", "nowhere/new.ftrace", "--", "true"],
        &["import", "case.txt", "--format", "text", "-o", "old.ftrace"],
    ] {
        all += &environment.run(arguments);
        all += "\n";
    }
    insta::assert_snapshot!(all);
    let kept = fs::read_to_string(environment.path("old.ftrace")).expect("it is still there");
    assert_eq!(kept, "precious");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let environment = TestEnvironment::new();
    environment.file("case.txt", LISTING, 0o644);
    let (reader, writer) = std::io::pipe().expect("pipes can be made");
    drop(reader);
    let output = environment
        .command(&["info", "case.txt"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .expect("foretrace was built");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_full_disk_is_an_error() {
    let environment = TestEnvironment::new();
    environment.file("case.txt", LISTING, 0o644);
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("Linux has it");
    let output = environment
        .command(&["info", "case.txt"])
        .stdout(full)
        .output()
        .expect("foretrace was built");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("cannot write to the standard output")
    );
}
