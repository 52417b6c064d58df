//! Measures what recording costs, how large traces are, and how fast they are replayed.

use std::{env, fs, path::Path, process::Command};

use crate::run::{cargo, root, step};

/// Lock and unlock pairs of one run.
const PAIRS: u64 = 5_000_000;

/// Runs of each kind; they alternate, so that both see the same state of the machine.
const ROUNDS: usize = 7;

/// Runs all measurements.
pub fn all() -> Result<(), String> {
    step("Build", &mut cargo(&["build", "--release"]))?;
    recording()?;
    let example = ["-p", "foretrace-sim", "--example", "replay_speed"];
    step(
        "Replay speed",
        cargo(&["run", "--release", "--quiet"]).args(example),
    )
}

/// Measures an uncontended pair alone and recorded, and the size of the trace.
fn recording() -> Result<(), String> {
    let directory = env::temp_dir().join(format!("foretrace-bench-{}", std::process::id()));
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let measured = recording_in(&directory);
    // What is left behind in the temporary directory does no harm.
    let _ = fs::remove_dir_all(&directory);
    measured
}

fn recording_in(directory: &Path) -> Result<(), String> {
    let program = directory.join("lock_cost");
    let source = root().join("traces/programs/lock_cost.c");
    step(
        "Compile lock_cost.c",
        Command::new("cc")
            .args(["-O2", "-pthread", "-o"])
            .arg(&program)
            .arg(source),
    )?;
    let trace = directory.join("lock_cost.ftrace");
    let foretrace = root().join("target/release/foretrace");
    let pairs = PAIRS.to_string();
    let (mut alone, mut recorded) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(nanos(Command::new(&program).arg(&pairs))?);
        let mut record = Command::new(&foretrace);
        record
            .args(["record", "--quiet", "--force", "-o"])
            .arg(&trace)
            .arg("--")
            .arg(&program);
        recorded.push(nanos(record.arg(&pairs))?);
    }
    let (alone, recorded) = (median(alone), median(recorded));
    let bytes = fs::metadata(&trace)
        .map_err(|error| error.to_string())?
        .len();
    let events = 2 * PAIRS;
    eprintln!(
        "\n==> Recording, medians of {ROUNDS} alternating runs of {PAIRS} uncontended lock + unlock pairs"
    );
    eprintln!(
        "a pair alone: {alone:.1} ns; recorded: {recorded:.1} ns; recording adds {:.1} ns",
        recorded - alone
    );
    eprintln!("trace: {:.2} bytes an event", bytes as f64 / events as f64);
    Ok(())
}

fn nanos(command: &mut Command) -> Result<f64, String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| {
        format!(
            "{command:?} printed {text:?} {}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
