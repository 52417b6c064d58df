//! Programs that pass messages: predicted, shown, imported, exported; farms; and what is wrong with them.

use crate::environment::TestEnvironment;

const STENCIL: &str = "num_ranks 3 // three in a row\n\nrank 0 {\nl1: calc 1000\nl2: send 8b to 1 tag 5\nl2 requires l1\n}\n\
                       rank 1 {\nl1: recv 8b from 0 tag 5\nl2: send 100b to 2\nl2 requires l1\n}\nrank 2 {\nl1: recv 100b from -1\n}\n";

const DIM: &str = "#DIMEMAS:\"ping.dim\":1,0:2(1,1),1\nd:1:1:2:0:1\n1:0:0:0.001\n2:0:0:1:-1:100000:3:1:0\n10:0:0:11:1:0:0:8:8:1\n\
                   3:1:0:0:-1:100000:3:1:1\n1:1:0:0.002\n3:1:0:0:-1:100000:3:1:2\n10:1:0:11:1:0:0:8:8:1\n";

const TI: &str = "0 init\n1 init\n0 compute 1e6\n0 send 1 7 1e3\n1 recv 0 7 1e3\n0 allreduce 8 100\n1 allreduce 8 100\n0 finalize\n1 finalize\n";

const PRV: &str = "#Paraver (01/01/2024 at 12:00):2000000_ns:2(1,1):1:2(1:1,1:2),1\nc:1:1:2:1:2\n1:1:1:1:1:0:1000000:1\n\
                   1:2:1:2:1:0:500000:1\n3:1:1:1:1:1000000:1000000:2:1:2:1:500000:1200000:64:9\n\
                   2:1:1:1:1:1300000:50000002:8:50100004:1\n2:2:1:2:1:1300000:50000002:8:50100004:1\n";

fn environment() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.file("row.goal", STENCIL, 0o644);
    environment.file("ping.dim", DIM, 0o644);
    environment.file("ti.txt", TI, 0o644);
    environment.file("trace.prv", PRV, 0o644);
    environment
}

#[test]
fn foreign_programs_are_predicted_on_a_network() {
    let environment = environment();
    let mut all = String::new();
    for (file, network) in [
        ("row.goal", "loggopsim"),
        ("ping.dim", "dimemas"),
        ("ti.txt", "mse-fast-ethernet"),
        ("trace.prv", "infiniband"),
    ] {
        all += &environment.run(&["predict", file, "--network", network]);
        all += "\n";
    }
    all += &environment.run(&["predict", "ping.dim", "--network", "dimemas", "--json"]);
    insta::assert_snapshot!(all);
}

#[test]
fn what_foreign_programs_hold_is_shown() {
    let environment = environment();
    insta::assert_snapshot!(
        [
            environment.run(&["info", "row.goal"]),
            environment.run(&["info", "ping.dim"]),
            environment.run(&["info", "trace.prv", "--json"]),
        ]
        .join("\n")
    );
}

#[test]
fn a_program_survives_import_and_export() {
    let environment = environment();
    let makespan = |file: &str, network: &str| {
        let json = environment.json(&["predict", file, "--network", network, "--json"]);
        json["predictions"][0]["makespan_ns"].clone()
    };
    for (file, format) in [
        ("row.goal", "goal"),
        ("ping.dim", "dimemas"),
        ("ti.txt", "simgrid"),
        ("trace.prv", "paraver"),
    ] {
        let text = environment.run(&["import", file, "--format", format, "-f", "-o", "own.ftrace"]);
        assert!(text.contains("exit code: 0"), "{text}");
        assert_eq!(
            makespan("own.ftrace", "loggopsim"),
            makespan(file, "loggopsim"),
            "{file}"
        );
    }
    for format in ["dimemas", "simgrid"] {
        let text = environment.run(&["export", "ping.dim", "--format", format, "-o", "written"]);
        assert!(text.contains("exit code: 0"), "{text}");
        assert_eq!(
            makespan("written", "dimemas"),
            makespan("ping.dim", "dimemas"),
            "{format}"
        );
    }
    let graph = environment.run(&["export", "row.goal", "--format", "dimemas"]);
    assert!(graph.contains("a task graph has none"), "{graph}");
}

