//! What condition variables are found to be, and what becomes of their events.

use std::fmt::Write as _;

use foretrace_program::{Action, Pattern, Program};
use foretrace_testkit::trace;

/// A recording written row by row: one mutex, and calls that are named by where they are made.
struct Rows {
    text: String,
    time: u64,
}

impl Rows {
    fn new() -> Self {
        let mut rows = Self {
            text: "returns explicit\n".to_owned(),
            time: 0,
        };
        rows.row("A create B", None);
        rows.row("A create C", None);
        rows
    }

    fn row(&mut self, row: &str, site: Option<&str>) -> &mut Self {
        let (thread, rest) = row.split_once(' ').expect("a thread and what it does");
        self.time += 1;
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{} {thread} {rest}", self.time);
        if let Some(site) = site {
            let _ = write!(self.text, " site=prog+0x{site}");
        }
        self.text.push('\n');
        self
    }

    /// A section that does not wait.
    fn section(&mut self, thread: &str, site: &str, within: &[&str]) -> &mut Self {
        self.row(&format!("{thread} lock m"), Some(site));
        for call in within {
            self.row(&format!("{thread} {call}"), None);
        }
        self.row(&format!("{thread} unlock m"), None)
    }

    /// The begin of a section that waits.
    fn waits(&mut self, thread: &str, site: &str, cond: &str) -> &mut Self {
        self.row(&format!("{thread} lock m"), Some(site));
        self.row(&format!("{thread} cond_wait {cond} m"), None)
    }

    /// The rest of it.
    fn goes_on(&mut self, thread: &str, within: &[&str]) -> &mut Self {
        self.row(&format!("{thread} return"), None);
        for call in within {
            self.row(&format!("{thread} {call}"), None);
        }
        self.row(&format!("{thread} unlock m"), None)
    }

    fn program(&self) -> Program {
        let mut text = self.text.clone();
        for thread in ["B", "C", "A"] {
            let _ = writeln!(text, "{} {thread} terminate", self.time + 1);
        }
        Program::from_trace(&trace(&text))
    }

