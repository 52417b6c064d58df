//! OpenMP programs compiled by GCC: teams of threads, their regions, barriers and locks.

use std::collections::BTreeMap;
use std::path::Path;

use foretrace_program::Program;
use foretrace_sim::{Machine, ModelKind, predict_all};
use foretrace_trace::{ObjectKind, Operation, Outcome};

use crate::children::makespans;
use crate::harness::{Run, compile, pinned, record_command};

/// Records a program that believes in four CPUs, compares with a plain run of four threads, and checks what holds for
/// all such programs.
fn record(source: &str) -> Run {
    let name = source.split('.').next().expect("split gives one part");
    let run = record_program(&compile(source, name, &["-fopenmp"]), "false");
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
    run
}

/// The same for one with tasks of which it is not known which others they wait for, of which there is a warning.
fn record_tasks(source: &str) -> Run {
    let name = source.split('.').next().expect("split gives one part");
    let run = record_program(&compile(source, name, &["-fopenmp"]), "false");
    assert_eq!(run.trace.warnings.len(), 1, "{:?}", run.trace.warnings);
    assert!(run.trace.warnings[0].contains("tasks"));
    run
}

/// The same for one that is compiled already, with cancellation or without.
pub fn record_program(program: &Path, cancellation: &str) -> Run {
    record_for(program, cancellation, &ModelKind::ALL)
}

/// The same for one that only these models are sure to get through.
pub fn record_for(program: &Path, cancellation: &str, models: &[ModelKind]) -> Run {
    let variables = [
        ("FORETRACE_PRETEND_CPUS", "4"),
        ("OMP_WAIT_POLICY", "passive"),
        ("KMP_BLOCKTIME", "0"),
        ("KMP_AFFINITY", "disabled"),
        ("OMP_CANCELLATION", cancellation),
    ];
    let run = record_command(program, &[], &variables);
    let plain = pinned(program)
        .env("OMP_NUM_THREADS", "4")
        .env("OMP_CANCELLATION", cancellation)
        .output()
        .expect("taskset is installed");
    assert!(plain.status.success() && run.output.status.success());
    assert_eq!(run.output.stdout, plain.stdout, "recorded against plain");
    assert_eq!(run.output.stderr, plain.stderr, "recorded against plain");
    check_tokens(&run);
    check_barriers(&run);
    check_models(&run, models);
    run
}

/// Nobody takes a token that was not given yet, and none is left.
fn check_tokens(run: &Run) {
    let mut tokens = BTreeMap::new();
    for event in &run.trace.events {
        let call = run.trace.call(event);
        if [Outcome::Busy, Outcome::BEGINS].contains(&call.outcome) {
            continue;
        }
        // Waits for tasks are timed ones, which take none.
        let left = match call.operation {
            Operation::SemPost(semaphore) => tokens.entry(semaphore).or_insert(0_i64),
            Operation::SemWait(semaphore) | Operation::SemTryWait(semaphore) => {
                let left = tokens.entry(semaphore).or_insert(0);
                *left -= 2;
                left
            }
            _ => continue,
        };
        *left += 1;
        assert!(*left >= 0, "a token before it was given");
    }
    assert!(tokens.values().all(|&left| left == 0), "{tokens:?}");
}

/// Every barrier's size is known, and all its generations are complete.
fn check_barriers(run: &Run) {
    for (index, object) in run.trace.objects.iter().enumerate() {
        if object.kind != ObjectKind::Barrier {
            continue;
        }
        let size = object.initial.expect("its size was recorded") as usize;
        let arrivals = run.count(&format!("barrier_wait {}", object.name.replace(' ', "")));
        let waits_for_tasks = run.count("sem_timedwait");
        let over =
            ["busy", "failed:114", "failed:115"].map(|said| run.count(&format!("return {said}")));
        let without_effect = over.iter().sum::<usize>() - waits_for_tasks;
        assert_eq!(
            (arrivals - without_effect) % size,
            0,
            "{arrivals} arrivals at object {index}"
        );
    }
}

