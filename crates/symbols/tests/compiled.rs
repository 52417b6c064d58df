//! Looks up places in programs that the system's compiler made.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use foretrace_symbols::{Frame, Place, SourceMap, build_id};
use foretrace_trace::{CallSite, Module, ModuleId, Recording, SiteId, Trace};
use object::{Object as _, ObjectSegment as _, ObjectSymbol as _};

/// A label behind each call stands for the return address; its function is inlined everywhere, without optimization, too.
const C: &str = "\
void callee(void) {}
static inline __attribute__((always_inline)) void inlined(void) {
    callee();
    __asm__ volatile(\".globl after_callee\\nafter_callee:\");
}
void outer(void) {
    inlined();
}
int main(void) { outer(); return 0; }
";

const CPP: &str = "\
namespace pool {
void callee() {}
template <typename T> struct Queue {
    __attribute__((always_inline)) void push(T) {
        callee();
        __asm__ volatile(\".globl after_callee\\nafter_callee:\");
    }
};
void fill(int times) {
    Queue<int> queue;
    queue.push(times);
}
}
int main() { pool::fill(1); return 0; }
";

/// A directory with programs in it.
struct Workshop {
    directory: tempfile::TempDir,
}

impl Workshop {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("temporary directories can be made"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let status = Command::new(program)
            .args(arguments)
            .current_dir(self.directory.path())
            .status();
        let status = status.unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(status.success(), "{program} {arguments:?}");
    }

    fn compile(&self, compiler: &str, source: (&str, &str), flags: &[&str]) -> PathBuf {
        fs::write(self.path(source.0), source.1).expect("the directory is ours");
        let arguments = [flags, &["-o", "program", source.0]].concat();
        self.run(compiler, &arguments);
        self.path("program")
    }

    /// Strips the program into `stripped`, which links to `program.debug`.
    fn strip(&self) -> PathBuf {
        self.run(
            "objcopy",
            &["--only-keep-debug", "program", "program.debug"],
        );
        self.run("strip", &["--strip-all", "-o", "stripped", "program"]);
        self.run(
            "objcopy",
            &["--add-gnu-debuglink=program.debug", "stripped"],
        );
        self.path("stripped")
    }

    /// Prepares lookups in `module`, of a symbol that `program` has.
    fn sources(&self, module: &Path, symbol: &str) -> SourceMap {
        let trace = trace(module, file_offset(&self.path("program"), symbol));
        SourceMap::with_debug_directory(&trace, &self.path("debug"))
    }

    fn call(&self, module: &Path) -> (Place, Vec<String>) {
        let sources = self.sources(module, "after_callee");
        (sources.call(SiteId(0)).clone(), sources.notes())
    }
}

fn trace(module: &Path, offset: u64) -> Trace {
    Trace {
        modules: vec![Module {
            path: module.display().to_string(),
            build_id: None,
        }],
        sites: vec![CallSite {
            module: ModuleId(0),
            offset,
            caller: None,
        }],
        ..Trace::default()
    }
}

fn file_offset(program: &Path, symbol: &str) -> u64 {
    let bytes = fs::read(program).expect("it was compiled");
    let file = object::File::parse(bytes.as_slice()).expect("it is an ELF file");
    let address = file
        .symbols()
        .find(|found| found.name() == Ok(symbol))
        .expect("the program has the symbol")
        .address();
    file.segments()
        .find_map(|segment| {
            let within = address.checked_sub(segment.address())?;
            (within < segment.size()).then(|| segment.file_range().0 + within)
        })
        .expect("it lies in a segment")
}

/// Returns functions, file names and lines, for comparison.
fn shown(place: &Place) -> Vec<(&str, &str, u32)> {
    place
        .frames
        .iter()
        .map(|frame| {
            let file = frame.file.as_deref().unwrap_or("?");
            (
                frame.function.as_deref().unwrap_or("?"),
                file.rsplit('/').next().unwrap_or(file),
                frame.line.unwrap_or(0),
            )
        })
        .collect()
}

const C_FRAMES: [(&str, &str, u32); 2] = [("inlined", "program.c", 3), ("outer", "program.c", 7)];

#[test]
fn calls_in_c_are_found_with_the_functions_they_were_inlined_into() {
    for position in ["-pie", "-no-pie"] {
        let workshop = Workshop::new();
        let flags = ["-g", "-fPIE", position];
        let program = workshop.compile("cc", ("program.c", C), &flags);
        let (place, notes) = workshop.call(&program);
        assert_eq!(shown(&place), C_FRAMES, "{position}");
        assert_eq!(place.name(), "inlined");
        assert_eq!(notes, [""; 0]);
    }
}

#[test]
fn a_routine_is_looked_up_at_its_first_instruction() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", ("program.c", C), &["-g"]);
    let sources = workshop.sources(&program, "outer");
    assert_eq!(
        shown(sources.routine(SiteId(0))),
        [("outer", "program.c", 6)]
    );
}

