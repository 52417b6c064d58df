//! Refuses, before it runs, a program that cannot be recorded.
//!
//! The dynamic loader silently ignores a preloaded library in static, privileged and foreign programs. Without these
//! checks such a program would run for nothing.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{FileTypeExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use super::{elf, resolve, runtime::Runtime, system};

/// As many levels of scripts as the kernel follows.
const MAX_INTERPRETERS: usize = 5;

/// As much of a script's first line as the kernel reads.
const SHEBANG_BYTES: usize = 256;

/// A program that cannot be recorded, and why.
#[derive(Debug, thiserror::Error)]
#[error("cannot record {}: {reason}", self.subject())]
pub struct Refusal {
    /// The program, as found.
    program: String,
    /// The interpreter that the reason is about, where the program is a script.
    interpreter: Option<String>,
    /// Why not.
    reason: Reason,
}

impl Refusal {
    fn subject(&self) -> String {
        let program = &self.program;
        match &self.interpreter {
            Some(interpreter) => format!("`{interpreter}`, which runs the script `{program}`"),
            None => format!("`{program}`"),
        }
    }
}

/// Why a file cannot be recorded; each text ends with the remedy.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// No such file.
    #[error("there is no such file; install it, or correct the script's first line")]
    Missing,
    /// A directory.
    #[error("it is a directory; name a program in it")]
    Directory,
    /// A device, a pipe, a socket.
    #[error("it is a {0}, not a program file; name a program")]
    Special(&'static str),
    /// No permission to execute it.
    #[error(
        "it is not executable; `chmod +x` it (and check that its file system is not mounted noexec)"
    )]
    NotExecutable,
    /// No permission to read it, and so to check it.
    #[error(
        "it cannot be read ({0}), so nobody can tell whether it can be recorded; `chmod +r` it"
    )]
    Unreadable(String),
    /// Runs as another user or group.
    #[error(
        "it is {0}, and the system lets no library be preloaded into programs with raised privileges; \
         record a copy without them (`cp` does not keep them), as root where the program needs to be"
    )]
    Privileged(&'static str),
    /// Built for another processor.
    #[error("it is built for {0}, and this foretrace records {our} programs only; build it for {our}", our = OUR_MACHINE)]
    OtherMachine(String),
    /// No dynamic loader is involved.
    #[error(
        "it is statically linked, so no library can be preloaded into it and nothing of it can be recorded; link it \
         dynamically (without -static; Rust: for a -gnu target, without crt-static), from the same objects"
    )]
    Static,
    /// The same, of a program that can be loaded anywhere.
    #[error(
        "it is statically linked (static-pie), so no library can be preloaded into it and nothing of it can be \
         recorded; link it dynamically (with -pie in place of -static-pie; Rust: without crt-static), from the same objects"
    )]
    StaticPie,
    /// Go's own linker made it so.
    #[error(
        "it is a Go program without C code: statically linked, with threads and locks made by system calls of its own, so \
         nothing of it can be recorded. Built with cgo (CGO_ENABLED=1 and -ldflags=-linkmode=external) its threads' CPU \
         times can be, but not goroutines, channels and mutexes; the nearest thing for those is Go's own runtime/trace, on \
         as many CPUs as there are"
    )]
    StaticGo,
    /// Linked with another C library.
    #[error(
        "it is linked with the musl C library, and foretrace records programs of glibc; build it for glibc (a -gnu target)"
    )]
    Musl,
    /// The loader that it names is not there.
    #[error("its loader {0} does not exist here; install the C library that it was built for")]
    LoaderMissing(String),
    /// An ELF file of another kind.
    #[error("it is an object file or a core file, not a program; link it first")]
    NotAProgram,
    /// An ELF file that cannot be parsed.
    #[error("it is a damaged ELF file ({0}); build or install it again")]
    DamagedElf(String),
    /// Neither ELF nor script.
    #[error(
        "it is neither an ELF program nor a script with a #! line; for a script, name its interpreter, \
         as in `foretrace record -- sh SCRIPT`"
    )]
    UnknownFormat,
    /// Scripts whose interpreters are scripts, and so on.
    #[error(
        "its interpreters are scripts themselves, more than {MAX_INTERPRETERS} deep; record the program at the end of the chain"
    )]
    TooManyInterpreters,
}

#[cfg(target_arch = "x86_64")]
const OUR_MACHINE: &str = "x86-64";
#[cfg(target_arch = "aarch64")]
const OUR_MACHINE: &str = "64-bit Arm";

