//! Builds what the binary carries inside it: the preloaded library and the demo program.
//!
//! A cdylib cannot be an ordinary dependency, so a nested cargo builds it, in its own target directory below `OUT_DIR`
//! (the outer cargo holds the lock of its own). Thus `cargo build` and `cargo install --path crates/cli` both give a
//! `foretrace` that records wherever it is copied to.

use std::{
    env, fs,
    hash::{DefaultHasher, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
};

/// Variables of the outer build that would change the nested one. A wrapper such as clippy's would check the library
/// instead of building it; flags for coverage or sanitizers have no place in a stranger's process.
const OUTER_BUILD: [&str; 9] = [
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "CARGO_PRIMARY_PACKAGE",
];

fn main() {
    let out_dir = PathBuf::from(variable("OUT_DIR"));
    let above = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    // Without the detour, for the path stands in the demo program's debug information.
    let workspace = above.canonicalize().unwrap_or(above);
    build_preload(&workspace, &out_dir);
    build_demo(&workspace, &out_dir);
}

fn build_preload(workspace: &Path, out_dir: &Path) {
    for source in [
        "recorder-preload",
        "crates/recorder",
        "crates/trace/src/journal",
        "crates/trace/src/lib.rs",
        "crates/trace/Cargo.toml",
        "Cargo.toml",
    ] {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(source).display()
        );
    }
    let target = variable("TARGET");
    let target_dir = out_dir.join("preload");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(["build", "--release", "--package", "foretrace-preload"])
        .args(["--target", &target])
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_dir);
    for name in OUTER_BUILD {
        cargo.env_remove(name);
    }
    // It is embedded and unpacked: without debug information it is a tenth as large.
    cargo
        .env("CARGO_PROFILE_RELEASE_DEBUG", "none")
        .env("CARGO_PROFILE_RELEASE_STRIP", "debuginfo");
    run(&mut cargo, "the preloaded library could not be built");
    let library = target_dir
        .join(target)
        .join("release/libforetrace_preload.so");
    embed(&library, out_dir, "libforetrace_preload.so");
}

fn build_demo(workspace: &Path, out_dir: &Path) {
    let source = workspace.join("traces/programs/mandelbrot_farm.c");
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-env-changed=CC");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    // `CC` may carry arguments, as in `CC="ccache gcc"`.
    let mut words = compiler.split_whitespace();
    let mut cc = Command::new(words.next().unwrap_or("cc"));
    let program = out_dir.join("mandelbrot_farm.built");
    cc.args(words)
        .args(["-O2", "-g", "-pthread", "-Wall", "-Wextra", "-o"])
        .arg(&program)
        .arg(&source);
    run(
        &mut cc,
        "the demo program could not be compiled; it needs a C compiler and the C library's headers \
         (Debian: apt-get install gcc libc6-dev; another compiler can be named in CC)",
    );
    embed(&program, out_dir, "mandelbrot_farm");
}

/// Copies a file to a fixed place in `out_dir`, with a hash of its contents beside it, which names it when unpacked.
fn embed(file: &Path, out_dir: &Path, name: &str) {
    let bytes = fs::read(file).unwrap_or_else(|e| fail(&format!("{}: {e}", file.display())));
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    let hash = format!("{:016x}", hasher.finish());
    for (path, contents) in [
        (out_dir.join(name), bytes.as_slice()),
        (out_dir.join(format!("{name}.hash")), hash.as_bytes()),
    ] {
        fs::write(&path, contents).unwrap_or_else(|e| fail(&format!("{}: {e}", path.display())));
    }
}

fn run(command: &mut Command, what_failed: &str) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("{what_failed} ({status}): {command:?}")),
        Err(error) => fail(&format!("{what_failed} ({error}): {command:?}")),
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("cargo sets {name} for build scripts")))
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    std::process::exit(1)
}