    /// Lowers the recording as far as it would have come where the process, or one of its threads, was killed after any of its events.
    fn lower_with_any_end(&self) {
        let rows: Vec<&str> = self.text.split_inclusive('\n').collect();
        for end in 2..rows.len() {
            let lower = |ends: &dyn Fn(&str) -> bool| {
                let later = rows[end..].iter().filter(|row| !ends(row));
                let kept = rows[..end].iter().chain(later);
                Program::from_trace(&trace(&kept.copied().collect::<String>()))
            };
            lower(&|_| true);
            for thread in ["A", "B", "C"] {
                lower(&|row| row.split(' ').nth(1) == Some(thread));
            }
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

/// The names of a thread's operations.
fn operations(program: &Program, thread: usize) -> Vec<&'static str> {
    program.threads[thread]
        .operations
        .clone()
        .map(|position| program.operation_name(position))
        .collect()
}

/// Returns how many operations of a name a thread has.
fn count(program: &Program, thread: usize, name: &str) -> usize {
    let operations = operations(program, thread);
    operations.iter().filter(|other| **other == name).count()
}

#[test]
fn those_that_wait_for_the_last_one_again_and_again_are_a_barrier() {
    let mut rows = Rows::new();
    rows.waits("A", "10", "c").waits("B", "10", "c");
    rows.section("C", "10", &["cond_broadcast c"]);
    rows.goes_on("A", &[]).goes_on("B", &[]);
    // The last one is another.
    rows.waits("C", "10", "c").waits("A", "10", "c");
    rows.section("B", "10", &["cond_broadcast c"]);
    rows.goes_on("C", &[]).goes_on("A", &[]);
    assert_eq!(rows.patterns(), [Some(Pattern::Barrier { threads: 3 })]);
    let program = rows.program();
    let arrivals = ["lock", "unlock", "barrier_wait"];
    assert_eq!(
        operations(&program, 1),
        [&arrivals[..], &arrivals, &["terminate"]].concat()
    );
}

#[test]
fn a_barrier_that_one_passes_alone_is_none() {
    let mut rows = Rows::new();
    rows.waits("A", "10", "c").waits("B", "10", "c");
    rows.section("C", "10", &["cond_broadcast c"]);
    rows.goes_on("A", &[]).goes_on("B", &[]);
    rows.section("C", "10", &[]);
    rows.waits("A", "10", "c");
    rows.section("B", "10", &["cond_broadcast c"]);
    rows.goes_on("A", &[]);
    assert_eq!(rows.patterns(), [None]);
}

#[test]
fn one_that_always_waits_for_what_another_tells_elsewhere_is_no_barrier() {
    let mut rows = Rows::new();
    for _ in 0..3 {
        rows.waits("A", "10", "c");
        rows.section("B", "20", &["cond_broadcast c"]);
        rows.goes_on("A", &[]);
    }
    assert_eq!(rows.patterns(), [Some(Pattern::Semaphore { initial: 0 })]);
}

#[test]
fn a_bounded_queue_is_two_semaphores() {
    let mut rows = Rows::new();
    // B takes what A puts; there is room for one.
    rows.waits("B", "20", "full");
    rows.section("A", "10", &["cond_signal full"]);
    rows.goes_on("B", &["cond_signal room"]);
    rows.section("A", "10", &["cond_signal full"]);
    rows.waits("A", "10", "room");
    rows.section("B", "20", &["cond_signal room"]);
    rows.goes_on("A", &["cond_signal full"]);
    rows.section("B", "20", &["cond_signal room"]);
    assert_eq!(
        rows.patterns(),
        [
            Some(Pattern::Semaphore { initial: 0 }),
            Some(Pattern::Semaphore { initial: 1 })
        ]
    );
    let program = rows.program();
    let take = ["sem_wait", "lock", "unlock", "sem_post"];
    let producer = operations(&program, 0);
    assert_eq!(producer[2..6], take);
    assert_eq!(producer[6..10], take);
    assert_eq!(operations(&program, 1)[..4], take);
    assert_eq!(program.warnings, Vec::<String>::new());
}

#[test]
fn who_waits_until_the_process_ends_took_what_came_before() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c");
    rows.section("A", "10", &["cond_signal c"]);
    rows.goes_on("B", &[]);
    rows.waits("B", "20", "c").waits("C", "20", "c");
    assert_eq!(rows.patterns(), [Some(Pattern::Semaphore { initial: 0 })]);
    let program = rows.program();
    assert_eq!(
        operations(&program, 1),
        ["sem_wait", "lock", "unlock", "terminate"]
    );
}

#[test]
fn who_is_let_go_at_the_end_of_a_queue_takes_nothing_from_it() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c").waits("C", "20", "c");
    rows.section("A", "10", &["cond_signal c"]);
    rows.goes_on("B", &[]);
    rows.waits("B", "20", "c");
    // It says that nothing more will come; both find that out, and C looks once more.
    rows.section("A", "30", &["cond_broadcast c"]);
    rows.goes_on("B", &[]).goes_on("C", &[]);
    rows.section("C", "20", &[]);
    assert_eq!(rows.patterns(), [Some(Pattern::Semaphore { initial: 0 })]);
    let program = rows.program();
    let given = operations(&program, 0);
    let tokens = given.iter().filter(|name| **name == "sem_post").count();
    assert_eq!(
        tokens, 4,
        "one thing, and three that come in vain: {given:?}"
    );
}

#[test]
fn who_has_done_its_part_may_find_that_it_was_not_the_last() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c").waits("C", "20", "c");
    for thread in ["B", "C"] {
        rows.section("A", "10", &["cond_signal c"]);
        rows.goes_on(thread, &[]);
    }
    // Both do what they found, and put nothing there for others; the one that is ready last says so.
    rows.section("C", "30", &[]);
    rows.waits("C", "20", "c");
    rows.section("B", "30", &["cond_broadcast c"]);
    rows.goes_on("C", &[]);
    rows.section("B", "20", &[]);
    assert_eq!(rows.patterns(), [Some(Pattern::Semaphore { initial: 0 })]);
    let program = rows.program();
    let given = |thread: usize| count(&program, thread, "sem_post");
    assert_eq!([given(0), given(1), given(2)], [2, 2, 0]);
}

