//! What is written is read again, equal.

mod common;

use std::path::Path;

use foretrace_trace::{Trace, read, sealed, text};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn text_is_read_as_it_was_written(trace in common::traces()) {
        let written = text::to_text(&trace).unwrap();
        let again = text::parse(&written, &trace.source);
        prop_assert_eq!(again.map_err(|error| format!("{error}\n{written}")), Ok(trace));
    }

    #[test]
    fn a_sealed_trace_is_read_as_it_was_written(trace in common::traces()) {
        let bytes = sealed::to_bytes(&trace).unwrap();
        prop_assert_eq!(sealed::read_bytes(&bytes, &trace.source).unwrap(), trace);
    }

    #[test]
    fn neither_form_loses_what_the_other_keeps(trace in common::traces()) {
        let written = text::to_text(&trace).unwrap();
        let parsed = text::parse(&written, "a").unwrap();
        let bytes = sealed::to_bytes(&parsed).unwrap();
        let unsealed = sealed::read_bytes(&bytes, "b").unwrap();
        let written_again = text::to_text(&unsealed).unwrap();
        prop_assert_eq!(&written_again, &written);
        let parsed_again = text::parse(&written_again, "c").unwrap();
        prop_assert_eq!(sealed::to_bytes(&parsed_again).unwrap(), bytes);
    }
}

#[test]
fn a_file_is_written_under_its_name_and_no_other_stays_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.ftrace");
    let mut trace = foretrace_testkit::trace(foretrace_testkit::P);
    sealed::write(&trace, &path).unwrap();
    sealed::write(&trace, &path).unwrap();
    let names: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["p.ftrace"]);
    trace.source = path.display().to_string();
    assert_eq!(sealed::read(&path).unwrap(), trace);
    assert_eq!(read(&path).unwrap(), trace);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_a_device_a_device() {
    use std::os::unix::fs::FileTypeExt;
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("file"), directory.path().join("link"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let trace = foretrace_testkit::trace(foretrace_testkit::P);
    sealed::write(&trace, &link).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(sealed::read(&file).unwrap().events, trace.events);
    sealed::write(&trace, Path::new("/dev/null")).unwrap();
    let null = std::fs::metadata("/dev/null").unwrap();
    assert!(null.file_type().is_char_device());
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let trace = foretrace_testkit::trace(foretrace_testkit::P);
    let error = sealed::write(&trace, Path::new("/nowhere/p.ftrace")).unwrap_err();
    assert!(
        error.to_string().starts_with("/nowhere/p.ftrace: "),
        "{error}"
    );
}

#[test]
fn calls_that_no_event_makes_are_not_sealed() {
    let mut trace = foretrace_testkit::trace("0 A lock m\n1 A unlock m\n2 A terminate\n");
    let sealed_before = sealed::to_bytes(&trace).unwrap();
    let unused = trace.calls[0];
    trace.calls.insert(0, unused);
    trace.calls.swap(1, 2);
    for (event, call) in trace.events.iter_mut().zip([2, 1, 3]) {
        event.call = foretrace_trace::CallId(call);
    }
    assert_eq!(sealed::to_bytes(&trace).unwrap(), sealed_before);
    trace.renumber_calls();
    assert_eq!(trace.calls.len(), 3);
}

#[test]
fn a_hand_written_listing_is_written_back_as_it_was() {
    for listing in [
        foretrace_testkit::P,
        foretrace_testkit::Q,
        foretrace_testkit::R,
    ] {
        let plain = listing.lines().filter(|line| !line.starts_with('#'));
        let plain = plain.fold(String::new(), |text, line| text + line + "\n");
        assert_eq!(
            text::to_text(&foretrace_testkit::trace(listing)).unwrap(),
            plain
        );
    }
}

/// One file per released version: today's reader reads each as the text beside it.
#[test]
fn every_released_version_is_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/fixtures");
    let normal = |mut trace: Trace| {
        trace.source.clear();
        trace
    };
    for version in 1..=sealed::VERSION {
        let unsealed = read(&fixtures.join(format!("v{version}.ftrace"))).unwrap();
        let text = read(&fixtures.join(format!("v{version}.trace.txt"))).unwrap();
        assert_eq!(normal(unsealed), normal(text), "version {version}");
    }
}

/// The writer of a version must not drift: traces with calls of MPI are written as version 2, those of programs that gave memory back as 3, of
/// both kinds as 4, others as 1, byte by byte like their fixtures.
#[test]
fn the_fixtures_are_what_is_written_today() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/fixtures");
    for version in 1..=sealed::VERSION {
        let text = read(&fixtures.join(format!("v{version}.trace.txt"))).unwrap();
        let bytes = std::fs::read(fixtures.join(format!("v{version}.ftrace"))).unwrap();
        assert_eq!(sealed::to_bytes(&text).unwrap(), bytes, "version {version}");
    }
}
