use foretrace_sim::{Processor, Rate};

use super::*;

fn described(text: &str) -> Description {
    match Description::parse(text, "m.toml".as_ref()) {
        Ok(description) => description,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn error(text: &str) -> String {
    match Description::parse(text, "m.toml".as_ref()) {
        Ok(description) => panic!("{description:?}"),
        Err(error) => error.to_string(),
    }
}

fn machine(text: &str, cpus: u32) -> Machine {
    described(text)
        .machine(cpus, &Program::default(), None)
        .expect("it can have so many")
}

#[test]
fn what_cannot_be_is_told_with_its_line_and_the_remedy() {
    for (text, said) in [
        (
            "[costs]\n\nwake_latancy = \"3us\"\n",
            "m.toml, line 3: `wake_latancy` is not a key here; did you mean `wake_latency`?",
        ),
        (
            "[cost]\n",
            "m.toml, line 1: `cost` is not a key here; did you mean `costs`?",
        ),
        (
            "[costs]\nwake_cost = \"-1us\"\n",
            "m.toml, line 2: `-1us` is negative; write 0us where something takes no time",
        ),
        (
            "[costs]\nwake_cost = 15\n",
            "m.toml, line 2: invalid type: integer `15`, expected a string; write it in quotes, and times with their unit, \
             as in \"15us\"",
        ),
        (
            "costs = [\"5us\"]\n",
            "m.toml, line 1: `costs` is no list; write [costs], and its keys below",
        ),
        (
            "[cpus]\ncount = 4\nsockets = [2, \"1us\"]\n",
            "m.toml, line 3: `cpus.sockets` is no list; write [cpus.sockets], and its keys below",
        ),
        (
            "thread = [[\"T1\", 1]]\n",
            "m.toml, line 1: a list within the list `thread`; write [[thread]], and its keys below",
        ),
        (
            "[locks]\nhandover = \"fifo\"\n",
            "m.toml, line 2: `fifo` is not known here; known are barging, first-come",
        ),
        (
            "[cpus]\ncount = 0\n",
            "m.toml, line 2: 0 is not possible here; write a number from 1 to 65536",
        ),
        (
            "[cpus]\nspeeds = [1.0, 0]\n",
            "m.toml, line 2: 0 is not a speed; write how many seconds of recorded work the CPU does a second, from \
             0.001 to 1000",
        ),
        (
            "[cpus]\ncount = 4\nspeeds = [1.0, 0.5]\n",
            "m.toml, line 2: the count is 4, but 2 CPUs are described; leave the count out",
        ),
        (
            "[cpus]\ncount = 5\nsmt = { ways = 2 }\n",
            "m.toml, line 2: 5 CPUs cannot make cores of 2; write a multiple of 2, or other ways of smt",
        ),
        (
            "[cpus]\ncount = 4\n[cpus.smt]\nthroughput = 3\n",
            "m.toml, line 3: 2 CPUs of a core cannot do more than 2 times the work of one; write a smaller throughput",
        ),
        (
            "[cpus]\ncount = 4\nsockets = { count = 3 }\n",
            "m.toml, line 2: 4 cores cannot be shared out among 3 sockets; write another number of CPUs or sockets",
        ),
        (
            "[cpus]\ncount = 2\n\n[[thread]]\nname = \"T1\"\ncpu = 2\n",
            "m.toml, line 6: CPU 2 is not there: the machine has 2; name one from 0 to 1",
        ),
        (
            "[[thread]]\ncpu = 2\n",
            "m.toml, line 1: which thread is not said; write name = \"T1\", a pattern as in \"T*\", or number = 1",
        ),
        (
            "[scheduler]\nslice = \"0ms\"\n",
            "m.toml, line 2: a slice must last; write one as in 3ms",
        ),
        (
            "[scheduler]\nkind = \"fair\"\nslice = \"0.0000001ms\"\n",
            "m.toml, line 3: a slice lasts 1 ns at least; write a longer one, as in 3ms",
        ),
        (
            "[threads]\nlimit = -1\n",
            "m.toml, line 2: -1 is not possible here; write a number from 1 to 65536",
        ),
        (
            "[memory]\nbandwidth = 0.5\n",
            "m.toml, line 2: 0.5 is not a bandwidth; write how many CPUs can access the memory at once at full speed, at least 1",
        ),
        (
            "[memory]\nbound = 40\n",
            "m.toml, line 2: 40 is not a share; write one from 0 (none) to 1 (all of it)",
        ),
    ] {
        assert_eq!(error(text), said);
    }
    assert!(error("[cpus\n").starts_with("m.toml, line 1: "));
}

#[test]
fn what_does_not_fit_what_is_asked_for_is_told_with_its_line() {
    let text = "[cpus]\nspeeds = [1.0, 0.5]\n";
    let wrong = described(text).machine(3, &Program::default(), None);
    assert_eq!(
        wrong.map_err(|error| error.to_string()),
        Err("m.toml, line 2: the machine has 2 CPUs, and 3 are asked for; ask for fewer with --cpus, or describe more"
            .to_owned())
    );
    let text = "[[thread]]\nname = \"*\"\npriority = 1\n";
    let wrong = described(text).machine(3, &Program::default(), None);
    let wrong = wrong.map_err(|error| error.to_string());
    assert!(
        wrong.as_ref().is_err_and(
            |said| said.starts_with("m.toml, line 3: the fair scheduler knows no priorities")
        ),
        "{wrong:?}"
    );
    let text = "[[thread]]\nname = \"*\"\ncpu = 3\n";
    assert!(described(text).check_bindings(4).is_ok());
    assert!(described(text).check_bindings(3).is_err());
}

#[test]
fn a_machine_of_which_nothing_is_said_is_the_natural_one() {
    let trace = foretrace_testkit::trace(foretrace_testkit::Q);
    let program = Program::from_trace(&trace);
    for text in [
        "",
        "[cpus]\ncount = 3\n",
        "[cpus.smt]\nways = 1\n[cpus.sockets]\ncount = 1\n",
    ] {
        let machine = described(text)
            .machine(3, &program, None)
            .expect("it has 3");
        assert_eq!(machine, Machine::new(3, &program), "{text}");
    }
}

#[test]
fn what_is_said_last_of_a_thread_holds() {
    let trace = foretrace_testkit::trace(foretrace_testkit::Q);
    let program = Program::from_trace(&trace);
    let text =
        "[[thread]]\nname = \"P*\"\npriority = 7\ncpu = 1\n[[thread]]\nnumber = 1\npriority = 9\n";
    let machine = described(text)
        .machine(3, &program, None)
        .expect("it has 3");
    let setting = |priority| ThreadSetting {
        priority: Some(priority),
        cpu: Some(1),
    };
    assert_eq!(machine.threads, [setting(7), setting(9), setting(7)]);
    assert_eq!(described(text).warnings(&program), [""; 0]);
    let text = "[[thread]]\nname = \"T*\"\ncpu = 1\n[[thread]]\nnumber = 3\ncpu = 1\n";
    assert_eq!(
        described(text).warnings(&program),
        [
            "m.toml: there is no thread `T*`; `foretrace info` lists them",
            "m.toml: there is no thread number 3; `foretrace info` lists them"
        ]
    );
    // Thread 1 is P2.
    let text = "[[thread]]\nname = \"P2\"\ncpu = 1\npriority = 1\n[[thread]]\nnumber = 1\npriority = 1\ncpu = 0\n\
        [[thread]]\nname = \"P1\"\nnumber = 1\n";
    assert_eq!(
        described(text).warnings(&program),
        [
            "m.toml: there is no thread `P1` of number 1; `foretrace info` lists them",
            "m.toml: the cpu of thread 1, `P2`, is said in lines 1 and 5; the last holds"
        ]
    );
}

/// Returns the number of the core, the socket and the speed in percent of each CPU.
fn places(processors: &[Processor]) -> Vec<(u32, u32, u64)> {
    let place = |cpu: &Processor| (cpu.core, cpu.socket, cpu.speed.0 / 10_000_000);
    processors.iter().map(place).collect()
}

#[test]
fn cpus_are_numbered_by_their_cores_first() {
    let hybrid = "[[cpus.group]]\ncount = 4\nsmt = { ways = 2, throughput = 1.3 }\n[[cpus.group]]\ncount = 2\nspeed = 0.5\n";
    let all = [
        (0, 0, 100),
        (1, 0, 100),
        (2, 0, 50),
        (3, 0, 50),
        (0, 0, 100),
        (1, 0, 100),
    ];
    assert_eq!(places(&machine(hybrid, 6).processors), all);
    assert_eq!(
        machine(hybrid, 6).processors[0].throughput,
        Rate(1_300_000_000)
    );
    assert_eq!(places(&machine(hybrid, 3).processors), all[..3]);
    // Two CPUs of its cores are as the recording's.
    assert_eq!(machine(hybrid, 2).processors, []);
    let server = "[cpus]\ncount = 8\nsmt = {}\nsockets = { count = 2 }\n";
    let sockets: Vec<u32> = machine(server, 8)
        .processors
        .iter()
        .map(|cpu| cpu.socket)
        .collect();
    assert_eq!(sockets, [0, 0, 1, 1, 0, 0, 1, 1]);
}

#[test]
fn where_the_number_of_cpus_is_not_said_the_machine_has_those_asked_for() {
    let text = "[cpus.smt]\nways = 2\nthroughput = 1.2\n";
    assert_eq!(described(text).cpus(), None);
    assert_eq!(
        places(&machine(text, 4).processors),
        [(0, 0, 100), (1, 0, 100), (0, 0, 100), (1, 0, 100)]
    );
    assert_eq!(machine(text, 1).processors, []);
}

#[test]
fn what_is_shown_is_the_same_machine_when_it_is_read() {
    for text in [
        "",
        "[cpus]\nspeeds = [1, 0.55, 0.333]\nmigration = \"1.5us\"\n[scheduler]\nkind = \"round-robin\"\nquantum = \"10ms\"\n",
        include_str!("../../../../assets/machines/laptop.toml"),
        include_str!("../../../../assets/machines/server.toml"),
        include_str!("../../../../assets/machines/lwps.toml"),
    ] {
        let description = described(text);
        let cpus = description.cpus().unwrap_or(3);
        let shown = description.show(Some(cpus)).expect("it has so many");
        let mut program = Program::default();
        program.recorded = true;
        let again = described(&shown);
        assert_eq!(again.cpus(), Some(cpus));
        assert_eq!(
            again.machine(cpus, &program, None).expect("the same"),
            description.machine(cpus, &program, None).expect("so many"),
            "{shown}"
        );
        assert_eq!(again.show(None).expect("the same"), shown);
    }
}

#[test]
fn cpus_that_nobody_looks_for_take_threads_when_the_clock_ticks() {
    let balance = |text: &str| machine(&format!("[scheduler]\n{text}"), 2).idle_balance;
    assert_eq!(balance(""), balance("idle_search = true\n"));
    assert_eq!(balance("idle_search = false\n"), LINUX_TICK);
    assert_eq!(
        balance("idle_search = false\nidle_balance = \"0us\"\n"),
        balance("")
    );
    assert_eq!(balance("idle_search_from = 0.67\n"), LINUX_TICK);
    assert_eq!(balance("idle_search_from = 0\n"), balance(""));
    let busy = machine("[scheduler]\nidle_search_from = 0.67\n", 2).idle_search_from;
    assert_eq!(busy, Rate(670_000_000));
    assert!(
        !described("")
            .with_idle_search(false)
            .machine(2, &Program::default(), None)
            .is_ok_and(|m| m.idle_search)
    );
}