#[test]
fn who_looks_last_may_tell_the_others_that_nothing_will_come() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c").waits("C", "20", "c");
    for thread in ["B", "C"] {
        rows.section("A", "10", &["cond_signal c"]);
        rows.goes_on(thread, &[]);
    }
    rows.waits("C", "20", "c");
    // B finds nothing, and that it is the last; C tells it again.
    rows.section("B", "20", &["cond_broadcast c"]);
    rows.goes_on("C", &["cond_broadcast c"]);
    assert_eq!(rows.patterns(), [Some(Pattern::Semaphore { initial: 0 })]);
    let program = rows.program();
    let of_all = |name| [0, 1, 2].map(|thread| count(&program, thread, name));
    assert_eq!(of_all("sem_post"), [2, 0, 0]);
    // Whoever finds nothing last in a replay is the last.
    assert_eq!(of_all("barrier_wait"), [0, 1, 1]);
    let end = program.objects.last().expect("a barrier");
    assert_eq!((end.name.as_str(), end.initial), ("end of c", Some(2)));
}

#[test]
fn those_who_wait_for_different_things_may_do_so_on_one_condition_variable() {
    let mut rows = Rows::new();
    for round in 0..3 {
        rows.waits("B", "20", "c").waits("C", "20", "c");
        // A begins a round, and waits until both are done; the last one tells.
        rows.row("A lock m", Some("10"));
        rows.row("A cond_broadcast c", None)
            .row("A cond_wait c m", None);
        rows.goes_on("B", &[]).goes_on("C", &[]);
        let (first, last) = if round == 1 { ("B", "C") } else { ("C", "B") };
        rows.section(first, "30", &[]);
        rows.section(last, "30", &["cond_broadcast c"]);
        rows.goes_on("A", &[]);
    }
    let parts = [Pattern::Rounds, Pattern::Latch { count: 2 }];
    assert_eq!(rows.patterns(), parts.map(Some));
    let program = rows.program();
    assert_eq!(count(&program, 0, "sem_wait"), 6);
    assert_eq!([1, 2].map(|worker| told(&rows, worker).len()), [3, 3]);
    let other = program.objects.last().expect("an object");
    assert_eq!(other.name, "another use of c");
}

#[test]
fn a_broadcast_puts_as_many_things_as_are_taken_until_somebody_waits() {
    let begun = |takes: &[&str]| {
        let mut rows = Rows::new();
        rows.waits("B", "20", "c").waits("C", "20", "c");
        rows.section("A", "10", &["cond_broadcast c"]);
        rows.goes_on("B", &[]).goes_on("C", &[]);
        for taker in takes {
            rows.section(taker, "20", &[]);
        }
        rows.waits("C", "20", "c").waits("B", "20", "c");
        rows.section("A", "30", &["cond_broadcast c"]);
        rows.goes_on("B", &[]).goes_on("C", &[]);
        rows
    };
    let rows = begun(&["B", "B"]);
    assert_eq!(rows.patterns(), [Some(Pattern::Semaphore { initial: 0 })]);
    assert_eq!(count(&rows.program(), 0, "sem_post"), 4 + 2);
    // What each takes once may be for each.
    let rows = begun(&[]);
    let program = rows.program();
    assert_eq!(count(&program, 0, "sem_post"), 0);
}

#[test]
fn who_signals_for_each_thing_puts_as_many_as_it_signals() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c").waits("C", "20", "c");
    rows.section("A", "10", &["cond_signal c", "cond_signal c"]);
    rows.goes_on("B", &[]).goes_on("C", &[]);
    rows.waits("B", "20", "c");
    // What it signals before it waits itself is known by then.
    rows.row("A lock m", Some("10"));
    rows.row("A cond_signal c", None)
        .row("A cond_wait d m", None);
    rows.goes_on("B", &["cond_signal d"]);
    rows.goes_on("A", &["cond_signal c"]);
    rows.section("C", "20", &[]);
    rows.section("A", "10", &[]);
    rows.waits("B", "20", "c").waits("C", "20", "c");
    rows.section("A", "30", &["cond_broadcast c"]);
    rows.goes_on("B", &[]).goes_on("C", &[]);
    let semaphore = Some(Pattern::Semaphore { initial: 0 });
    assert_eq!(rows.patterns().first(), Some(&semaphore));
    let program = rows.program();
    let names = operations(&program, 0);
    let of_c = names.iter().filter(|name| **name == "sem_post").count();
    assert_eq!(of_c, 2 + 1 + 1 + 2, "{names:?}");
}

#[test]
fn who_finds_something_and_broadcasts_does_not_say_that_nothing_will_come() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c");
    for _ in 0..2 {
        rows.section("A", "10", &["cond_signal c"]);
    }
    rows.goes_on("B", &[]);
    // It takes the second one, and tells that there is room.
    rows.section("B", "20", &["cond_broadcast c"]);
    assert_eq!(rows.patterns(), [None]);
}

