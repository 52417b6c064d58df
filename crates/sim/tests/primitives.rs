//! How thread primitives behave under the Direct model, where one can tell by hand.

use std::fmt::Write as _;

use foretrace_program::Program;
use foretrace_schedule::{Outcome, SimTime};
use foretrace_sim::{Costs, Handover, Machine, ModelKind, run};
use foretrace_testkit::trace;

/// Returns when each thread ends, in nanoseconds, on so many CPUs.
fn ends(text: &str, cpus: u32, model: ModelKind) -> Vec<u64> {
    let program = Program::from_trace(&trace(text));
    let run = run(&program, &Machine::new(cpus, &program), model);
    assert_eq!(run.outcome, Outcome::Completed, "{text}");
    run.finish
        .into_iter()
        .flatten()
        .map(SimTime::as_nanos)
        .collect()
}

/// Threads A, B and C, where A creates the others and has the highest priority.
fn three(rows: &str) -> String {
    format!(
        "process A priority 3\nprocess B priority 2\nprocess C priority 1\n0 A create B\n0 A create C\n{rows}"
    )
}

#[test]
fn readers_share_a_lock_and_a_writer_waits_for_them() {
    let rows = three(
        "5 A rdlock r\n15 A rwunlock r\n15 A terminate\n16 B rdlock r\n26 B rwunlock r\n26 B terminate\n\
         27 C wrlock r\n30 C rwunlock r\n30 C terminate\n",
    );
    // A reads from 5 to 15, B from 1 to 11; C asks at 1, behind B, and writes once both have left: from 15 to 18 if A
    // had asked before C; but A asks at 5, behind C, which writes from 11 to 14.
    assert_eq!(ends(&rows, 3, ModelKind::Direct), [24, 11, 14]);
}

#[test]
fn a_writer_waits_for_all_who_read_before_it_in_the_recorded_order() {
    // So many that it would take minutes to look at all of them whenever one has left.
    const READS: u64 = 300_000;
    let mut rows = "process A priority 2\nprocess B priority 1\n0 A create B\n".to_owned();
    for read in 0..READS {
        let _ = writeln!(
            rows,
            "{} A rdlock r\n{} A rwunlock r",
            2 * read,
            2 * read + 1
        );
    }
    let end = 2 * READS;
    let _ = writeln!(
        rows,
        "{end} A terminate\n{end} B wrlock r\n{} B rwunlock r",
        end + 5
    );
    let _ = writeln!(rows, "{} B terminate", end + 5);
    for model in [ModelKind::ClientServer, ModelKind::Strict] {
        assert_eq!(ends(&rows, 2, model), [end, end + 4]);
    }
}

#[test]
fn neighbouring_readers_are_let_in_together() {
    let rows = three(
        "0 A wrlock r\n9 A rwunlock r\n9 A terminate\n10 B rdlock r\n15 B rwunlock r\n15 B terminate\n\
         17 C rdlock r\n22 C rwunlock r\n22 C terminate\n",
    );
    assert_eq!(ends(&rows, 3, ModelKind::Direct), [9, 14, 14]);
}

#[test]
fn a_signal_that_comes_before_its_waiter_is_kept_for_it() {
    // In the recording B waits first; on three CPUs A signals first.
    let rows = "process B priority 2\nprocess A priority 1\n0 B create A\n8 B lock m\n8 B cond_wait c m\n10 A lock m\n\
                10 A cond_signal c\n10 A unlock m\n10 B unlock m\n13 B terminate\n13 A terminate\n";
    assert_eq!(ends(rows, 2, ModelKind::Direct), [11, 2]);
}

#[test]
fn a_signal_that_woke_nobody_does_nothing() {
    let rows = "process A priority 2\nprocess B priority 1\n0 A create B\n1 A cond_signal c\n2 A terminate\n4 B lock m\n\
                4 B cond_wait c m\n";
    let program = Program::from_trace(&trace(rows));
    assert!(
        program
            .warnings
            .iter()
            .any(|warning| warning.contains("still blocked in cond_wait")),
        "{:?}",
        program.warnings
    );
    assert_eq!(ends(rows, 2, ModelKind::Direct), [2, 2]);
}

