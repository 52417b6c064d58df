//! Threads that sleep and look again, and those that mean the time.

use std::fmt::Write as _;

use foretrace_program::{Action, Opener, Program};
use foretrace_testkit::trace;

/// A recording on one CPU: the main thread sleeps so many times for 1 ms, while A and B work for 4 ms each, in turns, and end.
///
/// `ends` is when A and B end, after the last sleep has begun if that is 8.
fn recorded(sleeps: u64, ends: u64, head: &str) -> Program {
    const MS: u64 = 1_000_000;
    let mut rows: Vec<(u64, String)> = Vec::new();
    let mut row = |time: u64, text: String| rows.push((time, format!("{time} {text}\n")));
    row(10, "main create A cpu=10".into());
    row(20, "main create B cpu=20".into());
    let total = 8 * MS;
    for sleep in 0..sleeps {
        let begin = 30 + sleep * total / sleeps;
        row(
            begin,
            format!("main sleep site=prog+0x10 cpu={}", 20 + sleep),
        );
        row(
            begin + total / sleeps - 2,
            format!("main return cpu={}", 21 + sleep),
        );
    }
    for step in 0..ends {
        let (thread, cpu) = (["A", "B"][step as usize % 2], (step / 2 + 1) * MS);
        row((step + 1) * MS - 10, format!("{thread} lock m cpu={cpu}"));
        row((step + 1) * MS - 9, format!("{thread} unlock m cpu={cpu}"));
    }
    row(ends * MS - 8, format!("A terminate cpu={}", ends / 2 * MS));
    row(ends * MS - 7, format!("B terminate cpu={}", ends / 2 * MS));
    row(
        ends.max(8) * MS + 100,
        format!("main terminate cpu={}", 30 + sleeps),
    );
    rows.sort_by_key(|&(time, _)| time);
    let rows: String = rows.into_iter().map(|(_, row)| row).collect();
    let text = format!(
        "foretrace-text 1\nreturns explicit\n{head}module prog /prog\nthread main\nthread A\nthread B\n{rows}"
    );
    Program::from_trace(&trace(&text))
}

const RECORDING: &str = "recording command prog\nrecording cpu 0\n";

/// What the main thread does beside creating threads and ending.
fn middle(program: &Program) -> Vec<Action> {
    let main = program.threads[0].operations.clone();
    let actions = program
        .operations
        .range(main)
        .map(|operation| operation.action);
    actions
        .filter(|action| !matches!(action, Action::Create(_) | Action::Terminate))
        .collect()
}

#[test]
fn sleeping_until_others_are_done_is_waiting_for_them() {
    let program = recorded(16, 8, RECORDING);
    let ends = |action: &Action| match action {
        Action::Await(gate) => matches!(program.opener(*gate), Opener::End(_)),
        Action::Delay(delay) => program.delays[*delay as usize].nanos < 1_000,
        _ => false,
    };
    let mut actions = middle(&program);
    // It sees that they are done when it looks next.
    let Some(Action::Delay(beat)) = actions.pop() else {
        panic!("no delay at the end: {actions:?}");
    };
    let beat = program.delays[beat as usize];
    assert!(beat.is_beat, "{beat:?}");
    assert_eq!(beat.nanos, 499_998, "{beat:?}");
    assert_eq!(actions.len(), 3, "{actions:?}");
    assert!(actions.iter().all(ends), "{actions:?}");
    assert!(
        program
            .warnings
            .iter()
            .any(|warning| warning.contains("main slept 16 times"))
    );
}

