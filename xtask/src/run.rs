//! Runs commands as steps with headings and times.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

/// Runs a step: prints what it is, its command's output, and how long it took.
pub fn step(heading: &str, command: &mut Command) -> Result<(), String> {
    eprintln!("\n==> {heading}");
    let start = Instant::now();
    let status = command
        .current_dir(root())
        .status()
        .map_err(|error| format!("{heading}: cannot run {command:?}: {error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    if status.success() {
        eprintln!("    {heading}: {seconds:.1} s");
        Ok(())
    } else {
        Err(format!(
            "{heading}: failed after {seconds:.1} s ({status}): {command:?}"
        ))
    }
}

/// Does something in a directory that is made for it and removed again.
pub fn in_directory(
    name: &str,
    work: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let directory = env::temp_dir().join(format!("foretrace-{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let done = work(&directory);
    // What is left behind in the temporary directory does no harm.
    let _ = fs::remove_dir_all(&directory);
    done
}

/// Returns a command of the cargo that runs us.
pub fn cargo(arguments: &[&str]) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(arguments);
    command
}

/// Returns whether a command succeeds, without showing its output.
pub fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Returns whether a program of this name can be called.
pub fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}
