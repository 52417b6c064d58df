//! The launcher of MPI programs: which one, what it needs to be told, and a run under it.

use std::{
    env::consts::ARCH,
    ffi::{OsStr, OsString},
    fs,
    io::{BufRead as _, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use foretrace_mpi::{Family, LIBRARIES};

use super::{NetworkCalibrationError, samples::Told};
use crate::system;

/// What messages go over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// What the implementation takes.
    #[default]
    Auto,
    /// TCP, also on one computer.
    Tcp,
    /// Memory that processes on one computer share.
    SharedMemory,
}

/// How a launcher is chosen.
#[derive(Clone, Debug)]
pub enum Choice {
    /// The first of the usual names.
    Any,
    /// That of an implementation.
    Of(Family),
    /// This command.
    Command(Vec<OsString>),
}

/// A launcher of MPI programs.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The command, without the number of ranks.
    pub command: Vec<OsString>,
    /// Whether it may start ranks on other computers.
    pub may_leave: bool,
    /// The implementation that it belongs to, where it tells.
    pub family: Option<Family>,
    /// The libraries that belong to it, those first that are more likely.
    pub libraries: Vec<String>,
}

/// The usual names, with the implementation they stand for.
const NAMES: [(&str, Option<Family>); 6] = [
    ("mpirun", None),
    ("mpiexec", None),
    ("mpirun.openmpi", Some(Family::OpenMpi)),
    ("mpirun.mpich", Some(Family::Mpich)),
    ("mpiexec.hydra", Some(Family::Mpich)),
    ("orterun", Some(Family::OpenMpi)),
];

/// For so long a launcher may print nothing.
const PATIENCE: Duration = Duration::from_mins(2);

/// For so long it may take to end when it is asked to.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// As many lines of what it says are kept for a message.
const KEPT_LINES: usize = 12;

impl Launcher {
    /// Finds a launcher in the directories of `path`.
    ///
    /// # Errors
    ///
    /// Where there is none, or not that one, with the remedy.
    pub fn find(choice: &Choice, path: Option<&OsStr>) -> Result<Self, NetworkCalibrationError> {
        match choice {
            Choice::Command(command) => {
                let name = command.first().cloned().unwrap_or_default();
                let program = program(&name, path).ok_or_else(|| {
                    NetworkCalibrationError::NoSuchLauncher {
                        name: name.to_string_lossy().into_owned(),
                    }
                })?;
                let family = family_of(&program);
                Ok(Self {
                    may_leave: true,
                    ..Self::of(command.clone(), &program, family)
                })
            }
            Choice::Any | Choice::Of(_) => {
                let asked = match choice {
                    Choice::Of(family) => Some(*family),
                    _ => None,
                };
                for (name, known) in NAMES {
                    if asked.is_some() && known.is_some() && asked != known {
                        continue;
                    }
                    let Some(program) = program(OsStr::new(name), path) else {
                        continue;
                    };
                    let family = family_of(&program).or(known);
                    if asked.is_none() || asked == family {
                        return Ok(Self::of(vec![program.clone().into()], &program, family));
                    }
                }
                Err(NetworkCalibrationError::NoLauncher {
                    of: asked.map_or("MPI", Family::name),
                })
            }
        }
    }

    fn of(command: Vec<OsString>, program: &Path, family: Option<Family>) -> Self {
        Self {
            command,
            may_leave: false,
            family,
            libraries: libraries_of(program, family),
        }
    }

