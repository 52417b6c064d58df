//! Calls that block outside the program: input and output, sleeping.

use crate::harness::record;

#[test]
fn calls_that_block_are_told_with_what_they_waited_for_and_others_are_not() {
    let run = record("blocked_calls.c");
    assert_eq!(run.stdout(), "200018 bytes, 0 ready\n");
    assert_eq!(
        run.lines("main"),
        [
            "create T1",
            "io read pipe",
            "return",
            "io read socket",
            "return",
            "io read event",
            "return",
            "join T1",
            "return",
            "io read timer",
            "return",
            "io poll",
            "return timedout",
            "sleep",
            "return",
            "terminate"
        ]
    );
    assert_eq!(run.count("sleep"), 4);
}