#[test]
fn those_who_still_work_are_waited_for_as_far_as_they_had_come() {
    // Only A ends; B goes on after main's last look.
    let text = "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\n\
        thread main\nthread A\nthread B\n0 main create A cpu=0\n0 main create B cpu=0\n\
        10 main sleep site=prog+0x10 cpu=0\n1000 main return cpu=0\n1010 main sleep site=prog+0x10 cpu=0\n\
        2000 main return cpu=0\n2010 main sleep site=prog+0x10 cpu=0\n3000 main return cpu=0\n\
        3010 main sleep site=prog+0x10 cpu=0\n3500 A terminate cpu=1700\n3600 B lock m cpu=1800\n4000 main return cpu=0\n\
        4500 B unlock m cpu=2700\n4500 B terminate cpu=2700\n4600 main terminate cpu=10\n";
    let program = Program::from_trace(&trace(text));
    let opened: Vec<&str> = middle(&program)
        .into_iter()
        .filter_map(|action| match action {
            Action::Await(gate) => Some(program.gate_name(gate)),
            _ => None,
        })
        .collect();
    assert_eq!(opened, ["A", "B"]);
    let b = program.threads[2].operations.clone();
    let b: Vec<(u64, Action)> = program
        .operations
        .range(b)
        .map(|operation| (operation.work_nanos, operation.action))
        .collect();
    assert!(matches!(b[0], (1800, Action::Open(_))), "{b:?}");
    assert!(matches!(b[1], (0, Action::Lock(_))), "{b:?}");
}

#[test]
fn a_clock_that_ticks_until_it_is_told_to_end_does_not_tick_for_longer() {
    // Main hardly works, and waits for T's end, which looks at each tick whether it is to end.
    let mut text = "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\n\
        thread main\nthread T\nthread B\n0 main create T cpu=0\n0 main create B cpu=0\n"
        .to_owned();
    for tick in 0..6 {
        let begin = tick * 1_000 + 10;
        let _ = writeln!(
            text,
            "{begin} T io read timer site=prog+0x10 cpu={}",
            2 * tick
        );
        if tick == 5 {
            text += "5500 B terminate cpu=5200\n5600 main join T cpu=100\n";
        }
        let _ = writeln!(text, "{} T return cpu={}", begin + 990, 2 * tick + 1);
    }
    text += "6010 T terminate cpu=20\n6020 main return cpu=100\n6030 main terminate cpu=110\n";
    let program = Program::from_trace(&trace(&text));
    let clock = program
        .operations
        .range(program.threads[1].operations.clone());
    let awaited: Vec<&str> = clock
        .filter_map(|operation| match operation.action {
            Action::Await(gate) => Some(program.gate_name(gate)),
            _ => None,
        })
        .collect();
    assert_eq!(awaited, ["main", "B"]);
}

#[test]
fn who_stops_others_by_the_clock_means_the_time() {
    // The others go on for twice as long.
    let program = recorded(16, 16, RECORDING);
    let actions = middle(&program);
    assert_eq!(actions.len(), 16, "{actions:?}");
    assert!(
        actions
            .iter()
            .all(|action| matches!(action, Action::Delay(_)))
    );
}

/// Whom A waits for, which sleeps, or that it sleeps, in a process of which B ended before all of it did.
fn awaited_by_a(processes: &str, end: &str) -> Vec<String> {
    let text = format!(
        "foretrace-text 1\nreturns explicit\nrecording command prog\nrecording cpu 0\nmodule prog /prog\n\
        {processes}0 main create A cpu=0\n0 main create B cpu=0\n\
        10 A sleep site=prog+0x10 cpu=0\n2000 B lock m cpu=1000\n2010 B unlock m cpu=1010\n2500 A return cpu=0\n\
        4000 B terminate cpu=2000\n{end}"
    );
    let program = Program::from_trace(&trace(&text));
    let a = program.threads.iter().find(|thread| thread.name == "A");
    let operations = program.operations.range(a.expect("A").operations.clone());
    let waits = |action: Action| match action {
        Action::Await(gate) => Some(program.gate_name(gate).to_owned()),
        Action::Delay(delay) if program.delays[delay as usize].nanos > 0 => {
            Some("sleep".to_owned())
        }
        _ => None,
    };
    operations
        .filter_map(|operation| waits(operation.action))
        .collect()
}

