//! Processes: forks, programs that become others, sudden ends, and what programs do to their files and limits.

use std::ffi::OsStr;
use std::path::Path;

use crate::harness::{Run, compile, library, record, record_command, record_with};
use foretrace_trace::Nanos;

#[test]
fn what_a_program_did_before_kill_nine_is_there() {
    let run = record("kill_nine.c");
    assert_eq!(run.count("lock mutex1"), 5000);
    assert_eq!(run.count("unlock mutex1"), 5000);
    assert_eq!(run.count("terminate"), 0);
    assert_eq!(run.trace.warnings.len(), 1, "{:?}", run.trace.warnings);
    assert!(run.trace.warnings[0].starts_with("the ends of main were not seen"));
}

#[test]
fn a_forked_child_records_into_its_own_journal() {
    let run = record("fork_while_locked.c");
    assert_eq!(run.stdout(), "child 5\n");
    assert_eq!(run.trace.processes.len(), 2);
    let child = &run.trace.processes[1];
    assert_eq!(child.parent_pid, run.trace.processes[0].pid);
    let name = format!("fork_while_locked-{}/main", child.pid.expect("recorded"));
    let lines = run.lines(&name);
    assert_eq!(lines.len(), 23, "{lines:?}");
    assert_eq!(lines[22], "terminate");
    assert!(lines[21].starts_with("trylock mutex") && lines[21].ends_with("busy"));
    // It gives up what was locked for it when it was forked, and that is nothing odd.
    assert!(lines[0].starts_with("unlock mutex"));
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
    assert_eq!(
        run.lines("T1").last().map(String::as_str),
        Some("terminate")
    );
}

#[test]
fn a_child_has_what_it_took_to_take_it_down() {
    // What it prints is another number each time.
    let program = compile("leaves_much_memory.c", "leaves_much_memory", &[]);
    let run = record_command(&program, &[], &[]);
    let used: u64 = run.stdout().trim().parse().expect("a number");
    let recording = run.trace.recording.as_ref().expect("recorded");
    let child = (run.trace.events.iter())
        .filter(|event| run.trace.call(event).thread.index() == 1)
        .filter_map(foretrace_trace::Event::cpu)
        .max()
        .expect("its end is recorded");
    let Nanos(told) = child + recording.recorder_cpu;
    assert!(told >= used - 2000, "{told} of {used} ns");
    assert!(child.0 <= used, "{child} of {used} ns");
}

#[test]
fn a_fork_that_no_handler_hears_of_is_noticed() {
    let run = record("raw_fork.c");
    assert_eq!(run.lines("main").len(), 2 * 5 + 3);
    let child = run.trace.processes[1].pid.expect("recorded");
    assert_eq!(
        run.lines(&format!("raw_fork-{child}/main")).len(),
        2 * 7 + 1
    );
}

#[test]
fn a_child_of_vfork_does_not_end_its_parent() {
    let run = record("vfork_exits.c");
    assert_eq!(run.lines("main"), ["io process", "return", "lock mutex1"]);
    let warnings = &run.trace.warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[1].starts_with("1 processes that were started were not recorded"));
}

#[test]
fn a_program_that_becomes_another_counts_its_time_once() {
    let run = record("exec_self.c");
    assert_eq!(run.trace.processes.len(), 2);
    assert_eq!(run.trace.processes[0].pid, run.trace.processes[1].pid);
    assert_eq!(
        run.lines("main")[..2],
        ["lock mutex1".to_owned(), "unlock mutex1".to_owned()]
    );
    let end = &run.lines("main")[2..];
    assert!(end[0].starts_with("create exec_self-") && end[1] == "terminate");
    // Counted twice, the first one's time would be in the second one's.
    let first = run.trace.events.iter().rev().find(|event| {
        let thread = run.trace.call(event).thread;
        run.trace.threads[thread.index()].name == "main"
    });
    let first = first
        .and_then(foretrace_trace::Event::cpu)
        .expect("it has events");
    let second = Nanos(run.trace.total_cpu().0 - first.0);
    assert!(
        second.0 < first.0 * 17 / 10,
        "both do the same work: {first} and {second}"
    );
}

