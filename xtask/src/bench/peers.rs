//! Compares what recording costs with what other tools cost, on the same programs, in one run in which all take turns.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{median, nanos};
use crate::{
    run::{is_installed, root, succeeds},
    subjects,
};

/// Runs of each program with each tool.
const ROUNDS: usize = 5;

/// How a program is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Alone,
    Foretrace,
    Uftrace,
    Lttng,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Foretrace => "foretrace",
            Self::Uftrace => "uftrace",
            Self::Lttng => "lttng-ust",
        }
    }
}

/// A program to run.
struct Subject {
    name: &'static str,
    command: Vec<String>,
    /// Whether it prints what a call of it took; else its CPU time counts.
    prints: bool,
}

/// Compares the tools and prints a table.
pub fn compare(directory: &Path) -> Result<(), String> {
    let subjects = subjects(directory)?;
    let session = Session::begin(directory);
    let mut ways = vec![Way::Alone, Way::Foretrace];
    if is_installed("uftrace") {
        ways.push(Way::Uftrace);
    } else {
        eprintln!("uftrace is not installed and left out");
    }
    if session.is_some() {
        ways.push(Way::Lttng);
    } else {
        eprintln!("lttng-tools or liblttng-ust's pthread wrapper is missing and left out");
    }
    eprintln!(
        "\n==> Recording beside other tools, medians of {ROUNDS} runs that take turns, all on CPU {}",
        cpu()
    );
    let names: Vec<&str> = ways.iter().map(|way| way.name()).collect();
    eprintln!("| program | {} |", names.join(" | "));
    eprintln!("|---|{}", "---|".repeat(ways.len()));
    for subject in &subjects {
        let mut measured = vec![Vec::new(); ways.len()];
        for _ in 0..ROUNDS {
            for (way, measured) in ways.iter().zip(&mut measured) {
                measured.push(measure(subject, *way, directory)?);
            }
        }
        let medians: Vec<f64> = measured.into_iter().map(median).collect();
        eprintln!("| {} | {} |", subject.name, cells(subject, &medians));
    }
    Ok(())
}

fn cells(subject: &Subject, medians: &[f64]) -> String {
    let alone = medians[0];
    let cells = medians
        .iter()
        .enumerate()
        .map(|(index, &value)| match (index, subject.prints) {
            (0, true) => format!("{value:.1} ns"),
            (0, false) => format!("{value:.2} s"),
            (_, true) => format!("+{:.1} ns, x {:.2}", value - alone, value / alone),
            (_, false) => format!("x {:.3}", value / alone),
        });
    cells.collect::<Vec<String>>().join(" | ")
}

fn subjects(directory: &Path) -> Result<Vec<Subject>, String> {
    let mut subjects = Vec::new();
    let own = [
        ("lock + unlock, one mutex", "lock_cost", "2000000 1"),
        ("lock + unlock, 3 mutexes in turn", "lock_cost", "2000000 3"),
        ("lock + unlock, 16 mutexes", "lock_cost", "2000000 16"),
        ("poll under a lock, with work", "lock_and_work", "2000000"),
        ("condition variable, a round", "cond_ping_pong", "50000"),
    ];
    for (name, program, arguments) in own {
        let program = subjects::compile(directory, program, &[])?;
        let words = arguments.split(' ').map(str::to_owned);
        subjects.push(Subject {
            name,
            command: [program.display().to_string()]
                .into_iter()
                .chain(words)
                .collect(),
            prints: true,
        });
    }
    for (name, command) in subjects::real_programs(directory, 4)? {
        subjects.push(Subject {
            name,
            command,
            prints: false,
        });
    }
    Ok(subjects)
}

/// Returns the CPU that all runs are pinned to: the last one, as foretrace chooses it.
fn cpu() -> usize {
    std::thread::available_parallelism().map_or(0, |count| count.get() - 1)
}

