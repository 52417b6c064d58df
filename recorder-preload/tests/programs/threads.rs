//! How threads begin and end.

use crate::harness::{record, record_with};
use foretrace_trace::Operation;

#[test]
fn a_thread_may_end_in_three_ways() {
    let run = record("thread_ends.c");
    for thread in ["T1", "T2"] {
        assert_eq!(run.lines_without_once(thread), ["terminate"]);
    }
    // The cancellation finds it in its pause, or before.
    let third = run.lines_without_once("T3");
    let paused = ["io signal", "return failed:125", "terminate"];
    assert!(third == ["terminate"] || third == paused, "{third:?}");
    let main = run.lines("main");
    assert_eq!(
        main[..5],
        ["create T1", "create T2", "create T3", "join T1", "return"]
    );
    // The one that could not be created is no thread.
    assert_eq!(run.trace.threads.len(), 4);
}

#[test]
fn threads_begin_in_the_routine_that_they_were_given() {
    let run = record("thread_ends.c");
    let thread = run.trace.thread_named("T1").expect("it was created");
    let routine = run.trace.threads[thread.index()].start_routine;
    let site = run
        .trace
        .site_text(routine.expect("the routine lies in the program"));
    assert!(site.starts_with("thread_ends+0x"), "{site}");
}

#[test]
fn destructors_that_lock_come_before_the_end() {
    let run = record("tls_destructor_locks.c");
    let lines = run.lines("T1");
    assert_eq!(
        lines.len(),
        9,
        "four times lock and unlock, and the end: {lines:?}"
    );
    assert_eq!(lines.last().map(String::as_str), Some("terminate"));
    assert_eq!(lines.iter().filter(|line| *line == "terminate").count(), 1);
}

#[test]
fn the_smallest_stack_is_large_enough() {
    let run = record_with("small_stack.c", &[("FORETRACE_PRETEND_CPUS", "6")]);
    assert_eq!(run.stdout(), "0 0 0 1\n");
    assert_eq!(run.count("lock mutex1"), 2000);
}

#[test]
fn callers_are_found_from_any_instruction_of_a_hook() {
    record("unwinds_anywhere.c");
}

#[test]
fn detached_threads_end_and_their_identities_are_used_again() {
    let run = record("detached.c");
    let detached: Vec<usize> = run
        .trace
        .events
        .iter()
        .filter_map(|event| match run.trace.call(event).operation {
            Operation::Detach(thread) => Some(thread.index()),
            _ => None,
        })
        .collect();
    assert_eq!(detached, [1, 2, 3, 4, 5]);
    assert_eq!(run.count("terminate"), 7);
}

#[test]
fn a_thread_that_ends_the_process_ends_all() {
    let run = record("exit_from_thread.c");
    assert_eq!(run.output.status.code(), Some(7));
    assert_eq!(run.lines("main"), ["create T1", "join T1", "terminate"]);
    assert_eq!(run.lines("T1"), ["lock mutex1", "terminate"]);
    assert!(run.trace.warnings.is_empty());
}

#[test]
fn nothing_stays_mapped_of_threads_that_ended() {
    let run = record("many_threads.c");
    assert_eq!(run.trace.threads.len(), 2001);
    assert_eq!(run.count("terminate"), 2001);
}

#[test]
fn a_library_opened_later_is_found_by_the_programs_own_search_path() {
    use crate::harness::{compile, record_command};
    let program = compile("opens_library.c", "opens_library", &["-Wl,-rpath,$ORIGIN"]);
    let library = compile("opened.c", "opened", &["-shared", "-fPIC"]);
    let beside = program.with_file_name("libopened.so");
    std::fs::copy(library, beside).expect("both lie in the scratch directory");
    let run = record_command(&program, &[], &[]);
    assert_eq!(run.stdout(), "opened\n");
    let sites: Vec<String> = run
        .trace
        .calls
        .iter()
        .filter_map(|call| Some(run.trace.site_text(call.site?)))
        .collect();
    assert!(sites[0].starts_with("libopened.so+0x"), "{sites:?}");
}

