//! Predictions from the paper's traces, as tables and as JSON, and the traces' other forms.

use std::fs;

use crate::environment::TestEnvironment;

/// Makes an environment with the paper's traces in it.
fn with_paper_traces() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces");
    for name in ["p", "q", "r"] {
        let name = format!("{name}.trace.txt");
        let text = fs::read(format!("{traces}/{name}")).expect("the repository has it");
        environment.file(&name, text, 0o644);
    }
    environment
}

#[test]
fn a_deadlock_on_the_way_is_explained_below_the_table() {
    let environment = with_paper_traces();
    insta::assert_snapshot!(environment.run(&["predict", "q.trace.txt", "--cpus", "1..3"]));
    insta::assert_snapshot!(environment.run(&[
        "predict",
        "r.trace.txt",
        "--cpus",
        "4",
        "--model",
        "direct"
    ]));
}

#[test]
fn all_models_stand_side_by_side() {
    let environment = with_paper_traces();
    insta::assert_snapshot!(environment.run(&[
        "predict",
        "q.trace.txt",
        "--cpus",
        "1,3",
        "--all-models"
    ]));
}

#[test]
fn predictions_are_one_json_document_of_the_documented_form() {
    let environment = with_paper_traces();
    let output = environment
        .command(&["predict", "q.trace.txt", "--cpus", "3", "--bind", "block"])
        .arg("--json")
        .output()
        .expect("foretrace was built");
    let json: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("it is one JSON document");
    let prediction = &json["predictions"][0];
    assert_eq!(prediction["cpus"], 3);
    assert_eq!(prediction["scheduler"], "priority");
    assert_eq!(prediction["bind"], "block");
    assert_eq!(prediction["model"], "client-server");
    assert_eq!(prediction["makespan_ns"], 10);
    assert_eq!(prediction["speedup"], 2.1);
    let finish = prediction["finish_ns"]
        .as_object()
        .expect("it is an object");
    assert!(finish.contains_key("P1"));
    assert!(finish.values().any(|time| time == 10));
    let attempts = prediction["attempts"].as_array().expect("it is a list");
    assert_eq!(attempts.len(), 2);
    assert_eq!(attempts[0]["model"], "direct");
    assert_eq!(attempts[0]["outcome"], "deadlock");
    assert_eq!(attempts[0]["at_ns"], 7);
    let blocked = &attempts[0]["blocked"][0];
    assert_eq!(blocked["thread"], "P1");
    assert_eq!(blocked["operation"], "send");
    assert_eq!(blocked["since_ns"], 5);
    assert_eq!(
        attempts[1],
        serde_json::json!({"model": "client-server", "outcome": "completed", "makespan_ns": 10})
    );
}

#[test]
fn what_a_listing_holds_is_shown() {
    let environment = with_paper_traces();
    insta::assert_snapshot!(environment.run(&["info", "p.trace.txt"]));
    insta::assert_snapshot!(environment.run(&["info", "p.trace.txt", "--json"]));
}

#[test]
fn a_trace_survives_import_and_export() {
    let environment = with_paper_traces();
    insta::assert_snapshot!(environment.run(&["import", "p.trace.txt", "--format", "text"]));
    assert!(environment.has("p.trace.ftrace"));
    let text = |file| environment.run(&["export", file, "--format", "text"]);
    let sealed = text("p.trace.ftrace").replace("p.trace.ftrace", "FILE");
    assert_eq!(sealed, text("p.trace.txt").replace("p.trace.txt", "FILE"));
}

#[test]
fn a_damaged_trace_is_named_with_the_place() {
    let environment = TestEnvironment::new();
    environment.file(
        "case.txt",
        "foretrace-text 1\nprocess A\n5 A frobnicate\n",
        0o644,
    );
    environment.file("foreign", "PNG, or something\n", 0o644);
    environment.file("empty", "", 0o644);
    insta::assert_snapshot!(
        [
            environment.run(&["predict", "case.txt"]),
            environment.run(&["predict", "foreign"]),
            environment.run(&["predict", "empty"]),
        ]
        .join("\n")
    );
}

#[test]
fn of_several_recordings_those_are_named_that_end_in_a_deadlock() {
    let environment = with_paper_traces();
    let files = ["predict", "p.trace.txt", "r.trace.txt", "--cpus", "4"];
    let direct = environment.run(&[&files[..], &["--model", "direct"]].concat());
    let told = "The first model ends in a deadlock, so that another one answers, or none does:\n  4 CPUs: 1 of 2 (r.trace.txt)\n";
    assert!(direct.contains(told), "{direct}");
    let strict = environment.run(&[&files[..], &["--model", "strict"]].concat());
    assert!(!strict.contains("ends in a deadlock"), "{strict}");
}

#[test]
fn what_names_hold_does_not_reach_the_terminal() {
    let environment = TestEnvironment::new();
    let text = "foretrace-text 1\nthread \"a\u{1b}[31m\"\n0 \"a\u{1b}[31m\" terminate\n";
    environment.file("names.txt", text, 0o644);
    let told = environment.run(&["info", "names.txt"]);
    assert!(
        told.contains("a\\u{1b}[31m") && !told.contains('\u{1b}'),
        "{told}"
    );
}
