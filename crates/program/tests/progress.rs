//! Threads that keep behind others' steps: whose steps they need is known also where nobody had to wait for them, and of threads that
//! tell nothing themselves.

use std::fmt::Write as _;

use foretrace_program::{Action, Pattern, Program};
use foretrace_testkit::trace;

/// Each course has so many steps.
const STEPS: usize = 6;

/// A recording of threads that work on pictures, each with a mutex and a condition variable.
struct Pictures {
    text: String,
    events: usize,
    /// The events by which each picture's steps were told.
    told: Vec<Vec<u32>>,
}

impl Pictures {
    fn new() -> Self {
        let mut pictures = Self {
            text: "returns explicit\n".to_owned(),
            events: 0,
            told: Vec::new(),
        };
        pictures.row("A create B").row("A create C");
        pictures
    }

    fn row(&mut self, row: &str) -> &mut Self {
        self.events += 1;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{} {row}", self.events);
        self
    }

    fn tell(&mut self, thread: &str, picture: usize) {
        self.row(&format!("{thread} lock m{picture} site=prog+0x10"));
        self.row(&format!("{thread} cond_broadcast c{picture}"));
        self.row(&format!("{thread} unlock m{picture}"));
        self.told
            .resize(self.told.len().max(picture + 1), Vec::new());
        self.told[picture].push(self.events as u32 - 1);
    }

    fn look(&mut self, thread: &str, picture: usize) {
        self.row(&format!("{thread} lock m{picture} site=prog+0x20"));
        self.row(&format!("{thread} unlock m{picture}"));
    }

    /// A thread finds that a picture is not far enough, and another tells its next step.
    fn wait_for(&mut self, thread: &str, picture: usize, other: &str) {
        self.row(&format!("{thread} lock m{picture} site=prog+0x20"));
        self.row(&format!("{thread} cond_wait c{picture} m{picture}"));
        self.tell(other, picture);
        self.row(&format!("{thread} return"));
        self.row(&format!("{thread} unlock m{picture}"));
    }

    /// B needs the two next steps of A's before each of its own, and waits for the second; then A works on the next picture, and finds each
    /// time that B is far enough.
    fn two_that_follow_each_other() -> Self {
        let mut pictures = Self::new();
        pictures.tell("A", 0);
        for _ in 1..STEPS {
            pictures.wait_for("B", 0, "A");
            pictures.tell("B", 1);
        }
        pictures.look("B", 0);
        pictures.tell("B", 1);
        for _ in 0..STEPS {
            pictures.look("A", 1);
            pictures.tell("A", 2);
        }
        pictures
    }

    fn program(&self) -> Program {
        let mut text = self.text.clone();
        for thread in ["B", "C", "A"] {
            let _ = writeln!(text, "{} {thread} terminate", self.events + 1);
        }
        Program::from_trace(&trace(&text))
    }

    /// Returns the events that have to have taken place before each step of one that keeps behind a picture.
    fn behind(&self, picture: usize) -> Vec<u32> {
        let told = &self.told[picture];
        let steps = (0..STEPS).map(|step| told[(step + 1).min(STEPS - 1)]);
        steps.collect()
    }

    /// Returns the events that a thread waits for.
    fn needs(&self, thread: usize) -> Vec<u32> {
        let program = self.program();
        let range = program.threads[thread].operations.clone();
        let waits = range.filter(|&position| {
            matches!(program.operations.action(position), Action::AwaitWake(_))
        });
        let needs = waits.flat_map(|position| program.requirements_of(position));
        needs
            .map(|&release| program.operations.event(release))
            .collect()
    }
}

#[test]
fn courses_that_nobody_had_to_wait_for_are_followed() {
    let pictures = Pictures::two_that_follow_each_other();
    let found = pictures.program().structures;
    let found: Vec<_> = found.iter().map(|one| (one.pattern, one.waits)).collect();
    let progress = Some(Pattern::Progress);
    let waits = STEPS as u64 - 1;
    assert_eq!(found, [(progress, waits), (progress, 0), (progress, 0)]);
    assert_eq!(pictures.needs(1), pictures.behind(0));
    assert_eq!(pictures.needs(0), pictures.behind(1));
}

#[test]
fn who_tells_nothing_has_come_as_far_as_it_has_looked() {
    let mut pictures = Pictures::two_that_follow_each_other();
    for _ in 0..2 * STEPS {
        pictures.look("C", 2);
    }
    let behind = pictures.behind(2);
    let twice: Vec<u32> = behind.iter().flat_map(|&told| [told; 2]).collect();
    assert_eq!(pictures.needs(2), twice);
}

#[test]
fn who_looks_less_often_than_there_are_steps_needs_what_it_waited_for() {
    let mut pictures = Pictures::two_that_follow_each_other();
    for _ in 1..STEPS {
        pictures.look("C", 2);
    }
    assert_eq!(pictures.needs(2), []);
}

#[test]
fn waits_of_threads_that_tell_nothing_say_how_far_all_keep_behind() {
    let mut pictures = Pictures::new();
    // B keeps behind A, and tells nothing.
    pictures.tell("A", 0);
    for _ in 1..STEPS {
        pictures.wait_for("B", 0, "A");
    }
    pictures.look("B", 0);
    // C tells, and finds that A is far enough.
    for _ in 0..STEPS {
        pictures.look("C", 0);
        pictures.tell("C", 1);
    }
    assert_eq!(pictures.needs(1), pictures.behind(0));
    assert_eq!(pictures.needs(2), pictures.behind(0));
}

#[test]
fn looks_of_which_one_record_tells_are_that_many() {
    let mut pictures = Pictures::two_that_follow_each_other();
    pictures.row("C lock_sections m2 2 site=prog+0x20 held=0");
    for _ in 2..2 * STEPS {
        pictures.look("C", 2);
    }
    let behind = pictures.behind(2);
    let twice = behind.iter().flat_map(|&told| [told; 2]);
    // The first two have one need.
    assert_eq!(pictures.needs(2), twice.skip(1).collect::<Vec<u32>>());
}