#[test]
fn an_allocator_may_take_its_first_memory_with_a_lock_held() {
    use crate::harness::{compile, record_command};
    let flags = ["-DLIBRARY", "-shared", "-fPIC", "-fno-builtin"];
    let allocator = compile("allocator.c", "liballocator.so", &flags);
    let allocator = allocator.to_str().expect("it is text");
    let program = compile("allocator.c", "allocator", &[allocator]);
    let run = record_command(&program, &[], &[]);
    assert_eq!(run.stdout(), "allocated\n");
    assert_eq!(run.count("lock mutex1"), 1);
}

#[test]
fn functions_that_a_program_looks_up_in_a_library_are_recorded() {
    use crate::harness::{compile, record_command};
    // Exported, so that its own functions are found by the order of libraries.
    let program = compile("looks_up.c", "looks_up", &["-rdynamic"]);
    let run = record_command(&program, &[], &[]);
    assert_eq!(run.stdout(), "3 1 1 1 1\ntold\n0 0 told\n");
    let section = ["lock mutex1", "unlock mutex1"];
    let own = [&section[..], &section, &section, &["terminate"]].concat();
    assert_eq!(run.lines_without_once("T1"), own);
    assert_eq!(run.count("create"), 1);
    assert_eq!(run.count("join"), 1);
}

#[test]
fn a_library_that_passes_by_is_named() {
    use crate::harness::{compile, record_command};
    let program = compile("opens_deep.c", "opens_deep", &["-Wl,-rpath,$ORIGIN"]);
    let library = compile("opened.c", "opened_deep", &["-shared", "-fPIC"]);
    let beside = program.with_file_name("libopened.so");
    std::fs::copy(library, beside).expect("both lie in the scratch directory");
    let run = record_command(&program, &[], &[]);
    assert_eq!(run.stdout(), "opened\n");
    let warnings = &run.trace.warnings;
    assert!(
        warnings[0].contains("opened \"libopened.so\" with RTLD_DEEPBIND or dlmopen"),
        "{warnings:?}"
    );
}

#[test]
fn memory_that_is_given_back_again_and_again_is_told_where_it_interrupts_others() {
    use crate::harness::{compile, record_command};
    let program = compile("gives_memory_back.c", "gives_memory_back", &[]);
    let alone = record_command(&program, &[], &[]);
    assert_eq!(alone.stdout(), "given back\n");
    assert_eq!(alone.trace.warnings, [""; 0]);
    let with_another = record_command(&program, &["thread".as_ref()], &[]);
    assert_eq!(with_another.stdout(), "given back\n");
    let told = with_another.trace.warnings.concat();
    assert!(told.contains(": 4000 times it gave memory back"), "{told}");
    assert_eq!(with_another.trace.processes[0].remaps, 4000);
}

#[test]
fn c11_threads_are_recorded_as_posix_ones() {
    let run = record("c11_threads.c");
    assert_eq!(
        run.lines("T1"),
        [
            "once once1 chosen",
            "return chosen",
            "lock mutex1",
            "cond_signal cond1",
            "unlock mutex1",
            "terminate"
        ]
    );
    let main = run.lines("main");
    let beginning = ["lock mutex1", "trylock mutex1 busy", "create T1"];
    assert_eq!(main[..3], beginning.map(str::to_owned));
    assert!(
        main.contains(&"cond_wait cond1 mutex1".to_owned()),
        "{main:?}"
    );
    assert!(main.contains(&"return timedout".to_owned()), "{main:?}");
    assert!(main.contains(&"join T1".to_owned()), "{main:?}");
}

/// Records threads that share out tasks, and returns how often another took one than had taken the last.
fn changes_of_takers() -> usize {
    let run = record_with("shares_tasks.c", &[("FORETRACE_TURN", "100000")]);
    let lock = |event: &&foretrace_trace::Event| {
        matches!(run.trace.call(event).operation, Operation::Lock(_))
    };
    let takers: Vec<_> = run
        .trace
        .events
        .iter()
        .filter(lock)
        .map(|event| run.trace.call(event).thread)
        .collect();
    assert_eq!(takers.len(), 402);
    takers.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

#[test]
fn threads_share_out_work_as_they_would_side_by_side() {
    // A turn is a few tasks; the kernel alone would let one thread do a hundred. Where others want the CPU too, who yields it yields
    // it to them.
    let mut changes = Vec::new();
    while changes.len() < 5 && changes.last().is_none_or(|&changes| changes <= 30) {
        changes.push(changes_of_takers());
    }
    assert!(
        changes.last() > Some(&30),
        "another thread took a task so often: {changes:?}"
    );
}