#[test]
fn a_thread_that_its_process_ends_sleeps_while_there_is_work() {
    let end = "5000 main terminate cpu=2500\n5000 A terminate cpu=1\n";
    let waits = awaited_by_a("thread main\nthread A\nthread B\n", end);
    assert_eq!(waits, ["B"]);
}

#[test]
fn so_does_one_whose_process_is_not_the_last_to_end() {
    let processes = "program sh\nprogram prog\nthread shell\nthread main program=1\nthread A program=1\nthread B program=1\n";
    let together =
        "5000 A terminate cpu=1\n5000 main terminate cpu=2500\n6000 shell terminate cpu=10\n";
    assert_eq!(awaited_by_a(processes, together), ["B"]);
    // What it did while the process was on its way to its end comes behind that in a recording.
    let behind = "5000 main terminate cpu=2500\n5100 A lock m cpu=1\n5100 A terminate cpu=1\n6000 shell terminate cpu=10\n";
    assert_eq!(awaited_by_a(processes, behind), ["B"]);
    // One that goes on without its first thread ends by itself: it may be on time.
    let itself = "5000 main terminate cpu=2500\n5100 A lock m cpu=1\n5200 A terminate cpu=2\n6000 shell terminate cpu=10\n";
    assert_eq!(awaited_by_a(processes, itself), ["sleep"]);
}

#[test]
fn few_sleeps_and_those_of_listings_are_taken_as_they_are() {
    for program in [recorded(3, 8, RECORDING), recorded(16, 8, "")] {
        let actions = middle(&program);
        assert!(
            actions
                .iter()
                .all(|action| matches!(action, Action::Delay(_))),
            "{actions:?}"
        );
        assert!(program.progress.is_empty());
    }
}

/// A recording on one CPU: the main thread waits so often for a condition that nobody signals, each time for so many microseconds until its
/// time has run out, and works for some in between. A works meanwhile, and ends within the last wait.
fn timed_waits(lasted: &[u64], works: u64) -> Program {
    let mut rows = vec!["0 main create A cpu=0".to_owned()];
    let (mut time, mut cpu) = (10, 0);
    for (number, lasted) in lasted.iter().enumerate() {
        let back = time + lasted;
        rows.push(format!("{time} main lock m cpu={cpu}"));
        rows.push(format!(
            "{time} main cond_timedwait c m site=prog+0x10 cpu={cpu}"
        ));
        if number == 7 {
            let end = back - 1;
            rows.push(format!("{end} A terminate cpu={}", end - 10 - cpu));
        }
        rows.push(format!("{back} main return timedout cpu={cpu}"));
        rows.push(format!("{back} main unlock m cpu={cpu}"));
        time = back + works;
        cpu += works;
    }
    rows.push(format!("{time} main terminate cpu={cpu}"));
    let text = format!(
        "foretrace-text 1\nunit 1us\nreturns explicit\n{RECORDING}module prog /prog\nthread main\nthread A\n{}\n",
        rows.join("\n")
    );
    Program::from_trace(&trace(&text))
}

/// Returns how long the main thread is away by itself each time, in microseconds.
fn delays(program: &Program) -> Vec<u64> {
    let actions = middle(program).into_iter();
    let delays = actions.filter_map(|action| match action {
        Action::Delay(delay) => Some(program.delays[delay as usize].nanos / 1_000),
        _ => None,
    });
    delays.collect()
}

#[test]
fn waits_whose_time_runs_out_last_as_long_as_others_of_their_place_and_no_longer() {
    // Whoever comes back late waited for the CPU.
    let lasted = [200, 205, 201, 2_000, 203, 1_500, 202, 204];
    let all = delays(&timed_waits(&lasted, 500));
    assert_eq!(all, [200, 202, 201, 202, 202, 202, 202, 202]);
    // A timer's are all different.
    let lasted = [200, 900, 300, 2_000, 600, 1_500, 400, 1_200];
    assert_eq!(delays(&timed_waits(&lasted, 500)), lasted);
}