#[test]
fn a_timed_out_wait_takes_its_time_off_the_cpu() {
    let rows = "process A priority 2\nprocess B priority 1\nreturns explicit\n0 A create B cpu=0\n1 A lock m cpu=1\n\
                1 A cond_timedwait c m cpu=1\n1 B lock n cpu=0\n41 B unlock n cpu=40\n41 B terminate cpu=40\n\
                101 A return timedout cpu=1\n101 A unlock m cpu=1\n102 A terminate cpu=2\n";
    for model in ModelKind::ALL {
        assert_eq!(ends(rows, 1, model), [102, 41], "{}", model.name());
        assert_eq!(ends(rows, 2, model), [102, 40], "{}", model.name());
    }
}

#[test]
fn a_deadlock_names_who_waits_for_what_and_for_whom() {
    let rows = "process A priority 2\nprocess B priority 1\n0 A create B\n0 A lock m\n5 A lock n\n5 A unlock n\n\
                5 A unlock m\n5 A terminate\n6 B lock n\n9 B lock m\n9 B unlock m\n9 B unlock n\n9 B terminate\n";
    let program = Program::from_trace(&trace(rows));
    let run = run(&program, &Machine::new(2, &program), ModelKind::Direct);
    let said: Vec<String> = run
        .blocked()
        .iter()
        .map(|blocked| {
            let object = blocked.object.as_deref().unwrap_or("?");
            let holder = blocked.waits_for.as_deref().unwrap_or("?");
            format!(
                "{} {} {object} of {holder} since {}",
                blocked.thread, blocked.operation, blocked.since
            )
        })
        .collect();
    assert_eq!(
        said,
        ["A lock n of B since 5 ns", "B lock m of A since 4 ns"]
    );
    assert_eq!(run.end.as_nanos(), 5);
}

#[test]
fn the_fair_scheduler_shares_one_cpu_in_slices() {
    let rows = "process A\nprocess B\n0 A create B\n9000000 A terminate\n18000000 B terminate\n";
    // 3 ms each in turn: A ends with its third slice, one slice before B does.
    assert_eq!(ends(rows, 1, ModelKind::Direct), [15_000_000, 18_000_000]);
}

/// The same on a machine where letting threads go on costs time, and locks go to whoever comes first.
fn ends_with_costs(text: &str, cpus: u32, handover: Handover) -> Vec<u64> {
    let program = Program::from_trace(&trace(text));
    let machine = Machine {
        handover,
        costs: Costs {
            wake_latency: SimTime::from_nanos(20),
            wake_cost: SimTime::from_nanos(3),
            block_cost: SimTime::from_nanos(5),
            ..Costs::NONE
        },
        ..Machine::new(cpus, &program)
    };
    let run = run(&program, &machine, ModelKind::Direct);
    assert_eq!(run.outcome, Outcome::Completed, "{text}");
    run.finish
        .into_iter()
        .flatten()
        .map(SimTime::as_nanos)
        .collect()
}

#[test]
fn a_thread_comes_late_to_a_cpu_that_was_idle_and_calling_it_costs() {
    let rows = "process A priority 2\nprocess B priority 1\n0 A create B\n10 A terminate\n17 B terminate\n";
    // A calls B for 3, works for 10; B comes at 20 and works for 7.
    assert_eq!(ends_with_costs(rows, 2, Handover::FirstCome), [13, 27]);
    // On one CPU that is within the recorded times.
    assert_eq!(ends_with_costs(rows, 1, Handover::FirstCome), [10, 17]);
}

