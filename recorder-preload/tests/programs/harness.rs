//! Compiles programs, runs them with and without the recorder, and shows events as lines.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use foretrace_trace::journal::read_dir;
use foretrace_trace::{Event, FileKind, Nanos, Operation, Outcome, Trace};

/// Where what is built for the tests goes.
fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Builds a package into the directory that all tests share, and returns where `file` of it is.
fn build(package: &str, file: &str) -> PathBuf {
    let target = scratch().join("preload");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "-p", package])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("CARGO_BUILD_TARGET")
        .status()
        .expect("cargo runs the tests");
    assert!(status.success(), "{package} does not build");
    target.join("release").join(file)
}

/// Builds the library as it is shipped; integration tests alone would not build a `cdylib`.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build("foretrace-preload", "libforetrace_preload.so"))
}

/// Builds the programs that are written in Rust.
pub fn rust_programs() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build("rust-programs", "rust-programs"))
}

/// Compiles a program of `traces/programs` and returns where it is. `more` are further arguments of the compiler.
pub fn compile(source: &str, output: &str, more: &[&str]) -> PathBuf {
    let extension = Path::new(source).extension().and_then(OsStr::to_str);
    let compiler = match extension {
        Some("cpp") => "c++",
        Some("f90") => "gfortran",
        _ => "cc",
    };
    compile_with(compiler, source, output, more)
}

/// The same with a compiler of the caller's choice.
pub fn compile_with(compiler: &str, source: &str, output: &str, more: &[&str]) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/programs");
    // Several tests may compile the same program at once.
    let directory = scratch().join("programs").join(output);
    std::fs::create_dir_all(&directory).expect("the scratch directory is writable");
    let program = directory.join(output);
    let status = Command::new(compiler)
        .args(["-O1", "-g", "-pthread", "-Wall", "-Wextra"])
        .arg(programs.join(source))
        .arg("-o")
        .arg(&program)
        .args(more)
        .status()
        .expect("the compiler is installed");
    assert!(status.success(), "{source} does not compile");
    program
}

/// The first CPU that this process may use.
fn a_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .expect("every status has it");
    let cpu = allowed.trim().split(['-', ',']).next();
    cpu.expect("one CPU at least is allowed").to_owned()
}

/// No program takes as long as this, in seconds: one that hangs fails its own test, and does not hold up the others.
const LIMIT: &str = "300";

/// Begins a command pinned to one CPU. How many threads teams have is not what the one who tests would like.
fn on_a_cpu() -> Command {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "--kill-after=10", LIMIT]);
    command.args(["taskset", "-c", &a_cpu(), "env"]);
    command.env_remove("OMP_NUM_THREADS");
    command
}

/// A command pinned to one CPU.
pub fn pinned(program: &Path) -> Command {
    let mut command = on_a_cpu();
    command.arg(program);
    command
}

/// What was recorded, with what the program said.
pub struct Run {
    pub trace: Trace,
    pub output: Output,
    /// Where they stay until the test is over.
    journals: tempfile::TempDir,
}

/// Records a command whose program, arguments and output the caller chose; `variables` are set for it.
pub fn record_command(program: &Path, arguments: &[&OsStr], variables: &[(&str, &str)]) -> Run {
    let journals = tempfile::tempdir().expect("the temporary directory is writable");
    let mut command = on_a_cpu();
    command.arg(format!("LD_PRELOAD={}", library().display()));
    command.arg(format!("FORETRACE_JOURNAL={}", journals.path().display()));
    for (name, value) in variables {
        command.arg(format!("{name}={value}"));
    }
    let output = command
        .arg(program)
        .args(arguments)
        .output()
        .expect("taskset and env are installed");
    let trace = read_dir(journals.path()).expect("the journals are whole");
    check(&trace);
    Run {
        trace,
        output,
        journals,
    }
}

/// Compiles and records a program, and checks that it did as it does unrecorded.
pub fn record(source: &str) -> Run {
    record_with(source, &[])
}