#[test]
fn waits_for_what_nobody_tells_are_naps() {
    let lasted = [200, 205, 201, 2_000, 203, 1_500, 202, 204];
    let program = timed_waits(&lasted, 1);
    let actions = middle(&program);
    let waits =
        |action: &Action| matches!(action, Action::Await(gate) if program.gate_name(*gate) == "A");
    assert_eq!(actions.iter().filter(|action| waits(action)).count(), 1);
    // The mutex is free meanwhile, and taken again when A has come so far.
    let place = |is: fn(&Action) -> bool| actions.iter().position(is);
    let unlock = place(|action| matches!(action, Action::Unlock(_)));
    let waits = actions.iter().position(waits);
    let relock = actions
        .iter()
        .rposition(|action| matches!(action, Action::Lock(_)));
    assert!(unlock < waits && waits < relock, "{actions:?}");
}

/// A recording on one CPU in which A sleeps, now often, now once, until the main thread has made something for it, and works on that. B works
/// meanwhile, too. It is told when turns end. `nap` is how A sleeps and what says that it is over.
fn fed_by_main((begins, ends): (&str, &str)) -> Program {
    const NAP: u64 = 200_000;
    const TURN_ENDS: &str = "linger looked=0";
    let mut rows = vec![
        "0 main create A cpu=0".to_owned(),
        "0 main create B cpu=0".to_owned(),
    ];
    let threads = ["main", "A", "B"];
    let (mut time, mut cpu) = (1_000, [0, 0, 0]);
    let mut add = |time: u64, thread: usize, what: &str, cpu: u64| {
        rows.push(format!("{time} {} {what} cpu={cpu}", threads[thread]));
    };
    for round in 0..12 {
        let naps = if round % 2 == 0 { 7 } else { 1 };
        for nap in 0..naps {
            let runs = if nap + 1 == naps { 0 } else { 2 };
            add(time, 1, &format!("{begins} site=prog+0x10"), cpu[1]);
            cpu[runs] += NAP;
            add(time + NAP, runs, TURN_ENDS, cpu[runs]);
            time += NAP + 1_000;
            add(time, 1, ends, cpu[1]);
            time += 1_000;
            cpu[1] += 1_000;
        }
        time += 5 * NAP;
        cpu[1] += 5 * NAP;
    }
    for thread in [1, 2, 0] {
        time += 1_000;
        cpu[thread] += 1_000;
        add(time, thread, "terminate", cpu[thread]);
    }
    let text = format!(
        "foretrace-text 1\nreturns explicit\n{RECORDING}module prog /prog\nthread main\nthread A\nthread B\n{}\n",
        rows.join("\n")
    );
    Program::from_trace(&trace(&text))
}

#[test]
fn who_worked_in_all_last_naps_is_waited_for_and_nobody_else() {
    only_main_is_awaited(&fed_by_main(("sleep", "return")));
    // Neither does it matter what it waits for in between, if that never comes.
    only_main_is_awaited(&fed_by_main(("io poll event", "return outcome=timedout")));
}

fn only_main_is_awaited(program: &Program) {
    let a = program.threads[1].operations.clone();
    let awaited: Vec<usize> = program
        .operations
        .range(a.clone())
        .filter_map(|operation| match operation.action {
            Action::Await(gate) => Some(program.opener(gate)),
            _ => None,
        })
        .map(|opener| match opener {
            Opener::Progress(progress) => program.progress[progress as usize].thread.index(),
            other => panic!("{other:?}"),
        })
        .collect();
    // Once for each row, and for seven of eight pieces of its own work after that.
    assert_eq!(awaited, [0; 12 * 8]);
    // What it looked in between is no work where others run meanwhile.
    let looked = program
        .operations
        .range(a)
        .filter(|operation| operation.action == Action::Linger);
    assert_eq!(
        looked.map(|looked| looked.work_nanos).sum::<u64>(),
        6 * 6 * 1_000
    );
}