#[test]
fn a_cpu_that_was_not_idle_for_long_wakes_sooner() {
    // B waits for what A posts after so much work, and then works for 10.
    let ends = |works: u64, costs: Costs| {
        let text = format!(
            "semaphore s 0\nprocess B\nprocess A\nreturns explicit\n0 B create A cpu=0\n0 B sem_wait s cpu=0\n\
             {works} A sem_post s cpu={works}\n{works} A terminate cpu={works}\n{works} B return cpu=0\n\
             {} B terminate cpu=10\n",
            works + 10
        );
        let program = Program::from_trace(&trace(&text));
        let machine = Machine {
            costs,
            ..Machine::new(2, &program)
        };
        let run = run(&program, &machine, ModelKind::Direct);
        run.finish[0].map_or(0, SimTime::as_nanos)
    };
    let costs = Costs {
        wake_latency: SimTime::from_nanos(30),
        shallow_latency: SimTime::from_nanos(5),
        shallow_idle: SimTime::from_nanos(100),
        ..Costs::NONE
    };
    // A itself is called to a CPU that was idle from the beginning.
    assert_eq!(ends(50, costs), 30 + 50 + 5 + 10);
    assert_eq!(ends(150, costs), 30 + 150 + 30 + 10);
    // Who is not quite asleep is back at once: until the kernel has looked at the lock.
    let falling_asleep = Costs {
        block_cost: SimTime::from_nanos(90),
        ..costs
    };
    assert_eq!(ends(50, falling_asleep), 30 + 50 + 10);
    let asking = Costs {
        call_cost: SimTime::from_nanos(50),
        ..falling_asleep
    };
    assert_eq!(ends(50, asking), 30 + 50 + 5 + 10);
}

#[test]
fn what_it_took_to_sleep_is_needed_by_those_that_sleep() {
    // B works for so long and waits for what A posts after 100; to wait took it 4 of CPU time, and it works for 10 more.
    let end = |works: u64, cpus: u32, recorded: &str| {
        let at = works + 100;
        let text = format!(
            "foretrace-text 1\nunit 1us\nreturns explicit\n{recorded}semaphore s 0\nprocess A\nprocess B\n0 A create B cpu=0\n\
             {works} B sem_wait s cpu={works}\n{at} A sem_post s cpu=100\n{at} A terminate cpu=100\n{at} B return cpu={}\n\
             {} B terminate cpu={}\n",
            works + 4,
            at + 14,
            works + 14
        );
        let program = Program::from_trace(&trace(&text));
        let machine = Machine {
            costs: Costs::NONE,
            ..Machine::new(cpus, &program)
        };
        let run = run(&program, &machine, ModelKind::Direct);
        assert_eq!(run.outcome, Outcome::Completed, "{text}");
        run.end.as_nanos() / 1_000
    };
    let recorded = "recording command prog\nrecording cpu 0\n";
    // It sleeps: half of that was before it could be woken.
    assert_eq!(end(50, 2, recorded), 100 + 2 + 10);
    // It does not.
    assert_eq!(end(150, 2, recorded), 150 + 10);
    assert_eq!(end(150, 1, recorded), 100 + 150 + 4 + 10);
    // In a listing by hand, all work is what it says.
    assert_eq!(end(150, 2, ""), 150 + 4 + 10);
}

#[test]
fn who_only_tried_gives_up_what_others_need_while_it_waits() {
    // Semaphore g lets one thread run, s is a lock. A fails to get s once, and waits for it without g, then gets it by its first try; on two CPUs B
    // has s when A tries, and needs g before it gives s up.
    let rows = |site: u32| {
        format!(
            "foretrace-text 1\nunit 1us\nreturns explicit\nrecording command prog\nrecording cpu 0\nsemaphore g 1\nsemaphore s 1\nprocess A\nprocess B\n\
             0 A sem_wait g cpu=0\n0 A create B cpu=0\n\
             0 B sem_trywait s ok site=prog+0x30 cpu=0\n\
             1 A sem_trywait s busy site=prog+0x10 cpu=1\n1 A sem_post g cpu=1\n1 A sem_wait s cpu=1\n\
             11 B sem_post s cpu=10\n11 A return cpu=1\n11 A sem_wait g cpu=1\n\
             12 A sem_post s cpu=2\n\
             22 A sem_trywait s ok site=prog+{site:#x} cpu=12\n23 A sem_post s cpu=13\n24 A sem_post g cpu=14\n24 A terminate cpu=14\n\
             27 B sem_trywait s ok site=prog+0x30 cpu=13\n37 B sem_wait g cpu=23\n38 B sem_post g cpu=24\n39 B sem_post s cpu=25\n\
             39 B terminate cpu=25\n"
        )
    };
    let end_of = |rows: &str, cpus: u32| {
        let program = Program::from_trace(&trace(rows));
        let machine = Machine {
            costs: Costs::NONE,
            ..Machine::new(cpus, &program)
        };
        let run = run(&program, &machine, ModelKind::Direct);
        (run.outcome == Outcome::Completed).then(|| run.end.as_nanos() / 1_000)
    };
    // B has s from 13 to 25, A waits for it from 21 on, and goes on with g when B has given both up: for two more.
    assert_eq!(end_of(&rows(0x10), 2), Some(27));
    let elsewhere = rows(0x20);
    assert_eq!(
        end_of(&elsewhere, 2),
        Some(27),
        "the process' other tries tell"
    );
    let never_failed = elsewhere.replace("1 A sem_trywait s busy site=prog+0x10 cpu=1\n", "");
    assert_ne!(never_failed, elsewhere);
    assert_eq!(end_of(&never_failed, 2), None, "nothing is known of tries");
    assert_eq!(end_of(&rows(0x10), 1), Some(39));
}

