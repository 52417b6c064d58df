//! Threads that wait with an eye on the clock, again and again, until what they wait for comes.

use crate::environment::{TestEnvironment, assert_speedup};

#[test]
fn how_often_the_time_of_a_wait_ran_out_is_not_repeated() {
    for how in ["semaphore", "queue", "poll", "condition"] {
        // Two threads do all work. On one CPU an item takes longer than a wait, on two no longer.
        assert_speedup(1.75..=2.05, || {
            let environment = TestEnvironment::new();
            let source = include_str!("../../../../traces/programs/timed_waits.c");
            environment.compile("timed_waits", source, &["-O1", "-pthread", "-lrt"]);
            let program = ["./timed_waits", how, "20", "12000000"];
            let record = ["record", "-q", "-o", "out.ftrace", "--"];
            let ended = environment.run(&[&record[..], &program].concat());
            assert!(ended.contains("exit code: 0"), "{ended}");
            environment.json(&["predict", "out.ftrace", "--cpus", "2", "--json"])
        });
    }
}