/// A thread that has something to do once in 10 ms, beside another that has the CPU for a while, too: it was late once.
const PERIODIC: &str = "0 main create A cpu=0\n5 A sleep asked=5 cpu=2\n10 A return cpu=2\n18 A sleep asked=2 cpu=4\n\
    20 A return cpu=4\n33 A sleep late=3 cpu=8\n39 A sleep asked=1 cpu=9\n40 A return cpu=9\n40 A terminate cpu=9\n\
    41 main terminate cpu=30\n";

/// Returns the delays of the thread: until which moments, and how long in milliseconds.
fn periodic(head: &str, rows: &str) -> Vec<(Option<bool>, u64)> {
    let text = format!(
        "foretrace-text 1\nunit 1ms\nreturns explicit\n{head}thread main\nthread A\n{rows}"
    );
    let program = Program::from_trace(&trace(&text));
    let delays = program.delays.iter();
    delays
        .map(|delay| (delay.due.map(|due| due.follows), delay.nanos / 1_000_000))
        .collect()
}

#[test]
fn who_has_something_to_do_once_in_a_period_sleeps_for_what_is_left_of_it() {
    // Nobody else would have had the CPU before the first sleep.
    let due = [(false, 8), (true, 10), (true, 10), (true, 10)];
    let due = due.map(|(follows, millis)| (Some(follows), millis));
    assert_eq!(periodic(RECORDING, PERIODIC), due);
    // What is written down is meant.
    assert_eq!(periodic("", PERIODIC), [(None, 5), (None, 2), (None, 1)]);
}

#[test]
fn who_was_always_too_late_for_its_period_sleeps_where_it_is_not() {
    let rows = "0 main create A cpu=0\n12 A sleep late=2 cpu=4\n23 A sleep late=3 cpu=8\n34 A sleep late=4 cpu=12\n\
        45 A sleep late=5 cpu=16\n46 A terminate cpu=16\n47 main terminate cpu=30\n";
    let due = [(false, 6), (true, 10), (true, 10), (true, 10)];
    let due = due.map(|(follows, millis)| (Some(follows), millis));
    assert_eq!(periodic(RECORDING, rows), due);
}

#[test]
fn who_sleeps_for_as_long_each_time_does_so() {
    let rows = "0 main create A cpu=0\n1 A sleep asked=5 cpu=1\n6 A return cpu=1\n7 A sleep asked=5 cpu=2\n12 A return cpu=2\n\
        13 A sleep asked=5 cpu=3\n18 A return cpu=3\n19 A sleep asked=5 cpu=4\n24 A return cpu=4\n25 A terminate cpu=5\n\
        26 main terminate cpu=1\n";
    assert_eq!(periodic(RECORDING, rows), [(None, 5); 4]);
}

/// A thread that waits for a condition until a moment, each time at another call: when it begins to wait, when its time has run out, and by how much it comes
/// back later, in milliseconds.
fn waits_until(all: &[(u64, u64, u64)]) -> String {
    let mut rows = vec!["0 main create A cpu=0\n".to_owned()];
    for (cpu, &(begin, until, late)) in (1..).zip(all) {
        let back = begin.max(until + late);
        let late = back - until;
        let site = "site=prog+0x10";
        rows.push(format!(
            "{begin} A lock m cpu={cpu}\n{begin} A cond_timedwait c m {site} cpu={cpu}\n{back} A return timedout cpu={cpu}\n\
             {back} A sleep late={late} {site} cpu={cpu}\n{back} A unlock m cpu={cpu}\n"
        ));
    }
    rows.concat() + "98 A terminate cpu=40\n99 main terminate cpu=50\n"
}