#[test]
fn a_program_that_a_thread_becomes_counts_its_time_from_that_threads() {
    let program = compile("exec_self.c", "exec_from_thread", &[]);
    let run = record_command(&program, &[OsStr::new("thread")], &[]);
    assert_eq!(run.stdout(), "again\n");
    let ends: Vec<u64> = (0..run.trace.threads.len())
        .map(|thread| {
            let events = run.trace.events.iter();
            let own = events.filter(|event| run.trace.call(event).thread.index() == thread);
            let cpu = own.filter_map(foretrace_trace::Event::cpu).max();
            cpu.expect("each does something").0
        })
        .collect();
    let [main, thread, again] = ends[..] else {
        panic!("three threads, not {ends:?}")
    };
    assert!(thread > main, "it works eight times as much: {ends:?}");
    // From the first thread's time, or from none, it would be none, or the thread's as well.
    assert!(again > main / 4 && again < main * 4, "{ends:?}");
}

#[test]
fn programs_are_recorded_that_are_given_an_environment_without_the_recorders() {
    let run = record("own_environments.c");
    assert_eq!(
        run.stdout(),
        "execle 1\nexecle on the stack 1\nexecve -\nexecve of none -\nvfork 1\nposix_spawn 1\ncleared -\nsystem -\n"
    );
    // Among them a shell.
    assert_eq!(
        run.trace.processes.len(),
        1 + 7 + 2,
        "{:?}",
        run.trace.processes
    );
    assert_eq!(run.count("lock"), 8);
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
}

#[test]
fn a_program_that_closes_every_file_goes_on_being_recorded() {
    let run = record("closes_all_files.c");
    assert_eq!(run.output.status.code(), Some(0));
    assert_eq!(run.count("lock mutex1"), 400_000);
    assert_eq!(run.count("lock mutex2"), 400_000);
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
}

