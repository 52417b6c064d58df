//! Locks that programs make of futexes, replayed on more CPUs.

use std::collections::VecDeque;

use foretrace_program::{Pattern, Program};
use foretrace_schedule::Outcome;
use foretrace_sim::{Costs, Machine, ModelKind, run};
use foretrace_testkit::trace;

const THREADS: usize = 4;

/// For how long each works without the lock, and has the CPU at a time, in nanoseconds.
const OUTSIDE: u64 = 100_000;
const TURN: u64 = 40_000;

/// What a thread does next, and for how many nanoseconds.
#[derive(Clone, Copy)]
enum Next {
    Works(u64),
    /// It comes back from its wait, with the lock.
    ComesBack,
    /// It has the lock.
    Holds(u64),
}

/// A recording of threads that take a lock made of a futex, which so many may have at a time, on one CPU: it is handed to whoever waits, and each works
/// without it, in turns, and then for so long with it. Returns how long one thread works, too, in nanoseconds.
fn convoy(rounds: u64, permits: u64, section: u64) -> (String, u64) {
    let mut ready: Vec<(usize, Next)> = (0..THREADS)
        .map(|thread| (thread, Next::Works(OUTSIDE)))
        .collect();
    let (mut waiting, mut free) = (VecDeque::new(), permits);
    let (mut now, mut chance) = (10, 1_u64);
    let (mut cpu, mut done) = ([0; THREADS], [0; THREADS]);
    let mut rows: Vec<String> = ["module prog /prog", "site prog+0x10", "thread main"]
        .map(str::to_owned)
        .to_vec();
    rows.extend((0..THREADS).map(|thread| format!("thread T{thread}")));
    rows.push("futex f".to_owned());
    rows.extend((0..THREADS).map(|thread| format!("0 main create T{thread} cpu=0")));
    rows.push("5 main terminate cpu=5".to_owned());
    while !ready.is_empty() {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (thread, next) = ready.remove((chance >> 33) as usize % ready.len());
        let mut row = |now: u64, what: &str, cpu: u64| {
            rows.push(format!("{now} T{thread} {what} cpu={cpu}"));
        };
        if let Next::ComesBack = next {
            row(now, "return", cpu[thread]);
        }
        let all = match next {
            Next::Works(left) | Next::Holds(left) => left,
            Next::ComesBack => section,
        };
        let turn = all.min(TURN);
        now += turn;
        cpu[thread] += turn;
        match next {
            Next::Works(_) if all > turn => ready.push((thread, Next::Works(all - turn))),
            Next::Works(_) if free > 0 => {
                // It loses the CPU with it.
                free -= 1;
                now += section / 2;
                cpu[thread] += section / 2;
                ready.push((thread, Next::Holds(section / 2)));
            }
            Next::Works(_) => {
                row(now, "futex_wait f site=prog+0x10", cpu[thread]);
                waiting.push_back(thread);
            }
            _ if all > turn => ready.push((thread, Next::Holds(all - turn))),
            _ => {
                if let Some(other) = waiting.pop_front() {
                    row(now, "futex_wake f 1", cpu[thread]);
                    ready.push((other, Next::ComesBack));
                } else {
                    free += 1;
                }
                done[thread] += 1;
                if done[thread] == rounds {
                    row(now, "terminate", cpu[thread]);
                } else {
                    ready.push((thread, Next::Works(OUTSIDE)));
                }
            }
        }
    }
    let head = "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\n";
    (format!("{head}{}\n", rows.join("\n")), cpu[0])
}

/// Replays a recording on a CPU for each of its threads; returns when it ends, in nanoseconds.
fn replayed(program: &Program, model: ModelKind) -> u64 {
    let machine = Machine {
        costs: Costs::default(),
        ..Machine::new(THREADS as u32, program)
    };
    let run = run(program, &machine, model);
    assert_eq!(run.outcome, Outcome::Completed, "{}", model.name());
    run.end.as_nanos()
}

#[test]
fn a_lock_made_of_a_futex_is_free_where_threads_come_to_it_at_other_times() {
    let (text, alone) = convoy(40, 1, 10_000);
    let program = Program::from_trace(&trace(&text));
    assert_eq!(program.structures[0].pattern, Some(Pattern::Lock));
    for model in [ModelKind::Direct, ModelKind::ClientServer] {
        // The three others have it for less than a third of the time.
        let end = replayed(&program, model);
        assert!(end < alone * 11 / 10, "{}: {end}", model.name());
    }
}

#[test]
fn as_many_have_a_semaphore_made_of_a_futex_as_had_it() {
    let (text, _) = convoy(40, 2, 150_000);
    let program = Program::from_trace(&trace(&text));
    let initial = 2;
    assert_eq!(
        program.structures[0].pattern,
        Some(Pattern::Semaphore { initial })
    );
    // They have it for all of the time. Nobody knows of those who took it and gave it up while it was free.
    let held = THREADS as u64 * 40 * 150_000 / 2;
    let end = replayed(&program, ModelKind::Direct);
    assert!(end > held * 9 / 10 && end < held * 6 / 5, "{end}, {held}");
}

#[test]
fn who_always_lets_in_the_same_may_do_so_in_turns() {
    // Three threads in a ring: each works with what it is given, and hands it to the next.
    let mut rows = vec![
        "0 main create A cpu=0",
        "0 main create B cpu=0",
        "0 main create C cpu=0",
    ];
    rows.push("5 main terminate cpu=5");
    let mut rows: Vec<String> = rows.into_iter().map(str::to_owned).collect();
    let names = ["A", "B", "C"];
    rows.push("10 B futex_wait f1 site=prog+0x10 cpu=0".to_owned());
    rows.push("11 C futex_wait f2 site=prog+0x10 cpu=0".to_owned());
    let (mut now, mut cpu) = (20, [0; 3]);
    for turn in 0..30 {
        let thread = turn % 3;
        let name = names[thread];
        if turn > 0 {
            rows.push(format!("{now} {name} return cpu={}", cpu[thread]));
        }
        now += 50_000;
        cpu[thread] += 50_000;
        rows.push(format!(
            "{now} {name} futex_wake f{} 1 cpu={}",
            (thread + 1) % 3,
            cpu[thread]
        ));
        if turn < 27 {
            rows.push(format!(
                "{now} {name} futex_wait f{thread} site=prog+0x10 cpu={}",
                cpu[thread]
            ));
        } else {
            rows.push(format!("{now} {name} terminate cpu={}", cpu[thread]));
        }
    }
    let head = "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\n\
                site prog+0x10\nthread main\nthread A\nthread B\nthread C\nfutex f0\nfutex f1\nfutex f2\n";
    let text = format!("{head}{}\n", rows.join("\n"));
    let program = Program::from_trace(&trace(&text));
    assert!(program.structures.is_empty());
    let machine = Machine {
        costs: Costs::default(),
        ..Machine::new(3, &program)
    };
    let run = run(&program, &machine, ModelKind::Direct);
    assert_eq!(run.outcome, Outcome::Completed);
    assert!(run.end.as_nanos() >= 30 * 50_000, "{}", run.end);
}
