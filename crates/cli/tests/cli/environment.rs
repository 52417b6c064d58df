//! A place of its own for every test: a temporary home directory and an empty environment.

use std::{
    fs,
    ops::RangeInclusive,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

/// A temporary home directory, in which foretrace runs.
pub struct TestEnvironment {
    home: tempfile::TempDir,
}

impl TestEnvironment {
    /// Makes an empty one.
    pub fn new() -> Self {
        Self {
            home: tempfile::tempdir().expect("temporary directories can be made"),
        }
    }

    /// Returns the path of a file in the home directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes a file into the home directory.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents).expect("the home directory can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("the file is ours");
        path
    }

    /// Compiles a C program into the home directory.
    pub fn compile(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let program = self.path(name);
        let source = self.file(&format!("{name}.c"), source, 0o644);
        let status = Command::new("cc")
            .current_dir(self.home.path())
            .arg("-o")
            .args([&program, &source])
            .args(flags)
            .status()
            .expect("a C compiler is installed");
        assert!(status.success(), "{name}.c does not compile");
        program
    }

    /// Runs foretrace, which has to succeed, and returns the JSON document that it writes.
    pub fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let output = self
            .command(arguments)
            .output()
            .expect("foretrace was built");
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).expect("it is one JSON document")
    }

    /// Returns a command that runs foretrace in the home directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretrace"));
        command
            .args(arguments)
            .current_dir(self.home.path())
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    /// Returns the same for one that starts a launcher of MPI.
    pub fn launching(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command
            // Open MPI does not like to be run by root, as tests in containers are.
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            // Launchers of one user that start while others end take each other's directories away.
            .env("OMPI_MCA_orte_tmpdir_base", self.home.path());
        command
    }

    /// Runs foretrace, and returns its exit code and what it printed, as one text for a snapshot.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self
            .command(arguments)
            .output()
            .expect("foretrace was built");
        let code = output
            .status
            .code()
            .map_or_else(|| output.status.to_string(), |code| code.to_string());
        let mut text = format!("$ foretrace {}\nexit code: {code}\n", arguments.join(" "));
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                text.extend(["--- ", name, "\n"]);
                text.push_str(&String::from_utf8_lossy(bytes));
            }
        }
        text.replace(&self.home.path().display().to_string(), "[HOME]")
    }

    /// Returns the names of the files in the home directory, sorted.
    pub fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.home.path())
            .expect("the home directory is ours")
            .map(|entry| {
                let entry = entry.expect("the home directory is ours");
                entry.file_name().to_string_lossy().into_owned()
            })
            .collect();
        names.sort();
        names
    }

    /// Returns whether a file is in the home directory.
    pub fn has(&self, name: &str) -> bool {
        Path::exists(&self.path(name))
    }
}

/// How many seconds to wait after each attempt that a busy machine may have spoilt.
const PAUSES: [u64; 7] = [0, 0, 1, 2, 4, 8, 0];

/// Repeats a prediction from a real program's recording until its first speed-up lies in the range. What a busy machine does to some of
/// several recordings is forgiven: a prediction that is wrong is so in all of them.
pub fn assert_speedup(range: RangeInclusive<f64>, mut predicted: impl FnMut() -> Value) {
    let mut missed = Vec::new();
    for pause in PAUSES {
        let predicted = predicted();
        let speedup = predicted["predictions"][0]["speedup"].as_f64();
        let speedup = speedup.unwrap_or_else(|| panic!("no speed-up in {predicted}"));
        if range.contains(&speedup) {
            return;
        }
        missed.push(speedup);
        thread::sleep(Duration::from_secs(pause));
    }
    panic!("not within {range:?}: {missed:?}");
}
