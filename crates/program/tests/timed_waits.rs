//! Waits that threads begin anew whenever their time has run out, until what they wait for is there.

use std::fmt::Write as _;

use foretrace_program::{Action, Pattern, Program};
use foretrace_testkit::trace;

/// The calls at which the worker locks to wait and to tell that it is done, and at which main locks to give it something to do and to wait for that.
const WAITS: &str = "10";
const IS_DONE: &str = "20";
const BEGINS: &str = "30";
const AWAITS: &str = "40";

/// A recording of a main thread, A, and a worker, B, that let each other go on by one condition variable.
struct Recording {
    text: String,
    time: u64,
    /// The CPU time that A and B have used.
    cpu: [u64; 2],
}

impl Recording {
    fn new() -> Self {
        let mut recording = Self {
            text: "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\n\
                   thread A\nthread B\n"
                .to_owned(),
            time: 0,
            cpu: [0, 0],
        };
        recording.does("A create B");
        recording
    }

    fn does(&mut self, row: &str) -> &mut Self {
        let (thread, call) = row.split_once(' ').expect("a thread and what it does");
        self.time += 1_000;
        let cpu = &mut self.cpu[usize::from(thread == "B")];
        *cpu += 1_000;
        writeln!(self.text, "{} {thread} {call} cpu={cpu}", self.time).expect("a string");
        self
    }

    fn works(&mut self, thread: &str, nanos: u64) -> &mut Self {
        self.time += nanos;
        self.cpu[usize::from(thread == "B")] += nanos;
        self
    }

    /// A thread looks so often whether it has to wait, each time under the mutex, and waits.
    fn looks(&mut self, thread: &str, site: &str, times: usize) -> &mut Self {
        for look in 0..times {
            if look > 0 {
                self.goes_on(thread, " timedout");
            }
            self.does(&format!("{thread} lock m site=prog+0x{site}"));
            self.does(&format!("{thread} cond_timedwait c m"));
            self.time += 100_000;
        }
        self
    }

    fn goes_on(&mut self, thread: &str, how: &str) -> &mut Self {
        self.does(&format!("{thread} return{how}"))
            .does(&format!("{thread} unlock m"))
    }

    fn tells(&mut self, thread: &str, site: &str) -> &mut Self {
        self.does(&format!("{thread} lock m site=prog+0x{site}"))
            .does(&format!("{thread} cond_signal c"))
            .does(&format!("{thread} unlock m"))
    }

    /// Main gives the worker something to do, and waits for that; both look so often, and what ends main's last wait is its return with this outcome.
    fn round(&mut self, looks: usize, how: &str) -> &mut Self {
        self.looks("B", WAITS, looks)
            .tells("A", BEGINS)
            .goes_on("B", "")
            .works("B", 500_000)
            .looks("A", AWAITS, looks)
            .tells("B", IS_DONE)
            .goes_on("A", how)
    }

    fn program(&self) -> Program {
        let end = self.time + 1_000;
        let [a, b] = self.cpu;
        let text = format!(
            "{}{end} B terminate cpu={b}\n{end} A terminate cpu={a}\n",
            self.text
        );
        Program::from_trace(&trace(&text))
    }
}

fn patterns(program: &Program) -> Vec<Option<Pattern>> {
    let structures = program.structures.iter();
    structures.map(|found| found.pattern).collect()
}

fn actions(program: &Program, thread: usize) -> Vec<Action> {
    let operations = program.threads[thread].operations.clone();
    let actions = operations.map(|position| program.operations.action(position));
    actions.collect()
}

/// Returns how often a thread waits for what another tells, and how often it takes and gives up the mutex.
fn waits_locks_and_unlocks(program: &Program, thread: usize) -> [usize; 3] {
    let actions = actions(program, thread);
    let count = |is: fn(&Action) -> bool| actions.iter().filter(|action| is(action)).count();
    [
        count(|action| matches!(action, Action::AwaitWake(_))),
        count(|action| matches!(action, Action::Lock(_))),
        count(|action| matches!(action, Action::Unlock(_))),
    ]
}

#[test]
fn who_looks_again_whenever_its_time_has_run_out_waits_once_however_often_it_looks() {
    for looks in [1, 2, 7] {
        let mut recording = Recording::new();
        for _ in 0..5 {
            recording.round(looks, "");
        }
        let program = recording.program();
        assert_eq!(patterns(&program), [Some(Pattern::Rounds)], "{looks} looks");
        for thread in [0, 1] {
            // Each waits once a round, and tells once a round.
            assert_eq!(waits_locks_and_unlocks(&program, thread), [5, 10, 10]);
        }
    }
}

#[test]
fn who_was_told_while_its_time_ran_out_had_what_it_waited_for() {
    let mut recording = Recording::new();
    for round in 0..6 {
        let how = if round % 2 == 0 { " timedout" } else { "" };
        recording.round(3, how);
    }
    let program = recording.program();
    assert_eq!(patterns(&program), [Some(Pattern::Rounds)]);
    assert_eq!(waits_locks_and_unlocks(&program, 0), [6, 12, 12]);
}

#[test]
fn what_looking_takes_is_no_work_where_others_run_meanwhile() {
    let mut recording = Recording::new();
    for _ in 0..5 {
        recording.round(4, "");
    }
    let program = recording.program();
    let lingers = actions(&program, 0)
        .into_iter()
        .filter(|action| *action == Action::Linger);
    assert_eq!(lingers.count(), 5);
}

#[test]
fn who_gives_up_needs_nothing() {
    let mut recording = Recording::new();
    for _ in 0..5 {
        recording.round(2, "");
    }
    recording
        .looks("B", WAITS, 3)
        .goes_on("B", " timedout")
        .works("B", 300_000);
    let program = recording.program();
    assert_eq!(patterns(&program), [Some(Pattern::Rounds)]);
    let [waits, locks, unlocks] = waits_locks_and_unlocks(&program, 1);
    assert_eq!(waits, 5);
    assert_eq!(locks, unlocks);
}
