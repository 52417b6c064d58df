//! What is no trace, or not the whole of one, gets a message that names the place and the remedy.

use std::fs;

use crate::environment::TestEnvironment;

/// Runs a command that must fail with a message that has all these words in it.
fn refused(environment: &TestEnvironment, arguments: &[&str], words: &[&str]) {
    let text = environment.run(arguments);
    assert!(text.contains("exit code: 1\n"), "{text}");
    assert!(!text.contains("--- stdout"), "{text}");
    for word in words {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
}

/// Seals a listing of many events, longer than a block of a file.
fn long_trace(environment: &TestEnvironment) -> Vec<u8> {
    let mut listing = String::from("foretrace-text 1\nprocess A\nprocess B\n0 A create B\n");
    for time in 1..40_000 {
        listing.extend([format!("{time} A lock m\n"), format!("{time} A unlock m\n")]);
    }
    listing.push_str("40000 B terminate\n40000 A terminate\n");
    environment.file("long.txt", listing, 0o644);
    let sealed = environment.run(&[
        "import",
        "long.txt",
        "--format",
        "text",
        "-o",
        "long.ftrace",
    ]);
    assert!(sealed.contains("exit code: 0"), "{sealed}");
    fs::read(environment.path("long.ftrace")).expect("it was written")
}

#[test]
fn a_file_cut_short_is_read_as_far_as_it_is_whole_and_says_so() {
    let environment = TestEnvironment::new();
    let bytes = long_trace(&environment);
    environment.file("cut.ftrace", &bytes[..bytes.len() / 2], 0o644);
    let text = environment.run(&["predict", "cut.ftrace", "--cpus", "2"]);
    assert!(text.contains("exit code: 0"), "{text}");
    assert!(
        text.contains("the file is cut short: it ends at byte"),
        "{text}"
    );
    assert!(text.contains("of 80001 events are whole"), "{text}");
    environment.file("stump.ftrace", &bytes[..60], 0o644);
    refused(
        &environment,
        &["predict", "stump.ftrace"],
        &["stump.ftrace: byte 12", "copy the file again"],
    );
    // Nothing but the metadata is whole.
    environment.file("bare.ftrace", &bytes[..300], 0o644);
    refused(
        &environment,
        &["predict", "bare.ftrace"],
        &["holds no events", "record the program again"],
    );
}

#[test]
fn a_damaged_file_is_refused_with_the_byte() {
    let environment = TestEnvironment::new();
    let mut bytes = long_trace(&environment);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    environment.file("bad.ftrace", &bytes, 0o644);
    refused(
        &environment,
        &["predict", "bad.ftrace"],
        &["bad.ftrace: byte ", "checksum", "copy the file again"],
    );
}

#[test]
fn what_is_no_trace_is_refused_by_what_it_is() {
    let environment = TestEnvironment::new();
    let cases: [(&str, &[u8], &str); 5] = [
        ("program", b"\x7fELF\x02\x01", "found: an ELF program"),
        ("packed.gz", b"\x1f\x8b\x08\0", "decompress it first"),
        (
            "letter.txt",
            b"Dear foretrace,\n",
            "the first line of a text trace must be",
        ),
        ("nothing", b"", "is empty"),
        (
            "no-rows.txt",
            b"foretrace-text 1\nprocess A\n",
            "holds no events",
        ),
    ];
    for (name, contents, reason) in cases {
        environment.file(name, contents, 0o644);
        for command in ["predict", "info"] {
            refused(&environment, &[command, name], &[name, reason]);
        }
    }
    fs::create_dir(environment.path("folder")).expect("it is new");
    refused(
        &environment,
        &["predict", "folder"],
        &["folder: a directory without a journal"],
    );
}

#[test]
fn an_unknown_event_is_named_with_its_line_and_column() {
    let environment = TestEnvironment::new();
    environment.file(
        "new.txt",
        "foretrace-text 1\nprocess A\n0 A lokc m\n",
        0o644,
    );
    refused(
        &environment,
        &["predict", "new.txt"],
        &["new.txt:3:5", "`lokc`", "lock"],
    );
}

#[test]
fn a_thread_that_never_ends_is_warned_of_with_its_line() {
    let environment = TestEnvironment::new();
    let listing =
        "foretrace-text 1\nprocess A\nprocess B\n0 A create B\n3 B lock m\n9 A terminate\n";
    environment.file("endless.txt", listing, 0o644);
    let text = environment.run(&["predict", "endless.txt", "--cpus", "2"]);
    assert!(text.contains("exit code: 0"), "{text}");
    let warning =
        "thread \"B\" never ends: it is taken to end after its last event, line 5 of endless.txt";
    assert_eq!(text.matches(warning).count(), 1, "{text}");
}

#[test]
fn a_saved_schedule_is_drawn_and_a_damaged_one_refused() {
    let environment = TestEnvironment::new();
    environment.file(
        "q.txt",
        include_str!("../../../../traces/q.trace.txt"),
        0o644,
    );
    let saved = environment.run(&["predict", "q.txt", "--cpus", "3", "-o", "q.fts"]);
    assert!(saved.contains("exit code: 0"), "{saved}");
    let drawn = environment.run(&["export", "q.fts", "--format", "svg"]);
    assert!(
        drawn.contains("<svg") && drawn.contains("client-server"),
        "{drawn}"
    );
    refused(
        &environment,
        &["export", "q.fts", "--format", "text"],
        &["shows a recorded trace"],
    );
    let mut bytes = fs::read(environment.path("q.fts")).expect("it was written");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    environment.file("bad.fts", &bytes, 0o644);
    refused(
        &environment,
        &["export", "bad.fts", "--format", "svg"],
        &["bad.fts", "checksum", "predict the schedule again"],
    );
}

#[test]
fn a_journal_of_another_version_names_both_and_the_remedy() {
    let environment = TestEnvironment::new();
    // The program kills foretrace, so that its journal stays.
    let script = "kill -9 $PPID";
    environment.run(&["record", "-o", "old.ftrace", "--", "sh", "-c", script]);
    let folder = environment.path("old.ftrace.journal");
    let entries = fs::read_dir(&folder).expect("it was left behind");
    let paths: Vec<_> = entries
        .map(|entry| entry.expect("it is ours").path())
        .collect();
    for path in &paths {
        let mut bytes = fs::read(path).expect("it is ours");
        if path.extension().is_some_and(|extension| extension == "ftj") {
            bytes[8] = 77;
        } else {
            // Whatever else a later version notes there.
            bytes = br#"{"recorder_version": "9.8.7", "command": 5}"#.to_vec();
        }
        fs::write(path, bytes).expect("it is ours");
    }
    assert!(paths.len() >= 2, "{paths:?}");
    for command in ["info", "predict", "recover"] {
        refused(
            &environment,
            &[command, "old.ftrace.journal"],
            &[
                "recorded by foretrace 9.8.7, and this is foretrace ",
                env!("CARGO_PKG_VERSION"),
                "run `foretrace recover old.ftrace.journal` of version 9.8.7",
                "a journal of version 77, and this foretrace reads version 4",
            ],
        );
    }
}

#[test]
fn a_recording_in_which_nothing_happened_says_why() {
    let environment = TestEnvironment::new();
    let alone = environment.run(&["record", "-o", "alone.ftrace", "--", "true"]);
    let words =
        "it has one thread: neither it nor what it links (the C library alone) calls a function";
    assert!(alone.contains(words), "{alone}");
    let source = "#include <pthread.h>\nint main(int count, char **words) { pthread_t t; return count > 1 && \
                  pthread_create(&t, 0, (void *(*)(void *))main, words); }\n";
    environment.compile("unused", source, &["-pthread"]);
    let unused = environment.run(&["record", "-o", "unused.ftrace", "--", "./unused"]);
    let words = "it can create threads (pthread_create), but none were created in this run";
    assert!(unused.contains(words), "{unused}");
    let source =
        "#define _GNU_SOURCE\n#include <unistd.h>\nint main(void) { return syscall(39) < 0; }\n";
    environment.compile("raw", source, &[]);
    let raw = environment.run(&["record", "-o", "raw.ftrace", "--", "./raw"]);
    let words = "it calls `syscall`, by which threads can be made that cannot be recorded";
    assert!(raw.contains(words), "{raw}");
}
