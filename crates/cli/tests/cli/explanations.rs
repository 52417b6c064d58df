//! `explain` names what limits a predicted run, by line, and what would help.

use std::fs;

use serde_json::Value;

use crate::environment::TestEnvironment;

/// Three threads work for a while, and longer in a section that excludes them; before that main is alone.
const SOURCE: &str = "\
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile double sum;
static void work(int count) {
    for (int round = 0; round < count; round++) sum += round;
}
static void update(void) {
    pthread_mutex_lock(&mutex);
    work(60000);
    pthread_mutex_unlock(&mutex);
}
static void *worker(void *unused) {
    for (int round = 0; round < 200; round++) {
        work(20000);
        update();
    }
    return unused;
}
int main(void) {
    pthread_t threads[3];
    work(4000000);
    for (int thread = 0; thread < 3; thread++)
        pthread_create(&threads[thread], NULL, worker, NULL);
    for (int thread = 0; thread < 3; thread++)
        pthread_join(threads[thread], NULL);
    return 0;
}
";

/// Three threads share a loop, enter a section in the order of its iterations, do tasks, and meet at the end of a function.
const OPENMP: &str = "\
static volatile double sum;
static void work(int count) {
    for (int round = 0; round < count; round++) sum += round;
}
int main(void) {
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic)
        for (int piece = 0; piece < 60; piece++)
            work(100000);
#pragma omp for ordered
        for (int piece = 0; piece < 12; piece++) {
#pragma omp ordered
            work(100000);
        }
#pragma omp single
        for (int piece = 0; piece < 6; piece++) {
#pragma omp task
            work(1000000);
        }
    }
    for (int round = 0; round < 5; round++)
#pragma omp parallel num_threads(3)
    {
        work(500000);
#pragma omp barrier
    }
    return 0;
}
";

/// Records a program that was built with some options; returns what is explained of it on three CPUs.
fn explained(source: &str, options: &[&str]) -> (String, Value) {
    let environment = TestEnvironment::new();
    let program = environment.compile("program", source, &[&["-g", "-O1"], options].concat());
    let program = program.display().to_string();
    let record = [
        "record",
        "--quiet",
        "--pretend-cpus",
        "3",
        "-o",
        "program.ftrace",
        "--",
        &program,
    ];
    assert!(environment.run(&record).contains("exit code: 0"));
    let explain = ["explain", "program.ftrace", "--cpus", "3"];
    let text = environment.run(&explain);
    let json = environment
        .command(&explain)
        .arg("--json")
        .output()
        .expect("foretrace was built");
    let json = serde_json::from_slice(&json.stdout).expect("it is one JSON document");
    (text, json)
}

#[test]
fn what_limits_a_run_is_named_by_line_and_what_would_help_is_predicted() {
    let (text, json) = explained(SOURCE, &["-pthread"]);
    let path = json["critical_path"].as_array().expect("it is a list");
    let line = |spot: &Value| spot["line"].as_u64();
    let section = &path[0];
    assert_eq!(section["kind"], "code", "{text}");
    assert_eq!(
        (line(&section["from"]), line(&section["to"])),
        (Some(8), Some(10)),
        "{text}"
    );
    let alone = path
        .iter()
        .find(|part| part["from"]["operation"] == "begin");
    let alone = alone.expect("main works before it creates threads");
    assert_eq!(line(&alone["to"]), Some(23), "{text}");
    let all: u64 = path
        .iter()
        .filter_map(|part| part["time_ns"].as_u64())
        .sum();
    let makespan = json["makespan_ns"].as_u64().expect("it ends");
    assert!(all.abs_diff(makespan) <= path.len() as u64, "{text}");

    let wait = &json["waits"][0];
    let waits = json["waits"].as_array().expect("it is a list");
    let lock = waits.iter().find(|wait| wait["kind"] == "lock");
    let lock = lock.expect("threads wait for the mutex");
    assert_eq!(line(&lock["at"]), Some(8), "{wait}");
    assert_eq!(line(&lock["ended_by"]), Some(10), "{text}");

    let changes = json["changes"].as_array().expect("it is a list");
    let makespan = |kind: &str| {
        let change = changes.iter().find(|change| change["kind"] == kind);
        let change = change.and_then(|change| change["makespan_ns"].as_u64());
        change.expect(kind) as f64
    };
    // The section is three quarters of what threads do: with locks of their own they would all work at once.
    let before = json["makespan_ns"].as_u64().expect("it ends") as f64;
    assert!(makespan("finer-locks") < 0.8 * before, "{text}");
    assert!(makespan("twice-as-fast") < 0.8 * before, "{text}");
    assert!(text.contains("nobody waited for mutex 1 (lock "), "{text}");
}

#[test]
fn openmp_s_constructs_are_named_as_in_the_source() {
    let (text, json) = explained(OPENMP, &["-fopenmp", "-foptimize-sibling-calls"]);
    for construct in ["worksharing", "task", "parallel", "ordered"] {
        let named = format!("{construct} ");
        assert!(text.contains(&named), "{construct}: {text}");
    }
    // The last thing that a region does may be a jump, from nowhere in the program.
    for other in ["sem_post", "sem_trywait", "doacross", "foretrace_preload"] {
        assert!(!text.contains(other), "{text}");
    }
    let path = json["critical_path"].as_array().expect("there is one");
    let begins = |part: &Value| part["from"]["construct"] == "worksharing";
    assert!(path.iter().any(begins), "{json}");
}