/// These models get through, on any number of CPUs.
fn check_models(run: &Run, models: &[ModelKind]) {
    let program = Program::from_trace(&run.trace);
    assert!(program.warnings.is_empty(), "{:?}", program.warnings);
    for cpus in [1, 2, 4] {
        let prediction = predict_all(&program, &Machine::new(cpus, &program));
        for attempt in prediction.attempts {
            assert!(
                attempt.run.is_complete() || !models.contains(&attempt.model),
                "{:?} on {cpus}: {:?}",
                attempt.model,
                attempt.run.outcome
            );
        }
    }
}

#[test]
fn members_wait_for_a_region_and_at_its_end() {
    let run = record("openmp_regions.c");
    // Five regions of four; one of two; one of one, which is none.
    assert_eq!(run.count("sem_post semaphore1"), 5 * 3 + 1);
    assert_eq!(run.count("sem_wait semaphore1"), 5 * 3 + 1);
    assert_eq!(run.count("barrier_wait barrier1"), 5 * 4);
    assert_eq!(run.count("barrier_wait barrier2"), 2);
    // One barrier for each size of the team, however many regions there are.
    assert_eq!(run.trace.objects.len(), 3);
    assert_eq!(run.trace.objects[1].initial, Some(4));
    let mut lines = run.lines("main");
    lines.retain(|line| !line.starts_with("create"));
    let posts = ["sem_post semaphore1"; 3];
    // What the library does to call the others is told apart from the master's work.
    let calls = ["sem_timedwait semaphore1", "return busy"];
    let end = ["barrier_wait barrier1", "return"];
    assert_eq!(lines[..3], posts);
    assert_eq!(lines[3..5], calls);
    assert_eq!(lines[5..7], end);
    assert_eq!(lines[7..10], posts);
    let member = run.lines("T1");
    let part = ["sem_wait semaphore1", "barrier_wait barrier1", "return"];
    assert_eq!(member[..3], part);
    assert_eq!(member[12..15], part);
    let last = ["sem_wait semaphore1", "barrier_wait barrier2", "terminate"];
    assert_eq!(member[15..], last);
}

#[test]
fn critical_sections_are_mutexes() {
    let run = record("openmp_critical.c");
    let mutexes = run.trace.objects.iter();
    let mutexes = mutexes.filter(|object| object.kind == ObjectKind::Mutex);
    assert_eq!(mutexes.count(), 3, "named, unnamed, atomic");
    for mutex in ["mutex1", "mutex2", "mutex3"] {
        assert_eq!(run.count(&format!("lock {mutex}")), 400);
        assert_eq!(run.count(&format!("unlock {mutex}")), 400);
    }
}

#[test]
fn locks_are_mutexes_and_some_are_taken_twice() {
    let run = record("openmp_locks.c");
    assert_eq!(run.count("lock mutex1"), 200);
    assert_eq!(run.count("trylock mutex1 busy"), 200);
    assert_eq!(run.count("unlock mutex1"), 200);
    assert_eq!(run.count("lock mutex2"), 200);
    assert_eq!(run.count("trylock mutex2"), 200);
    assert_eq!(run.count("unlock mutex2"), 400);
}

#[test]
fn barriers_within_a_region_are_the_teams() {
    let run = record("openmp_barrier.c");
    // Six explicit ones, the loop's, the sections', two of the single (found, copied), and the region's.
    let expected = 4 * (6 + 1 + 1 + 2 + 1);
    // The thread that ran the single asked twice: at its beginning, where it did not wait.
    assert_eq!(run.count("barrier_wait barrier1"), expected + 1);
    // And the master called the others.
    assert_eq!(run.count("return busy"), 1 + 1);
    assert_eq!(run.trace.objects.len(), 2, "a semaphore and a barrier");
}

