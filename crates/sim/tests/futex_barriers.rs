//! Barriers that libraries make of futexes, replayed on more CPUs.

use std::fmt::Write as _;

use foretrace_program::{Pattern, Program};
use foretrace_schedule::{Outcome, SimTime};
use foretrace_sim::{Costs, Machine, ModelKind, run};
use foretrace_testkit::trace;

const THREADS: usize = 3;
const ROUNDS: usize = 6;

/// A recording on one CPU of threads that wait for each other again and again; `last` comes last in each round, and in one of them somebody comes too late to have to wait.
fn recording(last: impl Fn(usize) -> usize) -> Program {
    let mut rows = String::from(
        "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nthread main\n",
    );
    (0..THREADS).for_each(|thread| writeln!(rows, "thread T{thread}").expect("it is memory"));
    rows.push_str("futex f\n");
    for thread in 0..THREADS {
        let _ = writeln!(rows, "0 main create T{thread} cpu=0");
    }
    let (mut now, mut cpu) = (0, [0; THREADS]);
    for round in 0..ROUNDS {
        let last = last(round);
        let mut order: Vec<usize> = (0..THREADS).filter(|&thread| thread != last).collect();
        order.push(last);
        let is_late = |thread: usize| round == 2 && thread == order[1];
        let mut late = String::new();
        for &thread in &order {
            let work = 100_000 + 50_000 * ((thread + round) % THREADS) as u64;
            now += work;
            cpu[thread] += work;
            let cpu = cpu[thread];
            if thread == last {
                let woken = THREADS - 1 - usize::from(round == 2);
                let _ = writeln!(rows, "{now} T{thread} futex_wake f {woken} cpu={cpu}");
            } else if is_late(thread) {
                late = format!("T{thread} futex_wait f failed:11 cpu={cpu}");
            } else {
                let _ = writeln!(rows, "{now} T{thread} futex_wait f cpu={cpu}");
            }
        }
        for &thread in &order {
            if is_late(thread) {
                let _ = writeln!(rows, "{now} {late}");
            } else if thread != last {
                let _ = writeln!(rows, "{now} T{thread} return cpu={}", cpu[thread]);
            }
        }
    }
    for (thread, cpu) in cpu.iter().enumerate() {
        let _ = writeln!(rows, "{now} T{thread} terminate cpu={cpu}");
    }
    let _ = writeln!(rows, "{now} main terminate cpu=0");
    Program::from_trace(&trace(&rows))
}

#[test]
fn all_wait_for_whoever_is_last() {
    let program = recording(|round| round % THREADS);
    let threads = THREADS as u32;
    assert_eq!(
        program.structures[0].pattern,
        Some(Pattern::Barrier { threads })
    );
    let machine = Machine {
        costs: Costs::default(),
        ..Machine::new(THREADS as u32, &program)
    };
    let run = run(&program, &machine, ModelKind::Direct);
    assert_eq!(run.outcome, Outcome::Completed);
    let ends: Vec<u64> = run
        .finish
        .into_iter()
        .flatten()
        .map(SimTime::as_nanos)
        .collect();
    // In each round somebody works for 200 us, another one each time.
    assert_eq!(ends, [0, 1_200_000, 1_200_000, 1_200_000]);
}

#[test]
fn who_always_wakes_the_others_may_not_wait_for_them() {
    let program = recording(|_| 1);
    assert_eq!(program.structures, []);
}
