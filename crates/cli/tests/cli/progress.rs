//! Threads that keep behind others, which tell how far they have come.

use serde_json::Value;

use crate::environment::{TestEnvironment, assert_speedup};

#[test]
fn rows_of_pictures_are_found_to_need_rows_of_others() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/rows.c");
    environment.compile("rows", source, &["-O1", "-g", "-pthread"]);
    // Each of 24 pictures begins when 8 of the 16 rows of the one before are there.
    let record = ["record", "--quiet", "--force", "-o", "out.ftrace", "--"];
    let program = ["./rows", "4", "24", "16", "8", "100000"];
    let record = || {
        let ended = environment.run(&[&record[..], &program].concat());
        assert!(ended.contains("exit code: 0"), "{ended}");
    };

    record();
    let info = environment.json(&["info", "out.ftrace", "--json"]);
    let structures = info["structures"].as_array().expect("a list");
    assert_eq!(structures.len(), 5, "{info}");
    for structure in structures {
        assert_eq!(structure["pattern"], "progress", "{info}");
        assert_eq!(structure["sites"][0]["line"], 27, "{info}");
    }
    // The last picture is done after 23 times 8 rows and 16 more, of 384.
    let predict = ["predict", "out.ftrace", "--cpus", "8", "--json"];
    assert_speedup(1.4..=2.0, || {
        record();
        let predicted = environment.json(&predict);
        let answer = &predicted["predictions"][0];
        assert_eq!(answer["model"], "direct", "{predicted}");
        predicted
    });
}

#[test]
fn pictures_that_wait_for_earlier_ones_go_from_a_queue_to_any_thread() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/rows.c");
    environment.compile("rows", source, &["-O1", "-g", "-pthread"]);
    let record = ["record", "--quiet", "--force", "-o", "out.ftrace", "--"];
    let program = ["./rows", "4", "60", "16", "8", "50000", "queue"];
    let predict = ["predict", "out.ftrace", "--cpus", "1,2,8", "--json"];
    assert_speedup(1.0..=1.01, || {
        let ended = environment.run(&[&record[..], &program].concat());
        assert!(ended.contains("exit code: 0"), "{ended}");
        let predicted = environment.json(&predict);
        for answer in predicted["predictions"].as_array().expect("a list") {
            assert_eq!(answer["model"], "pool", "{predicted}");
        }
        predicted
    });
}

#[test]
fn threads_that_make_two_pictures_in_a_row_begin_another_course() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/rows.c");
    environment.compile("rows", source, &["-O1", "-g", "-pthread"]);
    // In the kernel's own turns a thread takes a picture from the queue while the one that it made just now is the last one told on
    // the same condition variable.
    let record = [
        "record",
        "--quiet",
        "--slice",
        "off",
        "-o",
        "out.ftrace",
        "--",
    ];
    let program = ["./rows", "4", "200", "16", "8", "50000", "queue"];
    let ended = environment.run(&[&record[..], &program].concat());
    assert!(ended.contains("exit code: 0"), "{ended}");
    let info = environment.json(&["info", "out.ftrace", "--json"]);
    let structures = info["structures"].as_array().expect("a list");
    let patterns = structures.iter().map(|structure| &structure["pattern"]);
    let progress = patterns.filter(|&pattern| pattern == "progress");
    assert_eq!(progress.count(), 5, "{info}");
}

/// Records a program of rounds; returns what its first condition variable was found to be, and the prediction for two CPUs.
fn rounds(how: &str) -> (Value, Value) {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/rounds.c");
    environment.compile("rounds", source, &["-O1", "-g", "-pthread"]);
    let record = ["record", "--quiet", "--force", "-o", "out.ftrace", "--"];
    let ended = environment.run(&[&record[..], &["./rounds", how]].concat());
    assert!(ended.contains("exit code: 0"), "{ended}");
    let info = environment.json(&["info", "out.ftrace", "--json"]);
    let predict = ["predict", "out.ftrace", "--cpus", "2", "--json"];
    (info["structures"][0].clone(), environment.json(&predict))
}

#[test]
fn threads_that_let_each_other_go_on_by_one_condition_variable_take_turns() {
    for how in ["turns", "broadcast"] {
        assert_speedup(1.3..=2.05, || {
            let (structure, predicted) = rounds(how);
            assert_eq!(structure["pattern"], "rounds", "{how}: {structure}");
            let answer = &predicted["predictions"][0];
            assert_eq!(answer["model"], "direct", "{predicted}");
            predicted
        });
    }
}
