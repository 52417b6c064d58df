//! Stochastic automata networks: solved, swept, drawn.

use std::{fs, path::Path};

use crate::environment::TestEnvironment;

fn model(name: &str) -> String {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/models/san");
    fs::read_to_string(models.join(name)).expect("the model ships")
}

fn with_models() -> TestEnvironment {
    let environment = TestEnvironment::new();
    for name in [
        "propagation-async.san",
        "propagation-sync.san",
        "figure-1.san",
    ] {
        environment.file(name, model(name), 0o644);
    }
    environment
}

#[test]
fn the_contract_of_the_asynchronous_model_holds() {
    let environment = with_models();
    let arguments = [
        "san",
        "solve",
        "propagation-async.san",
        "--param",
        "N=5",
        "--param",
        "NS=15",
        "--param",
        "K=40",
        "--param",
        "TT=1e-4",
        "--param",
        "TP=0.0035",
        "--param",
        "CM=0.041",
        "--param",
        "ER=0.0088",
    ];
    for more in [&[][..], &["--no-lump"], &["--method", "matrix-free"]] {
        let solved = environment.json(&[&arguments[..], more, &["--json"]].concat());
        assert_eq!(solved["states"], 18_016);
        assert!(solved["residual"].as_f64() <= Some(1e-10), "{solved}");
        for (name, expected) in [
            ("S_Pr", 0.887_452_360_791),
            ("S_I", 0.036_882_528_218),
            ("B_mean", 5.800_906_434),
        ] {
            let off = solved["results"][name]
                .as_f64()
                .map(|value| (value - expected).abs());
            assert!(off < Some(2e-9), "{name}: {solved}");
        }
    }
    insta::assert_snapshot!(environment.run(&arguments));
}

#[test]
fn sweeps_become_tables_values_documents_and_pictures() {
    let environment = with_models();
    let arguments = [
        "san",
        "solve",
        "propagation-sync.san",
        "--param",
        "N=1..3",
        "--param",
        "NS=4,6",
    ];
    insta::assert_snapshot!(
        [
            environment.run(&arguments),
            environment
                .run(&[&arguments[..], &["--csv"]].concat())
                .lines()
                .take(6)
                .collect::<Vec<_>>()
                .join("\n"),
        ]
        .join("\n")
    );
    let swept = environment.json(
        &[
            &arguments[..],
            &["--svg", "curves.svg", "--results", "S_Tx,S_Pr", "--json"],
        ]
        .concat(),
    );
    assert_eq!(swept["points"].as_array().map(Vec::len), Some(6));
    assert_eq!(
        swept["points"][1]["parameters"],
        serde_json::json!({"N": 1.0, "NS": 6.0})
    );
    let told = swept["points"][1]["results"].as_object();
    assert_eq!(told.map(serde_json::Map::len), Some(2));
    let picture = fs::read_to_string(environment.path("curves.svg")).expect("it was written");
    assert!(
        picture.contains("NS = 6") && picture.contains("S_Tx") && !picture.contains("M_Rx"),
        "{picture}"
    );
}

#[test]
fn the_paper_is_drawn_again() {
    let environment = TestEnvironment::new();
    let drawn = environment.run(&["san", "paper"]);
    assert!(drawn.contains("exit code: 0"), "{drawn}");
    assert_eq!(
        environment.files(),
        [
            "figure-11.svg",
            "figure-12.svg",
            "figure-13.svg",
            "figure-14.svg"
        ]
    );
    let again = environment.run(&["san", "paper"]);
    assert!(again.contains("figure-11.svg is there already"), "{again}");
    let figures = environment.json(&["san", "paper", "--force", "--json"]);
    let five = &figures["figures"][1]["panels"][1]["curves"][1]["points"][4];
    assert!(
        (five[1].as_f64().expect("a number") - 0.887_452_360_791).abs() < 1e-9,
        "{five}"
    );
}

#[test]
fn a_template_is_a_model() {
    let environment = TestEnvironment::new();
    let written = environment.run(&[
        "san", "template", "--slaves", "8", "--packs", "2.5", "-o", "mine.san",
    ]);
    assert!(written.contains("exit code: 0"), "{written}");
    let solved = environment.json(&[
        "san",
        "solve",
        "mine.san",
        "--param",
        "slaves=1,8",
        "--json",
    ]);
    let rate = |index: usize| solved["points"][index]["results"]["tasks_per_second"].as_f64();
    assert!(rate(1) > rate(0), "{solved}");
}

#[test]
fn a_time_can_be_told_of() {
    let environment = with_models();
    let start = environment.json(&["san", "solve", "figure-1.san", "--at-time", "0", "--json"]);
    assert_eq!(start["results"]["p00"], 1.0);
    let late = environment.json(&["san", "solve", "figure-1.san", "--at-time", "100", "--json"]);
    assert!(
        (late["results"]["p00"].as_f64().expect("a number") - 0.216_606_498_195).abs() < 1e-9,
        "{late}"
    );
}

#[test]
fn what_is_wrong_with_a_model_is_told_with_its_place() {
    let environment = with_models();
    let figure = model("figure-1.san");
    environment.file(
        "syntax.san",
        figure.replace("event e2 rate r2;", "event e2 r2;"),
        0o644,
    );
    environment.file(
        "routing.san",
        figure.replace("e1 -> 1;", "e1 -> 1 prob 0.5; e1 -> 0 prob 0.4;"),
        0o644,
    );
    environment.file(
        "unused.san",
        figure.replace("event e2", "event e9 rate 1; event e2"),
        0o644,
    );
    environment.file(
        "negative.san",
        figure.replace("let f = lambda", "let f = 0 - lambda"),
        0o644,
    );
    let solve = |name: &str| environment.run(&["san", "solve", name]);
    insta::assert_snapshot!(
        [
            solve("syntax.san"),
            solve("routing.san"),
            solve("unused.san"),
            environment.run(&["san", "solve", "figure-1.san", "--param", "r3=0"]),
            environment.run(&[
                "san",
                "solve",
                "figure-1.san",
                "--param",
                "r3=0",
                "--param",
                "r5=0",
                "--method",
                "matrix-free"
            ]),
            solve("negative.san"),
            solve("missing.san"),
            environment.run(&["san", "solve", "figure-1.san", "--param", "delta=1"]),
            environment.run(&["san", "solve", "figure-1.san", "--param", "gamma=nan"]),
            environment.run(&["san", "solve", "figure-1.san", "--svg", "x.svg"]),
            environment.run(&[
                "san",
                "solve",
                "propagation-async.san",
                "--param",
                "N=40",
                "--no-lump",
                "--memory",
                "100MB"
            ]),
            environment.run(&[
                "san",
                "solve",
                "propagation-async.san",
                "--param",
                "N=20",
                "--method",
                "matrix-free",
                "--memory",
                "2GiB"
            ]),
        ]
        .join("\n")
    );
}