/// A program that can be recorded.
#[derive(Debug)]
pub struct Recordable {
    /// The ELF file: the program itself, or the interpreter at the end of its first lines.
    pub file: PathBuf,
    /// What it runs on, where only a part of that can be recorded.
    pub runtime: Option<Runtime>,
}

/// Checks that a program, and every interpreter it leads to where it is a script, can be recorded.
///
/// # Errors
///
/// With the first reason found why not.
pub fn check(program: &Path, search_path: Option<&OsStr>) -> Result<Recordable, Refusal> {
    let refuse = |interpreter: Option<&Path>, reason| Refusal {
        program: program.display().to_string(),
        interpreter: interpreter.map(|path| path.display().to_string()),
        reason,
    };
    let mut current = program.to_owned();
    for level in 0..=MAX_INTERPRETERS {
        let interpreter = (level > 0).then_some(current.as_path());
        match check_file(&current).map_err(|reason| refuse(interpreter, reason))? {
            Format::Elf(runtime) => {
                let file = current;
                return Ok(Recordable { file, runtime });
            }
            Format::Script(line) => current = next_program(&line, search_path),
        }
    }
    Err(refuse(None, Reason::TooManyInterpreters))
}

/// What a file that can be executed is.
enum Format {
    /// A program.
    Elf(Option<Runtime>),
    /// A script, with what its first line says.
    Script(Shebang),
}

fn check_file(path: &Path) -> Result<Format, Reason> {
    let metadata = fs::metadata(path).map_err(|_| Reason::Missing)?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(Reason::Directory);
    }
    if !kind.is_file() {
        let name = if kind.is_fifo() {
            "named pipe"
        } else if kind.is_socket() {
            "socket"
        } else {
            "device"
        };
        return Err(Reason::Special(name));
    }
    if !system::may_access(path, libc::X_OK) {
        return Err(Reason::NotExecutable);
    }
    let mut head = Vec::new();
    let read = |head: &mut Vec<u8>| -> io::Result<File> {
        let file = File::open(path)?;
        (&file).take(SHEBANG_BYTES as u64).read_to_end(head)?;
        Ok(file)
    };
    let file = read(&mut head).map_err(|error| Reason::Unreadable(error.to_string()))?;
    if let Some(line) = Shebang::parse(&head) {
        // The kernel ignores the raised privileges of scripts.
        return Ok(Format::Script(line));
    }
    if !head.starts_with(&object::elf::ELFMAG) {
        return Err(Reason::UnknownFormat);
    }
    check_privileges(path, metadata.permissions().mode())?;
    elf::check(file).map(Format::Elf)
}

fn check_privileges(path: &Path, mode: u32) -> Result<(), Reason> {
    // Without the group's execute bit, the setgid bit means something else (mandatory locking).
    let setgid = libc::S_ISGID | libc::S_IXGRP;
    if mode & libc::S_ISUID != 0 {
        Err(Reason::Privileged("setuid"))
    } else if mode & setgid == setgid {
        Err(Reason::Privileged("setgid"))
    } else if system::has_file_capabilities(path) {
        Err(Reason::Privileged("given file capabilities"))
    } else {
        Ok(())
    }
}

/// A script's first line.
#[derive(Debug, PartialEq, Eq)]
struct Shebang {
    interpreter: PathBuf,
    /// All that follows, as one argument, the way Linux passes it.
    argument: Option<OsString>,
}

impl Shebang {
    fn parse(head: &[u8]) -> Option<Self> {
        let line = head.strip_prefix(b"#!")?;
        let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
        let end = line
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(line.len());
        let (interpreter, argument) = line.split_at(end);
        let argument = argument.trim_ascii();
        Some(Self {
            interpreter: PathBuf::from(OsStr::from_bytes(interpreter)),
            argument: (!argument.is_empty()).then(|| OsStr::from_bytes(argument).to_owned()),
        })
    }
}

/// Returns the program that runs a script. Where that is `env NAME`, it is what `env` will find.
fn next_program(line: &Shebang, search_path: Option<&OsStr>) -> PathBuf {
    let by_env = line.interpreter.file_name() == Some(OsStr::new("env"));
    if by_env
        && let Some(argument) = &line.argument
        && let Some(name) = started_by_env(argument.as_bytes())
    {
        let name = OsStr::from_bytes(name);
        return resolve::resolve(name, search_path).unwrap_or_else(|_| PathBuf::from(name));
    }
    line.interpreter.clone()
}

