//! One recording for each number of CPUs, and one prediction of them all.

use std::fs;

use serde_json::Value;

use crate::environment::{TestEnvironment, assert_speedup};

/// Divides its work among as many threads as it is told, or as there are CPUs.
const SOURCE: &str = r"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static long share;

static void *work(void *unused) {
    (void)unused;
    for (volatile long i = 0; i < share; i++) {
    }
    return 0;
}

int main(int count, char **arguments) {
    pthread_t threads[64];
    long cpus = count > 1 ? atoi(arguments[1]) : sysconf(_SC_NPROCESSORS_ONLN);
    share = 200000000 / cpus;
    for (int i = 0; i < cpus; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < cpus; i++)
        pthread_join(threads[i], 0);
    return 0;
}
";

fn json(environment: &TestEnvironment, arguments: &[&str]) -> Value {
    let output = environment.command(arguments).output();
    let output = output.expect("foretrace was built");
    serde_json::from_slice(&output.stdout).expect("it is one JSON document")
}

#[test]
fn a_series_is_recorded_predicted_and_shown_as_one() {
    let environment = TestEnvironment::new();
    environment.compile("prog", SOURCE, &["-O1", "-pthread"]);
    let record = ["record", "--force", "--each", "cpus=4,1,2"];
    let program = ["-o", "s.ftseries", "--", "./prog", "{cpus}"];
    let record = || environment.run(&[&record[..], &program].concat());
    let recorded = record();
    assert!(recorded.contains("exit code: 0"), "{recorded}");
    assert!(
        recorded.contains("a series of 3 recordings: s.ftseries"),
        "{recorded}"
    );
    for cpus in [1, 2, 4] {
        assert!(environment.has(&format!("s.cpus-{cpus}.ftrace")));
    }

    let document = json(&environment, &["predict", "s.ftseries", "--json"]);
    let predictions = document["predictions"].as_array().expect("a list");
    let cpus: Vec<&Value> = predictions.iter().map(|each| &each["cpus"]).collect();
    assert_eq!(cpus, [1, 2, 4]);
    assert_eq!(predictions[0]["speedup"], 1.0);
    let speedup = |index: usize| predictions[index]["speedup"].as_f64().expect("a number");
    assert_eq!(
        document["series"]["runs"][2]["trace"]["recording"]["command"][1],
        "4"
    );
    assert_eq!(document["trace"]["source"], "s.cpus-1.ftrace");

    let table = environment.run(&["predict", "s.ftseries"]);
    assert_eq!(table.matches('%').count(), 3, "{table}");
    let one = json(
        &environment,
        &["predict", "s.ftseries", "--cpus", "4", "--json"],
    );
    assert_eq!(one["predictions"][0]["speedup"], speedup(2));

    let shown = json(&environment, &["info", "s.ftseries", "--json"]);
    let runs = shown["series"]["runs"].as_array().expect("a list");
    let threads: Vec<&Value> = runs.iter().map(|run| &run["trace"]["threads"]).collect();
    assert_eq!(threads, [2, 3, 5]);
    let listed = environment.run(&["info", "s.ftseries"]);
    assert!(listed.contains("s.cpus-4.ftrace"), "{listed}");

    // The threads' shares are equal, so only what starts and ends the program is not shared.
    assert_speedup(2.5..=4.5, || {
        record();
        environment.json(&["predict", "s.ftseries", "--cpus", "4", "--json"])
    });
}

#[test]
fn a_command_without_a_place_for_the_number_asks_for_the_cpus_itself() {
    let environment = TestEnvironment::new();
    environment.compile("prog", SOURCE, &["-O1", "-pthread"]);
    let recorded = environment.run(&["record", "--each", "cpus=2,3", "--", "./prog"]);
    assert!(
        recorded.contains("the command does not hold {cpus}"),
        "{recorded}"
    );
    let shown = json(&environment, &["info", "prog.ftseries", "--json"]);
    let runs = shown["series"]["runs"].as_array().expect("a list");
    let threads: Vec<&Value> = runs.iter().map(|run| &run["trace"]["threads"]).collect();
    assert_eq!(threads, [3, 4]);
    let predicted = environment.run(&["predict", "prog.ftseries"]);
    assert!(
        predicted.contains("no recording for 1 CPU: speed-ups refer to that for 2"),
        "{predicted}"
    );
}

#[test]
fn what_is_wrong_with_a_series_is_told() {
    let environment = TestEnvironment::new();
    let record = [
        "record",
        "-q",
        "--each",
        "cpus=1,2",
        "-o",
        "s.ftseries",
        "--",
        "true",
    ];
    let recorded = environment.run(&record);
    assert!(recorded.contains("exit code: 0"), "{recorded}");
    let mut texts = vec![
        environment.run(&record),
        environment.run(&["predict", "s.ftseries", "--cpus", "8"]),
        environment.run(&["export", "s.ftseries", "--format", "text"]),
        environment.run(&["record", "--each", "threads=1,2", "--", "true"]),
        environment.run(&[
            "record",
            "--each",
            "cpus=1",
            "--pretend-cpus",
            "2",
            "--",
            "true",
        ]),
    ];
    fs::remove_file(environment.path("s.ftseries")).expect("it was written");
    texts.push(environment.run(&record));
    let again = environment.run(&[
        "record",
        "-qf",
        "--each",
        "cpus=1,2",
        "-o",
        "s.ftseries",
        "--",
        "true",
    ]);
    assert!(again.contains("exit code: 0"), "{again}");
    fs::remove_file(environment.path("s.cpus-2.ftrace")).expect("it was written");
    texts.push(environment.run(&["predict", "s.ftseries"]));
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_series_ends_as_the_first_recording_that_failed() {
    let environment = TestEnvironment::new();
    let script = "exit $((4 - {cpus}))";
    let text = environment.run(&[
        "record", "-q", "--each", "cpus=1,2", "--", "sh", "-c", script,
    ]);
    assert!(text.contains("exit code: 3"), "{text}");
    assert!(environment.has("sh.cpus-2.ftrace"));
    // A program that is interrupted is not started again.
    let script = "kill -9 $$";
    let text = environment.run(&[
        "record", "-qf", "--each", "cpus=1,2", "-o", "k", "--", "sh", "-c", script,
    ]);
    assert!(text.contains("signal: 9"), "{text}");
    assert!(environment.has("k.cpus-1.ftrace") && !environment.has("k.cpus-2.ftrace"));
}