#[test]
fn calls_in_cpp_are_found_by_their_demangled_names() {
    let workshop = Workshop::new();
    let program = workshop.compile("c++", ("program.cpp", CPP), &["-g"]);
    let (place, notes) = workshop.call(&program);
    let wanted = [
        ("pool::Queue<int>::push", "program.cpp", 5),
        ("pool::fill", "program.cpp", 11),
    ];
    assert_eq!(shown(&place), wanted);
    assert_eq!(notes, [""; 0]);
}

#[test]
fn compressed_debug_information_is_read() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", ("program.c", C), &["-g", "-gz=zlib"]);
    assert_eq!(shown(&workshop.call(&program).0), C_FRAMES);
}

#[test]
fn split_debug_information_is_read_and_missed_where_it_is_gone() {
    let workshop = Workshop::new();
    fs::write(workshop.path("program.c"), C).expect("the directory is ours");
    workshop.run("cc", &["-g", "-gsplit-dwarf", "-c", "program.c"]);
    workshop.run("cc", &["-o", "program", "program.o"]);
    let program = workshop.path("program");
    let (place, notes) = workshop.call(&program);
    assert_eq!(shown(&place), C_FRAMES);
    assert_eq!(notes, [""; 0]);

    fs::remove_file(workshop.path("program.dwo")).expect("the compiler left it there");
    let (place, notes) = workshop.call(&program);
    // The line is that of the call, the function the one that it was inlined into: from the symbol table.
    assert_eq!(shown(&place), [("outer", "program.c", 3)]);
    assert!(notes[0].contains("keep the .dwo files"), "{notes:?}");
}

#[test]
fn a_stripped_program_is_read_through_the_debug_file_it_links_to() {
    for build_id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let workshop = Workshop::new();
        workshop.compile("cc", ("program.c", C), &["-g", build_id]);
        let stripped = workshop.strip();
        let (place, notes) = workshop.call(&stripped);
        assert_eq!(shown(&place), C_FRAMES, "{build_id}");
        assert_eq!(notes, [""; 0]);
    }
}

#[test]
fn a_debug_file_of_another_program_is_left_alone() {
    for build_id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let workshop = Workshop::new();
        workshop.compile("cc", ("program.c", C), &["-g", build_id]);
        let stripped = workshop.strip();
        let other = C.replace("callee();", "callee(); callee();");
        workshop.compile("cc", ("program.c", &other), &["-g", build_id]);
        workshop.run(
            "objcopy",
            &["--only-keep-debug", "program", "program.debug"],
        );
        let (place, notes) = workshop.call(&stripped);
        assert_eq!(place.frames, [], "{build_id}");
        assert!(
            notes[0].starts_with("no debug information in /"),
            "{notes:?}"
        );
    }
}

#[test]
fn a_debug_file_is_found_by_build_id() {
    let workshop = Workshop::new();
    let id = "-Wl,--build-id=0xabcdef0123456789";
    workshop.compile("cc", ("program.c", C), &["-g", id]);
    let stripped = workshop.strip();
    let directory = workshop.path("debug/.build-id/ab");
    fs::create_dir_all(&directory).expect("the directory is ours");
    fs::rename(
        workshop.path("program.debug"),
        directory.join("cdef0123456789.debug"),
    )
    .expect("both are ours");
    assert_eq!(shown(&workshop.call(&stripped).0), C_FRAMES);
}