/// Runs a program once: returns what it prints, or its CPU time in seconds.
fn measure(subject: &Subject, way: Way, directory: &Path) -> Result<f64, String> {
    let trace = directory.join("trace");
    let pin = cpu().to_string();
    let mut words: Vec<String> = Vec::new();
    let shown = trace.display().to_string();
    let foretrace = root()
        .join("target/release/foretrace")
        .display()
        .to_string();
    match way {
        Way::Alone => words.extend(["taskset", "-c", &pin].map(str::to_owned)),
        Way::Foretrace => words.extend(
            [
                &foretrace, "record", "--quiet", "--force", "--cpu", &pin, "-o", &shown, "--",
            ]
            .map(str::to_owned),
        ),
        Way::Uftrace => {
            // Of the calls into libraries, those that the others record too.
            let own = [
                "taskset",
                "-c",
                &pin,
                "uftrace",
                "record",
                "--force",
                "--nest-libcall",
            ];
            words.extend(own.map(str::to_owned));
            words.extend(["-F", "^pthread_", "-d", &shown].map(str::to_owned));
        }
        Way::Lttng => {
            words.extend(["taskset", "-c", &pin, "env"].map(str::to_owned));
            words.push(format!("LTTNG_HOME={}", directory.display()));
            words.push("LD_PRELOAD=liblttng-ust-pthread-wrapper.so".to_owned());
        }
    }
    words.extend(subject.command.iter().cloned());
    let result = if subject.prints {
        nanos(Command::new(&words[0]).args(&words[1..]))
    } else {
        let timed = cpu_seconds(&words)?;
        // Of a recording, what the program used: foretrace goes on after its end and writes the trace.
        if way == Way::Foretrace {
            recorded_cpu_seconds(&foretrace, &shown)
        } else {
            Ok(timed)
        }
    };
    // The next run must not find it.
    let _ = fs::remove_file(&trace).or_else(|_| fs::remove_dir_all(&trace));
    result
}

/// Runs a command and returns the CPU time of it and all that it waited for.
fn cpu_seconds(words: &[String]) -> Result<f64, String> {
    let script = "TIMEFORMAT='%3U %3S'; time \"$@\" >/dev/null 2>/dev/null";
    let output = Command::new("bash")
        .args(["-c", script, "bash"])
        .args(words)
        .output()
        .map_err(|error| format!("cannot run bash: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let times: Vec<f64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    match times.as_slice() {
        [user, system] if output.status.success() => Ok(user + system),
        _ => Err(format!("{words:?} failed: {text}")),
    }
}

fn recorded_cpu_seconds(foretrace: &str, trace: &str) -> Result<f64, String> {
    let output = Command::new(foretrace)
        .args(["info", "--json", trace])
        .output()
        .map_err(|error| format!("cannot run foretrace: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let nanos = text.split("\"process_cpu_time_ns\":").nth(1);
    let digits: Option<String> = nanos.map(|rest| {
        rest.trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect()
    });
    digits
        .and_then(|digits| digits.parse::<f64>().ok())
        .map(|nanos| nanos / 1e9)
        .ok_or_else(|| format!("foretrace info says no process CPU time: {text}"))
}

/// A session of lttng's that records the pthread wrapper's events. Dropped, it ends, and so does its daemon.
struct Session {
    home: PathBuf,
    daemon: std::process::Child,
}

impl Session {
    fn begin(directory: &Path) -> Option<Self> {
        let wrapper =
            Path::new("/usr/lib/x86_64-linux-gnu/liblttng-ust-pthread-wrapper.so").exists();
        if !wrapper || !is_installed("lttng") || !is_installed("lttng-sessiond") {
            return None;
        }
        let daemon = Command::new("lttng-sessiond")
            .arg("--quiet")
            .env("LTTNG_HOME", directory)
            .spawn()
            .ok()?;
        let session = Self {
            home: directory.to_owned(),
            daemon,
        };
        let output = format!("--output={}", directory.join("lttng").display());
        // The daemon needs a moment to listen.
        let listens = (0..50).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            session.lttng(&["create", "bench", &output])
        });
        let recording = listens
            && session.lttng(&["enable-event", "--userspace", "lttng_ust_pthread:*"])
            && session.lttng(&["start"]);
        recording.then_some(session)
    }

    fn lttng(&self, arguments: &[&str]) -> bool {
        succeeds(
            Command::new("lttng")
                .arg("--no-sessiond")
                .args(arguments)
                .env("LTTNG_HOME", &self.home),
        )
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.lttng(&["destroy", "bench"]);
        // An orderly end takes its consumers along.
        succeeds(Command::new("kill").arg(self.daemon.id().to_string()));
        let _ = self.daemon.wait();
    }
}

/// Returns a place for the machine's facts in the table's heading.
pub fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or("");
    let kernel = read("/proc/sys/kernel/osrelease");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let place = env::temp_dir();
    format!(
        "{cpus} CPUs ({}), Linux {}, files in {}",
        model.trim_start_matches([' ', '\t', ':']).trim(),
        kernel.trim(),
        place.display()
    )
}
