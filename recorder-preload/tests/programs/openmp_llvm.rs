//! OpenMP programs compiled by Clang, whose library tells what it does: the same programs as GCC compiles, and the same
//! expected of what is recorded.

use foretrace_sim::ModelKind;
use foretrace_trace::{Object, ObjectKind, Operation};

use crate::harness::{Run, compile, compile_with, record_command};
use crate::openmp::{
    check_doacross, check_pieces, check_pipeline, check_tasks, record_for, record_program,
};

/// Compiles with Clang and records, as with GCC.
fn record(source: &str) -> Run {
    record_with(source, &[])
}

fn record_with(source: &str, more: &[&str]) -> Run {
    let name = source.split('.').next().expect("split gives one part");
    let output = format!("{name}_clang");
    let arguments = [&["-fopenmp"], more].concat();
    record_program(&compile_with("clang", source, &output, &arguments), "false")
}

#[test]
fn members_wait_for_a_region_and_at_its_end() {
    let run = record("openmp_regions.c");
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
    // Five regions of four; one of two; one of one, which is none.
    assert_eq!(run.count("sem_post semaphore1"), 5 * 3 + 1);
    assert_eq!(run.count("sem_wait semaphore1"), 5 * 3 + 1);
    assert_eq!(run.count("barrier_wait barrier1"), 5 * 4);
    assert_eq!(run.count("barrier_wait barrier2"), 2);
    let main = run.lines("main");
    let is_region = |line: &&String| line.starts_with("sem_post") || line.starts_with("barrier");
    let mut first = main.iter().filter(is_region);
    for _ in 0..3 {
        assert_eq!(first.next().expect("a region"), "sem_post semaphore1");
    }
    assert_eq!(first.next().expect("its end"), "barrier_wait barrier1");
    let member = run.lines("T1");
    let part = ["sem_wait semaphore1", "barrier_wait barrier1", "return"];
    assert_eq!(member[..3], part);
    assert_eq!(member[12..15], part);
}

#[test]
fn what_the_library_does_by_itself_is_not_recorded() {
    let run = record("openmp_regions.c");
    let objects = run.trace.objects.iter().map(|object| object.kind);
    let others =
        objects.filter(|kind| !matches!(kind, ObjectKind::Barrier | ObjectKind::Semaphore));
    assert_eq!(others.count(), 0, "no mutexes, no conditions");
}

#[test]
fn critical_sections_are_spin_locks() {
    let run = record_with("openmp_critical.c", &["-latomic"]);
    for spin in ["spin1", "spin2"] {
        assert_eq!(run.count(&format!("spin_lock {spin}")), 400);
        assert_eq!(run.count(&format!("spin_unlock {spin}")), 400);
    }
}

#[test]
fn ordered_sections_are_spin_locks() {
    let run = record("openmp_ordered.c");
    assert_eq!(run.count("spin_lock"), 80);
    assert_eq!(run.count("spin_unlock"), 80);
    let mut spins = run.trace.objects.iter();
    assert!(spins.any(Object::is_ordered));
}

#[test]
fn locks_are_spin_locks_and_some_are_taken_twice() {
    let run = record("openmp_locks.c");
    assert_eq!(run.count("spin_lock spin1"), 200);
    assert_eq!(run.count("spin_trylock spin1 busy"), 200);
    assert_eq!(run.count("spin_unlock spin1"), 200);
    assert_eq!(run.count("spin_lock spin2"), 200);
    assert_eq!(run.count("spin_trylock spin2"), 200);
    assert_eq!(run.count("spin_unlock spin2"), 400);
}

#[test]
fn barriers_within_a_region_are_the_teams() {
    let run = record("openmp_barrier.c");
    // Six explicit ones, the loop's, the sections', two of the single that copies, and the region's.
    assert_eq!(run.count("barrier_wait barrier1"), 4 * (6 + 1 + 1 + 2 + 1));
}

#[test]
fn loops_that_are_handed_out_are_regions() {
    let run = record("openmp_dynamic.c");
    assert_eq!(run.count("sem_post semaphore1"), 6 * 3);
}

#[test]
fn regions_within_regions_have_teams_of_their_own() {
    let program = compile_with(
        "clang",
        "openmp_nested.c",
        "openmp_nested_clang",
        &["-fopenmp"],
    );
    // Which of its threads LLVM's library gives to which inner team changes from region to region; who comes first in
    // another order may end up in a team that has too many.
    let run = record_for(&program, "false", &[ModelKind::Strict]);
    let objects = run.trace.objects.iter();
    let semaphores = objects.filter(|object| object.kind == ObjectKind::Semaphore);
    assert_eq!(semaphores.count(), 3, "the outer team's, and each master's");
}

#[test]
fn iterations_wait_for_the_iterations_that_they_depend_on() {
    check_doacross(&record("openmp_doacross.c"));
}

#[test]
fn a_loop_of_which_each_iteration_waits_for_the_one_before_is_not_predicted_to_be_faster() {
    check_pipeline(&record("openmp_pipeline.c"));
}

#[test]
fn waits_for_tasks_are_recorded_and_take_nothing() {
    let run = record("openmp_taskwait.c");
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
    // The master calls the others, and then they wait for tasks.
    assert_eq!(run.count("sem_timedwait semaphore1"), 1 + 88 + 1);
    assert_eq!(run.count("return failed:114"), 88);
    assert_eq!(run.count("return failed:115"), 1);
    check_tasks(&run);
}

#[test]
fn tasks_of_all_kinds_are_done_while_the_team_waits() {
    let run = record("openmp_tasks.c");
    for part in ["doacross_post tasks1", "doacross_wait tasks1"] {
        assert!(run.count(part) >= 200, "{part}");
    }
}

#[test]
fn functions_of_gcc_in_the_same_library_are_recorded_once() {
    for source in ["openmp_barrier.c", "openmp_taskwait.c"] {
        let name = source.split('.').next().expect("split gives one part");
        let object = compile(source, &format!("{name}_gcc.o"), &["-fopenmp", "-c"]);
        let object = object.to_str().expect("a path of ours");
        let output = format!("{name}_gcc_clang");
        let program = compile_with("clang", object, &output, &["-fopenmp"]);
        let run = record_program(&program, "false");
        assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
        assert_eq!(run.count("sem_wait semaphore1"), 3);
        let waits = run.trace.events.iter().map(|event| run.trace.call(event));
        let waits = waits.filter(|call| matches!(call.operation, Operation::BarrierWait(_)));
        for site in waits.filter_map(|call| call.site) {
            let module = run.trace.sites[site.index()].module;
            let path = &run.trace.modules[module.index()].path;
            assert!(
                path.ends_with(&output),
                "not the program's own call: {path}"
            );
        }
    }
}

#[test]
fn a_program_with_a_tool_of_its_own_keeps_it() {
    let program = compile_with(
        "clang",
        "openmp_own_tool.c",
        "openmp_own_tool_clang",
        &["-fopenmp", "-rdynamic"],
    );
    let run = record_command(&program, &[], &[("KMP_AFFINITY", "disabled")]);
    assert_eq!(run.stdout(), "3 6\n");
    assert_eq!(run.count("sem_wait"), 0);
}

#[test]
fn pieces_of_loops_are_marked() {
    check_pieces(&record("openmp_dynamic.c"));
}
