//! Threads that serve whoever of several others is ready.

use std::{collections::BTreeSet, fmt::Write as _};

use foretrace_program::{Action, Program};

/// S hands two tasks each to B and C, as they are ready with the one before, and waits for `wait`: for both at once, or for one alone.
fn served(wait: &str) -> Program {
    let mut text = String::from(
        "process S\nprocess B\nprocess C\nreturns explicit\n0 S create B cpu=0\n0 S create C cpu=0\n\
         0 S pipe_write to_b 4 cpu=0\n0 S pipe_write to_c 4 cpu=0\n",
    );
    for round in 1..=2 {
        let (now, cpu) = (round * 20, round * 10);
        let before = cpu - 10;
        write!(
            text,
            "{a} S io {wait} pipe cpu={before}\n{a} B pipe_read to_b 4 cpu={before}\n{b} B pipe_write from_b 8 cpu={cpu}\n\
             {b} S return cpu={before}\n{b} S pipe_read from_b 8 cpu={before}\n{b} S pipe_write to_b 4 cpu={before}\n\
             {b} S io {wait} pipe cpu={before}\n{b} C pipe_read to_c 4 cpu={before}\n{c} C pipe_write from_c 8 cpu={cpu}\n\
             {c} S return cpu={before}\n{c} S pipe_read from_c 8 cpu={before}\n{c} S pipe_write to_c 4 cpu={cpu}\n",
            a = now - 20,
            b = now - 10,
            c = now,
        )
        .expect("a string");
    }
    text += "40 B pipe_read to_b 4 cpu=20\n40 B terminate cpu=20\n40 C pipe_read to_c 4 cpu=20\n40 C terminate cpu=20\n\
             41 S terminate cpu=21\n";
    Program::from_trace(&foretrace_testkit::trace(&text))
}

/// Returns how many queues there are.
fn queues(program: &Program) -> usize {
    let taken = program.operations.iter().filter_map(|operation| {
        let Action::TakeToken(queue) = operation.action else {
            return None;
        };
        Some(queue)
    });
    taken.collect::<BTreeSet<_>>().len()
}

#[test]
fn who_waits_for_several_at_once_takes_from_whoever_comes() {
    assert_eq!(queues(&served("poll")), 2);
}

#[test]
fn who_waits_for_one_after_the_other_has_a_queue_of_each() {
    assert_eq!(queues(&served("read")), 4);
}

/// B and C ask S by the semaphore `asked`, twice each, and S lets each of two semaphores know: the one of who asked, or the other's.
fn answered(by_asker: bool) -> Program {
    let mut text = String::from(
        "recording cpu 0\nprocess S\nprocess B\nprocess C\nreturns explicit\n0 S create B cpu=0\n0 S create C cpu=0\n",
    );
    let mut now = 0;
    for round in 0..2 {
        for (thread, other) in [("B", "C"), ("C", "B")] {
            let to = if by_asker { thread } else { other };
            now += 10;
            write!(
                text,
                "{now} {thread} sem_post asked cpu={cpu}\n{now} S sem_wait asked cpu={now}\n{now} S sem_post to_{to} cpu={now}\n",
                cpu = (round + 1) * 10,
            )
            .expect("a string");
            for told in [thread, other].into_iter().filter(|told| *told == to) {
                writeln!(
                    text,
                    "{now} {told} sem_wait to_{told} cpu={}",
                    (round + 1) * 10
                )
                .expect("a string");
            }
        }
    }
    text += "40 B terminate cpu=20\n40 C terminate cpu=20\n41 S terminate cpu=41\n";
    Program::from_trace(&foretrace_testkit::trace(&text))
}

#[test]
fn who_asks_first_gets_the_next_answer() {
    assert_eq!(queues(&answered(true)), 2);
}

#[test]
fn what_is_no_answer_goes_where_it_went() {
    assert_eq!(queues(&answered(false)), 3);
}

/// B and C tell S by the semaphore `asked` that they wait, and S lets them know one by one, in this order, each by a semaphore of its own.
fn listed(rounds: &[[&str; 2]]) -> Program {
    let mut text = String::from(
        "recording cpu 0\nprocess S\nprocess B\nprocess C\nreturns explicit\n0 S create B cpu=0\n0 S create C cpu=0\n",
    );
    let mut cpu = 0;
    for order in rounds {
        cpu += 10;
        let now = 2 * cpu;
        write!(
            text,
            "{now} B sem_post asked cpu={cpu}\n{now} C sem_post asked cpu={cpu}\n"
        )
        .expect("a string");
        for told in order {
            write!(
                text,
                "{now} S sem_wait asked cpu={cpu}\n{now} S sem_post to_{told} cpu={cpu}\n\
                 {now} {told} sem_wait to_{told} cpu={cpu}\n",
            )
            .expect("a string");
        }
    }
    let end = 3 * cpu;
    for thread in ["B", "C", "S"] {
        writeln!(text, "{end} {thread} terminate cpu={end}").expect("a string");
    }
    Program::from_trace(&foretrace_testkit::trace(&text))
}

#[test]
fn of_those_that_wait_whoever_is_first_gets_the_next_answer() {
    let rounds = [["B", "C"], ["C", "B"], ["B", "C"], ["C", "B"]];
    assert_eq!(queues(&listed(&rounds)), 2);
}

/// S takes a token, of which there are two at first, before it gives B or C a task. Who has done its task puts the token back only when S has given the next
/// already; before, it notes itself in a list under a lock, or does not.
fn with_tokens(listed: bool) -> Program {
    let mut rows = vec![
        "recording cpu 0".to_owned(),
        "returns explicit".to_owned(),
        "process S".to_owned(),
        "process B".to_owned(),
        "process C".to_owned(),
        "semaphore idle 2".to_owned(),
        "0 S create B cpu=0".to_owned(),
        "0 S create C cpu=0".to_owned(),
    ];
    let order = ["B", "B", "C", "C", "B", "C", "B", "B", "C"];
    for (index, next) in order.into_iter().enumerate() {
        let now = 1_000_000 * (index + 1);
        let mut row = |call: String| rows.push(format!("{now} {call} cpu={now}"));
        let done = index.checked_sub(1).map(|before| order[before]);
        if let Some(done) = done.filter(|_| listed) {
            row(format!("{done} lock m"));
            row(format!("{done} unlock m"));
        }
        row("S sem_wait idle".to_owned());
        row(format!("S sem_post to_{next}"));
        if let Some(done) = done {
            row(format!("{done} sem_post idle"));
        }
        row(format!("{next} sem_wait to_{next}"));
    }
    let end = 20_000_000;
    rows.extend(["B", "C", "S"].map(|thread| format!("{end} {thread} terminate cpu={end}")));
    Program::from_trace(&foretrace_testkit::trace(&(rows.join("\n") + "\n")))
}

#[test]
fn who_notes_itself_in_a_list_waits_from_then_on() {
    assert_eq!(queues(&with_tokens(true)), 2);
    assert_eq!(queues(&with_tokens(false)), 3);
}

#[test]
fn those_that_are_answered_by_turns_may_have_to_be() {
    assert_eq!(queues(&listed(&[["C", "B"]; 4])), 3);
}

#[test]
fn who_is_answered_without_having_waited_is_told_something_of_its_own() {
    assert_eq!(
        queues(&listed(&[["B", "C"], ["B", "B"], ["B", "C"], ["C", "B"]])),
        3
    );
}
