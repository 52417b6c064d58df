//! Real programs: recorded, they write what they write alone, and one CPU is predicted to take what it took.

use std::{fmt::Write as _, fs, process::Command};

use crate::environment::TestEnvironment;

/// So many bytes of text with words that recur: enough for every compressor to give each thread some blocks.
const BYTES: usize = 24_000_000;

/// Prose of random words; the same on every machine.
fn prose() -> String {
    let mut random = random();
    let mut text = String::with_capacity(BYTES + 16);
    while text.len() < BYTES {
        // Small numbers are frequent, as frequent words are in a language.
        let word = random() % 20_000 * (random() % 1_000) / 1_000;
        let end = if random().is_multiple_of(16) {
            '\n'
        } else {
            ' '
        };
        write!(text, "{word:x}{end}").expect("a string can be written");
    }
    text
}

/// The size of the pictures that are encoded, and how many there are.
const WIDTH: usize = 320;
const HEIGHT: usize = 240;
const FRAMES: usize = 400;

/// A film of a pattern that moves, with some noise: a header, then each picture's brightness and two colours of half the size.
fn film() -> Vec<u8> {
    let mut random = random();
    let mut bytes = format!("YUV4MPEG2 W{WIDTH} H{HEIGHT} F25:1 C420jpeg\n").into_bytes();
    for frame in 0..FRAMES {
        bytes.extend(b"FRAME\n");
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let noise = random() % 8;
                let moved = (x + 3 * frame) * (y + frame) / 64 % 200;
                bytes.push(u8::try_from(moved as u64 + noise).expect("it is below 208"));
            }
        }
        bytes.resize(bytes.len() + WIDTH * HEIGHT / 2, 128);
    }
    bytes
}

/// Random numbers, the same on every machine.
fn random() -> impl FnMut() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

fn check(program: &[&str]) {
    check_with(program, prose().as_bytes(), |_| false);
}

/// Checks a program that reads `input`, and says the same recorded as alone but for some lines.
fn check_with(program: &[&str], input: &[u8], differs: impl Fn(&str) -> bool) {
    let environment = TestEnvironment::new();
    environment.file("input", input, 0o644);
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
    let told = |stderr: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(stderr).into_owned();
        let lines = text.lines().filter(|line| !differs(line));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(told(&recorded.stderr), told(&alone.stderr));

    let info = environment.json(&["info", "out.ftrace", "--json"]);
    let told = |key: &str| info["trace"]["recording"][key].as_f64();
    let all = told("process_cpu_time_ns").expect("the kernel told it");
    let cpu_time = all - told("recorder_cpu_ns").expect("the recorder measured itself");
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
        error < 0.04,
        "{program:?}: one CPU predicted {one} ns, recorded {cpu_time} ns"
    );
    // Who has an end to themselves after all others does not gain by more CPUs, and may be called a little later.
    assert!(
        one > two && two * 1.02 >= four,
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
fn x264_encodes_the_same_and_is_predicted() {
    let quietly = ["x264", "--threads", "4", "--quiet", "--no-progress"];
    let from_to = ["--demuxer", "y4m", "-o", "-", "input"];
    // It tells how fast it was. Libraries of its wait by futexes, of which there is a warning.
    let differs = |line: &str| line.contains(" fps, ") || line.starts_with("foretrace: warning: ");
    check_with(&[&quietly[..], &from_to].concat(), &film(), differs);
}

#[test]
fn x264_s_tasks_are_done_by_whoever_is_free() {
    let environment = TestEnvironment::new();
    environment.file("input", film(), 0o644);
    let program = "x264 --threads 12 --quiet --no-progress --demuxer y4m -o /dev/null input";
    let mut record = vec!["record", "--quiet", "-o", "out.ftrace", "--"];
    record.extend(program.split(' '));
    environment.run(&record);
    let predicted = environment.json(&["predict", "out.ftrace", "--cpus", "2,8", "--json"]);
    for prediction in predicted["predictions"].as_array().expect("a list") {
        // Else its threads wait for each other for ever.
        assert_eq!(prediction["model"], "pool", "{prediction}");
    }
}

#[test]
fn pigz_compresses_the_same_and_is_predicted() {
    check(&["pigz", "-p", "4", "-c", "input"]);
}

#[test]
fn xz_compresses_the_same_and_is_predicted() {
    check(&["xz", "-T4", "-0", "-c", "input"]);
}

#[test]
fn zstd_compresses_the_same_and_is_predicted() {
    check(&["zstd", "-T4", "-9", "-c", "input"]);
}

#[test]
fn pbzip2_compresses_the_same_and_is_predicted() {
    check(&["pbzip2", "-p4", "-c", "input"]);
}