#[test]
fn a_limit_on_files_stops_the_recording_and_not_the_program() {
    check_that_recording_stopped(&record("file_size_limit.c"));
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_program() {
    check_that_recording_stopped(&record("disk_full.c"));
}

fn check_that_recording_stopped(run: &Run) {
    assert_eq!(run.stdout(), "0 0\n");
    let recording = run.trace.recording.as_ref().expect("it was recorded");
    let kept = run.trace.events.len() as u64;
    assert!(kept > 1000 && recording.lost_events > 1000);
    assert!(run.trace.warnings[0].contains("for want of space"));
}

#[test]
fn without_rseq_another_clock_is_used() {
    let run = record_with(
        "sem_ping_pong.c",
        &[("GLIBC_TUNABLES", "glibc.pthread.rseq=0")],
    );
    let recording = run.trace.recording.as_ref().expect("it was recorded");
    assert_eq!(recording.clock, foretrace_trace::ThreadClock::Counter);
    assert_eq!(run.count("sem_wait"), 200);
}

#[test]
fn without_a_journal_calls_are_passed_on_and_only_what_is_asked_for_is_pretended() {
    use crate::harness::{compile, pinned};
    let program = compile("pretend_cpus.c", "pretend_nothing", &[]);
    let plain = pinned(&program).output().expect("taskset is installed");
    let plain = String::from_utf8_lossy(&plain.stdout).into_owned();
    let journal = ("FORETRACE_JOURNAL", "/nonexistent/directory");
    let pretend = ("FORETRACE_PRETEND_CPUS", "5");
    for (variables, expected) in [
        (&[][..], plain.as_str()),
        // Where a recording fails, its program stays on the CPU of the others, and goes on believing what they do.
        (&[journal, pretend], "5 5 5 5 5 5 0 0\n"),
        (&[pretend], "5 5 5 5 5 5 0 0\n"),
    ] {
        let mut command = pinned(&program);
        command.env("LD_PRELOAD", library());
        command.envs(variables.iter().copied());
        let output = command.output().expect("taskset is installed");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        assert!(output.stderr.is_empty(), "the library prints");
    }
}

#[test]
fn functions_of_a_programs_library_are_called_by_whatever_name() {
    let flags = ["-DLIBRARY", "-shared", "-fPIC", "-fno-builtin"];
    let words = compile("own_words.c", "libown_words.so", &flags);
    let words = words.to_str().expect("it is text");
    let program = compile("own_words.c", "own_words", &[words, "-fno-builtin"]);
    let run = record_command(&program, &[], &[]);
    assert_eq!(run.stdout(), "3.75 fifth other\n");
    assert_eq!(run.count("lock mutex1"), 1);
}

#[test]
fn a_program_with_functions_of_the_c_librarys_names_finds_the_real_ones() {
    let program = compile(
        "own_lookups.c",
        "own_lookups",
        &["-fno-builtin", "-rdynamic"],
    );
    let run = record_command(&program, &[], &[]);
    assert_eq!(run.stdout(), "1 found 1\n1\n");
    assert_eq!(run.count("lock mutex1"), 10);
}

#[test]
fn programs_with_sanitizers_run_and_are_recorded() {
    // The second has the sanitizer's functions in the program itself.
    for (sanitizer, flag) in [
        ("address", "-O1"),
        ("address", "-static-libasan"),
        ("thread", "-O1"),
    ] {
        let name = format!("sanitized-{sanitizer}{flag}");
        let sanitizer = format!("-fsanitize={sanitizer}");
        let program = compile("rwlock_phases.c", &name, &[&sanitizer, flag]);
        let run = record_command(
            &program,
            &[],
            &[("ASAN_OPTIONS", "verify_asan_link_order=0")],
        );
        assert_eq!(run.output.status.code(), Some(0), "{name}");
        assert!(run.trace.events.len() > 10, "{name}");
    }
}

#[test]
fn a_program_keeps_its_environment_whatever_others_are_given() {
    let run = record("keeps_environment.c");
    assert_eq!(
        run.stdout(),
        "kept kept\n1 1\nkept lost\n300\nf\n400 kept\nwritten\n500\n2 3 4 5 6 7 8\n"
    );
    // Its shells are recorded all the same.
    assert!(run.trace.processes.len() >= 5, "{:?}", run.trace.processes);
}

#[test]
fn a_program_that_may_not_read_the_library_is_not_told_to_load_it() {
    let run = record("cannot_read_library.c");
    assert_eq!(run.stdout(), "restricted\n");
    assert_eq!(run.count("lock mutex1"), 1);
}

#[test]
fn functions_that_the_c_library_lacks_are_not_found_or_do_as_older_ones() {
    let run = record("lacks_functions.c");
    assert!(run.stdout().starts_with("1 7 "), "{}", run.stdout());
}

#[test]
fn threads_that_are_to_run_on_no_cpu_are_not_made() {
    let run = record("binds_nowhere.c");
    assert_eq!(run.stdout(), "22\n22\n");
}

#[test]
fn programs_that_cannot_load_the_library_are_not_told_to() {
    let starter = compile("starts_foreign.c", "starts_foreign", &[]);
    let directory = tempfile::tempdir().expect("the temporary directory is writable");
    // A loader that is called so belongs to another C library.
    let loader = directory.path().join("ld-musl-x86_64.so.1");
    std::os::unix::fs::symlink("/lib64/ld-linux-x86-64.so.2", &loader).expect("it is writable");
    let loader = format!("-Wl,--dynamic-linker={}", loader.display());
    let foreign = compile("starts_foreign.c", "foreign", &[&loader]);
    let link = directory.path().join("foreign");
    std::os::unix::fs::symlink(foreign, link).expect("it is writable");
    let ours = library().display().to_string();
    for (others, told) in [("", "nothing"), ("libm.so.6:", "libm.so.6")] {
        let list = format!("{others}{ours}");
        let run = record_command(
            &starter,
            &[directory.path().as_os_str()],
            &[("LD_PRELOAD", &list)],
        );
        let expected = format!("{told}\n").repeat(20) + &list + "\n";
        assert_eq!(run.stdout(), expected);
        assert_eq!(String::from_utf8_lossy(&run.output.stderr), "");
    }
}

#[test]
fn a_program_that_gave_up_system_calls_is_not_killed_for_the_recorders() {
    let run = record_with("confines_itself.c", &[("FORETRACE_TURN", "100000")]);
    assert_eq!(run.stdout(), "0 0\n");
    assert!(run.count("lock mutex1") > 100);
    assert!(run.trace.warnings[0].contains("for want of space"));
}

#[test]
fn a_program_that_inherits_a_filter_is_not_killed_for_what_recording_begins_with() {
    let program = compile("confines_itself.c", "confines_itself_and_another", &[]);
    let run = record_command(
        &program,
        &[OsStr::new("becomes")],
        &[("FORETRACE_PRETEND_CPUS", "3")],
    );
    assert_eq!(run.stdout(), "another\n");
    assert_eq!(run.trace.processes.len(), 1);
}

#[test]
fn a_program_that_gives_up_what_recording_needs_is_recorded_until_then() {
    let program = compile("gives_up_calls.c", "gives_up_calls", &[]);
    for how in ["strict", "filter", "tsc"] {
        let run = record_command(&program, &[OsStr::new(how)], &[]);
        assert_eq!(run.output.status.code(), Some(4), "{how}");
        assert_eq!(run.stdout(), "done\n", "{how}");
        assert!(run.count("lock mutex1") >= 2, "{how}");
        let warning = &run.trace.warnings[0];
        assert!(warning.contains("gave up the system calls"), "{warning}");
    }
}

#[test]
fn a_program_whose_system_calls_are_traced_makes_few_for_the_recorder() {
    let run = record("traced.c");
    assert_eq!(run.stdout(), "few stops, then 7\n");
}

#[test]
fn the_programs_that_are_started_learn_whether_rseq_works() {
    let shell = Path::new("/bin/sh");
    let arguments = ["-c", "echo $FORETRACE_RSEQ"].map(OsStr::new);
    let without = ("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let told = |variables: &[(&str, &str)]| record_command(shell, &arguments, variables).stdout();
    assert_eq!(told(&[("FORETRACE_RSEQ", "0"), without]), "0\n");
    assert_eq!(told(&[("FORETRACE_RSEQ", "1"), without]), "1\n");
    let found = told(&[("FORETRACE_RSEQ", "0")]);
    assert!(["0\n", "1\n"].contains(&found.as_str()), "{found}");
    assert_eq!(told(&[]), "\n");
}

#[test]
fn programs_with_few_files_have_all_of_them_and_nothing_gets_into_the_journal() {
    let run = record("few_files.c");
    assert!(run.stdout().contains("parent of 3: "), "{}", run.stdout());
    // Where there is one file more than the standard streams and the one that the program keeps, everything is recorded.
    let whole = run.trace.threads.iter().filter(|thread| {
        let lines = run.lines(&thread.name);
        thread.name.ends_with("/main") && lines.len() > 40_000
    });
    assert_eq!(whole.count(), 2 * 4);
    // Where there is none the recording stops, and says so.
    let stopped = |warning: &&String| warning.contains("a number for its file (ulimit -n)");
    assert_eq!(run.trace.warnings.iter().filter(stopped).count(), 2);
}

#[test]
fn callers_are_not_looked_for_in_memory_that_is_gone() {
    let run = record_with("memory_beside_stacks.c", &[("FORETRACE_STACKS", "8")]);
    assert_eq!(run.count("lock mutex1"), 2 * 6);
}
