//! OpenMP tasks, all of which one thread did in the recording, on two CPUs.

use std::fmt::Write as _;

use foretrace_program::Program;
use foretrace_sim::{Costs, Machine, ModelKind, predict_all};
use foretrace_testkit::trace;
use proptest::prelude::*;

/// A team of two, of which `main` does all, each step 100 ns later than the one before.
struct Recording {
    rows: String,
    cpu: u64,
}

impl Recording {
    fn new() -> Self {
        Self {
            rows: "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\nthread main\n\
                   thread T1\nsemaphore s 0 address=0x1000000001000\ndoacross t address=0x1000000001000\n\
                   barrier b 2 address=0x2000000001000\nmutex m\n0 main create T1 cpu=0\n0 main sem_post s cpu=0\n"
                .to_owned(),
            cpu: 0,
        }
    }

    fn row(mut self, call: &str) -> Self {
        // Writing to a string cannot fail.
        let _ = writeln!(self.rows, "{0} main {call} cpu={0}", self.cpu);
        self
    }

    fn work(mut self, nanos: u64) -> Self {
        self.cpu += nanos;
        self
    }

    fn makes(self, task: u64) -> Self {
        self.row(&format!("doacross_post t {}", 2 * task))
    }

    /// The task that was made last reads or writes what is at an address.
    fn uses(self, address: u64, writes: bool) -> Self {
        let number = 1 << 63 | u64::from(writes) << 62 | address;
        self.row(&format!("doacross_wait t {number}"))
    }

    fn starts(self, task: u64) -> Self {
        self.row(&format!("doacross_wait t {}", 2 * task))
    }

    fn finishes(self, task: u64) -> Self {
        self.row(&format!("doacross_post t {}", 2 * task + 1))
    }

    /// Does a task that works so long.
    fn does(self, task: u64, nanos: u64) -> Self {
        self.starts(task).work(nanos).finishes(task)
    }

    /// Waits for tasks, which were all done meanwhile; `outcome` says for which.
    fn waits(self, outcome: &str) -> Self {
        self.row("sem_timedwait s")
            .row(&format!("return {outcome}"))
    }

    /// Ends the region, to which T1 comes late.
    fn text(self) -> String {
        let now = self.cpu;
        let main = self.row("barrier_wait b 2");
        format!(
            "{rows}{now} T1 sem_wait s cpu=0\n{now} T1 barrier_wait b 2 cpu=0\n{now} T1 return cpu=0\n\
             {now} main return cpu={now}\n{now} main terminate cpu={now}\n{now} T1 terminate cpu=0\n",
            rows = main.rows
        )
    }

    /// Returns the makespan on so many CPUs where nothing costs anything, which no model may miss.
    fn makespan(self, cpus: u32) -> u64 {
        let text = self.text();
        let program = Program::from_trace(&trace(&text));
        let machine = Machine {
            costs: Costs::NONE,
            ..Machine::new(cpus, &program)
        };
        let attempts = predict_all(&program, &machine).attempts;
        for attempt in &attempts {
            assert!(attempt.run.is_complete(), "{:?}\n{text}", attempt.model);
        }
        let direct = attempts
            .iter()
            .find(|attempt| attempt.model == ModelKind::Direct);
        direct.expect("all models were tried").run.end.as_nanos()
    }
}

#[test]
fn tasks_are_done_by_whoever_is_free_and_waited_for() {
    let rows = || {
        Recording::new()
            .work(10)
            .makes(1)
            .makes(2)
            .does(2, 100)
            .does(1, 100)
            .waits("busy")
            .work(50)
    };
    assert_eq!(rows().makespan(1), 260);
    assert_eq!(rows().makespan(2), 10 + 100 + 50);
}

#[test]
fn who_does_not_wait_for_tasks_goes_on() {
    let rows = Recording::new().makes(1).work(100).does(1, 70);
    assert_eq!(rows.makespan(2), 100);
}

#[test]
fn numbers_are_given_again() {
    let round = |rows: Recording| {
        rows.makes(1)
            .makes(2)
            .does(2, 100)
            .does(1, 100)
            .waits("busy")
    };
    assert_eq!(round(round(Recording::new())).makespan(2), 200);
    // Here the second task of that number is made before the first is done.
    let apart = Recording::new()
        .makes(1)
        .does(1, 100)
        .makes(1)
        .does(1, 100)
        .waits("busy");
    assert_eq!(apart.makespan(2), 100);
}