#[test]
fn a_trace_may_lie_in_a_file_for_each_rank() {
    let environment = TestEnvironment::new();
    environment.file("all.txt", "r0.txt\nr1.txt\n", 0o644);
    environment.file("r0.txt", "0 init\n0 send 1 0 100\n0 finalize\n", 0o644);
    environment.file("r1.txt", "1 init\n1 recv 0 0 100\n1 finalize\n", 0o644);
    let text = environment.run(&["predict", "all.txt", "--network", "loggopsim"]);
    assert!(
        text.contains("exit code: 0") && text.contains("    2  direct"),
        "{text}"
    );
    environment.file("all.txt", "r0.txt\nr2.txt\n", 0o644);
    let text = environment.run(&["predict", "all.txt", "--network", "loggopsim"]);
    assert!(
        text.contains("exit code: 1") && text.contains("r2.txt"),
        "{text}"
    );
}

#[test]
fn a_replay_is_drawn() {
    let environment = environment();
    let svg = environment.run(&[
        "export",
        "row.goal",
        "--format",
        "svg",
        "--network",
        "loggopsim",
    ]);
    assert!(svg.contains("<svg") && svg.contains("rank 2"), "{svg}");
    // Its arrows go from sends to receives.
    assert!(svg.contains(">messages<"), "{svg}");
    let saved = environment.run(&[
        "predict",
        "ping.dim",
        "--network",
        "dimemas",
        "-o",
        "ping.fts",
    ]);
    assert!(saved.contains("exit code: 0"), "{saved}");
    let again = environment.run(&["export", "ping.fts", "--format", "svg"]);
    assert!(
        again.contains("<svg") && again.contains("rank 1") && again.contains(">messages<"),
        "{again}"
    );
}

#[test]
fn what_cannot_be_replayed_is_explained() {
    let environment = environment();
    for (name, text) in [
        (
            "deadlock.txt",
            "0 init\n1 init\n0 recv 1 7 100\n1 recv 0 8 100\n",
        ),
        ("left.txt", "0 send 1 7 100\n1 compute 1e6\n"),
        ("tags.txt", "0 send 1 7 100\n1 recv 0 8 100\n"),
        ("mismatch.txt", "0 barrier\n1 bcast 100 0\n"),
        ("word.txt", "0 send 1 7x 100\n1 compute 1e6\n"),
        ("peer.txt", "0 send 5 7 100\n1 compute 1e6\n"),
        ("tag.txt", "0 send 1 3000000000 100\n1 compute 1e6\n"),
        ("wait.txt", "0 wait 0 1 7\n1 compute 1e6\n"),
        ("cut.goal", "num_ranks 2\nrank 0 {\nl1: calc 5\n"),
        (
            "label.goal",
            "num_ranks 1\nrank 0 {\nl1: calc 5\nl1 requires l9\n}\n",
        ),
        ("rank.goal", "num_ranks 2\nrank 0 {\n}\n"),
        (
            "cut.dim",
            "#DIMEMAS:\"x\":1,0:2(1,1),1\n1:0:0:0.001\n2:0:0:1:-1:1000\n",
        ),
        ("task.dim", "#DIMEMAS:\"x\":1,0:2(1,1),1\n1:0:0:0.001\n"),
        ("threads.dim", "#DIMEMAS:\"x\":1,0:2(1,2),1\n1:0:0:0.001\n"),
        (
            "cut.prv",
            "#Paraver (01/01/2024 at 12:00):2_ns:1(1):1:1(1:1)\n1:1:1:1:1:0\n",
        ),
    ] {
        environment.file(name, text, 0o644);
    }
    let mut all = String::new();
    for name in [
        "deadlock.txt",
        "left.txt",
        "tags.txt",
        "mismatch.txt",
        "word.txt",
        "peer.txt",
        "tag.txt",
        "wait.txt",
        "cut.goal",
        "label.goal",
        "rank.goal",
        "cut.dim",
        "task.dim",
        "threads.dim",
        "cut.prv",
    ] {
        let text = environment.run(&["predict", name, "--network", "loggopsim"]);
        assert!(text.contains("exit code: 1"), "{text}");
        all += &text;
        all += "\n";
    }
    all += &environment.run(&["predict", "ping.dim", "--cpus", "4", "--network", "dimemas"]);
    all += "\n";
    all += &environment.run(&["predict", "ping.dim"]);
    all += "\n";
    all += &environment.run(&["predict", "ping.dim", "--network", "token-ring"]);
    all += "\n";
    environment.file(
        "bad.toml",
        "model = \"loggps\"\nlatency = \"-5us\"\n",
        0o644,
    );
    all += &environment.run(&["predict", "ping.dim", "--network", "bad.toml"]);
    insta::assert_snapshot!(all);
}