#[test]
fn those_who_wait_for_the_last_one_once_do_not_wait_for_tokens() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c").waits("C", "20", "c");
    rows.section("A", "20", &["cond_broadcast c"]);
    rows.goes_on("B", &[]).goes_on("C", &[]);
    assert_eq!(rows.patterns(), [None]);
}

#[test]
fn who_waits_for_what_any_worker_may_do_counts() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c").waits("C", "20", "c");
    for worker in ["B", "C"] {
        rows.section("A", "10", &["cond_signal c"]);
        rows.goes_on(worker, &[]);
    }
    // It looks for what one of them does, which is not the one that is ready first.
    rows.section("B", "30", &["cond_broadcast d"]);
    rows.waits("A", "40", "d");
    rows.section("C", "30", &["cond_broadcast d"]);
    rows.goes_on("A", &[]);
    // And then for one more.
    rows.waits("B", "20", "c");
    rows.section("A", "10", &["cond_signal c"]);
    rows.goes_on("B", &[]);
    rows.waits("A", "40", "d");
    rows.section("B", "30", &["cond_broadcast d"]);
    rows.goes_on("A", &[]);
    let semaphore = Some(Pattern::Semaphore { initial: 0 });
    assert_eq!(rows.patterns(), [semaphore, Some(Pattern::Count)]);
    let program = rows.program();
    assert_eq!(count(&program, 0, "sem_wait"), 3);
}

#[test]
fn a_signal_after_the_unlocking_is_the_sections() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c");
    rows.section("A", "10", &[]);
    rows.row("A cond_signal c", None);
    rows.goes_on("B", &[]);
    rows.section("A", "10", &[]);
    // B is quicker than the signal, which finds nobody.
    rows.section("B", "20", &[]);
    rows.row("A cond_signal c", None);
    assert_eq!(rows.patterns(), [Some(Pattern::Semaphore { initial: 0 })]);
}

#[test]
fn what_is_opened_once_is_a_gate() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c");
    rows.section("A", "10", &["cond_broadcast c"]);
    rows.goes_on("B", &[]);
    for _ in 0..3 {
        rows.section("C", "20", &[]);
    }
    assert_eq!(rows.patterns(), [Some(Pattern::Gate)]);
}

#[test]
fn one_that_waits_for_several_others_waits_at_a_latch() {
    let mut rows = Rows::new();
    for _ in 0..2 {
        rows.waits("A", "10", "c");
        rows.section("B", "20", &[]);
        rows.section("C", "20", &["cond_signal c"]);
        rows.goes_on("A", &[]);
    }
    assert_eq!(rows.patterns(), [Some(Pattern::Latch { count: 2 })]);
    let program = rows.program();
    assert_eq!(
        operations(&program, 0)[2..6],
        ["sem_wait", "sem_wait", "lock", "unlock"]
    );
}

#[test]
fn one_that_finds_that_all_have_come_does_not_wait_at_a_latch() {
    let mut rows = Rows::new();
    // Nobody has anything to do yet.
    rows.section("A", "20", &[]);
    rows.waits("A", "20", "c");
    rows.section("B", "10", &[]);
    rows.section("C", "10", &["cond_signal c"]);
    rows.goes_on("A", &[]);
    // The second time all have come before it looks.
    rows.section("C", "10", &[]);
    rows.section("B", "10", &["cond_signal c"]);
    rows.section("A", "20", &[]);
    rows.waits("A", "20", "c");
    rows.section("B", "10", &[]);
    rows.section("C", "10", &["cond_signal c"]);
    rows.goes_on("A", &[]);
    assert_eq!(rows.patterns(), [Some(Pattern::Latch { count: 2 })]);
    let program = rows.program();
    let count = |thread: usize, name: &str| count(&program, thread, name);
    assert_eq!(
        [
            count(0, "sem_wait"),
            count(1, "sem_post"),
            count(2, "sem_post")
        ],
        [6, 3, 3]
    );
}

#[test]
fn what_the_recording_contradicts_is_replayed_as_it_is() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c");
    rows.section("A", "10", &["cond_signal c"]);
    rows.goes_on("B", &[]);
    // Nothing was put there, and still C finds something; and then it does not.
    rows.section("C", "20", &[]);
    rows.waits("B", "20", "c");
    rows.section("A", "10", &["cond_signal c"]);
    rows.goes_on("B", &[]);
    assert_eq!(rows.patterns(), [None]);
    assert!(operations(&rows.program(), 1).contains(&"cond_wait"));
}