#[test]
fn regions_that_are_loops_are_regions() {
    let run = record("openmp_dynamic.c");
    // Five that are a loop or sections of their own, and one whose team was left to the library.
    assert_eq!(run.count("sem_post semaphore1"), 6 * 3);
    let mut member = run.lines("T1");
    // It may have come in time for a piece.
    member.retain(|line| !line.starts_with("sem_trywait"));
    assert_eq!(
        member[..2],
        ["sem_wait semaphore1", "barrier_wait barrier1"]
    );
}

#[test]
fn regions_within_regions_have_teams_of_their_own() {
    let run = record("openmp_nested.c");
    // Outer regions: one whose members are alone in the inner one, and three.
    let outer = 1 + 3;
    assert_eq!(run.count("sem_post semaphore1"), outer);
    // Each member of the three began two.
    assert_eq!(run.count("sem_post"), outer + 3 * 2 * 2);
    let semaphores = run.trace.objects.iter();
    let semaphores = semaphores.filter(|object| object.kind == ObjectKind::Semaphore);
    assert_eq!(semaphores.count(), 3, "the outer team's, and each master's");
}

#[test]
fn a_region_that_the_library_looks_into_keeps_its_data() {
    let run = record("openmp_reduction.c");
    assert_eq!(run.stdout(), "345\n");
    assert_eq!(run.count("sem_wait semaphore1"), 2);
}

#[test]
fn a_thread_arrives_at_a_barrier_when_it_has_done_its_tasks() {
    let run = record_tasks("openmp_tasks.c");
    let mut worked = BTreeMap::new();
    for event in &run.trace.events {
        let call = run.trace.call(event);
        if matches!(call.operation, Operation::BarrierWait(_)) {
            let cpu = event.cpu().expect("it was recorded").0;
            worked.entry(call.thread).or_insert(cpu);
        }
    }
    assert_eq!(worked.len(), 4);
    let before: u64 = worked.values().sum();
    let total = run.trace.total_cpu().0;
    assert!(before > total * 9 / 10, "{worked:?} of {total}");
}

#[test]
fn tasks_that_are_done_on_the_way_back_from_a_barrier_come_after_it() {
    // Every model gets through: no task waits for who has not come to the barrier before it.
    let run = record("openmp_late_tasks.c");
    assert_eq!(run.stdout(), "done\n");
}

#[test]
fn a_library_that_was_opened_finds_its_own_libgomp() {
    let program = compile(
        "openmp_opens_library.c",
        "openmp_opens_library",
        &["-Wl,-rpath,$ORIGIN"],
    );
    let library = compile(
        "openmp_opened.c",
        "openmp_opened",
        &["-fopenmp", "-shared", "-fPIC"],
    );
    let beside = program.with_file_name("libopenmp_opened.so");
    std::fs::copy(library, beside).expect("both lie in the scratch directory");
    let run = record_program(&program, "false");
    assert_eq!(run.count("sem_wait semaphore1"), 3 * 2);
    assert_eq!(run.count("lock mutex1"), 3 * 3);
}

#[test]
fn regions_that_are_cancelled_still_end_together() {
    let program = compile("openmp_cancel.c", "openmp_cancel", &["-fopenmp"]);
    for cancellation in ["true", "false"] {
        let run = record_program(&program, cancellation);
        assert_eq!(run.count("sem_wait semaphore1"), 20 * 3);
        // Where nothing can be cancelled, the loop's end and two explicit ones come on top.
        let barriers = if cancellation == "true" { 1 } else { 4 };
        assert!(run.count("barrier_wait barrier1") >= 20 * 4 * barriers);
    }
}

#[test]
fn threads_that_are_bound_stay_on_the_one_cpu() {
    let program = compile("openmp_bound.c", "openmp_bound", &["-fopenmp"]);
    let variables = [
        ("FORETRACE_PRETEND_CPUS", "4"),
        ("OMP_PROC_BIND", "true"),
        ("OMP_WAIT_POLICY", "passive"),
    ];
    let run = record_command(&program, &[], &variables);
    assert_eq!(run.stdout(), "1\n");
    assert_eq!(run.count("sem_wait"), 3);
}

