//! Work that something which the kernel keeps lets in one after the other.

use serde_json::Value;

use crate::environment::{TestEnvironment, assert_speedup};

/// Records the program in one of its ways, and predicts it for two CPUs.
fn predicted(how: &str) -> Value {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/guards.c");
    environment.compile("guards", source, &["-O1", "-pthread"]);
    let record = ["record", "-q", "-o", "out.ftrace", "--", "./guards", how];
    let ended = environment.run(&[&record[..], &["3000000"]].concat());
    assert!(ended.contains("exit code: 0"), "{ended}");
    environment.json(&["predict", "out.ftrace", "--cpus", "2", "--json"])
}

#[test]
fn tokens_and_messages_are_seen_whatever_the_number_of_their_file_is() {
    for how in ["counter", "functions", "pipe", "messages"] {
        assert_speedup(0.9..=1.1, || predicted(how));
    }
}

#[test]
fn locks_of_files_last_until_the_last_copy_is_closed_or_a_child_gives_them_up() {
    assert_speedup(0.9..=1.1, || predicted("copies"));
    // Children begin and end beside each other.
    assert_speedup(0.9..=1.4, || predicted("children"));
}

#[test]
fn what_the_kernel_gives_back_when_its_owner_ends_is_had_until_then() {
    for how in ["undone", "killed", "robust", "died"] {
        assert_speedup(0.9..=1.1, || {
            let predicted = predicted(how);
            assert_eq!(
                predicted["predictions"][0]["model"], "direct",
                "{predicted}"
            );
            predicted
        });
    }
}
