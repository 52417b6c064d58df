//! Processes of one recording: who started and who awaited which.

use crate::harness::{Run, record};
use foretrace_program::Program;
use foretrace_sim::{Choice, Machine, predict};
use foretrace_trace::{ObjectKind, Operation, ThreadId};

/// The makespans on so many CPUs, in nanoseconds.
pub fn makespans(run: &Run, cpus: &[u32]) -> Vec<u64> {
    let program = Program::from_trace(&run.trace);
    assert!(program.warnings.is_empty(), "{:?}", program.warnings);
    let makespan = |&cpus: &u32| {
        let machine = Machine::new(cpus, &program);
        let prediction = predict(&program, &machine, Choice::Auto);
        prediction.answer().expect("it does not deadlock").end.0 / 1000
    };
    cpus.iter().map(makespan).collect()
}

/// The threads that some call creates, and those that some call waits for.
fn created_and_joined(run: &Run) -> (Vec<ThreadId>, Vec<ThreadId>) {
    let (mut created, mut joined) = (Vec::new(), Vec::new());
    for event in &run.trace.events {
        match run.trace.call(event).operation {
            Operation::Create(thread) => created.push(thread),
            Operation::Join(thread) => joined.push(thread),
            _ => {}
        }
    }
    (created, joined)
}

#[test]
fn forked_workers_run_beside_each_other_in_predictions() {
    // What a busy machine does to one of several recordings is forgiven.
    let missed: Vec<String> = (0..5)
        .map_while(|_| {
            let run = record("forked_workers.c");
            assert_eq!(run.stdout(), "0 failed, 0 more\n");
            let (created, joined) = created_and_joined(&run);
            assert_eq!(created.len(), 4);
            assert_eq!(created, joined);
            let total = run.trace.total_cpu().0;
            let spans = makespans(&run, &[1, 2, 4]);
            // What the first process does alone comes on top.
            let near = |span: u64, wanted: u64| (wanted..wanted + wanted / 4).contains(&span);
            let shared = [total, total / 2, total / 4];
            let all_near = spans
                .iter()
                .zip(shared)
                .all(|(&span, wanted)| near(span, wanted));
            (!all_near).then(|| format!("{spans:?} of {total}"))
        })
        .collect();
    assert!(missed.len() < 5, "{missed:?}");
}

#[test]
fn an_end_that_is_found_in_passing_is_no_wait() {
    let run = record("reaps_in_passing.c");
    assert_eq!(run.stdout(), "12 ended, the last was waited for\n");
    // The kernel has told of each before anybody looks.
    let reaper = run.lines("T1");
    let joins = |line: &&String| line.starts_with("join ");
    assert_eq!(reaper.iter().filter(joins).count(), 12);
    let returns = |pair: &[String]| pair[0].starts_with("join ") && pair[1].starts_with("return");
    assert_eq!(reaper.windows(2).filter(|pair| returns(pair)).count(), 0);
    let main = run.lines("main");
    let waited = |pair: &[String]| pair[0].starts_with("join reaps") && pair[1] == "return";
    assert_eq!(main.windows(2).filter(|pair| waited(pair)).count(), 1);
}

#[test]
fn every_way_to_start_a_process_is_seen_and_every_way_to_wait_for_one() {
    let run = record("started_processes.c");
    assert_eq!(run.stdout(), "seven children\n");
    let main = ThreadId(0);
    let lines: Vec<String> = run
        .lines("main")
        .into_iter()
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    let begun = lines.iter().filter(|line| *line == "create").count();
    let awaited = lines.iter().filter(|line| *line == "join").count();
    assert_eq!((begun, awaited), (6, 6), "{:?}", run.lines("main"));
    // Nobody but the first came from nowhere, also of those that shells started.
    let (created, joined) = created_and_joined(&run);
    for index in 1..run.trace.threads.len() {
        let thread = ThreadId::from_index(index);
        assert!(created.contains(&thread), "{:?}", run.trace.threads[index]);
    }
    assert!(!created.contains(&main) && !joined.contains(&main));
    let _ = makespans(&run, &[1, 2]);
}

#[test]
fn what_a_child_of_vfork_does_is_not_its_parents_doing() {
    let run = record("vfork_works.c");
    assert_eq!(run.stdout(), "status 0\n");
    assert_eq!(run.count("lock mutex1"), 6);
    let lines = run.lines("main");
    assert!(lines[6].starts_with("create vfork_works-"), "{lines:?}");
    assert!(lines[11].starts_with("join vfork_works-"), "{lines:?}");
    assert_eq!(run.count("sleep"), 0);
    assert!(run.trace.warnings.is_empty(), "{:?}", run.trace.warnings);
}

#[test]
fn what_processes_share_is_one_object_for_all_of_them() {
    let run = record("process_shared.c");
    assert_eq!(run.stdout(), "60 42\n");
    let of = |kind: ObjectKind| {
        let objects = run.trace.objects.iter();
        objects.filter(|object| object.kind == kind).count()
    };
    // In the memory without a name, and in the file; the second condition and barrier nobody uses.
    assert_eq!(of(ObjectKind::Mutex), 2);
    assert_eq!(of(ObjectKind::Cond), 1);
    assert_eq!(of(ObjectKind::Barrier), 1);
    assert_eq!(of(ObjectKind::Semaphore), 2);
    assert_eq!(of(ObjectKind::Futex), 1);
    assert_eq!(run.count("sem_post semaphore1"), 3);
    assert_eq!(run.count("sem_wait semaphore1"), 3);
    assert_eq!(run.count("barrier_wait barrier1"), 3);
    assert_eq!(run.count("lock mutex1"), 3 * 20);
    assert_eq!(run.count("lock mutex2"), 2);
    let _ = makespans(&run, &[1, 2, 4]);
}
