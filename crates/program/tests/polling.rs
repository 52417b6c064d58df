//! Threads that look again and again, and what becomes of that.

use std::{collections::BTreeMap, fmt::Write as _};

use foretrace_program::{Action, Pattern, Program};
use foretrace_testkit::trace;

/// A recording on one CPU, in which time passes only while somebody works.
#[derive(Default)]
struct Recording {
    text: String,
    time: u64,
    cpu: BTreeMap<String, u64>,
}

impl Recording {
    fn new() -> Self {
        let mut recording = Self {
            text: "returns explicit\n".to_owned(),
            ..Self::default()
        };
        recording.does("A", 10, "create B");
        recording.does("A", 10, "create C");
        recording
    }

    /// A thread works for some nanoseconds, then calls something.
    fn does(&mut self, thread: &str, work: u64, call: &str) {
        self.time += work;
        let cpu = self.cpu.entry(thread.to_owned()).or_default();
        *cpu += work;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{} {thread} {call} cpu={cpu}", self.time);
    }

    /// Works, then is in a section of the mutex.
    fn section(&mut self, thread: &str, work: u64, site: u32) {
        self.does(thread, work, &format!("lock m site=prog+0x{site:x}"));
        self.does(thread, 10, "unlock m");
    }

    /// Looks so many times.
    fn looks(&mut self, thread: &str, times: u64, site: u32) {
        self.section(thread, 10, site);
        self.does(
            thread,
            times * 20,
            &format!(
                "lock_sections m {times} site=prog+0x{site:x} held={}",
                times * 10
            ),
        );
    }

    fn program(&mut self) -> Program {
        for thread in ["B", "C", "A"] {
            self.does(thread, 10, "terminate");
        }
        Program::from_trace(&trace(&self.text))
    }
}

const ARRIVE: u32 = 16;
const LOOK: u32 = 32;

/// B comes first, looks while C works, and goes on; then the other way round.
fn barrier() -> Recording {
    let mut recording = Recording::new();
    for (first, last) in [("B", "C"), ("C", "B")] {
        recording.section(first, 100_000, ARRIVE);
        recording.looks(first, 100, LOOK);
        recording.section(last, 200_000, ARRIVE);
        recording.section(last, 10, LOOK);
        recording.section(first, 10, LOOK);
    }
    recording
}

fn patterns(program: &Program) -> Vec<Option<Pattern>> {
    program
        .structures
        .iter()
        .map(|structure| structure.pattern)
        .collect()
}

fn count(program: &Program, is: impl Fn(Action) -> bool) -> usize {
    let operations = program.operations.iter();
    operations.filter(|operation| is(operation.action)).count()
}

#[test]
fn threads_that_look_until_all_arrived_wait_at_a_barrier() {
    let program = barrier().program();
    assert_eq!(patterns(&program), [Some(Pattern::Barrier { threads: 2 })]);
    assert_eq!(program.structures[0].waits, 2);
    assert_eq!(
        count(&program, |action| matches!(action, Action::Barrier(_))),
        4
    );
    // The arrivals alone still lock; and all CPU time is there, for one CPU.
    assert_eq!(
        count(&program, |action| matches!(action, Action::Lock(_))),
        4
    );
    let all: u64 = barrier().cpu.values().sum();
    assert_eq!(program.work_nanos(), all + 30);
}

#[test]
fn a_thread_that_looks_for_what_another_does_waits_for_that() {
    let mut recording = Recording::new();
    recording.looks("B", 100, LOOK);
    recording.section("C", 200_000, ARRIVE);
    recording.does("C", 50_000, "sem_post s");
    recording.section("B", 10, LOOK);
    let program = recording.program();
    assert_eq!(patterns(&program), [Some(Pattern::Polling)]);
    let poll = |action| matches!(action, Action::Poll(_));
    let index = program
        .operations
        .iter()
        .position(|operation| poll(operation.action));
    let index = index.expect("B polls") as u32;
    let [release] = program.requirements_of(index) else {
        panic!("it waits for one thing");
    };
    assert!(matches!(
        program.operations.action(*release),
        Action::Wake(_)
    ));
    // The hundred looks are one wait; the first and the last are as they were.
    assert_eq!(
        count(&program, |action| matches!(action, Action::Lock(_))),
        3
    );
}

#[test]
fn work_under_a_lock_is_no_polling() {
    // B goes on by itself, in the midst of its turn.
    let mut recording = barrier();
    recording.looks("B", 100, LOOK);
    recording.does("B", 10, "sem_post s");
    assert_eq!(patterns(&recording.program()), []);
    // Nobody did anything meanwhile.
    let mut recording = Recording::new();
    recording.looks("B", 100, LOOK);
    recording.does("C", 200_000, "sem_post s");
    recording.section("B", 10, LOOK);
    recording.does("B", 10, "sem_post s");
    assert_eq!(patterns(&recording.program()), []);
}

