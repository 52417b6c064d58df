//! Programs as people have them: their output stays the same to the byte, and the threads' times add up.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::PathBuf;

use crate::harness::{pinned, record_command};
use foretrace_trace::Nanos;

/// Writes some megabytes of words, which compress as text does.
fn text() -> tempfile::TempPath {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR"))
        .expect("the scratch directory is writable");
    let (file, path) = file.into_parts();
    let mut file = std::io::BufWriter::new(file);
    let mut state = 1_u64;
    for _ in 0..700_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let word = (state >> 40) % 5000;
        write!(file, "{word:x}{:b} ", word * word % 61).expect("the disk has room");
    }
    file.flush().expect("the disk has room");
    path
}

/// Records `program -flags -c FILE`, if it is installed, and compares with a plain run.
fn compare(program: &str, flags: &[&str]) {
    let Some(program) = find(program) else {
        return;
    };
    let text = text();
    let mut arguments: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    arguments.push(text.as_os_str());
    let run = record_command(&program, &arguments, &[("FORETRACE_PRETEND_CPUS", "4")]);
    // The same belief in four CPUs, since some cut their input by it: see each test's flags.
    let plain = pinned(&program)
        .args(&arguments)
        .output()
        .expect("taskset is installed");
    assert!(plain.status.success() && run.output.status.success());
    assert!(plain.stdout == run.output.stdout, "the output differs");
    assert!(run.trace.threads.len() > 2, "it has threads");
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
    // On one CPU the threads cannot have used more time than has passed.
    let wall = run.trace.events.last().expect("it has events").time;
    let first = run.trace.events[0].cpu().expect("recorded");
    let total = run.trace.total_cpu();
    assert!(
        total.0 <= wall.0 + first.0 + wall.0 / 50,
        "{total} of CPU in {wall}"
    );
    assert!(total > Nanos(1_000_000), "it did some work");
}

fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}

#[test]
fn pigz_compresses_as_ever() {
    compare("pigz", &["-p", "4", "-c"]);
}

#[test]
fn xz_compresses_as_ever() {
    compare("xz", &["-T4", "-1", "-c"]);
}

#[test]
fn zstd_compresses_as_ever() {
    compare("zstd", &["-T4", "-3", "-c", "-q"]);
}

#[test]
fn pbzip2_compresses_as_ever() {
    compare("pbzip2", &["-p4", "-c"]);
}
