//! `validate` compares predictions with real runs.

use std::thread::available_parallelism;

use serde_json::Value;

use crate::environment::TestEnvironment;

/// Two threads that work side by side, and say on how many CPUs they believe to be.
const SOURCE: &str = "\
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *work(void *unused) {
    for (volatile int i = 0; i < 20000000; i++) ;
    return unused;
}
int main(int argc, char **argv) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    return argc > 1 && sysconf(_SC_NPROCESSORS_ONLN) != atoi(argv[1]);
}
";

fn has_two_cpus() -> bool {
    available_parallelism().is_ok_and(|cpus| cpus.get() > 1)
}

#[test]
fn predictions_stand_beside_real_runs() {
    let environment = TestEnvironment::new();
    let program = environment.compile("work", SOURCE, &["-O1", "-pthread"]);
    let program = program.display().to_string();
    let options = ["validate", "--cpus", "2", "--rounds", "2", "--json"];
    // Everywhere it is made to believe in the same number, also when it runs on one CPU alone.
    let arguments = [&options[..], &["--pretend-cpus", "5", "--", &program, "5"]].concat();
    let output = environment
        .command(&arguments)
        .output()
        .expect("foretrace was built");
    if !has_two_cpus() {
        assert_eq!(output.status.code(), Some(2));
        return;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is one JSON document");
    assert_eq!(document["rounds"], 2);
    let command = &document["validations"][0]["trace"]["recording"]["command"];
    assert_eq!(command[1], "5");
    let results = document["validations"][0]["results"]
        .as_array()
        .expect("it is a list");
    assert_eq!(results.len(), 2);
    for (result, cpus) in results.iter().zip([1, 2]) {
        assert_eq!(result["cpus"], cpus);
        for key in ["predicted_ns", "real_ns", "real_least_ns", "real_most_ns"] {
            assert!(result[key].as_u64() > Some(0), "{key}: {result}");
        }
        let relative = result["predicted_ns"].as_f64().expect("a number")
            / result["real_ns"].as_f64().expect("a number");
        let error = result["error"].as_f64().expect("a number");
        assert!((relative - 1.0 - error).abs() < 1e-9);
    }
    assert_eq!(results[0]["real_speedup"], 1.0);
    assert_eq!(environment.files(), [".cache", "work", "work.c"]);
}

#[test]
fn a_gate_on_the_error_decides_the_exit_code() {
    if !has_two_cpus() {
        return;
    }
    let environment = TestEnvironment::new();
    let program = environment.compile("work", SOURCE, &["-O1", "-pthread"]);
    let program = program.display().to_string();
    let options = ["validate", "--rounds", "1", "--cpus", "2", "--fail-if"];
    for (percent, code) in [("1000000", 0), ("0", 4)] {
        let arguments = [&options[..], &[percent, "--", &program]].concat();
        let status = environment
            .command(&arguments)
            .status()
            .expect("foretrace was built");
        // No prediction is right to the last digit.
        assert_eq!(status.code(), Some(code), "{percent} %");
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let environment = TestEnvironment::new();
    let refused = |arguments: &[&str]| environment.run(&[&["validate"], arguments].concat());
    let many = refused(&["--cpus", "4096", "--", "true"]);
    assert!(many.contains("exit code: 2"), "{many}");
    assert!(
        many.contains("--cpus 4096: this process may run on"),
        "{many}"
    );
    let one = refused(&["--cpus", "1", "--", "true"]);
    assert!(one.contains("nothing to compare on one CPU"), "{one}");
    let absent = refused(&["--cpus", "1,2", "--", "./absent"]);
    assert!(absent.contains("exit code: "), "{absent}");
    if has_two_cpus() {
        assert!(absent.contains("absent"), "{absent}");
        let failed = refused(&["--cpus", "2", "--rounds", "1", "--", "sh", "-c", "exit 9"]);
        assert!(failed.contains("exit code: 3"), "{failed}");
        assert!(
            failed.contains("the program failed: exit code 9"),
            "{failed}"
        );
    }
}

#[test]
fn a_trace_or_a_series_is_compared_with_runs_of_its_own_command() {
    let environment = TestEnvironment::new();
    let program = environment.compile("work", SOURCE, &["-O1", "-pthread"]);
    let program = program.display().to_string();
    let series = ["record", "--each", "cpus=1,2", "-o", "work.ftseries", "--"];
    let recorded = environment.run(&[&series[..], &[&program, "{cpus}"]].concat());
    assert!(recorded.contains("exit code: 0"), "{recorded}");
    if !has_two_cpus() {
        return;
    }
    for file in ["work.ftseries", "work.cpus-2.ftrace"] {
        let arguments = [
            "validate", "--rounds", "1", "--cpus", "2", "--json", "--trace", file,
        ];
        let output = environment
            .command(&arguments)
            .output()
            .expect("foretrace was built");
        let said = String::from_utf8_lossy(&output.stderr);
        // The program fails where it does not believe in as many CPUs as its argument says.
        assert_eq!(output.status.code(), Some(0), "{file}: {said}");
        let document: Value =
            serde_json::from_slice(&output.stdout).expect("it is one JSON document");
        let validation = &document["validations"][0];
        assert_eq!(validation["trace"]["recording"]["command"][1], "2");
        assert_eq!(validation["results"][1]["cpus"], 2);
    }
    let text = environment.path("listing.txt");
    std::fs::write(&text, "foretrace-text 1\n0 A terminate\n").expect("it is ours");
    let refused = environment.run(&["validate", "--cpus", "2", "--trace", "listing.txt"]);
    assert!(
        refused.contains("does not say which command was recorded"),
        "{refused}"
    );
}