#[test]
fn ordered_sections_are_mutexes() {
    let run = record("openmp_ordered.c");
    assert_eq!(run.count("lock mutex1"), 80);
    assert_eq!(run.count("unlock mutex1"), 80);
    let ordered = run
        .trace
        .objects
        .iter()
        .filter(|object| object.is_ordered());
    assert_eq!(ordered.count(), 1);
}

/// Checks a program that has loops whose iterations wait for each other: one along a line, one across a square, one with
/// seven indices.
pub fn check_doacross(run: &Run) {
    let doacross: Vec<_> = run
        .trace
        .objects
        .iter()
        .filter(|object| object.kind == ObjectKind::Doacross)
        .collect();
    assert_eq!(doacross.len(), 1, "one team");
    assert_eq!(run.count("doacross_post doacross1"), 40 + 12 * 12 + 8 * 2);
    let mut posted = BTreeMap::new();
    let mut matched = 0;
    for event in &run.trace.events {
        match run.trace.call(event).operation {
            Operation::DoacrossPost { iteration, .. } => {
                *posted.entry(iteration >> 48).or_insert(0) += 1;
            }
            Operation::DoacrossWait { .. } => matched += 1,
            _ => {}
        }
    }
    // The first region's two loops, of which the second region's comes as first.
    assert_eq!(posted, BTreeMap::from([(1, 40 + 8 * 2), (2, 12 * 12)]));
    // Some wait for iterations that there are none of.
    assert!(matched >= 39 + 2 * 11 * 12 + 7 * 2, "{matched}");
}

/// Checks a program of two regions, in which each of 64 iterations waits for the one before: that nearly all had to wait, and
/// that it is predicted to be no faster on four CPUs than on one.
pub fn check_pipeline(run: &Run) {
    let waits = run.trace.threads.iter().map(|thread| {
        let lines = run.lines(&thread.name);
        let pairs = lines.windows(2);
        pairs
            .filter(|pair| pair[0].starts_with("doacross_wait") && pair[1] == "return")
            .count()
    });
    let waits: usize = waits.sum();
    assert!(waits > 80, "{waits} of 126 waited");
    let spans = makespans(run, &[1, 4]);
    assert!(spans[0] < spans[1] + spans[1] / 20, "{spans:?}");
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
    // Each call but the 89 that return at once waits for its two; one group does. Before, the master called the others.
    assert_eq!(run.count("sem_timedwait semaphore1"), 1 + 88 + 1);
    assert_eq!(run.count("return busy"), 1 + 88);
    assert_eq!(run.count("return failed:115"), 1);
    check_tasks(&run);
}

#[test]
fn parts_of_loops_are_tasks() {
    let run = record("openmp_taskloop.c");
    assert_eq!(
        run.stdout(),
        "1128\n576\n360\n1224\n336\n2256\n100000\n1128\n"
    );
    // By number, by grain size, one for each member, with a reduction, with large data, and those that nobody waits for at once. The others are
    // done at once.
    let parts = 6 + 3 + 4 + 5 + 4 + 3;
    assert_eq!(run.count("doacross_post"), 2 * parts);
    assert_eq!(run.count("doacross_wait"), parts);
    // The master calls the others, each of the loops but one waits for its parts, and a wait of its own for those of that.
    assert_eq!(run.count("sem_timedwait semaphore1"), 1 + 5 + 1);
}

/// Checks what is recorded of the tasks of `openmp_taskwait.c`: two of each call that waits, those of the group, and those of the chain.
pub fn check_tasks(run: &Run) {
    let (mut made, mut begun, mut done, mut needs) = (0, 0, 0, 0);
    for event in &run.trace.events {
        match run.trace.call(event).operation {
            // Of the highest bits the first says that the number holds an address, the second that it is written to.
            Operation::DoacrossWait { iteration, .. } if iteration >> 62 == 0b11 => needs += 1,
            Operation::DoacrossWait { .. } => begun += 1,
            Operation::DoacrossPost { iteration, .. } if iteration % 2 == 0 => made += 1,
            Operation::DoacrossPost { .. } => done += 1,
            _ => {}
        }
    }
    let tasks = 2 * 88 + 20 + 20;
    assert_eq!((made, begun, done, needs), (tasks, tasks, tasks, 20));
}