#[test]
fn a_wait_that_times_out_is_beyond_the_hypotheses() {
    let mut rows = Rows::new();
    rows.waits("B", "20", "c");
    rows.section("A", "10", &["cond_signal c"]);
    rows.goes_on("B", &[]);
    rows.row("B lock m", Some("20"));
    rows.row("B cond_timedwait c m", None);
    rows.row("B return timedout", None);
    rows.row("B unlock m", None);
    assert_eq!(rows.patterns(), [None]);
}

#[test]
fn who_waits_on_when_its_time_has_run_out_goes_on_waiting() {
    // As CPython's interpreter lock: whoever has it gives it up with a signal; the others ask for it by the clock.
    let mut rows = Rows::new();
    rows.section("A", "10", &[]);
    rows.row("B lock m", Some("10"));
    for _ in 0..3 {
        rows.row("B cond_timedwait c m", None);
        rows.row("B return timedout", None);
    }
    rows.row("B cond_timedwait c m", None);
    rows.section("A", "20", &["cond_signal c"]);
    rows.goes_on("B", &[]);
    // By the time that this one's has run out, it was given up.
    rows.row("A lock m", Some("10"));
    rows.row("A cond_timedwait c m", None);
    rows.section("B", "20", &["cond_signal c"]);
    rows.row("A return timedout", None);
    rows.row("A unlock m", None);
    assert_eq!(rows.patterns(), [Some(Pattern::Semaphore { initial: 1 })]);
    let take = ["sem_wait", "lock", "unlock"];
    let give = ["lock", "unlock", "sem_post"];
    assert_eq!(
        operations(&rows.program(), 1),
        [&take[..], &give, &["terminate"]].concat()
    );
}

/// For each wait of a thread for what others told: by which event that was.
fn told(rows: &Rows, thread: usize) -> Vec<u32> {
    let program = rows.program();
    let range = program.threads[thread].operations.clone();
    let waits = range.filter(|&position| {
        let action = program.operations.action(position);
        matches!(action, Action::AwaitWake(_))
    });
    let release = |position| match program.requirements_of(position) {
        &[release] => program.operations.event(release),
        others => panic!("{} releases", others.len()),
    };
    waits.map(release).collect()
}

#[test]
fn who_is_told_to_begin_and_tells_when_it_is_done_takes_turns() {
    let mut rows = Rows::new();
    for round in 0..4 {
        // B waits in some rounds only, and A in the others.
        let begins = round % 2 == 0;
        if begins {
            rows.waits("B", "20", "c");
        }
        rows.section("A", "10", &["cond_signal c"]);
        if begins {
            rows.goes_on("B", &["cond_signal c"]);
            rows.section("A", "10", &[]);
        } else {
            rows.waits("A", "10", "c");
            rows.section("B", "20", &["cond_signal c"]);
            rows.goes_on("A", &[]);
        }
    }
    assert_eq!(rows.patterns(), [Some(Pattern::Rounds)]);
    // Each look of A needs what B told last, but for that before the first round.
    assert_eq!(told(&rows, 0).len(), 7);
    assert_eq!(told(&rows, 1).len(), 4);
    assert!(told(&rows, 0).is_sorted() && told(&rows, 1).is_sorted());
}

#[test]
fn who_waits_for_the_next_round_needs_its_beginning() {
    let mut rows = Rows::new();
    for _ in 0..4 {
        rows.waits("B", "20", "c");
        // A waits for something else in the section in which it begins a round.
        rows.row("A lock m", Some("10"))
            .row("A cond_broadcast c", None)
            .row("A cond_wait d m", None);
        rows.goes_on("B", &[]).section("C", "20", &[]);
        rows.section("C", "30", &["cond_signal d"]);
        rows.goes_on("A", &[]);
    }
    let semaphore = Some(Pattern::Semaphore { initial: 0 });
    assert_eq!(rows.patterns(), [Some(Pattern::Rounds), semaphore]);
    // C, which never waited, needs the same rounds.
    assert_eq!(told(&rows, 1).len(), 4);
    assert_eq!(told(&rows, 1), told(&rows, 2));
}

