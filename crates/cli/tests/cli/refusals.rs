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

/// As Go's linker marks its programs.
const GO: &str = "__attribute__((section(\".note.go.buildid\"))) const char id[] = \"id\";\n";

#[test]
fn go_programs_are_refused_where_nothing_of_them_can_be_recorded() {
    let environment = TestEnvironment::new();
    let source = [GO, SOURCE].concat();
    environment.compile("go-static", &source, &["-static"]);
    environment.compile("go-with-c", &source, &[]);
    let text = refusal(&environment, "./go-static");
    assert!(
        text.contains("cannot record `./go-static`: it is a Go program without C code"),
        "{text}"
    );
    assert!(text.contains("runtime/trace"), "{text}");
    let text = environment.run(&["record", "-o", "out.ftrace", "--", "./go-with-c"]);
    assert!(
        text.contains("exit code: 0")
            && text.contains("go-with-c` is a Go program: recorded are its threads' CPU times"),
        "{text}"
    );
    assert!(environment.has("ran"), "it can be recorded");
    // The trace says it as well.
    let shown = environment.run(&["info", "out.ftrace"]);
    assert!(shown.contains("not its goroutines"), "{shown}");
}

#[test]
fn a_java_virtual_machine_is_recorded_and_what_is_not_is_told() {
    let environment = TestEnvironment::new();
    environment.compile("libjli.so", "void jli(void) {}\n", &["-shared", "-fPIC"]);
    let source = SOURCE.replace("{ return", "{ jli(); return");
    let source = ["void jli(void);\n", &source].concat();
    environment.compile(
        "launcher",
        &source,
        &["-L.", "-l:libjli.so", "-Wl,-rpath,$ORIGIN"],
    );
    let text = environment.run(&["record", "-o", "out.ftrace", "--", "./launcher"]);
    assert!(text.contains("exit code: 0"), "{text}");
    let told = "launcher` runs on a Java virtual machine: recorded are its threads";
    assert_eq!(text.matches(told).count(), 1, "{text}");
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