#[test]
fn who_went_on_in_the_trace_does_so_under_the_last_model_though_nothing_ends_its_wait() {
    // Half of a barrier's threads come to it, and A goes on.
    let rows = "unit 1us\n0 A create B\n1 A barrier_wait b 2\n2 A lock m\n3 A unlock m\n4 A terminate\n5 B terminate\n";
    let program = Program::from_trace(&trace(&format!("foretrace-text 1\n{rows}")));
    let machine = Machine::new(1, &program);
    for model in [ModelKind::Direct, ModelKind::ClientServer] {
        assert!(!run(&program, &machine, model).is_complete());
    }
    let strict = run(&program, &machine, ModelKind::Strict);
    assert!(strict.is_complete());
    assert_eq!(strict.end.as_nanos(), 5_000);
    let [overruled] = &strict.overruled[..] else {
        panic!("one wait: {:?}", strict.overruled)
    };
    assert_eq!(overruled.event, 1);
    assert_eq!(overruled.wait.operation, "barrier_wait");
    assert_eq!(overruled.wait.thread, "A");
}

#[test]
fn a_lock_that_is_given_up_goes_to_whoever_comes_first() {
    // A holds the lock from 0 to 100 and again from 110 to 150; B asks for it at 23 or so.
    let rows = "process A priority 2\nprocess B priority 1\n0 A create B\n0 A lock m\n100 A unlock m\n110 A lock m\n\
                150 A unlock m\n150 A terminate\n151 B lock m\n152 B unlock m\n152 B terminate\n";
    // First come: B, which waits, has it at 100 + 20 + 5 for its trouble, and A waits for it.
    let [first_a, first_b] = ends_with_costs(rows, 2, Handover::FirstCome)[..] else {
        panic!("two threads end")
    };
    assert!(first_b < first_a, "{first_a} {first_b}");
    // Barging: B is called at 103, but A is back at 116, before B runs.
    let [barging_a, barging_b] = ends_with_costs(rows, 2, Handover::Barging)[..] else {
        panic!("two threads end")
    };
    assert!(barging_a < barging_b, "{barging_a} {barging_b}");
    assert_eq!(barging_a, 3 + 100 + 3 + 10 + 40 + 3);
}

#[test]
fn a_token_that_is_given_may_be_taken_by_one_that_did_not_wait() {
    let rows = "semaphore s 0\nprocess A priority 2\nprocess B priority 1\n0 A create B\n0 A sem_post s\n0 A sem_wait s\n\
                50 A sem_post s\n60 A terminate\n61 B sem_wait s\n61 B terminate\n";
    for handover in [Handover::FirstCome, Handover::Barging] {
        let ends = ends_with_costs(rows, 2, handover);
        assert!(ends[0] < ends[1], "{handover:?}: {ends:?}");
    }
}

