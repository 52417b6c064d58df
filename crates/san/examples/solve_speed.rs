//! Measures how fast models are solved, in CPU time of one core: `cargo run --release --example solve_speed`.

use std::{
    fs,
    time::{Duration, Instant},
};

use foretrace_san::{
    Options, SanError, Storage,
    language::{Parameters, Source},
    solve,
};

const ASYNC: &str = include_str!("../../../assets/models/san/propagation-async.san");

/// A model and how it is solved.
struct Case {
    name: &'static str,
    slaves: f64,
    buffer: f64,
    options: Options,
}

fn main() -> Result<(), SanError> {
    let usual = Options {
        tolerance: 1e-10,
        tolerance_sum: f64::INFINITY,
        ..Options::default()
    };
    let cases = [
        Case {
            name: "lumped",
            slaves: 8.0,
            buffer: 60.0,
            options: usual,
        },
        Case {
            name: "lumped",
            slaves: 64.0,
            buffer: 40.0,
            options: usual,
        },
        Case {
            name: "not lumped",
            slaves: 8.0,
            buffer: 60.0,
            options: Options {
                lump: false,
                ..usual
            },
        },
        Case {
            name: "without a matrix",
            slaves: 10.0,
            buffer: 57.0,
            options: Options {
                storage: Storage::MatrixFree,
                memory: 2.0 * 1024.0 * 1024.0 * 1024.0,
                ..usual
            },
        },
    ];
    let source = Source::read(ASYNC, "propagation-async.san")?;
    for case in cases {
        let parameters = Parameters::from([
            ("N".to_owned(), case.slaves),
            ("NS".to_owned(), 3.0 * case.slaves),
            ("K".to_owned(), case.buffer),
        ]);
        let (before, begin) = (cpu_time(), Instant::now());
        let solution = solve(&source.model(&parameters)?, &case.options)?;
        eprintln!(
            "N = {}, K = {}, {}: {:.4e} reachable of {:.4e} states, solved with {}; {}, {} sweeps, residual {:.1e}: {:.3} s CPU, {:.3} s, \
             at most {} MiB until now",
            case.slaves,
            case.buffer,
            case.name,
            solution.states,
            solution.product_states,
            solution.solved_states,
            solution.method,
            solution.iterations,
            solution.residual,
            cpu_time().saturating_sub(before).as_secs_f64(),
            begin.elapsed().as_secs_f64(),
            peak_mebibytes()
        );
    }
    Ok(())
}

/// Returns the CPU time of this process, in whole ticks of 10 ms.
fn cpu_time() -> Duration {
    let told = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program's name stands in brackets, and may hold anything.
    let fields = told.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks: u64 = fields
        .split(' ')
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(10 * ticks)
}

/// Returns the most memory that this process had at once.
fn peak_mebibytes() -> u64 {
    let told = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| {
        line.trim()
            .trim_end_matches(" kB")
            .trim()
            .parse::<u64>()
            .ok()
    });
    kibibytes.unwrap_or(0) / 1024
}