#[test]
fn without_debug_information_the_symbol_table_names_the_function() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", ("program.c", C), &[]);
    let (place, notes) = workshop.call(&program);
    let [
        Frame {
            function: Some(function),
            offset: Some(1..),
            file: None,
            line: None,
        },
    ] = place.frames.as_slice()
    else {
        panic!("{place:?}");
    };
    assert_eq!(function, "outer");
    assert!(place.name().starts_with("outer+0x"));
    let wanted = format!(
        "no debug information in {}: compile with -g, or install its -dbgsym package",
        program.display()
    );
    assert_eq!(notes, [wanted]);
}

#[test]
fn without_symbols_the_place_is_an_offset() {
    let workshop = Workshop::new();
    workshop.compile("cc", ("program.c", C), &["-g"]);
    let stripped = workshop.strip();
    fs::remove_file(workshop.path("program.debug")).expect("it is ours");
    let (place, notes) = workshop.call(&stripped);
    assert_eq!(place.name(), format!("stripped+{:#x}", place.offset));
    assert_eq!(notes.len(), 1);
}

#[test]
fn debug_information_that_leaves_out_a_call_is_told() {
    let workshop = Workshop::new();
    fs::write(
        workshop.path("main.c"),
        "void outer(void); int main(void) { outer(); return 0; }",
    )
    .expect("the directory is ours");
    let without_main = C
        .lines()
        .filter(|line| !line.contains("main"))
        .collect::<Vec<_>>();
    fs::write(workshop.path("outer.c"), without_main.join("\n") + "\n").expect("likewise");
    workshop.run("cc", &["-g", "-c", "main.c"]);
    workshop.run("cc", &["-c", "outer.c"]);
    workshop.run("cc", &["-o", "program", "main.o", "outer.o"]);
    let (place, notes) = workshop.call(&workshop.path("program"));
    assert!(place.name().starts_with("outer+0x"), "{place:?}");
    assert!(
        notes[0].contains("leaves out some of the calls"),
        "{notes:?}"
    );
}

#[test]
fn a_program_that_changed_after_the_recording_is_told() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", ("program.c", C), &["-g"]);
    let mut trace = trace(&program, file_offset(&program, "after_callee"));
    trace.recording = Some(Recording {
        started_unix_seconds: 1,
        ..Recording::default()
    });
    let sources = SourceMap::new(&trace);
    assert_eq!(shown(sources.call(SiteId(0))), C_FRAMES);
    assert!(sources.notes()[0].contains("has changed since the recording"));
}

#[test]
fn another_file_in_the_place_of_the_recorded_one_is_told_by_its_build_id() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", ("program.c", C), &["-g", "-Wl,--build-id=0x1234"]);
    assert_eq!(build_id(&program).as_deref(), Some("1234"));
    let mut trace = trace(&program, file_offset(&program, "after_callee"));
    trace.modules[0].build_id = Some("1234".to_owned());
    let same = SourceMap::new(&trace);
    assert_eq!(shown(same.call(SiteId(0))), C_FRAMES);
    assert_eq!(same.notes(), Vec::<String>::new());
    trace.modules[0].build_id = Some("5678".to_owned());
    let other = SourceMap::new(&trace);
    assert!(other.call(SiteId(0)).frames.is_empty());
    assert!(other.notes()[0].contains("its build id is 1234, that one's was 5678"));
}

#[test]
fn damaged_files_are_told_and_do_no_harm() {
    let workshop = Workshop::new();
    let program = workshop.compile("cc", ("program.c", C), &["-g"]);
    let whole = fs::read(&program).expect("it was compiled");
    let offset = file_offset(&program, "after_callee");
    let damaged = workshop.path("damaged");
    // Cut everywhere, and with bytes turned over everywhere, it gives some answer.
    for at in (0..whole.len()).step_by(97) {
        fs::write(&damaged, &whole[..at]).expect("the directory is ours");
        SourceMap::new(&trace(&damaged, offset)).call(SiteId(0));
        let mut turned = whole.clone();
        turned[at] ^= 0xff;
        fs::write(&damaged, &turned).expect("the directory is ours");
        SourceMap::new(&trace(&damaged, offset)).call(SiteId(0));
    }
    fs::write(&damaged, &whole[..20]).expect("the directory is ours");
    let (place, notes) = workshop.call(&damaged);
    assert_eq!(place.frames, []);
    assert!(notes[0].starts_with("cannot read /"), "{notes:?}");
}