#[test]
fn tasks_of_tasks_make_the_longest_path() {
    // Each of two makes two and waits for them before it works itself.
    let inner = |rows: Recording, outer: u64| {
        rows.starts(outer)
            .makes(10)
            .makes(11)
            .does(11, 100)
            .does(10, 100)
            .waits("failed:114")
            .work(30)
            .finishes(outer)
    };
    let rows = inner(inner(Recording::new().makes(1).makes(2), 2), 1).waits("failed:114");
    assert_eq!(rows.makespan(2), 100 + 100 + 30);
}

#[test]
fn who_helps_nobody_else_waits_for_what_it_made() {
    // T1 takes 1, makes 3 and 4 in it and does one of them after the other, if main does not help before it does 2.
    let rows = |waits: &str| {
        Recording::new()
            .makes(1)
            .starts(1)
            .makes(3)
            .makes(4)
            .does(3, 100)
            .does(4, 100)
            .waits(waits)
            .finishes(1)
            .makes(2)
            .does(2, 10)
            .waits(waits)
    };
    assert_eq!(rows("failed:114").makespan(2), 100 + 10);
    assert_eq!(rows("busy").makespan(2), 200);
}

#[test]
fn a_group_is_waited_for_with_all_that_was_made_in_it() {
    let rows = |waits: &str| {
        Recording::new()
            .makes(1)
            .starts(1)
            .makes(2)
            .finishes(1)
            .does(2, 100)
            .waits(waits)
            .work(50)
    };
    assert_eq!(rows("failed:115").makespan(2), 150);
    assert_eq!(rows("busy").makespan(2), 100);
}

#[test]
fn tasks_that_depend_on_others_are_done_after_these() {
    let writes = Recording::new()
        .makes(1)
        .uses(64, true)
        .makes(2)
        .uses(64, true)
        .makes(3)
        .uses(64, true)
        .does(1, 100)
        .does(2, 100)
        .does(3, 100);
    assert_eq!(writes.makespan(2), 300);
    // Two that read may go together, and who writes then waits for both.
    let reads = Recording::new()
        .makes(1)
        .uses(64, false)
        .makes(2)
        .uses(64, false)
        .makes(3)
        .uses(64, true)
        .makes(4)
        .uses(72, true)
        .does(1, 100)
        .does(2, 100)
        .does(3, 100)
        .does(4, 100);
    assert_eq!(reads.makespan(2), 200);
}

#[test]
fn sections_in_tasks_still_exclude_each_other() {
    let locked = |rows: Recording, task: u64| {
        rows.starts(task)
            .row("lock m")
            .work(100)
            .row("unlock m")
            .finishes(task)
    };
    let rows = locked(locked(Recording::new().makes(1).makes(2), 1), 2);
    assert_eq!(rows.makespan(2), 200);
}

#[test]
fn what_cannot_be_moved_stays_and_so_do_its_tasks() {
    let rows = Recording::new()
        .makes(1)
        .makes(2)
        .starts(1)
        .work(100)
        .row("sem_post s")
        .finishes(1)
        .does(2, 100);
    let text = rows.text();
    let program = Program::from_trace(&trace(&text));
    let main = &program.threads[0];
    let work: u64 = program
        .operations
        .range(main.operations.clone())
        .map(|operation| operation.work_nanos)
        .sum();
    assert_eq!(work, 200, "{text}");
}

/// Makes tasks that make tasks as the choices say, does them all, and waits for them or not.
fn family(
    mut rows: Recording,
    choices: &mut impl Iterator<Item = u8>,
    next: &mut u64,
) -> Recording {
    let mut made = Vec::new();
    let count = choices.next().unwrap_or(0) % 4;
    for _ in 0..count {
        let task = *next;
        *next += 1;
        rows = rows
            .work(u64::from(choices.next().unwrap_or(0)))
            .makes(task);
        let used = choices.next().unwrap_or(0);
        if !used.is_multiple_of(3) {
            rows = rows.uses(u64::from(used % 4) + 64, used % 3 == 1);
        }
        made.push(task);
    }
    // Those that depend on others are done in the order in which they were made.
    for task in made {
        rows = rows
            .starts(task)
            .work(u64::from(choices.next().unwrap_or(0)));
        rows = family(rows, choices, next);
        rows = rows.finishes(task);
    }
    match choices.next().unwrap_or(0) % 4 {
        0 => rows.waits("busy"),
        1 => rows.waits("failed:114"),
        2 => rows.waits("failed:115"),
        _ => rows,
    }
}

proptest! {
    #[test]
    fn all_tasks_are_done_once(choices in proptest::collection::vec(any::<u8>(), 1..120)) {
        let rows = || family(Recording::new(), &mut choices.iter().copied(), &mut 1);
        let work = rows().cpu;
        prop_assert_eq!(rows().makespan(1), work);
        let two = rows().makespan(2);
        prop_assert!(two <= work && 2 * two >= work, "{} of {}", two, work);
    }
}
