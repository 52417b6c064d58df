//! Compares predictions with real runs of programs of which everybody has a copy.

use std::{path::Path, process::Command};

use crate::{
    run::{cargo, in_directory, root, step},
    subjects,
};

/// The number of CPUs, and of the programs' threads.
const CPUS: u32 = 2;

/// How often each program runs on each number of CPUs.
const ROUNDS: &str = "10";

/// How often each is recorded: the machine's speed changes by a tenth within seconds, and the recording in the middle answers.
const RECORDINGS: &str = "5";

/// Prints the table that `docs/validation.md` shows.
pub fn all() -> Result<(), String> {
    step("Build", &mut cargo(&["build", "--release"]))?;
    in_directory("validate", all_in)
}

fn all_in(directory: &Path) -> Result<(), String> {
    let mut programs = subjects::real_programs(directory, CPUS)?;
    for (name, arguments) in [
        ("stencil", format!("{CPUS} 600 9000")),
        ("work_queue", format!("{CPUS} 4000 200")),
    ] {
        let program = subjects::compile(directory, name, &[])?
            .display()
            .to_string();
        let words = arguments.split(' ').map(str::to_owned);
        programs.push((name, std::iter::once(program).chain(words).collect()));
    }
    eprintln!("\n==> On {CPUS} CPUs, medians of {ROUNDS} real runs in turn with those on one");
    eprintln!("| program | model | predicted | real | error | speed-up predicted | real | error |");
    eprintln!("|---|---|---|---|---|---|---|---|");
    let mut errors = Vec::new();
    for (name, command) in &programs {
        let document = validate(command)?;
        // The row of several CPUs is the last.
        let last = |key: &str| number(&document, Which::Last, key);
        let error = last("speedup_error")?;
        errors.push(error.abs());
        eprintln!(
            "| {name} | {} | {:.3} s | {:.3} s | {:+.1} % | {:.2} | {:.2} | {:+.1} % |",
            text(&document, Which::Last, "model")?,
            last("predicted_ns")? / 1e9,
            last("real_ns")? / 1e9,
            100.0 * last("error")?,
            last("predicted_speedup")?,
            last("real_speedup")?,
            100.0 * error,
        );
    }
    tell_errors("mean absolute error of the speed-up", &errors);
    Ok(())
}

/// Prints the mean of errors and the largest, which are parts of one.
pub fn tell_errors(what: &str, errors: &[f64]) {
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let worst = errors.iter().copied().fold(0.0, f64::max);
    eprintln!(
        "{what}: {:.1} %, largest {:.1} %",
        100.0 * mean,
        100.0 * worst
    );
}

/// Returns the JSON document of a comparison.
fn validate(command: &[String]) -> Result<String, String> {
    let cpus = CPUS.to_string();
    let output = Command::new(root().join("target/release/foretrace"))
        .args([
            "validate",
            "--cpus",
            &cpus,
            "--rounds",
            ROUNDS,
            "--recordings",
            RECORDINGS,
            "--json",
            "--",
        ])
        .args(command)
        .output()
        .map_err(|error| format!("cannot run foretrace: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{command:?}: {said}"));
    }
    for line in said.lines().filter(|line| line.contains("others used")) {
        eprintln!("{line}");
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Which of the keys of one name in a JSON document is meant.
#[derive(Clone, Copy)]
pub enum Which {
    First,
    Last,
}

/// Returns what stands behind a key.
fn value<'a>(document: &'a str, which: Which, key: &str) -> Result<&'a str, String> {
    let pattern = format!("\"{key}\": ");
    let place = match which {
        Which::First => document.find(&pattern),
        Which::Last => document.rfind(&pattern),
    };
    let rest = place.and_then(|at| document.get(at + pattern.len()..));
    let end = |rest: &str| rest.find([',', '\n']).unwrap_or(rest.len());
    rest.map(|rest| rest[..end(rest)].trim())
        .ok_or_else(|| format!("no {key} in {document}"))
}

/// Returns the number behind a key of a JSON document.
pub fn number(document: &str, which: Which, key: &str) -> Result<f64, String> {
    let text = value(document, which, key)?;
    text.parse()
        .map_err(|_| format!("{key} is {text}: every model ended in a deadlock"))
}

/// Returns the text behind a key of a JSON document.
pub fn text(document: &str, which: Which, key: &str) -> Result<String, String> {
    Ok(value(document, which, key)?.trim_matches('"').to_owned())
}