#[test]
fn so_does_who_waits_for_what_nobody_tells_until_moments_a_period_apart() {
    let head = format!("{RECORDING}module prog /prog\n");
    let rows = waits_until(&[
        (12, 10, 0),
        (23, 20, 0),
        (34, 30, 0),
        (36, 40, 3),
        (47, 50, 0),
    ]);
    let due = [(false, 0), (true, 10), (true, 10), (true, 10), (true, 10)];
    let due = due.map(|(follows, millis)| (Some(follows), millis));
    assert_eq!(periodic(&head, &rows), due);
    // Who waits for as long each time may come back late: it waits for no CPU in between.
    let rows = waits_until(&[
        (1, 6, 0),
        (12, 17, 9),
        (30, 35, 2),
        (41, 46, 0),
        (52, 57, 1),
    ]);
    assert_eq!(periodic(&head, &rows), [(None, 5); 5]);
}

#[test]
fn who_takes_an_interpreters_token_between_two_sleeps_only_looks() {
    let sleeps: Vec<String> = (0..5)
        .map(|sleep| {
            let (begin, back) = (30 + sleep * 2_000, 1_990 + sleep * 2_000);
            let cpu = 20 + 2 * sleep;
            format!(
                "{begin} main sleep site=prog+0x10 cpu={cpu}\n{back} main return cpu={cpu}\n{back} main lock g cpu={cpu}\n\
                 {back} main cond_signal c cpu={cpu}\n{back} main unlock g cpu={cpu}\n{back} main sem_trywait s ok cpu={cpu}\n\
                 {back} main sem_post s cpu={cpu}\n"
            )
        })
        .collect();
    let sleeps = sleeps.concat();
    let text = format!(
        "foretrace-text 1\nunit 1us\nreturns explicit\n{RECORDING}module prog /prog\nthread main\nthread A\nsemaphore s 1\n\
         10 main create A cpu=10\n{sleeps}9900 main terminate cpu=60\n"
    );
    let ends = text.replace(
        "9990 main return",
        "9980 A terminate cpu=9800\n9990 main return",
    );
    let ends = ends.replace("9900 main", "9999 main");
    let program = Program::from_trace(&trace(&ends));
    let waits = |action: &Action| matches!(action, Action::Await(_));
    assert_eq!(
        middle(&program)
            .iter()
            .filter(|action| waits(action))
            .count(),
        1
    );
    assert_eq!(program.delays.len(), 2, "{:?}", program.delays);
}

#[test]
fn an_end_that_was_found_in_passing_ended_the_wait_before() {
    let rows = "0 main create child cpu=0\n1 main io poll none cpu=1\n8 child terminate cpu=7\n9 main return cpu=1\n\
         9 main lock m cpu=1\n10 main join child cpu=1\n10 main unlock m cpu=1\n11 main terminate cpu=2\n";
    let text = format!(
        "foretrace-text 1\nunit 1us\nreturns explicit\n{RECORDING}program prog pid=1\nprogram child pid=2 parent=1\nthread main\n\
         thread child program=1\n{rows}"
    );
    let program = Program::from_trace(&trace(&text));
    let actions = middle(&program);
    let place = |is: fn(&Action) -> bool| actions.iter().position(is);
    let wait = place(|action| matches!(action, Action::Await(_)));
    assert!(wait.is_some() && wait < place(|action| matches!(action, Action::Lock(_))));
    assert_eq!(
        program.found.len(),
        2,
        "both are passed over where nobody can go on"
    );
    // One that may have waited did.
    let waited = text.replace("10 main unlock", "10 main return cpu=1\n10 main unlock");
    let program = Program::from_trace(&trace(&waited));
    assert!(program.found.is_empty());
    let waits = |action: &&Action| matches!(action, Action::Await(_));
    assert_eq!(middle(&program).iter().filter(waits).count(), 1);
}