#[test]
fn who_takes_tasks_until_others_took_the_last_does_not_poll() {
    let take = |recording: &mut Recording, work| {
        for _ in 0..30 {
            recording.section("B", work, LOOK);
        }
        recording.section("C", 200_000, ARRIVE);
        recording.section("B", work, LOOK);
        recording.does("B", 10, "sem_post s");
    };
    let mut recording = Recording::new();
    take(&mut recording, 5_000);
    assert_eq!(patterns(&recording.program()), []);
    // Who does nothing in between, looks.
    let mut recording = Recording::new();
    take(&mut recording, 50);
    assert_eq!(patterns(&recording.program()), [Some(Pattern::Polling)]);
}

#[test]
fn who_goes_on_before_all_arrived_does_not_wait_at_a_barrier() {
    let mut recording = barrier();
    recording.section("B", 100_000, ARRIVE);
    recording.section("B", 10, LOOK);
    recording.section("C", 100_000, ARRIVE);
    let program = recording.program();
    assert_eq!(patterns(&program), [Some(Pattern::Polling)]);
}

#[test]
fn tries_until_one_succeeds_are_a_wait_for_the_lock() {
    let mut recording = Recording::new();
    recording.does("C", 10, "lock m");
    for _ in 0..3 {
        recording.does("B", 1_000, "trylock m busy site=prog+0x10");
    }
    recording.does("B", 1_000, "trylocks m 500 busy site=prog+0x10");
    recording.does("C", 10_000, "unlock m");
    recording.does("B", 1_000, "trylock m ok site=prog+0x10");
    recording.does("B", 500, "unlock m");
    let program = recording.program();
    let polls: Vec<u64> = program
        .operations
        .iter()
        .filter(|operation| matches!(operation.action, Action::Poll(_)))
        .map(|operation| operation.work_nanos)
        .collect();
    // But for the first try, before which B did something else.
    assert_eq!(polls, [4_000]);
    // Nor does it matter by which call it gets the lock at last, if it tried often enough to do nothing else.
    for (failures, work) in [(50, vec![3_000]), (5, vec![])] {
        let mut recording = Recording::new();
        recording.does("C", 10, "lock m");
        recording.does("B", 1_000, "trylock m busy site=prog+0x10");
        let often = format!("trylocks m {failures} busy site=prog+0x20");
        recording.does("B", 2_000, &often);
        recording.does("C", 10_000, "unlock m");
        recording.does("B", 1_000, "lock m site=prog+0x30");
        recording.does("B", 500, "unlock m");
        let program = recording.program();
        let polls = program.operations.iter();
        let polls = polls.filter(|operation| matches!(operation.action, Action::Poll(_)));
        let took: Vec<u64> = polls.map(|operation| operation.work_nanos).collect();
        assert_eq!(took, work, "{failures}");
    }
    // Who gives up does not wait.
    let mut recording = Recording::new();
    recording.does("C", 10, "lock m");
    recording.does("B", 1_000, "trylock m busy site=prog+0x10");
    recording.does("B", 1_000, "trylock m busy site=prog+0x10");
    recording.does("C", 10_000, "unlock m");
    let program = recording.program();
    assert_eq!(
        count(&program, |action| matches!(action, Action::Poll(_))),
        0
    );
}

#[test]
fn looking_at_memory_between_tries_is_part_of_the_wait() {
    // The first try is a call of its own, as compilers make one of a loop.
    let recorded = |got: &str| {
        let mut recording = Recording::new();
        recording.does("C", 10, "trylock m ok site=prog+0x10");
        recording.does("B", 1_000, "trylock m busy site=prog+0x10");
        recording.does("B", 0, "spin looked=500 site=prog+0x18");
        recording.does("C", 10_000, "unlock m");
        recording.does("B", 0, "return");
        recording.does("B", 100, got);
        recording.does("B", 500, "unlock m");
        recording.program()
    };
    let program = recorded("trylock m ok site=prog+0x20");
    let is_poll = |action: Action| matches!(action, Action::Poll(_));
    let is_await = |action: Action| matches!(action, Action::Await(_));
    assert_eq!(count(&program, is_poll), 1);
    assert_eq!(count(&program, is_await), 0);
    assert_eq!(program.tried.len(), 1);
    assert_eq!(patterns(&program), [Some(Pattern::Tries)]);
    assert_eq!(program.structures[0].waits, 1);
    assert_eq!(program.structures[0].sites.len(), 2);
    // One that sleeps when it has looked is another lock.
    let program = recorded("lock m site=prog+0x20");
    assert_eq!(count(&program, is_poll), 0);
    assert!(program.tried.is_empty());
}
