//! How many CPUs programs believe in, and what they bind their threads to.

use crate::harness::{Run, compile, compile_with, record_command};

fn record(source: &str, cpus: &str) -> Run {
    let name = source.split('.').next().expect("split gives one part");
    let program = compile(source, name, &[]);
    record_command(&program, &[], &[("FORETRACE_PRETEND_CPUS", cpus)])
}

#[test]
fn all_ways_to_ask_for_the_number_of_cpus_agree() {
    let run = record("pretend_cpus.c", "5");
    assert_eq!(run.stdout(), "5 5 5 5 5 5 0 0\n");
    let recording = run.trace.recording.as_ref().expect("it was recorded");
    assert_eq!(recording.pretended_cpus, 5);
}

#[test]
fn files_tell_what_calls_tell() {
    for cpus in [1, 6, 200] {
        let run = record("cpu_files.c", &cpus.to_string());
        let range = match cpus {
            1 => "0".to_owned(),
            more => format!("0-{}", more - 1),
        };
        let last = cpus - 1;
        let opened: String = [
            "open",
            "open64",
            "openat",
            "openat64",
            "checked",
            "checked at",
        ]
        .map(|how| format!("{how} {range}\n"))
        .concat();
        let expected = format!(
            "{opened}below {range}\nlast {last}\nsocket {range}\nbeyond -1\ncpuinfo {cpus} stat {cpus}\nnprocs {cpus}\nmissing -1 1\ncreated 1\nnone 1 1\nhere 1 1\n"
        );
        assert_eq!(run.stdout(), expected);
    }
}

#[test]
fn bindings_are_believed_told_back_and_recorded() {
    let run = record("binds_itself.c", "6");
    assert_eq!(
        run.stdout(),
        "all 3f\nnone -1 1\nbeyond 1\nsome 0 9\nraw -1\nraw 8 9\ninherits 9\nbinds 4\nattributes 0\n\
         created 8\nkept 8\nother 0 2\nbound 2\n"
    );
    let main = run.lines("main");
    let binds: Vec<&String> = main
        .iter()
        .filter(|line| line.starts_with("bind"))
        .collect();
    assert_eq!(
        binds,
        [
            "bind main failed:22",
            "bind main failed:22",
            "bind main",
            "bind main failed:14",
            "bind T4",
        ]
    );
    assert_eq!(run.lines("T2")[0], "bind T2");
    let cpus: Vec<Option<u32>> = run.trace.threads.iter().map(|thread| thread.cpu).collect();
    assert_eq!(cpus, [None, None, Some(2), Some(3), Some(1)]);
    let told = run.trace.warnings.iter();
    let told: Vec<&String> = told.filter(|warning| warning.contains("bound")).collect();
    assert!(told[0].starts_with("3 threads are bound to one CPU by the program itself"));
}

#[test]
fn bindings_go_on_in_children_and_in_the_programs_that_a_process_becomes() {
    let program = compile("binds_successors.c", "binds_successors", &[]);
    let variables = [
        ("FORETRACE_PRETEND_CPUS", "6"),
        ("FORETRACE_BOUND", "0000000000000000"),
    ];
    let run = record_command(&program, &[], &variables);
    assert_eq!(
        run.stdout(),
        "all 3f\nforked a\nexecl a\nexecv a\nexecve a\nexecvpe a\nexecle a\nspawned a\nbound in vfork 8\nparent a\n\
         spawned by a thread 4\nstarted by a shell a\nchild 0\nbound 0\nto 10\nempty 22\nbound by another 10\nexecv 10\ngone 3\ngone 3\nsmall 22\n"
    );
    // The program that the thread started is where it is from its beginning.
    let bound = run
        .trace
        .threads
        .iter()
        .filter(|thread| thread.cpu == Some(2));
    assert_eq!(bound.count(), 2);
}

#[test]
fn clangs_openmp_believes_in_the_cpus_that_it_is_told_of() {
    let run = openmp("clang", "omp_places_clang");
    assert_eq!(run.stdout(), "6 threads, 6 processors, 6 places\n");
}

#[test]
fn gccs_openmp_believes_in_the_cpus_that_it_is_told_of() {
    let run = openmp("gcc", "omp_places_gcc");
    assert_eq!(run.stdout(), "6 threads, 6 processors, 6 places\n");
    let mut cpus: Vec<Option<u32>> = run.trace.threads.iter().map(|thread| thread.cpu).collect();
    // The first thread is bound to the first CPU when it has started the program, which may be what takes it longest.
    assert!(matches!(cpus.remove(0), None | Some(0)));
    cpus.sort();
    assert_eq!(cpus, [1, 2, 3, 4, 5].map(Some));
}

/// Records a program of OpenMP's that binds its threads, built by one of the two compilers.
fn openmp(compiler: &str, name: &str) -> Run {
    let program = compile_with(compiler, "openmp_places.c", name, &["-fopenmp"]);
    let variables = [
        ("FORETRACE_PRETEND_CPUS", "6"),
        ("OMP_PLACES", "cores"),
        ("OMP_PROC_BIND", "close"),
        ("OMP_WAIT_POLICY", "passive"),
    ];
    record_command(&program, &[], &variables)
}