#[test]
fn a_waiter_of_a_condition_gets_its_mutex_again_in_the_end() {
    let rows = "process B priority 2\nprocess A priority 1\n0 B create A\n8 B lock m\n8 B cond_wait c m\n10 A lock m\n\
                10 A cond_signal c\n40 A unlock m\n40 B unlock m\n43 B terminate\n43 A terminate\n";
    for cpus in 1..=3 {
        let ends = ends_with_costs(rows, cpus, Handover::Barging);
        assert_eq!(ends.len(), 2, "on {cpus} CPUs: {ends:?}");
    }
}

#[test]
fn a_futexs_wait_passes_if_its_wake_up_came_before_and_nobody_takes_anothers() {
    // In the recording B and C wait, and A wakes both; on three CPUs A wakes them first, and B waits once more.
    let rows = "process B priority 3\nprocess C priority 2\nprocess A priority 1\nreturns explicit\n0 B create C cpu=0\n\
                0 B create A cpu=0\n5 B futex_wait f cpu=5\n14 C futex_wait f cpu=9\n15 A futex_wake f 2 cpu=1\n\
                15 B return cpu=5\n16 B futex_wait f cpu=6\n16 C return cpu=9\n17 C terminate cpu=10\n\
                19 A futex_wake f 1 cpu=3\n19 B return cpu=6\n20 B terminate cpu=7\n20 A terminate cpu=3\n";
    for model in ModelKind::ALL {
        assert_eq!(ends(rows, 3, model), [7, 10, 3], "{}", model.name());
        assert_eq!(ends(rows, 1, model), [20, 17, 20], "{}", model.name());
    }
}

#[test]
fn a_wait_for_an_iteration_that_was_done_in_the_recording_waits_where_it_is_not_yet() {
    let rows = "process A\nprocess B\nreturns explicit\n0 A create B cpu=0\n10 A doacross_post d 1 cpu=10\n\
                12 A terminate cpu=12\n13 B doacross_wait d 1 cpu=1\n17 B terminate cpu=5\n";
    for model in ModelKind::ALL {
        assert_eq!(ends(rows, 2, model), [12, 14], "{}", model.name());
    }
}

/// When a team of two has met ten times, 100 us of work apart, on so many CPUs, in microseconds: one of them works 20 us longer each
/// time, and waking the other took it `woke` us of CPU time in the recording.
fn met_ten_times(cpus: u32, team: &str, spin: u64, woke: u64) -> u64 {
    met_ten_times_after(0, cpus, team, spin, woke)
}

/// The same where who waits awake goes on after `latency` nanoseconds.
fn met_ten_times_after(latency: u64, cpus: u32, team: &str, spin: u64, woke: u64) -> u64 {
    let mut rows = Vec::new();
    let mut time = 0;
    for round in 1..=10 {
        for (thread, work, woke) in [("main", 120, 0), ("T1", 100, woke)] {
            time += work;
            let cpu = round * work + (round - 1) * woke;
            rows.push(format!(
                "{time}000 {thread} barrier_wait b 2 cpu={cpu}000\n"
            ));
        }
        rows.push(format!(
            "{time}001 T1 return cpu={}000\n",
            round * (100 + woke)
        ));
        rows.push(format!("{time}002 main return cpu={}000\n", round * 120));
    }
    let text = format!(
        "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nthread main\nthread T1\n\
         barrier b 2 address=0x{team}000000001000\n1 main create T1 cpu=0\n{}\
         {time}003 main terminate cpu=1200000\n{time}004 T1 terminate cpu={}000\n",
        rows.concat(),
        10 * (100 + woke)
    );
    let program = Program::from_trace(&trace(&text));
    let machine = Machine {
        costs: Costs {
            wake_latency: SimTime::from_nanos(30_000),
            team_spin: SimTime::from_nanos(spin),
            team_latency: SimTime::from_nanos(latency),
            ..Costs::NONE
        },
        ..Machine::new(cpus, &program)
    };
    let run = run(&program, &machine, ModelKind::Direct);
    assert_eq!(run.outcome, Outcome::Completed, "{text}");
    run.end.as_nanos() / 1_000
}

