//! Threads that hold a mutex while they work, and give it up only while they wait.

use std::fmt::Write as _;

use foretrace_program::{Action, Program};
use foretrace_testkit::trace;

/// A recording of a thread that waits five times for a condition variable, for main, and works for so long each time, in nanoseconds, before it waits
/// again. As ffmpeg's threads do, it says first that it is there.
fn recorded(works: u64) -> Program {
    let mut text = "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\n\
        thread main\nthread T\n0 main create T cpu=0\n1 T lock m site=prog+0x10 cpu=0\n"
        .to_owned();
    text += "2 T cond_signal c site=prog+0x70 cpu=0\n";
    let (mut now, mut cpu) = (10, 0);
    for _ in 0..5 {
        let _ = writeln!(text, "{now} T cond_wait c m site=prog+0x20 cpu={cpu}");
        let _ = writeln!(text, "{} main lock m site=prog+0x30 cpu=0", now + 10);
        let _ = writeln!(text, "{} main cond_signal c site=prog+0x40 cpu=0", now + 20);
        let _ = writeln!(text, "{} main unlock m site=prog+0x50 cpu=0", now + 30);
        let _ = writeln!(text, "{} T return cpu={cpu}", now + 40);
        now += 50 + works;
        cpu += works;
    }
    let _ = write!(
        text,
        "{now} T unlock m site=prog+0x60 cpu={cpu}\n{now} T terminate cpu={cpu}\n"
    );
    let _ = writeln!(text, "{} main terminate cpu=0", now + 10);
    Program::from_trace(&trace(&text))
}

fn waits(program: &Program) -> usize {
    let own = program
        .operations
        .range(program.threads[1].operations.clone());
    let waits = own.filter(|operation| {
        matches!(
            operation.action,
            Action::CondWait { .. }
                | Action::TakeToken(_)
                | Action::Await(_)
                | Action::AwaitWake(_)
        )
    });
    waits.count()
}

#[test]
fn each_wait_that_is_followed_by_work_is_one() {
    assert_eq!(waits(&recorded(1_000_000)), 5);
}

#[test]
fn waits_between_which_a_thread_only_looks_are_one() {
    assert_eq!(waits(&recorded(200)), 1);
}