    /// Returns it as one would type it.
    pub fn text(&self) -> String {
        let words = self.command.iter().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Runs a program with so many ranks, and hands on what the first one tells.
    ///
    /// # Errors
    ///
    /// Where it cannot be started, fails, or says nothing for long.
    pub fn run(
        &self,
        ranks: u32,
        transport: Transport,
        program: &[OsString],
        mut told: impl FnMut(Told),
    ) -> Result<(), NetworkCalibrationError> {
        let failed = |reason: String, said: &[String]| NetworkCalibrationError::Launcher {
            command: format!("{} -n {ranks}", self.text()),
            reason,
            said: said.join("\n"),
        };
        let (name, arguments) = self.command.split_first().unwrap_or((&EMPTY, &[]));
        let mut child = Command::new(name)
            .args(arguments)
            .args(["-n", &ranks.to_string()])
            .args(program)
            .envs(surroundings(transport))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("cannot be started: {error}"), &[]))?;
        let (sender, lines) = mpsc::channel();
        if let Some(pipe) = child.stdout.take() {
            read(pipe, sender.clone());
        }
        if let Some(pipe) = child.stderr.take() {
            read(pipe, sender);
        }
        let mut said = Vec::new();
        let mut fault = None;
        let mut patience = PATIENCE;
        let status = loop {
            match lines.recv_timeout(patience) {
                Ok(line) => match Told::parse(&line) {
                    // Libraries may not get to an end of their own (seen: MPICH over TCP, in MPI_Finalize).
                    Some(Told::Done) => patience = LAST_WORDS,
                    Some(Told::Fault(reason)) => fault = Some(reason),
                    Some(line) => told(line),
                    None if said.len() < KEPT_LINES && !line.trim().is_empty() => said.push(line),
                    None => {}
                },
                Err(RecvTimeoutError::Disconnected) => break child.wait(),
                Err(RecvTimeoutError::Timeout) => {
                    end(&mut child);
                    if patience == LAST_WORDS {
                        break Ok(ExitStatus::default());
                    }
                    let reason = format!("said nothing for {} s", PATIENCE.as_secs());
                    return Err(failed(reason, &said));
                }
            }
        };
        if let Some(reason) = fault {
            return Err(NetworkCalibrationError::Unmeasurable { reason });
        }
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(how_it_ended(status), &said)),
            Err(error) => Err(failed(error.to_string(), &said)),
        }
    }
}

static EMPTY: OsString = OsString::new();

fn how_it_ended(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("ended with code {code}"),
        None => format!("was ended ({status})"),
    }
}

/// Hands on the lines of a pipe from a thread of its own, which ends when all who write to the pipe have ended.
fn read(pipe: impl Read + Send + 'static, lines: mpsc::Sender<String>) {
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe
            .read_until(b'\n', &mut line)
            .is_ok_and(|bytes| bytes > 0)
        {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if lines.send(text).is_err() {
                return;
            }
            line.clear();
        }
    });
}