/// Returns which word of the arguments of `env`, all in one as in a script's first line, names the program.
fn started_by_env(argument: &[u8]) -> Option<&[u8]> {
    let mut words = argument
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        // With these a line is split; what follows may be in the same word.
        let split = [&b"--split-string="[..], b"-vS", b"-S"];
        let word = split
            .iter()
            .find_map(|option| word.strip_prefix(*option))
            .unwrap_or(word);
        match word {
            b"--unset" | b"--chdir" | b"--argv0" => drop(words.next()),
            [b'-', b'-', ..] | [] => {}
            // The name of a variable, a directory, or a name for the program follows.
            [b'-', .., b'u' | b'C' | b'a'] => drop(words.next()),
            [b'-', ..] => {}
            word if word.contains(&b'=') => {}
            word => return Some(word),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_for(contents: &[u8], mode: u32) -> String {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("program");
        fs::write(&path, contents).expect("it is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
        let refusal = check(&path, None).expect_err("it cannot be recorded");
        refusal
            .to_string()
            .replace(&home.path().display().to_string(), "DIR")
    }

    fn elf_head(class: u8, machine: u16) -> Vec<u8> {
        let mut head = vec![0x7f, b'E', b'L', b'F', class, 1, 1];
        head.resize(16, 0);
        head.extend([2, 0]);
        head.extend(machine.to_le_bytes());
        head.resize(64, 0);
        head
    }

    #[test]
    fn ordinary_programs_and_scripts_pass() {
        check(Path::new("/bin/true"), None).expect("it is an ordinary program");
        let home = tempfile::tempdir().expect("a temporary directory");
        let script = home.path().join("script");
        fs::write(&script, "#!/usr/bin/env -S sh -e\nexit 0\n").expect("it is ours");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");
        check(&script, None).expect("its interpreter is an ordinary program");
    }

    #[test]
    fn files_of_other_machines_are_refused() {
        let text = reason_for(&elf_head(1, 3), 0o755);
        assert!(text.contains("built for 32-bit x86"), "{text}");
        let text = reason_for(&elf_head(2, 243), 0o755);
        assert!(text.contains("built for RISC-V"), "{text}");
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        assert!(reason_for(b"\x7fELF", 0o755).contains("damaged ELF file"));
        assert!(reason_for(b"", 0o755).contains("neither an ELF program nor a script"));
        assert!(reason_for(b"echo hello\n", 0o755).contains("neither"));
    }

    #[test]
    fn a_file_that_may_not_be_executed_is_refused() {
        assert!(reason_for(b"#!/bin/sh\n", 0o644).contains("not executable"));
    }

    #[test]
    fn a_raised_privilege_is_refused() {
        let program = fs::read("/bin/true").expect("it is readable");
        assert!(reason_for(&program, 0o4755).contains("it is setuid"));
        assert!(reason_for(&program, 0o2755).contains("it is setgid"));
    }

    #[test]
    fn a_script_is_judged_by_its_interpreter() {
        assert_eq!(
            reason_for(b"#! /nowhere/tool -x\n", 0o755),
            "cannot record `/nowhere/tool`, which runs the script `DIR/program`: there is no such file; \
             install it, or correct the script's first line"
        );
        assert!(reason_for(b"#!/usr/bin/env no-such-tool\n", 0o755).contains("no-such-tool"));
        assert!(reason_for(b"#!/etc\n", 0o755).contains("it is a directory"));
    }

    #[test]
    fn env_starts_what_its_options_leave() {
        for (argument, name) in [
            ("sh", "sh"),
            ("-S sh -e", "sh"),
            ("-S -u NAME sh", "sh"),
            ("-S -i -C /tmp --unset NAME A=b sh -c", "sh"),
            ("-Ssh -e", "sh"),
            ("--split-string=-iu NAME --unset=OTHER  sh", "sh"),
        ] {
            let found = started_by_env(argument.as_bytes());
            assert_eq!(found, Some(name.as_bytes()), "{argument}");
        }
        assert_eq!(started_by_env(b"-S -u NAME"), None);
    }

    #[test]
    fn a_shebang_line_has_at_most_one_argument() {
        let line = Shebang::parse(b"#! /usr/bin/env  -S a b \nrest").expect("it is one");
        assert_eq!(line.interpreter, Path::new("/usr/bin/env"));
        assert_eq!(line.argument.as_deref(), Some(OsStr::new("-S a b")));
        assert_eq!(Shebang::parse(b"#include"), None);
    }
}