#[test]
fn a_team_waits_awake_where_each_of_its_threads_has_a_cpu() {
    // The second thread comes 30 us late, once; it waits for 20 us after that, or in vain for less.
    assert_eq!(met_ten_times(2, "2", 25_000, 0), 1_210);
    // Who waits for longer sleeps, and so it does in a team that was told to (the highest bit), or on one CPU.
    let sleeping = met_ten_times(2, "2", 5_000, 0);
    assert!(sleeping > 1_300, "{sleeping}");
    assert_eq!(met_ten_times(2, "8002", 25_000, 0), sleeping);
    assert_eq!(met_ten_times(1, "2", 25_000, 0), 2_200);
    // No program's object has such an address.
    assert_eq!(met_ten_times(2, "", 25_000, 0), sleeping);
    // What it takes to wake up is work, but for those who are awake, and for those who are thought to have spun.
    assert_eq!(met_ten_times(1, "2", 25_000, 5), 2_250);
    assert_eq!(met_ten_times(2, "2", 25_000, 5), 1_210);
    assert_eq!(met_ten_times(1, "2", 25_000, 30), 2_200);
}

#[test]
fn who_waits_awake_for_a_team_needs_some_time_to_go_on() {
    // The first one waits in the first round, as the second is made late, and the second in all others, for 20 us: what it needs less than that
    // is seen at the end only.
    assert_eq!(
        met_ten_times_after(15_000, 2, "2", 40_000, 0),
        1_210 + 2 * 15
    );
    // What it needs more, the other one waits for in the next round.
    assert!(met_ten_times_after(30_000, 2, "2", 40_000, 0) > 1_210 + 2 * 30);
    // Who sleeps pays otherwise.
    let sleeping = met_ten_times(2, "8002", 25_000, 0);
    assert_eq!(met_ten_times_after(30_000, 2, "8002", 25_000, 0), sleeping);
    assert_eq!(met_ten_times_after(30_000, 1, "2", 25_000, 0), 2_200);
}

/// When each of three threads ends on two CPUs, in microseconds: A holds a lock from 1 to 3 ms, B wants it at 1.5, and C works for 6 ms.
fn held_while_another_works(lock: &str, locks: &str, tries: &str, unlocks: &str) -> Vec<u64> {
    let text = format!(
        "foretrace-text 1\nunit 1us\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\n{lock}\n\
         process A\nprocess B\nprocess C\n0 A create B cpu=0\n0 A create C cpu=0\n1000 A {locks} cpu=1000\n{tries}\
         4500 A {unlocks} cpu=3000\n4500 A terminate cpu=3000\n4501 B {locks} cpu=1501\n4501 B {unlocks} cpu=1501\n\
         4501 B terminate cpu=1501\n10501 C terminate cpu=6000\n"
    );
    let program = Program::from_trace(&trace(&text));
    let machine = Machine {
        costs: Costs::NONE,
        ..Machine::new(2, &program)
    };
    let run = run(&program, &machine, ModelKind::Direct);
    assert_eq!(run.outcome, Outcome::Completed, "{text}");
    let ends = run.finish.into_iter().flatten();
    ends.map(|end| end.as_nanos() / 1_000).collect()
}

#[test]
fn who_waits_by_looking_keeps_its_cpu() {
    // Who sleeps leaves its CPU to C at 1.5 ms, and comes back when A ends.
    let sleeping = held_while_another_works("mutex m", "lock m site=prog+0x10", "", "unlock m");
    assert_eq!(sleeping, [3_000, 3_000, 7_501]);
    let spinning = held_while_another_works("spin m 1", "spin_lock m", "", "spin_unlock m");
    assert_eq!(spinning, [3_000, 3_000, 9_000]);
    // Libraries of OpenMP give up the CPU while they spin.
    let yielding = held_while_another_works("spin m", "spin_lock m", "", "spin_unlock m");
    assert_eq!(yielding, sleeping);
    // Who tries again and again keeps it, whoever had to.
    let tries = "2500 B trylock m busy site=prog+0x10 cpu=1500\n2500 B spin looked=10 site=prog+0x20 cpu=1500\n\
                 2600 B return cpu=1500\n";
    let trying =
        held_while_another_works("mutex m", "trylock m ok site=prog+0x10", tries, "unlock m");
    assert_eq!(trying, [3_000, 3_000, 9_000]);
}

