//! Programs that cannot be recorded are refused before they run, with the reason and the remedy.

use crate::environment::TestEnvironment;

/// A program that leaves a file behind when it runs.
const SOURCE: &str =
    "#include <stdio.h>\nint main(void) { return fopen(\"ran\", \"w\") == NULL; }\n";

/// Records `program` and returns what foretrace said, after checking that nothing ran and nothing was left behind.
fn refusal(environment: &TestEnvironment, program: &str) -> String {
    let before = environment.files();
    let text = environment.run(&["record", "-o", "out.ftrace", "--", program]);
    assert!(text.contains("\nexit code: 1\n"), "{text}");
    assert!(!environment.has("ran"), "the program ran");
    assert_eq!(environment.files(), before);
    text
}

#[test]
fn what_is_not_there_is_refused() {
    let environment = TestEnvironment::new();
    environment.file("here", "", 0o755);
    insta::assert_snapshot!(
        [
            refusal(&environment, "no-such-program"),
            refusal(&environment, "here"),
            refusal(&environment, "./nowhere"),
            refusal(&environment, ""),
        ]
        .join("\n")
    );
}

#[test]
fn what_is_no_program_is_refused() {
    let environment = TestEnvironment::new();
    environment.file("plain", "echo hello\n", 0o644);
    environment.file("text", "echo hello\n", 0o755);
    environment.compile("object.o", SOURCE, &["-c"]);
    environment.file("truncated", "\x7fELF", 0o755);
    insta::assert_snapshot!(
        [
            refusal(&environment, "/tmp"),
            refusal(&environment, "./plain"),
            refusal(&environment, "./text"),
            refusal(&environment, "./truncated"),
            refusal(&environment, "/dev/null"),
        ]
        .join("\n")
    );
}

#[test]
fn static_programs_are_refused() {
    let environment = TestEnvironment::new();
    environment.compile("static", SOURCE, &["-static"]);
    environment.compile("static-pie", SOURCE, &["-static-pie"]);
    insta::assert_snapshot!(
        [
            refusal(&environment, "./static"),
            refusal(&environment, "./static-pie"),
        ]
        .join("\n")
    );
}

#[test]
fn programs_with_raised_privileges_are_refused() {
    let environment = TestEnvironment::new();
    let program = environment.compile("program", SOURCE, &[]);
    let bytes = std::fs::read(program).expect("it was compiled");
    environment.file("setuid", &bytes, 0o4755);
    environment.file("setgid", &bytes, 0o2755);
    insta::assert_snapshot!(
        [
            refusal(&environment, "./setuid"),
            refusal(&environment, "./setgid"),
        ]
        .join("\n")
    );
}

#[test]
fn programs_of_another_machine_are_refused() {
    let environment = TestEnvironment::new();
    let mut header = b"\x7fELF\x01\x01\x01".to_vec();
    header.resize(16, 0);
    // An executable (2) for the 80386 (3), in little-endian order.
    header.extend([2, 0, 3, 0]);
    header.resize(52, 0);
    environment.file("thirty-two-bit", &header, 0o755);
    insta::assert_snapshot!(refusal(&environment, "./thirty-two-bit"));
}

#[test]
fn scripts_are_judged_by_their_interpreters() {
    let environment = TestEnvironment::new();
    environment.compile("static", SOURCE, &["-static"]);
    environment.file("missing", "#!/nowhere/interpreter\n", 0o755);
    environment.file("by-env", "#!/usr/bin/env no-such-interpreter\n", 0o755);
    environment.file("by-static", "#!./static -x\n", 0o755);
    environment.file("by-itself", "#!./by-itself\n", 0o755);
    insta::assert_snapshot!(
        [
            refusal(&environment, "./missing"),
            refusal(&environment, "./by-env"),
            refusal(&environment, "./by-static"),
            refusal(&environment, "./by-itself"),
        ]
        .join("\n")
    );
}