/// Ends a launcher, which ends its ranks where it is asked and not just killed.
fn end(child: &mut Child) {
    system::ask_to_end(child.id());
    let begun = Instant::now();
    while begun.elapsed() < LAST_WORDS {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Finds a program as a shell does.
fn program(name: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Path::new(name).is_file().then(|| name.into());
    }
    std::env::split_paths(path?)
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
}

/// Asks a launcher which implementation it belongs to.
fn family_of(program: &Path) -> Option<Family> {
    let output = Command::new(program)
        .arg("--version")
        .envs(surroundings(Transport::Auto))
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    family_that_says(&said)
}

fn family_that_says(version: &str) -> Option<Family> {
    let says = |words: &[&str]| words.iter().any(|word| version.contains(word));
    if says(&["Open MPI", "OpenRTE", "PRRTE"]) {
        Some(Family::OpenMpi)
    } else if says(&["HYDRA", "MPICH", "Intel(R) MPI", "MVAPICH"]) {
        Some(Family::Mpich)
    } else {
        None
    }
}

/// Returns the libraries that are installed together with a launcher.
fn libraries_of(program: &Path, family: Option<Family>) -> Vec<String> {
    let program = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let Some(prefix) = program.parent().and_then(Path::parent) else {
        return Vec::new();
    };
    let multiarch = format!("lib/{ARCH}-linux-gnu");
    let directories = ["lib", "lib64", &multiarch].map(|name| prefix.join(name));
    let names = LIBRARIES.iter().filter(|(_, of)| match family {
        // Any implementation may have the ABI of MPI 5 as well.
        Some(family) => *of == family || *of == Family::Abi,
        None => true,
    });
    names
        .flat_map(|(name, _)| {
            let name = name.to_string_lossy();
            directories
                .each_ref()
                .map(|directory| directory.join(&*name))
        })
        .filter(|path| path.exists())
        .map(|path| path.display().to_string())
        .collect()
}

/// Returns the variables that launchers and libraries need: more ranks than CPUs, none of them bound (we do that ourselves),
/// none of them yielding, as root too, over the transport. Implementations do not mind each other's.
fn surroundings(transport: Transport) -> Vec<(&'static str, &'static str)> {
    let mut variables = vec![
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
        ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_hwloc_base_binding_policy", "none"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ("PRTE_MCA_hwloc_default_binding_policy", "none"),
        // Else it depends on the number of ranks, and not on what they do.
        ("OMPI_MCA_mpi_yield_when_idle", "0"),
        ("I_MPI_PIN", "0"),
    ];
    match transport {
        Transport::Auto => {}
        Transport::Tcp => variables.extend([
            ("OMPI_MCA_pml", "ob1"),
            ("OMPI_MCA_btl", "self,tcp"),
            ("UCX_TLS", "self,tcp"),
            ("MPIR_CVAR_NOLOCAL", "1"),
            ("FI_PROVIDER", "tcp"),
            ("I_MPI_FABRICS", "ofi"),
        ]),
        Transport::SharedMemory => variables.extend([
            ("OMPI_MCA_pml", "ob1"),
            ("OMPI_MCA_btl", "self,vader"),
            ("UCX_TLS", "self,sm"),
            ("I_MPI_FABRICS", "shm"),
        ]),
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_whose_they_are() {
        for (said, family) in [
            ("mpirun.openmpi (OpenRTE) 4.1.4\n", Some(Family::OpenMpi)),
            ("mpirun (Open MPI) 5.0.11", Some(Family::OpenMpi)),
            (
                "HYDRA build details:\n    Version: 4.0.2",
                Some(Family::Mpich),
            ),
            ("Intel(R) MPI Library for Linux* OS", Some(Family::Mpich)),
            ("slurm 22.05.8", None),
        ] {
            assert_eq!(family_that_says(said), family, "{said}");
        }
    }

    #[test]
    fn without_a_launcher_the_remedy_is_named() {
        let none = Launcher::find(&Choice::Any, Some(OsStr::new("/nowhere")));
        let message = none.map(|_| ()).expect_err("there is none").to_string();
        assert!(message.contains("--launcher"), "{message}");
        let of = Choice::Of(Family::Mpich);
        let none = Launcher::find(&of, None).map(|_| ());
        let message = none.expect_err("there is none").to_string();
        assert!(message.contains("MPICH"), "{message}");
        let command = Choice::Command(vec!["no-such-launcher".into()]);
        let none = Launcher::find(&command, Some(OsStr::new("/bin"))).map(|_| ());
        let message = none.expect_err("there is none").to_string();
        assert!(message.contains("no-such-launcher"), "{message}");
    }

    #[test]
    fn a_launcher_that_fails_is_told_with_what_it_said() {
        let launcher = Launcher {
            command: ["sh", "-c", "echo out of slots >&2; exit 7"]
                .map(OsString::from)
                .to_vec(),
            may_leave: false,
            family: None,
            libraries: Vec::new(),
        };
        let failed = launcher.run(2, Transport::Auto, &[], |_| {});
        let message = failed.expect_err("it ends with 7").to_string();
        assert!(
            message.contains("code 7") && message.contains("out of slots"),
            "{message}"
        );
    }

    #[test]
    fn what_the_first_rank_tells_is_handed_on() {
        let lines = "echo hello; echo foretrace-mpi eager 7; echo foretrace-mpi progress 1 2";
        let launcher = Launcher {
            command: ["sh", "-c", lines].map(OsString::from).to_vec(),
            may_leave: false,
            family: None,
            libraries: Vec::new(),
        };
        let mut told = Vec::new();
        let ran = launcher.run(2, Transport::Tcp, &[], |line| told.push(line));
        assert!(ran.is_ok());
        assert_eq!(told, [Told::EagerUpTo(Some(7)), Told::Progress(1, 2)]);
    }
}
