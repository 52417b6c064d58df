//! Programs whose threads look again and again until they see what they wait for.

use crate::environment::{TestEnvironment, assert_speedup};

#[test]
fn threads_that_poll_until_all_arrived_are_found_to_wait_at_a_barrier() {
    let environment = TestEnvironment::new();
    let source = include_str!("../../../../traces/programs/polling_barrier.c");
    environment.compile("polling_barrier", source, &["-O1", "-g", "-pthread"]);
    let program = ["./polling_barrier", "3", "20", "200000"];
    let record = ["record", "--quiet", "--force", "-o", "out.ftrace", "--"];
    let record = || {
        let ended = environment.run(&[&record[..], &program].concat());
        assert!(ended.contains("exit code: 0"), "{ended}");
        environment.json(&["info", "out.ftrace", "--json"])
    };
    // What a busy machine does to a recording may refute it; nothing is said then.
    let mut infos = (0..5).map(|_| record());
    let found = infos.find(|info| !info["structures"][0].is_null());
    let info = found.expect("most recordings show it");
    let found = &info["structures"][0];
    assert_eq!(
        (&found["pattern"], &found["count"]),
        (&"barrier".into(), &3.into())
    );
    assert_eq!(found["sites"][0]["line"], 23, "{found}");
    let shown = environment.run(&["info", "out.ftrace"]);
    assert!(shown.contains("barrier of 3"), "{shown}");
    // In each phase one thread works three times as much as another: at a barrier all wait for it.
    assert_speedup(1.0..=2.3, || {
        let predicted = environment.json(&["predict", "out.ftrace", "--cpus", "3", "--json"]);
        record();
        predicted
    });
}