#[test]
fn ordered_sections_are_entered_in_the_order_of_their_iterations() {
    // T1 is there first, at 1 ms; the iteration before its is main's, which enters at 2 ms and leaves at 3.
    let ends_with = |address: &str| {
        let rows = format!(
            "foretrace-text 1\nunit 1us\nreturns explicit\nrecording command prog\nrecording cpu 0\nthread main\nthread T1\n\
             mutex m address={address}\n0 main create T1 cpu=0\n2000 main lock m cpu=2000\n3000 main unlock m cpu=3000\n\
             4000 T1 lock m cpu=1000\n5000 T1 unlock m cpu=2000\n5000 T1 terminate cpu=2000\n5000 main terminate cpu=3000\n"
        );
        let program = Program::from_trace(&trace(&rows));
        let machine = Machine {
            costs: Costs::NONE,
            ..Machine::new(2, &program)
        };
        let run = run(&program, &machine, ModelKind::Direct);
        let ends = run.finish.into_iter().flatten();
        ends.map(|end| end.as_nanos() / 1_000).collect::<Vec<u64>>()
    };
    assert_eq!(ends_with("0x2000000001000"), [3_000, 4_000]);
    // Any other lock is whoever's that comes first.
    assert_eq!(ends_with("0x1000"), [3_000, 2_000]);
}

/// The head of a recording of threads and processes that are named there.
fn recording(threads: &str, rows: &str) -> String {
    format!(
        "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\n{threads}{rows}"
    )
}

/// Runs a recording on two CPUs, where nothing but work takes time.
fn ends_at_no_cost(text: &str) -> Vec<u64> {
    let program = Program::from_trace(&trace(text));
    let machine = Machine {
        costs: Costs::default(),
        ..Machine::new(2, &program)
    };
    let run = run(&program, &machine, ModelKind::Direct);
    assert_eq!(run.outcome, Outcome::Completed, "{text}");
    run.finish
        .into_iter()
        .flatten()
        .map(SimTime::as_nanos)
        .collect()
}

#[test]
fn who_found_the_end_of_a_process_in_passing_goes_on_where_nobody_else_can() {
    let rows = "0 main create child cpu=0\n50 child lock m cpu=50\n51 child unlock m cpu=51\n60 child terminate cpu=60\n\
         70 main lock m cpu=10\n70 main join child cpu=10\n75 main unlock m cpu=15\n80 main terminate cpu=20\n";
    let text = recording(
        "program prog pid=1\nprogram child pid=2 parent=1\nthread main\nthread child program=1\nmutex m\n",
        rows,
    );
    // The child wants the lock of the one that looks for its end.
    assert_eq!(ends_at_no_cost(&text), [60, 65]);
}

#[test]
fn threads_end_with_their_process() {
    let rows = "0 main create T cpu=0\n50 T sem_wait s cpu=50\n51 T sem_post s cpu=51\n60 T terminate cpu=60\n\
         70 main sem_wait s cpu=10\n80 main terminate cpu=20\n";
    let text = recording("thread main\nthread T\nsemaphore s 1\n", rows);
    assert_eq!(ends_at_no_cost(&text), [20, 50]);
}

#[test]
fn whoever_ends_with_a_robust_mutex_gives_it_up_in_any_order() {
    // C asks first and gets the mutex last in the recording, where nobody comes after it; on two CPUs it is the first.
    let rows = "0 main create B cpu=0\n0 main create C cpu=0\n10 main terminate cpu=0\n20 C lock m cpu=0\n21 B lock m cpu=10\n\
         21 B return cpu=10\n41 B terminate cpu=30\n42 C return ownerdied cpu=0\n62 C terminate cpu=20\n";
    let text = recording("thread main\nthread B\nthread C\nmutex m\n", rows);
    assert_eq!(ends_at_no_cost(&text), [0, 40, 20]);
}

