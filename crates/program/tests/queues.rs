//! Queues whose takers wait each at a condition variable of its own, and for other things, too.

use std::fmt::Write as _;

use foretrace_program::{Action, Pattern, Program};
use foretrace_testkit::trace;

/// The calls at which workers lock to take, at which main locks to put, and at which it ends.
const TAKE: &str = "10";
const PUT: &str = "20";
const CLOSE: &str = "30";

/// A recording of a main thread, A, that puts, and of workers B and C that take.
struct Recording {
    text: String,
    time: u64,
}

impl Recording {
    /// Begins with these start routines.
    fn new(routines: [&str; 2]) -> Self {
        let [b, c] = routines;
        let mut recording = Self {
            text: format!(
                "foretrace-text 1\nreturns explicit\nrecording command prog\nmodule prog /prog\nthread A\n\
                 thread B start=prog+0x{b}\nthread C start=prog+0x{c}\n"
            ),
            time: 0,
        };
        recording.does("A create B").does("A create C");
        recording
    }

    fn does(&mut self, row: &str) -> &mut Self {
        let (thread, call) = row.split_once(' ').expect("a thread and what it does");
        self.time += 1_000;
        writeln!(self.text, "{} {thread} {call} cpu={}", self.time, self.time).expect("a string");
        self
    }

    fn locks(&mut self, thread: &str, site: &str) -> &mut Self {
        self.does(&format!("{thread} lock m site=prog+0x{site}"))
    }

    /// A worker waits at its own condition variable.
    fn waits(&mut self, thread: &str) -> &mut Self {
        self.locks(thread, TAKE);
        self.does(&format!("{thread} cond_wait {} m", own(thread)))
    }

    /// A worker that does not wait takes.
    fn takes(&mut self, thread: &str) -> &mut Self {
        self.locks(thread, TAKE).does(&format!("{thread} unlock m"))
    }

    /// A worker that was waiting takes.
    fn goes_on(&mut self, thread: &str) -> &mut Self {
        self.does(&format!("{thread} return"))
            .does(&format!("{thread} unlock m"))
    }

    /// Main puts something, and tells one that waits.
    fn puts(&mut self, wakes: Option<&str>) -> &mut Self {
        self.tells(PUT, wakes.as_slice())
    }

    fn tells(&mut self, site: &str, wakes: &[&str]) -> &mut Self {
        self.locks("A", site);
        for thread in wakes {
            self.does(&format!("A cond_signal {}", own(thread)));
        }
        self.does("A unlock m")
    }

    /// A worker tells main that a task is done.
    fn is_done(&mut self, thread: &str) -> &mut Self {
        self.locks(thread, "40");
        self.does(&format!("{thread} cond_broadcast all"));
        self.does(&format!("{thread} unlock m"))
    }

    /// Nothing comes any more.
    fn ends(&mut self) -> &mut Self {
        self.waits("B").waits("C").tells(CLOSE, &["B", "C"]);
        self.goes_on("B").goes_on("C");
        for thread in ["B", "C", "A"] {
            self.does(&format!("{thread} terminate"));
        }
        self
    }

    fn program(&self) -> Program {
        Program::from_trace(&trace(&self.text))
    }

    /// Lowers the recording as far as it would have come where the process was killed after any of its events.
    fn lower_with_any_end(&self) {
        let rows: Vec<&str> = self.text.split_inclusive('\n').collect();
        for end in 9..rows.len() {
            Program::from_trace(&trace(&rows[..end].concat()));
        }
    }

    fn patterns(&self) -> Vec<Option<Pattern>> {
        self.lower_with_any_end();
        let program = self.program();
        program
            .structures
            .iter()
            .map(|found| found.pattern)
            .collect()
    }
}

/// The condition variable at which a worker waits.
fn own(thread: &str) -> String {
    format!("own_{thread}")
}

/// Workers wait where nothing is there, and once though something is: for something else.
fn rounds(recording: &mut Recording) -> &mut Recording {
    recording.waits("B").waits("C");
    for _ in 0..3 {
        recording.puts(Some("B")).puts(None).goes_on("B").takes("B");
        recording.waits("B");
    }
    recording.puts(None).puts(Some("C")).goes_on("C");
    recording.waits("C").tells("40", &["C"]).goes_on("C");
    recording.puts(Some("B")).goes_on("B")
}

const QUEUE: Option<Pattern> = Some(Pattern::Semaphore { initial: 0 });

#[test]
fn who_puts_as_often_as_others_take_fills_their_queue() {
    let mut recording = Recording::new(["100", "100"]);
    rounds(&mut recording).ends();
    assert_eq!(recording.patterns(), [QUEUE, QUEUE]);
    let program = recording.program();
    let count = |thread: usize, name: &str| {
        let operations = program.threads[thread].operations.clone();
        let names = operations.map(|position| program.operation_name(position));
        names.filter(|other| *other == name).count()
    };
    assert_eq!((count(0, "sem_post"), count(0, "once")), (9, 1));
    assert_eq!(count(1, "sem_wait") + count(2, "sem_wait"), 9);
    // The end, which takes nothing.
    assert_eq!((count(1, "once"), count(2, "once")), (1, 1));
    assert_eq!(program.pools.len(), 1);
    assert_eq!(program.pools[0].task_count(), 9);
}

#[test]
fn takers_that_wait_to_the_end_of_the_recording_take_no_more() {
    let mut recording = Recording::new(["100", "100"]);
    rounds(&mut recording).waits("B").waits("C");
    recording.does("A terminate");
    assert_eq!(recording.patterns(), [QUEUE, QUEUE]);
    let program = recording.program();
    assert_eq!(program.pools.len(), 1);
    assert!(program.pools[0].task_count() >= 8);
}

