//! Predictions from several recordings, and with several seeds.

use serde_json::Value;

use crate::environment::TestEnvironment;

/// Two workers that are there at the same instant, on machines where that matters.
const TRACE: &str = "foretrace-text 1\nunit 1ms\nthread main\nthread short\nthread long\n0 main create short\n\
                     0 main create long\n0 main terminate\n10 short terminate\n30 long terminate\n";

fn environment() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.file("one.txt", TRACE, 0o644);
    environment.file("two.txt", TRACE.replace("30 long", "40 long"), 0o644);
    environment.file("three.txt", TRACE.replace("30 long", "70 long"), 0o644);
    environment
}

#[test]
fn the_recording_in_the_middle_answers_between_the_lowest_and_the_highest() {
    let environment = environment();
    let files = [
        "predict",
        "three.txt",
        "one.txt",
        "two.txt",
        "--cpus",
        "1,2",
    ];
    insta::assert_snapshot!(environment.run(&files));
    let document = environment.json(&[&files[..], &["--json"]].concat());
    let two = &document["predictions"][1];
    // 30 / 20, 40 / 30, 70 / 60.
    assert_eq!(two["makespan_ns"], 30_000_000);
    let [low, high] = [0, 1].map(|end| two["speedup_range"][end].as_f64().expect("a number"));
    assert!((low - 7.0 / 6.0).abs() < 1e-9 && (high - 1.5).abs() < 1e-9);
    assert_eq!(
        two["makespan_range_ns"],
        serde_json::json!([20_000_000, 60_000_000])
    );
    assert_eq!(two["ways"][0]["recording"], 0);
    assert_eq!(two["ways"][1]["recording"], 2);
    assert_eq!(document["recordings"][2]["source"], "two.txt");
}

#[test]
fn seeds_break_ties_and_the_same_one_always_alike() {
    let environment = environment();
    environment.file(
        "limit.toml",
        "[scheduler]\nkind = \"fair\"\nslice = \"1s\"\n[threads]\nlimit = 9\n",
        0o644,
    );
    let one_cpu = [
        "predict",
        "one.txt",
        "--cpus",
        "1",
        "--machine",
        "limit.toml",
        "--json",
    ];
    let with = |seed: &str| environment.json(&[&one_cpu[..], &["--seed", seed]].concat());
    let finish = |seed: &str| with(seed)["predictions"][0]["finish_ns"]["short"].clone();
    let all: Vec<Value> = (1..20).map(|seed| finish(&seed.to_string())).collect();
    // The long one first, or the short one.
    assert!(all.contains(&Value::from(10_000_000)) && all.contains(&Value::from(30_000_000)));
    assert_eq!(with("5"), with("5"));
    let many = with("1..20");
    assert_eq!(
        many["predictions"][0]["ways"].as_array().map(Vec::len),
        Some(20)
    );
    let text = environment.run(&["predict", "one.txt", "--cpus", "2", "--seed", "20..1"]);
    assert!(text.contains("is empty; write for instance"), "{text}");
}

#[test]
fn models_after_the_one_that_answers_are_told_beside_it() {
    let environment = environment();
    let document = environment.json(&["predict", "one.txt", "--cpus", "2", "--json"]);
    let prediction = &document["predictions"][0];
    assert_eq!(prediction["attempts"].as_array().map(Vec::len), Some(1));
    assert_eq!(prediction["others"][0]["model"], "client-server");
    assert_eq!(prediction["others"][1]["model"], "strict");
    assert_eq!(
        prediction["models_speedup_range"],
        serde_json::json!([1.5, 1.5])
    );
    let named = environment.json(&[
        "predict", "one.txt", "--cpus", "2", "--model", "direct", "--json",
    ]);
    assert_eq!(named["predictions"][0]["others"], Value::Null);
}
