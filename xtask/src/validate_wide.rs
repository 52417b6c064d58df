//! Compares predictions for more CPUs than there are with the same programs, where waits stand for their work.

use std::{path::Path, process::Command};

use crate::{
    run::{cargo, in_directory, root, step},
    subjects,
    validate::{Which, number, tell_errors, text},
};

/// The ways to share work of `shares_work.c`.
const WAYS: [&str; 13] = [
    "index",
    "queue",
    "stealing",
    "splitting",
    "barrier",
    "pipeline",
    "readers",
    "lock",
    "poll",
    "naps",
    "yielding",
    "helping",
    "results",
];

/// The numbers of threads, and of tasks for each.
const THREADS: [(u32, u32); 2] = [(8, 60), (32, 30)];

/// A machine where nothing but work takes time: work that is replaced by waits ten times as long hides what waking and locking cost.
const MACHINE: &str = "[costs]\nwake_latency = \"0us\"\nwake_cost = \"0us\"\npreempt_cost = \"0us\"\nblock_cost = \"0us\"\n\
                       lock_transfer = \"0us\"\ncall_cost = \"0us\"\noffer_cost = \"0us\"\n";

/// How often the program that waits runs; the one in the middle counts.
const ROUNDS: usize = 3;

/// Prints the table that `docs/validation.md` shows.
pub fn all() -> Result<(), String> {
    step("Build", &mut cargo(&["build", "--release"]))?;
    in_directory("validate-wide", all_in)
}

fn all_in(directory: &Path) -> Result<(), String> {
    let works = subjects::compile(directory, "shares_work", &[])?;
    let machine = directory.join("machine.toml");
    std::fs::write(&machine, MACHINE).map_err(|error| error.to_string())?;
    let waits = directory.join("waits");
    std::fs::create_dir_all(&waits).map_err(|error| error.to_string())?;
    let waits = subjects::compile(&waits, "shares_work", &["-DWAITS"])?;
    eprintln!(
        "\n==> Speed-ups with a CPU for each thread, predicted, and of the same program with waits in place of its work"
    );
    eprintln!("| work is shared by | threads | model | predicted | with waits | error |");
    eprintln!("|---|---|---|---|---|---|");
    let mut errors = Vec::new();
    for (threads, tasks) in THREADS {
        let (threads, tasks) = (threads.to_string(), tasks.to_string());
        for way in WAYS {
            let arguments = [way, &threads, &tasks];
            let trace = directory.join("trace.ftrace");
            printed(
                Command::new(root().join("target/release/foretrace"))
                    .args(["record", "-q", "-f", "-o"])
                    .arg(&trace)
                    .arg("--")
                    .arg(&works)
                    .args(arguments),
            )?;
            let predicted = printed(
                Command::new(root().join("target/release/foretrace"))
                    .arg("predict")
                    .arg(&trace)
                    .args(["--json", "--cpus", &threads, "--machine"])
                    .arg(&machine),
            )?;
            let mut real = Vec::new();
            for _ in 0..ROUNDS {
                let said = printed(Command::new(&waits).args(arguments))?;
                real.push(
                    said.trim()
                        .parse::<f64>()
                        .map_err(|error| error.to_string())?,
                );
            }
            real.sort_by(f64::total_cmp);
            let (speedup, real) = (
                number(&predicted, Which::First, "speedup")?,
                real[ROUNDS / 2],
            );
            let error = speedup / real - 1.0;
            errors.push(error.abs());
            eprintln!(
                "| {way} | {threads} | {} | {speedup:.2} | {real:.2} | {:+.1} % |",
                text(&predicted, Which::First, "model")?,
                100.0 * error
            );
        }
    }
    tell_errors("mean absolute error of the speed-up", &errors);
    Ok(())
}

/// Runs a command, and returns what it prints.
fn printed(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {said}"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
