//! What a program links: why it may be that nothing of it was recorded.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Command,
};

use object::{Object as _, ObjectSymbol as _, ReadCache, read::elf::ElfFile64};

/// Libraries that every program has, which call what they define without anybody seeing it.
const SYSTEM: [&str; 6] = [
    "ld-linux",
    "libc.so",
    "libm.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
];

/// Functions that create threads, by how their names begin.
const CREATE: [&str; 4] = [
    "pthread_create",
    "thrd_create",
    "GOMP_parallel",
    "__kmpc_fork_call",
];

/// Functions by which threads can be created, and waited for, that nobody sees.
const RAW: [&str; 2] = ["clone", "syscall"];

/// As many names of libraries as a message lists.
const MOST_NAMED: usize = 4;

/// Says why nothing was recorded of a program but its beginning and end, judged by what it and its libraries call.
pub fn why_nothing(program: &Path) -> String {
    let libraries = libraries(program);
    let first = Part {
        name: "it".to_owned(),
        path: program.to_owned(),
    };
    let mut raw = None;
    for part in std::iter::once(&first).chain(&libraries) {
        let called = called(&part.path);
        let calls = |names: &[&str]| {
            let begins = |name: &&String| names.iter().any(|beginning| name.starts_with(beginning));
            called.iter().find(begins).cloned()
        };
        if let Some(function) = calls(&CREATE) {
            return format!(
                "{} can create threads ({function}), but none were created in this run; give it more work, or ask it for \
                 threads (with --pretend-cpus N where it makes as many as there are CPUs)",
                part.shown()
            );
        }
        if raw.is_none()
            && let Some(function) = calls(&RAW)
        {
            raw = Some(format!("{} calls `{function}`", part.shown()));
        }
    }
    let linked = linked(&libraries);
    let rest = match raw {
        Some(raw) => format!(
            "but {raw}, by which threads can be made that cannot be recorded; make them by pthread_create"
        ),
        None => "so there is nothing to predict; record a program with threads".to_owned(),
    };
    format!(
        "it has one thread: neither it nor what it links ({linked}) calls a function that creates threads, {rest}"
    )
}

/// The program or a library of it.
struct Part {
    name: String,
    path: PathBuf,
}

impl Part {
    fn shown(&self) -> String {
        if self.name == "it" {
            self.name.clone()
        } else {
            format!("`{}`, which it links,", self.name)
        }
    }
}

fn linked(libraries: &[Part]) -> String {
    let mut names: Vec<&str> = libraries.iter().map(|part| part.name.as_str()).collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    match (names.is_empty(), more) {
        (true, _) => "the C library alone".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    }
}

/// Returns the libraries that the loader would load, all the way down, without the C library's own.
///
/// The loader itself is asked: it alone knows all its search paths. It does not run the program.
fn libraries(program: &Path) -> Vec<Part> {
    let output = loader(program).and_then(|loader| {
        let mut command = Command::new(loader);
        command.arg("--list").arg(program).output().ok()
    });
    let text = output.map_or_else(String::new, |output| {
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    text.lines().filter_map(library).collect()
}

/// Takes a line such as `libz.so.1 => /lib/libz.so.1 (0x00007f...)`.
fn library(line: &str) -> Option<Part> {
    let (name, path) = line.trim().split_once(" => ")?;
    let (path, _) = path.rsplit_once(" (")?;
    let is_system = SYSTEM.iter().any(|beginning| name.starts_with(beginning));
    (!is_system).then(|| Part {
        name: name.to_owned(),
        path: PathBuf::from(path),
    })
}

fn loader(program: &Path) -> Option<PathBuf> {
    let data = ReadCache::new(File::open(program).ok()?);
    super::elf::loader(&data)
}

/// Returns whether a program has GCC's or LLVM's address sanitizer as a library, which wants to be the first of all.
pub fn wants_sanitizer_first(program: &Path) -> bool {
    called(program).iter().any(|name| name == "__asan_init")
}

/// Returns the functions of others that a file calls.
fn called(path: &Path) -> Vec<String> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    let data = ReadCache::new(file);
    let Ok(file) = ElfFile64::<object::Endianness, _>::parse(&data) else {
        return Vec::new();
    };
    file.dynamic_symbols()
        .filter(object::ObjectSymbol::is_undefined)
        .filter_map(|symbol| Some(symbol.name().ok()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_lines_name_libraries() {
        let line = "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007fc619fe1000)";
        let part = library(line).expect("it names one");
        assert_eq!(part.name, "libz.so.1");
        assert_eq!(part.path, Path::new("/lib/x86_64-linux-gnu/libz.so.1"));
        for line in [
            "linux-vdso.so.1 (0x00007fc619fe1000)",
            "/lib64/ld-linux-x86-64.so.2 (0x00007fc619fe3000)",
            "libc.so.6 => /lib/libc.so.6 (0x1)",
            "libnone.so => not found",
        ] {
            assert!(library(line).is_none(), "{line}");
        }
    }

    #[test]
    fn a_program_without_threads_is_told_from_one_that_made_none() {
        let text = why_nothing(Path::new("/bin/true"));
        assert!(text.contains("it has one thread"), "{text}");
        let own = std::env::current_exe().expect("the test runs");
        let text = why_nothing(&own);
        assert!(
            text.starts_with("it can create threads (pthread_create)"),
            "{text}"
        );
    }
}
