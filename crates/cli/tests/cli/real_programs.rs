//! Real programs: recorded, they write what they write alone, and one CPU is predicted to take what it took.

use std::{fmt::Write as _, fs, process::Command};

use crate::environment::TestEnvironment;

/// So many bytes of text with words that recur: enough for every compressor to give each thread some blocks.
const BYTES: usize = 24_000_000;

/// Prose of random words; the same on every machine.
fn prose() -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut text = String::with_capacity(BYTES + 16);
    while text.len() < BYTES {
        // Small numbers are frequent, as frequent words are in a language.
        let word = random() % 20_000 * (random() % 1_000) / 1_000;
        let end = if random() % 16 == 0 { '\n' } else { ' ' };
        write!(text, "{word:x}{end}").expect("a string can be written");
    }
    text
}

fn check(program: &[&str]) {
    let environment = TestEnvironment::new();
    environment.file("prose", prose(), 0o644);
    // Into files: whoever reads a pipe decides how long the writer waits.
    let run = |mut command: Command, name: &str| {
        let file = fs::File::create(environment.path(name)).expect("the directory is ours");
        let output = command.stdout(file).output().expect("it is installed");
        let written = fs::read(environment.path(name)).expect("it was written");
        (output, written)
    };
    let mut alone = Command::new(program[0]);
    alone.args(&program[1..]).current_dir(environment.path(""));
    let (alone, by_alone) = run(alone, "alone");
    let mut record = vec!["record", "--quiet", "-o", "out.ftrace", "--"];
    record.extend(program);
    let (recorded, by_recorded) = run(environment.command(&record), "recorded");
    assert_eq!(recorded.status.code(), alone.status.code());
    assert!(!by_recorded.is_empty());
    assert!(
        by_recorded == by_alone,
        "{program:?} compressed to other bytes"
    );
    assert_eq!(
        String::from_utf8_lossy(&recorded.stderr),
        String::from_utf8_lossy(&alone.stderr)
    );

    let info = environment.json(&["info", "out.ftrace", "--json"]);
    let cpu_time = info["trace"]["recording"]["process_cpu_time_ns"]
        .as_f64()
        .expect("the kernel told it");
    let predicted = environment.json(&["predict", "out.ftrace", "--cpus", "1,2,4", "--json"]);
    let makespans: Vec<f64> = predicted["predictions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|prediction| {
            prediction["makespan_ns"]
                .as_f64()
                .expect("some model answered")
        })
        .collect();
    let [one, two, four] = makespans[..] else {
        panic!("three predictions, not {makespans:?}")
    };
    let error = (one / cpu_time - 1.0).abs();
    assert!(
        error < 0.03,
        "{program:?}: one CPU predicted {one} ns, recorded {cpu_time} ns"
    );
    assert!(
        one > two && two >= four,
        "{program:?} runs no faster on more CPUs: {makespans:?}"
    );
    assert!(
        four >= one / 4.0,
        "{program:?} is faster than its work allows: {makespans:?}"
    );

    // A picture of it can be drawn.
    let drawn = environment.run(&[
        "export",
        "out.ftrace",
        "--format",
        "svg",
        "--cpus",
        "4",
        "-o",
        "out.svg",
    ]);
    assert!(drawn.contains("exit code: 0"), "{drawn}");
    assert!(
        fs::read_to_string(environment.path("out.svg"))
            .expect("it was drawn")
            .contains("</svg>")
    );
}

#[test]
fn pigz_compresses_the_same_and_is_predicted() {
    check(&["pigz", "-p", "4", "-c", "prose"]);
}

#[test]
fn xz_compresses_the_same_and_is_predicted() {
    check(&["xz", "-T4", "-0", "-c", "prose"]);
}

#[test]
fn zstd_compresses_the_same_and_is_predicted() {
    check(&["zstd", "-T4", "-9", "-c", "prose"]);
}

#[test]
fn pbzip2_compresses_the_same_and_is_predicted() {
    check(&["pbzip2", "-p4", "-c", "prose"]);
}