#[test]
fn threads_that_do_different_things_take_from_no_common_queue() {
    let mut recording = Recording::new(["100", "200"]);
    rounds(&mut recording).ends();
    assert_eq!(recording.patterns(), [None, None]);
}

#[test]
fn what_is_taken_before_it_is_put_is_no_queue() {
    let mut recording = Recording::new(["100", "100"]);
    recording.takes("B");
    rounds(&mut recording).puts(None).ends();
    assert_eq!(recording.patterns(), [None, None]);
}

#[test]
fn where_something_is_always_there_when_threads_wait_they_wait_for_something_else() {
    let mut recording = Recording::new(["100", "100"]);
    for _ in 0..4 {
        recording
            .puts(None)
            .waits("B")
            .tells("40", &["B"])
            .goes_on("B");
        recording
            .puts(None)
            .waits("C")
            .tells("50", &["C"])
            .goes_on("C");
    }
    recording.ends();
    assert_eq!(recording.patterns(), [None, None]);
}

/// Main puts three tasks, does one of them itself, and waits until all are done; where it `leaves` some, it looks in between without taking one.
fn helped(leaves: bool) -> Recording {
    let mut recording = Recording::new(["100", "100"]);
    recording.waits("B").waits("C");
    for _ in 0..3 {
        recording.puts(Some("B")).puts(Some("C")).puts(None);
        if leaves {
            recording.tells("60", &[]);
        }
        recording.tells("50", &[]).goes_on("B").goes_on("C");
        recording.is_done("B").waits("B");
        recording.locks("A", "54").does("A cond_wait all m");
        recording.is_done("C").waits("C").goes_on("A");
    }
    recording.tells(CLOSE, &["B", "C"]);
    recording.goes_on("B").goes_on("C");
    for thread in ["B", "C", "A"] {
        recording.does(&format!("{thread} terminate"));
    }
    recording
}

#[test]
fn who_puts_tasks_may_take_some_and_then_wait_until_all_are_done() {
    let recording = helped(false);
    assert_eq!(recording.patterns(), [QUEUE, QUEUE, Some(Pattern::Count)]);
    let program = recording.program();
    let actions = program.threads[0].operations.clone();
    let finds_none =
        |position: &u32| matches!(program.operations.action(*position), Action::FindNone(_));
    assert_eq!(actions.filter(finds_none).count(), 3);
    assert_eq!(program.helpers.len(), 1);
    let [pool] = &program.pools[..] else {
        panic!("{:?}", program.no_pools)
    };
    assert_eq!((pool.workers.len(), pool.task_count()), (3, 9));
    let leaves: Vec<usize> = pool
        .workers
        .iter()
        .map(|worker| worker.leaves.len())
        .collect();
    assert_eq!(leaves, [0, 0, 3]);
}

#[test]
fn who_looks_and_takes_nothing_though_something_is_there_does_not_help() {
    let program = helped(true).program();
    assert!(program.helpers.is_empty());
}

/// B and C take from a list, to which both add two things now and then in the section in which they take the next: one is there at first. They do so by these
/// calls. With `in_vain` C waits once though something is there.
fn added_to(adds: &[&str], in_vain: bool) -> Recording {
    let mut recording = Recording::new(["77", "77"]);
    let again = |recording: &mut Recording, thread: &str, calls: &[&str]| {
        recording.locks(thread, "50");
        for call in calls {
            recording.does(&format!("{thread} {call}"));
        }
        recording.does(&format!("{thread} unlock m"));
    };
    let waits = |recording: &mut Recording, thread: &str, site: &str| {
        recording.locks(thread, site);
        recording.does(&format!("{thread} cond_wait c m"));
    };
    recording.takes("B");
    waits(&mut recording, "C", TAKE);
    again(&mut recording, "B", adds);
    recording.goes_on("C");
    again(&mut recording, "B", adds);
    if in_vain {
        waits(&mut recording, "C", "50");
        recording.goes_on("C");
    } else {
        again(&mut recording, "C", &[]);
    }
    for (thread, other) in [("B", "C"), ("C", "B")] {
        waits(&mut recording, thread, "50");
        again(&mut recording, other, adds);
        recording.goes_on(thread);
    }
    waits(&mut recording, "B", "50");
    again(&mut recording, "C", &["cond_broadcast c"]);
    recording.goes_on("B");
    recording
}

#[test]
fn who_takes_from_a_list_may_add_to_it_at_once() {
    for adds in [
        &["cond_broadcast c"][..],
        &["cond_signal c", "cond_signal c"],
    ] {
        let recording = added_to(adds, false);
        let semaphore = Some(Pattern::Semaphore { initial: 1 });
        assert_eq!(recording.patterns(), [semaphore], "{adds:?}");
        let program = recording.program();
        let count = |thread: usize, name: &str| {
            let operations = program.threads[thread].operations.clone();
            let names = operations.map(|position| program.operation_name(position));
            names.filter(|&other| other == name).count()
        };
        let of_both = |name| [1, 2].map(|thread| count(thread, name));
        assert_eq!(of_both("sem_post"), [6, 2]);
        assert_eq!(of_both("sem_wait"), [5, 4]);
        // Whoever comes to the end waits for the other.
        assert_eq!(of_both("barrier_wait"), [1, 1]);
    }
    assert_eq!(added_to(&["cond_broadcast c"], true).patterns(), [None]);
}