#[test]
fn a_wait_that_nothing_explains_waits_for_what_woke_it() {
    let mut rows = Rows::new();
    // Nothing was put there, and still C finds something.
    rows.section("C", "20", &[]);
    rows.waits("B", "20", "c").waits("C", "20", "c");
    rows.section("A", "10", &["cond_signal c"]);
    rows.section("A", "10", &["cond_signal c"]);
    // A signal wakes the one that comes back first.
    rows.goes_on("C", &[]).goes_on("B", &[]);
    rows.section("C", "20", &[]);
    assert_eq!(rows.patterns(), [None]);
    let (b, c) = (told(&rows, 1), told(&rows, 2));
    assert_eq!((b.len(), c.len()), (1, 1));
    assert!(c[0] < b[0], "{b:?} {c:?}");
}

#[test]
fn who_only_waits_and_who_only_tells_may_lock_by_the_same_function() {
    let mut rows = Rows::new();
    // Nothing was put there, and still C finds something.
    rows.section("C", "10", &[]);
    rows.waits("B", "10", "c").waits("C", "10", "c");
    rows.section("A", "10", &["cond_signal c"]);
    rows.goes_on("B", &[]);
    rows.section("A", "10", &["cond_signal c"]);
    rows.goes_on("C", &[]);
    assert_eq!(rows.patterns(), [None]);
    let (b, c) = (told(&rows, 1), told(&rows, 2));
    assert_eq!((b.len(), c.len()), (1, 1));
    assert!(b[0] < c[0], "{b:?} {c:?}");
}

#[test]
fn who_signals_several_times_wakes_as_many() {
    let mut rows = Rows::new();
    // All wait and tell by the same call, but nobody lets all of them go on.
    rows.waits("B", "10", "c").waits("C", "10", "c");
    rows.section("A", "10", &["cond_signal c", "cond_signal c"]);
    rows.goes_on("B", &[]).goes_on("C", &[]);
    rows.waits("A", "10", "c");
    rows.section("B", "10", &["cond_signal c"]);
    rows.goes_on("A", &[]);
    assert_eq!(rows.patterns(), [None]);
    let [a, b, c] = [0, 1, 2].map(|thread| told(&rows, thread));
    assert_eq!((a.len(), b.len(), c.len()), (1, 1, 1));
    assert_eq!(b, c);
}

#[test]
fn where_those_who_tell_also_wait_the_last_to_come_is_not_known() {
    let mut rows = Rows::new();
    // A barrier of three, then of two.
    rows.waits("A", "10", "c").waits("B", "10", "c");
    rows.section("C", "10", &["cond_broadcast c"]);
    rows.goes_on("A", &[]).goes_on("B", &[]);
    rows.waits("A", "10", "c");
    rows.section("B", "10", &["cond_broadcast c"]);
    rows.goes_on("A", &[]);
    assert_eq!(rows.patterns(), [None]);
    let program = rows.program();
    let wait = program
        .operations
        .iter()
        .filter(|operation| matches!(operation.action, Action::CondWait { .. }));
    assert_eq!(wait.count(), 3);
}

#[test]
fn where_one_waits_and_then_tells_it_is_no_barrier() {
    let mut rows = Rows::new();
    // One function locks for all of them: jobs are put there, and taken by B and C, which tell how many are left.
    for taker in ["B", "C"] {
        rows.waits(taker, "10", "c");
        rows.section("A", "10", &["cond_broadcast c"]);
        rows.goes_on(taker, &["cond_broadcast c"]);
        rows.section("A", "10", &[]);
    }
    assert_eq!(rows.patterns(), [None]);
    assert_eq!((told(&rows, 1).len(), told(&rows, 2).len()), (1, 1));
}

/// A and B read what C writes, four times; A waits for C, and C for both.
fn readers_and_a_writer() -> Rows {
    let mut rows = Rows::new();
    for _ in 0..4 {
        rows.section("A", "10", &[]).section("B", "10", &[]);
        rows.waits("C", "20", "w");
        rows.section("A", "11", &[]);
        rows.section("B", "11", &["cond_signal w"]);
        rows.goes_on("C", &[]);
        rows.waits("A", "10", "r");
        rows.section("C", "21", &["cond_broadcast r"]);
        rows.goes_on("A", &[]);
        rows.section("A", "11", &["cond_signal w"]);
    }
    rows
}