/// The same with environment variables for the recorder.
pub fn record_with(source: &str, variables: &[(&str, &str)]) -> Run {
    let name = source.split('.').next().expect("split gives one part");
    let program = compile(source, name, &[]);
    let run = record_command(&program, &[], variables);
    let plain = pinned(&program).output().expect("taskset is installed");
    assert_eq!(shown(&run.output), shown(&plain), "recorded against plain");
    run
}

fn shown(output: &Output) -> (String, String, Option<i32>) {
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.status.code(),
    )
}

/// Checks what every trace promises, and that no thread did anything before it was created or after it ended.
fn check(trace: &Trace) {
    let mut time = Nanos(0);
    let mut cpu = vec![Nanos(0); trace.threads.len()];
    let mut ended = vec![false; trace.threads.len()];
    let mut begun = vec![false; trace.threads.len()];
    for event in &trace.events {
        let call = trace.call(event);
        let thread = call.thread.index();
        assert!({ event.time } >= time, "times decrease");
        time = event.time;
        let own = event.cpu().expect("every recorded event has it");
        assert!(own >= cpu[thread], "a thread's CPU time decreases");
        cpu[thread] = own;
        assert!(
            !ended[thread],
            "{} goes on after its end",
            trace.threads[thread].name
        );
        ended[thread] = call.operation == Operation::Terminate;
        begun[thread] = true;
        if let Operation::Create(child) = call.operation {
            assert!(!begun[child.index()], "a child before its creation");
        }
    }
}

impl Run {
    /// Shows the events of one thread, `name object [mutex] [outcome]` each.
    pub fn lines(&self, thread: &str) -> Vec<String> {
        let id = self
            .trace
            .thread_named(thread)
            .expect("there is such a thread");
        self.trace
            .events
            .iter()
            .filter(|event| self.trace.call(event).thread == id)
            .map(|event| line(&self.trace, event))
            .collect()
    }

    /// The same without one-time initializations: the C library's unwinder makes some when a thread is cancelled.
    pub fn lines_without_once(&self, thread: &str) -> Vec<String> {
        let mut lines = self.lines(thread);
        lines.retain(|line| !line.starts_with("once") && line != "return chosen");
        lines
    }

    /// Counts the events of all threads whose line begins so; those that were counted by the recorder, too.
    pub fn count(&self, beginning: &str) -> usize {
        let begins = |line: String| usize::from(line.starts_with(beginning));
        let counted = |event| {
            let line = line(&self.trace, event);
            let operation = self.trace.call(event).operation;
            let times = usize::try_from(operation.times()).expect("it fits");
            match operation {
                Operation::LockSections { .. } => ["lock", "unlock"]
                    .map(|name| times * begins(line.replace("lock_sections", name)))
                    .iter()
                    .sum(),
                Operation::TryLocks { .. } => times * begins(line.replace("trylocks", "trylock")),
                _ => begins(line),
            }
        };
        self.trace.events.iter().map(counted).sum()
    }

    /// Returns how many bytes the journals have.
    pub fn journal_bytes(&self) -> u64 {
        let files = std::fs::read_dir(self.journals.path()).expect("they are there");
        files
            .map(|file| file.expect("it can be listed").metadata())
            .map(|metadata| metadata.expect("it is there").len())
            .sum()
    }

    /// Returns what the program printed.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }
}

fn line(trace: &Trace, event: &Event) -> String {
    let call = trace.call(event);
    let mut words = vec![call.operation.name().to_owned()];
    if let Some(object) = call.operation.object() {
        words.push(trace.objects[object.index()].name.replace(' ', ""));
    }
    if let Operation::Io { kind, file } = call.operation {
        words.push(kind.name().to_owned());
        if file != FileKind::None {
            words.push(file.name().to_owned());
        }
    }
    if let Operation::CondWait { mutex, .. } | Operation::CondTimedWait { mutex, .. } =
        call.operation
    {
        words.push(trace.objects[mutex.index()].name.replace(' ', ""));
    }
    if let Some(thread) = call.operation.other_thread() {
        words.push(trace.threads[thread.index()].name.clone());
    }
    match call.outcome {
        Outcome::Success => {}
        Outcome::Failed(errno) => words.push(format!("failed:{errno}")),
        outcome => words.push(format!("{outcome:?}").to_lowercase()),
    }
    words.join(" ")
}
