//! Measures what recording costs, alone and beside other tools, how large traces are, and how fast they are replayed.

mod peers;

use std::{fs, path::Path, process::Command};

use crate::run::{cargo, in_directory, root, step};

/// Lock and unlock pairs of one run.
const PAIRS: u64 = 5_000_000;

/// As many mutexes in turn that each pair is recorded: those of a few are counted.
const MUTEXES: &str = "16";

/// Runs of each kind; they alternate, so that both see the same state of the machine.
const ROUNDS: usize = 7;

/// Runs all measurements.
pub fn all() -> Result<(), String> {
    step("Build", &mut cargo(&["build", "--release"]))?;
    recording()?;
    step("Replay speed", &mut engine(&["10000000", "locks"]))
}

/// Measures the way from a trace to predictions: with what programs synchronize, and how the cost grows with their length.
pub fn engine_speed() -> Result<(), String> {
    step(
        "What programs synchronize with, 64 threads",
        &mut engine(&["10000000"]),
    )?;
    for exponent in 4..=8 {
        let events = 10_u64.pow(exponent).to_string();
        step(
            &format!("Locks, 10^{exponent} events, 64 threads"),
            &mut engine(&[&events, "locks", "all", "8,64"]),
        )?;
    }
    Ok(())
}

/// Returns the measurement of lowering and replay; the words say how many events, and of what.
fn engine(words: &[&str]) -> Command {
    let example = ["-p", "foretrace-sim", "--example", "engine_speed", "--"];
    let mut command = cargo(&["run", "--release", "--quiet"]);
    command.args(example).args(words);
    command
}

/// Measures the models of master/slave programs.
pub fn masterslave() -> Result<(), String> {
    for (package, example, about) in [
        ("foretrace-masterslave", "plan_speed", "Grids"),
        ("foretrace-san", "solve_speed", "Automata networks"),
    ] {
        let example = ["-p", package, "--example", example];
        step(about, cargo(&["run", "--release", "--quiet"]).args(example))?;
    }
    Ok(())
}

/// Measures what the viewer's lanes cost: the example says how.
pub fn gantt() -> Result<(), String> {
    let example = ["-p", "foretrace-gantt", "--example", "frame_cost"];
    step(
        "Frames of 64 lanes, and their index",
        cargo(&["run", "--release", "--quiet"]).args(example),
    )
}

/// Measures an uncontended pair alone and recorded, and the size of the trace.
fn recording() -> Result<(), String> {
    in_directory("bench", recording_in)
}

fn recording_in(directory: &Path) -> Result<(), String> {
    let program = crate::subjects::compile(directory, "lock_cost", &[])?;
    let trace = directory.join("lock_cost.ftrace");
    let foretrace = root().join("target/release/foretrace");
    let arguments = [PAIRS.to_string(), MUTEXES.to_owned()];
    let (mut alone, mut recorded) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(nanos(Command::new(&program).args(&arguments))?);
        let mut record = Command::new(&foretrace);
        record
            .args(["record", "--quiet", "--force", "-o"])
            .arg(&trace)
            .arg("--")
            .arg(&program);
        recorded.push(nanos(record.args(&arguments))?);
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
    eprintln!("\n{}", peers::machine());
    threads(directory, &program)?;
    peers::compare(directory)
}

/// Lock and unlock pairs of each thread where several run at the same time.
const PAIRS_EACH: u64 = 1_000_000;

/// Measures whether threads that record at the same time cost each other anything: what a thread uses of its own CPU time, so
/// that it does not matter if there are more of them than CPUs. As many processes, which share nothing, tell what the
/// machine makes of that.
fn threads(directory: &Path, program: &Path) -> Result<(), String> {
    let mut build = cargo(&["build", "--release", "--quiet", "-p", "foretrace-preload"]);
    step("Build the library by itself", &mut build)?;
    eprintln!("\n==> Threads that record at the same time, not pinned: ns of CPU time a pair");
    eprintln!("| threads | alone | recorded | as many processes, recorded |");
    eprintln!("|---|---|---|---|");
    for count in [1, 2, 4, 8] {
        let (mut alone, mut recorded, mut processes) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut plain = Command::new(program);
            alone.push(nanos(plain.args(pairs_of(count)))?);
            recorded.push(at_once(directory, program, 1, count)?);
            processes.push(at_once(directory, program, count, 1)?);
        }
        let (alone, recorded, processes) = (median(alone), median(recorded), median(processes));
        eprintln!(
            "| {count} | {alone:.1} ns | {:.1} ns more | {:.1} ns more |",
            recorded - alone,
            processes - alone
        );
    }
    Ok(())
}

/// Returns the arguments of a run with so many threads.
fn pairs_of(threads: usize) -> [String; 3] {
    [
        PAIRS_EACH.to_string(),
        MUTEXES.to_owned(),
        threads.to_string(),
    ]
}

/// Records so many processes at once, of so many threads each. Returns the mean of what they say a pair costs.
fn at_once(
    directory: &Path,
    program: &Path,
    processes: usize,
    threads: usize,
) -> Result<f64, String> {
    let journals = directory.join("journals");
    fs::create_dir(&journals).map_err(|error| error.to_string())?;
    let library = root().join("target/release/libforetrace_preload.so");
    let costs: Result<Vec<f64>, String> = std::thread::scope(|scope| {
        let run = || {
            let mut command = Command::new(program);
            command
                .args(pairs_of(threads))
                .env("LD_PRELOAD", &library)
                .env("FORETRACE_JOURNAL", &journals);
            nanos(&mut command)
        };
        let running: Vec<_> = (0..processes).map(|_| scope.spawn(run)).collect();
        running
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a run failed".to_owned())?)
            .collect()
    });
    fs::remove_dir_all(&journals).map_err(|error| error.to_string())?;
    Ok(costs?.iter().sum::<f64>() / processes as f64)
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