#[test]
fn who_only_tries_to_get_a_second_mutex_does_not_keep_the_first_meanwhile() {
    let both = |thread: &str, (first, second): (&str, &str), now: u64| {
        format!(
            "{now} {thread} lock {first} cpu=0\n{} {thread} trylock {second} ok cpu=10\n{} {thread} unlock {second} cpu=110\n\
             {} {thread} unlock {first} cpu=110\n",
            now + 10,
            now + 110,
            now + 110,
        )
    };
    let main = both("main", ("a", "b"), 0);
    let other = both("T", ("b", "a"), 110);
    let rows = format!(
        "0 main create T cpu=0\n{main}{other}220 T terminate cpu=110\n220 main terminate cpu=110\n"
    );
    let text = recording("thread main\nthread T\nmutex a\nmutex b\n", &rows);
    // Each has one and wants the other's: the first that finds that gives its own up.
    assert_eq!(ends_at_no_cost(&text), [110, 210]);
}

#[test]
fn what_a_thread_does_whenever_its_time_runs_out_is_done_while_others_work() {
    let mut rows =
        vec!["0 main create T cpu=0\n0 T lock m cpu=0\n0 T cond_timedwait c m cpu=0\n".to_owned()];
    let (mut now, mut main, mut other) = (0, 0, 0);
    for _ in 0..10 {
        (now, main) = (now + 1_000_000, main + 1_000_000);
        rows.push(format!("{now} T return timedout cpu={other}\n"));
        (now, other) = (now + 20_000, other + 20_000);
        rows.push(format!("{now} T cond_timedwait c m cpu={other}\n"));
    }
    rows.push(format!(
        "{now} main lock m cpu={main}\n{now} main cond_broadcast c cpu={main}\n{now} main unlock m cpu={main}\n\
         {now} T return cpu={other}\n{now} T unlock m cpu={other}\n{now} T terminate cpu={other}\n{now} main terminate cpu={main}\n"
    ));
    let text = recording("thread main\nthread T\nmutex m\ncond c\n", &rows.concat());
    // It has looked ten times by then, and does not have to do so again.
    assert_eq!(ends_at_no_cost(&text), [10_000_000, 10_000_000]);
}

#[test]
fn tokens_go_to_those_that_wait_as_they_came_in_every_model() {
    // T3 asks for a token of s at 3, T1 at 5: that of 8 is T3's, which comes back later only since T2 goes before it.
    let rows = "semaphore s 0\nsemaphore g1 0\nsemaphore g2 0\nprocess M priority 5\nprocess T1 priority 4\n\
                process T2 priority 3\nprocess T3 priority 2\nprocess T4 priority 1\n0 M create T1\n0 M create T2\n\
                0 M create T3\n0 M create T4\n0 M join T1\n1 T1 sem_wait g1\n2 T2 sem_wait g2\n3 T3 sem_wait s\n\
                4 T4 sem_post g1\n5 T1 sem_wait s\n6 T4 sem_post g2\n8 T2 sem_post s\n13 T2 sem_post s\n14 T1 terminate\n\
                14 M join T2\n15 T2 terminate\n15 M join T3\n16 T3 terminate\n16 M join T4\n17 T4 terminate\n17 M terminate\n";
    for model in [
        ModelKind::Direct,
        ModelKind::ClientServer,
        ModelKind::Strict,
    ] {
        assert_eq!(ends(rows, 1, model), [17, 14, 15, 16, 17], "{model:?}");
        assert_eq!(ends(rows, 2, model)[1..4], [11, 11, 6], "{model:?}");
    }
}

#[test]
fn hours_of_work_that_nobody_disturbs_are_over_at_once() {
    // A, and B beside it, have 78 hours of work, millions of slices; C waits for as long, and then, for the CPU.
    let hours = 281_474_976_710_656_u64;
    let text = format!(
        "foretrace-text 1\nreturns explicit\nprocess A\nprocess B\nprocess C\n0 A create B cpu=0\n0 A create C cpu=0\n\
         {hours} A sem_post s cpu={hours}\n{hours} A terminate cpu={hours}\n{hours} B lock m cpu=0\n\
         {hours} B unlock m cpu={hours}\n{hours} B terminate cpu={hours}\n{hours} C sem_wait s cpu=0\n\
         {hours} C terminate cpu={hours}\n"
    );
    assert_eq!(ends(&text, 3, ModelKind::Direct), [hours, hours, 2 * hours]);
}