#[test]
fn a_trace_without_lines_is_explained_by_what_is_called() {
    let environment = TestEnvironment::new();
    let text = "foretrace-text 1\nunit 1ms\nprocess A\nprocess B\n0 A create B\n1 A lock m\n5 A unlock m\n7 B lock m\n11 B unlock m\n\
                13 B terminate\n13 A join B\n14 A terminate\n";
    environment.file("two.trace.txt", text.as_bytes(), 0o644);
    insta::assert_snapshot!(environment.run(&["explain", "two.trace.txt", "--cpus", "2"]));
    insta::assert_snapshot!(environment.run(&["explain", "two.trace.txt", "--cpus", "1"]));
}

#[test]
fn a_thread_that_is_bound_to_a_cpu_that_is_not_there_is_refused() {
    let environment = TestEnvironment::new();
    let text = "foretrace-text 1\nprocess A\n0 A lock m\n5 A unlock m\n7 A terminate\n";
    environment.file("one.trace.txt", text.as_bytes(), 0o644);
    let machine = "[[thread]]\nname = \"A\"\ncpu = 5\n";
    environment.file("bound.toml", machine.as_bytes(), 0o644);
    let explain = [
        "explain",
        "one.trace.txt",
        "--cpus",
        "2",
        "--machine",
        "bound.toml",
    ];
    let refused = environment.run(&explain);
    assert!(refused.contains("CPU 5 is not there"), "{refused}");
}

#[test]
fn a_deadlock_and_what_passes_messages_are_told() {
    let environment = TestEnvironment::new();
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces");
    let text = fs::read(format!("{traces}/r.trace.txt")).expect("the repository has it");
    environment.file("r.trace.txt", text, 0o644);
    let direct = ["explain", "r.trace.txt", "--cpus", "4", "--model", "direct"];
    let deadlock = environment.run(&direct);
    assert!(deadlock.contains("4 CPUs: a deadlock at "), "{deadlock}");
    let messages = format!("{traces}/messages/stencil.goal");
    let refused = environment.run(&["explain", &messages]);
    assert!(
        refused.contains("name a network with --network"),
        "{refused}"
    );
    let network = ["--network", "infiniband"];
    let refused = environment.run(&[&["explain", &messages, "--cpus", "4"], &network[..]].concat());
    assert!(refused.contains("exit code: 2"), "{refused}");
    let refused = environment.run(&[&["explain", "r.trace.txt"], &network[..]].concat());
    assert!(refused.contains("holds no messages"), "{refused}");
}

/// The master takes results from whoever comes, and gives each of two slaves two tasks, of which those of the second take longer. What
/// each does, in milliseconds: works for so long, and then calls.
const FARM: [(&str, &[(u32, &str)]); 3] = [
    (
        "M",
        &[
            (1, "send 1 8 1"),
            (0, "send 2 8 1"),
            (0, "recv any 8000000 2"),
            (1, "send 1 8 1"),
            (0, "recv any 8000000 2"),
            (1, "send 2 8 1"),
            (0, "recv any 8000000 2"),
            (1, "recv any 8000000 2"),
            (1, "terminate"),
        ],
    ),
    (
        "A",
        &[
            (0, "recv 0 8 1"),
            (60, "send 0 8000000 2"),
            (0, "recv 0 8 1"),
            (60, "send 0 8000000 2"),
            (0, "terminate"),
        ],
    ),
    (
        "B",
        &[
            (0, "recv 0 8 1"),
            (90, "send 0 8000000 2"),
            (0, "recv 0 8 1"),
            (90, "send 0 8000000 2"),
            (0, "terminate"),
        ],
    ),
];

/// Returns what ranks do as a recording of them would say it.
fn listed(ranks: &[(&str, &[(u32, &str)])]) -> String {
    let mut lines = vec!["foretrace-text 1".to_owned(), "unit 1ms".to_owned()];
    lines.extend(ranks.iter().map(|(rank, _)| format!("process {rank}")));
    for (rank, calls) in ranks {
        let mut cpu = 0;
        for (work, call) in *calls {
            cpu += work;
            lines.push(format!("0 {rank} {call} cpu={cpu}"));
            if *call != "terminate" {
                lines.push(format!("0 {rank} return cpu={cpu}"));
            }
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn ranks_that_pass_messages_are_explained() {
    let environment = TestEnvironment::new();
    environment.file("farm.trace.txt", listed(&FARM), 0o644);
    let stencil = "num_ranks 2\nrank 0 {\nl1: calc 100000\nl2: send 10000b to 1\nl2 requires l1\nl3: recv 8b from 1\nl4: calc 20000\n\
                   l4 requires l3\n}\nrank 1 {\nl1: recv 10000b from 0\nl2: calc 50000\nl2 requires l1\nl3: send 8b to 0\n\
                   l3 requires l2\n}\n";
    environment.file("two.goal", stencil, 0o644);
    let farm = ["explain", "farm.trace.txt", "--network", "gigabit-ethernet"];
    let json = [&farm[..], &["--json"]].concat();
    let document = environment.json(&json);
    let path = document["critical_path"].as_array().expect("it is a list");
    let all: u64 = path
        .iter()
        .filter_map(|part| part["time_ns"].as_u64())
        .sum();
    let makespan = document["makespan_ns"].as_u64().expect("it ends");
    assert!(all.abs_diff(makespan) <= path.len() as u64, "{document}");
    let shown = [
        environment.run(&farm),
        environment.run(&["explain", "two.goal", "--network", "loggopsim"]),
        environment.run(&["explain", "two.goal", "--network", "infiniband", "--json"]),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}