#[test]
fn a_damaged_import_is_refused() {
    let environment = environment();
    environment.run(&["import", "row.goal", "--format", "goal", "-o", "own.ftrace"]);
    let path = environment.path("own.ftrace");
    let whole = std::fs::read(&path).expect("it was written");
    let mut changed = whole.clone();
    *changed.last_mut().expect("it holds bytes") ^= 1;
    for bytes in [changed, whole[..whole.len() - 3].to_vec()] {
        std::fs::write(&path, bytes).expect("it is ours");
        let text = environment.run(&["predict", "own.ftrace", "--network", "loggopsim"]);
        assert!(
            text.contains("exit code: 1") && text.contains("import the foreign file again"),
            "{text}"
        );
    }
}

#[test]
fn a_farm_has_a_curve_and_a_best_number_of_ranks() {
    let environment = TestEnvironment::new();
    let farm = [
        "farm",
        "--tasks",
        "20000",
        "--work",
        "292us",
        "--network",
        "mse-fast-ethernet",
        "--ranks",
    ];
    insta::assert_snapshot!(environment.run(&[&farm[..], &["2..64x2"]].concat()));
    let json = environment.json(&[&farm[..], &["2..64", "--json"]].concat());
    assert_eq!(json["best"], 16);
    assert_eq!(json["curve"].as_array().map(Vec::len), Some(63));
    assert_eq!(json["curve"][14]["ranks"], 16);
    let matmul = [
        "farm",
        "--workload",
        "matmul:n=800",
        "--network",
        "amakata-pc-cluster",
        "--ranks",
        "12",
        "--json",
    ];
    let time = environment.json(&matmul)["curve"][0]["makespan_ns"]
        .as_f64()
        .expect("it is a number");
    assert!((time / 3_951_106_706.667 - 1.0).abs() < 1e-9, "{time}");
}

#[test]
fn a_farms_tasks_may_come_from_a_file_or_a_trace() {
    let environment = TestEnvironment::new();
    environment.file(
        "times.txt",
        "# three tasks\n1ms\n2ms # long\n\n500us\n",
        0o644,
    );
    let listed = [
        "farm",
        "--work",
        "times.txt",
        "--network",
        "gigabit-ethernet",
        "--ranks",
        "2,4",
        "--json",
    ];
    let json = environment.json(&listed);
    assert!(json["curve"][0]["makespan_ns"].as_f64() > json["curve"][1]["makespan_ns"].as_f64());
    environment.file("times.txt", "1ms\n2 parsecs\n", 0o644);
    let text = environment.run(&listed);
    assert!(
        text.contains("times.txt, line 2: `2 parsecs` is not a time"),
        "{text}"
    );

    let slave = |slave: u32| {
        let task = format!("{slave} recv 0 1 100\n{slave} compute 1e6\n{slave} send 0 2 50\n");
        format!("0 send {slave} 1 100\n") + &task.repeat(10)
    };
    let dealt = "0 recv -1 2 50\n0 send 1 1 100\n0 recv -1 2 50\n0 send 2 1 100\n".repeat(9);
    let trace = slave(1) + &slave(2) + &dealt + &"0 recv -1 2 50\n".repeat(2);
    environment.file("farm.txt", trace, 0o644);
    let text = environment.run(&[
        "farm",
        "--trace",
        "farm.txt",
        "--network",
        "gigabit-ethernet",
        "--ranks",
        "3,6,11",
    ]);
    assert!(
        text.contains("rank 0 deals 20 tasks to 2 slaves")
            && text.contains("Fastest with 11 ranks"),
        "{text}"
    );
    environment.file("pair.txt", "0 send 1 1 8\n1 recv 0 1 8\n", 0o644);
    let text = environment.run(&[
        "farm",
        "--trace",
        "pair.txt",
        "--network",
        "gigabit-ethernet",
        "--ranks",
        "3",
    ]);
    assert!(text.contains("no rank receives from any source"), "{text}");
}