#[test]
fn who_comes_to_a_barrier_at_one_call_may_wait_at_another() {
    let mut rows = Rows::new();
    rows.section("A", "10", &[]).waits("A", "20", "c");
    rows.section("B", "10", &[]);
    rows.section("C", "10", &["cond_broadcast c"]);
    // B had looked until then.
    rows.goes_on("A", &[]).section("B", "20", &[]);
    rows.section("C", "10", &[]).waits("C", "20", "c");
    rows.section("A", "10", &[]).waits("A", "20", "c");
    rows.section("B", "10", &["cond_broadcast c"]);
    rows.goes_on("C", &[]).goes_on("A", &[]);
    assert_eq!(rows.patterns(), [Some(Pattern::Barrier { threads: 3 })]);
    let program = rows.program();
    let comes = ["lock", "unlock", "barrier_wait", "lock", "unlock"];
    assert_eq!(operations(&program, 0)[2..7], comes);
    assert_eq!(operations(&program, 1)[..5], comes);
    assert_eq!(count(&program, 2, "barrier_wait"), 2);
    // Who waits without having come waits for something else.
    rows.waits("A", "20", "c");
    rows.section("B", "10", &[]);
    rows.section("C", "10", &["cond_broadcast c"]);
    rows.goes_on("A", &[]);
    assert_ne!(rows.patterns(), [Some(Pattern::Barrier { threads: 3 })]);
}

#[test]
fn who_comes_to_a_barrier_again_may_wait_until_all_have_left() {
    let mut rows = Rows::new();
    rows.waits("A", "10", "c").waits("B", "10", "c");
    rows.section("C", "10", &["cond_broadcast c"]);
    rows.goes_on("A", &[]);
    // A comes again before B has left, which lets it go on and arrive.
    rows.waits("A", "10", "c");
    rows.goes_on("B", &["cond_broadcast c"]);
    rows.row("A return", None).row("A cond_wait c m", None);
    rows.waits("B", "10", "c");
    rows.section("C", "10", &["cond_broadcast c"]);
    rows.goes_on("B", &[]).goes_on("A", &["cond_broadcast c"]);
    assert_eq!(rows.patterns(), [Some(Pattern::Barrier { threads: 3 })]);
    let program = rows.program();
    for thread in 0..3 {
        assert_eq!(count(&program, thread, "barrier_wait"), 2);
        assert_eq!(count(&program, thread, "cond_broadcast"), 0);
    }
    // One that leaves before all have come did something else there.
    rows.section("A", "10", &[]);
    assert_ne!(rows.patterns(), [Some(Pattern::Barrier { threads: 3 })]);
}

#[test]
fn who_comes_to_such_a_barrier_may_look_in_between_without_the_mutex() {
    let mut rows = Rows::new();
    rows.section("A", "10", &[]).waits("A", "20", "c");
    rows.section("B", "10", &[]);
    rows.section("C", "10", &["cond_broadcast c"]);
    // B sees without waiting that all have come.
    rows.section("B", "20", &[]);
    // It comes again before A has left, and sees by itself when that is so.
    rows.section("B", "10", &[]);
    rows.goes_on("A", &["cond_broadcast c"]);
    rows.section("B", "30", &[]).waits("B", "20", "c");
    rows.section("C", "10", &[]).waits("C", "20", "c");
    rows.section("A", "10", &["cond_broadcast c"]);
    rows.goes_on("B", &[]).goes_on("C", &["cond_broadcast c"]);
    assert_eq!(rows.patterns(), [Some(Pattern::Barrier { threads: 3 })]);
    let program = rows.program();
    let comes = ["lock", "unlock", "barrier_wait"];
    assert_eq!(operations(&program, 1)[..3], comes);
    for thread in 0..3 {
        assert_eq!(count(&program, thread, "barrier_wait"), 2);
    }
}