#[test]
fn threads_that_spin_wait_and_do_not_work() {
    let program = compile("openmp_regions.c", "openmp_spins", &["-fopenmp"]);
    let variables = [
        ("FORETRACE_PRETEND_CPUS", "4"),
        ("OMP_WAIT_POLICY", "active"),
    ];
    let run = record_command(&program, &[], &variables);
    let work = |run: &Run| -> u64 {
        let program = Program::from_trace(&run.trace);
        program.work_nanos()
    };
    // The loops take microseconds; a thread that spins does so for a slice of the scheduler's.
    assert!(work(&run) * 2 < run.trace.total_cpu().0, "{}", work(&run));
}

#[test]
fn fortran_has_the_same_under_other_names() {
    let program = compile("openmp_fortran.f90", "openmp_fortran", &["-fopenmp"]);
    let run = record_program(&program, "false");
    assert_eq!(run.stdout().split_whitespace().next(), Some("5050"));
    let calls = run.trace.events.iter().map(|event| run.trace.call(event));
    let under = |n: usize| {
        let locks = calls.clone().filter(|call| {
            call.outcome == Outcome::Success
                && matches!(call.operation, Operation::Lock(m) | Operation::TryLock(m) if m.index() == n)
        });
        locks.count()
    };
    let mutexes = (0..run.trace.objects.len()).map(under);
    // The critical section and the lock; the nested lock is taken twice; the ordered section.
    let mut counts: Vec<usize> = mutexes.filter(|&count| count >= 20).collect();
    counts.sort_unstable();
    assert_eq!(counts, [20, 100, 100, 200]);
    // The dynamic loop's, the explicit one, the ordered loop's, the region's.
    assert_eq!(run.count("barrier_wait barrier1"), 4 * 4);
}

/// Checks that what a program of loops whose chunks are dealt out did of these is marked: by each member that had some.
pub fn check_pieces(run: &Run) {
    let (mut begun, mut ended) = (0, 0);
    for thread in &run.trace.threads {
        let lines = run.lines(&thread.name);
        for pair in lines.windows(2) {
            if pair[1].starts_with("sem_trywait") && pair[1].ends_with("busy") {
                // Whatever ends was begun.
                let mark = "sem_trywait semaphore1";
                let is_own = pair[0].starts_with(mark) || !pair[0].starts_with("sem_");
                assert!(is_own, "{pair:?}");
                ended += 1;
            }
            begun += u32::from(pair[1].starts_with("sem_trywait") && pair[1].contains("115"));
        }
    }
    assert!(begun >= 3, "{begun} of three loops at least");
    // Who comes too late begins, and has none.
    assert!(ended >= 3, "{ended} ends of {begun}");
}

#[test]
fn pieces_of_loops_are_marked() {
    check_pieces(&record("openmp_dynamic.c"));
}

#[test]
fn a_trace_tells_whether_the_user_wants_teams_to_sleep() {
    let program = compile("openmp_regions.c", "openmp_sleeps", &["-fopenmp"]);
    let sleeps = |more: &[(&str, &str)]| {
        let passive = [
            ("FORETRACE_PRETEND_CPUS", "4"),
            ("OMP_WAIT_POLICY", "passive"),
        ];
        let run = record_command(&program, &[], &[&passive, more].concat());
        let mut of_teams = run
            .trace
            .objects
            .iter()
            .filter(|object| object.is_of_team());
        let first = of_teams.next().expect("it has a team");
        assert_eq!(first.team().expect("it is one's").1, 1, "its semaphore");
        assert!(of_teams.all(|object| object.is_of_spinning_team() == first.is_of_spinning_team()));
        !first.is_of_spinning_team()
    };
    assert!(sleeps(&[]), "as it was told");
    assert!(!sleeps(&[("FORETRACE_PASSIVE", "1")]), "foretrace told it");
}