#[test]
fn farms_that_make_no_sense_are_refused() {
    let environment = TestEnvironment::new();
    let mut all = String::new();
    for arguments in [
        &["--ranks", "1..4", "--tasks", "9", "--work", "1ms"][..],
        &["--ranks", "4", "--work", "1ms"],
        &["--ranks", "4", "--tasks", "9", "--work", "soon"],
        &["--ranks", "4", "--tasks", "9", "--work", "poisson:1ms"],
        &[
            "--ranks", "4", "--tasks", "9", "--work", "1ms", "--scheme", "multi:3",
        ],
        &[
            "--ranks", "4", "--tasks", "9", "--work", "1ms", "--scheme", "many",
        ],
        &["--ranks", "4", "--workload", "matmul:n=0"],
    ] {
        let text =
            environment.run(&[&["farm", "--network", "gigabit-ethernet"], arguments].concat());
        assert!(text.contains("exit code: 2"), "{text}");
        all += &text;
        all += "\n";
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_replay_whose_times_have_no_room_is_refused() {
    let environment = environment();
    // Each rank alone has room, one after the other they have not.
    environment.file(
        "long.txt",
        "0 init\n1 init\n0 sleep 1.2e7\n0 send 1 7 100\n1 recv 0 7 100\n1 compute 1.2e16\n",
        0o644,
    );
    let text = environment.run(&["predict", "long.txt", "--network", "dimemas"]);
    assert!(
        text.contains("exit code: 1") && text.contains("more than 213 days"),
        "{text}"
    );
}

#[test]
fn json_of_ranks_has_the_keys_of_threads_and_fractions_of_nanoseconds() {
    let environment = environment();
    // From rank 0 to 1 and back: the network's half nanoseconds are not rounded.
    environment.file(
        "trip.goal",
        "num_ranks 2\nrank 0 {\na: send 1b to 1\nb: recv 1b from 1\nb requires a\n}\n\
         rank 1 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a\n}\n",
        0o644,
    );
    let args = |file: &'static str| {
        [
            "predict",
            file,
            "--network",
            "loggps-fast-ethernet",
            "--json",
        ]
    };
    let json = environment.json(&args("trip.goal"));
    let prediction = &json["predictions"][0];
    assert_eq!(prediction["makespan_ns"], 152_285.8);
    assert_eq!(prediction["finish_ns"]["0"], 152_285.8);
    assert_eq!(prediction["attempts"][0]["makespan_ns"], 152_285.8);
    assert_eq!(
        (&prediction["cpus"], &prediction["nodes"]),
        (&2.into(), &2.into())
    );
    for key in ["scheduler", "bind"] {
        assert!(
            prediction.get(key).is_some_and(serde_json::Value::is_null),
            "{key}"
        );
    }
    environment.file(
        "stuck.txt",
        "0 init\n1 init\n0 recv 1 7 100\n1 recv 0 8 100\n",
        0o644,
    );
    let text = environment.run(&args("stuck.txt"));
    assert!(text.contains("\"object\": \"rank 1\""), "{text}");
}

#[test]
fn a_file_that_is_nothing_is_refused_for_what_it_is() {
    let environment = environment();
    environment.file("empty.dim", "", 0o644);
    environment.file("garbage.dim", "garbage\n", 0o644);
    environment.file("garbage", "garbage\n", 0o644);
    for name in ["empty.dim", "garbage.dim", "garbage"] {
        let text = environment.run(&["predict", name, "--network", "dimemas"]);
        assert!(
            text.contains("exit code: 1") && !text.contains("leave it out"),
            "{text}"
        );
    }
}