#[test]
fn what_some_do_together_and_others_alone_is_under_a_readers_writer_lock() {
    let rows = readers_and_a_writer();
    assert_eq!(rows.patterns(), [Some(Pattern::ReadersWriter); 2]);
    let program = rows.program();
    let writes = ["wrlock", "lock", "unlock", "lock", "unlock", "rwunlock"];
    assert_eq!(operations(&program, 2)[..6], writes);
    let reads = ["rdlock", "lock", "unlock", "lock", "unlock", "rwunlock"];
    assert_eq!(operations(&program, 1)[..6], reads);
    let lock = program.objects.last().expect("it is made");
    assert_eq!((lock.name.as_str(), lock.initial), ("lock of w", None));
    // Of readers that wait for a writer which waits itself, writers come first.
    let mut rows = readers_and_a_writer();
    rows.section("A", "10", &[]).waits("C", "20", "w");
    rows.waits("B", "10", "r");
    rows.section("A", "11", &["cond_signal w"]);
    rows.goes_on("C", &[]);
    rows.section("C", "21", &["cond_broadcast r"]);
    rows.goes_on("B", &[]).section("B", "11", &[]);
    let program = rows.program();
    assert_eq!(
        program.objects.last().and_then(|lock| lock.initial),
        Some(1)
    );
    // What is done together once, is no writing.
    rows.section("A", "10", &[]).section("C", "20", &[]);
    rows.section("A", "11", &[]).section("C", "21", &[]);
    assert!(!rows.patterns().contains(&Some(Pattern::ReadersWriter)));
}

/// Three threads come to a barrier made of a count under the mutex and a semaphore, twice.
fn at_semaphores(last: &[&str], last_waits: bool, orders: [[&str; 3]; 2]) -> Rows {
    let mut rows = Rows::new();
    for [first, second, third] in orders {
        for thread in [first, second] {
            rows.section(thread, "10", &[]);
            rows.row(&format!("{thread} sem_wait s"), Some("20"));
        }
        rows.section(third, "10", last);
        if last_waits {
            rows.row(&format!("{third} sem_wait s"), Some("20"));
        }
        for thread in [first, second] {
            rows.row(&format!("{thread} return"), None);
        }
    }
    rows
}

#[test]
fn who_comes_last_under_a_lock_and_posts_for_all_makes_a_barrier() {
    let orders = [["A", "B", "C"], ["C", "A", "B"]];
    let for_all = at_semaphores(&["sem_post s"; 3], true, orders);
    let for_others = at_semaphores(&["sem_post s"; 2], false, orders);
    let arrivals = ["lock", "unlock", "barrier_wait"];
    for rows in [for_all, for_others] {
        assert_eq!(rows.patterns(), [Some(Pattern::Barrier { threads: 3 })]);
        let program = rows.program();
        for thread in [1, 2] {
            assert_eq!(
                operations(&program, thread),
                [&arrivals[..], &arrivals, &["terminate"]].concat()
            );
        }
    }
    // Whoever posts too few is none of whom the others wait for.
    let too_few = at_semaphores(&["sem_post s"; 2], true, orders);
    assert_eq!(too_few.patterns(), []);
    // Nor is who always lets the others go on one of them.
    let always_last = at_semaphores(
        &["sem_post s"; 2],
        false,
        [["A", "B", "C"], ["B", "A", "C"]],
    );
    assert_eq!(always_last.patterns(), []);
}

#[test]
fn a_turnstile_is_closed_again_by_who_opens_another() {
    let mut rows = Rows::new();
    let turnstile = |rows: &mut Rows, site: &str, own: &str, other: &str, order: [&str; 3]| {
        for thread in &order[..2] {
            rows.section(thread, site, &[]);
            rows.row(
                &format!("{thread} sem_wait {own}"),
                Some(&format!("{site}0")),
            );
        }
        rows.row(&format!("{} lock m", order[2]), Some(site));
        rows.row(
            &format!("{} sem_wait {other}", order[2]),
            Some(&format!("{site}1")),
        );
        rows.row(&format!("{} sem_post {own}", order[2]), None);
        rows.row(&format!("{} unlock m", order[2]), None);
        rows.row(
            &format!("{} sem_wait {own}", order[2]),
            Some(&format!("{site}0")),
        );
        rows.row(&format!("{} sem_post {own}", order[2]), None);
        for thread in &order[..2] {
            rows.row(&format!("{thread} return"), None);
            rows.row(&format!("{thread} sem_post {own}"), None);
        }
    };
    for order in [["A", "B", "C"], ["B", "C", "A"]] {
        turnstile(&mut rows, "10", "s", "t", order);
        turnstile(&mut rows, "30", "t", "s", order);
    }
    let barrier = Some(Pattern::Barrier { threads: 3 });
    assert_eq!(rows.patterns(), [barrier, barrier]);
    assert_eq!(count(&rows.program(), 1, "barrier_wait"), 4);
    assert_eq!(count(&rows.program(), 1, "sem_wait"), 0);
    // Who closes one without opening the other is not explained.
    rows.row("A sem_wait s", Some("50"));
    assert_eq!(rows.patterns(), []);
}
